"""Neighbours by a product metric: Euclidean search of its map, exact to the metric."""

import numpy as np
import pytest

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
    CurvedNeighbors,
    ProductMetric,
)
from cayleyklein.exceptions import InvalidInputError

rng = np.random.default_rng(0)
X, Q = rng.normal(size=(150, 3)), rng.normal(size=(20, 3))
X[100:110] = X[:10]  # equal distances
METRIC = ProductMetric(
    [
        CurvedMetric(factor=rng.normal(size=(3, 3)), curvature=1.0),
        CurvedMetric(factor=rng.normal(size=(2, 3)), center=X.mean(axis=0), curvature=0.09),
        CurvedMetric(factor=rng.normal(size=(3, 3))),
    ],
    [0.5, 0.2, 1.0],
)
TABLE = METRIC.pairwise(Q, X)


def search(**options):
    return CurvedNeighbors(**({"n_neighbors": 7, "metric": METRIC} | options)).fit(X)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "tree"])
@pytest.mark.parametrize("k", [1, 7, 150])
def test_the_nearest_in_order_and_equals_by_row(algorithm, k):
    distances, rows = search(algorithm=algorithm).kneighbors(Q, k)
    expected = np.sort(TABLE, axis=1)[:, :k]
    np.testing.assert_allclose(distances, expected, rtol=1e-9)
    same = np.diff(distances, axis=1) == 0
    assert (np.diff(rows, axis=1)[same] > 0).all()
    np.testing.assert_allclose(np.take_along_axis(TABLE, rows, axis=1), distances, rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["brute", "tree"])
def test_within_a_radius(algorithm):
    radius = float(np.quantile(TABLE, 0.1))
    distances, rows = search(algorithm=algorithm).radius_neighbors(Q, radius)
    for i, (far, found) in enumerate(zip(distances, rows, strict=True)):
        assert set(found) == set(np.flatnonzero(TABLE[i] <= radius))
        np.testing.assert_allclose(far, TABLE[i, found], rtol=1e-9)


def test_no_row_is_its_own_neighbour():
    _, rows = search().kneighbors()
    assert (rows != np.arange(len(X))[:, None]).all()
    np.testing.assert_array_equal(rows[:10, 0], np.arange(100, 110))


def test_rows_can_be_added():
    parts = CurvedNeighbors(7, metric=METRIC).fit(X[:60]).partial_fit(X[60:])
    for one, other in zip(parts.kneighbors(Q), search().kneighbors(Q), strict=True):
        np.testing.assert_array_equal(one, other)


def test_only_euclidean_searches():
    with pytest.raises(InvalidInputError, match="'auto', 'brute' or 'tree'"):
        search(algorithm="vptree")


@pytest.mark.parametrize("weights", ["linear", "distance"])
def test_votes_are_those_of_the_neighbours(weights):
    y = rng.integers(0, 3, len(X))
    model = CurvedKNeighborsClassifier(7, metric=METRIC, weights=weights).fit(X, y)
    assert model.predict_proba(Q).shape == (20, 3)
    order = np.argsort(TABLE, axis=1, kind="stable")[:, :8]
    far = np.take_along_axis(TABLE, order, axis=1)
    votes = {
        "linear": 1 - far[:, :7] / far[:, 7:],
        "distance": far[:, :1] / far[:, :7],
    }[weights]
    expected = np.stack([(votes * (y[order[:, :7]] == c)).sum(axis=1) for c in range(3)], axis=1)
    shares = (expected + 0.1 * model.class_prior_) / (votes.sum(axis=1, keepdims=True) + 0.1)
    np.testing.assert_allclose(model.predict_proba(Q), shares, rtol=1e-7)


def test_regression():
    y = X[:, 0]
    model = CurvedKNeighborsRegressor(7, metric=METRIC, weights="uniform").fit(X, y)
    order = np.argsort(TABLE, axis=1, kind="stable")[:, :7]
    np.testing.assert_allclose(model.predict(Q), y[order].mean(axis=1))
