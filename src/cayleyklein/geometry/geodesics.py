"""Geodesics: straight lines in the chart, at constant speed (paper §2.1).

With lifted points P = (z_p, 1)/σ_p, the point at a fraction t of the distance d is
sin_K((1-t)d) P + sin_K(td) Q, up to scale. This is used for K ≥ 0.

The geodesic that leaves x with velocity v, u = Lv, is after the length r at

    x + v sin_K(r)/(‖v‖ (cos_K(r) - m sin_K(r))),    ‖v‖ = √W/S,  m = K⟨z, u⟩/√W,

with S = S(x, x) and W as in `distances`. For K < 0, with k = √-K, the denominator is
cosh(kr) (1 - tanh(kr) m/k). It cancels on the way inwards from a point next to the boundary, where
m/k is close to 1. Both factors are therefore taken by their distance from 1,

    1 - tanh(kr) = 2e/(1 + e),  e = exp(-2kr),      1 - m/k = (‖u‖² S/W) / (1 + m/k),

which keep their digits since S does.

Transvections are collineations, matrices H acting on homogeneous points x̃ = (x, 1). With the form
B = diag(K, …, K, 1), for which PᵀBP = 1, D = Q - P and e = PᵀBQ - 1 = -K c²/2 for the chord c, the
transvection along the geodesic from p to q is

    T = I - (P + Q)(P + Q)ᵀB / (1 + PᵀBQ) + 2 Q PᵀB
      = I + (2 (DPᵀ - PDᵀ) + 2e QPᵀ - DDᵀ) B / (2 + e),

a rotation for K > 0, a boost for K < 0, and at K = 0 exactly the translation by q - p. The second
form does not cancel for points close to each other and far from μ.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, AnyFloats, Bools, Floats
from cayleyklein.exceptions import NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import distances, lifts, rounding, space


def geodesic(p: ArrayLike, q: ArrayLike, metric: space.CurvedSpace, t: ArrayLike) -> AnyFloats:
    metric, dtype, (p, q) = space.check_points(metric, p=p, q=q)
    t = checks.as_finite_array(t, "t")
    checks.expect(t.ndim < 2, "t of shape", t.shape, "a number or an array of shape (m,)")
    K = metric.curvature
    d = distances.distance_between(p, q, metric, "raise")
    if t.ndim:
        p = p[..., None, :]
        q = q[..., None, :]
        d = d[..., None]
    with np.errstate(over="ignore"):
        there = t * d
        back = (1 - t) * d
        checks.refuse_overflow(np.isfinite(2 * (np.abs(there) + np.abs(back))), "The distance", "t")
    if K < 0:
        whole, m, rest = _velocity(p, q - p, metric)
        part = np.sign(t) * _hyperbolic_step(np.abs(there), np.sign(t) * m, rest, K)
    else:
        _, s_p = space.place_inside(metric, p, "p")
        _, s_q = space.place_inside(metric, q, "q")
        part = lifts.sine(there, K) * np.sqrt(s_p)
        whole = part + lifts.sine(back, K) * np.sqrt(s_q)
        _refuse_beyond_chart((d > 0) & (whole <= 0), "t")
    share = np.array(np.broadcast_to(t, there.shape))  # the limit as d tends to 0
    np.divide(part, whole, out=share, where=whole > 0)
    return _into_domain(p + (q - p) * share[..., None], metric, dtype)


def metric_tensor(x: ArrayLike, metric: space.CurvedSpace) -> Floats:
    """Return the Riemannian metric g(x) = Σ/S - K Σ(x-μ)(x-μ)ᵀΣ/S², S = S(x, x).

    Parameters
    ----------
    x : array-like of shape (..., d)
        Points in the domain.
    metric : CurvedMetric
        Metric with parameters Σ, μ and K.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric_tensor([0.5], CurvedMetric.euclidean(1, curvature=-1.0)).round(6)
    array([[1.777778]])
    """
    metric, _, (x,) = space.check_points(metric, x=x)
    z, s = space.place_inside(metric, x, "x")
    a = space.apply_transpose(metric, z) / s[..., None]  # S² may overflow
    outer = metric.curvature * a[..., :, None] * a[..., None, :]
    return np.asarray(metric.matrix / s[..., None, None] - outer)


def lower_steps(u: Floats, x: Floats, metric: space.CurvedSpace, name: str) -> Floats:
    """Return g(x)u of steps u (n, d) at points x (n, d), without the matrices g."""
    z, s = space.place_inside(metric, x, name)
    v = space.apply_factor(metric, u)
    along = metric.curvature * np.einsum("ij,ij->i", z, v) / s
    return space.apply_transpose(metric, (v - along[:, None] * z) / s[:, None])


def mean_diagonal(rows: Floats, metric: space.CurvedSpace) -> Floats:
    """Return the diagonal (d,) of the mean of :func:`metric_tensor` over rows (n, d)."""
    z, s = space.place_inside(metric, rows, "X")
    across = space.apply_transpose(metric, z / s[:, None])
    squares = np.einsum("ij,ij->j", across, across) / len(rows)
    return np.asarray(metric.column_lengths**2 * (1 / s).mean() - metric.curvature * squares)


def _velocity(x: Floats, v: Floats, metric: space.CurvedSpace) -> tuple[Floats, Floats, Floats]:
    """Return ‖v‖ in the metric at x, m = K⟨z, u⟩/√W and ‖u‖² S/W, which is 1 + m²/K for K < 0."""
    z, s = space.place_inside(metric, x, "x")
    with np.errstate(over="ignore", invalid="ignore"):
        u = space.apply_factor(metric, v)
        scale = np.abs(u).max(axis=-1)
        moves = scale > 0
        u = np.divide(u, scale[..., None], out=np.zeros_like(u), where=moves[..., None])
        w = np.where(moves, distances.wedge(u, z, s, metric.curvature), 1.0)
        speed = scale * np.sqrt(w) / s
    checks.refuse_overflow(np.isfinite(speed), "The speed ‖v‖", "v")
    m = metric.curvature * np.einsum("...i,...i", z, u) / np.sqrt(w)
    return speed, m, np.einsum("...i,...i", u, u) * s / w


def _hyperbolic_step(length: Floats, m: Floats, rest: Floats, K: float) -> Floats:
    """Return sin_K(r)/(cos_K(r) - m sin_K(r)) for K < 0, from m and 1 + m²/K."""
    k = math.sqrt(-K)
    ratio = m / k
    short = np.where(ratio > 0, rest / (1 + np.abs(ratio)), 1 - ratio)
    e = np.exp(-2 * k * length)
    grown = -np.expm1(-2 * k * length)
    return np.asarray(grown / (k * (2 * e + grown * short)))


def _into_domain(x: AnyArray, metric: space.CurvedSpace, dtype: np.dtype[Any]) -> AnyFloats:
    """Convert points; move those that rounding puts on or outside the boundary just inside it."""
    x = x.astype(dtype, copy=False)
    shrink = float(np.finfo(dtype).eps)
    while metric.curvature < 0:
        inside = space.place_points(metric, x, "x")[1] > 0
        if inside.all():
            break
        inwards = metric.center + (x - metric.center) * (1 - shrink)
        x = np.where(inside[..., None], x, inwards).astype(dtype)
        shrink = 2 * shrink
    return x


def exp_map(x: ArrayLike, v: ArrayLike, metric: space.CurvedSpace) -> AnyFloats:
    metric, dtype, (x, v) = space.check_points(metric, x=x, v=v)
    K = metric.curvature
    speed, m, rest = _velocity(x, v, metric)
    if K < 0:
        step = _hyperbolic_step(speed, m, rest, K)
    else:
        weight = lifts.cosine(speed, K) - m * lifts.sine(speed, K)
        _refuse_beyond_chart(weight <= 0, "v")
        step = lifts.sine(speed, K) / weight
    step = np.divide(step, speed, out=np.ones_like(speed), where=speed > 0)
    return _into_domain(x + v * step[..., None], metric, dtype)


def log_map(x: ArrayLike, y: ArrayLike, metric: space.CurvedSpace) -> AnyFloats:
    metric, dtype, (x, y) = space.check_points(metric, x=x, y=y)
    d = distances.distance_between(x, y, metric, "raise", ("x", "y"))
    speed, _, _ = _velocity(x, y - x, metric)
    ratio = np.divide(d, speed, out=np.ones_like(d), where=speed > 0)
    return np.asarray((y - x) * ratio[..., None]).astype(dtype, copy=False)


def vertex_angle(x: ArrayLike, p: ArrayLike, q: ArrayLike, metric: space.CurvedSpace) -> AnyFloats:
    metric, dtype, (x, p, q) = space.check_points(metric, x=x, p=p, q=q)
    space.place_inside(metric, p, "p")
    space.place_inside(metric, q, "q")
    z, s = space.place_inside(metric, x, "x")
    sqnorm = np.einsum("...i,...i", z, z)
    stretch = (1 / np.sqrt(s) - 1) / np.where(sqnorm > 0, sqnorm, 1.0)

    def unit_vector(y: Floats, name: str) -> Floats:
        # Orthonormal coordinates at x stretch along z by 1/√S more than across it.
        u = space.apply_factor(metric, y - x)
        u = u / rounding.binary_scale(u)  # squares may under- or overflow
        u = u + (stretch * np.einsum("...i,...i", u, z))[..., None] * z
        norm = np.linalg.norm(u, axis=-1)
        space.refuse_at(
            norm == 0, f"{name} coincides with the vertex x", ": the angle is undefined."
        )
        return np.asarray(u / norm[..., None])

    a, b = unit_vector(p, "p"), unit_vector(q, "q")
    half = np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return np.asarray(2 * half).astype(dtype, copy=False)[()]


def _refuse_beyond_chart(beyond: Bools, name: str) -> None:
    after = f" leaves the chart: it ends beyond the equator; take a smaller {name}."
    space.refuse_at(beyond, "The geodesic", after, OutsideDomainError)


def transvection(p: ArrayLike, q: ArrayLike, metric: space.CurvedSpace) -> Floats:
    metric = space.as_space(metric)
    p, q = (checks.as_points(x, name, metric.dimension, ndim=1) for x, name in ((p, "p"), (q, "q")))
    z_p, s_p = space.place_inside(metric, p, "p")
    z_q, s_q = space.place_inside(metric, q, "q")
    K = metric.curvature
    P = lifts.lift(z_p, s_p)
    Q = lifts.lift(z_q, s_q)
    spatial, rise = lifts.lift_difference(space.apply_factor(metric, q - p), z_q, s_q, z_p, s_p, K)
    D = np.append(spatial, K * rise)
    B = np.append(np.full(len(z_p), K), 1.0)
    e = -2 * K * float(lifts.sine(distances.distance_between(p, q, metric, "raise") / 2, K)) ** 2
    if 2 + e <= 0:
        raise NotRepresentableError("p and q are opposite points: many geodesics join them.")
    turn = 2 * (np.outer(D, P) - np.outer(P, D)) + 2 * e * np.outer(Q, P) - np.outer(D, D)
    T = np.eye(len(P)) + turn * B / (2 + e)
    bottom = metric.homogeneous_matrix[-1:]
    to_x = np.vstack([np.column_stack([metric.inverse_factor, metric.center]), bottom])
    return np.asarray(to_x @ T @ metric.homogeneous_matrix)
