"""Circles of the plane: where they meet lines and each other, and their tangents.

All of it is one angle γ at the centre c of a circle of radius r, between the direction to what is
met and the direction to where it is met. Let s = sin_K and d be a distance from c. By the law of
cosines for half angles, which stays exact as K goes through zero,

    to a circle of radius R around a point at d:
        sin²(γ/2) = (s²(R/2) - s²((d - r)/2)) / (s(d) s(r)),
        cos²(γ/2) = (s²((d + r)/2) - s²(R/2)) / (s(d) s(r)),
    to a line whose foot is at d:       tan_K(d)/tan_K(r) = cos γ,
        sin²(γ/2) = s(r - d) / (2 s(r) cos_K(d)),   cos²(γ/2) with r + d,
    to where tangents from a point at d touch:   cos γ = tan_K(r)/tan_K(d),
        sin²(γ/2) = s(d - r) / (2 s(d) cos_K(r)),   cos²(γ/2) with d + r.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry.bisectors import Hyperplane
from cayleyklein.geometry.constructions import (
    distance_to_line,
    line_through,
    lowered,
    perpendicular,
)
from cayleyklein.geometry.distances import distance_between
from cayleyklein.geometry.geodesics import log_map, metric_tensor
from cayleyklein.geometry.lifts import cosine, sine
from cayleyklein.geometry.space import CurvedSpace


def point_at(center: ArrayLike, radius: ArrayLike, angle: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return points (…, 2) at distances and angles (in radians) from a point.

    Angles are those of the metric, from a fixed direction. Points beyond the equator are NaN.
    """
    center = checks.as_points(center, "center", 2, ndim=1)
    K = metric.curvature
    angle, radius = np.broadcast_arrays(np.asarray(angle, float), np.asarray(radius, float))
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    z, s = metric.inside(center)
    u = unit @ _frame(center, metric) @ metric.factor.T
    root = math.sqrt(float(s))
    start = np.append(z, 1.0) / root
    # the derivative of (z, 1)/σ along u
    along = np.pad(u, [(0, 0)] * (u.ndim - 1) + [(0, 1)]) / root
    along = along - K * (u @ z)[..., None] * start / float(s)
    lifted = cosine(radius, K)[..., None] * start + sine(radius, K)[..., None] * along
    return lowered(lifted, metric)


def angle_at(center: ArrayLike, p: ArrayLike, metric: CurvedSpace) -> float:
    """Return the angle of a point around another, as `point_at` takes it."""
    center = checks.as_points(center, "center", 2, ndim=1)
    step = np.asarray(log_map(center, p, metric), dtype=float)
    x, y = step @ np.linalg.inv(_frame(center, metric))
    return math.atan2(y, x)


def _frame(center: Floats, metric: CurvedSpace) -> Floats:
    """Return two steps at a point that are orthonormal in the metric, as rows."""
    return np.linalg.inv(np.linalg.cholesky(metric_tensor(center, metric)))


def _distance(p: Floats, q: Floats, metric: CurvedSpace) -> float:
    return float(distance_between(p, q, metric, "raise", ("p", "q")))


def _both_sides(
    center: Floats, radius: float, angle: float, squares: tuple[float, float], metric: CurvedSpace
) -> Floats:
    """Return the points (2, 2) at ±γ from a direction, of given sin² and cos² of γ/2."""
    across, along = squares
    # that much of rounding is still a tangent
    if min(squares) < -1e-12 or not np.isfinite(squares).all():
        return np.full((2, 2), np.nan)
    half = math.atan2(math.sqrt(max(across, 0.0)), math.sqrt(max(along, 0.0)))
    return point_at(center, radius, angle + 2 * half * np.array([1.0, -1.0]), metric)


def line_and_circle(
    line: Hyperplane, center: ArrayLike, radius: float, metric: CurvedSpace
) -> Floats:
    """Return the points (2, 2) where a line meets a circle, NaN where it does not."""
    center = checks.as_points(center, "center", 2, ndim=1)
    radius = checks.as_real(radius, "radius", "(0, inf)")
    K = metric.curvature
    height = float(distance_to_line(center, line, metric))
    normal = perpendicular(line, center, metric).normal
    across = np.array([-normal[1], normal[0]])  # along the perpendicular
    if float(across @ line.normal) > 0:  # towards the side of the normal
        across = -across
    across = across * (1 if height >= 0 else -1)
    x, y = across @ np.linalg.inv(_frame(center, metric))
    d = abs(height)
    size = 2 * float(sine(radius, K)) * float(cosine(d, K))
    squares = float(sine(radius - d, K)) / size, float(sine(radius + d, K)) / size
    return _both_sides(center, radius, math.atan2(y, x), squares, metric)


def circles_meet(
    center: ArrayLike, radius: float, other: ArrayLike, other_radius: float, metric: CurvedSpace
) -> Floats:
    """Return the points (2, 2) where two circles meet, NaN where they do not."""
    center = checks.as_points(center, "center", 2, ndim=1)
    other = checks.as_points(other, "other", 2, ndim=1)
    radius = checks.as_real(radius, "radius", "(0, inf)")
    other_radius = checks.as_real(other_radius, "other_radius", "(0, inf)")
    if (center == other).all():
        return np.full((2, 2), np.nan)
    K = metric.curvature
    d = _distance(center, other, metric)
    size = float(sine(d, K)) * float(sine(radius, K))
    met, near, far = (float(sine(x / 2, K)) ** 2 for x in (other_radius, d - radius, d + radius))
    squares = (met - near) / size, (far - met) / size
    return _both_sides(center, radius, angle_at(center, other, metric), squares, metric)


def tangents(
    p: ArrayLike, center: ArrayLike, radius: float, metric: CurvedSpace
) -> tuple[Hyperplane, ...]:
    """Return the tangents of a circle through a point: two, one on the circle, none inside."""
    center = checks.as_points(center, "center", 2, ndim=1)
    p = checks.as_points(p, "p", 2, ndim=1)
    radius = checks.as_real(radius, "radius", "(0, inf)")
    if (center == p).all():
        raise InvalidInputError("p is the centre of the circle; tangents go through other points.")
    K = metric.curvature
    d = _distance(center, p, metric)
    size = 2 * float(sine(d, K)) * float(cosine(radius, K))
    squares = float(sine(d - radius, K)) / size, float(sine(d + radius, K)) / size
    touching = _both_sides(center, radius, angle_at(center, p, metric), squares, metric)
    if squares[0] < 1e-12:
        touching = touching[:1]
    return tuple(
        perpendicular(line_through(center, t), t, metric) for t in touching if np.isfinite(t).all()
    )
