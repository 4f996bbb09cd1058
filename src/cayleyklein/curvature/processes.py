"""Gaussian processes that judge a space: how likely targets are, and how well held-out rows do.

Targets Y (n, t) have mean 0. Each column is a draw of a process with covariance σ²C,

    C = k(D/ℓ) + 1 + τ⟨z, z'⟩/mean‖z‖² + s·I,

where D are distances of the rows in some space, 1 stands for an unknown mean, τ for a linear trend
and s for noise. The best σ² is known in closed form; ℓ, τ and s are found on a grid.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.metrics import CurvedMetric

# The grid. Marginal likelihoods of the truths of the benchmark are flat beyond its ends; half a
# decade between neighbours costs at most a few tenths of a nat, on both sides alike.
LENGTH_GRID = np.geomspace(0.1, 10.0, 5)
NOISE_GRID = np.geomspace(1e-3, 30.0, 10)
SLOPE_GRID = np.array([0.0, 1.0, 10.0])

Covariance = Callable[[Floats, float], Floats]  # (D, ℓ) → k


def exponential(D: Floats, length: float) -> Floats:
    """Return exp(-d/ℓ), positive definite in every space of constant curvature."""
    return np.asarray(np.exp(-D / length))


def matern(D: Floats, length: float) -> Floats:
    """Return the Matérn covariance of order 3/2, for flat distances."""
    t = D * float(np.sqrt(3.0) / length)
    return np.asarray((1 + t) * np.exp(-t), dtype=np.float64)


def gaussian(D: Floats, length: float) -> Floats:
    """Return exp(-d²/2ℓ²), for flat distances."""
    return np.asarray(np.exp(np.square(D / length) / -2))


def flat_distances(points: Floats) -> Floats:
    return np.asarray(CurvedMetric.euclidean(points.shape[1]).pairwise(points), dtype=np.float64)


def sphere_distances(points: Floats) -> Floats:
    """Return angles between unit vectors, anywhere on the sphere."""
    return lifts.distance_from_sqchord(np.square(flat_distances(points)), 1.0)


def hyperbolic_distances(points: Floats) -> Floats:
    """Return distances of curvature -1 between points in Klein's coordinates."""
    metric = CurvedMetric.euclidean(points.shape[1], curvature=-1.0)
    return np.asarray(metric.pairwise(points), dtype=np.float64)


def measure_points(points: Floats, sign: int) -> Floats:
    """Return the distances between points of the space whose curvature has a sign."""
    if sign == 0:
        return flat_distances(points)
    return sphere_distances(points) if sign > 0 else hyperbolic_distances(points)


@dataclass(frozen=True)
class Family:
    """Ways to place rows in a space of curvature `sign`, 0, 1 or -1, that differ in one parameter.

    `place` gives the points (n, r) of a parameter; on the sphere they are unit vectors.
    """

    name: str
    place: Callable[[float], Floats]
    parameters: tuple[float, ...] = (1.0,)
    kernel: Covariance = exponential
    sign: int = 0
    conformal: bool = False

    def between(self, parameter: float) -> list[float]:
        """Return the geometric means of a parameter and its neighbours."""
        at = self.parameters.index(parameter)
        beside = self.parameters[max(at - 1, 0) : at] + self.parameters[at + 1 : at + 2]
        return [float(np.sqrt(parameter * other)) for other in beside]


class Settings(NamedTuple):
    """Places on the grids of ℓ (in median distances), s and τ."""

    length: int
    noise: int
    slope: int


START = Settings(2, 4, 1)  # ℓ = 1 median distance, s = 0.1, τ = 1


@dataclass(frozen=True)
class ProcessFit:
    """A family at a parameter, its best settings and the targets' log marginal likelihood."""

    family: Family
    parameter: float
    settings: Settings
    log_likelihood: float
    unit: float  # median distance


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

    def distances(self, family: Family, parameter: float) -> Floats:
        return measure_points(family.place(parameter)[self.some], family.sign)

    def covariance(self, kernel: Covariance, D: Floats, unit: float, at: Settings) -> Floats:
        """Return C (n, n)."""
        C = kernel(D, float(LENGTH_GRID[at.length]) * unit)
        C += 1.0
        if at.slope:
            C += SLOPE_GRID[at.slope] * self.trend
        C.flat[:: len(C) + 1] += NOISE_GRID[at.noise]
        return C

    def fit(self, family: Family, parameter: float, start: Settings) -> ProcessFit:
        """Climb from a start to the best neighbour on the grid until there is none."""
        D = self.distances(family, parameter)
        unit = median_distance(D)
        found: dict[Settings, float] = {}

        def value(at: Settings) -> float:
            if at not in found:
                found[at] = log_likelihood(self.covariance(family.kernel, D, unit, at), self.Y)
            return found[at]

        best = start
        while True:
            top = max([best, *neighbours(best)], key=value)
            if value(top) <= value(best):
                return ProcessFit(family, parameter, best, value(best), unit)
            best = top

    def fit_family(self, family: Family) -> ProcessFit:
        """Return the best fit of a family; each parameter starts from the settings before it."""
        fits: list[ProcessFit] = []
        for parameter in family.parameters:
            start = fits[-1].settings if fits else START
            fits.append(self.fit(family, parameter, start))
        return max(fits, key=lambda fit: fit.log_likelihood)

    def held_out(self, fit: ProcessFit, partitions: Iterable[Ints]) -> tuple[Floats, Floats]:
        """Return squared errors (n, t) and variances (n,), averaged over partitions into folds."""
        D = self.distances(fit.family, fit.parameter)
        C = self.covariance(fit.family.kernel, D, fit.unit, fit.settings)
        inverse = invert(C)
        squares = []
        variances = []
        for folds in partitions:
            square, variance = held_out_blocks(inverse, self.Y, folds)
            squares.append(square)
            variances.append(variance)
        return np.mean(squares, axis=0), np.mean(variances, axis=0)


def neighbours(at: Settings) -> list[Settings]:
    """Return the settings one step away from some, within the grids."""
    found = []
    for step in (-1, 1):
        if 0 <= at.length + step < len(LENGTH_GRID):
            found.append(at._replace(length=at.length + step))
        if 0 <= at.noise + step < len(NOISE_GRID):
            found.append(at._replace(noise=at.noise + step))
        if 0 <= at.slope + step < len(SLOPE_GRID):
            found.append(at._replace(slope=at.slope + step))
    return found


def median_distance(D: Floats) -> float:
    """Return the median of the distances between different rows, or 1 if most coincide."""
    return float(np.median(D[np.tri(len(D), k=-1, dtype=bool)])) or 1.0


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
    errors = np.empty_like(Y)
    variances = np.empty(len(Y))
    weighted = inverse @ Y
    for fold in range(folds.max() + 1):
        rows = np.flatnonzero(folds == fold)
        block = np.linalg.inv(inverse[np.ix_(rows, rows)])
        errors[rows] = block @ weighted[rows]
        variances[rows] = np.diagonal(block)
    return np.square(errors), variances
