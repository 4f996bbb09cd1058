"""The distance of a single pair, compiled: what a call of a metric with two rows takes.

The formulas are those of `geometry.distances`, for one pair, in double precision and without its
steps against overflow. Where these would matter, the answer is NaN, and the metric computes the
pair in its usual way.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cayleyklein._jit import Kernel
from cayleyklein._typing import Floats

RowDistance = Callable[[Floats, Floats], float]

# Sums may be taken in any order, which is twice as fast for 50 columns; NaN stays NaN.
summed = partial(Kernel, fastmath=("reassoc", "contract"))


@summed
def curved_distance(p: Any, q: Any, L: Floats, center: Floats, K: float, least: float) -> Any:
    """Return the distance of two points, inf outside, and NaN where S(x, x) is under `least`."""
    r, d = len(L), len(center)
    uu = uc = up = uq = pp = qq = pq = 0.0
    for i in range(r):
        u = z_p = z_q = 0.0
        if L.ndim == 1:
            u = L[i] * (np.float64(p[i]) - np.float64(q[i]))
            z_p = L[i] * (p[i] - center[i])
            z_q = L[i] * (q[i] - center[i])
        else:
            for j in range(d):
                u += L[i, j] * (np.float64(p[j]) - np.float64(q[j]))
                z_p += L[i, j] * (p[j] - center[j])
                z_q += L[i, j] * (q[j] - center[j])
        uu += u * u
        up += u * z_p
        uq += u * z_q
        pp += z_p * z_p
        qq += z_q * z_q
        pq += z_p * z_q
    if not uu < 1e200 or not pp < 1e200 or not qq < 1e200 or 0 < uu < 1e-200:
        return math.nan
    if K == 0 or uu == 0:
        return math.sqrt(uu)
    k = math.sqrt(abs(K))
    s_p, s_q = 1 + K * pp, 1 + K * qq
    if K > 0:
        cc, uc = (pp, up) if pp < qq else (qq, uq)
        across = max(uu * cc - uc * uc, 0.0)
        if cc * uu > 1e3 * across:  # it cancels
            share = uc / cc if cc > 0 else 0.0
            across = 0.0
            for i in range(r):
                u = z = 0.0
                if L.ndim == 1:
                    u = L[i] * (np.float64(p[i]) - np.float64(q[i]))
                    z = L[i] * ((p[i] if pp < qq else q[i]) - center[i])
                else:
                    for j in range(d):
                        u += L[i, j] * (np.float64(p[j]) - np.float64(q[j]))
                        z += L[i, j] * ((p[j] if pp < qq else q[j]) - center[j])
                across += (u - share * z) ** 2
            across *= cc
        return math.atan2(k * math.sqrt(uu + K * across), 1 + K * pq) / k
    if s_p < least or s_q < least:
        return math.nan
    if s_p <= 0 or s_q <= 0:
        return math.inf
    sigma_p, sigma_q = math.sqrt(s_p), math.sqrt(s_q)
    flat = k * math.sqrt(uu)
    slope = K * (up + uq) / (sigma_p + sigma_q) / flat  # (σ_p - σ_q)/(k‖u‖)
    half = flat * math.sqrt((1 + slope * slope) / (sigma_p * sigma_q)) / 2
    return math.log1p(2 * half * (half + math.sqrt(1 + half * half))) / k


@Kernel
def form_distance(
    p: Any, q: Any, M: Floats, center: Floats, K: float, least: float, apart: float
) -> Any:
    """Return the distance of a FormMetric: that of images y/(√-K w) in their ball.

    NaN for images closer than `apart`, whose difference has lost digits.
    """
    r, d = len(M) - 1, len(center)
    images = np.empty((2, r + 1))
    for side in range(2):
        x = p if side == 0 else q
        for i in range(r + 1):
            total = M[i, d]
            for j in range(d):
                total += M[i, j] * (x[j] - center[j])
            images[side, i] = total
    u_p = images[0, :r] / (math.sqrt(-K) * images[0, r])
    u_q = images[1, :r] / (math.sqrt(-K) * images[1, r])
    largest = 0.0
    for i in range(r):
        largest = max(largest, abs(u_p[i] - u_q[i]))
    if largest < apart:
        return math.nan
    return curved_distance(u_p, u_q, np.ones(r), np.zeros(r), K, least)


@Kernel
def sphere_distance(p: Any, q: Any, K: float) -> Any:
    """Return the distance of unit vectors on the sphere; NaN if they have another length."""
    apart = together = pp = qq = 0.0
    for i in range(len(p)):
        a, b = np.float64(p[i]), np.float64(q[i])
        apart += (a - b) * (a - b)
        together += (a + b) * (a + b)
        pp += a * a
        qq += b * b
    if not (abs(pp - 1) < 1e-12 and abs(qq - 1) < 1e-12):
        return math.nan
    return 2 * math.atan2(math.sqrt(apart), math.sqrt(together)) / math.sqrt(K)


def compiled_on_sphere(K: float) -> RowDistance:
    """Return the compiled distance of unit vectors, which need not be exactly of length 1."""
    from numba import njit

    between = as_compiled(sphere_distance)

    @njit(nogil=True, error_model="numpy")
    def distance(x, y):  # type: ignore[no-untyped-def]
        p = x.astype(np.float64)
        q = y.astype(np.float64)
        return between(p / math.sqrt((p * p).sum()), q / math.sqrt((q * q).sum()), K)

    return distance


def as_compiled(kernel: Any) -> Any:
    """Return what Numba calls; a kernel gives way to it in its module at its first call."""
    return getattr(kernel, "compiled", kernel)


def compiled_distance(metric: Any) -> RowDistance:
    """Return the compiled distance of a CurvedMetric; inf outside its domain."""
    from numba import njit

    between = as_compiled(curved_distance)
    L, center, K = np.array(metric.compact_factor), np.array(metric.center), metric.curvature

    @njit(nogil=True, error_model="numpy")
    def distance(x, y):  # type: ignore[no-untyped-def]
        return between(x, y, L, center, K, -math.inf)

    return distance


def compiled_images(metric: Any) -> RowDistance:
    """Return the compiled distance of a FormMetric."""
    from numba import njit

    between = as_compiled(form_distance)
    M, center, K = np.array(metric.factor), np.array(metric.center), metric.curvature

    @njit(nogil=True, error_model="numpy")
    def distance(x, y):  # type: ignore[no-untyped-def]
        return between(x, y, M, center, K, -math.inf, 0.0)

    return distance


def compiled_sum(parts: list[tuple[RowDistance, float]]) -> RowDistance:
    """Return the compiled sum of weight · distance."""
    from numba import njit

    (first, weight), *others = parts

    @njit(nogil=True, error_model="numpy")
    def distance(x, y):  # type: ignore[no-untyped-def]
        return weight * first(x, y)

    for part, other_weight in others:
        distance = _sum_of_two(distance, part, other_weight)
    return distance


def _sum_of_two(first: Any, second: Any, weight: float) -> Any:
    from numba import njit

    @njit(nogil=True, error_model="numpy")
    def distance(x, y):  # type: ignore[no-untyped-def]
        return first(x, y) + weight * second(x, y)

    return distance


def compiled_root(parts: list[tuple[RowDistance, float, float]]) -> RowDistance:
    """Return the compiled √Σ(chord/unit)² of distances, curvatures and units."""
    from numba import njit

    total: Any = None
    for part, K, unit in parts:
        total = _square_of(part, K, unit, total)

    @njit(nogil=True, error_model="numpy")
    def distance(x, y):  # type: ignore[no-untyped-def]
        return math.sqrt(total(x, y))

    return distance


def _square_of(part: Any, K: float, unit: float, before: Any) -> Any:
    from numba import njit

    k = math.sqrt(abs(K)) or 1.0

    @njit(nogil=True, error_model="numpy")
    def square(x, y):  # type: ignore[no-untyped-def]
        half = k * part(x, y) / 2
        if K > 0:
            half = math.sin(half)
        elif K < 0:
            half = math.sinh(half)
        return (2 * half / (k * unit)) ** 2

    if before is None:
        return square

    @njit(nogil=True, error_model="numpy")
    def both(x, y):  # type: ignore[no-untyped-def]
        return before(x, y) + square(x, y)

    return both
