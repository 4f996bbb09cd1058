"""Oracles for diagrams: distances to all points, and nothing else."""

import numpy as np
from tests.strategies import random_metric as random_metric

CURVATURES = (-1.0, -1e-6, 0.0, 1e-6, 1.0)


def spread_points(rng, metric, n, reach=0.95):
    """Points spread evenly over a ball around μ, within `reach` of the domain (or of 1/√K)."""
    K, d = metric.curvature, metric.dimension
    z = rng.normal(size=(n, d))
    z *= reach * rng.uniform(size=(n, 1)) ** (1 / d) / np.linalg.norm(z, axis=1, keepdims=True)
    return metric.points(z / np.sqrt(abs(K)) if K else z)


def nearest_sets(metric, points, X, k):
    """The k nearest points of each query as sorted rows, and which queries are clear of ties."""
    distances = metric.pairwise(X, points)
    order = np.argsort(distances, axis=1)
    sorted_distances = np.take_along_axis(distances, order, axis=1)
    if k == len(points):
        return np.sort(order, axis=1), np.full(len(X), True)
    gap = sorted_distances[:, k] - sorted_distances[:, k - 1]
    clear = gap > 1e-9 * sorted_distances[:, k]
    return np.sort(order[:, :k], axis=1), clear


def assert_cells_are_nearest(diagram, X):
    expected, clear = nearest_sets(diagram.metric, diagram.points, X, diagram.order)
    assert clear.mean() > 0.9  # or the comparison says little
    found = diagram.cell_generators[diagram.locate(X)]
    np.testing.assert_array_equal(found[clear], expected[clear])


def power_distances(balls, X):
    """‖x - c_i‖² - r_i² of points (m, d), as an (m, n) array."""
    height = (balls.centers**2).sum(axis=1) - balls.sq_radii
    return (X**2).sum(axis=1)[:, None] - 2 * X @ balls.centers.T + height


def domain_size(diagram):
    """The area or volume of the domain, or of the window."""
    metric = diagram.metric
    if metric.curvature >= 0:
        return np.prod(diagram.window[1] - diagram.window[0])
    ball = {2: np.pi, 3: 4 * np.pi / 3}[metric.dimension]
    return ball * np.prod(metric.domain.semi_axes)
