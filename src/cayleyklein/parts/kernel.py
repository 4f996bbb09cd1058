"""Kernel machines: ridge regression on exp(-γd) of a distance d, in the metric, columns or ranks.

γ and λ are chosen by leaving rows out. f minimises Σ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the functions of
a kernel k. The same f is the mean of a Gaussian process with covariance σ²k and noise of variance
σ²λ/wᵢ, given the targets (Rasmussen and Williams 2006, chapter 2). With √W K √W = V Λ Vᵀ and
G = (K + λW⁻¹)⁻¹ = √W V (Λ + λ)⁻¹ Vᵀ √W,

    f(x) = Σ αᵢ k(x, xᵢ),  α = G y,
    yᵢ - f₋ᵢ(xᵢ) = αᵢ / Gᵢᵢ                                        without row i,
    log p(y) = -½ (yᵀGy/σ² + log det(σ²G⁻¹) + n log 2π)            the marginal likelihood.

Scores of many rows are sums of kernels at landmarks, see `landmarks`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy import linalg
from scipy.spatial.distance import squareform

from cayleyklein._typing import Floats, Ints
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.parts.base import FitRows, FittedPart, Queries, on_blocks
from cayleyklein.parts.places import TargetPlaces

GAMMAS = (0.1, 0.3, 1.0, 3.0)  # γ that are tried, times the median distance between rows
RIDGES = tuple((10.0 ** np.arange(-3, 1.6, 0.5)).tolist())  # λ that are tried
GAMMA_PLACES = 300  # even places whose median distance is the unit of 1/γ, and which choose γ
GRAM_ENTRIES = 2**22  # entries of a block of a Gram matrix

Distance = Callable[..., Any]  # (X, Y or None) → all distances between rows


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
        n = len(self.values)
        shrunk = (self.values + ridge)[:, None]
        variances = (self.targets**2 / shrunk).mean(axis=0)
        determinant = np.log(shrunk).sum() - 2 * np.log(self.roots).sum()
        with np.errstate(divide="ignore"):  # a target that is 0 throughout has the density inf
            return np.asarray(-0.5 * (n + n * np.log(2 * np.pi * variances) + determinant))


class Tuning(NamedTuple):
    gamma: float  # γ, times the median distance
    ridge: float  # λ


@dataclass(frozen=True)
class KernelMachine(FittedPart):
    """A fitted part: f(x) = Σᵢ αᵢ exp(-γ d(x, xᵢ)) + offset, one for each target."""

    distance: Distance
    gamma: float  # one over a distance
    tuning: Tuning
    rows: Floats  # (p, d): the fitted places, or landmarks
    numbers: Ints  # (p,): their numbers among the given rows
    targets: Floats  # (p, t): of the places without the offset, or f at the landmarks
    coefficients: Floats  # α (p, t)
    offset: Floats  # (t,)
    noise: Floats  # (p,): λ over the weight of each of the rows
    log_likelihood: float = np.nan

    @property
    def settings(self) -> Tuning:
        """γ, times the median distance, and λ."""
        return self.tuning

    def scores(self, X: Queries) -> Any:
        """Return f (m, t) at rows X."""
        return on_blocks(self._scores_in_memory, X, len(self.offset))

    def _scores_in_memory(self, X: Floats) -> Floats:
        """Return f (m, t) at rows X in memory."""
        sums = [gram @ self.coefficients for gram in self._grams(X)]
        return np.concatenate(sums) + self.offset

    def variances(self, X: Floats) -> Floats:
        """Return the variance (m,) of a new target at each row, in units of σ²."""
        known = []
        for gram in self._grams(X):
            half = linalg.solve_triangular(self._root, gram.T, lower=True, check_finite=False)
            known.append(np.einsum("pm,pm->m", half, half))
        return np.asarray(1 + self.tuning.ridge - np.concatenate(known))

    def influences(self, X: Floats) -> Floats:
        """Return (m, p), by how much the target of each fitted row moves f at rows X."""
        found = []
        for gram in self._grams(X):
            solution = linalg.cho_solve((self._root, True), gram.T, check_finite=False)
            found.append(solution.T)
        return np.concatenate(found)

    def row_effects(self, x: Floats) -> tuple[Ints, Floats]:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row x.

        A machine is linear in the targets of the fitted rows: what each adds is exact.
        """
        moved = self.influences(x[None])[0]
        return self.numbers, moved[:, None] * self.targets

    @cached_property
    def _root(self) -> Floats:
        """Return the Cholesky factor of K + λW⁻¹ of the fitted rows."""
        system = gram_of(self.distance(self.rows), self.gamma)
        system[np.diag_indices(len(system))] += self.noise
        return np.asarray(linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_root"}

    def _grams(self, X: Floats) -> Iterator[Floats]:
        """Yield the kernel of blocks of rows X, one at least, and the fitted rows."""
        step = max(1, GRAM_ENTRIES // len(self.rows))
        for at in range(0, max(1, len(X)), step):
            yield gram_of(self.distance(X[at : at + step], self.rows), self.gamma)


def gram_of(distances: Floats, gamma: float) -> Floats:
    """Return exp(-γd), in place of the distances."""
    distances *= -gamma
    return np.asarray(np.exp(distances, out=distances))


def typical_distance(distances: Floats) -> float:
    """Return the median of the distances between places; their mean, or 1, where it is 0."""
    pairs = squareform(distances, checks=False) if len(distances) > 1 else np.ones(1)
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0


def fit_machine(
    distance: Distance,
    rows: TargetPlaces,
    tuning: Tuning | None = None,
    gammas: tuple[float, ...] = GAMMAS,
    ridges: tuple[float, ...] = RIDGES,
) -> KernelMachine:
    """Fit a machine to places, with a given tuning or the one that predicts rows left out.

    A few places choose γ and where to begin with λ, and all choose λ.
    """
    n = len(rows.X)
    some = even_rows(n, GAMMA_PLACES)
    among = distance(rows.X[some])
    unit = typical_distance(among)
    centred, mean = rows.centred()
    start = tuning or best_tuning(among / unit, centred.take(some), gammas, ridges)
    gram = gram_of(among if len(some) == n else distance(rows.X), start.gamma / unit)
    ridge = start.ridge
    likelihood = np.nan
    if tuning is None:
        near = (ridge,) if len(some) == n else ridges
        ridge, coefficients, likelihood = best_ridge(gram, centred, near, ridge)
    else:
        coefficients = solved(gram, centred, ridge)
    return KernelMachine(
        distance=distance,
        gamma=start.gamma / unit,
        tuning=start._replace(ridge=ridge),
        rows=rows.X,
        numbers=rows.numbers,
        targets=centred.targets,
        coefficients=coefficients,
        offset=mean,
        noise=ridge / rows.weights,
        log_likelihood=likelihood,
    )


def best_ridge(
    gram: Floats, rows: TargetPlaces, ridges: tuple[float, ...], start: float
) -> tuple[float, Floats, float]:
    """Return λ, found from a start by steps to less error of rows left out, α, log likelihood."""
    best = ridges.index(start)
    tried: dict[int, tuple[float, Floats, float]] = {}
    while todo := {best - 1, best, best + 1} & set(range(len(ridges))) - set(tried):
        tried |= {at: solve_left_out(gram, rows, ridges[at]) for at in todo}
        best = min(tried, key=lambda at: tried[at][0])
    return ridges[best], *tried[best][1:]


def solve_left_out(gram: Floats, rows: TargetPlaces, ridge: float) -> tuple[float, Floats, float]:
    """Return the squared error of rows left out, α, and the log likelihood, for one λ.

    The same as a :class:`Spectrum` says, by a Cholesky factor and its inverse, which for one λ is
    quicker.
    """
    n = len(gram)
    system = gram.copy()
    system[np.diag_indices(n)] += ridge / rows.weights
    root = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    coefficients = linalg.cho_solve((root, True), rows.targets, check_finite=False)
    determinant = 2 * np.log(np.diagonal(root)).sum()
    variances = np.einsum("nt,nt->t", rows.targets, coefficients) / n
    with np.errstate(divide="ignore"):
        likelihood = -0.5 * (n * np.log(2 * np.pi * variances) + n + determinant).sum()
    half, _ = linalg.lapack.dtrtri(root, lower=True, overwrite_c=True)
    loss = rows.left_out_loss(coefficients, np.einsum("kn,kn->n", half, half), ridge)
    return loss, coefficients, float(likelihood)


def best_tuning(
    distances: Floats, rows: TargetPlaces, gammas: tuple[float, ...], ridges: tuple[float, ...]
) -> Tuning:
    losses = {}
    for gamma in gammas:
        spectrum = Spectrum.of(np.exp(-gamma * distances), rows.targets, rows.weights)
        for ridge in ridges:
            alpha, inverse = spectrum.coefficients(ridge), spectrum.inverse_diagonal(ridge)
            losses[Tuning(gamma, ridge)] = rows.left_out_loss(alpha, inverse, ridge)
    return min(losses, key=lambda tuning: losses[tuning])


def place_errors(distance: Distance, rows: TargetPlaces) -> Floats:
    """Return what a machine without a place misses of its targets (p, t), γ and λ the best."""
    among = distance(rows.X)
    unit = typical_distance(among)
    centred, _ = rows.centred()
    some = even_rows(len(rows.X), GAMMA_PLACES)
    few = centred.take(some)
    tuning = best_tuning(among[np.ix_(some, some)] / unit, few, GAMMAS, RIDGES)
    gram = gram_of(among, tuning.gamma / unit)
    return Spectrum.of(gram, centred.targets, centred.weights).left_out_errors(tuning.ridge)


def solved(gram: Floats, rows: TargetPlaces, ridge: float) -> Floats:
    """Return (K + λW⁻¹)⁻¹ y; overwrites the Gram matrix K."""
    gram[np.diag_indices(len(gram))] += ridge / rows.weights
    factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, rows.targets, check_finite=False))


def metric_distance(metric: Metric) -> Distance:
    """Return the distance of a metric; infinite for rows outside a hyperbolic domain."""
    return partial(metric.pairwise, outside="inf")


@dataclass(frozen=True)
class KernelPart:
    """The part that is a kernel machine; it chooses γ and λ by leaving rows out.

    The distance is made of rows by `make_distance`, or is that of the learned metric when None.
    """

    name: str
    make_distance: Callable[[TargetPlaces], Distance] | None
    gammas: tuple[float, ...] = GAMMAS
    ridges: tuple[float, ...] = RIDGES
    leads: bool = True
    fits_last: bool = False

    @property
    def needs_metric(self) -> bool:
        return self.make_distance is None

    def distance(self, rows: TargetPlaces, metric: Metric | None) -> Distance:
        """Return the distance between rows that the kernel is made of."""
        if self.make_distance is None:
            return metric_distance(cast(Metric, metric))
        return self.make_distance(rows)

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> KernelMachine:
        """Fit a machine to the places of the rows."""
        distance = self.distance(rows.places, metric)
        return fit_machine(distance, rows.places, settings, self.gammas, self.ridges)
