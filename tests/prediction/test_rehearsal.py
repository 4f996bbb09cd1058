"""What held-out rows choose by is what a fitted model says of them, and plain sums of its parts."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
)
from cayleyklein.learning.choice import choose_candidate
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.parts.votes import NEIGHBORS
from cayleyklein.prediction import rehearsal
from cayleyklein.prediction.conformal import quantile
from cayleyklein.prediction.kernel_predictor import part_shares
from cayleyklein.prediction.rehearsal import ClassTrials, NumberTrials

FLAT = CurvedMetric.euclidean(3)


def labelled(n=260, seed=0):
    """Distinct rows of three classes in standardised columns, cut in two."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    X = rng.normal(size=(n, 3)) + y[:, None] * [0.7, -0.4, 0.0]
    rows = TrainingRows.from_raw(X, y, np.ones(n))
    cut = rng.permutation(n)
    return rows.take(cut[: 2 * n // 3]), rows.take(cut[2 * n // 3 :])


def numbered(n=260, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.2 * rng.normal(size=(n, 2))
    rows = TrainingRows.from_targets(X, Y, rng.uniform(0.5, 2, size=n))
    cut = rng.permutation(n)
    return rows.take(cut[: 2 * n // 3]), rows.take(cut[2 * n // 3 :])


def test_class_trials_are_what_a_fitted_classifier_says():
    train, out = labelled()
    found = ClassTrials().predict(train, out, train.X, out.X)
    assert found.shape == (len(NEIGHBORS), len(out), 3)
    for k, shares in zip(NEIGHBORS, found, strict=True):
        model = CurvedKNeighborsClassifier(k, metric=FLAT).fit(train.X, train.labels)
        np.testing.assert_allclose(shares, model.predict_proba(out.X), rtol=1e-7, atol=1e-12)


def test_number_trials_are_what_a_fitted_regressor_says():
    train, out = numbered()
    found = NumberTrials().predict(train, out, train.X, out.X)
    for k, means in zip(NEIGHBORS, found, strict=True):
        model = CurvedKNeighborsRegressor(k, metric=FLAT)
        model.fit(train.X, train.targets, sample_weight=train.weights)
        np.testing.assert_allclose(means, model.predict(out.X), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("weights", ["local", "uniform", "linear", "distance"])
@pytest.mark.parametrize("numbers", [(1,), (3, 9, 40)])
def test_votes_by_distance_are_what_a_fitted_classifier_says(weights, numbers):
    train, out = labelled()
    asked = ClassTrials(numbers, weights)
    places = train.X[train.points[0]]
    among = FLAT.pairwise(places) if asked.are_local else None
    found = asked.predict_by_distance(train, out, FLAT.pairwise(out.X, places), among)
    for k, shares in zip(numbers, found, strict=True):
        model = CurvedKNeighborsClassifier(k, metric=FLAT, weights=weights)
        expected = model.fit(train.X, train.labels).predict_proba(out.X)
        np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-12)


def test_a_class_that_is_held_out_whole_keeps_some_probability():
    train, out = labelled()
    some = train.take(np.flatnonzero(train.labels < 2))
    found = ClassTrials().predict(some, out, some.X, out.X)
    assert found.shape[2] == 3
    assert found[:, :, 2].min() > 0
    losses, right = ClassTrials().scores(found, out)
    assert np.isfinite(losses).all()
    own = np.array([[found[a, i, out.labels[i]] for i in range(len(out))] for a in range(8)])
    np.testing.assert_allclose(losses, -np.log(own))
    np.testing.assert_array_equal(right, found.argmax(axis=2) == out.labels)


def test_squared_errors_are_added_over_the_targets():
    _, out = numbered()
    predictions = np.random.default_rng(0).normal(size=(8, len(out), 2))
    (found,) = NumberTrials().scores(predictions, out)
    for a in range(8):
        for i in range(len(out)):
            assert found[a, i] == pytest.approx(sum((predictions[a, i] - out.targets[i]) ** 2))
    mean = np.zeros((1, len(out), 2))  # the mean of all rows has R² near 0
    (loss,) = NumberTrials().scores(mean, out)
    assert NumberTrials().named(loss @ out.shares)["R²"] == pytest.approx(0.0, abs=0.3)


def test_defaults_where_few_rows_are_there():
    assert [ClassTrials().default_neighbors(n) for n in (10, 80, 1000)] == [3, 8, 15]
    assert [NumberTrials().default_neighbors(n) for n in (2, 15, 1000)] == [1, 5, 9]


def test_numbers_of_neighbours_of_many_rows_are_chosen_by_some(monkeypatch):
    monkeypatch.setattr(rehearsal, "LEFT_OUT_ROWS", 50)
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 1))
    Y = np.sin(X) + 0.02 * rng.normal(size=X.shape)
    smooth, noise = (CurvedKNeighborsRegressor(geometry="flat", random_state=0) for _ in range(2))
    few = smooth.fit(X, Y[:, 0]).n_neighbors_
    assert noise.fit(X, rng.normal(size=400)).n_neighbors_ > few


@pytest.mark.parametrize("tie", [0.5, -0.5, 0.0])
def test_the_first_candidate_wins_by_its_tie(tie):
    """Its mean gain over the best of the others, in standard errors, must be more than the tie."""
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0.5, 2, size=30), rng.uniform(0.5, 2, size=20)]
    share = np.concatenate(weights) / sum(map(np.sum, weights))
    wiggle = rng.normal(size=50)
    wiggle -= share @ wiggle
    error = np.sqrt(share**2 @ wiggle**2)
    for gain, first in ((tie + 0.1, True), (tie - 0.1, False)):
        loss = 1.0 + 0 * wiggle
        better = loss - wiggle - gain * error
        scores = {}
        for name, values in (("a", better), ("b", loss), ("c", loss + 0.5)):
            several = np.tile(values, (8, 1)) + 0.3 * (np.arange(8) != 4)[:, None]
            both = np.stack([several, np.ones((8, 50))])
            scores[name] = [both[:, :, :30], both[:, :, 30:]]
        found = choose_candidate(scores, weights, ClassTrials(), NEIGHBORS, tie=tie)
        assert found.chosen == ("a" if first else "b")
        assert found.n_neighbors == NEIGHBORS[4]
        assert found.trials[0].scores["log loss"] == pytest.approx(share @ better)
        assert "50 held-out rows" in found.reason
        assert f"{'b' if first else 'a'} " in found.reason


# -- sums -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=160) > 0).astype(int) + (X[:, 1] > 1)
    return X, y, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=160)


