"""Compiled loops of vantage point trees on the rows of a `ChordSpace` (`vantage`)."""

import math
from typing import NamedTuple

import numpy as np

from cayleyklein._jit import inlined, vectorised
from cayleyklein._typing import Floats, Ints
from cayleyklein.neighbors.space import FAINT, FORM_ROUNDING, SLACK

FAINT_CHORD = math.sqrt(FAINT)  # under which squares may have underflowed


class LoopRows(NamedTuple):
    """Rows as the compiled loops read them."""

    v: Floats  # (n, D)
    scale: Floats  # (n, terms)
    blur: Floats  # (n, terms)


class LoopTerms(NamedTuple):
    """The terms of a sum of metrics as the compiled loops read them."""

    starts: Ints  # (terms + 1,) of columns of v
    K: Floats
    weight: Floats


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
