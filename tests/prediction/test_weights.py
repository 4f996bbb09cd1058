"""Weights of rows: their unit changes nothing, batches add up, and boosting works."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from tests.strategies import seeds
from threadpoolctl import threadpool_info

from cayleyklein import (
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
    CurvedPairs,
    CurvedTriplets,
)
from cayleyklein._estimators import few_threads
from cayleyklein.exceptions import InvalidInputError

CLASSIFIER_VOTES = ["local", "linear", "uniform", "distance", lambda d: np.exp(-d)]
factors = st.sampled_from([1e-4, 1 / 379, 3.7, 1e6, 2.0**-40])


def table(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 3)) + 0.1 * rng.integers(0, 3, size=(n, 3))
    return X, rng.integers(0, 3, size=n), rng.uniform(0.2, 3, size=n), rng.normal(size=(20, 3))


@pytest.mark.parametrize("weights", CLASSIFIER_VOTES)
@given(seeds, factors)
@settings(max_examples=10)
def test_the_unit_of_weights_changes_no_probability(weights, seed, factor):
    X, y, w, Q = table(seed)
    options = {"metric": CurvedMetric.euclidean(3), "weights": weights}
    one, other = (
        CurvedKNeighborsClassifier(5, **options).fit(X, y, sample_weight=unit * w)
        for unit in (1.0, factor)
    )
    np.testing.assert_allclose(other.predict_proba(Q), one.predict_proba(Q), rtol=1e-9)
    np.testing.assert_allclose(other.predict_proba(None), one.predict_proba(None), rtol=1e-9)
    np.testing.assert_array_equal(other.predict(Q), one.predict(Q))


@pytest.mark.parametrize("weights", CLASSIFIER_VOTES[1:])
@given(seeds, factors)
@settings(max_examples=10)
def test_the_unit_of_weights_changes_no_mean(weights, seed, factor):
    X, y, w, Q = table(seed)
    options = {"metric": CurvedMetric.euclidean(3), "weights": weights}
    one, other = (
        CurvedKNeighborsRegressor(5, **options).fit(X, y, sample_weight=unit * w)
        for unit in (1.0, factor)
    )
    np.testing.assert_allclose(other.predict(Q), one.predict(Q), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.predict(None), one.predict(None), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [CurvedPairs, CurvedTriplets])
def test_the_unit_of_weights_of_tuples_changes_nothing(kind):
    rng = np.random.default_rng(0)
    size = 2 if kind is CurvedPairs else 3
    tuples, weights = rng.normal(size=(40, size, 3)), rng.uniform(0.5, 2, size=40)
    y = np.where(np.arange(40) % 2, 1, -1) if kind is CurvedPairs else None
    one, other = (
        kind(random_state=0).fit(tuples, y, sample_weight=unit * weights) for unit in (1.0, 1e-4)
    )
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-6)


def test_equal_weights_of_any_size_are_no_weights():
    X, y = load_breast_cancer(return_X_y=True)
    X, Q, y, truth = train_test_split(X, y, random_state=0)
    plain = CurvedKNeighborsClassifier(geometry="flat", random_state=0).fit(X, y)
    for unit in (1 / len(y), 1e-4):
        model = CurvedKNeighborsClassifier(geometry="flat", random_state=0)
        model.fit(X, y, sample_weight=np.full(len(y), unit))
        np.testing.assert_array_equal(model.predict(Q), plain.predict(Q))
    assert plain.score(Q, truth) > 0.95


def test_boosting_works():
    X, y = load_iris(return_X_y=True)
    metric = CurvedMetric.euclidean(4)
    model = AdaBoostClassifier(CurvedKNeighborsClassifier(5, metric=metric), n_estimators=5)
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


# -- batches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", CLASSIFIER_VOTES)
@given(seeds, st.lists(st.integers(1, 59), max_size=4))
@settings(max_examples=8)
def test_batches_are_one_fit(weights, seed, cuts):
    X, y, w, Q = table(seed)
    y[:3] = [0, 1, 2]
    options = {"metric": CurvedMetric.euclidean(3), "weights": weights}
    whole = CurvedKNeighborsClassifier(5, **options).fit(X, y, sample_weight=w)
    parts = CurvedKNeighborsClassifier(5, **options)
    numbers = CurvedKNeighborsRegressor(5, metric=options["metric"], weights="linear")
    for some in np.split(np.arange(60), sorted({5, *cuts})):
        if len(some):
            parts.partial_fit(X[some], y[some], classes=[0, 1, 2], sample_weight=w[some])
            numbers.partial_fit(X[some], y[some], sample_weight=w[some])
    np.testing.assert_array_equal(parts.predict_proba(Q), whole.predict_proba(Q))
    np.testing.assert_array_equal(parts.predict_proba(None), whole.predict_proba(None))
    np.testing.assert_array_equal(parts.class_prior_, whole.class_prior_)
    expected = CurvedKNeighborsRegressor(5, metric=options["metric"]).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(numbers.predict(Q), expected.predict(Q))


def test_a_point_contested_by_a_hundred_classes_costs_what_its_rows_cost():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros((100, 2)), rng.normal(size=(5000, 2))])
    y = np.concatenate([np.arange(100), rng.integers(0, 100, size=5000)])
    model = CurvedKNeighborsClassifier(3, metric=CurvedMetric.euclidean(2)).fit(X, y)
    _, labels, weights, rows = model._votes.table._entries
    assert len(labels) == len(weights) == len(rows) == 5100  # one entry for each row
    assert model.predict_proba([[0.0, 0.0]]).shape == (1, 100)


# -- threads ----------------------------------------------------------------------------------


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info()]


def test_overlapping_fits_leave_no_limit_behind():
    """The first to begin ends first, which once left the other's limit for good."""
    before = blas_threads()
    inside = []

    def small(begin, end):
        time.sleep(begin)
        with few_threads(10, 2):
            inside.append(max(blas_threads()))
            time.sleep(end - begin)

    threads = [threading.Thread(target=small, args=span) for span in ((0.0, 0.2), (0.1, 0.4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == [1, 1]
    assert blas_threads() == before


def test_a_large_fit_is_not_limited_by_a_small_one():
    before, inside = blas_threads(), []

    def large():
        with few_threads(100_000, 100):
            inside.extend(blas_threads())

    with few_threads(10, 2):
        assert max(blas_threads()) == 1
        thread = threading.Thread(target=large)
        thread.start()
        thread.join()
        assert inside == before
        assert max(blas_threads()) == 1
    assert blas_threads() == before


@pytest.mark.parametrize("kind", [CurvedKernelRegressor, CurvedKNeighborsClassifier])
def test_weights_that_vanish_beside_the_largest_are_zero(kind):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    weights = np.where(np.arange(40) % 2, 1e300, 1e-300)
    found = kind(random_state=0).fit(X, y, sample_weight=weights)
    expected = kind(random_state=0).fit(X, y, sample_weight=weights > 1)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-9)
    assert weights.min() == 1e-300  # what was given stays


def test_classes_of_dtype_object_are_refused_with_the_way_out():
    with pytest.raises(InvalidInputError, match=r"dtype object, .* y.astype\(int\)"):
        CurvedKNeighborsClassifier().fit([[0.0], [1.0]], np.array([1, 2], dtype=object))
