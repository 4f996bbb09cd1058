"""Where a fit starts: the loss is not convex, and the start decides the basin (paper §4.2)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from cayleyklein.learning._data import Rows, TrainingRows, weighted_mean
from cayleyklein.learning._descent import Recipe

__all__ = ["STARTS", "margin_scale", "starting_factor"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

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


def covariance(data: Rows, centers: Array | None = None) -> Array:
    """Return the covariance of standardised rows, shrunk (Ledoit and Wolf) where it is singular.

    A constant column comes last: it has the least variance, and none in common with the others.

    Parameters
    ----------
    data : Rows
    centers : ndarray of shape (n_classes, d), optional
        From which the rows of each class are counted; their common mean by default.
    """
    if centers is None:
        centers = np.tile(weighted_mean(data), (len(data.class_sizes), 1))
    matrix = np.asarray(data.total(_second_moments, centers, data.total_weight))
    varies = np.isfinite(data.scale)
    if not varies.any():
        return np.eye(len(matrix))
    matrix[np.ix_(varies, varies)] = some = _regular(matrix[np.ix_(varies, varies)], data, centers)
    constant = np.flatnonzero(~varies)
    matrix[constant, constant] = np.linalg.eigvalsh(some)[0] / 2
    return matrix


def _second_moments(rows: TrainingRows, centers: Array, total: float) -> Array:
    centred = rows.X - centers[rows.labels]
    return np.asarray((centred * (rows.weights / total)[:, None]).T @ centred)


def _regular(matrix: Array, data: Rows, centers: Array) -> Array:
    """Return a covariance, shrunk where it is singular by what the rows' fourth moments advise."""
    if not matrix.any():  # nothing varies
        return np.eye(len(matrix))
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] > SINGULAR * eigenvalues[-1]:
        return matrix
    gram = data.total(_gram, centers)
    amount = max(
        shrinkage(gram, data.total(_fourth_moment, centers), len(matrix), len(data)), SINGULAR
    )
    return np.asarray(
        (1 - amount) * matrix + amount * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    )


def _gram(rows: TrainingRows, centers: Array) -> Array:
    centred = rows.X - centers[rows.labels]
    return np.asarray(centred.T @ centred)


def _fourth_moment(rows: TrainingRows, centers: Array) -> float:
    centred = rows.X - centers[rows.labels]
    return float((np.einsum("ij,ij->i", centred, centred) ** 2).sum())


def shrinkage(gram: Array, fourth: float, d: int, n: int) -> float:
    """Return the share of the mean variance in a covariance by Ledoit and Wolf (2004, §3.3).

    Parameters
    ----------
    gram : ndarray of shape (d, d)
        XᵀX of n centred rows; columns that are all 0 may be left in.
    fourth : float
        Σ ‖x‖⁴.
    d, n : int
    """
    matrix = gram / n
    size = float((matrix * matrix).sum())
    spread = size - float(np.trace(matrix)) ** 2 / d
    noise = min((fourth / n - size) / n, spread)
    return noise / spread if noise > 0 else 0.0


def precision(data: Rows, r: int, centers: Array | None = None) -> Array:
    """Whiten: ΣLᵀL is the identity, for Σ the covariance; the largest r components of it."""
    eigenvalues, vectors = np.linalg.eigh(covariance(data, centers))
    order = np.argsort(-eigenvalues)[:r]
    whiten = vectors[:, order].T / np.sqrt(eigenvalues[order])[:, None]
    # The symmetric root where nothing is dropped: closest to the columns as they are.
    return np.asarray(vectors[:, order] @ whiten) if r == data.n_columns else whiten


def standard_deviations(data: Rows, r: int) -> Array:
    """Take the standardised columns as they are; their principal components for r < d."""
    return np.eye(r) if r == data.n_columns else principal_components(data, r)


def identity(data: Rows, r: int) -> Array:
    """Take the raw columns as they are, in a unit that gives them the size of standardised ones."""
    d = data.n_columns
    finite = np.where(np.isfinite(data.scale), data.scale, 0.0)
    largest = float(finite.max()) or 1.0
    varying = finite[finite > 0] / largest
    size = float(np.sqrt(np.mean(varying**2))) * largest if len(varying) else 1.0
    raw = np.diag(finite / size)
    if r == d:
        return raw
    return _leading(raw @ covariance(data) @ raw.T, r) @ raw


