"""The kernel classifier and regressor through their public entrances."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_friedman1
from sklearn.frozen import FrozenEstimator

from cayleyklein import (
    MMC,
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import folds
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts import landmarks
from cayleyklein.prediction.state import kernel_state, restore_kernel

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def nested(n, seed=0):
    """Return two Gaussians of ten dimensions with one centre, one twice as wide."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    return rng.normal(size=(n, 10)) * np.where(y == 0, 1.0, 2.0)[:, None], y


@pytest.fixture(scope="module")
def model():
    return CurvedKernelClassifier(random_state=0).fit(X, NAMES)


def test_probabilities_are_never_certain_and_choose_the_class(model):
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert 0 < shares.min() < shares.max() < 1
    assert (model.predict(X) == model.classes_[shares.argmax(axis=1)]).all()
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(shares))
    np.testing.assert_allclose(model.decision_function(X), np.log(shares))


def test_two_classes_have_log_odds():
    some = Y < 2
    model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(X[some], NAMES[some])
    odds = model.decision_function(X[some])
    assert odds.shape == (100,)
    assert ((odds > 0) == (model.predict(X[some]) == "versicolor")).all()


def test_selection_tells_of_each_part(model):
    names = [trial.name for trial in model.selection_.trials]
    assert names == [
        "metric", "columns", "neighbors", "plain", "metric + columns + neighbors + plain",
    ]  # fmt: skip
    losses = [trial.scores["log loss"] for trial in model.selection_.trials]
    assert losses[-1] <= min(losses[:-1]) + 0.02
    assert set(model.part_weights_) <= {"metric", "columns", "neighbors", "plain"}
    assert min(model.part_weights_.values()) > 0


def test_a_given_number_of_neighbors_is_the_one_that_is_judged():
    model = CurvedKernelClassifier("plain", n_neighbors=7, random_state=0).fit(X, Y)
    assert model.n_neighbors_ == {"plain": 7}
    assert {trial.n_neighbors for trial in model.selection_.trials} == {7}


def test_kernels_do_what_votes_cannot():
    A, a = nested(300)
    B, b = nested(1000, seed=1)
    kernel = CurvedKernelClassifier(geometry="flat", random_state=0).fit(A, a).score(B, b)
    votes = CurvedKNeighborsClassifier(geometry="flat", random_state=0).fit(A, a).score(B, b)
    assert kernel > votes + 0.05


def test_heavy_tails_are_ranked():
    rng = np.random.default_rng(0)
    A = rng.standard_cauchy(size=(400, 6))
    a = (np.tanh(A[:, 0]) + np.tanh(A[:, 1]) > 0).astype(int)
    model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(A[:200], a[:200])
    assert model.columns_ == "ranks"
    as_is = CurvedKernelClassifier(geometry="flat", columns="standardised", random_state=0)
    assert model.score(A[200:], a[200:]) > as_is.fit(A[:200], a[:200]).score(A[200:], a[200:])
    assert model.feature_weights()[:2].sum() > 0.5


def test_a_single_heavy_tail_adds_a_part():
    A, a = nested(200)
    A[3, 2] = 40.0
    model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(A, a)
    names = model.selection_.trials[-1].name
    assert names == "metric + columns + ranks + neighbors + plain"
    assert model.columns_ == "standardised"
    asked = CurvedKernelClassifier(("ranks", "columns"), random_state=0).fit(X, NAMES)
    assert [trial.name for trial in asked.selection_.trials] == [
        "columns", "ranks", "columns + ranks",
    ]  # fmt: skip
    assert asked.score(X, NAMES) > 0.9


# -- what must stay true ------------------------------------------------------------


def some_table(seed=0):
    """Return rows of columns of different shapes, and three classes."""
    rng = np.random.default_rng(seed)
    A = rng.exponential(size=(90, 4)) ** [0.3, 0.6, 1.0, 1.4]
    a = (A[:, 0] + A[:, 1] > 1.6).astype(int) + (A[:, 2] + 0.3 * rng.normal(size=90) > 1.5)
    return A, a, rng.exponential(size=(40, 4)) ** [0.3, 0.6, 1.0, 1.4]


