"""Distances in 50 digits, straight from the definition, fed the same floats."""

import itertools
from collections.abc import Sequence

import mpmath
import numpy as np

mpmath.mp.dps = 60


def vector(x: Sequence[float]) -> list[mpmath.mpf]:
    return [mpmath.mpf(float(v)) for v in x]


def apply(matrix, x):
    return [
        mpmath.fsum(mpmath.mpf(float(a)) * b for a, b in zip(row, x, strict=True)) for row in matrix
    ]


def distance(p, q, curvature, center, factor=None, shape=None) -> mpmath.mpf:
    """arccos, arccosh or the root of the square of S_pq/√(S_pp S_qq), whatever K."""
    K = mpmath.mpf(float(curvature))
    mu = vector(center)
    tp = [a - b for a, b in zip(vector(p), mu, strict=True)]
    tq = [a - b for a, b in zip(vector(q), mu, strict=True)]

    def inner(s, t):
        if shape is not None:
            return mpmath.fdot(s, apply(shape, t))
        return mpmath.fdot(apply(factor, s), apply(factor, t))

    difference = [a - b for a, b in zip(tp, tq, strict=True)]
    if K == 0:
        return mpmath.sqrt(inner(difference, difference))
    s_pp, s_qq = 1 + K * inner(tp, tp), 1 + K * inner(tq, tq)
    s_pq = 1 + K * inner(tp, tq)
    # 60 digits leave over 30 after the worst cancellation tried
    ratio = s_pq / mpmath.sqrt(s_pp * s_qq)
    if K > 0:
        return mpmath.acos(min(ratio, mpmath.mpf(1))) / mpmath.sqrt(K)
    return mpmath.acosh(max(ratio, mpmath.mpf(1))) / mpmath.sqrt(-K)


def explained_by_ulps(error, ulps, p, q, curvature, center, **form) -> bool:
    """Whether a coordinate of p or q that moves by one ulp changes the distance by error/ulps."""
    base = distance(p, q, curvature, center, **form)
    for which, index in itertools.product((0, 1), range(len(p))):
        moved = [np.array(p, dtype=float), np.array(q, dtype=float)]
        moved[which][index] = np.nextafter(moved[which][index], np.inf)
        try:
            change = abs(distance(*moved, curvature, center, **form) - base)
        except (ValueError, TypeError, ZeroDivisionError):
            continue
        if mpmath.im(change) == 0 and error <= ulps * mpmath.re(change):
            return True
    return False