def test_an_answer_is_a_weighted_sum_of_the_scores_of_its_parts(table):
    X, y, _ = table
    model = CurvedKernelClassifier(metric=FLAT, random_state=0).fit(X, y)
    total = sum(w * model._sum.parts[name].scores(X) for name, w in model.part_weights_.items())
    prior = np.bincount(y) / 160
    expected = (160 * softmax(total, axis=1) + prior) / 161
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-10)


def test_spreads_of_numbers_are_those_of_the_machines_times_held_out_errors(table):
    X, _, z = table
    model = CurvedKernelRegressor(metric=FLAT, random_state=0).fit(X, z)
    Q = np.random.default_rng(1).normal(size=(10, 3))
    known = []
    for name, part in model._sum.parts.items():
        if name not in ("metric", "columns"):
            continue
        gram = np.exp(-part.gamma * part.distance(part.rows))
        cross = np.exp(-part.gamma * part.distance(Q, part.rows))
        inverse = np.linalg.inv(gram + np.diag(part.noise))
        known.append(1 + part.tuning.ridge - np.einsum("mp,pq,mq->m", cross, inverse, cross))
    spread = np.sqrt(np.mean(known, axis=0))
    _, std = model.predict(Q, return_std=True)
    np.testing.assert_allclose(std / std[0], spread / spread[0], rtol=1e-6)
    factor = np.sqrt(model._error_shares @ model._errors[:, 0] ** 2)
    np.testing.assert_allclose(std, spread * factor * z.std(), rtol=1e-6)
    low, high = model.predict_interval(Q, 0.8)
    np.testing.assert_allclose((low + high) / 2, model.predict(Q))
    size = quantile(np.abs(model._errors[:, 0]), model._error_shares, 0.8)
    np.testing.assert_allclose((high - low) / 2, spread * z.std() * size, rtol=1e-6)


