"""The distance, one stable formula in the curvature K.

With z = L(x - μ), S(p, q) = 1 + K⟨z_p, z_q⟩, u = L(p - q) and c any point on the line of z_p, z_q,

    W = ‖u‖² + K G,   G = ‖u‖²‖c‖² - ⟨u, c⟩²         (Gram determinant, ≥ 0)
    S_pp S_qq - S_pq² = K W
    d = atan2(√K √W, S_pq) / √K                                       K > 0, S ≥ 4
    d = 2 asinh(√(-K‖u‖² + (σ_p - σ_q)²) / √(4 σ_p σ_q)) / √-K        K < 0, σ = √S
    d = 2 arcsin(√(K‖u‖² - (σ_p - σ_q)²) / √(4 σ_p σ_q)) / √K         K > 0, S < 4
    d = ‖u‖                                                           K = 0

No clamp is needed, and points 1e-12 apart are as exact as points far apart. The paper's arccos,
arccosh, arctanh and logarithm (its section 2.3) are the same numbers: see
:meth:`CurvedMetric.distance`. arctanh is well conditioned for close points only, arccosh for
distant ones only; asinh is for both. For close points σ_p - σ_q is K⟨u, z_p + z_q⟩/(σ_p + σ_q).
"""

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import refuse_overflow
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.geometry import limits
from cayleyklein.geometry.lifts import inner_point
from cayleyklein.geometry.projective.angles import half_log
from cayleyklein.geometry.space import CurvedSpace, apply_factor, place_inside, place_points

Outside = Literal["raise", "inf", "modulus"]
OUTSIDE = get_args(Outside)


def norms(u: Floats) -> Floats:
    """Return ‖u‖ along the last axis, also where its square under- or overflows."""
    square = np.asarray(np.einsum("...i,...i", u, u))
    found = np.asarray(np.sqrt(square))
    extreme = ~((square > 1e-280) & (square < np.inf))  # below, its terms may be denormal
    if extreme.any():
        some = u[extreme]
        scale = np.abs(some).max(axis=-1, keepdims=True)
        some = np.divide(some, scale, out=np.zeros_like(some), where=scale > 0)
        found[extreme] = scale[:, 0] * np.sqrt(np.einsum("ij,ij->i", some, some))
    return found


def wedge(u: Floats, c: Floats, s_c: Floats, K: float) -> Floats:
    """Return W = ‖u‖² + K (‖u‖²‖c‖² - ⟨u, c⟩²) without cancellation inside the domain.

    c is any point on the line along u, with S(c, c) = s_c; for K > 0 not one far from μ where the
    line passes near μ, since there c is almost parallel to u.
    """
    uu = np.einsum("...i,...i", u, u)
    uc = np.einsum("...i,...i", u, c)
    if K <= 0:
        return np.asarray(uu * s_c - K * uc * uc)  # both terms ≥ 0
    cc = np.einsum("...i,...i", c, c)
    share = np.divide(uc, cc, out=np.zeros_like(uc + cc), where=cc > 0)
    across = u - share[..., None] * c
    return np.asarray(uu + K * cc * np.einsum("...i,...i", across, across))


