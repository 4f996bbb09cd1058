"""Learning: from labelled rows to a metric, and to a classifier by it."""

from cayleyklein.learning._auto import Selection, Stage, Trial
from cayleyklein.learning._classifier import CurvedKNeighborsClassifier
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._explanation import Explanation
from cayleyklein.learning._lmnn import CurvedLMNN
from cayleyklein.learning._mmc import MMC

__all__ = [
    "MMC",
    "CurvedKNeighborsClassifier",
    "CurvedLMNN",
    "Explanation",
    "Progress",
    "Selection",
    "Stage",
    "Trial",
]
