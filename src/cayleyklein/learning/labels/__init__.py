"""Learning from labels: metrics with a large margin, and the classifier that uses them."""

from cayleyklein.learning.labels._classifier import CurvedKNeighborsClassifier
from cayleyklein.learning.labels._explanation import Explanation
from cayleyklein.learning.labels._lmnn import CurvedLMNN
from cayleyklein.learning.labels._mmc import MMC

__all__ = ["MMC", "CurvedKNeighborsClassifier", "CurvedLMNN", "Explanation"]