def in_blocks(measure: Callable[[Floats, Floats], Floats], p: Floats, q: Floats) -> Floats:
    """Return measure(p, q), computed for blocks of points that stay in cache."""
    step = max(1, limits.BLOCK_ENTRIES * len(p) // p.size)
    if p.ndim == 1 or len(p) <= step:
        return measure(p, q)
    starts = range(0, len(p), step)
    try:
        return np.concatenate([measure(p[i : i + step], q[i : i + step]) for i in starts])
    except CayleyKleinError:  # its indices count from the start of a block
        return measure(p, q)


def distance_between(
    p: Floats, q: Floats, metric: CurvedSpace, outside: Outside, names: tuple[str, str] = ("p", "q")
) -> Floats:
    """Return distances of checked arrays of one shape, with `names` in errors."""
    K = metric.curvature
    with np.errstate(over="ignore", invalid="ignore"):
        u = apply_factor(metric, p - q)
        flat = norms(u)
    refuse_overflow(np.isfinite(flat), f"‖L({' - '.join(names)})‖", " and ".join(names))
    if K == 0:
        return flat
    place = place_inside if outside == "raise" else place_points
    return from_places(
        u, *place(metric, p, names[0]), *place(metric, q, names[1]), K, outside, flat
    )


def from_places(
    u: Floats,
    z_p: Floats,
    s_pp: Floats,
    z_q: Floats,
    s_qq: Floats,
    K: float,
    outside: Outside,
    flat: Floats | None = None,
) -> Floats:
    """Return the distances of points at z_p and z_q, from u = z_p - z_q and the forms S(x, x).

    `flat` is ‖u‖, where it is known.
    """
    flat = norms(u) if flat is None else flat
    k = math.sqrt(abs(K))
    # on a sphere K‖u‖² - (σ_p - σ_q)² does not cancel where S is low
    low = np.maximum(s_pp, s_qq) < 4 if K > 0 else np.array(outside != "modulus")
    if low.all():
        return _by_heights(K, k * flat, u, z_p, s_pp, z_q, s_qq)
    if K > 0:
        found = np.empty(flat.shape)
        ends = (u, z_p, s_pp, z_q, s_qq)
        found[low] = _by_heights(K, k * flat[low], *(x[low] for x in ends))
        u, z_p, s_pp, z_q, s_qq = (x[~low] for x in ends)
    scale = np.abs(u).max(axis=-1)
    u = np.divide(u, scale[..., None], out=np.zeros_like(u), where=scale[..., None] > 0)
    if K > 0:
        s_pq = 1 + K * np.einsum("...i,...i", z_p, z_q)
        w = wedge(u, inner_point(z_p, s_pp, z_q, s_qq, K), s_pp, K)
        found[~low] = np.arctan2(k * scale * np.sqrt(w), s_pq) / k
        return found
    # For K < 0 the inner product is rebuilt from S_pp and S_qq, which are exact near the boundary.
    chord = (k * scale) ** 2 * np.einsum("...i,...i", u, u)
    w = wedge(u, z_p / 2 + z_q / 2, (s_pp + s_qq) / 2 + chord / 4, K)
    s_pq = (s_pp + s_qq + chord) / 2
    modulus = np.abs(half_log(s_pp, s_qq, s_pq, (k * scale) ** 2 * w)) / k
    modulus = np.where(np.isnan(modulus), np.inf, modulus)  # on the conic, along a tangent
    return np.where(scale > 0, modulus, 0.0)


def _by_heights(
    K: float, flat: Floats, u: Floats, z_p: Floats, s_pp: Floats, z_q: Floats, s_qq: Floats
) -> Floats:
    """Return d for K < 0, inf outside the domain, or K > 0; flat is √|K|‖u‖, u = z_p - z_q."""
    k = math.sqrt(abs(K))
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma_p, sigma_q = np.sqrt(s_pp), np.sqrt(s_qq)
        rise = np.asarray(sigma_p - sigma_q)
        both = sigma_p + sigma_q
        # σ_p - σ_q is rounded too much for close points; sooner for K > 0, where its square is
        # subtracted
        close = flat < (0.7 if K > 0 else np.minimum(1e-2, both * both))
        at = np.flatnonzero(close)
        if len(at):
            u, z_p, z_q = (x.reshape(-1, x.shape[-1])[at] for x in (u, z_p, z_q))
            middle = (z_p + z_q) / np.ravel(both)[at, None]
            rise.reshape(-1)[at] = K * np.einsum("ij,ij->i", u, middle)
        slope = rise / np.maximum(flat, np.nextafter(0.0, 1.0))  # 0/0 is 0
        slope *= slope
        half = flat * np.sqrt((1 - math.copysign(1, K) * slope) / (sigma_p * sigma_q)) / 2
        if K > 0:
            return np.asarray(np.arcsin(half) * (2 / k))
        # 2 asinh x = log1p(2x (x + √(1 + x²))): twice as fast as arcsinh, as exact
        found = np.log1p(2 * half * (half + np.sqrt(1 + half * half))) / k
    inside = (s_pp > 0) & (s_qq > 0)
    return found if inside.all() else np.where(inside, found, np.inf)
