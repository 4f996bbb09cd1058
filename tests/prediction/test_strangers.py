"""Rows unlike the fitted ones: their score is calibrated, and little is said of them."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
)
from cayleyklein.datasets import load_wine
from cayleyklein.exceptions import StrangeRowsWarning
from cayleyklein.learning.rows import GivenRows
from cayleyklein.prediction.strangers import FamiliarRows, drawn_to_shares

X, Y = load_wine(return_X_y=True)
CLASSIFIERS = [
    CurvedKNeighborsClassifier(random_state=0, geometry="flat"),
    CurvedKernelClassifier(random_state=0, geometry="flat"),
]


def familiar(rows, weights=None):
    n = len(rows)
    given = GivenRows(rows, np.zeros(n), np.ones(n) if weights is None else weights, rows.shape[1])
    return FamiliarRows.of(given)


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_probabilities_of_strange_rows_are_the_class_shares(model):
    model = model.fit(X[::2], Y[::2])
    shares = np.bincount(Y[::2]) / len(Y[::2])
    with pytest.warns(StrangeRowsWarning, match="89 of 89 rows are unlike") as said:
        far = model.predict_proba(10 * X[1::2])
    assert len(said) == 1
    assert said[0].filename == __file__
    assert str(said[0].message).endswith("; their probabilities are drawn to the class shares.")
    assert np.abs(far - shares).max() < 0.1
    with pytest.warns(StrangeRowsWarning):
        np.testing.assert_array_equal(model.predict(10 * X[1::2]), far.argmax(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(X[1::2])
    assert (model.strangeness(10 * X) > 0.98).all()


@pytest.mark.parametrize(
    "model",
    [
        CurvedKNeighborsRegressor(random_state=0, geometry="flat"),
        CurvedKernelRegressor(random_state=0, geometry="flat"),
    ],
)
def test_regressors_warn(model):
    model = model.fit(X[:, 1:], X[:, 0])
    rows = X[:4, 1:] * np.array([1, 1, 20, 1])[:, None]
    for ask in (model.predict, model.predict_interval):
        with pytest.warns(
            StrangeRowsWarning, match=r"1 of 4 rows is unlike any fitted row, at 2\.$"
        ):
            ask(rows)


def test_probabilities_fall_to_the_class_shares_as_trust_falls():
    votes = np.array([[0.9, 0.1], [0.9, 0.1], [0.8, 0.2], [0.8, 0.2]])
    given = votes.copy()
    found = drawn_to_shares(given, np.array([1.0, 0.6, 0.9, 0.0]), np.array([0.3, 0.7]))
    np.testing.assert_allclose(found, [[0.9, 0.1], [0.66, 0.34], [0.75, 0.25], [0.3, 0.7]])
    np.testing.assert_array_equal(given, votes)


def test_five_percent_are_above_the_mark():
    above = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
        above.append((familiar(rows[:200]).quantiles(rows[200:]) > 0.95).mean())
    assert 0.03 < np.mean(above) < 0.06
    rows, _ = load_breast_cancer(return_X_y=True)
    known = familiar(rows[::2])
    assert 0.02 < (known.quantiles(rows[1::2]) > 0.95).mean() < 0.09
    assert (known.trust(rows[1::2]) == 1).all()


def test_the_distance_by_hand():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 2)) * [1.0, 100.0]
    query = rng.normal(size=(7, 2)) * [2.0, 200.0]
    units = rows.std(axis=0)
    apart = cdist(rows / units, rows / units)
    fifth = np.sort(apart, axis=1)[:, 5]
    fifth = np.maximum(fifth, 0.1 * np.median(fifth))
    away = cdist(query / units, rows / units)
    near = np.argsort(away, axis=1)[:, :5]
    nearest = np.take_along_axis(away, near, axis=1)
    expected = nearest.mean(axis=1) / np.sqrt(fifth[near].mean(axis=1))
    known = familiar(rows)
    np.testing.assert_allclose(known.distances(query), expected)
    inner = np.argsort(apart, axis=1)[:, 1:6]
    left_out = np.take_along_axis(apart, inner, axis=1).mean(axis=1)
    left_out = np.sort(left_out / np.sqrt(fifth[inner].mean(axis=1)))
    np.testing.assert_allclose(known.left_out, left_out)
    inside = expected <= left_out[-1]
    below = (left_out < expected[:, None]).sum(axis=1) / 31
    np.testing.assert_allclose(known.quantiles(query)[inside], below[inside])
    beyond = 1 - left_out[-1] / expected[~inside] / 31
    np.testing.assert_allclose(known.quantiles(query)[~inside], beyond)


def test_a_table_given_twice_is_the_table_given_once():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    weights = np.random.default_rng(1).integers(1, 4, size=50).astype(float)
    query = 3 * np.random.default_rng(2).normal(size=(40, 3))
    expected = familiar(rows, weights).quantiles(query)
    twice = familiar(np.vstack([rows, rows]), np.concatenate([weights, weights]))
    np.testing.assert_allclose(twice.quantiles(query), expected)
    each = np.repeat(np.arange(50), weights.astype(int))
    np.testing.assert_allclose(familiar(rows[each]).quantiles(query), expected)


def test_many_rows_are_sampled_and_few_say_nothing():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 2))
    known = familiar(rows)
    assert len(known.rows) == 2000
    far = rows[:100] + 50.0
    mixed = np.vstack([rows[:300], far])
    trust = known.trust(mixed)
    assert (trust[:300] == 1).all()
    assert (trust[300:] < 0.1).all()
    away = known.distances(mixed, 1)
    np.testing.assert_allclose(trust, (known.limit / np.maximum(known.limit, away)) ** 2)
    assert (familiar(rows[:10]).trust(far) == 1).all()
    assert (familiar(rows[:1]).quantiles(far) < 1).all()


def test_a_fitted_row_is_never_strange():
    rows = np.random.default_rng(0).standard_cauchy(size=(300, 4))
    known = familiar(rows)
    assert (known.trust(rows) == 1).all()
