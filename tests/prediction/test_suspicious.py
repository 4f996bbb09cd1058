"""Rows whose class or number looks wrong: planted ones are found, and left out of their answers."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
)
from cayleyklein.datasets import load_wine
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.prediction.suspicious import suspicious_classes, suspicious_numbers


def flipped(y, share, seed):
    """Return classes of which a share is wrong, and which rows these are."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    wrong = y.copy()
    n_classes = y.max() + 1
    wrong[rows] = (wrong[rows] + rng.integers(1, n_classes, size=len(rows))) % n_classes
    return wrong, rows


@pytest.mark.parametrize("kind", [CurvedKNeighborsClassifier, CurvedKernelClassifier])
def test_planted_classes_are_found(kind):
    for load, least in ((load_wine, 1.0), (load_breast_cancer, 0.8)):
        X, y = load(return_X_y=True)
        wrong, rows = flipped(y, 0.05, 0)
        model = kind(random_state=0, geometry="flat").fit(X, wrong)
        found = model.suspicious()
        top = np.argsort(-found.scores, kind="stable")[: len(rows)]
        assert np.isin(top, rows).mean() >= least
        assert np.isin(found.rows, rows).mean() > 0.6
        assert np.isin(rows, found.rows).mean() >= 0.5
        np.testing.assert_array_equal(found.given, wrong[found.rows])
        right = np.isin(found.rows, rows)
        assert (found.likely[right] == y[found.rows[right]]).mean() > 0.9
        assert (np.diff(found.sure) <= 0).all()
        assert not (found.neighbors == found.rows[:, None]).any()
        np.testing.assert_array_equal(found.neighbor_targets, wrong[found.neighbors])


@pytest.mark.parametrize("kind", [CurvedKNeighborsRegressor, CurvedKernelRegressor])
def test_planted_numbers_are_found(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = X[:, 0] - 2 * X[:, 1] + 0.05 * rng.normal(size=200)
    rows = np.array([3, 50, 120, 199])
    y[rows] += 1.5 * np.array([1, -1, 1, -1])
    model = kind(random_state=0, geometry="flat").fit(X, y)
    found = model.suspicious()
    np.testing.assert_array_equal(np.sort(found.rows[:4]), rows)
    assert len(found) <= 12
    assert (found.sure[:4] > 0.9).all()
    # rows that were fitted are left out of their own answers, in any order, and new ones are not
    order = rng.permutation(200)
    again = model.suspicious(X[order], y[order])
    np.testing.assert_array_equal(order[again.rows], found.rows)
    np.testing.assert_allclose(again.scores, found.scores[order])
    new = model.suspicious(X[:5] + 1e-3, y[:5] + np.array([0, 0, 5, 0, 0]))
    assert 2 in new.rows


def test_left_out_probabilities_of_a_sum_know_nothing_of_the_own_class():
    X, y = load_iris(return_X_y=True)
    X = np.unique(X, axis=0)
    y = np.random.default_rng(0).integers(0, 2, size=len(X))
    model = CurvedKernelClassifier(random_state=0, geometry="flat").fit(X, y)
    own = model.predict_proba(None)[np.arange(len(X)), y]
    assert abs(own.mean() - 0.5) < 0.07  # noise cannot be learned
    assert model.predict(None).shape == y.shape
    assert model.score(None, y) < 0.65


def test_rows_of_weight_zero_are_answered_by_the_model():
    X, y = load_wine(return_X_y=True)
    weights = np.ones(len(X))
    weights[::5] = 0.0
    model = CurvedKernelClassifier(random_state=0, geometry="flat").fit(X, y, weights)
    left_out = model.predict_proba(None)
    np.testing.assert_allclose(left_out[::5], model.predict_proba(X[::5]), rtol=1e-9)
    assert (np.abs(left_out - model.predict_proba(X)).max(axis=1)[weights > 0] > 1e-6).mean() > 0.9


def test_a_sum_of_many_rows_is_fitted_again_without_each():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2700, 2))
    y = (X[:, 0] > 0).astype(int)
    rows = rng.choice(2700, 20, replace=False)
    y[rows] = 1 - y[rows]
    model = CurvedKernelClassifier("columns", gamma=1.0, ridge=0.1, n_landmarks=60, random_state=0)
    found = model.fit(X, y).suspicious()
    far = rows[np.abs(X[rows, 0]) > 0.3]
    assert np.isin(far, found.rows).all()


