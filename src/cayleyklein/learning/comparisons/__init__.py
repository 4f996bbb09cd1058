"""Learning from comparisons: pairs, triplets and quadruplets of rows."""

from cayleyklein.learning.comparisons._pairs import CurvedPairs
from cayleyklein.learning.comparisons._triplets import CurvedQuadruplets, CurvedTriplets

__all__ = ["CurvedPairs", "CurvedQuadruplets", "CurvedTriplets"]
