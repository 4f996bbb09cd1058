"""What an index knows of labelled rows, and what votes make of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.neighbors import (
    LocalScales,
    Ranked,
    Weights,
    cast_votes,
    class_shares,
    local_votes,
    votes_of,
)


def payload_at(
    rows: Floats, labels: Ints, weights: Floats, first_row: int, local: LocalScales | None
) -> Floats:
    """Return labels, weights and scales of rows from a number on, each a point of its own."""
    scales = np.ones(len(rows))
    if local is not None:
        scales = local.of(rows, first_row + np.arange(len(rows)))
    return np.column_stack([labels, weights, scales])


def voters_of(found: Ranked, k: int, weights: Weights) -> tuple[Ints, Ints, Floats]:
    """Return which of the neighbours found vote, k at the most, their labels and their votes.

    Each is of shape (m, k · s): s labels are at a point, some of them without votes.
    """
    assert found.payload is not None
    if weights == "local":
        chosen, votes = local_votes(found.distances, found.payload[:, :, -1], k)
    else:
        votes = votes_of(found, k, weights)
        chosen = np.broadcast_to(np.arange(votes.shape[1]), votes.shape)
    known = np.take_along_axis(found.payload, chosen[:, :, None], axis=1)[:, :, :-1]
    return np.repeat(chosen, known.shape[2] // 2, axis=1), *cast_votes(votes, known)


def shares_of(found: Ranked, k: int, weights: Weights, prior: Floats) -> tuple[Floats]:
    """Return the probability of each class by the votes of k of the neighbours found."""
    _, labels, votes = voters_of(found, k, weights)
    return (class_shares(votes, labels, prior),)


def explained(found: Ranked, k: int, weights: Weights, prior: Floats) -> tuple[Any, ...]:
    """Return rows, distances, labels and votes of the voters, and the probabilities."""
    chosen, labels, votes = voters_of(found, k, weights)
    rows, distances = (
        np.take_along_axis(values, chosen, axis=1) for values in (found.rows, found.distances)
    )
    return rows, distances, labels, votes, class_shares(votes, labels, prior)


def first_rows(points: Ints, labels: Ints, asked_points: Ints, asked_labels: Ints) -> Ints:
    """Return the first row of each label at each point that is asked for.

    `points` and `labels` are those of all rows. For a label that is not at a point, and so has no
    votes there, any row is returned.

    >>> first_rows(np.array([0, 0, 1, 0]), np.array([1, 0, 0, 0]), np.array([0]), np.array([0]))
    array([1])
    """
    n_labels = int(labels.max()) + 1
    keys, first = np.unique(points * n_labels + labels, return_index=True)
    at = np.searchsorted(keys, asked_points * n_labels + asked_labels)
    return np.asarray(first[np.minimum(at, len(first) - 1)])


def winners_of(
    found: Ranked, k: int, weights: Weights, prior: Floats, classes: AnyArray
) -> tuple[AnyArray]:
    """Return the most probable class."""
    (shares,) = shares_of(found, k, weights, prior)
    return (np.asarray(classes[shares.argmax(axis=1)]),)