def principal_components(data: Rows, r: int) -> Array:
    """Project on the r principal components of the standardised columns."""
    return _leading(covariance(data), r)


def discriminants(data: Rows, r: int) -> Array:
    """Project on linear discriminants of within-class whitened rows, then on what is left."""
    sums = data.total(_class_sums, len(data.class_sizes))
    mass, sums = sums[:, -1], sums[:, :-1]
    means = sums / np.where(mass > 0, mass, 1.0)[:, None]
    whiten = precision(data, data.n_columns, means)
    between = (means - weighted_mean(data)) @ whiten.T
    share = mass / data.total_weight
    return _leading((between * share[:, None]).T @ between, r) @ whiten


def _class_sums(rows: TrainingRows, n_classes: int) -> Array:
    """Return Σ w x and Σ w of each class."""
    sums = np.zeros((n_classes, rows.n_columns + 1))
    for label in np.unique(rows.labels):
        of_class = rows.labels == label
        sums[label, :-1] = rows.weights[of_class] @ rows.X[of_class]
        sums[label, -1] = rows.weights[of_class].sum()
    return sums


STARTS: dict[str, Callable[[Rows, int], Array]] = {
    "precision": precision,
    "shrunk": precision,
    "identity": identity,
    "std": standard_deviations,
    "pca": principal_components,
    "lda": discriminants,
}
"""Name → factor L for standardised rows. "shrunk" is the precision start drawn to the centre."""


def starting_factor(data: Rows, init: str, r: int, radius: float | None) -> Array:
    """Return L, scaled so that the root mean square of ‖z‖ is `radius` (as it is, when None)."""
    factor, varies = STARTS[init](data, r), np.isfinite(data.scale)
    if varies.any():  # a constant column must not add to ‖L‖, by which a first step is measured
        factor = np.where(varies, factor, 0.0)
    if radius is None:
        return factor
    size = float(np.sqrt(data.total(_mean_square, factor, data.total_weight)))
    return factor * (radius / size) if size > 0 else factor


def _mean_square(rows: TrainingRows, factor: Array, total: float) -> float:
    z = rows.X @ factor.T
    return float((z * z).sum(axis=1) @ (rows.weights / total))


def margin_scale(data: Rows, factor: Array, recipe: Recipe) -> float:
    """Return the multiple of a flat start that has the least loss: it sets distances to the margin.

    For targets at square distances a, impostors at b and q the square of the multiple, the loss
    (1-π) q Σ a + π Σ [m + q (a - b)]₊ is convex in q, with kinks where q (b - a) = m.
    """
    numbers = np.unique(np.linspace(0, len(data) - 1, SCALE_ROWS).astype(int))
    some = data.take(numbers)
    near = data.each(_nearest_squares, some, numbers, factor, recipe.n_targets)
    targets, impostors = (np.concatenate(squares, axis=1) for squares in zip(*near, strict=True))
    a = _smallest(targets, recipe.n_targets)[:, :, None]
    b = _smallest(impostors, SCALE_IMPOSTORS)[:, None, :]
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
    rows: TrainingRows, some: TrainingRows, numbers: Index, factor: Array, n_targets: int
) -> tuple[Array, Array]:
    """Return the square distances of some rows to their nearest targets and impostors."""
    z, places = rows.X @ factor.T, rows.places(numbers)
    step = max(1, SCALE_ENTRIES // len(rows))
    targets, impostors = [], []
    for start in range(0, len(numbers), step):
        part = slice(start, start + step)
        square = euclidean_distances(some.X[part] @ factor.T, z, squared=True)
        own = np.flatnonzero(places[part] >= 0)
        square[own, places[part][own]] = np.inf
        same = some.labels[part, None] == rows.labels
        targets.append(_smallest(np.where(same, square, np.inf), n_targets))
        impostors.append(_smallest(np.where(same, np.inf, square), SCALE_IMPOSTORS))
    return np.concatenate(targets), np.concatenate(impostors)


def _smallest(values: Array, count: int) -> Array:
    """Return the smallest few of each row."""
    count = min(count, values.shape[1])
    return np.partition(values, count - 1, axis=1)[:, :count].copy()
