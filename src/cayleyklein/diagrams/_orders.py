"""Order-k diagrams, order by order.

A cell of order k is where a set T of k generators are the k nearest: where the mean of their planes
is the highest of all such means. Let t be the farthest of T at a point of the cell. There T without
t is a cell of order k - 1. Going straight to t, one meets another generator of T as far, and beyond
it another cell of order k - 1, which has t. So the sets of order k - 1 with one more generator,
which a neighbour has, are all the candidates; sets without a cell drop out of the hull. The way
stays within any convex set that holds the generators, and so walls around them lose no cell.
Of generators that coincide, sets take the *copies* in the order of their rows, and a set of copies
of one alone has no neighbour to meet on the way: its next copy is a candidate too.
"""

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import check_memory
from cayleyklein.diagrams._power import PowerDiagram


def order_k(
    A: Floats, b: Floats, walls: tuple[Floats, Floats], order: int, original: Ints
) -> tuple[Ints, Floats, Floats, PowerDiagram]:
    """Return the candidate sets (m, k), their mean planes, and the diagram of these."""
    # original (n,) is the first row that each row is a copy of, itself in general
    n, d = A.shape
    # In the plane there are at most (2k - 1) n - k² + 1 cells of order k (Lee 1982).
    _reserve((2 * order - 1) * n - order * order + 1, order, d)
    sets = np.flatnonzero(original == np.arange(n))[:, None]
    while True:
        _reserve(len(sets), sets.shape[1], d)
        means, heights = A[sets].mean(axis=1), b[sets].mean(axis=1)
        diagram = PowerDiagram(means, heights, *walls)
        if sets.shape[1] == order:
            return sets, means, heights, diagram
        sets = _with_one_more(diagram, sets, original)


def _reserve(cells: int, order: int, d: int) -> None:
    needed = 8.0 * cells * order * (d + 2) if order > 1 else 0.0
    remedy = "Take a lower order or fewer points, or classify with CurvedNeighbors."
    check_memory(needed, f"A diagram of order {order:,} with about {cells:,} cells", remedy)


def _with_one_more(diagram: PowerDiagram, sets: Ints, original: Ints) -> Ints:
    pairs, _ = diagram.ridges
    sides = sets[pairs[(pairs < diagram.n).all(axis=1)].T]
    lone, proper = exchanges(sides, original)
    alone = sets[(original[sets] == original[sets[:, :1]]).all(axis=1)]
    rows = np.argsort(original, kind="stable")
    again = original[rows[1:]] == original[rows[:-1]]
    next_copy = np.full(len(original), -1)
    next_copy[rows[:-1][again]] = rows[1:][again]
    more = next_copy[alone[:, -1]]
    grown = [np.column_stack([sides[0], lone[:, 1]])[proper]]
    if again.any():
        grown.append(np.column_stack([sides[1], lone[:, 0]])[proper])
        grown.append(np.column_stack([alone, more])[more >= 0])
    found = np.sort(np.vstack(grown), axis=1)
    n, k = len(original), found.shape[1]
    if k * np.log2(n) >= 63:
        return np.unique(found, axis=0)
    powers = n ** np.arange(k)[::-1]  # a set as one number, which sorts faster than a row
    return np.unique(found @ powers)[:, None] // powers % n


def exchanges(sides: Ints, original: Ints) -> tuple[Ints, Bools]:
    """Return the generators (m, 2) that ridges exchange, from the sets on both sides (2, m, k)."""
    # the earliest members not in the other set; and (m,) whether copies of one replace those of one
    same = sides[0][:, :, None] == sides[1][:, None, :]
    common = np.stack([same.any(axis=2), same.any(axis=1)])
    earliest = np.argmin(common, axis=2)[..., None]
    lone = np.take_along_axis(sides, earliest, axis=2)
    copies = original[sides] == original[lone]
    proper = ~common.all(axis=2) & (common | copies).all(axis=2)
    return lone[..., 0].T, proper.all(axis=0)
