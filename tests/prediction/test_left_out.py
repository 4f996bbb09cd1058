"""Leaving a fitted row out is fitting without it: votes, ties, pooled rows, weights and scales."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies import seeds

from cayleyklein import CurvedKNeighborsClassifier, CurvedKNeighborsRegressor, CurvedMetric

VOTES = ["local", "linear", "uniform", "distance", lambda d: 1 / (1 + d)]


def small_table(seed):
    """A few rows of which many are equal or equally far, with few classes and odd weights."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 14)), int(rng.integers(1, 3))
    X = rng.integers(0, rng.integers(2, 6), size=(n, d)).astype(float)
    if rng.uniform() < 0.3:
        X += rng.normal(scale=0.1, size=X.shape)
    labels = rng.integers(0, rng.integers(2, 4), size=n)
    weights = [np.ones(n), rng.integers(1, 4, size=n), rng.uniform(0.1, 2, size=n)][seed % 3]
    if rng.uniform() < 0.3:
        weights = weights * (rng.uniform(size=n) < 0.8)
        weights[0] = 1.0
    return X, labels, weights.astype(float)


def without(kind, options, X, y, weights, i):
    rest = np.arange(len(X)) != i
    if not weights[rest].any():
        return None
    return kind(**options).fit(X[rest], y[rest], sample_weight=weights[rest])


@pytest.mark.parametrize("block", range(20))
def test_a_classifier_equals_a_refit(block):
    """A thousand tables."""
    for seed in range(50 * block, 50 * block + 50):
        X, y, weights = small_table(seed)
        options = {"metric": CurvedMetric.euclidean(X.shape[1], curvature=(0.0, 0.05)[seed % 2])}
        options |= {"n_neighbors": 1 + seed % 4, "weights": VOTES[seed % 5]}
        options["n_neighbors"] = min(options["n_neighbors"], len(X) - 2)
        model = CurvedKNeighborsClassifier(**options).fit(X, y, sample_weight=weights)
        shares = model.predict_proba(None)
        for i in np.random.default_rng(seed).choice(len(X), 1):
            other = without(CurvedKNeighborsClassifier, options, X, y, weights, i)
            if other is None:
                continue
            expected = np.zeros(len(model.classes_))
            expected[np.searchsorted(model.classes_, other.classes_)] = other.predict_proba(X[[i]])
            np.testing.assert_allclose(
                shares[i], expected, rtol=1e-9, atol=1e-12, err_msg=f"{seed}"
            )
            if seed % 10 == 0:
                said = model.predict(None)
                assert said[i] == other.predict(X[[i]])[0], seed
                assert model.score(None, y) == np.mean(said == y)


@pytest.mark.parametrize("block", range(5))
def test_a_regressor_equals_a_refit(block):
    for seed in range(50 * block, 50 * block + 50):
        X, _, weights = small_table(seed)
        y = np.random.default_rng(seed).normal(size=(len(X), 2))
        options = {"metric": CurvedMetric.euclidean(X.shape[1])}
        options |= {"n_neighbors": min(1 + seed % 4, len(X) - 2), "weights": VOTES[1 + seed % 4]}
        model = CurvedKNeighborsRegressor(**options).fit(X, y, sample_weight=weights)
        found = model.predict(None)
        for i in np.random.default_rng(seed).choice(len(X), 1):
            other = without(CurvedKNeighborsRegressor, options, X, y, weights, i)
            if other is not None:
                np.testing.assert_allclose(found[i], other.predict(X[[i]])[0], rtol=1e-9)


def test_a_left_out_row_does_not_break_its_tie():
    X, y = [[0.0], [0.0], [1.0], [5.0]], list("abab")
    model = CurvedKNeighborsClassifier(2, metric=CurvedMetric.euclidean(1), weights="uniform")
    assert model.fit(X, y).predict(None)[0] == "b"


def test_few_distinct_points_leave_linear_votes_linear():
    """The point that vanishes is not the farthest one that others are measured by."""
    X, y = [[0.0], [1.0], [3.0]], [1.0, 2.0, 5.0]
    model = CurvedKNeighborsRegressor(2, metric=CurvedMetric.euclidean(1)).fit(X, y)
    rest = CurvedKNeighborsRegressor(2, metric=CurvedMetric.euclidean(1)).fit(X[1:], y[1:])
    assert model.predict(None)[0] == pytest.approx(rest.predict([X[0]])[0])


# -- ties -----------------------------------------------------------------------------------


def counted(X, y, weights, query, k):
    """The winner by integers: most votes, then the nearest vote, then the largest class."""
    points = sorted(set(X), key=lambda x: abs(x - query))[:k]
    votes, nearest = {}, {}
    for point in points:
        for x, label, weight in zip(X, y, weights, strict=True):
            if x == point:
                votes[label] = votes.get(label, 0) + weight
                nearest.setdefault(label, abs(point - query))
    most = max(votes.values())
    total = {c: sum(w for label, w in zip(y, weights, strict=True) if label == c) for c in votes}
    return min((c for c in votes if votes[c] == most), key=lambda c: (nearest[c], -total[c], c))


@given(seeds, st.integers(1, 3))
@settings(max_examples=150)
def test_ties_are_broken_as_documented(seed, k):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, size=9), rng.choice(list("abc"), size=9)
    weights = rng.integers(1, 4, size=9)
    k, query = min(k, len(set(X))), float(rng.integers(0, 9)) / 2 + 0.1
    model = CurvedKNeighborsClassifier(k, metric=CurvedMetric.euclidean(1), weights="uniform")
    model.fit(X[:, None], y, sample_weight=weights)
    assume(0.1 * weights.sum() / len(set(X)) < 1)  # the prior changes no difference of a vote
    expected = counted(X.tolist(), y.tolist(), weights.tolist(), query, k)
    assert model.predict([[query]])[0] == expected


def test_the_tie_rule_at_pooled_points():
    X, y = np.array([0, 0, 0, 1, 1, 9, 9, 9, 9, 9.0])[:, None], list("accbbaabbc")
    model = CurvedKNeighborsClassifier(2, metric=CurvedMetric.euclidean(1), weights="uniform")
    assert model.fit(X, y).predict([[0.1]])[0] == "c"


def test_votes_that_differ_by_rounding_are_equal():
    """0.1 + 0.2 and 0.3 are as many votes, and the nearest of them decides."""
    X, y = [[1.0], [2.0], [3.0]], ["b", "a", "a"]
    model = CurvedKNeighborsClassifier(3, metric=CurvedMetric.euclidean(1), weights="uniform")
    model.fit(X, y, sample_weight=[0.3, 0.1, 0.2])
    assert model.predict([[0.0]])[0] == "b"
