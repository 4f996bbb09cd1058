"""Geodesics: straight lines in the chart, at constant speed (paper §2.1).

With lifted points P = (z_p, 1)/σ_p, the point at a fraction t of the distance d is
sin_K((1-t)d) P + sin_K(td) Q, up to scale: a weighted mean of p and q.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein._validation import (
    as_finite_array,
    as_points,
    at_index,
    broadcast_points,
    float_dtype,
    refuse_overflow,
)
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry._distances import distance_between, wedge
from cayleyklein.geometry._lifts import cosine, sine, tangent
from cayleyklein.geometry._rounding import binary_scale
from cayleyklein.geometry._space import CurvedSpace, as_space

__all__ = ["exp_map", "geodesic", "log_map", "metric_tensor", "midpoint", "vertex_angle"]


def _pair(
    p: ArrayLike, q: ArrayLike, metric: CurvedSpace, names: tuple[str, str]
) -> tuple[Floats, Floats]:
    d = metric.dimension
    points = {names[0]: as_points(p, names[0], d), names[1]: as_points(q, names[1], d)}
    p, q = broadcast_points(**points)
    return p, q


def geodesic(p: ArrayLike, q: ArrayLike, metric: CurvedSpace, t: ArrayLike) -> AnyFloats:
    """Return the points at fractions t of the distance from p to q.

    Parameters
    ----------
    p, q : array-like of shape (..., d)
    metric : CurvedSpace
    t : array-like of shape (m,) or a number
        Fractions; 0 is p and 1 is q. Values outside [0, 1] extrapolate.

    Returns
    -------
    ndarray of shape (..., m, d), or (..., d) for a single t

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> geodesic([0.0, 0.0], [0.8, 0.0], disc, [0.0, 0.5, 1.0])
    array([[0. , 0. ],
           [0.5, 0. ],
           [0.8, 0. ]])
    >>> geodesic([0.3, 0.1], [0.3, 0.1], disc, 0.5)  # a point
    array([0.3, 0.1])
    """
    metric, dtype = as_space(metric), float_dtype(p, q)
    p, q = _pair(p, q, metric, ("p", "q"))
    t = as_finite_array(t, "t")
    if t.ndim > 1:
        raise InvalidInputError(f"t must be a number or of shape (m,); got shape {t.shape}.")
    _, s_p = metric._inside(p, "p")
    _, s_q = metric._inside(q, "q")
    d = distance_between(p, q, metric, "raise")
    if t.ndim:
        p, q = p[..., None, :], q[..., None, :]
        d, s_p, s_q = (values[..., None] for values in (d, s_p, s_q))
    with np.errstate(over="ignore"):
        there, back = t * d, (1 - t) * d
        refuse_overflow(np.isfinite(2 * (np.abs(there) + np.abs(back))), "The distance", "t")
    from_p, from_q = _sine_ratio(back, there, metric.curvature)
    from_p, from_q = from_p * np.sqrt(s_q), from_q * np.sqrt(s_p)
    weight = from_p + from_q
    apart = weight > 0
    _refuse_beyond_chart((d > 0) & ~apart, "t")
    share = np.where(apart, from_q / np.where(apart, weight, 1.0), t)  # tends to t as d tends to 0
    return np.asarray(p + (q - p) * share[..., None]).astype(dtype, copy=False)


def _sine_ratio(a: Floats, b: Floats, K: float) -> tuple[Floats, Floats]:
    """Return sin_K(a) and sin_K(b) up to a common factor, with which sinh does not overflow."""
    if K >= 0:
        return sine(a, K), sine(b, K)
    a, b = (2 * math.sqrt(-K) * r for r in (a, b))
    top = np.maximum(np.abs(a), np.abs(b))
    first, second = (
        np.sign(r) * -np.expm1(-np.abs(r)) * np.exp((np.abs(r) - top) / 2) for r in (a, b)
    )
    return np.asarray(first), np.asarray(second)


def midpoint(p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> AnyFloats:
    """Return the point half way from p to q.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> midpoint([0.0], [0.8], CurvedMetric(factor=[[1.0]], curvature=-1.0))
    array([0.5])
    """
    return geodesic(p, q, metric, 0.5)


def metric_tensor(x: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return the Riemannian metric g(x) = Σ/S - K Σ(x-μ)(x-μ)ᵀΣ/S², S = S(x, x).

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric_tensor([0.0, 0.0], CurvedMetric(factor=np.eye(2), curvature=-1.0))
    array([[1., 0.],
           [0., 1.]])
    """
    metric = as_space(metric)
    z, s = metric._inside(as_points(x, "x", metric.dimension), "x")
    a = z @ metric.factor / s[..., None]  # S² may overflow
    outer = metric.curvature * a[..., :, None] * a[..., None, :]
    return np.asarray(metric.matrix / s[..., None, None] - outer)


