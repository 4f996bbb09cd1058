"""Vantage point trees: search by nothing but the triangle inequality (paper §5.1).

Every node of the tree has a vantage point p among its rows, which are halved by their distance
to p. A query q and a row r have

    d(q, r) ≥ |d(q, p) - d(p, r)|,

and so a half is left out once the distances of its rows from p, an interval [a, b], give
d(q, p) - b or a - d(q, p) beyond the k-th nearest row found so far. In a leaf the same inequality,
with the vantage points of all nodes above it, spares most rows their measurement (Yianilos 1993).

Distances between rows of a `ChordSpace` are known to within the rounding of their coordinates v:
with blur b and scale s (`space`), the chord of a pair lies in

    ‖v_q - v_r‖ √(s_q s_r) (1 ± ε) ± (b_q + b_r) √(s_q s_r),

and its distance between those of the two ends. Every subtraction above takes the end that keeps
the bound below the distance, so that rounding loses no row.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.neighbors._kernels import LoopRows, LoopTerms, fill_bounds, search_tree
from cayleyklein.neighbors.euclidean import longest_square
from cayleyklein.neighbors.space import (
    FAINT,
    HUGE,
    ChordRows,
    ChordSpace,
    Pool,
)

LEAF = 32  # most rows of a leaf
BUILT_PAIRS = 2**16  # pairs measured at a time while a tree grows
QUERIES = 64  # queries that a thread takes at a time

# (vantage points, rows) → lower and upper bounds of their distances, pair by pair
PairBounds = Callable[[Ints, Ints], tuple[Floats, Floats]]


class Tree(NamedTuple):
    """A balanced tree: node i has the children 2i + 1 and 2i + 2; places count rows in its order.

    The segments of a level divide the places 0 … n evenly, so that only `order` and the distances
    have to be stored.
    """

    order: Ints  # (n,) the row at each place
    vantage: Ints  # (nodes - leaves,) the row that is the vantage point of a node
    near: Floats  # (nodes,) no row of a node is nearer to the vantage point of its parent,
    far: Floats  # (nodes,) or farther
    low: Floats  # (n, levels) bounds of the distance from the row at a place to the vantage point
    high: Floats  # (n, levels) of the node above it on each level

    @property
    def levels(self) -> int:
        return int(self.low.shape[1])

    def leaf(self, node: int) -> slice:
        """Return the places of the rows of a leaf."""
        n, number = len(self.order), node + 1 - 2**self.levels
        return slice(n * number >> self.levels, n * (number + 1) >> self.levels)


def grow_tree(n: int, measure: PairBounds) -> Tree:
    """Return the tree of n rows, level by level.

    The first vantage point is row 0; that of another node is the row of it farthest from the
    vantage point of its parent, known already: points at the rim divide rows best.
    """
    levels = max(0, math.ceil(math.log2(n / LEAF)))
    nodes = 2 ** (levels + 1) - 1
    order, vantage = np.arange(n), np.zeros(nodes // 2, dtype=np.intp)
    near, far = np.zeros(nodes), np.full(nodes, np.inf)
    low, high = np.empty((n, levels)), np.empty((n, levels))  # by row, until the end
    for level in range(levels):
        starts = segment_starts(n, level)
        sizes = np.diff(starts, append=n)
        first = len(starts) - 1
        if level:
            vantage[first : first + len(starts)] = order[starts + sizes - 1]
        points = np.repeat(vantage[first : first + len(starts)], sizes)
        for at in range(0, n, BUILT_PAIRS):
            some = slice(at, at + BUILT_PAIRS)
            rows = order[some]
            low[rows, level], high[rows, level] = measure(points[some], rows)
        segment = np.repeat(np.arange(len(starts)), sizes)
        order = order[np.lexsort((order, low[order, level], segment))]
        halves = segment_starts(n, level + 1)
        children = slice(len(halves) - 1, 2 * len(halves) - 1)
        near[children] = np.minimum.reduceat(low[order, level], halves)
        far[children] = np.maximum.reduceat(high[order, level], halves)
    return Tree(order, vantage, near, far, low[order], high[order])


def segment_starts(n: int, level: int) -> Ints:
    """Return the places where the nodes of a level begin."""
    return n * np.arange(2**level) >> level


class VantageSearch:
    """Candidates by a vantage point tree on the rows of a `ChordSpace`.

    `measured` counts the distances that all searches took, those of candidates excepted.
    """

    factors = (1, 4)  # numbers of candidates worth asking for, over the least

    def __init__(self, space: ChordSpace, rows: ChordRows) -> None:
        self.space, self.measured = space, 0
        starts = [0, *(term.columns.stop for term in space.terms)]
        self.terms = LoopTerms(
            np.array(starts),
            np.array([term.K for term in space.terms], dtype=float),
            np.array([term.weight for term in space.terms], dtype=float),
        )
        # squares that leave the range of floats bound nothing
        self.usable = FAINT < longest_square(rows.v) < HUGE
        if self.usable:
            points = self._points(rows)
            self.tree = grow_tree(
                len(rows.v), lambda p, r: pair_bounds(points, p, points, r, self.terms)
            )
            order = self.tree.order
            self.points = LoopRows(*(np.ascontiguousarray(values[order]) for values in points))
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            self.vantage = place[self.tree.vantage]

    def _points(self, rows: ChordRows) -> LoopRows:
        return LoopRows(rows.v, rows.scale, self.space.blur(rows))

    def candidates(
        self, queries: ChordRows, k: int, wanted: int, pool: Pool
    ) -> tuple[Ints, Floats]:
        """Return k rows of each query, and a distance that no other row is nearer than."""
        del wanted  # all k are worth measuring
        if not self._answers(queries):
            nothing = np.full((len(queries.v), k), -1, dtype=np.intp)
            return nothing, np.full(len(queries.v), -np.inf)
        found = self._searched(queries, k, np.inf, pool)
        places, values = (np.concatenate([some[i] for some in found]) for i in (1, 2))
        return self.tree.order[places.reshape(-1, k)], values.reshape(-1, k)[:, 0]

    def within(self, queries: ChordRows, radius: float, pool: Pool) -> tuple[Ints, Ints] | None:
        """Return pairs (query, row) that hold all within a radius, or None for all pairs."""
        if not self._answers(queries):
            return None
        counts, places, _ = (
            np.concatenate(parts)
            for parts in zip(*self._searched(queries, 0, radius, pool), strict=True)
        )
        return np.repeat(np.arange(len(queries.v)), counts), self.tree.order[places]

    def _answers(self, queries: ChordRows) -> bool:
        return self.usable and longest_square(queries.v) < HUGE

    def _searched(
        self, queries: ChordRows, k: int, radius: float, pool: Pool
    ) -> list[tuple[Ints, Ints, Floats]]:
        """Return counts, places and bounds of what was found, for blocks of queries."""
        asked, tree = self._points(queries), self.tree

        def run(start: int) -> tuple[Ints, Ints, Floats, int]:
            some = LoopRows(*(values[start : start + QUERIES] for values in asked))
            found: tuple[Ints, Ints, Floats, int] = search_tree(
                some,
                self.points,
                self.terms,
                self.vantage,
                tree.near,
                tree.far,
                tree.low,
                tree.high,
                k,
                radius,
            )
            return found

        starts = range(0, len(queries.v), QUERIES)
        blocks = list(map(run, starts) if pool is None else pool.map(run, starts))
        self.measured += sum(block[-1] for block in blocks)
        return [block[:3] for block in blocks]


def pair_bounds(
    P: LoopRows, which: Ints, R: LoopRows, columns: Ints, terms: LoopTerms
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of the distances of pairs."""
    low, high = np.empty(len(which)), np.empty(len(which))
    fill_bounds(P, which, R, columns, terms, low, high)
    return low, high
