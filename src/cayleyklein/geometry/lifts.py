"""Points lifted to the vectors (z, 1)/σ, σ = √S(x, x), chords, and trigonometry of curvature K.

With h = ‖z‖²/(σ(1 + σ)), the squared chord of two points, and the distance that belongs to it, are

    c² = ‖z_p/σ_p - z_q/σ_q‖² + K (h_p - h_q)²,      d = (2/√K) arcsin(√K c/2),

on a sphere of radius 1/√K in Euclidean space for K > 0, on a hyperboloid in Minkowski space for
K < 0 (with arsinh), and z itself for K = 0. Everything here is smooth through K = 0.

Differences of lifts come from u = L(p - q), and keep their digits however close the points are
and however far the centre is.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein.geometry.limits import MAPPED_ROWS

SLOPE_SERIES_BELOW = 1e-3  # |K c²| under which ∂d/∂K is a series: its closed form cancels there


def map_rows(matrix: Floats, x: Floats) -> Floats:
    """Return Lx of points (…, d), L (r, d) or diagonal (d,), the same to the last bit in any array.

    BLAS rounds a row differently in products of different sizes. Here all products have one size,
    so that equal points stay equal.
    """
    if matrix.ndim == 1:
        return np.multiply(x, matrix, order="C")
    rows = np.ascontiguousarray(x).reshape(-1, x.shape[-1])
    r = len(matrix)
    whole = len(rows) - len(rows) % MAPPED_ROWS
    found = np.empty((len(rows), r))
    blocks = rows[:whole].reshape(-1, MAPPED_ROWS, x.shape[-1])
    np.matmul(blocks, matrix.T, out=found[:whole].reshape(-1, MAPPED_ROWS, r))
    if whole < len(rows):
        last = np.zeros((MAPPED_ROWS, x.shape[-1]))
        last[: len(rows) - whole] = rows[whole:]
        found[whole:] = (last @ matrix.T)[: len(rows) - whole]
    return found.reshape(*x.shape[:-1], r)


def lift(z: Floats, s: Floats) -> Floats:
    return np.concatenate([z, np.ones_like(z[..., :1])], axis=-1) / np.sqrt(s)[..., None]


def inner_point(z_p: Floats, s_p: Floats, z_q: Floats, s_q: Floats, K: float) -> Floats:
    """Return the nearer to μ of two points, or their midpoint if equally far: symmetric in both."""
    p_inner = s_p < s_q if K > 0 else s_q < s_p
    q_inner = s_q < s_p if K > 0 else s_p < s_q
    other = np.where(q_inner[..., None], z_q, z_p / 2 + z_q / 2)
    return np.where(p_inner[..., None], z_p, other)


def lift_difference(
    u: Floats, z_p: Floats, s_p: Floats, z_q: Floats, s_q: Floats, K: float
) -> tuple[Floats, Floats]:
    """Return z_p/σ_p - z_q/σ_q and h_p - h_q, with h = (1/σ - 1)/K = -‖z‖²/(σ(1 + σ)).

    u is L(p - q), and s is σ². With z_q = 0 and s_q = 1 the values are p's own.
    """
    sigma_p, sigma_q = np.sqrt(s_p), np.sqrt(s_q)
    # ‖z_p‖² - ‖z_q‖² = ⟨u, z_p + z_q⟩, and (σ_p - σ_q)(σ_p + σ_q) = K (‖z_p‖² - ‖z_q‖²)
    # the sum is divided by one of the three σ first, since their product may overflow
    middle = (z_p + z_q) / (sigma_p + sigma_q)[..., None]
    rise = -np.einsum("...i,...i", u, middle) / (sigma_p * sigma_q)
    if K == 0:
        return u, rise
    # u/σ_outer + z_inner (1/σ_p - 1/σ_q): with the ends exchanged, large terms would cancel
    outer = np.maximum(sigma_p, sigma_q) if K > 0 else np.minimum(sigma_p, sigma_q)
    inner = inner_point(z_p, s_p, z_q, s_q, K)
    return u / outer[..., None] + K * rise[..., None] * inner, rise


def sine(r: ArrayLike, K: float) -> Floats:
    """Return sin(√K r)/√K, r, or sinh(√-K r)/√-K, by the sign of K."""
    k = math.sqrt(abs(K)) or 1.0
    function = np.sin if K > 0 else np.sinh if K else np.positive
    return np.asarray(function(k * np.asarray(r, dtype=np.float64)) / k)


def cosine(r: ArrayLike, K: float) -> Floats:
    """Return cos(√K r), 1, or cosh(√-K r): the derivative of `sine`."""
    x = math.sqrt(abs(K)) * np.asarray(r, dtype=np.float64)
    return np.cos(x) if K > 0 else np.cosh(x)


def tangent(r: ArrayLike, K: float) -> Floats:
    k = math.sqrt(abs(K)) or 1.0
    function = np.tan if K > 0 else np.tanh if K else np.positive
    return np.asarray(function(k * np.asarray(r, dtype=np.float64)) / k)


def lift_points(z: Floats, K: float) -> tuple[Floats, Floats, Floats]:
    """Return lifts (n, r + 1), columns u and h, of z (n, r) in the domain, σ (n,) and ‖z‖² (n,)."""
    sqnorm = np.einsum("ij,ij->i", z, z)
    sigma = np.sqrt(1 + K * sqnorm)
    return np.column_stack([z / sigma[:, None], sqnorm / (sigma * (1 + sigma))]), sigma, sqnorm


def euclidean_coordinates(z: Floats, K: float) -> Floats:
    """Return coordinates (n, r) or (n, r + 1) for Euclidean methods.

    K = 0: z. K > 0: the lift (u, √K h) on a sphere, whose Euclidean distance is the chord, of the
    order of d. K < 0: the log map at the centre, which keeps distances to the centre only; points
    on or outside the boundary are put just inside it. No Euclidean map keeps the order of d there.
    """
    if K == 0:
        return z
    if K > 0:
        return np.asarray(lift_points(z, K)[0] * np.append(np.ones(z.shape[1]), np.sqrt(K)))
    radius = np.sqrt(-K) * np.sqrt(np.einsum("ij,ij->i", z, z))
    inside = np.minimum(radius, 1 - np.finfo(float).eps / 2)
    stretch = np.divide(np.arctanh(inside), radius, out=np.ones_like(radius), where=radius > 0)
    return np.asarray(z * stretch[:, None])


def distances_in_place(h: Floats, K: float, unit: float) -> Floats:
    """Turn h = |K| c²/4, the sin² or sinh² of d/unit, into d, in place; at K = 0, h = (d/unit)²."""
    if K < 0:  # 2 asinh √h = log1p(2(h + √(h + h²))): twice as fast as arcsinh, as exact
        root = h * h
        root += h
        h += np.sqrt(root, out=root)
        h *= 2
        np.log1p(h, out=h)
        h *= unit / 2
        return h
    np.sqrt(h, out=h)
    if K > 0:
        np.arcsin(h, out=h)
    if unit != 1:
        h *= unit
    return h


def distance_from_sqchord(sqchord: Floats, K: float) -> Floats:
    """Return d of a squared chord; for K > 0 a chord is at most 2/√K."""
    if K == 0:
        return np.asarray(np.sqrt(sqchord))
    h = np.atleast_1d(np.minimum(abs(K) / 4 * sqchord, 1.0 if K > 0 else np.inf))
    with np.errstate(divide="ignore"):  # antipodal points
        return distances_in_place(h, K, 2 / math.sqrt(abs(K))).reshape(np.shape(sqchord))


def slopes_from_sqchord(sqchord: Floats, K: float) -> tuple[Floats, Floats]:
    """Return d and ∂d/∂c².

    At c = 0, where d has a kink, ∂d/∂c² is 0: a pair of coinciding points pulls nowhere.
    """
    d = distance_from_sqchord(sqchord, K)
    steep = np.sqrt(sqchord)
    if K != 0:
        steep *= _half_cosine(sqchord, K)
    return d, np.divide(0.5, steep, out=np.zeros_like(steep), where=steep > 0)


def curvature_slopes(sqchord: Floats, K: float) -> Floats:
    """Return ∂d/∂K at fixed c²."""
    chord = np.sqrt(sqchord)
    x = K * sqchord
    series = chord * sqchord * (1 / 24 + x * (3 / 320 + x * (15 / 7168 + x * 35 / 73728)))
    if K == 0:
        return np.asarray(series)
    difference = chord / _half_cosine(sqchord, K) - distance_from_sqchord(sqchord, K)
    return np.where(np.abs(x) < SLOPE_SERIES_BELOW, series, difference / (2 * K))


def _half_cosine(sqchord: Floats, K: float) -> Floats:
    """Return the cos or cosh of √|K| d/2, which is 0 only for antipodal points."""
    return np.asarray(np.sqrt(np.maximum(1 - K / 4 * sqchord, np.finfo(float).eps)))


def sqchord_from(distance: Floats, K: float) -> Floats:
    """Return the squared chord of a distance, inf beyond the antipode (K > 0)."""
    if K == 0:
        return np.asarray(distance * distance)
    half = np.sqrt(abs(K)) / 2 * distance
    if K < 0:
        return np.asarray(-4 / K * np.sinh(half) ** 2)
    return np.where(half >= np.pi / 2, np.inf, 4 / K * np.sin(np.minimum(half, np.pi / 2)) ** 2)
