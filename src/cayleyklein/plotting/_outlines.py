"""Outlines of balls and lines in the plane, as polylines."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Hyperplane, line_intersections
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting._style import Metric, domains_of

__all__ = ["RIM", "inset", "line_path", "sphere_path"]

Array = NDArray[np.float64]

RIM = 1e-9
"""How far inside the conic, relative to its size, what lies on it is drawn: it has no chart."""

BISECTIONS = 60
"""Enough to find a number to the last bit of its scale."""

HORIZON = 1e-4
"""Where polylines that go to infinity end: this angle before it."""


def sphere_path(metric: Metric, center: Array, radius: float, n: int) -> tuple[Array, bool]:
    """Return a sphere in the plane as a polyline, and whether it is closed.

    A sphere that crosses the elliptic equator is an open branch of a conic; one that the whole
    plane is inside of has no points.
    """
    if isinstance(metric, CurvedMetric):
        ball = metric.ball(center, radius)
        if ball.kind == "ellipsoid":
            return ball.ellipsoid().boundary(n), True
    return _sphere_by_rays(metric, center, radius, n)


def _sphere_by_rays(metric: Metric, center: Array, radius: float, n: int) -> tuple[Array, bool]:
    """Find the sphere on rays from its centre.

    Straight lines are geodesics of every curvature, so along a ray a distance grows, and
    so does a sum of distances.
    """
    frame = (metric if isinstance(metric, CurvedMetric) else metric.metrics[0]).frame
    angle = np.linspace(0.0, 2 * math.pi, n, endpoint=False)
    u = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ frame.inverse_factor.T
    exits = [domain.exit_time(center, u) for domain in domains_of(metric)]
    # Without a domain, t = tan φ reaches infinity at φ = π/2.
    last = np.min(exits, axis=0) * (1 - RIM) if exits else np.full(n, math.pi / 2 - HORIZON)
    low, high = np.zeros(n), last
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        t = middle if exits else np.tan(middle)
        near = metric.distance(center, center + t[:, None] * u) < radius
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    path = center + (high if exits else np.tan(high))[:, None] * u
    reached = high < last
    if reached.all():
        return path, True
    # Start the open branch after a gap, so that it is one piece.
    start = int(np.argmin(reached))
    return np.roll(path, -start, axis=0)[np.roll(reached, -start)], False


def line_path(metric: CurvedMetric, line: Hyperplane, n: int) -> Array:
    """Return a line of the plane, clipped to the domain; empty when it misses it."""
    normal, offset = np.asarray(line.normal, float), float(line.offset)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    foot = metric.center - normal * (normal @ metric.center + offset) / (normal @ normal)
    domain = metric.domain
    if domain is None:
        angle = np.linspace(-1, 1, n) * (math.pi / 2 - HORIZON)
        scale = 1 / np.linalg.norm(metric.factor @ along)
        return np.asarray(foot + scale * np.tan(angle)[:, None] * along)
    ends = [e / e[-1] for e in line_intersections(metric.absolute.matrix, foot, foot + along)]
    if np.iscomplex(ends).any():
        return np.empty((0, 2))
    P, Q = (end.real[:2] for end in ends)
    # Dense at the ends, where the other charts need it.
    t = (1 - np.cos(np.linspace(0, math.pi, n))) / 2
    return np.asarray(P + t[:, None] * (Q - P))


def inset(metric: CurvedMetric, points: Array) -> Array:
    """Draw points of a hyperbolic conic, and a hair outside it, inside: charts need that."""
    if metric.domain is None:
        return points
    y = metric.domain.to_euclidean(points)
    size = np.linalg.norm(y, axis=-1, keepdims=True)
    y = np.where(size > 1 - RIM, y * ((1 - RIM) / np.maximum(size, RIM)), y)
    return metric.domain.from_euclidean(y)
