"""Weighted diagrams against all generators, and cells cut to polygons."""

import json

import numpy as np
import pytest
import shapely

from cayleyklein import CayleyKleinVoronoi, CurvedMetric
from cayleyklein.exceptions import InvalidInputError


def cosine(r2, K):
    """Return cos_K of the root of a number of either sign."""
    return np.cos(np.sqrt(np.asarray(K * r2, dtype=complex))).real


def nearest(points, weights, metric, X, order):
    """Return the sets of the `order` nearest generators, from distances."""
    K = metric.curvature
    d = metric.pairwise(X, points)
    power = d**2 - weights if K == 0 else -cosine(d**2, K) / cosine(weights, K) * np.sign(K)
    return np.sort(np.argsort(power, axis=1)[:, :order], axis=1)


def example(d, n=14, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, size=(n, d)), rng.uniform(-0.05, 0.25, size=n)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0, 1e-6, -1e-6])
@pytest.mark.parametrize(("d", "order"), [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)])
def test_cells_hold_the_nearest_generators(K, d, order):
    points, weights = example(d)
    factor = np.eye(d) + 0.1 * np.arange(d * d).reshape(d, d) / d**2
    metric = CurvedMetric(factor=factor, center=np.full(d, 0.05), curvature=K)
    diagram = CayleyKleinVoronoi(points, metric, weights=weights, order=order)
    X = np.random.default_rng(1).uniform(-0.4, 0.4, size=(800, d))
    found = np.sort(diagram.cell_generators[diagram.locate(X)], axis=1)
    wanted = nearest(points, weights, metric, X, order)
    np.testing.assert_array_equal(found, wanted)
    seen = np.unique(wanted)
    assert np.isin(seen, diagram.cell_generators).all()
    if order == 1 and d == 2:
        assert len(diagram.hidden) > 0
        assert not np.isin(diagram.hidden, wanted).any()


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_bisectors_pass_through_the_intersections_of_balls(K):
    metric = CurvedMetric.euclidean(2, curvature=K)
    points, radii = np.array([[0.0, 0.0], [0.4, 0.0]]), np.array([0.35, 0.2])
    diagram = CayleyKleinVoronoi(points, metric, weights=radii**2)
    _, segments = diagram.ridge_segments()
    line = segments[0][:, 0]
    assert line[0] == pytest.approx(line[1])
    y = np.linspace(0, 0.4, 100001)
    at = np.column_stack([np.full(len(y), line[0]), y])
    gaps = [np.abs(metric.distance(at, p) - r) for p, r in zip(points, radii, strict=True)]
    meeting = np.argmin(gaps[0])
    assert gaps[0][meeting] < 1e-5
    assert gaps[1][meeting] < 1e-5


def test_equal_weights_change_nothing_where_flat_and_zero_weights_nowhere():
    points, _ = example(2)
    flat = CurvedMetric.euclidean(2)
    plain = CayleyKleinVoronoi(points, flat)
    equal = CayleyKleinVoronoi(points, flat, weights=np.full(14, 3.0))
    np.testing.assert_allclose(np.sort(plain.areas()), np.sort(equal.areas()))
    for K in (-1.0, 0.0, 1.0):
        metric = CurvedMetric.euclidean(2, curvature=K)
        one = CayleyKleinVoronoi(points, metric)
        other = CayleyKleinVoronoi(points, metric, weights=np.zeros(14))
        np.testing.assert_array_equal(one.vertices, other.vertices)


def test_copies_and_the_heavier_of_two():
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.0], [0.5, 0.0]])
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    diagram = CayleyKleinVoronoi(points, metric, weights=[0.0, 0.1, 0.2, 0.2])
    assert diagram.hidden.tolist() == [1]
    assert diagram.duplicates.tolist() == [[3, 2]]
    assert diagram.cell_generators.ravel().tolist() == [0, 2]
    assert diagram.point_region[1:].tolist() == [1, 1, 1]
    second = CayleyKleinVoronoi(points, metric, weights=[0.0, 0.1, 0.2, 0.2], order=2)
    X = np.random.default_rng(0).uniform(-0.6, 0.6, size=(500, 2))
    found = np.sort(second.cell_generators[second.locate(X)], axis=1)
    wanted = nearest(points, np.array([0.0, 0.1, 0.2, 0.2]), metric, X, 2)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_cells_cut_to_a_polygon(K):
    points, weights = example(2)
    metric = CurvedMetric.euclidean(2, curvature=K)
    diagram = CayleyKleinVoronoi(points, metric, weights=weights, labels=["a", "b"] * 7)
    star = shapely.Polygon([(-0.6, -0.6), (0.7, -0.2), (0.1, 0.0), (0.5, 0.7), (-0.2, 0.1)])
    hole = shapely.box(-0.2, -0.3, 0.0, -0.2)
    region = star.difference(hole)
    cells = diagram.clip(region)
    assert len(cells) == len(diagram.cell_generators)
    assert sum(cell.area for cell in cells) == pytest.approx(region.area, rel=1e-6)
    X = np.random.default_rng(1).uniform(-0.6, 0.6, size=(400, 2))
    X = X[shapely.contains_xy(region, *X.T)]
    wanted = diagram.locate(X)
    for x, cell in zip(X, wanted, strict=True):
        assert cells[cell].distance(shapely.Point(x)) < 1e-9
    found = diagram.to_geojson(region)
    assert json.loads(json.dumps(found))["type"] == "FeatureCollection"
    area = sum(shapely.geometry.shape(cell["geometry"]).area for cell in found["features"])
    assert area == pytest.approx(region.area, rel=1e-6)
    for cell in found["features"]:
        (generator,) = cell["properties"]["generators"]
        assert cell["properties"]["label"] == "ab"[generator % 2]


def test_bad_input():
    points, weights = example(2)
    flat, sphere = CurvedMetric.euclidean(2), CurvedMetric.euclidean(2, curvature=1.0)
    with pytest.raises(InvalidInputError, match="weights of shape"):
        CayleyKleinVoronoi(points, flat, weights=weights[:3])
    with pytest.raises(InvalidInputError, match="quarter of a great circle"):
        CayleyKleinVoronoi(points, sphere, weights=np.full(14, 2.5))
    with pytest.raises(InvalidInputError, match="NaN"):
        CayleyKleinVoronoi(points, flat, weights=np.full(14, np.nan))
    with pytest.raises(InvalidInputError, match="polygon"):
        CayleyKleinVoronoi(points, flat).clip([[0, 1], [1, 1], [0, 0]])
    bow = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    with pytest.raises(InvalidInputError, match="Self-intersection"):
        CayleyKleinVoronoi(points, flat).clip(bow)
    with pytest.raises(InvalidInputError, match="one with an area"):
        CayleyKleinVoronoi(points, flat).clip(shapely.Polygon())
