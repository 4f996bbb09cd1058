"""Brute force on the lifted rows, by scikit-learn's fused search for the smallest surrogates."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.neighbors._lift import Lift, LiftedQueries
from cayleyklein.neighbors._rows import Queries, References

__all__ = ["LiftedBrute", "smallest_surrogates"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK_ENTRIES = 2**21
"""Surrogates held at a time where scikit-learn's fused search is not to be had: 16 MB."""


@cache
def fused_search() -> Any:
    """Return scikit-learn's ArgKmin, or None where it is missing or no longer what it was.

    `NearestNeighbors` is built on it, but cannot pass it the offsets of rows twice: it takes them
    out of its own parameters at the first search. Being private, it is first asked a question whose
    answer is known: without the offsets, the other row would be the nearest.
    """
    try:
        from sklearn.metrics._pairwise_distances_reduction import ArgKmin

        one, y, a = np.ones((1, 1)), np.array([[0.0], [1.0]]), np.array([0.0, 9.0])
        ArgKmin.is_usable_for(one, y, "sqeuclidean")
        values, index = run_fused(ArgKmin, one, np.array([2.0]), y, a, 1)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return ArgKmin if values.tolist() == [[2.0]] and index.tolist() == [[0]] else None


def run_fused(search: Any, q: Array, b: Array, y: Array, a: Array, k: int) -> tuple[Array, Index]:
    """Ask ArgKmin for the k smallest b + a - 2⟨q, y⟩."""
    offsets = {"X_norm_squared": b, "Y_norm_squared": a}
    values, index = search.compute(
        X=q, Y=y, k=k, metric="sqeuclidean", metric_kwargs=offsets, return_distance=True
    )
    return values, index


def smallest_surrogates(lifted: LiftedQueries, y: Array, a: Array, k: int) -> tuple[Array, Index]:
    """Return the k smallest b + a - 2⟨q, y⟩ of each query, ascending, and their rows."""
    search = fused_search()
    q = np.ascontiguousarray(lifted.q)
    if search is not None and search.is_usable_for(q, y, "sqeuclidean"):
        return run_fused(search, q, lifted.b, y, a, k)
    values, index = np.empty((len(q), k)), np.empty((len(q), k), dtype=np.intp)
    step = max(1, BLOCK_ENTRIES // len(y))
    for start in range(0, len(q), step):
        rows = slice(start, start + step)
        block = np.maximum(lifted.b[rows, None] + a - 2 * (q[rows] @ y.T), 0)
        some = np.argpartition(block, k - 1, axis=1)[:, :k]
        chosen = np.take_along_axis(block, some, axis=1)
        order = np.argsort(chosen, axis=1)
        values[rows] = np.take_along_axis(chosen, order, axis=1)
        index[rows] = np.take_along_axis(some, order, axis=1)
    return values, index


class LiftedBrute:
    """Candidates by brute force on the lift of one metric."""

    def __init__(self, references: References) -> None:
        self.lift = Lift(references)

    @classmethod
    def on(cls, lift: Lift) -> "LiftedBrute":
        """Return the engine on rows that are lifted already."""
        brute = object.__new__(cls)
        brute.lift = lift
        return brute

    def candidates(
        self, queries: Queries, k: int, pool: Threads | None = None
    ) -> tuple[Index, Array]:
        """Return k rows for each query, and what no other row ranks below."""
        lifted = self.lift.queries(queries)
        if not (np.isfinite(lifted.b).all() and np.isfinite(self.lift.longest)):  # squares overflow
            return np.full((len(queries), k), -1, dtype=np.intp), np.full(len(queries), -np.inf)
        values, index = smallest_surrogates(lifted, self.lift.y, self.lift.a, k)
        return index, self.lift.floor(lifted, values[:, -1])

    def precise(self) -> "LiftedBrute":
        """Return the engine for queries in doubt."""
        return self

    def within(self, queries: Queries, radius: float, pool: Threads | None) -> None:
        """Leave it to a scan, which as many rows as there are within a radius may well need."""

    def appended(self, references: References) -> "LiftedBrute":
        """Lift the new rows too, seen from the same x₀."""
        return LiftedBrute.on(self.lift.appended(references))
