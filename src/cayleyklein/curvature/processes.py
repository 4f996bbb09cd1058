"""Gaussian processes that judge a space: how likely targets are, and how well held-out rows do.

Targets Y (n, t) have mean 0. Each column is a draw of a process with covariance σ²C,

    C = k(D/ℓ) + 1 + τ⟨z, z'⟩/mean‖z‖² + s·I,

where D are the distances of a view of the rows, 1 stands for an unknown mean, τ for a linear trend
and s for noise. The best σ² is known in closed form; ℓ, τ and s are found on a grid.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from cayleyklein._typing import Floats, Ints
from cayleyklein.metrics import CurvedMetric

# The grid. Marginal likelihoods of the truths of the benchmark are flat beyond its ends; half a
# decade between neighbours costs at most a few tenths of a nat, on both sides alike.
LENGTHS = np.geomspace(0.1, 10.0, 5)
NOISES = np.geomspace(1e-3, 30.0, 10)
SLOPES = np.array([0.0, 1.0, 10.0])
START = (2, 4, 1)  # ℓ = 1 median distance, s = 0.1, τ = 1

Kernel = Callable[[Floats, float, int], Floats]  # (D, ℓ, curvature of D) → k


def exponential(D: Floats, length: float, sign: int) -> Floats:
    """Return exp(-d/ℓ), positive definite in every space of constant curvature."""
    return np.asarray(np.exp(D / -length))


def matern(D: Floats, length: float, sign: int) -> Floats:
    """Return the Matérn covariance of order 3/2, for flat distances."""
    t = D * (np.sqrt(3.0) / length)
    return np.asarray((1 + t) * np.exp(-t))


def smooth(D: Floats, length: float, sign: int) -> Floats:
    """Return the smooth covariance of curvature 0, 1 or -1; all are exp(-d²/2ℓ²) for small d.

    exp(-c²/2ℓ²) with the chord c on the sphere, and cosh(d)^(-1/ℓ²) in hyperbolic space, where
    log cosh d is conditionally negative definite (Faraut and Harzallah 1974).
    """
    if sign < 0:
        log_cosh = D + np.log1p(np.exp(-2 * D)) - np.log(2)
        return np.asarray(np.exp(log_cosh / -(length**2)))
    chord = 2 * np.sin(D / 2) if sign else D
    return np.asarray(np.exp(np.square(chord / length) / -2))


@dataclass(frozen=True)
class View:
    """Rows as points of a flat or curved space, and the covariance of targets there.

    `points` (n, r) are coordinates in which straight lines are straight, of a space of curvature
    `sign`: 0, 1 or -1.
    """

    family: str
    name: str
    points: Floats
    sign: int
    kernel: Kernel = exponential

    def distances(self, some: Ints) -> Floats:
        metric = CurvedMetric(factor=np.ones(self.points.shape[1]), curvature=float(self.sign))
        return metric.pairwise(self.points[some])


class Settings(NamedTuple):
    """Places on the grids of ℓ (in median distances), s and τ."""

    length: int
    noise: int
    slope: int


@dataclass(frozen=True)
class Fit:
    """A view with its best settings, and the log marginal likelihood of the targets."""

    view: View
    settings: Settings
    log_likelihood: float


@dataclass(frozen=True)
class Sample:
    """Targets Y (n, t) and rows z (n, d), centred; `some` are their places among all rows."""

    z: Floats
    Y: Floats
    some: Ints

    @cached_property
    def trend(self) -> Floats:
        """⟨z, z'⟩/mean‖z‖² (n, n)."""
        return np.asarray(self.z @ self.z.T / np.square(self.z).sum(axis=1).mean())

    def covariance(self, view: View, D: Floats, unit: float, at: Settings) -> Floats:
        """Return C (n, n)."""
        C = view.kernel(D, float(LENGTHS[at.length]) * unit, view.sign)
        C += 1.0
        if at.slope:
            C += SLOPES[at.slope] * self.trend
        C.flat[:: len(C) + 1] += NOISES[at.noise]
        return C

    def fit(self, view: View, start: Settings) -> Fit:
        """Climb from a start to the best neighbour on the grid until there is none."""
        D = view.distances(self.some)
        unit = median_distance(D)
        found: dict[Settings, float] = {}

        def value(at: Settings) -> float:
            if at not in found:
                found[at] = log_likelihood(self.covariance(view, D, unit, at), self.Y)
            return found[at]

        best = start
        while True:
            top = max([best, *neighbours(best)], key=value)
            if value(top) <= value(best):
                return Fit(view, best, value(best))
            best = top

    def fit_all(self, views: Sequence[View]) -> list[Fit]:
        """Fit views in turn, each from the settings of the one before it in its family."""
        fits: list[Fit] = []
        for view in views:
            start = Settings(*START)
            if fits and (fits[-1].view.family, fits[-1].view.kernel) == (view.family, view.kernel):
                start = fits[-1].settings
            fits.append(self.fit(view, start))
        return fits

    def held_out(self, fit: Fit, partitions: Iterable[Ints]) -> tuple[Floats, Floats]:
        """Return squared errors (n, t) and variances (n,), averaged over partitions into folds."""
        D = fit.view.distances(self.some)
        C = self.covariance(fit.view, D, median_distance(D), fit.settings)
        inverse = invert(C)
        told = [held_out_blocks(inverse, self.Y, folds) for folds in partitions]
        return np.mean([e for e, _ in told], axis=0), np.mean([v for _, v in told], axis=0)


