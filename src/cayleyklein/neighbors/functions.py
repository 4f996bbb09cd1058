"""Search by a function of two rows: every distance is a call, and the calls are what it costs.

The function is only known to be a metric: symmetric, 0 between a row and itself, and with the
triangle inequality. All three are checked on a sample of the rows. A vantage point tree (`vantage`)
needs no more than that. Its bounds leave room for what the function may be off by: `ROUNDING` of
the distance, and of the largest distance in the sample, since formulas with a cosine or a cosh lose
half of the digits of close rows.
"""

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import vantage
from cayleyklein.neighbors.algorithms import PROBE_NEIGHBORS, Algorithm
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.neighbors.search import Ranked, RowIndex, SearchIndex, as_metric

RowFunction = Callable[[Floats, Floats], float]
Measured = TypeVar("Measured", float, Floats)

ROUNDING = 1e-7  # of a distance, and of the largest in the sample, that a function may be off by


@dataclass(frozen=True)
class FunctionMetric:
    """A function of two rows of `dimension` columns that is taken for a metric."""

    function: RowFunction
    dimension: int

    def __call__(self, p: Floats, q: Floats) -> float:
        return self.function(p, q)

    def contains(self, X: Floats) -> Bools:
        """Return True for all rows: only the function itself can refuse some."""
        return np.ones(len(X), dtype=bool)


def as_any_metric(metric: object, n_columns: int) -> Metric | FunctionMetric:
    """Check the metric of a search, which may be a function of two rows."""
    is_ours = hasattr(metric, "pairwise")  # these can be called with two rows, too
    if callable(metric) and not is_ours and not isinstance(metric, type):
        return FunctionMetric(metric, n_columns)
    return as_metric(metric, n_columns)


def index_of(
    X: Floats, metric: Metric | FunctionMetric, algorithm: Algorithm = "auto", first_row: int = 0
) -> RowIndex:
    """Return an index of rows, which are those from `first_row` on of a shard."""
    if isinstance(metric, FunctionMetric):
        return FunctionIndex(X, metric, algorithm, first_row)
    return SearchIndex(X, metric, algorithm, first_row)


