"""Polygons and metrics that the tests of meshes share."""

import numpy as np

from cayleyklein import CurvedMetric

ANGLES = np.linspace(0, 2 * np.pi, 24, endpoint=False)
CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
STAR = CIRCLE * np.where(np.arange(24) % 2, 0.35, 1.0)[:, None]
BLOB = CIRCLE * (1 + 0.3 * np.sin(ANGLES * 3 + 0.4) * np.cos(ANGLES))[:, None] / 1.3
NOTCH = np.array([[-0.9, -0.6], [0.8, -0.7], [0.7, 0.6], [0.1, 0.5], [-0.05, -0.3], [-0.6, 0.65]])
HOLE = np.array([[0.2, -0.4], [0.5, -0.45], [0.4, -0.1]])
SHAPES = {"star": STAR, "blob": BLOB, "notch": NOTCH}


def tilted(K, mirrored=False):
    """A metric with another factor than 1, that has the unit disc well inside its domain."""
    factor = [[0.7, 0.2], [0.0, -0.5 if mirrored else 0.5]]
    return CurvedMetric(factor=factor, center=[0.1, -0.05], curvature=K)


def interior_area(polygon, metric):
    """Area of a polygon by Gauss and Bonnet: (sum of its angles - (n - 2)π)/K."""
    before, after = np.roll(polygon, 1, axis=0), np.roll(polygon, -1, axis=0)
    angle = metric.vertex_angle(polygon, before, after)
    u, v = (np.asarray(p - polygon) @ metric.factor.T for p in (after, before))
    left = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] > 0
    if np.linalg.det(metric.factor) < 0:
        left = ~left
    angle = np.where(left, angle, 2 * np.pi - angle)
    return (angle.sum() - (len(polygon) - 2) * np.pi) / metric.curvature
