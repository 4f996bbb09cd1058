"""The conformal plane against the metric itself: gaps, geodesics, angles, areas and circles."""

import numpy as np
import pytest
from tests.strategies import random_metric, random_points

from cayleyklein.geometry import lifts
from cayleyklein.meshes import conformal

CURVATURES = [-1.0, -1e-3, 0.0, 1e-3, 1.0]


def case(K, m=3):
    """A metric, m columns of points x and their images y, with another of the points at 0."""
    rng = np.random.default_rng(0)
    metric = random_metric(rng, 2, K)
    x = random_points(rng, metric, 20 * m + 1, reach=0.7)
    plane = conformal.ConformalPlane(metric, x[-1])
    y = plane.from_points(x)
    assert abs(y[-1]) < 1e-15
    np.testing.assert_allclose(plane.to_points(y), x, rtol=1e-9, atol=1e-12)
    return metric, x[:-1].reshape(m, 20, 2), y[:-1].reshape(m, 20)


@pytest.mark.parametrize("K", CURVATURES)
def test_gaps_are_distances(K):
    metric, (p, q), (a, b) = case(K, 2)
    d = metric.distance(p, q)
    gap = conformal.gap(a, b, K)
    np.testing.assert_allclose(gap, lifts.tangent(d / 2, K))
    np.testing.assert_allclose(conformal.length_of_gap(gap, K), d)
    np.testing.assert_allclose(conformal.length_of_gap(conformal.half_gap(gap, K), K), d / 2)


@pytest.mark.parametrize("K", CURVATURES)
def test_points_on_geodesics(K):
    _, _, (a, b) = case(K, 2)
    gap = conformal.gap(a, b, K)
    middle = conformal.midpoint(a, b, K)
    for end in (a, b):
        np.testing.assert_allclose(conformal.gap(end, middle, K), conformal.half_gap(gap, K))
    on = conformal.towards(a, b, 0.1 * gap, K)
    np.testing.assert_allclose(conformal.gap(a, on, K), 0.1 * gap)
    lengths = [conformal.length_of_gap(conformal.gap(p, q, K), K) for p, q in ((a, on), (on, b))]
    np.testing.assert_allclose(sum(lengths), conformal.length_of_gap(gap, K))


@pytest.mark.parametrize("K", CURVATURES)
def test_angles_and_areas(K):
    """Angles are the metric's, and the area is their excess over π, divided by K."""
    metric, (p, q, r), (a, b, c) = case(K)
    angles = conformal.angles(a, b, c, K)
    for k, corners in enumerate(((p, q, r), (q, r, p), (r, p, q))):
        np.testing.assert_allclose(angles[:, k], metric.vertex_angle(*corners), rtol=1e-9)
    areas = conformal.signed_areas(a, b, c, K)
    np.testing.assert_allclose(conformal.signed_areas(a, c, b, K), -areas, rtol=1e-9)
    u, v = (
        metric.coordinates(q) - metric.coordinates(p),
        metric.coordinates(r) - metric.coordinates(p),
    )
    clockwise = u[:, 0] * v[:, 1] < u[:, 1] * v[:, 0]
    np.testing.assert_array_equal(areas < 0, clockwise)
    if K == 0:
        np.testing.assert_allclose(areas, (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2)
    else:
        excess = angles.sum(axis=1) - np.pi
        np.testing.assert_allclose(np.abs(areas) * K, excess, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("K", CURVATURES)
def test_circles_of_the_chart_are_circles_of_the_metric(K):
    _, _, (a, b, c) = case(K)
    center, radius = conformal.circumcircle(a, b, c)
    for corner in (a, b, c):
        np.testing.assert_allclose(np.abs(corner - center), radius, rtol=1e-7)
    true = conformal.true_center(center, radius, K)
    real = np.isfinite(true)  # not a horocycle, or a hypercycle
    assert real.sum() >= 8
    assert real.all() or K < 0
    gaps = conformal.gap(a[real], true[real], K)
    for corner in (b, c):
        np.testing.assert_allclose(conformal.gap(corner[real], true[real], K), gaps, rtol=1e-6)
    around, reach = conformal.chart_circle(a, 0.3 * conformal.gap(a, b, K), K)
    on = conformal.towards(a, c, 0.3 * conformal.gap(a, b, K), K)
    np.testing.assert_allclose(np.abs(on - around), reach)
    np.testing.assert_allclose(conformal.true_center(around, reach, K), a, rtol=1e-9, atol=1e-12)
