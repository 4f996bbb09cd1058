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
from cayleyklein.geometry._frames import Frame, as_frame
from cayleyklein.geometry._lifts import cosine, sine, tangent
from cayleyklein.geometry._rounding import binary_scale

__all__ = ["exp_map", "geodesic", "log_map", "metric_tensor", "midpoint", "vertex_angle"]


def _pair(
    p: ArrayLike, q: ArrayLike, frame: Frame, names: tuple[str, str]
) -> tuple[Floats, Floats]:
    d = frame.dimension
    points = {names[0]: as_points(p, names[0], d), names[1]: as_points(q, names[1], d)}
    p, q = broadcast_points(**points)
    return p, q


def geodesic(p: ArrayLike, q: ArrayLike, frame: Frame, t: ArrayLike) -> AnyFloats:
    """Return the points at fractions t of the distance from p to q.

    Parameters
    ----------
    p, q : array-like of shape (..., d)
    frame : Frame
    t : array-like of shape (m,) or a number
        Fractions; 0 is p and 1 is q. Values outside [0, 1] extrapolate.

    Returns
    -------
    ndarray of shape (..., m, d), or (..., d) for a single t

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> disc = Frame(np.eye(2), curvature=-1.0)
    >>> geodesic([0.0, 0.0], [0.8, 0.0], disc, [0.0, 0.5, 1.0])
    array([[0. , 0. ],
           [0.5, 0. ],
           [0.8, 0. ]])
    >>> geodesic([0.3, 0.1], [0.3, 0.1], disc, 0.5)  # a point
    array([0.3, 0.1])
    """
    frame, dtype = as_frame(frame), float_dtype(p, q)
    p, q = _pair(p, q, frame, ("p", "q"))
    t = as_finite_array(t, "t")
    if t.ndim > 1:
        raise InvalidInputError(f"t must be a number or of shape (m,); got shape {t.shape}.")
    _, s_p = frame._inside(p, "p")
    _, s_q = frame._inside(q, "q")
    d = distance_between(p, q, frame, "raise")
    if t.ndim:
        p, q = p[..., None, :], q[..., None, :]
        d, s_p, s_q = (values[..., None] for values in (d, s_p, s_q))
    with np.errstate(over="ignore"):
        there, back = t * d, (1 - t) * d
        refuse_overflow(np.isfinite(2 * (np.abs(there) + np.abs(back))), "The distance", "t")
    from_p, from_q = _sine_ratio(back, there, frame.curvature)
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


def midpoint(p: ArrayLike, q: ArrayLike, frame: Frame) -> AnyFloats:
    """Return the point half way from p to q.

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> midpoint([0.0], [0.8], Frame([[1.0]], curvature=-1.0))
    array([0.5])
    """
    return geodesic(p, q, frame, 0.5)


def metric_tensor(x: ArrayLike, frame: Frame) -> Floats:
    """Return the Riemannian metric g(x) = Σ/S - K Σ(x-μ)(x-μ)ᵀΣ/S², S = S(x, x).

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> metric_tensor([0.0, 0.0], Frame(np.eye(2), curvature=-1.0))
    array([[1., 0.],
           [0., 1.]])
    """
    frame = as_frame(frame)
    z, s = frame._inside(as_points(x, "x", frame.dimension), "x")
    a = z @ frame.factor / s[..., None]  # S² may overflow
    outer = frame.curvature * a[..., :, None] * a[..., None, :]
    return np.asarray(frame.matrix / s[..., None, None] - outer)


def _speed(x: Floats, v: Floats, frame: Frame) -> tuple[Floats, Floats, Floats]:
    """Return ‖v‖ in the metric at x, K⟨z, Lv⟩ and S(x, x)."""
    z, s = frame._inside(x, "x")
    with np.errstate(over="ignore", invalid="ignore"):
        u = v @ frame.factor.T
    scale = np.abs(u).max(axis=-1)
    refuse_overflow(np.isfinite(scale), "The speed ‖v‖", "v")
    unit = np.divide(u, scale[..., None], out=np.zeros_like(u), where=scale[..., None] > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        speed = scale * np.sqrt(wedge(unit, z, s, frame.curvature)) / s
        slope = frame.curvature * np.einsum("...i,...i", z, u)
    refuse_overflow(np.isfinite(speed) & np.isfinite(slope), "The speed ‖v‖", "v")
    return speed, slope, s


def exp_map(x: ArrayLike, v: ArrayLike, frame: Frame) -> AnyFloats:
    """Return the point reached from x with velocity v after unit time.

    Raises
    ------
    OutsideDomainError
        In the elliptic case, when it has crossed the equator, where the chart ends.

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> disc = Frame(np.eye(2), curvature=-1.0)
    >>> exp_map([0.0, 0.0], [0.0, 0.0], disc)
    array([0., 0.])
    >>> exp_map([0.0, 0.0], log_map([0.0, 0.0], [0.6, 0.3], disc), disc)
    array([0.6, 0.3])
    """
    frame, dtype = as_frame(frame), float_dtype(x, v)
    x, v = _pair(x, v, frame, ("x", "v"))
    K = frame.curvature
    speed, slope, s = _speed(x, v, frame)
    # In the lift, the end is cos(‖v‖) P + sin(‖v‖) V; the hyperbolic pair is divided by cosh,
    # which overflows.
    sin, cos = (sine(speed, K), cosine(speed, K)) if K > 0 else (tangent(speed, K), 1.0)
    sin = np.divide(sin, speed, out=np.ones_like(speed), where=speed > 0)
    weight = cos - sin * slope / s
    _refuse_beyond_chart(weight <= 0, "v")
    return np.asarray(x + v * (sin / weight)[..., None]).astype(dtype, copy=False)


def log_map(x: ArrayLike, y: ArrayLike, frame: Frame) -> AnyFloats:
    """Return the velocity v at x with exp_map(x, v) = y: the inverse of :func:`exp_map`.

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> log_map([1.0], [3.0], Frame([[2.0]]))
    array([2.])
    """
    frame, dtype = as_frame(frame), float_dtype(x, y)
    x, y = _pair(x, y, frame, ("x", "y"))
    d = distance_between(x, y, frame, "raise", ("x", "y"))
    speed, _, _ = _speed(x, y - x, frame)
    ratio = np.divide(d, speed, out=np.ones_like(d), where=speed > 0)
    return np.asarray((y - x) * ratio[..., None]).astype(dtype, copy=False)


def vertex_angle(x: ArrayLike, p: ArrayLike, q: ArrayLike, frame: Frame) -> AnyFloats:
    """Return the angle at x between the geodesics to p and to q, in [0, π].

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> disc = Frame(np.eye(2), curvature=-1.0)
    >>> float(vertex_angle([0.0, 0.0], [0.5, 0.0], [0.0, 0.2], disc)) / np.pi
    0.5
    """
    frame, dtype = as_frame(frame), float_dtype(x, p, q)
    x, p, q = broadcast_points(
        **{name: as_points(y, name, frame.dimension) for name, y in (("x", x), ("p", p), ("q", q))}
    )
    frame._inside(p, "p")
    frame._inside(q, "q")
    z, s = frame._inside(x, "x")
    sqnorm = np.einsum("...i,...i", z, z)
    stretch = (1 / np.sqrt(s) - 1) / np.where(sqnorm > 0, sqnorm, 1.0)

    def unit_vector(y: Floats, name: str) -> Floats:
        # Orthonormal coordinates at x stretch along z by 1/√S more than across it.
        u = (y - x) @ frame.factor.T
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
