"""How much the vote of each neighbour counts, by its distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cayleyklein._estimators import refuse_no_numbers
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError

Weights = str | Callable[[Floats], Any]

VOTE_KINDS = ("linear", "uniform", "distance")


def candidates_of(weights: Weights, k: int) -> int:
    """Return how many nearest points are looked at, so that k of them vote."""
    if isinstance(weights, str):
        return {"linear": k + 1, "local": 2 * k + 1}.get(weights, k)
    return k


def neighbor_weights(
    distances: Floats, k: int, weights: Weights, present: Bools | None = None
) -> Floats:
    """Return the weights of the k nearest neighbours at ascending distances.

    "linear": 1 - d_i/d_{k+1}, or d_k where there are no more rows. "distance": 1/d in units of the
    nearest; where some neighbours are at distance 0, only these count. Where no neighbour would
    count, all count the same: all are infinitely far, as for a query outside a hyperbolic domain,
    or all are equally near. Neighbours that are not `present`, which come last, count 0.

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
    if present is not None and not present.all():
        last = np.maximum(present.sum(axis=1) - 1, 0)[:, None]
        distances = np.where(present, distances, np.take_along_axis(distances, last, axis=1))
    near = distances[:, :k]
    there = np.ones_like(near) if present is None else present[:, :k].astype(float)
    if callable(weights):
        return _checked(weights(near), near) * there
    if weights == "uniform":
        return there
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if weights == "linear":
            found = 1 - near / distances[:, : k + 1][:, -1:]
        else:
            found = np.where(near > 0, near[:, :1] / near, 1.0)
    found = np.where(np.isnan(found), 0.0, found) * there
    return np.where(found.any(axis=1, keepdims=True), found, there)


def _checked(given: Any, distances: Floats) -> Floats:
    """Check what a function made of distances."""
    refuse_no_numbers(given, "weights")
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


def local_votes(
    distances: Floats, scales: Floats, k: int, present: Bools | None = None
) -> tuple[Ints, Floats]:
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
    if present is not None:
        scaled = np.where(present, scaled, np.inf)
    order = np.argsort(scaled, axis=1, kind="stable")[:, : k + 1]
    near = np.take_along_axis(scaled, order, axis=1)
    there = None if present is None else np.take_along_axis(present, order, axis=1)
    return order[:, :k], neighbor_weights(near, k, "linear", there)
