"""A k-d tree on the lifted rows, for K ≥ 0, where the lift's distance is a Euclidean one."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from cayleyklein._threads import Threads
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.neighbors._lift import Lift
from cayleyklein.neighbors._rows import TINY, Queries, References, threads_of, units

__all__ = ["LiftedTree"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class LiftedTree:
    """Candidates by SciPy's k-d tree."""

    def __init__(self, references: References) -> None:
        if len(references.parts) > 1 or references.parts[0].metric.curvature < 0:
            raise InvalidInputError(
                "Got algorithm='tree', but a k-d tree needs the lift of a flat or an elliptic "
                "metric; use algorithm='vptree' for a hyperbolic or a mixed one, or 'auto'."
            )
        self.lift = Lift(references)
        self.tree = cKDTree(self.lift.y)

    def candidates(
        self, queries: Queries, k: int, pool: Threads | None = None
    ) -> tuple[Index, Array]:
        """Return k rows for each query, and what no other row ranks below."""
        lifted = self.lift.queries(queries)
        chords, index = self.tree.query(lifted.q, k=np.arange(1, k + 1), workers=threads_of(pool))
        index = np.where(np.isinf(chords), -1, index)  # squares that overflow find nothing
        return index, self.lift.floor(lifted, chords[:, -1] ** 2)

    def precise(self) -> "LiftedTree":
        """Return the engine for queries in doubt."""
        return self

    def within(
        self, queries: Queries, radius: float, pool: Threads | None
    ) -> tuple[Index, Index] | None:
        """Return the pairs within a radius, and perhaps a few more."""
        lifted = self.lift.queries(queries)
        rounding = units(self.lift.y.shape[1])
        size = float(np.sqrt(lifted.b.max())) + self.lift.longest
        room = 2 * (self.lift.blur + float(lifted.blur.max()))
        chord = self.lift.longest_chord(radius) + room + rounding * size
        chord += math.sqrt(rounding * TINY)
        if not math.isfinite(chord):  # all rows, or squares that overflow
            return None
        found = self.tree.query_ball_point(lifted.q, chord, workers=threads_of(pool))
        counts = [len(columns) for columns in found]
        columns = np.fromiter((j for some in found for j in some), np.intp, sum(counts))
        return np.repeat(np.arange(len(found)), counts), columns

    def appended(self, references: References) -> None:
        """Say that a k-d tree does not grow."""
