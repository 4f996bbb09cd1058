"""Beyond 2,500 rows what is drawn depends on the rows' values, and on nothing else.

Copies of rows, weights in place of copies, another unit of the weights, other names of the classes
and other orders of rows and columns are the same model.
"""

import numpy as np
import pytest

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMetric,
    CurvedMLKR,
)
from cayleyklein.learning import folds, samples
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.parts import landmarks
from cayleyklein.parts.places import pool_pairs

N = 3000
NAMES = np.array(["m", "z", "a"])
READY = {"metric": CurvedMetric.euclidean(4, curvature=0.1)}
BY_LANDMARKS = {"gamma": 1.0, "ridge": 0.1, "n_landmarks": 40}
RANKS = {"parts": "columns", "columns": "ranks"}
LEARNED = {"parts": ("metric", "plain"), "geometry": "flat"}
CLASSIFIERS = {
    "kernels": (CurvedKernelClassifier, READY | BY_LANDMARKS),
    "kernels in ranks": (CurvedKernelClassifier, RANKS | BY_LANDMARKS),
    "kernels in a learned metric": (CurvedKernelClassifier, LEARNED | BY_LANDMARKS),
    "neighbours": (CurvedKNeighborsClassifier, READY),
    "neighbours in a product": (CurvedKNeighborsClassifier, {}),
}
REGRESSORS = {
    "kernels": (CurvedKernelRegressor, READY | BY_LANDMARKS),
    "neighbours in a flat metric": (CurvedKNeighborsRegressor, {"geometry": "flat"}),
}


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    monkeypatch.setattr(samples, "FIRST_SAMPLE", 400)
    monkeypatch.setattr(samples, "MOST_WORK", 4 * 800**2)
    monkeypatch.setattr(samples, "LEARN_FROM", 1500)
    monkeypatch.setattr(landmarks, "EXACT_ROWS", 1000)
    monkeypatch.setattr(landmarks, "LEAST_LEAF", 300)
    monkeypatch.setattr(landmarks, "MOST_LEAF", 400)


def table(n=N, seed=0):
    """Rows of columns of different shapes, three classes, numbers, and queries."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, 4)) ** [0.3, 0.6, 1.0, 1.4]
    y = (X[:, 0] + X[:, 1] > 1.6).astype(int) + (X[:, 2] + 0.3 * rng.normal(size=n) > 1.5)
    numbers = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=n)
    return X, y, numbers, rng.exponential(size=(50, 4)) ** [0.3, 0.6, 1.0, 1.4]


def changed(X, y, Q, names=None):
    """Yield the same question in other words, and the order of the classes in its answer."""
    rng = np.random.default_rng(1)
    n = len(X)
    rows, columns = rng.permutation(n), rng.permutation(X.shape[1])
    yield "twice", np.tile(X, (2, 1)), np.tile(y, 2), None, Q
    yield "order of rows", X[rows], y[rows], None, Q
    yield "order of columns", X[:, columns], y, None, Q[:, columns]
    yield "unit of weights", X, y, np.full(n, 2.0**-20), Q
    if names is not None:
        yield "names", X, names[y], None, Q


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_only_the_values_of_rows_choose_a_classifier(name):
    X, y, _, Q = table()
    kind, parameters = CLASSIFIERS[name]
    expected = kind(random_state=0, **parameters).fit(X, y).predict_proba(Q)
    for what, *rows, weights, queries in changed(X, y, Q, NAMES):
        model = kind(random_state=0, **parameters).fit(*rows, sample_weight=weights)
        found = model.predict_proba(queries)
        if what == "names":
            found = found[:, np.searchsorted(model.classes_, NAMES)]
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=what)


@pytest.mark.parametrize("name", REGRESSORS)
def test_only_the_values_of_rows_choose_a_regressor(name):
    X, _, y, Q = table()
    kind, parameters = REGRESSORS[name]
    expected = kind(random_state=0, **parameters).fit(X, y).predict(Q)
    for what, *rows, weights, queries in changed(X, y, Q):
        model = kind(random_state=0, **parameters).fit(*rows, sample_weight=weights)
        np.testing.assert_allclose(model.predict(queries), expected, atol=1e-5, err_msg=what)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weights_of_many_rows_are_copies(name):
    X, y, _, Q = table()
    copies = np.random.default_rng(2).integers(1, 4, size=N)
    kind, parameters = CLASSIFIERS[name]
    weighed = kind(random_state=0, **parameters).fit(X, y, sample_weight=copies.astype(float))
    copied = kind(random_state=0, **parameters)
    copied.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighed.predict_proba(Q), copied.predict_proba(Q), atol=1e-6)


def test_a_large_table_of_categories_given_twice_is_the_table_given_once():
    """Most rows share their place with other classes: each row is an observation, not a copy."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(9000, 5)).astype(float)
    chance = np.where(X[:, 0] + X[:, 1] > 4, 0.65, 0.35)
    y = (rng.uniform(size=9000) < chance).astype(int)
    given = GivenRows(X, y, np.ones(9000), 5, np.arange(2))
    pooled, _, counted = pool_pairs(given)
    assert counted
    assert pooled.weights.sum() == 9000
    for parts in ("columns", "plain"):
        models = [
            CurvedKernelClassifier(parts, random_state=0, **BY_LANDMARKS).fit(*rows)
            for rows in ((X, y), (np.tile(X, (2, 1)), np.tile(y, 2)))
        ]
        once, twice = (model.predict_proba(X[:50]) for model in models)
        np.testing.assert_allclose(twice, once, atol=1e-6)


