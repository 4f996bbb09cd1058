"""A tree of vantage points: exact by the triangle inequality alone, and so for every metric.

A node is a run of rows. Its first is the vantage point; the others follow by their distance from
it, the nearer half one child and the farther half the other.
"""

from __future__ import annotations

import math

import numpy as np

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.neighbors._kernels import search_nearest
from cayleyklein.neighbors.space import (
    HUGE,
    OPPOSITE,
    ROUND_OFF,
    SLACK,
    ChordRows,
    ChordSpace,
    Pool,
)

LEAF = 24
"""Most rows of a leaf, which are looked at one after the other."""

QUERIES_PER_TASK = 64
"""Queries a thread answers at a time; it decides nothing but the speed."""

BUILT_PAIRS = 2**18
"""Coordinates of pairs gathered at a time while a tree is built."""


SMALLEST = float(np.finfo(np.float64).tiny)
"""Squares below it keep fewer digits: their rounding is at least ROUND_OFF · SMALLEST."""


class VantagePointTree:
    """Candidates by a tree of vantage points, for curved and mixed metrics."""

    def __init__(self, space: ChordSpace, rows: ChordRows) -> None:
        self.space = space
        self.blur, self.reach = space.blur(rows).max(axis=0), rows.reach.max(axis=0)
        self.highest = rows.scale.max(axis=0)
        self.own_slack = float(
            self._slack(self.highest[None], self.blur[None], self.reach[None])[0]
        )
        self.order, self.runs, self.shells, self.to_vantage = build(space, rows)
        self.v = np.empty((len(rows.v), space.width + len(space.terms)))
        for column, given in zip(self.v.T, (*rows.v.T, *rows.scale.T), strict=True):
            column[:] = given[self.order]

    def _slack(self, scale: Floats, blur: Floats, reach: Floats) -> Floats:
        """Return by how much the distances of queries to fitted rows may be off.

        A chord is off by the blur of both ends, times 1/√(σ_p σ_q) for K < 0, and a distance by
        at most 1/cosh(√-K d/2) of that, which together is ≤ 2/max(σ_p, σ_q) times the blur.
        """
        total = np.zeros(len(blur))
        for t, term in enumerate(self.space.terms):
            K, k = term.K, math.sqrt(abs(term.K)) or 1.0
            faint = math.sqrt(self.space.rounding * SMALLEST) * (1 + 2 / k)
            off, largest = blur[:, t] + self.blur[t] + faint, reach[:, t] + self.reach[t]
            if K < 0:
                off = 2 * off * scale[:, t]
                largest = 2 / k * np.arcsinh(k * largest * scale[:, t] * self.highest[t])
            elif K > 0:
                # 1/cos of half the angle; at the antipode only the root of the digits is left
                wide = (k * largest / 2) ** 2 > OPPOSITE
                off = np.where(wide, 2 / k * np.sqrt(2 * k * off + 16 * ROUND_OFF), 32 * off)
                largest = np.full_like(off, math.pi / k)
            total += term.weight * (off + 16 * ROUND_OFF * largest)
        overflows = (reach + self.reach).max(axis=1) > math.sqrt(HUGE)
        return np.where(overflows, np.inf, total)

    def search(self, queries: ChordRows, k: int, pool: Pool) -> tuple[Floats, Ints, Floats, Ints]:
        """Return distances to rounding, rows, slack, and the number of distances measured."""
        m, terms = len(queries.v), self.space.terms
        slack = self._slack(queries.scale, self.space.blur(queries), queries.reach) + self.own_slack
        values, rows = np.empty((m, k)), np.empty((m, k), dtype=np.intp)
        measured = np.empty(m, dtype=np.intp)
        q = np.hstack([queries.v, queries.scale])
        cuts = np.array([0, *(term.columns.stop for term in terms)])
        K = np.array([term.K for term in terms])
        units = np.array([term.weight / (math.sqrt(abs(term.K)) or 1.0) for term in terms])
        tree = self.v, cuts, K, units, self.runs, self.shells, self.to_vantage
        arrays = read_only_views(values, rows, measured, q, 2 * slack, *tree, written=3)
        begins = range(0, m, QUERIES_PER_TASK if pool else m)
        ends = [min(begin + begins.step, m) for begin in begins]

        def run(begin: int, end: int) -> None:
            search_nearest(begin, end, *arrays)

        for _ in map(run, begins, ends) if pool is None else pool.map(run, begins, ends):
            pass
        return values, np.where(rows < 0, -1, self.order[rows]), slack, measured

    def candidates(
        self, queries: ChordRows, k: int, wanted: int, pool: Pool
    ) -> tuple[Ints, Floats]:
        """Return k rows of each query, and a distance that no other row is nearer than."""
        values, rows, slack, _ = self.search(queries, k, pool)
        with np.errstate(invalid="ignore"):  # nan, which certifies nothing
            return rows, (values.max(axis=1) - 3 * slack) * (1 - SLACK)


