"""Candidates by faiss, in float32: exact with what the rounding leaves in doubt done again, or not.

Flat and elliptic lifts are searched by Euclidean distance. A hyperbolic surrogate is
b - 2⟨(q, 1), (y, -a/2)⟩; one more coordinate √(M² - ‖(y, -a/2)‖²), 0 for queries, makes ranking by
that inner product Euclidean too, as the approximate index needs it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.neighbors._brute import LiftedBrute
from cayleyklein.neighbors._lift import Lift, LiftedQueries
from cayleyklein.neighbors._refine import find_nearest
from cayleyklein.neighbors._rows import STRIP, Queries, References

__all__ = ["ApproximateFaiss", "ExactFaiss", "float32_is_enough"]

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Index = NDArray[np.intp]

UNIT, TINY = 4 * float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
"""Rounding unit of a search in float32, of the products and of the coordinates themselves; and the
least of its numbers with all digits."""

FLOAT32_RADIUS = 5.0
"""Distance from μ, at K = -1, past which float32 silently loses hyperbolic neighbours."""

LIST_ROWS = 64
"""Rows of a cell of the approximate index, on average, and half of what its training takes."""


TARGET_RECALL = 0.95
"""Share of the true neighbours that the approximate index is tuned to find."""

SAMPLE_QUERIES, SAMPLE_NEIGHBORS = 200, 10
"""Fitted rows, and neighbours of each, from which the recall is estimated."""


def float32_is_enough(references: References) -> bool:
    """Say whether all fitted rows are near enough to the centre for an engine in float32."""
    return bool(references.s[0].min() > np.cosh(FLOAT32_RADIUS) ** -2)


class _Faiss:
    """What the two have in common: the lift in float64, and its rows and queries in float32."""

    def __init__(self, references: References) -> None:
        if len(references.parts) > 1:
            raise InvalidInputError(
                "faiss searches the lift of one curved metric, and a mixed metric has none; "
                "use algorithm='vptree' or 'auto'."
            )
        self.faiss = require("faiss", "faiss")
        self.lift = Lift(references)

    def rows(self, which: slice) -> Single:
        """Return lifted rows in float32; for K < 0 with the offset as one more coordinate."""
        y, a = self.lift.y[which], self.lift.a[which]
        if self.lift.metric.curvature < 0:
            y = np.column_stack([y, -a / 2])
        with np.errstate(over="ignore"):  # inf is found by no search, and so left to float64
            return y.astype(np.float32)

    def vectors(self, lifted: LiftedQueries) -> Single:
        """Return lifted queries in float32."""
        q = lifted.q
        if self.lift.metric.curvature < 0:
            q = np.column_stack([q, np.ones(len(q))])
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(q, dtype=np.float32)

    def within(self, queries: Queries, radius: float, pool: Threads | None) -> None:
        """Leave it to a scan."""

    def precise(self) -> LiftedBrute:
        """Return the engine for queries in doubt: float64, on the same lift."""
        return LiftedBrute.on(self.lift)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"index": self.faiss.serialize_index(self.index)}
        del state["faiss"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.faiss = require("faiss", "faiss")
        self.index = self.faiss.deserialize_index(state["index"])


class ExactFaiss(_Faiss):
    """Candidates by faiss's flat index, with a floor that allows for float32."""

    def __init__(self, references: References) -> None:
        super().__init__(references)
        flat = self.lift.metric.curvature >= 0
        make = self.faiss.IndexFlatL2 if flat else self.faiss.IndexFlatIP
        self.index = make(self.lift.y.shape[1] + (not flat))
        self._add(0)

    def _add(self, first: int) -> None:
        for start in range(first, len(self.lift.y), STRIP):
            self.index.add(self.rows(slice(start, start + STRIP)))

    def candidates(
        self, queries: Queries, k: int, pool: Threads | None = None
    ) -> tuple[Index, Array]:
        """Return k rows for each query, and what no other row ranks below."""
        lifted = self.lift.queries(queries)
        values, index = self.index.search(self.vectors(lifted), k)
        last = values[:, -1].astype(np.float64)
        if self.lift.metric.curvature < 0:
            last = lifted.b - 2 * last
        return index, self.lift.floor(lifted, np.maximum(last, 0), UNIT, TINY)

    def appended(self, references: References) -> "ExactFaiss":
        """Add the new rows to a copy of the index."""
        grown = object.__new__(ExactFaiss)
        grown.__dict__ |= self.__dict__ | {
            "lift": self.lift.appended(references),
            "index": self.faiss.clone_index(self.index),
        }
        grown._add(len(self.lift.y))
        return grown


class ApproximateFaiss(_Faiss):
    """Candidates by faiss's inverted lists: most of the true neighbours, not certainly all.

    At fitting, more and more lists are looked into until `TARGET_RECALL` of the true neighbours of
    a sample of rows are found.
    """

    def __init__(self, references: References, pool: Threads | None) -> None:
        super().__init__(references)
        n = len(references)
        y = self.lift.y
        self.bound = float(np.max(np.einsum("ij,ij->i", y, y) + self.lift.a**2 / 4))
        lists = max(1, n // LIST_ROWS)
        self.index = self.faiss.index_factory(self._width(), f"IVF{lists},Flat")
        self.index.cp.min_points_per_centroid = 1  # few rows are no cause for a warning
        sample = np.unique(np.linspace(0, n - 1, 32 * lists).astype(int))
        self.index.train(self._euclidean(sample))
        self._add(0)
        self.recall = self._tune(references, pool)

    def _add(self, first: int) -> None:
        for start in range(first, len(self.lift.y), STRIP):
            self.index.add(self._euclidean(slice(start, start + STRIP)))

    def _tune(self, references: References, pool: Threads | None) -> float:
        """Look into more lists until enough neighbours are found; return the share found."""
        n = len(references)
        k = min(SAMPLE_NEIGHBORS, n - 1)
        if k < 1:
            return 1.0
        own = np.unique(np.linspace(0, n - 1, SAMPLE_QUERIES).astype(int))
        queries = Queries(references.X[own], references.parts, own)
        _, true = find_nearest(self.precise(), references, queries, k, pool)
        self.index.nprobe = 1
        while True:
            _, found = find_nearest(self, references, queries, k, pool)
            pairs = zip(true, found, strict=True)
            recall = float(np.mean([np.isin(truth, some).mean() for truth, some in pairs]))
            if recall >= TARGET_RECALL or self.index.nprobe >= self.index.nlist:
                return recall
            self.index.nprobe = min(2 * self.index.nprobe, self.index.nlist)

    def candidates(
        self, queries: Queries, k: int, pool: Threads | None = None
    ) -> tuple[Index, Array]:
        """Return k rows for each query; that others may be nearer is accepted."""
        vectors = self.vectors(self.lift.queries(queries))
        if self.lift.metric.curvature < 0:
            vectors = np.column_stack([vectors, np.zeros(len(vectors), dtype=np.float32)])
        _, index = self.index.search(vectors, k)
        return index, np.full(len(index), np.inf)

    def appended(self, references: References) -> None:
        """Say that it is to be built anew, or its recall would not be known."""

    def _width(self) -> int:
        return int(self.lift.y.shape[1]) + (2 if self.lift.metric.curvature < 0 else 0)

    def _euclidean(self, which: Any) -> Single:
        rows = self.rows(which)
        if self.lift.metric.curvature >= 0:
            return rows
        rest = np.maximum(self.bound - np.einsum("ij,ij->i", rows, rows, dtype=np.float64), 0)
        return np.column_stack([rows, np.sqrt(rest)]).astype(np.float32)
