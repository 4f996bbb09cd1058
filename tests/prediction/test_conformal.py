"""Intervals and sets hold new targets as often as they promise."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.prediction import conformal


def noisy(n, seed):
    """Numbers whose noise grows with the second column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, X[:, 0] + (0.05 + np.abs(X[:, 1])) * rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_neighbours_cover(weighted):
    hits, widths, rows = [], [], []
    for seed in range(4):
        X, y = noisy(700, seed)
        weights = np.random.default_rng(seed).integers(1, 4, size=300) if weighted else None
        model = CurvedKNeighborsRegressor(15, metric=CurvedMetric.euclidean(2))
        model.fit(X[:300], y[:300], weights)
        for level in (0.5, 0.9):
            low, high = model.predict_interval(X[300:], level)
            hits.append(((low <= y[300:]) & (y[300:] <= high)).mean() - level)
        widths.append(high - low)
        rows.append(X[300:])
    assert abs(np.mean(hits)) < 0.03
    sizes, noise = np.concatenate(widths), np.abs(np.concatenate(rows)[:, 1])
    assert sizes[noise > 0.7].mean() > 1.3 * sizes[noise < 0.3].mean()


def test_a_learned_metric_is_learned_again_for_intervals():
    X, y = noisy(200, 0)
    model = CurvedKNeighborsRegressor(9, geometry="flat", random_state=0).fit(X[:100], y[:100])
    left_out = model.predict(None)
    held_out = model._held_out_answers()[:, 0]
    assert np.abs(held_out - left_out).max() > 1e-6
    np.testing.assert_array_equal(held_out, model._held_out_answers()[:, 0])
    assert np.mean((held_out - y[:100]) ** 2) < 1.5 * np.mean((left_out - y[:100]) ** 2)


def test_two_targets_and_few_rows():
    X, y = noisy(60, 0)
    model = CurvedKNeighborsRegressor(3, metric=CurvedMetric.euclidean(2))
    low, high = model.fit(X, np.column_stack([y, 10 * y])).predict_interval(X[:4])
    assert low.shape == (4, 2)
    np.testing.assert_allclose(10 * (high - low)[:, 0], (high - low)[:, 1])
    model.set_params(n_neighbors=1).fit(X[:1], y[:1])
    with pytest.raises(InvalidInputError, match="two fitted rows"):
        model.predict_interval(X)


@pytest.mark.parametrize(
    "model",
    [
        CurvedKNeighborsClassifier(9, metric=CurvedMetric.euclidean(10)),
        CurvedKernelClassifier("columns", random_state=0),
    ],
)
def test_sets_hold_the_class(model):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10] / X[:, :10].std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    fit, rest = order[:285], order[285:]
    model.fit(X[fit], y[fit])
    before = np.zeros((len(rest), 2), dtype=bool)
    for level in (0.8, 0.9, 0.97):
        sets = model.predict_set(X[rest], level)
        assert sets[np.arange(len(rest)), y[rest]].mean() > level - 0.04
        assert sets.any(axis=1).all()
        assert (before <= sets).all()  # sets of a higher level hold those of a lower one
        before = sets
    assert (sets.argmax(axis=1) == y[rest])[sets.sum(axis=1) == 1].mean() > 0.93
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        model.predict_set(X[rest], 1.0)


def test_sets_by_hand():
    left_out = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    classes = np.array([0, 0, 0, 1])
    shares = np.array([[0.55, 0.45], [0.95, 0.05], [0.1, 0.9]])
    # the classes had 0.9, 0.6, 0.2 and 0.5: three of five new rows have at least 0.5
    found = conformal.likely_classes(shares, left_out, classes, np.ones(4), 0.6)
    np.testing.assert_array_equal(found, [[True, False], [True, False], [False, True]])
    found = conformal.likely_classes(shares, left_out, classes, np.ones(4), 0.8)
    np.testing.assert_array_equal(found, [[True, True], [True, False], [False, True]])
