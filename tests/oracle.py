"""Distances in 50 digits, straight from the definition, fed the same floats."""

import itertools
from collections.abc import Sequence

import mpmath
import numpy as np

mpmath.mp.dps = 60


def vector(x: Sequence[float]) -> list[mpmath.mpf]:
    return [mpmath.mpf(float(v)) for v in x]


def apply(matrix, x):
    return [mpmath.fdot(map(float, row), x) for row in matrix]


def distance(p, q, curvature, center, factor=None, matrix=None) -> mpmath.mpf:
    """arccos, arccosh or the root of the square of S_pq/√(S_pp S_qq), whatever K."""
    K = mpmath.mpf(float(curvature))
    mu = vector(center)
    tp = [a - b for a, b in zip(vector(p), mu, strict=True)]
    tq = [a - b for a, b in zip(vector(q), mu, strict=True)]

    def sides(t):
        """Return what ⟨s, t⟩ is a product of, the left of s and the right of t."""
        image = apply(factor if matrix is None else matrix, t)
        return (image if matrix is None else t), image

    if K == 0:
        left, right = sides([a - b for a, b in zip(tp, tq, strict=True)])
        return mpmath.sqrt(mpmath.fdot(left, right))
    (left_p, right_p), (left_q, right_q) = sides(tp), sides(tq)
    s_pp, s_qq = 1 + K * mpmath.fdot(left_p, right_p), 1 + K * mpmath.fdot(left_q, right_q)
    s_pq = 1 + K * mpmath.fdot(left_p, right_q)
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