def build(space: ChordSpace, rows: ChordRows) -> tuple[Ints, Ints, Floats, Floats]:
    """Order rows as a tree, all nodes of a level at a time.

    Return the rows in the tree's order; for each node its first row, its last + 1, and its near and
    far child (-1 for a leaf); the smallest and largest distance of its rows from its parent's
    vantage point; and the distance of each row from the vantage point of its leaf's parent. The
    vantage point of a child is the one of its rows farthest from its parent's.
    """
    n = len(rows.v)
    order, to_vantage = np.arange(n), np.zeros(n)
    runs, shells = [np.array([[0, n, -1, -1]])], [np.zeros((1, 2))]
    count = 1
    while True:
        level = runs[-1]
        inner = np.flatnonzero(level[:, 1] - level[:, 0] > LEAF)
        if not len(inner):
            return order, np.concatenate(runs), np.concatenate(shells), to_vantage
        begin, end = level[inner, 0], level[inner, 1]
        order[begin], order[end - 1] = order[end - 1], order[begin]
        sizes = end - begin - 1
        node = np.repeat(np.arange(len(inner)), sizes)
        starts = np.cumsum(sizes) - sizes
        at = begin[node] + 1 + np.arange(len(node)) - starts[node]
        distances = rough_distances(space, rows, order[begin][node], order[at])
        ranks = np.lexsort((distances, node))
        order[at], to_vantage[at] = order[at][ranks], distances[ranks]
        half = (begin + 1 + end) // 2
        firsts, lasts = (np.column_stack(pair).ravel() for pair in ((begin + 1, half), (half, end)))
        level[inner, 2] = count + 2 * np.arange(len(inner))
        level[inner, 3] = level[inner, 2] + 1
        none = np.full(len(firsts), -1)
        runs.append(np.column_stack([firsts, lasts, none, none]))
        shells.append(np.column_stack([to_vantage[firsts], to_vantage[lasts - 1]]))
        count += len(firsts)


def rough_distances(space: ChordSpace, rows: ChordRows, first: Ints, second: Ints) -> Floats:
    """Return the distances of pairs of rows, right to the tree's slack."""
    found = np.zeros(len(first))
    step = max(1, BUILT_PAIRS // space.width)
    for start in range(0, len(first), step):
        at = slice(start, start + step)
        p, q = first[at], second[at]
        apart = rows.v[p] - rows.v[q]
        for t, term in enumerate(space.terms):
            part = apart[:, term.columns]
            square = np.einsum("ij,ij->i", part, part) * rows.scale[p, t] * rows.scale[q, t]
            found[at] += term.weight * lifts.distance_from_sqchord(square, term.K)
    return found


def read_only_views(*arrays: AnyArray, written: int = 0) -> tuple[AnyArray, ...]:
    """Return contiguous views; all but the first few cannot be written to: one compilation."""
    views = [np.ascontiguousarray(array).view() for array in arrays]
    for view in views[written:]:
        view.setflags(write=False)
    return tuple(views)
