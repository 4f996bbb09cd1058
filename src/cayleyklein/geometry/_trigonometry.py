"""Trigonometry of constant curvature: one function in K for circle, line and hyperbola.

>>> float(sine(1.0, 0.0)), float(sine(1.0, 1e-300)), float(sine(1.0, -1e-300))
(1.0, 1.0, 1.0)
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats

__all__ = ["cosine", "sine", "tangent"]


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