@pytest.mark.filterwarnings("ignore:Classes .* have fewer than 4 distinct rows")
@pytest.mark.parametrize("kind", [CurvedKernelClassifier, CurvedKNeighborsClassifier])
def test_a_table_given_twice_is_the_table_given_once(kind):
    A, a, Q = some_table()
    once = kind(random_state=0).fit(A, a).predict_proba(Q)
    twice = kind(random_state=0).fit(np.tile(A, (2, 1)), np.tile(a, 2)).predict_proba(Q)
    np.testing.assert_allclose(twice, once, atol=1e-6)


def test_a_table_of_categories_given_twice_is_the_table_given_once():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, size=(300, 4)).astype(float)
    a = (rng.uniform(size=300) < 0.1 + 0.8 * (A[:, 0] == A[:, 1])).astype(int)
    once = CurvedKernelClassifier(random_state=0).fit(A, a)
    twice = CurvedKernelClassifier(random_state=0).fit(np.tile(A, (2, 1)), np.tile(a, 2))
    np.testing.assert_allclose(twice.predict_proba(A), once.predict_proba(A), atol=1e-6)


@pytest.mark.parametrize("kind", [CurvedKernelClassifier, CurvedKNeighborsClassifier])
def test_neither_names_of_classes_nor_orders_nor_units_matter(kind):
    A, a, Q = some_table()
    rng = np.random.default_rng(1)
    once = kind(random_state=0).fit(A, a).predict_proba(Q)
    names = np.array(["z", "m", "a"])
    renamed = kind(random_state=0).fit(A, names[a]).predict_proba(Q)[:, ::-1]
    np.testing.assert_allclose(renamed, once, atol=1e-5)
    columns, rows = rng.permutation(4), rng.permutation(90)
    moved = kind(random_state=0).fit(A[rows][:, columns], a[rows]).predict_proba(Q[:, columns])
    np.testing.assert_allclose(moved, once, atol=1e-5)
    scaled = kind(random_state=0).fit(A * 2.0**20, a).predict_proba(Q * 2.0**20)
    np.testing.assert_allclose(scaled, once, atol=1e-5)


def test_held_out_rows_teach_nothing():
    """On labels that mean nothing, folds promise nothing."""
    rng = np.random.default_rng(0)
    A, a = rng.normal(size=(150, 30)), rng.integers(0, 2, size=150)
    model = CurvedKernelClassifier(random_state=0).fit(A, a)
    loss = model.selection_.trials[-1].scores["log loss"]
    assert loss > 0.66
    shares = model.predict_proba(rng.normal(size=(500, 30)))
    assert np.abs(shares - 0.5).mean() < 0.2


@pytest.mark.parametrize("parts", ["metric", "columns", "neighbors", ["plain"]])
def test_one_part_alone(parts):
    model = CurvedKernelClassifier(parts, geometry="flat", random_state=0).fit(X[::2], Y[::2])
    assert list(model.part_weights_) == [parts if isinstance(parts, str) else parts[0]]
    assert model.score(X[1::2], Y[1::2]) > 0.9
    assert (model.metric_ is None) == (parts in ("columns", ["plain"]))
    assert model.feature_weights().sum() == pytest.approx(1.0)
    assert model.explain(X[0]).prediction == 0


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
@pytest.mark.parametrize("geometry", ["elliptic", "hyperbolic", "learned", "mixed"])
def test_every_geometry_fits(geometry):
    model = CurvedKernelClassifier("metric", geometry=geometry, random_state=0)
    model = model.fit(X[::2], Y[::2])
    assert model.score(X[1::2], Y[1::2]) > 0.9
    assert np.isfinite(model.predict_proba(100 * X)).all()  # outside a hyperbolic domain too


