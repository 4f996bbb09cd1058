"""Learning: from rows with labels, targets or comparisons to a metric, and predictions by it."""

from cayleyklein.learning._comparisons import CurvedPairs, CurvedQuadruplets, CurvedTriplets
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._trials import Selection, Stage, Trial
from cayleyklein.learning.labels import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    Explanation,
)
from cayleyklein.learning.regression import CurvedKNeighborsRegressor, CurvedMLKR

# Names imported "as" themselves are for the other folders of this package, not for users.

__all__ = [
    "MMC",
    "CurvedKNeighborsClassifier",
    "CurvedKNeighborsRegressor",
    "CurvedLMNN",
    "CurvedMLKR",
    "CurvedPairs",
    "CurvedQuadruplets",
    "CurvedTriplets",
    "Explanation",
    "Progress",
    "Selection",
    "Stage",
    "Trial",
]
