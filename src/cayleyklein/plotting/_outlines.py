"""Lines of the plane as polylines."""

from __future__ import annotations

import math

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.geometry import Ellipsoid, Hyperplane, line_intersections
from cayleyklein.metrics import CurvedMetric
from cayleyklein.metrics._spheres import HORIZON, RIM

__all__ = ["inset", "line_path"]


def line_path(metric: CurvedMetric, line: Hyperplane, n: int) -> Floats:
    """Return a line of the plane, clipped to the domain; empty when it misses it."""
    normal, offset = np.asarray(line.normal, float), float(line.offset)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    foot = metric.center - normal * (normal @ metric.center + offset) / (normal @ normal)
    domain = metric.domain
    if domain is None:
        angle = np.linspace(-1, 1, n) * (math.pi / 2 - HORIZON)
        scale = 1 / (metric._unit * np.linalg.norm(metric.factor @ along))
        return np.asarray(foot + scale * np.tan(angle)[:, None] * along)
    ends = [e / e[-1] for e in line_intersections(metric.absolute.matrix, foot, foot + along)]
    if np.iscomplex(ends).any():
        return np.empty((0, 2))
    P, Q = (end.real[:2] for end in ends)
    # Dense at the ends, where the other charts need it.
    t = (1 - np.cos(np.linspace(0, math.pi, n))) / 2
    return np.asarray(P + t[:, None] * (Q - P))


def inset(domain: Ellipsoid | None, points: Floats, margin: float = RIM) -> Floats:
    """Move points of a conic, and those outside it, to a little inside: charts need that.

    Parameters
    ----------
    domain : Ellipsoid or None
    points : ndarray of shape (..., 2)
    margin : float
        What is left to the conic, relative to its size.

    Examples
    --------
    >>> disc = Ellipsoid([0.0, 0.0], np.eye(2))
    >>> inset(disc, np.array([[0.3, 0.0], [0.0, 2.0]]), 0.25)
    array([[0.3 , 0.  ],
           [0.  , 0.75]])
    """
    if domain is None:
        return points
    y = domain.to_euclidean(points)
    size = np.linalg.norm(y, axis=-1, keepdims=True) / (1 - margin)
    out = size > 1
    if not out.any():
        return points
    return np.where(out, domain.from_euclidean(y / np.where(out, size, 1.0)), points)
