"""Curved spaces that may explain targets: spheres and hyperbolic spaces, in two charts each.

A projective chart (gnomonic, Klein) keeps lines straight, a conformal one (stereographic, Poincaré)
keeps angles. The farthest row is at a given angle, or at a given hyperbolic radius.
"""

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.curvature import rivals
from cayleyklein.curvature.processes import Family


def elliptic_spaces(z: Floats) -> list[Family]:
    """Return spheres about the mean of the rows.

    The parameters are tangents of the angle at which the farthest row is, or of half of it.
    """
    r, directions = rivals.rays(z)
    t = r / (r.max() or 1.0)

    def at_angle(angle: Floats) -> Floats:
        return np.hstack([np.sin(angle) * directions, np.cos(angle)])

    def gnomonic(w: float) -> Floats:
        return at_angle(np.arctan(w * t))

    def stereographic(w: float) -> Floats:
        return at_angle(2 * np.arctan(w * t))

    return [
        Family("sphere", gnomonic, (1.0, 2.0, 3.0, 4.5, 8.0, 14.0), sign=1),
        Family("sphere", stereographic, (0.5, 0.8, 1.2, 2.0), sign=1, conformal=True),
    ]


def hyperbolic_spaces(z: Floats, ball: tuple[Floats, float]) -> list[Family]:
    """Return hyperbolic spaces about the centre of the smallest ball, where all rows have room."""
    center, radius = ball
    r, directions = rivals.rays(z - center)
    s = np.minimum(r / radius, 1.0)

    def klein(rho: float) -> Floats:
        return np.asarray(np.tanh(rho) * s * directions)

    def poincare(rho: float) -> Floats:
        return np.asarray(np.tanh(2 * np.arctanh(np.tanh(rho / 2) * s)) * directions)

    return [
        Family("hyperbolic space", klein, rivals.RADII, sign=-1),
        Family("hyperbolic space", poincare, rivals.RADII, sign=-1, conformal=True),
    ]
