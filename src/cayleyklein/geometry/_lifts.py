"""Points lifted to the vectors (z, 1)/σ, σ = √S(x, x), and trigonometry of constant curvature.

Differences of lifts come from u = L(p - q), and keep their digits however close the points are
and however far the centre is. Sine, cosine and tangent are one function in K for circle, line
and hyperbola:

>>> float(sine(1.0, 0.0)), float(sine(1.0, 1e-300)), float(sine(1.0, -1e-300))
(1.0, 1.0, 1.0)
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats


def lift(z: Floats, s: Floats) -> Floats:
    """Return (z, 1)/√s, for s = S(x, x)."""
    return np.concatenate([z, np.ones_like(z[..., :1])], axis=-1) / np.sqrt(s)[..., None]


def inner_point(z_p: Floats, s_p: Floats, z_q: Floats, s_q: Floats, K: float) -> Floats:
    """Return the nearer to μ of two points, or their midpoint when they are equally far.

    It is symmetric in p and q, and so are the formulas that use it.
    """
    p_inner, q_inner = (s_p < s_q, s_q < s_p) if K > 0 else (s_q < s_p, s_p < s_q)
    other = np.where(q_inner[..., None], z_q, z_p / 2 + z_q / 2)
    return np.where(p_inner[..., None], z_p, other)


def lift_difference(
    u: Floats, z_p: Floats, s_p: Floats, z_q: Floats, s_q: Floats, K: float
) -> tuple[Floats, Floats]:
    """Return z_p/σ_p - z_q/σ_q and h_p - h_q, with h = (1/σ - 1)/K = -‖z‖²/(σ(1 + σ)).

    Parameters
    ----------
    u : ndarray of shape (..., r)
        L(p - q).
    z_p, z_q : ndarray of shape (..., r)
    s_p, s_q : ndarray of shape (...)
        S(p, p) and S(q, q), positive. With z_q = 0 and s_q = 1 the values are p's own.
    K : float
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
    r, k = np.asarray(r, dtype=np.float64), math.sqrt(abs(K))
    if K == 0:
        return r
    return (np.sin(k * r) if K > 0 else np.sinh(k * r)) / k


def cosine(r: ArrayLike, K: float) -> Floats:
    """Return cos(√K r), 1, or cosh(√-K r): the derivative of `sine`."""
    r, k = np.asarray(r, dtype=np.float64), math.sqrt(abs(K))
    return np.cos(k * r) if K > 0 else np.cosh(k * r)


def tangent(r: ArrayLike, K: float) -> Floats:
    """Return `sine` / `cosine`."""
    r, k = np.asarray(r, dtype=np.float64), math.sqrt(abs(K))
    if K == 0:
        return r
    return (np.tan(k * r) if K > 0 else np.tanh(k * r)) / k
