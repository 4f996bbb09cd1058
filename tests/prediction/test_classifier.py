"""The classifier against scikit-learn's on the same distances, and its ways to a metric."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMetric,
    MixedMetric,
)
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.learning.lmnn import LABEL_GEOMETRIES
from cayleyklein.neighbors import search

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
METRICS = {
    "flat": CurvedMetric.euclidean(4),
    "elliptic": CurvedMetric.euclidean(4, curvature=0.3),
    "hyperbolic": CurvedMetric.euclidean(4, curvature=-0.005),
    "mixed": MixedMetric(
        [CurvedMetric.euclidean(4, curvature=0.3), CurvedMetric.euclidean(4, curvature=-0.005)],
        [0.5, 0.5],
    ),
}


@pytest.fixture(autouse=True)
def _quiet():
    """The checks fit classes of one row, which is warned about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Classes .* have fewer than")
        warnings.filterwarnings("ignore", message="No learned metric beat")
        yield


@parametrize_with_checks(
    [
        CurvedKNeighborsClassifier(),
        CurvedKNeighborsClassifier(learner=MMC(), weights="distance"),
    ]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("name", METRICS)
def test_votes_as_scikit_learn_does(name, k, weights):
    """Up to the tenth of a vote of the class shares, which also decides between equals."""
    metric = METRICS[name]
    train, test = slice(0, None, 2), slice(1, None, 2)
    model = CurvedKNeighborsClassifier(k, metric=metric, weights=weights)
    model.fit(X[train], NAMES[train])
    other = KNeighborsClassifier(k, metric="precomputed", weights=weights)
    other.fit(metric.pairwise(X[train]), NAMES[train])
    D = metric.pairwise(X[test], X[train])
    ours, theirs = model.predict_proba(X[test]), other.predict_proba(D)
    assert ((ours > 0) & (ours < 1)).all()
    top, near = np.sort(theirs, axis=1), np.sort(D, axis=1)
    clear = top[:, -1] > top[:, -2] + 1e-12
    clear &= near[:, k] > near[:, k - 1] * (1 + 1e-9)  # the k-th neighbour is one row
    assert clear.mean() > 0.75
    np.testing.assert_array_equal(model.predict(X[test])[clear], other.predict(D)[clear])
    assert (model.predict(X[test]) == model.classes_[ours.argmax(axis=1)]).all()
    if weights == "uniform":
        np.testing.assert_allclose(ours[clear], ((k * theirs + 0.1 / 3) / (k + 0.1))[clear])


def test_linear_votes():
    """1 - d_i/d_{k+1}, shrunk to the class shares."""
    model = CurvedKNeighborsClassifier(2, metric=CurvedMetric.euclidean(1), weights="linear")
    model.fit([[1.0], [2.0], [4.0], [9.0]], ["a", "b", "a", "a"])
    expected = np.array([0.75 + 0.1 * 0.75, 0.5 + 0.1 * 0.25]) / 1.35
    np.testing.assert_allclose(model.predict_proba([[0.0]])[0], expected)
    together = CurvedKNeighborsClassifier(2, metric=CurvedMetric.euclidean(1))
    together.fit([[1.0], [1.0], [1.0]], ["a", "b", "b"])
    np.testing.assert_allclose(together.predict_proba([[1.0]]).sum(), 1.0)


def test_the_number_of_neighbours_is_chosen():
    rows, y = make_classification(300, n_features=6, flip_y=0.3, random_state=0)
    model = CurvedKNeighborsClassifier(random_state=0).fit(rows, y)
    assert model.n_neighbors_ == model.selection_.n_neighbors > 5
    assert model.kneighbors(rows[:2])[0].shape == (2, model.n_neighbors_)
    fixed = CurvedKNeighborsClassifier(geometry="flat", random_state=0).fit(rows, y)
    assert fixed.n_neighbors_ == 15
    few = CurvedKNeighborsClassifier(random_state=0).fit(X[::30], Y[::30])
    assert few.predict(X[:3]).shape == (3,)


def test_sample_weights_learn_and_vote():
    rows, y = make_classification(200, n_features=5, random_state=0)
    weights = np.where(y == 1, 5.0, 1.0)
    plain = CurvedKNeighborsClassifier(9, geometry="flat", random_state=0).fit(rows, y)
    heavy = CurvedKNeighborsClassifier(9, geometry="flat", random_state=0)
    heavy.fit(rows, y, sample_weight=weights)
    assert heavy.class_prior_[1] > plain.class_prior_[1]
    assert heavy.predict_proba(rows)[:, 1].mean() > plain.predict_proba(rows)[:, 1].mean()
    ones = CurvedKNeighborsClassifier(9, geometry="flat", random_state=0)
    ones.fit(rows, y, sample_weight=np.ones(200))
    np.testing.assert_allclose(ones.predict_proba(rows), plain.predict_proba(rows), rtol=1e-12)


def test_contradicting_and_unknown_parameters():
    with pytest.raises(InvalidInputError, match="geometry has no effect when a learner"):
        CurvedKNeighborsClassifier(geometry="flat", learner=MMC()).fit(X, Y)
    with pytest.raises(InvalidInputError, match="verbose has no effect when a metric"):
        CurvedKNeighborsClassifier(metric=METRICS["flat"], verbose=True).fit(X, Y)
    with pytest.raises(TypeError, match="colour"):
        CurvedKNeighborsClassifier(colour=1)
    with pytest.raises(InvalidInputError, match="'n_neighbors' parameter"):
        CurvedKNeighborsClassifier("many").fit(X, Y)


NOT_WEIGHTS = "expected finite numbers ≥ 0, not all 0"


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (lambda d: 0 * d, NOT_WEIGHTS),
        (lambda d: np.nan * d, NOT_WEIGHTS),
        (lambda d: np.inf + d, NOT_WEIGHTS),
        (lambda d: -1 - d, NOT_WEIGHTS),
        (lambda d: d + 1j, "weights must hold real numbers"),
        (lambda d: "near", "weights must hold real numbers"),
        (lambda d: d[:, :1], "weights made an array of shape"),
    ],
)
@pytest.mark.parametrize("kind", [CurvedKNeighborsClassifier, CurvedKNeighborsRegressor])
def test_weights_that_say_nothing_are_refused(kind, weights, said):
    model = kind(3, metric=METRICS["flat"], weights=weights).fit(X, Y)
    with pytest.raises(InvalidInputError, match=said):
        model.predict(X)


