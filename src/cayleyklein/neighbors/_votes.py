"""How much each neighbour counts, and what the votes of neighbours say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cayleyklein._estimators import naming, refuse_no_numbers
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import refuse_containers
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors._euclidean import even_rows
from cayleyklein.neighbors._index import CHUNK, Ranked, SearchIndex

Weights = str | Callable[[Floats], Any]

KINDS = ("linear", "uniform", "distance")

NEAR = 5
"""A row's scale is its distance to the so-many-th nearest row."""

SCALE_ROWS = 2000
"""Rows among which the scales of "local" votes are taken: all, or so many evenly spaced ones."""

LEAST_SCALE = 0.1
"""Least scale, of the median one: repeated rows would have a scale of 0."""

PRIOR_VOTES = 0.1
"""Votes that the shares of the classes have beside the neighbours, so that none is ever 0 or 1."""


def check_weights(weights: Weights, names: tuple[str, ...] = KINDS) -> None:
    """Check the parameter `weights` of an estimator."""
    if not (isinstance(weights, str) and weights in names) and not callable(weights):
        raise InvalidInputError(
            f"Got weights={weights!r}, but expected {', '.join(map(repr, names))} or a function of "
            f"the distances."
        )


def votes_of(found: Ranked, k: int, weights: Weights) -> Floats:
    """Return the weights (m, k) of the k nearest neighbours, of which more may have been found."""
    return neighbor_weights(found.distances, k, weights)


def neighbor_weights(distances: Floats, k: int, weights: Weights) -> Floats:
    """Return the weights of the k nearest neighbours at ascending distances.

    "linear": 1 - d_i/d_{k+1}, or d_k where there are no more rows. "distance": 1/d in units of the
    nearest; where some neighbours are at distance 0, only these count. Where no neighbour would
    count, all count alike: the neighbours of a query outside a hyperbolic domain, all infinitely
    far, or all equally near.

    >>> near = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 4.0], [np.inf, np.inf, np.inf]])
    >>> neighbor_weights(near, 2, "linear")
    array([[0.75, 0.5 ],
           [1.  , 0.25],
           [1.  , 1.  ]])
    >>> neighbor_weights(near, 2, "distance")
    array([[1. , 0.5],
           [1. , 0. ],
           [1. , 1. ]])
    """
    near = distances[:, :k]
    if callable(weights):
        return _checked(weights(near), near)
    if weights == "uniform":
        return np.ones_like(near)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if weights == "linear":
            found = 1 - near / distances[:, : k + 1][:, -1:]
        else:
            found = np.where(near > 0, near[:, :1] / near, 1.0)
    found = np.where(np.isnan(found), 0.0, found)
    return np.where(found.any(axis=1, keepdims=True), found, 1.0)


def _checked(given: Any, distances: Floats) -> Floats:
    """Check what a function made of distances."""
    refuse_containers(given, "weights")
    refuse_no_numbers(given, "weights")
    with naming("weights"):
        found = np.asarray(given, dtype=np.float64)
    if found.shape != distances.shape:
        raise InvalidInputError(
            f"weights made an array of shape {found.shape} of distances of shape "
            f"{distances.shape}; expected one weight for each."
        )
    valid = (np.isfinite(found) & (found >= 0)).all(axis=1) & found.any(axis=1)
    if not valid.all():
        row = int(np.argmin(valid))
        raise InvalidInputError(
            f"weights made {found[row].tolist()} of the distances {distances[row].tolist()} of "
            f"query {row}; expected finite numbers ≥ 0, not all 0."
        )
    return found


def as_scales(distances: Floats, typical: float) -> Floats:
    """Return the scales of rows from distances to their `NEAR`-th nearest; none is 0."""
    if not typical > 0:  # most rows are repeated
        return np.ones_like(distances)
    return np.maximum(distances, LEAST_SCALE * typical)


def local_votes(distances: Floats, scales: Floats, k: int) -> tuple[Ints, Floats]:
    """Choose the k neighbours that vote by locally scaled distances, and weigh them linearly.

    Of candidates (m, c) those with the least d/√s, where s is the row's distance to its fifth
    nearest row (Zelnik-Manor and Perona 2004). Rows in dense regions are near to many queries, and
    would outvote the others (Schnitzer et al. 2012). Return positions among the candidates (m, k),
    nearest first, and votes 1 - d_i/d_{k+1} of scaled distances.

    >>> columns, votes = local_votes(np.array([[1.0, 2.0, 6.0]]), np.array([[1.0, 16.0, 1.0]]), 2)
    >>> columns, votes.round(2)
    (array([[1, 0]]), array([[0.92, 0.83]]))
    """
    scaled = distances / np.sqrt(scales)
    order = np.argsort(scaled, axis=1, kind="stable")[:, : k + 1]
    near = np.take_along_axis(scaled, order, axis=1)
    return order[:, :k], neighbor_weights(near, k, "linear")


def class_shares(votes: Floats, labels: Ints, prior: Floats) -> Floats:
    """Return class probabilities (m, n_classes): shares of the votes, shrunk to the class shares.

    (Σ votes for c + s p_c) / (Σ votes + s), with p the `prior` and s = 0.1, for votes and classes
    0, 1, … of the neighbours (m, k). Where classes have equally many votes, that of the nearest
    neighbour has s more.

    >>> class_shares(np.ones((1, 3)), np.array([[1, 0, 1]]), np.array([0.5, 0.5])).round(2)
    array([[0.34, 0.66]])
    """
    total = np.zeros((len(labels), len(prior)))
    each = np.arange(len(labels))
    for t in range(labels.shape[1]):
        total[each, labels[:, t]] += votes[:, t]
    tied = (total == total.max(axis=1, keepdims=True)).sum(axis=1) > 1
    total[each[tied], labels[tied, 0]] += PRIOR_VOTES
    total += PRIOR_VOTES * prior
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def weighted_mean(weights: Floats, targets: Floats) -> Floats:
    """Return the weighted mean (m, …) of the targets (m, k, …) of neighbours."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("mk,mk...->m...", shares, targets))


# -- how dense rows are around a row -------------------------------------------------


class LocalScales:
    """Distances to the fifth nearest of the fitted `rows` with these ascending `numbers`."""

    def __init__(self, rows: Floats, numbers: Ints, metric: Metric, n_jobs: int | None) -> None:
        self.numbers, self.n_jobs = numbers, n_jobs
        self.index = SearchIndex(rows, metric, "auto")
        self.typical = float(np.median(self._measured(rows, numbers)))

    @staticmethod
    def numbers_of(n_rows: int) -> Ints:
        """Return the numbers of the rows among which distances are taken."""
        return even_rows(n_rows, SCALE_ROWS)

    def of(self, rows: Floats, numbers: Ints) -> Floats:
        """Return the scales of rows of given numbers."""
        return as_scales(self._measured(rows, numbers), self.typical)

    def _measured(self, rows: Floats, numbers: Ints) -> Floats:
        parts = [
            self.index.nearest(rows[at : at + CHUNK], NEAR + 1, self.n_jobs).distances
            for at in range(0, len(rows), CHUNK)
        ]
        return fifth_nearest(np.concatenate(parts), np.isin(numbers, self.numbers))


def fifth_nearest(distances: Floats, itself: Bools) -> Floats:
    """Return how far the fifth nearest is, of the six found; the row `itself` may be among them."""
    last = distances.shape[1] - 1
    return np.where(itself, distances[:, last], distances[:, max(0, last - 1)])