def _speed(x: Floats, v: Floats, metric: CurvedSpace) -> tuple[Floats, Floats, Floats]:
    """Return ‖v‖ in the metric at x, K⟨z, Lv⟩ and S(x, x)."""
    z, s = metric._inside(x, "x")
    with np.errstate(over="ignore", invalid="ignore"):
        u = v @ metric.factor.T
    scale = np.abs(u).max(axis=-1)
    refuse_overflow(np.isfinite(scale), "The speed ‖v‖", "v")
    unit = np.divide(u, scale[..., None], out=np.zeros_like(u), where=scale[..., None] > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        speed = scale * np.sqrt(wedge(unit, z, s, metric.curvature)) / s
        slope = metric.curvature * np.einsum("...i,...i", z, u)
    refuse_overflow(np.isfinite(speed) & np.isfinite(slope), "The speed ‖v‖", "v")
    return speed, slope, s


def exp_map(x: ArrayLike, v: ArrayLike, metric: CurvedSpace) -> AnyFloats:
    """Return the point reached from x with velocity v after unit time.

    Raises
    ------
    OutsideDomainError
        In the elliptic case, when it has crossed the equator, where the chart ends.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> exp_map([0.0, 0.0], [0.0, 0.0], disc)
    array([0., 0.])
    >>> exp_map([0.0, 0.0], log_map([0.0, 0.0], [0.6, 0.3], disc), disc)
    array([0.6, 0.3])
    """
    metric, dtype = as_space(metric), float_dtype(x, v)
    x, v = _pair(x, v, metric, ("x", "v"))
    K = metric.curvature
    speed, slope, s = _speed(x, v, metric)
    # In the lift, the end is cos(‖v‖) P + sin(‖v‖) V; the hyperbolic pair is divided by cosh,
    # which overflows.
    sin, cos = (sine(speed, K), cosine(speed, K)) if K > 0 else (tangent(speed, K), 1.0)
    sin = np.divide(sin, speed, out=np.ones_like(speed), where=speed > 0)
    weight = cos - sin * slope / s
    _refuse_beyond_chart(weight <= 0, "v")
    return np.asarray(x + v * (sin / weight)[..., None]).astype(dtype, copy=False)


def log_map(x: ArrayLike, y: ArrayLike, metric: CurvedSpace) -> AnyFloats:
    """Return the velocity v at x with exp_map(x, v) = y: the inverse of :func:`exp_map`.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> log_map([1.0], [3.0], CurvedMetric(factor=[[2.0]]))
    array([2.])
    """
    metric, dtype = as_space(metric), float_dtype(x, y)
    x, y = _pair(x, y, metric, ("x", "y"))
    d = distance_between(x, y, metric, "raise", ("x", "y"))
    speed, _, _ = _speed(x, y - x, metric)
    ratio = np.divide(d, speed, out=np.ones_like(d), where=speed > 0)
    return np.asarray((y - x) * ratio[..., None]).astype(dtype, copy=False)


def vertex_angle(x: ArrayLike, p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> AnyFloats:
    """Return the angle at x between the geodesics to p and to q, in [0, π].

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> float(vertex_angle([0.0, 0.0], [0.5, 0.0], [0.0, 0.2], disc)) / np.pi
    0.5
    """
    metric, dtype = as_space(metric), float_dtype(x, p, q)
    x, p, q = broadcast_points(
        **{name: as_points(y, name, metric.dimension) for name, y in (("x", x), ("p", p), ("q", q))}
    )
    metric._inside(p, "p")
    metric._inside(q, "q")
    z, s = metric._inside(x, "x")
    sqnorm = np.einsum("...i,...i", z, z)
    stretch = (1 / np.sqrt(s) - 1) / np.where(sqnorm > 0, sqnorm, 1.0)

    def unit_vector(y: Floats, name: str) -> Floats:
        # Orthonormal coordinates at x stretch along z by 1/√S more than across it.
        u = (y - x) @ metric.factor.T
        u = u / binary_scale(u)  # squares may under- or overflow
        u = u + (stretch * np.einsum("...i,...i", u, z))[..., None] * z
        norm = np.linalg.norm(u, axis=-1, keepdims=True)
        if not norm.all():
            raise InvalidInputError(f"{name} coincides with the vertex x: the angle is undefined.")
        return np.asarray(u / norm)

    a, b = unit_vector(p, "p"), unit_vector(q, "q")
    half = np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return np.asarray(2 * half).astype(dtype, copy=False)[()]


def _refuse_beyond_chart(beyond: Bools, name: str) -> None:
    if beyond.any():
        raise OutsideDomainError(
            f"The geodesic{at_index(beyond)} leaves the chart: it ends beyond the equator, or too "
            f"close to the boundary; take a smaller {name}."
        )