@pytest.mark.parametrize("kind", [CurvedLMNN, CurvedMLKR])
def test_a_learner_draws_the_same_rows_whatever_their_order_and_names(kind):
    X, y, numbers, _ = table()
    targets = y if kind is CurvedLMNN else numbers
    learner = kind(geometry="flat", subsample=1200, n_passes=2, random_state=0)
    D = learner.fit(X, targets).metric_.pairwise(X[:20])
    names = NAMES if kind is CurvedLMNN else None
    for what, *rows, weights, queries in changed(X, targets, X[:20], names):
        found = learner.fit(*rows, sample_weight=weights).metric_.pairwise(queries)
        np.testing.assert_allclose(found, D, rtol=1e-5, atol=1e-7, err_msg=what)


def test_other_seeds_draw_other_rows():
    X, y, _, Q = table()
    shares = []
    for seed in (0, 0, 1):
        model = CurvedKernelClassifier("metric", random_state=seed, **READY, **BY_LANDMARKS)
        shares.append(model.fit(X, y).predict_proba(Q))
    np.testing.assert_array_equal(shares[0], shares[1])
    assert not np.allclose(shares[0], shares[2])


# -- what is drawn ------------------------------------------------------------------------


def contested(n=300, seed=0):
    """Rows at few places, of several classes there, some of them without weight."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 3)).astype(float) ** [1.0, 1.5, 0.5]
    return X, rng.integers(0, 3, size=n), rng.integers(0, 4, size=n).astype(float)


def test_pooled_pairs_are_the_weights_of_each_place_and_target():
    X, y, weights = contested()
    pooled, first, counted = pool_pairs(GivenRows(X, y, weights, 3, np.arange(3)))
    expected = {}
    for row, label, weight in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
        if weight:
            expected[(*row, label)] = expected.get((*row, label), 0.0) + weight
    found = {}
    for row, label, weight in zip(pooled.X.tolist(), pooled.target, pooled.weights, strict=True):
        found[(*row, label)] = weight
    assert counted
    assert found == expected
    np.testing.assert_array_equal(X[first], pooled.X)
    np.testing.assert_array_equal(y[first], pooled.target)
    for at, (row, label) in enumerate(zip(pooled.X, pooled.target, strict=True)):
        same = (row == X).all(axis=1) & (y == label) & (weights > 0)
        assert first[at] == np.flatnonzero(same)[0]


def test_pooled_places_weigh_one_on_average_where_copies_are_no_evidence():
    X = np.repeat(np.arange(5.0), [3, 1, 1, 2, 1])[:, None]
    y = np.array([0, 0, 1, 0, 1, 1, 1, 0])
    pooled, first, counted = pool_pairs(GivenRows(X, y, np.full(8, 3.0), 1, np.arange(2)))
    assert not counted
    assert first.tolist() == [0, 2, 3, 4, 5, 7]  # the heavier class of the first place first
    np.testing.assert_allclose(pooled.weights, np.array([2, 1, 1, 1, 2, 1]) * 5 / 8)


def test_many_places_are_held_out_whole_and_a_fifth_of_them():
    X, y, weights = contested()
    given, _, _ = pool_pairs(GivenRows(X, y, weights, 3, np.arange(3)))
    rest, out = folds.hold_out_once(given, False, np.random.default_rng(0))
    taught = set(map(tuple, rest.X[rest.weights > 0]))
    held = set(map(tuple, out.X))
    assert not taught & held
    assert taught | held == set(map(tuple, given.X))
    assert len(held) == pytest.approx(len(taught | held) / 5, abs=2)
    assert rest.weights.sum() + out.weights.sum() == pytest.approx(given.weights.sum())


def test_counted_observations_are_held_out_one_by_one(monkeypatch):
    X, y, weights = contested()
    given, _, _ = pool_pairs(GivenRows(X, y, weights, 3, np.arange(3)))
    for most, expected in ((2000, int(0.2 * weights.sum())), (40, 40)):
        monkeypatch.setattr(folds, "MOST_HELD_OUT", most)
        rest, out = folds.hold_out_once(given, True, np.random.default_rng(0))
        whole = np.bincount(y, weights)
        held = np.bincount(out.target, out.weights)
        np.testing.assert_allclose(held, whole * expected / whole.sum(), atol=1)
        left = {(*x, t): w for *x, t, w in zip(*rest.X.T, rest.target, rest.weights, strict=True)}
        for *x, t, w in zip(*out.X.T, out.target, out.weights, strict=True):
            left[(*x, t)] += w
        assert list(left.values()) == given.weights.tolist()


def test_samples_have_every_class_by_its_share_whatever_its_name():
    X, y, _, _ = table(600)
    orders = []
    for labels in (y, np.array([1, 2, 0])[y]):
        rows = TrainingRows.from_raw(X, labels, np.ones(600))
        order = rows.nested_order(np.random.default_rng(3))
        orders.append(rows.as_given[order])
        for size in (30, 100, 300):
            shares = np.bincount(rows.labels[order[:size]], minlength=3) / size
            np.testing.assert_allclose(shares, np.bincount(labels) / 600, atol=2 / size)
        assert sorted(order) == list(range(600))
    np.testing.assert_allclose(orders[0], orders[1], rtol=1e-12)


def test_the_points_of_rows_are_their_places():
    X, y, weights = contested()
    rows = TrainingRows.from_raw(X, y, weights)
    first, point = rows.points
    np.testing.assert_array_equal(rows.X[first][point], rows.X)
    assert len(np.unique(rows.X, axis=0)) == len(first)
    for renamed in (np.array([2, 0, 1])[y], np.array([1, 2, 0])[y]):
        other = TrainingRows.from_raw(X, renamed, weights)
        np.testing.assert_allclose(other.X[other.points[0]], rows.X[first], rtol=1e-12)
        np.testing.assert_allclose(other.weights[other.order], rows.weights[rows.order])