def test_the_only_row_of_a_class_is_not_judged():
    X, y = load_wine(return_X_y=True)
    names = np.array(["a", "b", "c"], dtype=object)[y]
    names[0] = "alone"
    with pytest.warns(UserWarning, match="fewer than"):
        model = CurvedKernelClassifier(random_state=0, geometry="flat").fit(X, names)
    assert 0 not in model.suspicious().rows


def test_classes_by_hand():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.2, 0.8], [0.16, 0.84]])
    found = suspicious_classes(shares, np.array([0, 1, 1, 0, 0]))
    np.testing.assert_array_equal(found.numbers, [2, 4])  # odds of 9 and 5.25
    np.testing.assert_allclose(found.scores, [0.1, 0.2, 0.9, 0.8, 0.84])
    np.testing.assert_array_equal(found.likely, [0, 1, 0, 1, 1])


def test_normal_errors_are_not_suspicious():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=1000)
    assert not suspicious_numbers(errors, errors)[0].any()
    errors[7] = 8.0
    wrong, sure = suspicious_numbers(errors, errors)
    assert np.flatnonzero(wrong).tolist() == [7]
    assert sure[7] > 0.999
    order = np.argsort(np.abs(errors))
    assert (np.diff(sure[order]) >= 0).all()


def test_what_is_asked_wrongly():
    model = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(1))
    model.fit([[0.0], [1.0], [1.5]], ["a", "b", "b"])
    with pytest.raises(InvalidInputError, match="Give both"):
        model.suspicious([[0.0]])
    with pytest.raises(InvalidInputError, match="not seen"):
        model.suspicious([[0.0]], ["c"])
    assert repr(model.suspicious([[1.0]], ["b"])) == "none of 1 rows looks wrong"
    assert model.suspicious(n_neighbors=50).neighbors.shape[1] == 2


def test_errors_are_weighed_by_how_many_are_expected_of_noise():
    """Benjamini and Hochberg: of all as large as one, the share that a normal bulk would have."""
    rng = np.random.default_rng(0)
    fitted = np.append(rng.normal(size=60), [4.5, -6.0])
    errors = np.array([0.5, 4.2, 5.0, 7.0])
    wrong, sure = suspicious_numbers(errors, fitted)
    size = np.abs(fitted) / (1.4826 * np.median(np.abs(fitted)))
    expected = []
    for ratio in errors / (1.4826 * np.median(np.abs(fitted))):
        least = size[size <= ratio]
        shares = [62 * 2 * norm.sf(one) / np.sum(size >= one) for one in least]
        expected.append(1 - min(1.0, *shares) if len(least) else 0.0)
    np.testing.assert_allclose(sure, expected, atol=1e-12)
    assert wrong.tolist() == [False, True, True, True]


def test_where_most_rows_are_fitted_exactly_any_error_is_suspicious():
    wrong, sure = suspicious_numbers(np.array([0.0, -1e-9, 2.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    assert wrong.tolist() == [False, True, True]
    assert sure.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("X", "y"), [(np.zeros((12, 2)), np.arange(12) % 2), (np.eye(2), np.arange(2))]
)
def test_where_no_fold_can_learn_only_the_class_shares_are_known(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes of few rows
        model = CurvedKernelClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(None), 0.5)
    assert not len(model.suspicious())
    assert model.predict_set(X).any(axis=1).all()


def test_where_no_fold_can_learn_only_the_mean_is_known():
    model = CurvedKernelRegressor(random_state=0).fit([[0.0], [1.0]], [2.0, 6.0])
    np.testing.assert_allclose(model.predict(None), 4.0)
