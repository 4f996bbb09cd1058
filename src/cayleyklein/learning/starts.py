"""Where a fit starts, and in which coordinates if there are many more columns than rows.

The loss is not convex, and the start decides the basin (paper §4.2).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.covariance import ledoit_wolf

from cayleyklein._typing import Floats
from cayleyklein.learning.rows import TrainingRows, principal_axes


def starting_factor(name: str, rows: TrainingRows, n_components: int | None = None) -> Floats:
    """Return a factor of n_components rows, or all; constant columns have no part in it."""
    r = min(n_components or rows.n_columns, rows.n_columns)
    return STARTS[name](rows, r) * rows.varies


def standard_deviations(rows: TrainingRows, r: int) -> Floats:
    return np.eye(r) if r == rows.n_columns else _leading_axes(_covariance(rows), r)


def identity(rows: TrainingRows, r: int) -> Floats:
    """Take the raw columns as they are, in a unit that gives them the size of standardised ones."""
    finite = rows.finite_scale
    largest = float(finite.max()) or 1.0
    varying = finite[finite > 0] / largest
    size = float(np.sqrt(np.mean(varying**2))) * largest if len(varying) else 1.0
    basis = np.eye(rows.n_columns) if rows.basis is None else rows.basis
    raw = (finite * basis).T / size
    if len(raw) > rows.n_columns:  # the same distances from fewer rows
        raw = np.linalg.qr(raw)[1]
    if r == rows.n_columns:
        return raw
    return _leading_axes(raw @ _covariance(rows) @ raw.T, r) @ raw


def discriminants(rows: TrainingRows, r: int) -> Floats:
    """Project on linear discriminants of within-class whitened rows, then on what is left."""
    mass, means = _class_means(rows, rows.X)
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
START_NAMES = {"auto", "flat", *STARTS}


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
    some = matrix[np.ix_(varies, varies)]
    if not some.any():
        return np.eye(len(matrix))
    eigenvalues = np.linalg.eigvalsh(some)
    if eigenvalues[0] <= 1e-6 * eigenvalues[-1]:
        amount = max(float(ledoit_wolf(centred[:, varies], assume_centered=True)[1]), 1e-6)
        some = (1 - amount) * some + amount * np.trace(some) / len(some) * np.eye(len(some))
    matrix[np.ix_(varies, varies)] = some
    constant = np.flatnonzero(~varies)  # which come last, with the least variance
    matrix[constant, constant] = np.linalg.eigvalsh(some)[0] / 2
    return matrix


def _class_means(rows: TrainingRows, columns: Floats) -> tuple[Floats, Floats]:
    """Return the share of each class, and its mean (C, d) of columns (n, d)."""
    mass: Floats = np.bincount(rows.labels, weights=rows.shares).astype(float)
    sums = np.zeros((len(mass), columns.shape[1]))
    np.add.at(sums, rows.labels, rows.shares[:, None] * columns)
    return mass, sums / np.where(mass > 0, mass, 1.0)[:, None]


def focus(init: str, rows: TrainingRows, *others: TrainingRows) -> tuple[TrainingRows, ...]:
    """Return labelled rows, and others in the same coordinates, on weighted components.

    Only for wide tables and the default start. Most columns of such a table, as of gene expression,
    are noise, and equal weights drown the others. So columns are weighted by what they tell of the
    classes, and the metric is learned on the leading principal components.
    """
    # of fewer columns over rows weights did not help
    wide = rows.basis is not None and len(rows.mean) > 2 * len(rows)
    if not wide or init != "std" or rows.targets is not None:
        return rows, *others
    assert rows.basis is not None
    columns = rows.X @ rows.basis
    weights = column_weights(columns, rows)
    most = max(10, len(rows) // 4)
    axes = principal_axes(columns * weights, most)
    map_ = (rows.basis * weights) @ axes.T
    with np.errstate(divide="ignore"):
        scale = rows.scale / weights
    return tuple(
        replace(some, X=some.X @ map_, scale=scale, basis=axes) for some in (rows, *others)
    )


def column_weights(columns: Floats, rows: TrainingRows) -> Floats:
    """Return √(η²/(1 - η²)) of standardised columns (n, d); their squares are 1 on average.

    η² is the share of a column's variance that lies between class means.
    """
    mass, means = _class_means(rows, columns)
    middle = mass @ means
    total = rows.shares @ (columns - middle) ** 2
    between = mass @ (means - middle) ** 2
    within = np.maximum(total - between, total / len(rows))
    ratio = np.divide(between, within, out=np.zeros_like(total), where=total > 0)
    average = ratio.mean()
    return np.sqrt(ratio / average) if average > 0 else np.ones_like(ratio)
