"""Where a fit starts: the loss is not convex, and the start decides the basin (paper §4.2)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._descent import Recipe

__all__ = ["STARTS", "margin_scale", "starting_factor"]

Array = NDArray[np.float64]

SINGULAR = 1e-6
"""Eigenvalue of a covariance, relative to the largest, below which it is shrunk to its mean."""

SCALE_ROWS = 200
"""Rows, evenly spread over the sorted ones, from which the scale of a flat start is taken."""

SCALE_IMPOSTORS = 50
"""Nearest impostors of each of them that are looked at."""

SCALE_ENTRIES = 2**19
"""Square distances held at a time while it is taken: 4 MB."""

OFF_THE_KINK = 1.1
"""The least loss along a multiple of a start is at a kink, where no gradient tells the way on."""


def _leading(matrix: Array, r: int) -> Array:
    """Return the eigenvectors of the r largest eigenvalues, as rows."""
    return np.asarray(np.linalg.eigh(matrix)[1][:, ::-1][:, :r].T)


def covariance(data: TrainingRows) -> Array:
    """Return the covariance of standardised rows, shrunk (Ledoit and Wolf) where it is singular.

    A constant column comes last: it has the least variance, and none in common with the others.
    """
    varies = np.isfinite(data.scale)
    if varies.all() or not varies.any():
        return covariance_of(data.X, data.weights)
    some = covariance_of(data.X[:, varies], data.weights)
    matrix = np.linalg.eigvalsh(some)[0] / 2 * np.eye(len(varies))
    matrix[np.ix_(varies, varies)] = some
    return np.asarray(matrix)


def covariance_of(X: Array, weights: Array) -> Array:
    """Return the covariance of weighted rows, shrunk where it is singular."""
    share = weights / weights.sum()
    centred = X - share @ X
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
    largest = float(finite.max()) or 1.0
    varying = finite[finite > 0] / largest
    size = float(np.sqrt(np.mean(varying**2))) * largest if len(varying) else 1.0
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
    factor, varies = STARTS[init](data, r), np.isfinite(data.scale)
    if varies.any():  # a constant column must not add to ‖L‖, by which a first step is measured
        factor = np.where(varies, factor, 0.0)
    if radius is None:
        return factor
    z = data.X @ factor.T
    size = float(np.sqrt(np.average((z * z).sum(axis=1), weights=data.weights)))
    return factor * (radius / size) if size > 0 else factor


def margin_scale(data: TrainingRows, factor: Array, recipe: Recipe) -> float:
    """Return the multiple of a flat start that has the least loss: it sets distances to the margin.

    For targets at square distances a, impostors at b and q the square of the multiple, the loss
    (1-π) q Σ a + π Σ [m + q (a - b)]₊ is convex in q, with kinks where q (b - a) = m.
    """
    n = len(data.X)
    rows = np.unique(np.linspace(0, n - 1, SCALE_ROWS).astype(int))
    z = data.X @ factor.T
    step = max(1, SCALE_ENTRIES // n)
    near = [
        _nearest_squares(z, data.labels, rows[start : start + step], recipe.n_targets)
        for start in range(0, len(rows), step)
    ]
    a = np.concatenate([targets for targets, _ in near])[:, :, None]
    b = np.concatenate([impostors for _, impostors in near])[:, None, :]
    pull = (1 - recipe.push) * a[np.isfinite(a)].sum()
    with np.errstate(invalid="ignore"):  # inf stands for no row
        gap = b - a
    gap = np.sort(gap[np.isfinite(gap)])
    kinks = gap[gap > 0]
    if len(kinks) == 0 or recipe.push == 0:
        return 1.0
    # The slope in q just below m/kink: its hinge and those of smaller gaps are active.
    slope = pull - recipe.push * (gap[gap < 0].sum() + np.cumsum(kinks))
    best = kinks[min(int((slope > 0).sum()), len(kinks) - 1)]
    return float(OFF_THE_KINK * np.sqrt(recipe.margin / best))


def _nearest_squares(
    z: Array, labels: NDArray[np.int64], rows: NDArray[np.intp], n_targets: int
) -> tuple[Array, Array]:
    """Return the square distances of some rows to their nearest targets and impostors."""
    square = euclidean_distances(z[rows], z, squared=True)
    square[np.arange(len(rows)), rows] = np.inf
    same = labels[rows, None] == labels
    return (
        _smallest(np.where(same, square, np.inf), n_targets),
        _smallest(np.where(same, np.inf, square), SCALE_IMPOSTORS),
    )


def _smallest(values: Array, count: int) -> Array:
    """Return the smallest few of each row."""
    count = min(count, values.shape[1])
    return np.partition(values, count - 1, axis=1)[:, :count].copy()
