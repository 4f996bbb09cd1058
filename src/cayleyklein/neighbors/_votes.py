"""How much each neighbour counts, and what the votes of neighbours say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError

__all__ = ["Weights", "check_weights", "class_shares", "neighbor_weights", "weighted_mean"]

Weights = str | Callable[[Floats], Any]

PRIOR_VOTES = 0.1
"""Votes that the shares of the classes have beside the neighbours, so that none is ever 0 or 1."""


def check_weights(weights: Weights) -> None:
    """Check the parameter `weights` of an estimator."""
    named = isinstance(weights, str) and weights in ("linear", "uniform", "distance")
    if not named and not callable(weights):
        raise InvalidInputError(
            f"Got weights={weights!r}, but expected 'linear', 'uniform', 'distance' or a function "
            f"of the distances."
        )


def neighbor_weights(distances: Floats, weights: Weights, beyond: Floats | None = None) -> Floats:
    """Return the weights of neighbours at distances (m, k), ascending.

    "linear": 1 - d_i/d_{k+1}. "distance": 1/d in units of the nearest; where some neighbours are at
    distance 0, only these count. Where no neighbour would count, all count alike: the neighbours of
    a query outside a hyperbolic domain, all infinitely far, or all equally near.

    Parameters
    ----------
    distances : ndarray of shape (m, k)
    weights : str or callable
    beyond : ndarray of shape (m,), optional
        d_{k+1}, for "linear"; d_k where there are no more rows.

    Examples
    --------
    >>> near = np.array([[1.0, 2.0], [0.0, 3.0], [np.inf, np.inf]])
    >>> neighbor_weights(near, "linear", np.array([4.0, 4.0, np.inf]))
    array([[0.75, 0.5 ],
           [1.  , 0.25],
           [1.  , 1.  ]])
    >>> neighbor_weights(near, "distance")
    array([[1. , 0.5],
           [1. , 0. ],
           [1. , 1. ]])
    """
    if callable(weights):
        return _checked(weights(distances), distances)
    if weights == "uniform":
        return np.ones_like(distances)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if weights == "linear":
            found = 1 - distances / (distances[:, -1] if beyond is None else beyond)[:, None]
        else:
            found = np.where(distances > 0, distances[:, :1] / distances, 1.0)
    found = np.where(np.isnan(found), 0.0, found)
    return np.where(found.any(axis=1, keepdims=True), found, 1.0)


def _checked(given: Any, distances: Floats) -> Floats:
    """Check what a function made of distances."""
    found = np.asarray(given, dtype=np.float64)
    if found.shape != distances.shape:
        raise InvalidInputError(
            f"weights made an array of shape {found.shape} of distances of shape "
            f"{distances.shape}; expected one weight for each."
        )
    if np.isnan(found).any() or not found.any(axis=1).all():
        row = int(np.flatnonzero(np.isnan(found).any(axis=1) | ~found.any(axis=1))[0])
        raise InvalidInputError(
            f"weights made {found[row].tolist()} of the distances {distances[row].tolist()} of "
            f"query {row}; expected numbers, not all 0."
        )
    return found


def class_shares(
    votes: Floats, labels: Ints, prior: Floats, row_weights: Floats | None = None
) -> Floats:
    """Return class probabilities (m, n_classes): shares of the votes, shrunk to the class shares.

    (Σ votes for c + s p_c) / (Σ votes + s), with p the `prior` and s = 0.1. Where classes have
    equally many votes, that of the nearest neighbour has s more.

    Parameters
    ----------
    votes, labels : ndarray of shape (m, k)
        Weights and classes 0, 1, … of the neighbours.
    prior : ndarray of shape (n_classes,)
    row_weights : ndarray of shape (m, k), optional
        Sample weights of the neighbours.

    Examples
    --------
    >>> class_shares(np.ones((1, 3)), np.array([[1, 0, 1]]), np.array([0.5, 0.5])).round(2)
    array([[0.34, 0.66]])
    """
    if row_weights is not None:
        votes = votes * row_weights
    total = np.zeros((len(labels), len(prior)))
    each = np.arange(len(labels))
    for t in range(labels.shape[1]):
        total[each, labels[:, t]] += votes[:, t]
    tied = (total == total.max(axis=1, keepdims=True)).sum(axis=1) > 1
    total[each[tied], labels[tied, 0]] += PRIOR_VOTES
    total += PRIOR_VOTES * prior
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def weighted_mean(weights: Floats, targets: Floats) -> Floats:
    """Return the mean (m, ...) of the targets (m, k, ...) of neighbours.

    Examples
    --------
    >>> weighted_mean(np.array([[1.0, 0.5]]), np.array([[3.0, 6.0]]))
    array([4.])
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("mk,mk...->m...", shares, targets))
