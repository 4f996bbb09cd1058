"""A diagram as the upper envelope of affine functions, in well-scaled coordinates.

A query is nearest to the generator of the largest f_i (:func:`proximity_planes`). Only
differences count, so f_i is taken relative to the f of one generator c, the *pivot*, and in
coordinates w around it, z = z_c + s w:

    f_i(w) = ⟨A_i, w⟩ + b_i,    A_i = s (z_i/σ_i - z_c/σ_c),    b_i = -2 σ_c sin_K²(d(c, i)/2),

both divided by one positive number so that b is of order 1. No term of it cancels, however
far the generators are from μ and however close to each other, and b ≤ 0 = b_c.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import about, as_points
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import bisectors, distances, lifts, space
from cayleyklein.metrics import CurvedMetric

LARGEST_SPREAD = 1e100  # largest extent in z (1/it is the smallest): products of 3 are finite


class EquivalentBalls(NamedTuple):
    centers: Floats
    sq_radii: Floats


def equivalent_balls(points: ArrayLike, metric: object) -> EquivalentBalls:
    """Return the balls whose power diagram, clipped to the domain, is the Voronoi diagram.

    They are `centers` (n, d) and `sq_radii` (n,), which may be negative, in a named tuple: with
    f_i(x) = ⟨a_i, x⟩ + b_i of :func:`cayleyklein.geometry.proximity_planes`,

        c_i = a_i,    r_i² = ‖a_i‖² + 2 b_i,    ‖x - c_i‖² - r_i² = ‖x‖² - 2 f_i(x).

    The paper's balls (§3.1) come from another multiple of f_i and grow without bound as K tends to
    0. These do not: for K = 0 and Σ = I they are the points themselves, with radius 0.

    Parameters
    ----------
    points : array-like of shape (n, d)
        Generators, in the domain of the metric.
    metric : CurvedMetric
        A metric of any curvature.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> equivalent_balls([[0.0, 0.0], [0.6, 0.0]], disc).centers.round(12).tolist()
    [[0.0, 0.0], [0.75, 0.0]]
    """
    known = space.as_space(metric)
    rows = as_points(points, "points", known.dimension, ndim=2)
    with about("points"):
        planes = bisectors.proximity_planes(rows, known)
    centers = np.asarray(planes.normal, dtype=np.float64)
    offsets = np.asarray(planes.offset, dtype=np.float64)
    return EquivalentBalls(centers, np.einsum("ij,ij->i", centers, centers) + 2 * offsets)


class LocalChart(NamedTuple):
    """Coordinates w with x = pivot + spread L⁻¹w, in which the generators are of order 1."""

    metric: CurvedMetric
    pivot: Floats
    spread: float

    def to_local(self, x: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller raises
            return np.asarray((x - self.pivot) @ self.metric.factor.T / self.spread)

    def to_points(self, w: Floats) -> Floats:
        return np.asarray(w @ self.matrix.T + self.pivot)

    @property
    def matrix(self) -> Floats:
        return self.spread * self.metric.inverse_factor

    @property
    def disc(self) -> tuple[Floats, float]:
        """(o, ρ) with √-K z = o + ρ w: a hyperbolic domain is ‖o + ρ w‖ < 1."""
        k = float(np.sqrt(-self.metric.curvature))
        return k * self.metric.coordinates(self.pivot), k * self.spread


def local_planes(points: Floats, metric: CurvedMetric) -> tuple[LocalChart, Floats, Floats]:
    metric.inverse_factor  # noqa: B018 - raises for a factor without inverse
    metric._inside(points, "points")
    with np.errstate(over="ignore", invalid="ignore"):  # nan is inf - inf or 0 * inf
        sizes = np.abs((points - points[0]) @ metric.factor.T)
        extent = float(np.where(np.isnan(sizes), np.inf, sizes).max())
    if extent and not 1 / LARGEST_SPREAD < extent < LARGEST_SPREAD:
        raise InvalidInputError(
            f"points are spread over {extent:.3g} in the coordinates z = L(x - μ), too "
            f"{'much' if extent > 1 else 'little'} for squares of distances; rescale them."
        )
    K = metric.curvature
    middle = points - points.mean(axis=0)
    pivot = points[np.argmin(np.einsum("ij,ij->i", middle, middle))]
    reach = np.linalg.norm((points - pivot) @ metric.factor.T, axis=1)
    spread = _positive_median(reach, default=1 / np.sqrt(abs(K)) if K else 1.0)
    spatial, _ = bisectors.point_difference(points, np.broadcast_to(pivot, points.shape), metric)
    sigma = np.sqrt(metric._inside(pivot[None], "points")[1][0])
    half = np.asarray(distances.distance(points, pivot, metric)) / 2
    offsets = -2 * sigma * lifts.sine(half, K) ** 2
    height = _positive_median(-offsets, default=1.0)
    return LocalChart(metric, pivot, spread), spatial * (spread / height), offsets / height


def _positive_median(values: Floats, default: float) -> float:
    positive = values[values > 0]
    return float(np.median(positive)) if len(positive) else float(default)
