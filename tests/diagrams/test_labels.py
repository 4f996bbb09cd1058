"""Labelled diagrams are the regions of k-NN, and their frontier its decision frontier."""

import numpy as np
import pytest
import shapely
from sklearn.neighbors import KNeighborsClassifier
from tests.diagrams.helpers import CURVATURES, nearest_sets, random_metric, spread_points

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError


def labelled(seed, K, d=2, n=60, classes=3, order=1):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, d, K)
    labels = np.array(["a", "b", "c", "d"])[rng.integers(classes, size=n)]
    return CayleyKleinVoronoi(
        spread_points(rng, metric, n), metric, order=order, labels=labels
    ), rng


def vote(diagram, X):
    """The majority of the k nearest labels by counting, the smallest of equals."""
    nearest, clear = nearest_sets(diagram.metric, diagram.points, X, diagram.order)
    rows = diagram.labels[nearest].tolist()
    answers = [min(sorted(set(row)), key=lambda label, row=row: -row.count(label)) for row in rows]
    return np.array(answers), clear


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize(("d", "order"), [(2, 1), (2, 2), (2, 3), (2, 4), (3, 3), (4, 1)])
def test_predicts_what_the_nearest_vote(K, d, order):
    diagram, rng = labelled(d, K, d=d, n=30, order=order)
    X = spread_points(rng, diagram.metric, 1_000)
    expected, clear = vote(diagram, X)
    np.testing.assert_array_equal(diagram.predict(X)[clear], expected[clear])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_predicts_what_scikit_learn_does(order):
    diagram, rng = labelled(0, 0.0, order=order)
    L = diagram.metric.factor
    knn = KNeighborsClassifier(order).fit(diagram.points @ L.T, diagram.labels)
    X = spread_points(rng, diagram.metric, 3_000)
    np.testing.assert_array_equal(diagram.predict(X), knn.predict(X @ L.T))


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 3])
def test_frontier_is_where_labels_change(K, order):
    """Just beside the frontier labels differ; along a path they change where it is crossed."""
    diagram, rng = labelled(1, K, order=order)
    segments = diagram.frontier()
    assert len(segments) > 10
    middle, along = segments.mean(axis=1), segments[:, 1] - segments[:, 0]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    across = along[:, ::-1] * [1, -1] / length
    extent = np.abs(diagram.points - diagram.points.mean(axis=0)).max()
    step = np.minimum(1e-3 * length, 1e-6 * extent) * across
    wide = length[:, 0] > 1e-4 * extent
    sides = [diagram.predict((middle + sign * step)[wide]) for sign in (1, -1)]
    assert (sides[0] != sides[1]).all()

    ends = spread_points(rng, diagram.metric, 60).reshape(30, 2, 2)
    if K >= 0:
        ends = np.clip(ends, *diagram.window)
    crossings = shapely.MultiLineString(list(segments))
    for start, end in ends:
        path = start + np.linspace(0, 1, 400)[:, None] * (end - start)
        label = diagram.predict(path)
        for i in np.flatnonzero(label[1:] != label[:-1]):
            assert shapely.LineString(path[i : i + 2]).distance(crossings) < 1e-9 * extent


def test_a_dense_grid_has_the_same_frontier():
    """Pixels whose neighbours have another label are those that the frontier passes."""
    diagram, _ = labelled(2, -1.0, order=3)
    axes = [np.linspace(-0.65, 0.65, 120)] * 2
    grid = diagram.metric.points(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2))
    expected, clear = vote(diagram, grid)
    assert (diagram.predict(grid) == expected)[clear].all()
    image = expected.reshape(120, 120)
    lines = grid.reshape(120, 120, 2)
    changes = image[:, 1:] != image[:, :-1]
    steps = shapely.linestrings(np.stack([lines[:, :-1], lines[:, 1:]], axis=2)[changes])
    frontier = shapely.MultiLineString(list(diagram.frontier()))
    assert len(steps) > 50
    assert (shapely.distance(steps, frontier) < 1e-9).all()


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_frontier_ridges_in_any_dimension(K):
    diagram, _ = labelled(3, K, d=4, n=25)
    labels = diagram.labels[diagram.ridge_points]
    np.testing.assert_array_equal(diagram.frontier_ridges, labels[:, 0] != labels[:, 1])


def test_frontier_in_space():
    diagram, _ = labelled(4, 1.0, d=3, n=30)
    polygons = diagram.frontier()
    assert 0 < len(polygons) <= diagram.frontier_ridges.sum()
    middles = np.array([polygon.mean(axis=0) for polygon in polygons])
    nearest = np.argsort(diagram.metric.pairwise(middles, diagram.points), axis=1)[:, :2]
    first, second = diagram.labels[nearest].T
    assert (first != second).all()


def test_refusals():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    points = [[-0.9, 0.0], [0.0, 0.05], [0.9, 0.0]]
    with pytest.raises(InvalidInputError, match="one entry for each of the 3 points"):
        CayleyKleinVoronoi(points, disc, labels=[0, 1])
    with pytest.raises(InvalidInputError, match="NaN or infinite entries at index 1"):
        CayleyKleinVoronoi(points, disc, labels=[0.0, np.nan, 1.0])
    with pytest.raises(InvalidInputError, match="cannot be sorted"):
        CayleyKleinVoronoi(points, disc, labels=[None, "a", "b"])
    with pytest.raises(InvalidInputError, match="no labels"):
        CayleyKleinVoronoi(points, disc).predict([[0.0, 0.0]])
    diagram = CayleyKleinVoronoi(points, disc, order=2, labels=[0, 1, 1])
    with pytest.raises(OutsideDomainError, match="X at index 1, 2"):
        diagram.predict([[0.0, 0.0], [0.0, -500.0], [0.0, 500.0]])