@pytest.mark.parametrize("geometry", ["auto", *LABEL_GEOMETRIES])
def test_learns_by_itself(geometry):
    """Two columns of much noise hide the classes from plain neighbours."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([X, 30 * rng.normal(size=(len(X), 2))])
    model = CurvedKNeighborsClassifier(geometry=geometry, random_state=0)
    model.fit(rows[::2], NAMES[::2])
    plain = KNeighborsClassifier(3).fit(rows[::2], NAMES[::2])
    assert model.score(rows[1::2], NAMES[1::2]) > 0.85
    assert plain.score(rows[1::2], NAMES[1::2]) < 0.6
    assert model.learner_.metric_ is model.metric_
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]


def test_a_learner_is_cloned_and_fitted():
    learner = CurvedLMNN(geometry="flat")
    model = CurvedKNeighborsClassifier(learner=learner).fit(X, Y)
    assert not hasattr(learner, "metric_")
    assert model.metric_.geometry == "flat"


def test_a_fitted_learner_is_fitted_again_unless_it_is_frozen():
    """As in a cross-validation, which clones it."""
    learner = CurvedLMNN(geometry="elliptic").fit(X[::3], Y[::3])
    model = CurvedKNeighborsClassifier(learner=FrozenEstimator(learner)).fit(X, Y)
    assert model.metric_ is learner.metric_
    again = CurvedKNeighborsClassifier(learner=learner).fit(X, Y)
    assert again.metric_ == CurvedLMNN(geometry="elliptic").fit(X, Y).metric_


def test_a_frozen_learner_survives_cross_validation():
    learner = CurvedLMNN(geometry="elliptic").fit(X[::3], Y[::3])
    model = clone(CurvedKNeighborsClassifier(learner=FrozenEstimator(learner)))
    assert model.fit(X, Y).metric_ is learner.metric_


def test_pipelines_and_searches():
    pipe = make_pipeline(
        StandardScaler(), CurvedKNeighborsClassifier(learner=CurvedLMNN(geometry="flat"))
    )
    grid = {
        "curvedkneighborsclassifier__learner__geometry": ["flat", "elliptic"],
        "curvedkneighborsclassifier__n_neighbors": [1, 3],
    }
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.9
    assert cross_val_score(pipe, X, Y, cv=2, error_score="raise").mean() > 0.9


def test_leave_one_out_without_rows():
    model = CurvedKNeighborsClassifier(metric=METRICS["elliptic"]).fit(X, Y)
    expected = []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        one = CurvedKNeighborsClassifier(metric=METRICS["elliptic"]).fit(X[rest], Y[rest])
        expected.append(one.predict(X[i : i + 1])[0])
    np.testing.assert_array_equal(model.predict(None), expected)
    assert model.score(None, Y) == np.mean(np.array(expected) == Y)


@pytest.mark.parametrize("algorithm", ["brute", "tree"])
def test_rows_are_added_under_the_same_metric(algorithm):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    metric = METRICS["elliptic"]
    parts = CurvedKNeighborsClassifier(metric=metric, algorithm=algorithm, weights="linear")
    parts.partial_fit(X[order[:60]], NAMES[order[:60]])
    parts.partial_fit(X[order[60:]], NAMES[order[60:]])
    whole = CurvedKNeighborsClassifier(metric=metric, algorithm=algorithm, weights="linear")
    whole.fit(X[order], NAMES[order])
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(InvalidInputError, match=r"\['rosa'\], at rows 1"):
        parts.partial_fit(X[:2], ["setosa", "rosa"])
    assert parts.n_samples_fit_ == len(X)


def test_classes_may_be_announced():
    model = CurvedKNeighborsClassifier(metric=METRICS["flat"])
    model.partial_fit(X[:100], Y[:100], classes=[2, 1, 0])
    assert model.predict(X[:1]) == 0
    assert model.predict_proba(X[:1])[0, 2] == 0
    model.partial_fit(X[100:], Y[100:])
    assert model.predict(X[-1:]) == 2
    with pytest.raises(InvalidInputError, match=r"\[1\]"):
        CurvedKNeighborsClassifier().partial_fit(X[:100], Y[:100], classes=[0, 2])
    rows = pytest.importorskip("dask.array").from_array(X)
    with pytest.raises(InvalidInputError, match="adds rows in memory to rows in memory"):
        CurvedKNeighborsClassifier().partial_fit(rows, Y, classes=[0, 1, 2])


def test_queries_outside_have_a_class():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    model = CurvedKNeighborsClassifier(1, metric=disc, weights="distance")
    model.fit([[0.0, 0.0], [0.9, 0.0]], [0, 1])
    assert model.predict([[5.0, 0.0], [-5.0, 0.0]]).tolist() == [1, 0]
    strict = clone(model).set_params(outside="raise").fit([[0.0, 0.0], [0.9, 0.0]], [0, 1])
    with pytest.raises(OutsideDomainError, match="row"):
        strict.predict([[5.0, 0.0]])
    with pytest.raises(OutsideDomainError, match="1"):
        model.fit([[0.0, 0.0], [1.9, 0.0]], [0, 1])


def test_what_it_refuses():
    with pytest.raises(InvalidInputError, match="both a learner and a metric"):
        CurvedKNeighborsClassifier(learner=MMC(), metric=METRICS["flat"]).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"'learner' parameter .* implementing 'fit'"):
        CurvedKNeighborsClassifier(learner=METRICS["flat"]).fit(X, Y)
    with pytest.raises(InvalidInputError, match="not the class MMC"):
        CurvedKNeighborsClassifier(learner=MMC).fit(X, Y)
    with pytest.raises(InvalidInputError, match="Pipeline has none"):
        CurvedKNeighborsClassifier(learner=make_pipeline(StandardScaler(), MMC())).fit(X, Y)
    with pytest.raises(InvalidInputError, match="'weights' parameter"):
        CurvedKNeighborsClassifier(weights="near").fit(X, Y)
    with pytest.raises(InvalidInputError, match="metric is for 4"):
        CurvedKNeighborsClassifier(metric=METRICS["flat"]).fit(X[:, :2], Y)
    with pytest.raises(NotFittedError):
        CurvedKNeighborsClassifier().predict(X)
    with pytest.raises(InvalidInputError, match="n_neighbors <= 150"):
        CurvedKNeighborsClassifier(151, metric=METRICS["flat"]).fit(X, Y).predict(X)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("kind", [list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_a_missing_class_is_no_class(missing, kind):
    """A list of texts with a NaN in it would be an array of texts, one of them "nan"."""
    y = ["a", "b", missing, "a"]
    with pytest.raises(InvalidInputError, match="y has no class at rows 2; drop them"):
        CurvedKNeighborsClassifier(1, metric=METRICS["flat"]).fit(X[:4], kind(y))


def test_a_failed_fit_keeps_the_model():
    model = CurvedKNeighborsClassifier(metric=METRICS["flat"]).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(InvalidInputError, match="3 columns"):
        model.fit(X[:, :3], Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_pickles_frames_and_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = CurvedKNeighborsClassifier(geometry="elliptic", random_state=0).fit(frame, NAMES)
    assert list(model.feature_names_in_) == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_n_jobs_changes_nothing():
    rows, y = make_classification(400, n_features=8, n_informative=5, n_classes=3, random_state=0)
    one, two = (CurvedKNeighborsClassifier(random_state=0, n_jobs=n).fit(rows, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(rows), two.predict_proba(rows))


# -- equal rows are one neighbour -----------------------------------------------------


def few_points(n=300, seed=0):
    """Rows of three yes/no columns, and three classes with other shares at each of 8 points."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(2, size=(n, 3)).astype(float)
    shares = rng.dirichlet(np.ones(3), size=8)[(rows @ [1, 2, 4]).astype(int)]
    return rows, (shares.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)


