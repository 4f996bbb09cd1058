"""Where a fit starts: the loss is not convex, and the start decides the basin (paper §4.2)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cayleyklein.learning._data import TrainingRows

__all__ = ["STARTS", "starting_factor"]

Array = NDArray[np.float64]

SINGULAR = 1e-6
"""Eigenvalue of a covariance, relative to the largest, below which it is shrunk to its mean."""


def _leading(matrix: Array, r: int) -> Array:
    """Return the eigenvectors of the r largest eigenvalues, as rows."""
    return np.asarray(np.linalg.eigh(matrix)[1][:, ::-1][:, :r].T)


def covariance(data: TrainingRows) -> Array:
    """Return the covariance of standardised rows, shrunk (Ledoit and Wolf) where it is singular."""
    share = data.weights / data.weights.sum()
    centred = data.X - share @ data.X
    matrix = (centred * share[:, None]).T @ centred
    if not matrix.any():  # nothing varies
        return np.eye(len(matrix))
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] > SINGULAR * eigenvalues[-1]:
        return np.asarray(matrix)
    from sklearn.covariance import ledoit_wolf_shrinkage

    amount = max(ledoit_wolf_shrinkage(centred, assume_centered=True), SINGULAR)
    return np.asarray(
        (1 - amount) * matrix + amount * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    )


def precision(data: TrainingRows, r: int) -> Array:
    """Whiten: ΣLᵀL is the identity, for Σ the covariance; the largest r components of it."""
    eigenvalues, vectors = np.linalg.eigh(covariance(data))
    order = np.argsort(-eigenvalues)[:r]
    whiten = vectors[:, order].T / np.sqrt(eigenvalues[order])[:, None]
    # The symmetric root where nothing is dropped: closest to the columns as they are.
    return np.asarray(vectors[:, order] @ whiten) if r == data.X.shape[1] else whiten


def standard_deviations(data: TrainingRows, r: int) -> Array:
    """Take the standardised columns as they are; their principal components for r < d."""
    return np.eye(data.X.shape[1]) if r == data.X.shape[1] else principal_components(data, r)


def identity(data: TrainingRows, r: int) -> Array:
    """Take the raw columns as they are, in a unit that gives them the size of standardised ones."""
    d = data.X.shape[1]
    finite = np.where(np.isfinite(data.scale), data.scale, 0.0)
    size = (
        float(np.sqrt(np.mean((finite / finite.max()) ** 2))) * finite.max()
        if finite.any()
        else 1.0
    )
    raw = np.diag(finite / size)
    if r == d:
        return raw
    return _leading(raw @ covariance(data) @ raw.T, r) @ raw


def principal_components(data: TrainingRows, r: int) -> Array:
    """Project on the r principal components of the standardised columns."""
    return _leading(covariance(data), r)


def discriminants(data: TrainingRows, r: int) -> Array:
    """Project on linear discriminants of within-class whitened rows, then on what is left."""
    share = data.weights / data.weights.sum()
    means = np.stack(
        [
            np.average(data.X[data.labels == c], axis=0, weights=data.weights[data.labels == c])
            for c in np.unique(data.labels)
        ]
    )
    position = np.searchsorted(np.unique(data.labels), data.labels)
    within = TrainingRows(
        data.X - means[position], data.labels, data.weights, data.mean, data.scale
    )
    whiten = precision(within, data.X.shape[1])
    between = (means - share @ data.X) @ whiten.T
    mass = np.bincount(position, weights=share)
    return _leading((between * mass[:, None]).T @ between, r) @ whiten


STARTS: dict[str, Callable[[TrainingRows, int], Array]] = {
    "precision": precision,
    "shrunk": precision,
    "identity": identity,
    "std": standard_deviations,
    "pca": principal_components,
    "lda": discriminants,
}
"""Name → factor L for standardised rows. "shrunk" is the precision start drawn to the centre."""


def starting_factor(data: TrainingRows, init: str, r: int, radius: float | None) -> Array:
    """Return L, scaled so that the root mean square of ‖z‖ is `radius` (as it is, when None)."""
    factor = STARTS[init](data, r)
    if radius is None:
        return factor
    z = data.X @ factor.T
    size = float(np.sqrt(np.average((z * z).sum(axis=1), weights=data.weights)))
    return factor * (radius / size) if size > 0 else factor
