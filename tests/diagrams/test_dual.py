"""The dual is the Delaunay triangulation of the metric: balls through simplices are empty."""

import numpy as np
import pytest
import shapely
from scipy.spatial import Delaunay
from tests.diagrams.helpers import CURVATURES, power_distances, random_metric, spread_points

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi, equivalent_balls


def random_diagram(K, d, n=40):
    rng = np.random.default_rng(d)
    metric = random_metric(rng, d, K)
    return CayleyKleinVoronoi(spread_points(rng, metric, n), metric)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("d", [2, 3, 4])
def test_balls_around_simplices_are_empty(K, d):
    diagram = random_diagram(K, d)
    dual = diagram.dual()
    assert diagram.metric.contains(dual.centers).all()
    distances = diagram.metric.pairwise(dual.centers, diagram.points)
    own = np.take_along_axis(distances, dual.simplices, axis=1)
    radius = distances.min(axis=1)
    near = radius < 10 * np.median(radius)  # far centres are ill-conditioned
    assert near.sum() > 20
    np.testing.assert_allclose(own[near], np.repeat(radius[near, None], d + 1, axis=1), rtol=1e-6)


@pytest.mark.parametrize("K", CURVATURES)
def test_orthospheres_of_the_equivalent_balls_are_empty(K):
    """The power of a center to its own balls is the least of all."""
    diagram = random_diagram(K, 2)
    dual = diagram.dual()
    power = power_distances(equivalent_balls(diagram.points, diagram.metric), dual.centers)
    own = np.take_along_axis(power, dual.simplices, axis=1)
    scale = (dual.centers**2).sum(axis=1, keepdims=True) + np.abs(diagram.points).max() ** 2
    assert (own.max(axis=1, keepdims=True) - power <= 1e-9 * scale).all()


def volume_of(points, simplices):
    corners = points[simplices]
    return np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum()


@pytest.mark.parametrize("K", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("d", [2, 3])
def test_it_covers_the_hull_of_the_equivalent_balls(K, d):
    diagram = random_diagram(K, d)
    centers = equivalent_balls(diagram.points, diagram.metric).centers
    expected = volume_of(centers, Delaunay(centers).simplices)
    np.testing.assert_allclose(volume_of(centers, diagram.dual().simplices), expected, rtol=1e-6)


@pytest.mark.parametrize("K", CURVATURES)
def test_triangles_do_not_overlap(K):
    diagram = random_diagram(K, 2)
    triangles = [shapely.Polygon(c) for c in diagram.points[diagram.dual().simplices]]
    total = sum(triangle.area for triangle in triangles)
    np.testing.assert_allclose(shapely.union_all(triangles).area, total, rtol=1e-9)
    hull = shapely.MultiPoint(diagram.points).convex_hull.area
    assert 0.5 * hull < total <= hull * (1 + 1e-12)


def test_flat_dual_is_scipys():
    points = np.random.default_rng(0).normal(size=(60, 2))
    ours = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2)).dual().simplices
    theirs = Delaunay(points).simplices

    def as_set(simplices):
        return set(map(tuple, np.sort(simplices, axis=1).tolist()))

    assert as_set(ours) == as_set(theirs)


@pytest.mark.parametrize("K", CURVATURES)
def test_ridges_are_its_edges(K):
    diagram = random_diagram(K, 2)
    dual = diagram.dual()
    edges = np.sort(dual.simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges = set(map(tuple, edges.tolist()))
    ridges = set(map(tuple, np.sort(diagram.ridge_points, axis=1).tolist()))
    assert ridges <= edges if K < 0 else ridges == edges
