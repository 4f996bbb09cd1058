"""Compiled loop of embedded trees: where every node is seen from one of them."""

import math

import numpy as np

from cayleyklein._jit import vectorised
from cayleyklein._typing import Floats, Ints


@vectorised
def walk(
    parents: Ints, order: Ints, steps: Floats, directions: Floats, source: int, scaled: Floats
) -> Floats:
    """Fill the lifts e⁻ˢ(sinh r w, cosh r) of all nodes as seen from a source; return s (n,).

    Each M is the product of the boosts along the edges of the path, times e⁻ˢ.
    """
    n, d = directions.shape
    length = np.zeros(n)
    moved = np.zeros((n, d + 1, d + 1))
    reached = np.zeros(n, dtype=np.bool_)
    for a in range(d + 1):
        moved[source, a, a] = 1.0
    reached[source] = True
    head = np.empty(n, dtype=np.int64)  # nodes in the order in which they are reached
    tail = np.empty(n, dtype=np.int64)
    side = np.empty(n)
    count = 0
    here = source
    while parents[here] >= 0:
        head[count], tail[count], side[count] = parents[here], here, -1.0
        here = parents[here]
        reached[here] = True
        count += 1
    for node in order:
        if not reached[node]:
            head[count], tail[count], side[count] = node, parents[node], 1.0
            count += 1
    u = np.empty(d)
    for i in range(count):
        to, back = head[i], tail[i]
        edge = to if side[i] > 0 else back
        step = steps[edge]
        shrunk = math.exp(-step)
        sine, cosine = (1 - shrunk * shrunk) / 2, (1 + shrunk * shrunk) / 2
        bend = (1 - shrunk) * (1 - shrunk) / 2  # cosine - shrunk
        for a in range(d):
            u[a] = side[i] * directions[edge, a]
        for row in range(d + 1):
            along = 0.0
            for a in range(d):
                along += moved[back, row, a] * u[a]
            last = moved[back, row, d]
            for a in range(d):
                moved[to, row, a] = (
                    shrunk * moved[back, row, a] + (bend * along + sine * last) * u[a]
                )
            moved[to, row, d] = sine * along + cosine * last
        length[to] = length[back] + step
    for node in range(n):
        for row in range(d + 1):
            scaled[node, row] = moved[node, row, d]
    return length