def test_the_order_of_equal_rows_does_not_matter():
    rows, y = few_points()
    order = np.argsort(y, kind="stable")
    model, other = (
        CurvedKNeighborsClassifier(random_state=0).fit(rows[o], y[o])
        for o in (np.arange(300), order)
    )
    np.testing.assert_allclose(model.predict_proba(rows), other.predict_proba(rows), rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(None)[order], other.predict_proba(None), rtol=1e-9
    )


def test_a_point_votes_with_all_its_rows():
    """One neighbour, many equal rows of three classes: probabilities are their shares."""
    rows, y = few_points()
    model = CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(3), weights="uniform")
    found = model.fit(rows, y).predict_proba(rows)
    for row, shares in zip(rows, found, strict=True):
        counts = np.bincount(y[(rows == row).all(axis=1)], minlength=3)
        if (counts == counts.max()).sum() > 1:
            continue  # a tenth of a vote decides
        tenth = 0.1 * 300 / 8  # of the rows of a point
        np.testing.assert_allclose(
            shares, (counts + tenth * model.class_prior_) / (counts.sum() + tenth)
        )
    why = model.explain(rows[0])
    assert (rows[why.rows] == rows[0]).all()
    np.testing.assert_array_equal(y[why.rows], why.labels)  # rows of the class they vote for
    assert why.votes.sum() == pytest.approx(1)


