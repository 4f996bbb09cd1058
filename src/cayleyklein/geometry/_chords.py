"""Distances of every curvature from one bilinear form: the chord.

With σ = √(1 + K‖z‖²), a point z lifts to (u, h) = (z/σ, ‖z‖²/(σ(1 + σ))). The squared chord of two
lifted points, and the distance that belongs to it, are

    c² = ‖u_p - u_q‖² + K (h_p - h_q)²,      d = (2/√K) arcsin(√K c/2),

a sphere of radius 1/√K in Euclidean space for K > 0, a hyperboloid in Minkowski space for K < 0
(with arsinh), and z itself for K = 0. Everything here is smooth through K = 0.
"""

from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats

SERIES_BELOW = 1e-3
"""|K c²| under which ∂d/∂K is a series in K c²: its closed form cancels there."""


class Lifted(NamedTuple):
    """Lifted points (n, r + 1), columns u and h, with σ (n,) and ‖z‖² (n,)."""

    points: Floats
    sigma: Floats
    sqnorm: Floats


def lift_points(z: Floats, K: float) -> Lifted:
    """Lift coordinates (n, r), all inside the domain 1 + K‖z‖² > 0.

    Examples
    --------
    >>> points = lift_points(np.array([[0.0], [3.0]]), K=1.0).points
    >>> c = np.sqrt(((points[0] - points[1]) ** 2).sum())
    >>> bool(np.isclose(2 * np.arcsin(c / 2), np.arctan(3.0)))
    True
    """
    sqnorm = np.einsum("ij,ij->i", z, z)
    sigma = np.sqrt(1 + K * sqnorm)
    height = sqnorm / (sigma * (1 + sigma))
    return Lifted(np.column_stack([z / sigma[:, None], height]), sigma, sqnorm)


def euclidean_coordinates(z: Floats, K: float) -> Floats:
    """Return coordinates (n, r) or (n, r + 1) for Euclidean methods.

    K = 0: z. K > 0: the lift (u, √K h) on a sphere, whose Euclidean distance is the chord, so that
    it has the order of d. K < 0: tangent coordinates at the centre (the log map), which keep
    distances to the centre and only approximate the others; no finite Euclidean map keeps their
    order. Points on or outside a hyperbolic boundary are put just inside it.

    Examples
    --------
    >>> euclidean_coordinates(np.array([[0.5], [2.0]]), K=-1.0).round(3)
    array([[ 0.549],
           [18.715]])
    """
    if K == 0:
        return z
    if K > 0:
        points = lift_points(z, K).points
        points[:, -1] *= np.sqrt(K)
        return points
    k = np.sqrt(-K)
    radius = k * np.sqrt(np.einsum("ij,ij->i", z, z))
    inside = np.minimum(radius, 1 - np.finfo(float).eps / 2)
    stretch = np.divide(np.arctanh(inside), radius, out=np.ones_like(radius), where=radius > 0)
    return np.asarray(z * stretch[:, None])


def distance_from_sqchord(sqchord: Floats, K: float) -> Floats:
    """Return d of a squared chord; for K > 0 a chord is at most 2/√K.

    Examples
    --------
    >>> float(distance_from_sqchord(np.array(4.0), K=1.0)) == np.pi
    True
    """
    chord = np.sqrt(sqchord)
    if K == 0:
        return np.asarray(chord)
    half = np.sqrt(abs(K)) / 2 * chord
    angle = np.arcsin(np.minimum(half, 1.0)) if K > 0 else np.arcsinh(half)
    return np.asarray(2 / np.sqrt(abs(K)) * angle)


def slopes_from_sqchord(sqchord: Floats, K: float) -> tuple[Floats, Floats, Floats]:
    """Return d, ∂d/∂c² and, at fixed c², ∂d/∂K.

    At c = 0, where d has a kink, ∂d/∂c² is 0: a pair of coinciding points pulls nowhere.
    """
    chord = np.sqrt(sqchord)
    x = K * sqchord
    cosine = np.sqrt(np.maximum(1 - x / 4, np.finfo(float).eps))  # 0 only for antipodal points
    d = distance_from_sqchord(sqchord, K)
    with np.errstate(divide="ignore"):
        by_sqchord = np.where(chord > 0, 0.5 / (chord * cosine), 0.0)
    series = chord * sqchord * (1 / 24 + x * (3 / 320 + x * (15 / 7168 + x * 35 / 73728)))
    if K == 0:
        return d, by_sqchord, series
    by_K = np.where(np.abs(x) < SERIES_BELOW, series, (chord / cosine - d) / (2 * K))
    return d, by_sqchord, by_K


def sqchord_from(distance: Floats, K: float) -> Floats:
    """Return the squared chord of a distance, inf beyond the antipode (K > 0).

    Examples
    --------
    >>> sqchord_from(np.array([1.0, 4.0]), K=1.0).round(3)
    array([0.919,   inf])
    """
    if K == 0:
        return np.asarray(distance * distance)
    half = np.sqrt(abs(K)) / 2 * distance
    if K < 0:
        return np.asarray(-4 / K * np.sinh(half) ** 2)
    return np.where(half >= np.pi / 2, np.inf, 4 / K * np.sin(np.minimum(half, np.pi / 2)) ** 2)
