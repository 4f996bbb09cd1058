"""How much each neighbour counts."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein.exceptions import InvalidInputError

__all__ = ["Weights", "check_weights", "neighbor_weights", "vote_shares", "weighted_mean"]

Array = NDArray[np.float64]
Weights = str | Callable[[Array], Any]


def check_weights(weights: Weights) -> None:
    """Check the parameter `weights` of an estimator."""
    named = isinstance(weights, str) and weights in ("uniform", "distance")
    if not named and not callable(weights):
        raise InvalidInputError(
            f"Got weights={weights!r}, but expected 'uniform', 'distance' or a function of the "
            f"distances."
        )


def neighbor_weights(distances: Array, weights: Weights) -> Array:
    """Return the weights of neighbours at distances (m, k), as scikit-learn has them.

    With ``"distance"`` they are 1/d; where some neighbours are at distance 0, only these count.
    The neighbours of a query outside a hyperbolic domain, all infinitely far, count alike.

    Examples
    --------
    >>> neighbor_weights(np.array([[1.0, 2.0], [0.0, 3.0], [np.inf, np.inf]]), "distance")
    array([[1. , 0.5],
           [1. , 0. ],
           [1. , 1. ]])
    >>> neighbor_weights(np.array([[1e-310, 3.0]]), "distance")  # 0 for all that 1/d can tell
    array([[1., 0.]])
    """
    if callable(weights):
        given = np.asarray(weights(distances), dtype=np.float64)
        if given.shape != distances.shape:
            raise InvalidInputError(
                f"weights made an array of shape {given.shape} of distances of shape "
                f"{distances.shape}; expected one weight for each."
            )
        return given
    if weights == "uniform":
        return np.ones_like(distances)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1 / distances
    same = np.isinf(inverse)
    inverse = np.where(same.any(axis=1, keepdims=True), same, inverse)
    return np.where(np.isinf(distances).all(axis=1, keepdims=True), 1.0, inverse)


def vote_shares(distances: Array, labels: NDArray[np.intp], n_classes: int, kind: Weights) -> Array:
    """Return the share (m, n_classes) of the votes of neighbours that each class has.

    Examples
    --------
    >>> vote_shares(np.array([[1.0, 2.0, 3.0]]), np.array([[1, 0, 1]]), 2, "uniform").round(2)
    array([[0.33, 0.67]])
    """
    weights = neighbor_weights(distances, kind)
    votes = np.zeros((len(labels), n_classes))
    each = np.arange(len(labels))
    for t in range(labels.shape[1]):
        votes[each, labels[:, t]] += weights[:, t]
    total = votes.sum(axis=1, keepdims=True)
    return np.asarray(votes / np.where(total == 0, 1.0, total))


def weighted_mean(distances: Array, targets: Array, kind: Weights) -> Array:
    """Return the mean (m, ...) of the targets (m, k, ...) of neighbours.

    Examples
    --------
    >>> weighted_mean(np.array([[1.0, 2.0]]), np.array([[3.0, 6.0]]), "distance")
    array([4.])
    """
    weights = neighbor_weights(distances, kind)
    shares = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("mk,mk...->m...", shares, targets))
