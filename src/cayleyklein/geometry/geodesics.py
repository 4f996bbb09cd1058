"""Geodesics: straight lines in the chart, at constant speed (paper §2.1).

With lifted points P = (z_p, 1)/σ_p, the point at a fraction t of the distance d is
sin_K((1-t)d) P + sin_K(td) Q, up to scale: a weighted mean of p and q.

Transvections are collineations, matrices H acting on homogeneous points x̃ = (x, 1). With the form
B = diag(K, …, K, 1), for which PᵀBP = 1, the transvection along the geodesic from p to q is

    T = I - (P + Q)(P + Q)ᵀB / (1 + PᵀBQ) + 2 Q PᵀB,

a rotation for K > 0, a boost for K < 0, and at K = 0 exactly the translation by q - p.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein._validation import as_finite_array, as_points, at_index, refuse_overflow
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.distances import distance_between, wedge
from cayleyklein.geometry.lifts import cosine, lift, sine, tangent
from cayleyklein.geometry.rounding import binary_scale
from cayleyklein.geometry.space import CurvedSpace, as_space, check_points


def geodesic(p: ArrayLike, q: ArrayLike, metric: CurvedSpace, t: ArrayLike) -> AnyFloats:
    """Return the points (..., m, d) at fractions t (m,) of the distance from p to q (..., d)."""
    metric, dtype, (p, q) = check_points(metric, p=p, q=q)
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


def metric_tensor(x: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return the Riemannian metric g(x) = Σ/S - K Σ(x-μ)(x-μ)ᵀΣ/S², S = S(x, x).

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric_tensor([0.0, 0.0], CurvedMetric(factor=np.eye(2), curvature=-1.0))
    array([[1., 0.],
           [0., 1.]])
    """
    metric, _, (x,) = check_points(metric, x=x)
    z, s = metric._inside(x, "x")
    a = metric._apply_transpose(z) / s[..., None]  # S² may overflow
    outer = metric.curvature * a[..., :, None] * a[..., None, :]
    return np.asarray(metric.matrix / s[..., None, None] - outer)


def lower_steps(u: Floats, x: Floats, metric: CurvedSpace, name: str) -> Floats:
    """Return g(x)u of steps u (n, d) at points x (n, d), without the matrices g."""
    z, s = metric._inside(x, name)
    v = metric._apply(u)
    along = metric.curvature * np.einsum("ij,ij->i", z, v) / s
    return metric._apply_transpose((v - along[:, None] * z) / s[:, None])


def lower_by_mean(u: Floats, rows: Floats, metric: CurvedSpace) -> Floats:
    """Return ḡu of steps u (m, d), ḡ being the mean of :func:`metric_tensor` over rows (n, d)."""
    z, s = metric._inside(rows, "X")
    v, w = metric._apply(u), z / s[:, None]
    across = metric.curvature / len(rows) * np.linalg.multi_dot([v, w.T, w])
    return metric._apply_transpose(v * (1 / s).mean() - across)


def _speed(x: Floats, v: Floats, metric: CurvedSpace) -> tuple[Floats, Floats, Floats]:
    """Return ‖v‖ in the metric at x, K⟨z, Lv⟩ and S(x, x)."""
    z, s = metric._inside(x, "x")
    with np.errstate(over="ignore", invalid="ignore"):
        u = metric._apply(v)
    scale = np.abs(u).max(axis=-1)
    refuse_overflow(np.isfinite(scale), "The speed ‖v‖", "v")
    unit = np.divide(u, scale[..., None], out=np.zeros_like(u), where=scale[..., None] > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        speed = scale * np.sqrt(wedge(unit, z, s, metric.curvature)) / s
        slope = metric.curvature * np.einsum("...i,...i", z, u)
    refuse_overflow(np.isfinite(speed) & np.isfinite(slope), "The speed ‖v‖", "v")
    return speed, slope, s


def exp_map(x: ArrayLike, v: ArrayLike, metric: CurvedSpace) -> AnyFloats:
    """Return the point reached from x with velocity v after unit time."""
    metric, dtype, (x, v) = check_points(metric, x=x, v=v)
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
    """Return the velocity v at x with exp_map(x, v) = y."""
    metric, dtype, (x, y) = check_points(metric, x=x, y=y)
    d = distance_between(x, y, metric, "raise", ("x", "y"))
    speed, _, _ = _speed(x, y - x, metric)
    ratio = np.divide(d, speed, out=np.ones_like(d), where=speed > 0)
    return np.asarray((y - x) * ratio[..., None]).astype(dtype, copy=False)


def vertex_angle(x: ArrayLike, p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> AnyFloats:
    """Return the angle at x between the geodesics to p and to q, in [0, π]."""
    metric, dtype, (x, p, q) = check_points(metric, x=x, p=p, q=q)
    metric._inside(p, "p")
    metric._inside(q, "q")
    z, s = metric._inside(x, "x")
    sqnorm = np.einsum("...i,...i", z, z)
    stretch = (1 / np.sqrt(s) - 1) / np.where(sqnorm > 0, sqnorm, 1.0)

    def unit_vector(y: Floats, name: str) -> Floats:
        # Orthonormal coordinates at x stretch along z by 1/√S more than across it.
        u = metric._apply(y - x)
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


def transvection(p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return the isometry that carries p to q along their geodesic, as a collineation."""
    metric = as_space(metric)
    P, Q = (
        lift(*metric._inside(as_points(x, name, metric.dimension, ndim=1), name))
        for x, name in ((p, "p"), (q, "q"))
    )
    B = np.append(np.full(len(P) - 1, metric.curvature), 1.0)
    middle, whole = P + Q, 1 + P @ (B * Q)
    if whole == 0:
        raise NotRepresentableError(
            "p and q are opposite points of the sphere to rounding: many geodesics join them."
        )
    T = np.eye(len(P)) - np.outer(middle, middle * B) / whole + 2 * np.outer(Q, P * B)
    bottom = metric.homogeneous_matrix[-1:]
    to_x = np.vstack([np.column_stack([metric.inverse_factor, metric.center]), bottom])
    return np.asarray(to_x @ T @ metric.homogeneous_matrix)