def neighbours(at: Settings) -> list[Settings]:
    """Return the settings one step away from some, within the grids."""
    sizes, steps = (len(LENGTHS), len(NOISES), len(SLOPES)), []
    for axis, size in enumerate(sizes):
        for place in (at[axis] - 1, at[axis] + 1):
            if 0 <= place < size:
                steps.append(Settings(*at[:axis], place, *at[axis + 1 :]))
    return steps


def median_distance(D: Floats) -> float:
    """Return the median of the distances between different rows, or 1 if most coincide."""
    return float(np.median(D[np.triu_indices(len(D), 1)])) or 1.0


def log_likelihood(C: Floats, Y: Floats) -> float:
    """Return Σ log p(y | C) over the columns of Y, each with its own best σ², or -inf."""
    n = len(C)
    lower, failed = lapack.dpotrf(C.T, lower=1)
    if failed:
        return -np.inf
    whitened = lapack.dtrtrs(lower, Y, lower=1)[0]
    log_determinant = 2 * np.log(np.diagonal(lower)).sum()
    log_variances = np.log(np.square(whitened).mean(axis=0))
    each = n * (1 + np.log(2 * np.pi) + log_variances) + log_determinant
    return float(-0.5 * each.sum())


def invert(C: Floats) -> Floats:
    """Return C⁻¹ of a positive definite C."""
    lower = lapack.dpotrf(C.T, lower=1)[0]
    half = np.tril(lapack.dpotri(lower, lower=1)[0])
    return np.asarray(half + np.tril(half, -1).T)


def held_out_blocks(inverse: Floats, Y: Floats, folds: Ints) -> tuple[Floats, Floats]:
    """Return squared errors (n, t) and variances (n,) of rows predicted from the other folds.

    With G = C⁻¹ and the rows B of a fold, errors are (G_BB)⁻¹ (GY)_B and the covariance of them
    σ² (G_BB)⁻¹: what refits without the fold would find, without refits.
    """
    errors, variances = np.empty_like(Y), np.empty(len(Y))
    weighted = inverse @ Y
    for fold in range(folds.max() + 1):
        rows = np.flatnonzero(folds == fold)
        block = np.linalg.inv(inverse[np.ix_(rows, rows)])
        errors[rows] = block @ weighted[rows]
        variances[rows] = np.diagonal(block)
    return np.square(errors), variances
