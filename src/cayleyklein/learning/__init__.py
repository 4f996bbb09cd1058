"""Learning: from labelled rows to a metric, and to a classifier by it."""

from cayleyklein.learning._classifier import CurvedKNeighborsClassifier
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._lmnn import CurvedLMNN
from cayleyklein.learning._mmc import MMC
from cayleyklein.learning._selection import Selection, Trial

__all__ = ["MMC", "CurvedKNeighborsClassifier", "CurvedLMNN", "Progress", "Selection", "Trial"]
