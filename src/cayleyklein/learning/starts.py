"""Where a fit starts: the loss is not convex, and the start decides the basin (paper §4.2)."""

from collections.abc import Callable

import numpy as np
from sklearn.covariance import ledoit_wolf

from cayleyklein._typing import Floats
from cayleyklein.learning.rows import TrainingRows

# Eigenvalue of a covariance, relative to the largest, below which it is shrunk to its mean.
SINGULAR = 1e-6


def starting_factor(name: str, rows: TrainingRows, n_components: int | None = None) -> Floats:
    """Return a factor of n_components rows, or all; constant columns have no part in it."""
    r = min(n_components or rows.n_columns, rows.n_columns)
    return STARTS[name](rows, r) * rows.varies


def standard_deviations(rows: TrainingRows, r: int) -> Floats:
    return np.eye(r) if r == rows.n_columns else _leading_axes(_covariance(rows), r)


def identity(rows: TrainingRows, r: int) -> Floats:
    """Take the raw columns as they are, in a unit that gives them the size of standardised ones."""
    finite = np.where(np.isfinite(rows.scale), rows.scale, 0.0)
    largest = float(finite.max()) or 1.0
    varying = finite[finite > 0] / largest
    size = float(np.sqrt(np.mean(varying**2))) * largest if len(varying) else 1.0
    raw = rows.raw_columns / size
    if len(raw) > rows.n_columns:  # the same distances from fewer rows
        raw = np.linalg.qr(raw)[1]
    if r == rows.n_columns:
        return raw
    return _leading_axes(raw @ _covariance(rows) @ raw.T, r) @ raw


def discriminants(rows: TrainingRows, r: int) -> Floats:
    """Project on linear discriminants of within-class whitened rows, then on what is left."""
    mass = np.bincount(rows.labels, weights=rows.shares)
    means = np.zeros((len(mass), rows.n_columns))
    np.add.at(means, rows.labels, rows.shares[:, None] * rows.X)
    means /= np.where(mass > 0, mass, 1.0)[:, None]
    whiten = _whitening(_covariance(rows, means[rows.labels]), rows.n_columns)
    between = means @ whiten.T
    return _leading_axes((between * mass[:, None]).T @ between, r) @ whiten


STARTS: dict[str, Callable[[TrainingRows, int], Floats]] = {
    "std": standard_deviations,
    "identity": identity,
    "precision": lambda rows, r: _whitening(_covariance(rows), r),  # ΣLᵀL is the identity
    "pca": lambda rows, r: _leading_axes(_covariance(rows), r),
    "lda": discriminants,
}


def _leading_axes(matrix: Floats, r: int) -> Floats:
    return np.asarray(np.linalg.eigh(matrix)[1][:, ::-1][:, :r].T)


def _whitening(covariance: Floats, r: int) -> Floats:
    eigenvalues, vectors = np.linalg.eigh(covariance)
    order = np.argsort(-eigenvalues)[:r]
    whiten = vectors[:, order].T / np.sqrt(eigenvalues[order])[:, None]
    # The symmetric root where nothing is dropped: closest to the columns as they are.
    return np.asarray(vectors[:, order] @ whiten) if r == len(covariance) else whiten


def _covariance(rows: TrainingRows, centers: Floats | None = None) -> Floats:
    """Return the covariance of standardised rows, shrunk (Ledoit and Wolf) where it is singular."""
    centred = rows.X if centers is None else rows.X - centers
    matrix = np.asarray((centred * rows.shares[:, None]).T @ centred)
    varies = rows.varies
    if not matrix[np.ix_(varies, varies)].any():
        return np.eye(len(matrix))
    some = matrix[np.ix_(varies, varies)]
    eigenvalues = np.linalg.eigvalsh(some)
    if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        amount = max(float(ledoit_wolf(centred[:, varies], assume_centered=True)[1]), SINGULAR)
        some = (1 - amount) * some + amount * np.trace(some) / len(some) * np.eye(len(some))
    matrix[np.ix_(varies, varies)] = some
    constant = np.flatnonzero(~varies)  # which come last, with the least variance
    matrix[constant, constant] = np.linalg.eigvalsh(some)[0] / 2
    return matrix
