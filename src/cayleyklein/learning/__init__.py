"""Learning: from labelled rows to a metric, and to a classifier by it."""

from cayleyklein.learning._auto import Selection, Trial
from cayleyklein.learning._classifier import CurvedKNeighborsClassifier
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._lmnn import CurvedLMNN
from cayleyklein.learning._mmc import MMC

__all__ = ["MMC", "CurvedKNeighborsClassifier", "CurvedLMNN", "Progress", "Selection", "Trial"]