def test_learners_and_metrics_are_taken():
    ready = CurvedKernelClassifier(metric=CurvedMetric.euclidean(4), random_state=0).fit(X, Y)
    assert ready.metric_.geometry == "flat"
    assert ready.learner_ is None
    learned = CurvedKernelClassifier(learner=MMC(), random_state=0).fit(X[::3], Y[::3])
    assert isinstance(learned.learner_, MMC)
    fitted = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, Y)
    frozen = CurvedKernelClassifier(learner=FrozenEstimator(fitted), random_state=0).fit(X, Y)
    assert frozen.metric_ is fitted.metric_


def test_weights_and_copies():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, size=len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), weights.astype(int))

    def shares(X, y, w=None):
        model = CurvedKernelClassifier(geometry="flat", random_state=0)
        return model.fit(X, y, sample_weight=w).predict_proba(load_iris().data)

    weighed = shares(X, Y, weights)
    np.testing.assert_allclose(weighed, shares(X[rows], Y[rows]), atol=1e-7)
    np.testing.assert_allclose(weighed, shares(X, Y, 1e-6 * weights), atol=1e-7)
    order = rng.permutation(len(X))
    np.testing.assert_allclose(weighed, shares(X[order], Y[order], weights[order]), atol=1e-7)


def test_class_weights_are_row_weights():
    given = np.where(Y == 2, 3.0, 1.0)
    for kind in (CurvedKernelClassifier, CurvedKNeighborsClassifier):
        one = kind(geometry="flat", class_weight={2: 3.0}, random_state=0).fit(X, Y)
        two = kind(geometry="flat", random_state=0).fit(X, Y, sample_weight=given)
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)
        some = np.r_[0:50, 50:60]
        balanced = kind(geometry="flat", class_weight="balanced", random_state=0)
        shares = balanced.fit(X[some], Y[some]).predict_proba(X.mean(axis=0, keepdims=True))
        plain = kind(geometry="flat", random_state=0).fit(X[some], Y[some])
        assert shares[0, 1] >= plain.predict_proba(X.mean(axis=0, keepdims=True))[0, 1]


def test_explanations_add_up(model):
    why = model.explain(X[75])
    direction = np.where(model.classes_ == why.prediction, 1.0, -0.5)
    assert sum(why.parts.values()) == pytest.approx(
        float((model._sum.total(X[75:76]) @ direction)[0])
    )
    assert why.effects[0] == max(why.effects, key=abs)
    assert (why.labels == NAMES[why.rows]).all()
    assert "for" in repr(why)
    assert "against" in repr(why)
    assert len(model.explain(X[:3])) == 3


def test_models_are_pickled_without_their_factors(model):
    model.explain(X[0])  # computes factors of all rows
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "_systems" not in vars(again._sum.parts["columns"])


# -- numbers ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_regression_has_intervals_that_cover():
    A, a = make_friedman1(900, noise=1.0, random_state=0)
    model = CurvedKernelRegressor(geometry="flat", random_state=0).fit(A[:300], a[:300])
    mean, std = model.predict(A[300:], return_std=True)
    assert model.score(A[300:], a[300:]) > 0.85
    assert 0.8 < np.sqrt(np.mean(((mean - a[300:]) / std) ** 2)) < 1.2
    for level in (0.5, 0.8, 0.95):
        low, high = model.predict_interval(A[300:], level)
        assert abs(((low <= a[300:]) & (a[300:] <= high)).mean() - level) < 0.06
    far = model.predict(A[:1] + 50.0, return_std=True)[1]
    assert far[0] > 1.5 * std.mean()
    assert np.isfinite(model.log_marginal_likelihood_)


def test_several_targets():
    A, a = load_diabetes(return_X_y=True)
    both = np.column_stack([a, 1000 * A[:, 2]])
    model = CurvedKernelRegressor(geometry="flat", random_state=0).fit(A[:150], both[:150])
    mean, std = model.predict(A[150:160], return_std=True)
    assert mean.shape == std.shape == (10, 2)
    assert model.explain(A[0], target=1).columns.argmax() == 2
    low, high = model.predict_interval(A[150:160], 0.9)
    assert (low < high).all()


