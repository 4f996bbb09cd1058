"""Votes by locally scaled distances, against a plain loop."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.parts import distances

X, Y = load_iris(return_X_y=True)
X = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)  # no ties
METRICS = {
    "flat": CurvedMetric.euclidean(4),
    "hyperbolic": CurvedMetric.euclidean(4, curvature=-0.005),
    "mixed": MixedMetric([CurvedMetric.euclidean(4, K) for K in (0.3, -0.005)]),
    "product": ProductMetric([CurvedMetric.euclidean(4, K) for K in (0.3, 0.0)], [0.2, 1.0]),
}


def by_definition(metric, train, y, queries, k):
    D = metric.pairwise(train)
    scales = np.sort(D, axis=1)[:, 5]  # itself is the nearest
    scales = np.maximum(scales, 0.1 * np.median(scales))
    prior = np.bincount(y) / len(y)
    answers = []
    for d in metric.pairwise(queries, train):
        near = np.argsort(d)[: 2 * k + 1]
        scaled = d[near] / np.sqrt(scales[near])
        order = np.argsort(scaled)
        votes = 0.1 * prior
        for i in order[:k]:
            votes[y[near[i]]] += 1 - scaled[i] / scaled[order[k]]
        answers.append(votes / votes.sum())
    return np.array(answers)


@pytest.mark.parametrize("k", [1, 5, 15])
@pytest.mark.parametrize("name", METRICS)
def test_is_its_definition(name, k):
    train, test = slice(0, None, 2), slice(1, None, 2)
    model = CurvedKNeighborsClassifier(k, metric=METRICS[name]).fit(X[train], Y[train])
    expected = by_definition(METRICS[name], X[train], Y[train], X[test], k)
    np.testing.assert_allclose(model.predict_proba(X[test]), expected, rtol=1e-9)
    assert model.kneighbors(X[test])[1].shape == (75, k)


def test_repeated_rows_and_few_rows():
    same = np.zeros((8, 2))
    model = CurvedKNeighborsClassifier(3, metric=CurvedMetric.euclidean(2))
    shares = model.fit(same, np.repeat([0, 1], 4)).predict_proba([[1.0, 0.0]])
    np.testing.assert_allclose(shares.sum(), 1.0)
    two = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(1)).fit(
        [[0.0], [1.0]], [0, 1]
    )
    assert two.predict([[0.1], [0.9]]).tolist() == [0, 1]


def test_added_rows_have_scales_of_their_own():
    metric = METRICS["flat"]
    parts = CurvedKNeighborsClassifier(5, metric=metric).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="not seen or announced"):
        parts.partial_fit(X[100:], Y[100:])
    parts = CurvedKNeighborsClassifier(5, metric=metric).partial_fit(X[:100], Y[:100], [0, 1, 2])
    parts.partial_fit(X[100:], Y[100:])
    assert parts.score(X, Y) > 0.95


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_columns_have_heavy_tails_and_weights_in_any_unit(unit):
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    assert not distances.has_heavy_tails(unit * X)
    X[7, 1] = 5.0  # at most √3 standard deviations are the others
    assert distances.has_heavy_tails(unit * X)
    X[:, 0] = 1.0
    weights = distances.standard_weights(unit * X, np.full(200, 3.0))
    np.testing.assert_allclose(weights, [0.0, 1 / X[:, 1].std() / unit])
