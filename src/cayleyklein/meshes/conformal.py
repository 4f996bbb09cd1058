"""The plane of curvature K as complex numbers: a conformal chart in which circles are circles.

A point is y = z/(1 + σ), z = L(x - μ), σ = √(1 + K‖z‖²): the Poincaré disc for K < 0, the
stereographic plane for K > 0 and z/2 for K = 0. The isometry that moves q to 0 takes p to

    p ⊖ q = (p - q)/(1 + K q̄ p),    |p ⊖ q| = tan_K(d/2),

the *gap* of p and q. Angles at 0 are Euclidean, and a circle of the metric is a circle of the
chart around another centre. So the empty-circle property, and with it the Delaunay triangulation,
is that of the Euclidean plane y. All formulas are smooth through K = 0.
"""

import math

import numpy as np

from cayleyklein._typing import Complexes, Floats
from cayleyklein.geometry import space
from cayleyklein.metrics import CurvedMetric


class ConformalPlane:
    """The chart y of a plane metric, moved so that one point is at 0."""

    def __init__(self, metric: CurvedMetric, pivot: Floats) -> None:
        self.metric = metric
        self.K = metric.curvature
        self.pivot = np.zeros(1, dtype=np.complex128)
        self.pivot = self.from_points(pivot[None])

    def from_points(self, x: Floats) -> Complexes:
        z, s = space.place_inside(self.metric, x, "polygon")
        y = (z[:, 0] + 1j * z[:, 1]) / (1 + np.sqrt(s))
        return difference(y, self.pivot, self.K)

    def to_points(self, y: Complexes) -> Floats:
        y = difference(y, -self.pivot, self.K)
        z = 2 * y / (1 - self.K * _square(y))
        return self.metric.points(np.stack([z.real, z.imag], axis=1))


def _square(y: Complexes) -> Floats:
    return np.asarray(y.real**2 + y.imag**2)


def difference(p: Complexes, q: Complexes, K: float) -> Complexes:
    return np.asarray((p - q) / (1 + K * np.conj(q) * p))


def gap(p: Complexes, q: Complexes, K: float) -> Floats:
    return np.abs(difference(p, q, K))


def length_of_gap(t: Floats, K: float) -> Floats:
    if K == 0:
        return 2 * t
    k = math.sqrt(abs(K))
    return np.asarray((np.arctan(k * t) if K > 0 else np.arctanh(k * t)) * (2 / k))


def half_gap(t: Floats, K: float) -> Floats:
    return np.asarray(t / (1 + np.sqrt(1 + K * t * t)))


def towards(p: Complexes, q: Complexes, t: Floats, K: float) -> Complexes:
    """Return the point on the geodesic from p through q at the gap t from p."""
    step = difference(q, p, K)
    return difference(step * (t / np.abs(step)), -p, K)


def midpoint(p: Complexes, q: Complexes, K: float) -> Complexes:
    return towards(p, q, half_gap(gap(p, q, K), K), K)


def circumcircle(a: Complexes, b: Complexes, c: Complexes) -> tuple[Complexes, Floats]:
    """Return the centre and the radius, in the chart, of the circle through three points."""
    u, v = b - a, c - a
    to_center = (_square(u) * v - _square(v) * u) / (np.conj(u) * v - u * np.conj(v))
    return a + to_center, np.abs(to_center)


def true_center(center: Complexes, radius: Floats, K: float) -> Complexes:
    """Return the centre in the metric of a circle given in the chart; NaN where it has none.

    The circle |y|² - 2 Re(ȳe) + g = 0 has the centre c with c/(1 - K|c|²) = e/(1 - Kg).
    """
    size = np.abs(center)
    flat = 1 - K * (size - radius) * (size + radius)
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * center / (flat + np.sqrt(flat * flat + 4 * K * size * size)))


def chart_circle(center: Complexes, t: Floats, K: float) -> tuple[Complexes, Floats]:
    """Return the centre and radius in the chart of the circle at the gap t around a point."""
    below = 1 - (K * t) ** 2 * _square(center)
    return center * (1 + K * t * t) / below, t * (1 + K * _square(center)) / below


def angles(a: Complexes, b: Complexes, c: Complexes, K: float) -> Floats:
    """Return the three angles (n, 3) of triangles, in radians."""
    corners = ((a, b, c), (b, c, a), (c, a, b))
    turns = [difference(q, x, K) * np.conj(difference(p, x, K)) for x, p, q in corners]
    return np.abs(np.angle(np.stack(turns, axis=-1)))


def signed_areas(a: Complexes, b: Complexes, c: Complexes, K: float) -> Floats:
    """Return areas of triangles in the metric, negative when clockwise.

    The angular excess of the triangle 0, u, v is 2 arg(1 + K ūv), and the area excess/K.
    """
    product = np.conj(difference(b, a, K)) * difference(c, a, K)
    if K == 0:
        return np.asarray(2 * product.imag)
    return np.asarray(2 / K * np.arctan2(K * product.imag, 1 + K * product.real))