def test_constant_targets_and_few_rows():
    with pytest.warns(UserWarning, match="y is the same in every row"):
        constant = CurvedKernelRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [5.0] * 3)
    np.testing.assert_allclose(constant.predict([[0.5], [9.0]]), 5.0)
    two = CurvedKernelClassifier(random_state=0)
    with pytest.warns(UserWarning, match="fewer than 4 distinct rows"):
        two.fit([[0.0], [1.0]], ["a", "b"])
    assert two.predict([[0.1], [0.9]]).tolist() == ["a", "b"]
    assert "too few" in two.selection_.reason


def test_equal_rows_with_different_targets():
    A, a = np.repeat([[0.0], [1.0], [2.0], [3.0]], 10, axis=0), np.tile([0, 0, 1, 0, 0], 8)
    a[20:] = 1 - a[20:]
    model = CurvedKernelClassifier(random_state=0).fit(A, a)
    np.testing.assert_allclose(model.predict_proba([[0.0], [3.0]])[:, 0], [0.8, 0.2], atol=0.15)


# -- many rows ----------------------------------------------------------------------


@pytest.fixture
def few_are_many(monkeypatch):
    """Let a few hundred rows take the way of many."""
    monkeypatch.setattr(folds, "FOLDS_UP_TO", 200)
    monkeypatch.setattr(folds, "MOST_HELD_OUT", 100)
    monkeypatch.setattr(landmarks, "EXACT_ROWS", 150)
    monkeypatch.setattr(landmarks, "LEAST_LEAF", 60)
    monkeypatch.setattr(landmarks, "MOST_LEAF", 120)


@pytest.mark.usefixtures("few_are_many")
def test_landmarks_do_about_as_well(monkeypatch):
    A, a = make_classification(1500, 8, n_informative=5, n_redundant=0, random_state=1)
    many = CurvedKernelClassifier(geometry="flat", random_state=0).fit(A[:600], a[:600])
    for name in ("metric", "columns"):
        machine = many._sum.parts[name]
        assert len(machine.landmarks) <= 300
        assert min(view.tree.n_leaves for view in machine.views) >= 5
    monkeypatch.setattr(folds, "FOLDS_UP_TO", 2500)
    exact = CurvedKernelClassifier(geometry="flat", random_state=0).fit(A[:600], a[:600])
    assert many.score(A[600:], a[600:]) > exact.score(A[600:], a[600:]) - 0.04
    assert len(many.explain(A[0]).rows) > 10
    assert (many.explain(A[0]).labels == a[many.explain(A[0]).rows]).all()
    again = CurvedKernelClassifier(geometry="flat", random_state=0)
    given = GivenRows.read(again, A[:600], a[:600], None)
    restore_kernel(again, kernel_state(many), given, many.metric_)
    np.testing.assert_array_equal(again.predict_proba(A), many.predict_proba(A))


@pytest.mark.usefixtures("few_are_many")
def test_many_rows_of_numbers_and_heavy_tails():
    rng = np.random.default_rng(0)
    A = rng.standard_cauchy(size=(700, 4))
    a = np.tanh(A[:, 0]) + 0.5 * np.tanh(A[:, 1]) + 0.1 * rng.normal(size=700)
    model = CurvedKernelRegressor(geometry="flat", columns="ranks", random_state=0)
    assert model.fit(A[:500], a[:500]).score(A[500:], a[500:]) > 0.95
    low, high = model.predict_interval(A[500:], 0.8)
    assert 0.7 < ((low < a[500:]) & (a[500:] < high)).mean() < 0.9


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("geometry", ["auto", "mixed"])
def test_the_metric_of_many_rows_is_learned_from_a_sample(geometry):
    A, a = nested(400)
    A[7] *= 30.0  # a heavy tail, so that ranks are looked at
    model = CurvedKernelClassifier(geometry=geometry, random_state=0).fit(A[:320], a[:320])
    assert set(model.part_weights_) <= {"metric", "columns", "neighbors", "plain", "rules"}
    assert model.metric_.geometry == ("mixed" if geometry == "mixed" else "product")
    assert model.score(A[320:], a[320:]) > 0.6


