"""Learning a metric: from rows with labels, numbers or comparisons to distances."""

from cayleyklein.learning.ck_lmnn import CayleyKleinLMNN
from cayleyklein.learning.comparisons import CurvedPairs, CurvedQuadruplets, CurvedTriplets
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.lmnn import CurvedLMNN
from cayleyklein.learning.mlkr import CurvedMLKR
from cayleyklein.learning.mmc import MMC

__all__ = [
    "MMC",
    "CayleyKleinLMNN",
    "CurvedLMNN",
    "CurvedMLKR",
    "CurvedPairs",
    "CurvedQuadruplets",
    "CurvedTriplets",
    "Progress",
]
