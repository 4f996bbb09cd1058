"""Neighbours by a product metric: close rows, and votes."""

import numpy as np
import pytest

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedMetric,
    CurvedNeighbors,
    ProductMetric,
)

rng = np.random.default_rng(0)
X, Q = rng.normal(size=(150, 3)), rng.normal(size=(20, 3))
METRIC = ProductMetric(
    [
        CurvedMetric(factor=rng.normal(size=(3, 3)), curvature=1.0),
        CurvedMetric(factor=rng.normal(size=(2, 3)), center=X.mean(axis=0), curvature=0.09),
        CurvedMetric(factor=rng.normal(size=(3, 3))),
    ],
    [0.5, 0.2, 1.0],
)
TABLE = METRIC.pairwise(Q, X)


def test_close_rows_are_measured_exactly():
    """Differences of the map lose half of the digits here."""
    close = X[:1] + 1e-9 * rng.normal(size=(100, 3))
    distances, rows = CurvedNeighbors(7, metric=METRIC).fit(close).kneighbors(close[:20])
    plain = METRIC.distance(close[:20, None], close)
    np.testing.assert_allclose(distances, np.sort(plain, axis=1)[:, :7], rtol=1e-12)
    np.testing.assert_array_equal(rows, np.argsort(plain, axis=1, kind="stable")[:, :7])


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


def test_a_pair_is_measured_alike_whatever_is_asked_with_it():
    """Close rows, beside a pair whose square underflows."""
    rows = 5 + 1e-3 * np.random.default_rng(0).normal(size=(60, 3))
    rows = np.vstack([rows, [[1e-170, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    parts = [CurvedMetric.euclidean(3), CurvedMetric.euclidean(3, curvature=1.0)]
    search = CurvedNeighbors(6, metric=ProductMetric(parts, [0.5, 1.0])).fit(rows)
    alone = np.vstack([search.kneighbors(row[None])[0] for row in rows])
    np.testing.assert_array_equal(search.kneighbors(rows)[0], alone)