@pytest.mark.usefixtures("few_are_many")
def test_the_number_of_landmarks_can_be_given():
    A, a = nested(400)
    model = CurvedKernelClassifier("metric", geometry="flat", n_landmarks=40, random_state=0)
    assert len(model.fit(A, a)._sum.parts["metric"].landmarks) == 40


def test_what_repeats_is_sure():
    """In a table of categories new rows repeat old ones; probabilities are the shares there."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, size=(900, 4)).astype(float)
    chance = 0.1 + 0.8 * ((A @ [8, 4, 2, 1]) % 3 == 0)
    a = (rng.uniform(size=900) < chance).astype(int)
    model = CurvedKernelClassifier(random_state=0).fit(A[:600], a[:600])
    shares = [a[:600][(A[:600] == row).all(axis=1)].mean() for row in A[600:]]
    np.testing.assert_allclose(model.predict_proba(A[600:])[:, 1], shares, atol=0.13)


# -- bad input ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"ridge": -1.0}, "ridge"),
        ({"parts": ()}, "parts must be one or more of"),
        ({"parts": ["metric", "metric"]}, "each once"),
        ({"parts": ["votes"]}, "got \\['votes'\\]"),
        ({"columns": "log"}, "columns"),
        ({"n_landmarks": 0}, "n_landmarks"),
        ({"class_weight": {"rose": 2.0}}, "not in y"),
        ({"class_weight": {0: -1.0}}, "finite numbers"),
        ({"metric": CurvedMetric.euclidean(3)}, "3"),
        ({"metric": CurvedMetric.euclidean(4), "columns": "ranks"}, "drop one"),
        ({"metric": CurvedMetric.euclidean(4), "geometry": "flat"}, "no effect"),
        ({"learner": CurvedLMNN}, "not the class"),
    ],
)
def test_bad_parameters_are_refused_and_nothing_is_fitted(parameters, message):
    model = CurvedKernelClassifier(**parameters)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_bad_rows_are_refused():
    bad = X.astype(object)
    bad[3, 1] = "tall"
    with pytest.raises(InvalidInputError, match="tall"):
        CurvedKernelClassifier(metric=CurvedMetric.euclidean(4)).fit(bad, Y)
    with pytest.raises(InvalidInputError, match="1 class"):
        CurvedKernelClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="y"):
        CurvedKernelRegressor().fit(X, NAMES)
    model = CurvedKernelRegressor("columns", random_state=0).fit(X[:, :3], X[:, 3])
    for level in (0.0, 1.0, "high"):
        with pytest.raises(InvalidInputError, match="level"):
            model.predict_interval(X[:, :3], level)
    with pytest.raises(InvalidInputError, match="3"):
        model.predict(X)


# -- model files --------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["standardised", "ranks", "auto"])
def test_what_was_learned_survives_as_plain_arrays(columns):
    A, a = make_friedman1(120, random_state=0)
    A[5, 3] = 30.0  # a heavy tail adds the part of ranks
    labels = np.where(a > np.median(a), "high", "low")
    for kind, y in ((CurvedKernelClassifier, labels), (CurvedKernelRegressor, a)):
        one = kind(geometry="flat", columns=columns, random_state=0).fit(A[:100], y[:100])
        assert ("ranks" in one._sum.parts) == (columns == "auto")
        two = kind(random_state=0)
        restore_kernel(two, kernel_state(one), one.fitted_rows, one.metric_)
        np.testing.assert_allclose(two._sum.total(A), one._sum.total(A), atol=1e-10)
        np.testing.assert_array_equal(two.feature_weights(), one.feature_weights())
        assert (two.predict(A) == one.predict(A)).all() or y is a
    np.testing.assert_allclose(two.predict_interval(A), one.predict_interval(A))


def test_a_state_without_parts_is_refused():
    X, y = load_iris(return_X_y=True)
    model = CurvedKernelClassifier("columns", random_state=0).fit(X[::3], y[::3])
    with pytest.raises(InvalidInputError, match="parts of its sum"):
        restore_kernel(
            CurvedKernelClassifier(), kernel_state(model) | {"weights": {}}, model.fitted_rows, None
        )
