"""The search of a tree of vantage points, compiled."""

import numpy as np

from cayleyklein._jit import Kernel, inlined, vectorised

STACK = 128
"""Depth of the search's stack; a balanced tree of 2⁶⁴ rows needs half of it."""


@vectorised
def square_gap(v, i, w, j, begin, end):
    total = 0.0
    for t in range(begin, end):
        e = v[i, t] - w[j, t]
        total += e * e
    return total


@inlined
def row_distance(v, i, w, j, cuts, curvatures, units, limit):
    """Return Σ weight · d of two rows, or the limit once that is passed.

    A row is its lifts v side by side, cut at `cuts`, and then its scales, 1 or 1/σ. A unit is
    weight/√|K|, or the weight for K = 0. The formulas are those of `geometry.lifts`.
    """
    scales = cuts[len(curvatures)]
    total = 0.0
    for p in range(len(curvatures)):
        K, unit = curvatures[p], units[p]
        h = square_gap(v, i, w, j, cuts[p], cuts[p + 1])
        if K == 0:
            total += unit * np.sqrt(h)
        elif K > 0:
            h = min(K * h / 4, 1.0)
            root = np.sqrt(h)
            if total + 2 * unit * root >= limit:  # arcsin r ≥ r
                return limit
            total += 2 * unit * np.arctan2(root, np.sqrt(1 - h))
        else:
            h *= -K * v[i, scales + p] * w[j, scales + p] / 4
            e = 2 * (h + np.sqrt(h + h * h))
            if unit * e >= (limit - total) * (1 + e / 2):  # log(1 + e) ≥ e/(1 + e/2)
                return limit
            total += unit * np.log1p(e)
        if total >= limit:
            return limit
    return total


@Kernel
def push(heap, rows, value, row):
    """Put a value in the place of the largest of a heap."""
    at, size = 0, len(heap)
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[at], rows[at] = heap[child], rows[child]
        at = child
    heap[at], rows[at] = value, row


@Kernel
def search_nearest(
    begin, end, values, rows, measured, q, slack, v, cuts, curvatures, units,
    runs, shells, to_vantage,
):  # fmt: skip
    """Fill `values`, `rows` (m, k) with the nearest rows of queries begin…end, in tree order.

    And `measured` with the number of distances taken. The slack of a query is by how much the
    triangle inequality may fail by rounding.
    """
    nodes, bounds, centers = np.empty(STACK, np.int64), np.empty(STACK), np.empty(STACK)
    for i in range(begin, end):
        heap, found = values[i], rows[i]
        heap[:] = np.inf
        found[:] = -1
        depth, count = 1, 0
        nodes[0], bounds[0], centers[0] = 0, 0.0, 0.0
        while depth > 0:
            depth -= 1
            if bounds[depth] > heap[0]:
                continue
            node, from_parent, least = nodes[depth], centers[depth], bounds[depth]
            first, last = runs[node, 0], runs[node, 1]
            near, far = runs[node, 2], runs[node, 3]
            if near < 0:
                for j in range(first, last):
                    if node and abs(from_parent - to_vantage[j]) - slack[i] > heap[0]:
                        continue
                    count += 1
                    d = row_distance(q, i, v, j, cuts, curvatures, units, heap[0])
                    if d < heap[0]:
                        push(heap, found, d, j)
                continue
            count += 1
            d = row_distance(q, i, v, first, cuts, curvatures, units, np.inf)
            if d < heap[0]:
                push(heap, found, d, first)
            # The child more likely to hold neighbours is pushed last, and so visited first.
            if d < (shells[near, 1] + shells[far, 0]) / 2:
                near, far = far, near
            for child in (near, far):
                bound = max(least, max(shells[child, 0] - d, d - shells[child, 1]) - slack[i])
                if bound <= heap[0]:
                    nodes[depth], bounds[depth], centers[depth] = child, bound, d
                    depth += 1
        measured[i] = count
