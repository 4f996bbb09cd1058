"""Learning: from rows with labels, targets or comparisons to a metric, and predictions by it."""

from cayleyklein.learning._auto import Selection, Trial
from cayleyklein.learning._classifier import CurvedKNeighborsClassifier
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._lmnn import CurvedLMNN
from cayleyklein.learning._mlkr import CurvedMLKR
from cayleyklein.learning._mmc import MMC
from cayleyklein.learning._pairs import CurvedPairs
from cayleyklein.learning._regression import RegressionTrial
from cayleyklein.learning._regressor import CurvedKNeighborsRegressor
from cayleyklein.learning._triplets import CurvedQuadruplets, CurvedTriplets

__all__ = [
    "MMC",
    "CurvedKNeighborsClassifier",
    "CurvedKNeighborsRegressor",
    "CurvedLMNN",
    "CurvedMLKR",
    "CurvedPairs",
    "CurvedQuadruplets",
    "CurvedTriplets",
    "Progress",
    "RegressionTrial",
    "Selection",
    "Trial",
]