class FunctionIndex(RowIndex):
    """Rows, and a vantage point tree on them unless all are measured for every query.

    `measured` counts the calls of the function.
    """

    metric: FunctionMetric

    def __init__(
        self, X: Floats, metric: FunctionMetric, algorithm: Algorithm = "auto", first_row: int = 0
    ) -> None:
        super().__init__(X, first_row)
        self.metric, self.measured = metric, 0
        self.tree: vantage.Tree | None = None
        if algorithm == "tree":
            raise InvalidInputError(
                'algorithm="tree" is a k-d tree, which needs coordinates, and metric is a function '
                'of two rows; take "vantage", "brute" or "auto".'
            )
        # what a distance may be off by, however short it is
        self.off = ROUNDING * self._largest_distance(check_triangles=algorithm != "brute")
        # a tree of fewer rows has too few levels to save calls
        if algorithm == "vantage" or (algorithm == "auto" and len(self) > 4 * vantage.LEAF):
            self.tree = vantage.grow_tree(len(self), self._pair_bounds)
        # from this share on it takes longer than the calls it spares, for a function as quick as a
        # Euclidean distance
        if algorithm == "auto" and self.tree and self._share_called() > 0.8:
            self.tree = None
        self.name = "brute" if self.tree is None else "vantage"

    def distance(self, p: Floats, row: int, left: int | None = None) -> float:
        """Return the distance of p, a query or the fitted row `left`, to a fitted row, checked."""
        self.measured += 1
        given: object = self.metric(p, self.X[row])
        value = given if isinstance(given, float) else as_number(given)
        if not 0 <= value < np.inf:
            shown = np.array2string(p, precision=4, threshold=6)
            who = f"the query {shown}" if left is None else f"row {left + self.first_row} of X"
            raise InvalidInputError(
                f"metric gives {given!r} for {who} and fitted row {row + self.first_row}; a "
                f"distance is one finite number, at least 0."
            )
        return value

    def bounds(self, distance: Measured) -> tuple[Measured, Measured]:
        """Return what distances that the function gives are at least, and at most."""
        return distance * (1 - ROUNDING) - self.off, distance * (1 + ROUNDING) + self.off

    def nearest(self, Q: Floats, k: int, n_jobs: int | None, own: int | None = None) -> Ranked:
        """Return the k nearest rows, or all where there are fewer.

        One thread asks, whatever `n_jobs` is: a function need not be safe in several.
        """
        # with `own`, queries are the fitted rows from it on, and none is its own neighbour
        k = min(k, len(self))
        values, rows = np.full((len(Q), k), np.inf), np.full((len(Q), k), -1, dtype=np.intp)
        for i, q in enumerate(Q):
            query = Query(self, q, None if own is None else own + i, k, np.inf)
            for j, (value, row) in enumerate(query.answered()):
                values[i, j], rows[i, j] = value, row + self.first_row
        return Ranked(values, rows, np.ones(len(Q), dtype=bool))

    def within(
        self, Q: Floats, radius: float, n_jobs: int | None, own: bool
    ) -> tuple[Ints, Ints, Floats]:
        """Return all pairs (query, row) within a radius, in this order, and their distances."""
        which, rows, values = [], [], []
        for i, q in enumerate(Q):
            query = Query(self, q, i if own else None, len(self), radius)
            for value, row in sorted(query.answered(), key=itemgetter(1)):
                which.append(i)
                rows.append(row)
                values.append(value)
        pairs = np.array(which, dtype=np.intp), np.array(rows, dtype=np.intp)
        return *pairs, np.array(values, dtype=float)

    def _share_called(self) -> float:
        """Return the share of the rows that the tree measures for a few of them."""
        # not row 0, the first vantage point: the tree knows the distances of all rows to it
        some, before = even_rows(len(self), 5)[1:], self.measured
        self.nearest(self.X[some], PROBE_NEIGHBORS, None)
        return (self.measured - before) / (len(some) * len(self))

    def _pair_bounds(self, points: Ints, rows: Ints) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the distances of pairs of fitted rows."""
        pairs = zip(points.tolist(), rows.tolist(), strict=True)
        return self.bounds(np.array([self.distance(self.X[p], row, p) for p, row in pairs]))

    def _largest_distance(self, check_triangles: bool) -> float:
        """Return the largest distance in a sample of rows, on which the function is checked.

        The error names the rows between which it is no metric.
        """
        sample = even_rows(len(self), 20).tolist()
        table = np.array([[self.distance(self.X[p], row, p) for row in sample] for p in sample])
        names = [str(row + self.first_row) for row in sample]
        off = ROUNDING * float(table.max())
        for i in np.flatnonzero(np.diag(table) > off):
            raise InvalidInputError(
                f"metric gives {table[i, i]:.10g} for row {names[i]} of X and itself; the distance "
                f"of a row to itself is 0."
            )
        for i, j in np.argwhere(table > table.T + off):
            raise InvalidInputError(
                f"metric is not symmetric: it gives {table[i, j]:.10g} for rows {names[i]} and "
                f"{names[j]} of X, but {table[j, i]:.10g} for rows {names[j]} and {names[i]}."
            )
        detours = table[:, :, None] + table[None]  # from i by way of j to k
        broken = table[:, None] > detours + off
        for i, j, k in np.argwhere(broken) if check_triangles else ():
            raise InvalidInputError(
                f"metric breaks the triangle inequality: it gives {table[i, k]:.10g} for rows "
                f"{names[i]} and {names[k]} of X, but by way of row {names[j]} only "
                f"{table[i, j]:.10g} + {table[j, k]:.10g} = {detours[i, j, k]:.10g}. "
                f'algorithm="brute" measures every row, and needs no such inequality.'
            )
        return float(table.max())


class Query:
    """A query, the rows found so far, and the distances measured: no pair is measured twice.

    `reach` is the distance beyond which a row is no answer: the radius, or less once there are k
    nearer rows.
    """

    def __init__(
        self, index: FunctionIndex, q: Floats, own: int | None, k: int, radius: float
    ) -> None:
        self.index, self.q, self.k, self.reach = index, q, k, radius
        self.best: list[tuple[float, int]] = []  # (distance, row), in order
        self.measured: dict[int, float] = {} if own is None else {own: 0.0}  # and no answer

    def answered(self) -> list[tuple[float, int]]:
        """Return (distance, row) of the k nearest rows that are within the radius, in order."""
        if self.index.tree is None:
            for row in range(len(self.index)):
                self.measure(row)
        else:
            self.descend(self.index.tree)
        return self.best

    def measure(self, row: int) -> float:
        """Return the distance to a fitted row, which is an answer if it is in reach."""
        if row in self.measured:
            return self.measured[row]
        value = self.measured[row] = self.index.distance(self.q, row)
        if value <= self.reach:
            bisect.insort(self.best, (value, row))
            if len(self.best) > self.k:
                self.best.pop()
            if len(self.best) == self.k:
                self.reach = min(self.reach, self.best[-1][0])
        return value

    def descend(self, tree: vantage.Tree) -> None:
        """Measure all rows that the triangle inequality leaves in reach, nearer nodes first."""
        levels = tree.levels
        low, high = np.empty(levels), np.empty(levels)  # of distances to the vantage points above
        left = [(0.0, 0, 0)]  # nodes: a lower bound of the distance of their rows, number, depth
        while left:
            below, node, depth = left.pop()
            if below > self.reach:
                continue
            if depth == levels:
                self.look_through(tree, node, low, high)
                continue
            low[depth], high[depth] = self.index.bounds(self.measure(int(tree.vantage[node])))
            first, second = (
                (max(low[depth] - tree.far[child], tree.near[child] - high[depth]), child)
                for child in (2 * node + 1, 2 * node + 2)
            )
            for bound, child in sorted((first, second), reverse=True):
                left.append((max(below, bound), child, depth + 1))

    def look_through(self, tree: vantage.Tree, node: int, low: Floats, high: Floats) -> None:
        """Measure the rows of a leaf that may be in reach, the most promising first."""
        places = tree.leaf(node)
        bounds = np.maximum(low - tree.high[places], tree.low[places] - high)
        bounds = bounds.max(axis=1, initial=0.0)
        for at in np.argsort(bounds, kind="stable"):
            if bounds[at] > self.reach:
                break
            self.measure(int(tree.order[places][at]))


def as_number(given: object) -> float:
    """Return what a function gave as a float, NaN where it is not one number."""
    try:
        return float(given) if np.ndim(given) == 0 else np.nan  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan
