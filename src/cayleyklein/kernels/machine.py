"""One kernel machine: ridge regression on exp(-γd) of a distance, γ and λ by leaving rows out.

The distance is a metric's, or that of weighted columns; columns may be scores of their ranks.
f minimises Σ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the functions of a kernel k. The same f is the mean of a
Gaussian process with covariance σ²k and noise of variance σ²λ/wᵢ, given the targets (Rasmussen and
Williams 2006, chapter 2). With √W K √W = V Λ Vᵀ and G = (K + λW⁻¹)⁻¹ = √W V (Λ + λ)⁻¹ Vᵀ √W,

    f(x) = Σ αᵢ k(x, xᵢ),  α = G y,
    yᵢ - f₋ᵢ(xᵢ) = αᵢ / Gᵢᵢ                                        without row i,
    log p(y) = -½ (yᵀGy/σ² + log det(σ²G⁻¹) + n log 2π)            the marginal likelihood.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist, squareform
from scipy.special import ndtri

from cayleyklein._typing import Floats, Ints
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows

GAMMAS = (0.1, 0.3, 1.0, 3.0)  # γ that are tried, times the median distance between rows
RIDGES = tuple((10.0 ** np.arange(-3, 1.6, 0.5)).tolist())  # λ that are tried
GAMMA_POINTS = 300  # even points whose median distance is the unit of 1/γ, and which choose γ
EXACT_POINTS = 1000  # points that weigh the columns, and rows that are asked whether ranks may help
SLOPE_START = (1.0, 0.3)  # γ and λ of the fits whose slopes weigh the columns
SLOPE_ROUNDS, SLOPE_QUERIES = 2, 100  # such fits, and the points at which slopes are taken
GRAM_ENTRIES = 2**22  # entries of a block of a Gram matrix
MOST_SCORE = 3.0  # of a rank: how far a value is beyond it from the others says nothing

Distance = Callable[..., Any]  # (X, Y or None) → all distances between rows


def metric_distance(metric: Metric) -> Distance:
    """Return the distance of a metric; infinite for rows outside a hyperbolic domain."""
    return partial(metric.pairwise, outside="inf")


@dataclass(frozen=True)
class ColumnDistance:
    """The distance Σⱼ cⱼ|xⱼ - yⱼ| of rows. exp(-γ d) is a product of kernels of single columns."""

    weights: Floats  # c (d,), at least 0

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        used = self.weights > 0
        left = X[:, used] * self.weights[used]
        right = left if Y is None else Y[:, used] * self.weights[used]
        return np.asarray(cdist(left, right, "cityblock"))


@dataclass(frozen=True)
class NormalScores:
    """Columns as normal scores of their ranks, for heavy tails.

    A value with the share p of the fitted values below it, ties counted half, becomes Φ⁻¹(p), at
    most `MOST_SCORE` either way. The map is monotone and does not depend on the columns' units.
    """

    values: tuple[Floats, ...]  # of each column, sorted and distinct
    below: tuple[Floats, ...]  # the share of the fitted rows below each value, ties counted half

    @classmethod
    def of(cls, X: Floats, weights: Floats) -> Self:
        values, below, kept = [], [], weights > 0
        for column in X[kept].T:
            distinct, place = np.unique(column, return_inverse=True)
            mass = np.bincount(place, weights=weights[kept]).astype(float)
            reached = np.cumsum(mass)
            values.append(distinct)
            below.append((reached - mass / 2) / reached[-1])
        return cls(tuple(values), tuple(below))

    def transform(self, X: Floats) -> Floats:
        """Return the scores of rows; between two fitted values they are interpolated."""
        scores = np.empty(X.shape)
        for j, (values, below) in enumerate(zip(self.values, self.below, strict=True)):
            reached = np.interp(X[:, j], values, below, left=0.0, right=1.0)
            scores[:, j] = np.clip(ndtri(reached), -MOST_SCORE, MOST_SCORE)
        return scores


@dataclass(frozen=True)
class Spectrum:
    """A Gram matrix of n rows, decomposed for every λ, and the targets (n, t) of the rows."""

    values: Floats  # Λ (n,), of √W K √W
    vectors: Floats  # V (n, n)
    targets: Floats  # Vᵀ √W y (n, t)
    roots: Floats  # √W (n,)

    @classmethod
    def of(cls, gram: Floats, targets: Floats, weights: Floats) -> Self:
        roots = np.sqrt(weights)
        weighed = gram if (weights == 1).all() else gram * roots[:, None] * roots
        values, vectors = linalg.eigh(weighed, check_finite=False, driver="evd")
        values = np.maximum(values, 0.0)  # a positive definite matrix, but for rounding
        return cls(values, vectors, vectors.T @ (roots[:, None] * targets), roots)

    def coefficients(self, ridge: float) -> Floats:
        """Return α (n, t)."""
        found = self.vectors @ (self.targets / (self.values + ridge)[:, None])
        return np.asarray(self.roots[:, None] * found)

    def inverse_diagonal(self, ridge: float) -> Floats:
        """Return Gᵢᵢ (n,)."""
        inverse = self.vectors**2 @ (1 / (self.values + ridge))
        return np.asarray(self.roots**2 * inverse)

    def left_out_errors(self, ridge: float) -> Floats:
        """Return for each row its target minus what a fit without the row predicts (n, t)."""
        return np.asarray(self.coefficients(ridge) / self.inverse_diagonal(ridge)[:, None])

    def log_likelihood(self, ridge: float) -> Floats:
        """Return the log marginal likelihood (t,) of each target, with the σ² that is the best."""
        n, shrunk = len(self.values), (self.values + ridge)[:, None]
        variances = (self.targets**2 / shrunk).mean(axis=0)
        determinant = np.log(shrunk).sum() - 2 * np.log(self.roots).sum()
        with np.errstate(divide="ignore"):  # a target that is 0 throughout has the density inf
            return np.asarray(-0.5 * (n + n * np.log(2 * np.pi * variances) + determinant))


class TargetPoints(NamedTuple):
    """Distinct rows (p, d), and what the given rows there say: their mean targets, and weights."""

    X: Floats
    targets: Floats  # (p, t)
    weights: Floats  # (p,), positive, 1 for a row on average
    counts: Floats  # (p,): rows that a point stands for, of which one is left out at a time
    spreads: Floats  # (p,): the variances of their targets, summed over targets
    numbers: Ints  # (p,): the first given row at each point

    def take(self, some: Ints) -> Self:
        return type(self)(*(cast(Any, each)[some] for each in self))

    def left_out_loss(self, coefficients: Floats, inverse_diagonal: Floats, ridge: float) -> float:
        """Return the squared error of rows, each left out in turn, for centred targets.

        With α and Gᵢᵢ of the points, a row with target y, one of m at a point of
        weight w, is missed by (y - f(x)) / (1 - 1/m + λGᵢᵢ/(mw)) by a fit without it.
        """
        missed = (ridge / self.weights)[:, None] * coefficients  # y - f(x), on average
        rest = 1 - 1 / self.counts + ridge * inverse_diagonal / (self.counts * self.weights)
        squares = self.spreads + (missed**2).sum(axis=1)
        return float(self.weights @ (squares / rest**2))

    def centred(self) -> tuple[Self, Floats]:
        """Return the points with the mean of the targets subtracted, and the mean (t,)."""
        mean = self.weights @ self.targets / self.weights.sum()
        return self._replace(targets=self.targets - mean), mean


class Tuning(NamedTuple):
    gamma: float  # γ, times the median distance
    ridge: float  # λ


@dataclass(frozen=True)
class KernelMachine:
    """A fitted function f(x) = Σᵢ αᵢ exp(-γ d(x, xᵢ)) + offset, one for each target."""

    distance: Distance
    gamma: float  # one over a distance
    tuning: Tuning
    rows: Floats  # (p, d): the fitted points, or landmarks
    numbers: Ints  # (p,): their numbers among the given rows
    targets: Floats  # (p, t): of the points without the offset, or f at the landmarks
    coefficients: Floats  # α (p, t)
    offset: Floats  # (t,)
    noise: Floats  # (p,): λ over the weight of each of the rows
    log_likelihood: float = np.nan

    def gram(self, X: Floats) -> Floats:
        return gram_of(self.distance(X, self.rows), self.gamma)

    def scores(self, X: Floats) -> Floats:
        return self._by_blocks(X, lambda gram: gram @ self.coefficients) + self.offset

    def variances(self, X: Floats) -> Floats:
        """Return the variance (m,) of a new target at each row, in units of σ²."""

        def known(gram: Floats) -> Floats:
            half = linalg.solve_triangular(self._root, gram.T, lower=True, check_finite=False)
            return np.asarray(np.einsum("pm,pm->m", half, half))

        return np.asarray(1 + self.tuning.ridge - self._by_blocks(X, known))

    def influences(self, X: Floats) -> Floats:
        """Return (m, p), by how much the target of each fitted row moves f at rows X."""
        solve = partial(linalg.cho_solve, (self._root, True), check_finite=False)
        return self._by_blocks(X, lambda gram: solve(gram.T).T)

    @cached_property
    def _root(self) -> Floats:
        """Return the Cholesky factor of K + λW⁻¹ of the fitted rows."""
        system = gram_of(self.distance(self.rows), self.gamma)
        system[np.diag_indices(len(system))] += self.noise
        return np.asarray(linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_root"}

    def _by_blocks(self, X: Floats, make: Callable[[Floats], Floats]) -> Floats:
        step = max(1, GRAM_ENTRIES // len(self.rows))
        starts = range(0, max(1, len(X)), step)
        return np.concatenate([make(self.gram(X[at : at + step])) for at in starts])


def gram_of(distances: Floats, gamma: float) -> Floats:
    """Return exp(-γd), in place of the distances."""
    distances *= -gamma
    return np.asarray(np.exp(distances, out=distances))


def typical_distance(distances: Floats) -> float:
    """Return the median of the distances between points; their mean, or 1, where it is 0."""
    pairs = squareform(distances, checks=False) if len(distances) > 1 else np.ones(1)
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0


def fit_machine(
    distance: Distance, points: TargetPoints, tuning: Tuning | None = None,
    gammas: tuple[float, ...] = GAMMAS, ridges: tuple[float, ...] = RIDGES,
) -> KernelMachine:  # fmt: skip
    """Fit a machine to points, with a given tuning or the one that predicts rows left out.

    A few points choose γ and where to begin with λ, and all choose λ.
    """
    n, some = len(points.X), even_rows(len(points.X), GAMMA_POINTS)
    among = distance(points.X[some])
    unit = typical_distance(among)
    centred, mean = points.centred()
    start = tuning or best_tuning(among / unit, centred.take(some), gammas, ridges)
    gram = gram_of(among if len(some) == n else distance(points.X), start.gamma / unit)
    ridge, likelihood = start.ridge, np.nan
    if tuning is None:
        near = (ridge,) if len(some) == n else ridges
        ridge, coefficients, likelihood = best_ridge(gram, centred, near, ridge)
    else:
        coefficients = solved(gram, centred, ridge)
    return KernelMachine(
        distance, start.gamma / unit, start._replace(ridge=ridge), points.X, points.numbers,
        centred.targets, coefficients, mean, ridge / points.weights, likelihood,
    )  # fmt: skip


def best_ridge(
    gram: Floats, points: TargetPoints, ridges: tuple[float, ...], start: float
) -> tuple[float, Floats, float]:
    """Return λ, found from a start by steps to less error of rows left out, α, log likelihood."""
    best = ridges.index(start)
    tried: dict[int, tuple[float, Floats, float]] = {}
    while todo := {best - 1, best, best + 1} & set(range(len(ridges))) - set(tried):
        tried |= {at: solve_left_out(gram, points, ridges[at]) for at in todo}
        best = min(tried, key=lambda at: tried[at][0])
    return ridges[best], *tried[best][1:]


def solve_left_out(gram: Floats, points: TargetPoints, ridge: float) -> tuple[float, Floats, float]:
    """Return the squared error of rows left out, α, and the log likelihood, for one λ.

    The same as a :class:`Spectrum` says, by a Cholesky factor and its inverse, which for one λ is
    quicker.
    """
    n = len(gram)
    system = gram.copy()
    system[np.diag_indices(n)] += ridge / points.weights
    root = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    coefficients = linalg.cho_solve((root, True), points.targets, check_finite=False)
    determinant = 2 * np.log(np.diagonal(root)).sum()
    variances = np.einsum("nt,nt->t", points.targets, coefficients) / n
    with np.errstate(divide="ignore"):
        likelihood = -0.5 * (n * np.log(2 * np.pi * variances) + n + determinant).sum()
    half, _ = linalg.lapack.dtrtri(root, lower=True, overwrite_c=True)
    loss = points.left_out_loss(coefficients, np.einsum("kn,kn->n", half, half), ridge)
    return loss, coefficients, float(likelihood)


def best_tuning(
    distances: Floats, points: TargetPoints, gammas: tuple[float, ...], ridges: tuple[float, ...]
) -> Tuning:
    losses = {}
    for gamma in gammas:
        spectrum = Spectrum.of(np.exp(-gamma * distances), points.targets, points.weights)
        for ridge in ridges:
            alpha, inverse = spectrum.coefficients(ridge), spectrum.inverse_diagonal(ridge)
            losses[Tuning(gamma, ridge)] = points.left_out_loss(alpha, inverse, ridge)
    return min(losses, key=lambda tuning: losses[tuning])


def solved(gram: Floats, points: TargetPoints, ridge: float) -> Floats:
    """Return (K + λW⁻¹)⁻¹ y; overwrites the Gram matrix K."""
    gram[np.diag_indices(len(gram))] += ridge / points.weights
    factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, points.targets, check_finite=False))


def standard_weights(X: Floats, weights: Floats) -> Floats:
    """Return one over the standard deviation of each column (d,), 0 for a constant one."""
    share = weights / weights.sum()
    deviation = np.sqrt(share @ (X - share @ X) ** 2)
    varies = (np.ptp(X, axis=0) > 0) & (deviation > 0)
    return np.asarray(np.divide(1.0, deviation, np.zeros_like(deviation), where=varies))


def weigh_columns(points: TargetPoints) -> ColumnDistance:
    """Weigh columns by the slopes of fits to at most `EXACT_POINTS` points."""
    points, _ = points.take(even_rows(len(points.X), EXACT_POINTS)).centred()
    weights = standard_weights(points.X, points.weights)
    queries = even_rows(len(points.X), SLOPE_QUERIES)
    gamma, ridge = SLOPE_START
    for _ in range(SLOPE_ROUNDS):
        distances = ColumnDistance(weights)(points.X)
        table = gram_of(distances, gamma / typical_distance(distances))
        some = table[queries]
        coefficients = solved(table, points, ridge)
        weights = slope_weights(weights, points.X, points.X[queries], some, coefficients)
    return ColumnDistance(weights)


def slope_weights(
    weights: Floats, X: Floats, queries: Floats, gram: Floats, coefficients: Floats
) -> Floats:
    """Return new column weights: the old ones times the slopes of a fitted function.

    The slope of f(x) = Σᵢ αᵢ exp(-γ Σⱼ cⱼ|xⱼ - xᵢⱼ|) along column j is -γ cⱼ Σᵢ αᵢ k(x, xᵢ)
    sign(xⱼ - xᵢⱼ). Its root mean square over queries and targets says how much f depends on the
    column. `gram` (m, n) is k of queries and fitted rows X.
    """
    slopes = np.zeros(len(weights))
    for j in np.flatnonzero(weights):
        slope = (gram * np.sign(queries[:, j, None] - X[:, j])) @ coefficients
        slopes[j] = np.sqrt(np.mean(slope**2))
    return weights * slopes if slopes.any() else weights
