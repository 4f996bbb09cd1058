"""Votes of labelled neighbours, and the probabilities they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from cayleyklein._estimators import as_weights, labels_of
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.neighbors import (
    LocalScales,
    Ranked,
    Weights,
    class_shares,
    local_votes,
    payload_of,
    votes_of,
)


def payload_of_block(
    rows: Floats, target: AnyArray, weights: Any, first_row: int, classes: AnyArray,
    local: LocalScales | None,
) -> Floats:  # fmt: skip
    """Return the payload of a block of a Dask collection."""
    labels = labels_of(target, classes)
    checked = None if weights is None else as_weights(weights, labels, first_row)
    numbers = first_row + np.arange(len(rows))
    return payload_of(labels, checked, None if local is None else local.of(rows, numbers))


def voters_of(found: Ranked, k: int, weights: Weights) -> tuple[Ints, Ints, Floats]:
    """Return which k of the neighbours found vote, their labels, and their votes, each (m, k)."""
    assert found.payload is not None
    if weights == "local":
        chosen, votes = local_votes(found.distances, found.payload[:, :, 2], k)
    else:
        votes = votes_of(found, k, weights)
        chosen = np.broadcast_to(np.arange(k), votes.shape)
    payload = np.take_along_axis(found.payload, chosen[:, :, None], axis=1)
    return chosen, payload[:, :, 0].astype(np.intp), votes * payload[:, :, 1]


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


def winners_of(
    found: Ranked, k: int, weights: Weights, prior: Floats, classes: AnyArray
) -> tuple[AnyArray]:
    """Return the most probable class."""
    (shares,) = shares_of(found, k, weights, prior)
    return (np.asarray(classes[shares.argmax(axis=1)]),)
