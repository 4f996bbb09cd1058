"""Curved spaces that may explain targets: spheres and hyperbolic spaces, in two charts each.

A projective chart (gnomonic, Klein) keeps lines straight, a conformal one (stereographic, Poincaré)
keeps angles. The farthest row is at a given angle, or at a given hyperbolic radius.
"""

from collections.abc import Iterator

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.curvature import rivals
from cayleyklein.curvature.processes import View

# Tangents of the angle, or of half of it, at which the farthest row is
GNOMONIC = (1.0, 2.0, 3.0, 4.5, 8.0, 14.0)
STEREOGRAPHIC = (0.5, 0.8, 1.2, 2.0)


def spheres(z: Floats) -> Iterator[View]:
    """Return spheres about the mean of the rows, by growing curvature."""
    r, directions = rivals.rays(z)
    t = r / r.max()
    for w in GNOMONIC:
        yield View("sphere", f"sphere, gnomonic, {w:g}", w * t * directions, 1)
    for w in STEREOGRAPHIC:
        angle = 2 * np.arctan(w * t)
        points = np.hstack([np.sin(angle) * directions, np.cos(angle)])
        yield SphereView("sphere, conformal", f"sphere, stereographic, {w:g}", points, 1)


class SphereView(View):
    """Rows as unit vectors (n, d + 1), anywhere on the sphere."""

    def distances(self, some: object) -> Floats:
        x = self.points[some]
        sqchord = np.maximum(2 - 2 * (x @ x.T), 0.0)
        np.fill_diagonal(sqchord, 0.0)
        return np.asarray(2 * np.arcsin(np.minimum(np.sqrt(sqchord) / 2, 1.0)))


def hyperbolic_spaces(z: Floats, ball: tuple[Floats, float]) -> Iterator[View]:
    """Return hyperbolic spaces about the centre of the smallest ball, by growing curvature."""
    center, radius = ball
    r, directions = rivals.rays(z - center)
    s = np.minimum(r / radius, 1.0)
    for rho in rivals.RADII:
        points = np.tanh(rho) * s * directions
        yield View("hyperbolic", f"hyperbolic, Klein, {rho:g}", points, -1)
    for rho in rivals.RADII:
        points = np.tanh(2 * np.arctanh(np.tanh(rho / 2) * s)) * directions
        yield View("hyperbolic, conformal", f"hyperbolic, Poincaré, {rho:g}", points, -1)