def test_quantiles_leave_room_for_one_more_value():
    rng = np.random.default_rng(0)
    values = rng.normal(size=19)
    shares = np.full(19, 1 / 19)
    for level, rank in ((0.5, 10), (0.05, 1), (0.95, 19), (0.99, 19), (0.51, 11)):
        assert quantile(values, shares, level - 1e-9) == np.sort(values)[rank - 1]
    weighed = quantile(np.array([3.0, 1.0, 2.0]), np.array([0.1, 0.8, 0.1]), 0.59)
    assert weighed == 1.0  # reached 0.8 · 3/4
    assert quantile(np.array([3.0, 1.0, 2.0]), np.array([0.1, 0.8, 0.1]), 0.61) == 2.0


def test_shares_of_parts_are_their_weights_times_their_spreads(table):
    X, y, _ = table
    model = CurvedKernelClassifier(metric=FLAT, random_state=0).fit(X, y)
    assert sum(model.part_shares_.values()) == pytest.approx(1.0)
    assert set(model.part_shares_) == set(model.part_weights_)

    held_out = SimpleNamespace(scores={"a": np.array([[1.0, -1.0]]), "b": np.array([[3.0, -3.0]])})
    weights = {"a": 0.6, "b": 0.1}
    found = part_shares(SimpleNamespace(held_out=held_out, sum=SimpleNamespace(weights=weights)))
    assert found == {"a": pytest.approx(6 / 9), "b": pytest.approx(3 / 9)}


def test_columns_that_nothing_depends_on_have_no_share():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    metric = CurvedMetric(factor=np.diag([1.0, 0.5, 0.0]))
    model = CurvedKernelRegressor("metric", metric=metric, random_state=0)
    found = model.fit(X, X[:, 0] + 0.5 * X[:, 1]).feature_weights()
    rows = X[np.unique(np.linspace(0, 79, 64).astype(int))]
    said = model.predict(rows)
    changes = []
    for j in range(3):
        changed = rows.copy()
        changed[:, j] = np.roll(rows[:, j], len(rows) // 2)
        changes.append(np.mean((model.predict(changed) - said) ** 2))
    np.testing.assert_allclose(found, np.array(changes) / sum(changes), atol=1e-12)
    assert found[2] < 1e-20 < 0.01 < found[1] < found[0]


def test_what_a_column_adds_is_the_answer_without_its_mean_over_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    model = CurvedKernelRegressor("metric", metric=FLAT, random_state=0).fit(X, X @ [1.0, 0.5, 0.2])
    why = model.explain(X[7])
    reference = X[np.unique(np.linspace(0, 79, 16).astype(int))]
    for j in range(3):
        others = np.tile(X[7], (16, 1))
        others[:, j] = reference[:, j]
        assert why.columns[j] == pytest.approx(
            model.predict(X[7:8])[0] - model.predict(others).mean()
        )


def test_without_held_out_rows_numbers_spread_as_the_targets_do():
    model = CurvedKernelRegressor(metric=CurvedMetric.euclidean(1), random_state=0)
    mean, std = model.fit([[0.0], [1.0]], [3.0, 7.0]).predict([[0.5], [9.0]], return_std=True)
    assert "too few" in model.selection_.reason
    np.testing.assert_allclose(std, 2.0)
    low, high = model.predict_interval([[0.5]], 0.9)
    np.testing.assert_allclose([low[0], high[0]], [mean[0] - 2.0, mean[0] + 2.0])
