"""Order-k diagrams, order by order.

A cell of order k is where a set T of k generators are the k nearest: where the mean of their
planes is the highest of all such means. Going from a point of such a cell straight to the
farthest generator of T one meets, still in the cell, another generator of T as far. There two
cells of order k - 1 with the union T meet, so the unions over the ridges of order k - 1 are all
the candidates, and those that have no cell drop out of the hull. The way stays within any
convex set that holds the generators, and so walls around them lose no cell.
"""

import numpy as np
from numpy.typing import NDArray

from cayleyklein.diagrams._power import PowerDiagram

__all__ = ["differ_by_one", "lone_members", "order_k"]

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


def order_k(
    A: Array, b: Array, walls: tuple[Array, Array], order: int
) -> tuple[Ints, Array, Array, PowerDiagram]:
    """Return the candidate sets (m, k), their mean planes, and the diagram of these."""
    sets = np.arange(len(A))[:, None]
    means, heights = A, b
    diagram = PowerDiagram(A, b, *walls)
    for _ in range(1, order):
        sets = unions_over(diagram, sets)
        means, heights = A[sets].mean(axis=1), b[sets].mean(axis=1)
        diagram = PowerDiagram(means, heights, *walls)
    return sets, means, heights, diagram


def unions_over(diagram: PowerDiagram, sets: Ints) -> Ints:
    """Return the sets T ∪ T' of one more generator, over the ridges between cells T and T'."""
    pairs, _ = diagram.ridges
    pairs = pairs[(pairs < diagram.n).all(axis=1)]
    both = np.sort(np.hstack([sets[pairs[:, 0]], sets[pairs[:, 1]]]), axis=1)
    new = np.ones(both.shape, dtype=bool)
    new[:, 1:] = both[:, 1:] != both[:, :-1]
    size = sets.shape[1] + 1
    grown = new.sum(axis=1) == size
    return np.unique(both[grown][new[grown]].reshape(-1, size), axis=0)


def differ_by_one(first: Ints, second: Ints) -> NDArray[np.bool_]:
    """Say which rows of sets differ in one member, as sets on the sides of a ridge do."""
    common = (first[:, :, None] == second[:, None, :]).sum(axis=(1, 2))
    return np.asarray(common == first.shape[1] - 1)


def lone_members(first: Ints, second: Ints) -> Ints:
    """Return the one member of each row of `first` not in `second`, and the other way round."""
    same = first[:, :, None] == second[:, None, :]
    return np.stack([first[~same.any(axis=2)], second[~same.any(axis=1)]], axis=1)
