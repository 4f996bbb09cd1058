"""Equal rows as one point that has the votes of all of them.

In a table of a few categories many rows are equal, and the k nearest rows are an arbitrary choice
among equally near ones. The k nearest distinct points are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.neighbors._index import SearchIndex


class Ballot(NamedTuple):
    """Distinct points that vote.

    `searcher` finds them, `rows` (p,) are the first fitted rows at each, and `points` (n,) the
    point of each fitted row, -1 for rows of weight 0.
    """

    searcher: SearchIndex
    rows: Ints
    points: Ints


def distinct_rows(X: Floats) -> tuple[Ints, Ints]:
    """Return the first row at each distinct point, ascending, and the point of each row.

    >>> distinct_rows(np.array([[5.0], [1.0], [5.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    _, first, point = np.unique(_hashes(X), return_index=True, return_inverse=True)
    again = np.flatnonzero(first[point] != np.arange(len(X)))
    if (X[again] != X[first[point[again]]]).any():  # different rows with one hash
        _, first, point = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[point.ravel()]


def _hashes(X: Floats) -> AnyArray:
    """Hash each row."""
    found = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1]):
        found ^= (X[:, j] + 0.0).view(np.uint64)  # which turns -0.0 into 0.0
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
        found *= np.uint64(0xD6E8FEB86659FD93)
        found ^= found >> np.uint64(29)
    return found


def class_votes(points: Ints, labels: Ints, weights: Floats) -> Floats:
    """Return the labels at each point, each with the sum of its weights beside it.

    Points with fewer labels than others have some of weight 0.

    >>> class_votes(np.array([0, 0, 1, 0]), np.array([2, 3, 3, 2]), np.ones(4))
    array([[2., 2., 3., 1.],
           [3., 1., 0., 0.]])
    """
    n_classes = int(labels.max()) + 1
    pairs, inverse = np.unique(points * n_classes + labels, return_inverse=True)
    at, label = np.divmod(pairs, n_classes)
    slot = np.arange(len(at)) - np.searchsorted(at, at)
    found = np.zeros((int(at[-1]) + 1, int(slot.max()) + 1, 2))
    found[at, slot, 0] = label
    found[at, slot, 1] = np.bincount(inverse, weights=weights)
    return found.reshape(len(found), -1)


def cast_votes(votes: Floats, known: Floats) -> tuple[Ints, Floats]:
    """Return the labels and votes (m, k · s) of k points from their votes and `class_votes`."""
    m = len(votes)
    labels = known[:, :, 0::2].astype(np.intp).reshape(m, -1)
    return labels, (votes[:, :, None] * known[:, :, 1::2]).reshape(m, -1)


def without_vote(known: Floats, labels: Floats, weights: Floats) -> Floats:
    """Return `class_votes` (q, 2s) less one vote of a label at each point.

    >>> without_vote(np.array([[2.0, 2.0, 3.0, 1.0]]), np.array([2.0]), np.array([1.0]))
    array([[2., 1., 3., 1.]])
    """
    found = known.copy()
    each = np.arange(len(found))
    own = (known[:, 0::2] == labels[:, None]) & (known[:, 1::2] > 0)
    slot = 2 * own.argmax(axis=1) + 1
    found[each, slot] -= weights  # never below 0: a sum is at least each of its terms
    return found
