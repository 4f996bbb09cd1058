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

from cayleyklein._jit import inlined, vectorised
from cayleyklein._typing import Floats, Ints
from cayleyklein.neighbors.euclidean import longest_square
from cayleyklein.neighbors.space import (
    FAINT,
    FORM_ROUNDING,
    HUGE,
    SLACK,
    ChordRows,
    ChordSpace,
    Pool,
)

LEAF = 16  # most rows of a leaf
BUILT_PAIRS = 2**16  # pairs measured at a time while a tree grows
FAINT_CHORD = math.sqrt(FAINT)  # under which squares may have underflowed
QUERIES = 64  # queries that a thread takes at a time

# (vantage points, rows) → lower and upper bounds of their distances, pair by pair
Measure = Callable[[Ints, Ints], tuple[Floats, Floats]]


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
        return self.low.shape[1]


def grow(n: int, measure: Measure) -> Tree:
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


class Points(NamedTuple):
    """Rows as the compiled loops read them."""

    v: Floats  # (n, D)
    scale: Floats  # (n, terms)
    blur: Floats  # (n, terms)


class Terms(NamedTuple):
    """The terms of a sum of metrics as the compiled loops read them."""

    starts: Ints  # (terms + 1,) of columns of v
    K: Floats
    weight: Floats


class VantageSearch:
    """Candidates by a vantage point tree on the rows of a `ChordSpace`.

    `measured` counts the distances that all searches took, those of candidates excepted.
    """

    factors = (1, 4)  # numbers of candidates worth asking for, over the least

    def __init__(self, space: ChordSpace, rows: ChordRows) -> None:
        self.space, self.measured = space, 0
        starts = [0, *(term.columns.stop for term in space.terms)]
        self.terms = Terms(
            np.array(starts),
            np.array([term.K for term in space.terms], dtype=float),
            np.array([term.weight for term in space.terms], dtype=float),
        )
        # squares that leave the range of floats bound nothing
        self.usable = FAINT < longest_square(rows.v) < HUGE
        if self.usable:
            points = self._points(rows)
            self.tree = grow(
                len(rows.v), lambda p, r: pair_bounds(points, p, points, r, self.terms)
            )
            order = self.tree.order
            self.points = Points(*(np.ascontiguousarray(values[order]) for values in points))
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            self.vantage = place[self.tree.vantage]

    def _points(self, rows: ChordRows) -> Points:
        return Points(rows.v, rows.scale, self.space.blur(rows))

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
            some = Points(*(values[start : start + QUERIES] for values in asked))
            found: tuple[Ints, Ints, Floats, int] = search_tree(
                some, self.points, self.terms, self.vantage, tree.near, tree.far,
                tree.low, tree.high, k, radius,
            )  # fmt: skip
            return found

        starts = range(0, len(queries.v), QUERIES)
        blocks = list(map(run, starts) if pool is None else pool.map(run, starts))
        self.measured += sum(block[-1] for block in blocks)
        return [block[:3] for block in blocks]


def pair_bounds(
    P: Points, which: Ints, R: Points, columns: Ints, terms: Terms
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of the distances of pairs."""
    low, high = np.empty(len(which)), np.empty(len(which))
    fill_bounds(P, which, R, columns, terms, low, high)
    return low, high


@vectorised
def bound(P, i, R, j, terms, side):
    """Bound the distance of row i of P to row j of R, from below (side -1) or above (1)."""
    total = 0.0
    for t in range(len(terms.K)):
        square = 0.0
        for c in range(terms.starts[t], terms.starts[t + 1]):
            step = P.v[i, c] - R.v[j, c]
            square += step * step
        root = math.sqrt(P.scale[i, t] * R.scale[j, t])
        chord = math.sqrt(square) * root
        doubt = (P.blur[i, t] + R.blur[j, t] + FAINT_CHORD) * root + chord * FORM_ROUNDING
        chord = max(chord + side * doubt, 0.0)
        K = terms.K[t]
        if K < 0:
            half = math.sqrt(-K) / 2
            chord = math.asinh(half * chord) / half
        elif K > 0:
            half = math.sqrt(K) / 2
            chord = math.asin(min(half * chord, 1.0)) / half
        total += terms.weight[t] * chord
    return total * (1 + side * SLACK)


@vectorised
def fill_bounds(P, which, R, columns, terms, low, high):
    for i in range(len(which)):
        low[i] = bound(P, which[i], R, columns[i], terms, -1.0)
        high[i] = bound(P, which[i], R, columns[i], terms, 1.0)


@inlined
def sink(values, places, first, k, value, place):
    """Put a value in the place of the largest, which a heap of k values has first."""
    at = 0
    while 2 * at + 1 < k:
        child = 2 * at + 1
        if child + 1 < k and values[first + child + 1] > values[first + child]:
            child += 1
        if values[first + child] <= value:
            break
        values[first + at] = values[first + child]
        places[first + at] = places[first + child]
        at = child
    values[first + at] = value
    places[first + at] = place


@vectorised
def search_tree(Q, R, terms, vantage, near, far, low, high, k, radius):
    """Find the k rows of the least lower bounds, largest first; for k = 0 all within a radius."""
    n, levels = low.shape
    measured, count = 0, 0
    values = np.full(max(k * len(Q.v), 1024), np.inf)
    places = np.zeros(len(values), dtype=np.int64)
    counts = np.full(len(Q.v), k)
    nodes, depths = np.empty(levels + 1, dtype=np.int64), np.empty(levels + 1, dtype=np.int64)
    bounds = np.empty(levels + 1)
    query_low, query_high = np.empty(levels), np.empty(levels)  # to the vantage points above
    for i in range(len(Q.v)):
        reach, first, top = radius, count, 1
        nodes[0], depths[0], bounds[0] = 0, 0, 0.0
        while top:
            top -= 1
            node, depth, below = nodes[top], depths[top], bounds[top]
            if below > reach:
                continue
            if depth < levels:
                least = bound(Q, i, R, vantage[node], terms, -1.0)
                most = bound(Q, i, R, vantage[node], terms, 1.0)
                measured += 1
                query_low[depth], query_high[depth] = least, most
                left, right = 2 * node + 1, 2 * node + 2
                to_left = max(least - far[left], near[left] - most)
                to_right = max(least - far[right], near[right] - most)
                nearer, farther = left, right
                if to_right < to_left:
                    nearer, farther = right, left
                    to_left, to_right = to_right, to_left
                nodes[top], depths[top], bounds[top] = farther, depth + 1, max(below, to_right)
                top += 1
                nodes[top], depths[top], bounds[top] = nearer, depth + 1, max(below, to_left)
                top += 1
                continue
            leaf = node + 1 - (1 << levels)
            for place in range(n * leaf >> levels, n * (leaf + 1) >> levels):
                spared = False
                for level in range(levels):
                    if (
                        query_low[level] - high[place, level] > reach
                        or low[place, level] - query_high[level] > reach
                    ):
                        spared = True
                        break
                if spared:
                    continue
                value = bound(Q, i, R, place, terms, -1.0)
                measured += 1
                if value > reach:
                    continue
                if k:
                    sink(values, places, first, k, value, place)
                    reach = values[first]
                else:
                    if count == len(places):
                        places = np.append(places, places)
                    places[count] = place
                    count += 1
        if k:
            count += k
        else:
            counts[i] = count - first
    return counts, places[:count], values[: count if k else 0], measured