def test_leaving_a_row_out_leaves_the_rows_that_equal_it():
    rows, y = few_points(40)
    rows[7] = 9.0  # a row that no other equals
    options = {"metric": CurvedMetric.euclidean(3), "weights": "linear"}
    model = CurvedKNeighborsClassifier(2, **options).fit(rows, y)
    found = model.predict_proba(None)
    for i in range(40):
        rest = np.arange(40) != i
        other = CurvedKNeighborsClassifier(2, **options).fit(rows[rest], y[rest])
        np.testing.assert_allclose(found[i], other.predict_proba(rows[i : i + 1])[0])


def test_a_weight_is_so_many_equal_rows():
    rng = np.random.default_rng(0)
    rows, y = X[::2], NAMES[::2]
    times = rng.integers(4, size=len(rows))
    options = {"metric": CurvedMetric.euclidean(X.shape[1])}
    weighted = CurvedKNeighborsClassifier(5, **options).fit(rows, y, sample_weight=times)
    repeated = CurvedKNeighborsClassifier(5, **options)
    repeated.fit(np.repeat(rows, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(
        weighted.predict_proba(X[1::2]), repeated.predict_proba(X[1::2]), rtol=1e-9
    )


def test_rows_added_later_join_the_points_they_equal():
    rows, y = few_points()
    options = {"metric": CurvedMetric.euclidean(3), "weights": "linear"}
    whole = CurvedKNeighborsClassifier(3, **options).fit(rows, y)
    grown = CurvedKNeighborsClassifier(3, **options).fit(rows[:200], y[:200])
    grown.partial_fit(rows[200:], y[200:])
    np.testing.assert_allclose(grown.predict_proba(rows), whole.predict_proba(rows))
    assert grown.kneighbors(rows[:2])[1].shape == (2, 3)  # rows, as they are


def test_held_out_rows_of_a_few_categories_tell_the_truth():
    """Points are held out with the rows of all their classes."""
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(2000, 5)).astype(float)
    y = (rng.uniform(size=2000) < np.where(rows[:, 0] > 0, 0.8, 0.3)).astype(int)
    model = CurvedKNeighborsClassifier(random_state=0).fit(rows[:1000], y[:1000])
    selection = model.selection_
    told = {trial.name: trial.scores["log loss"] for trial in selection.trials}
    found = log_loss(y[1000:], model.predict_proba(rows[1000:]))
    assert told[selection.chosen] == pytest.approx(found, abs=0.05)


def test_a_class_of_one_row_leaves_the_log_loss_finite():
    iris, species = load_iris(return_X_y=True)
    some = [*range(80), 100]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Classes .* have fewer than")
        model = CurvedKNeighborsClassifier(random_state=0).fit(iris[some], species[some])
    assert model.selection_.trials[0].scores["log loss"] < 0.5


def test_classes_are_predicted_by_blocks_of_queries(monkeypatch):
    model = CurvedKNeighborsClassifier(3, metric=CurvedMetric.euclidean(1))
    model.fit(np.arange(40.0)[:, None], np.array(list("abcdefgh") * 5))
    for queries in (np.linspace(0, 40, 101)[:, None], None):
        whole, shares = model.predict(queries), model.predict_proba(queries)
        assert (whole == model.classes_[shares.argmax(axis=1)]).all()
        monkeypatch.setattr(search, "CHUNK", 7)
        assert (model.predict(queries) == whole).all()


def test_the_selection_tells_the_number_of_neighbours_that_was_given():
    model = CurvedKNeighborsClassifier(3, geometry="elliptic").fit(X, Y)
    assert model.selection_.n_neighbors == model.n_neighbors_ == 3
