"""Support vectors by a learned or given metric."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from cayleyklein import CurvedLMNN, CurvedMetric, CurvedSVC, MixedMetric
from cayleyklein.datasets import load_wine, make_hyperbolic_tree
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError, TooLargeError
from cayleyklein.geometry import apply_collineation
from cayleyklein.metrics import laplacian_kernel
from cayleyklein.svm import _svc

IRIS = load_iris(return_X_y=True)


def test_it_learns_a_metric_and_chooses_c_and_gamma():
    X, y = load_wine(return_X_y=True)
    model = CurvedSVC(random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert model.metric_ == CurvedLMNN(random_state=np.random.RandomState(0)).fit(
        X[::2], y[::2]
    ).metric_  # fmt: skip
    best = max(one["accuracy"] for one in model.cv_results_)
    chosen = {"C": model.C_, "gamma": model.gamma_, "accuracy": best}
    assert chosen in model.cv_results_
    assert np.array_equal(model.support_vectors_, X[::2][model.support_])


@pytest.mark.parametrize("manhattan", [True, False])
def test_it_is_an_svc_in_its_kernel(manhattan):
    X, y = IRIS
    metric = CurvedMetric.mahalanobis(X, curvature=0.5)
    model = CurvedSVC(metric, manhattan=manhattan, C=2.0, gamma=0.4).fit(X, y)
    plain = SVC(kernel=model.kernel_, C=2.0).fit(X, y)
    assert np.array_equal(model.support_, plain.support_)
    np.testing.assert_allclose(
        model.decision_function(X + 0.01), plain.decision_function(X + 0.01), atol=1e-9
    )
    assert model.kernel_.gamma == 0.4
    assert model.cv_results_ == []
    if not manhattan:
        assert model.kernel_ == laplacian_kernel(metric, 0.4)


def test_both_distances_have_equal_medians():
    X, y = IRIS
    metric = CurvedMetric.euclidean(4)
    weights = CurvedSVC(metric, C=1.0, gamma=1.0).fit(X, y).kernel_.column_weights
    some = np.triu_indices(len(X), 1)
    medians = [
        np.median(table[some])
        for table in (metric.pairwise(X), cdist(X * weights, X * weights, "cityblock"))
    ]
    assert medians[0] == pytest.approx(medians[1])
    np.testing.assert_allclose(weights * X.std(axis=0), weights[0] * X[:, 0].std())


def test_isometries_keep_the_predictions():
    X, y, metric = make_hyperbolic_tree(100, depth=1, random_state=0, return_metric=True)
    move = metric.transvection([0.0, 0.0], [0.05, 0.02])
    moved = apply_collineation(move, X)
    model = CurvedSVC(metric, manhattan=False, random_state=0)
    before = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(moved, y).decision_function(moved), before, atol=1e-4)


@pytest.mark.parametrize("K", [1e-8, -1e-8])
def test_curvature_tends_to_zero_from_both_sides(K):
    X, y = IRIS
    flat, near = (
        CurvedSVC(CurvedMetric.euclidean(4, curvature=k), C=1.0, gamma=0.3).fit(X, y)
        for k in (0.0, K)
    )
    np.testing.assert_allclose(near.decision_function(X), flat.decision_function(X), atol=1e-3)


def test_units_of_columns_do_not_matter():
    X, y = IRIS
    scale = np.array([1e-3, 1.0, 10.0, 1e4])
    learner = CurvedLMNN(geometry="elliptic", random_state=0)
    first, second = (
        CurvedSVC(learner=learner, C=1.0, random_state=0).fit(Z, y).predict(Z)
        for Z in (X, X * scale)
    )
    assert np.mean(first == second) > 0.98


def test_learners_are_fitted_unless_they_are_frozen():
    X, y = IRIS
    learner = CurvedLMNN(geometry="elliptic", random_state=0)
    model = CurvedSVC(learner=learner, C=1.0, gamma=1.0).fit(X, y)
    assert not hasattr(learner, "metric_")
    assert model.metric_.geometry == "elliptic"
    learner.fit(X[::2], y[::2])
    again = CurvedSVC(learner=learner, C=1.0, gamma=1.0).fit(X, y)
    assert again.metric_ == model.metric_ != learner.metric_
    frozen = CurvedSVC(learner=FrozenEstimator(learner), C=1.0, gamma=1.0).fit(X, y)
    assert frozen.metric_ is learner.metric_
    assert clone(frozen).fit(X, y).metric_ is learner.metric_


def test_the_geometry_is_that_of_the_learner():
    X, y = IRIS
    model = CurvedSVC(geometry="hyperbolic", C=1.0, gamma=1.0, random_state=0).fit(X, y)
    assert model.metric_.geometry == "hyperbolic"


def test_one_way_to_the_metric():
    X, y = IRIS
    metric, learner = CurvedMetric.euclidean(4), CurvedLMNN()
    for given, message in [
        ({"metric": metric, "geometry": "flat"}, "no effect when a metric is given; drop it"),
        ({"learner": learner, "geometry": "flat"}, "give it to the learner"),
        ({"learner": learner, "metric": metric}, "Got both a learner and a metric"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            CurvedSVC(**given).fit(X, y)


@pytest.mark.parametrize("off", [0, np.False_, np.int64(0)])
def test_flags_may_be_numbers(off):
    X, y = IRIS
    metric = CurvedMetric.euclidean(4)
    off, on = (
        CurvedSVC(metric, manhattan=flag, C=1.0, gamma=1.0).fit(X, y).kernel_
        for flag in (off, 1 + off)
    )
    assert off == laplacian_kernel(metric, 1.0)
    assert on.column_weights is not None


def test_prediction_by_blocks(monkeypatch):
    X, y = IRIS
    model = CurvedSVC(CurvedMetric.euclidean(4), random_state=0).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(_svc, "GRAM_ENTRIES", 1000)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict(X), model.predict(X))


def test_few_rows():
    metric = CurvedMetric.euclidean(1)
    model = CurvedSVC(metric).fit([[0.0], [1.0]], [0, 1])  # none can be held out
    assert model.cv_results_ == []
    assert model.predict([[0.1], [0.9]]).tolist() == [0, 1]
    model = CurvedSVC(metric).fit([[0.0], [0.2], [1.0], [1.1], [5.0]], list("aabbc"))
    assert model.predict([[0.1], [1.2]]).tolist() == ["a", "b"]
    same = CurvedSVC(metric).fit(np.ones((6, 1)), [0, 0, 0, 1, 1, 1])
    assert set(same.predict([[1.0]])) <= {0, 1}


def test_class_weights():
    X = np.vstack([np.zeros((9, 1)), [[0.0]]])
    y = np.append(["few"], ["many"] * 9)
    plain = CurvedSVC(CurvedMetric.euclidean(1), C=1.0, gamma=1.0).fit(X, y)
    assert plain.predict([[0.0]]) == ["many"]
    heavy = CurvedSVC(CurvedMetric.euclidean(1), C=1.0, gamma=1.0, class_weight={"few": 100.0})
    assert heavy.fit(X, y).predict([[0.0]]) == ["few"]


def test_it_goes_into_a_grid_search():
    X, y = IRIS
    metrics = [CurvedMetric.euclidean(4), CurvedMetric.mahalanobis(X, curvature=0.1)]
    search = GridSearchCV(CurvedSVC(C=1.0, gamma=0.5), {"metric": metrics}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9


def test_many_rows(monkeypatch):
    X, y = IRIS
    monkeypatch.setattr(_svc, "MANY_ROWS", 100)
    with pytest.warns(UserWarning, match="Support vectors of 150 rows"):
        CurvedSVC(CurvedMetric.euclidean(4), C=1.0, gamma=1.0).fit(X, y)
    with pytest.raises(TooLargeError, match="Gram matrices of 10,000,000 rows"):
        _svc.announce_cost(10_000_000)


def test_bad_input():
    X, y = IRIS
    disc = CurvedMetric.euclidean(4, curvature=-1.0)
    for name, values in {
        "gamma": [0.0, -1.0, "scale", np.nan],
        "C": [0.0, -1.0, "auto"],
        "cv": [1, 2.5],
        "metric": ["euclidean", 3, CurvedLMNN()],
        "geometry": ["curved", 3, None],
        "learner": ["auto", 3, CurvedLMNN],
        "manhattan": ["yes", 2, None],
        "class_weight": ["even"],
    }.items():
        for value in values:
            with pytest.raises(InvalidInputError, match=name):
                CurvedSVC(**{name: value}).fit(X, y)
    with pytest.raises(OutsideDomainError, match="X at index 0"):
        CurvedSVC(disc).fit(X, y)
    model = CurvedSVC(disc, random_state=0).fit(X / 20, y)
    with pytest.raises(OutsideDomainError, match="X at index 0"):
        model.predict(X[:2])
    with pytest.raises(InvalidInputError, match="X has 4 columns, but the metric is for 3"):
        CurvedSVC(MixedMetric([CurvedMetric.euclidean(3)])).fit(X, y)
    with pytest.raises(InvalidInputError, match="PCA has none"):
        CurvedSVC(learner=PCA()).fit(X, y)
    with pytest.raises(InvalidInputError, match="y has one class"):
        CurvedSVC().fit(X, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="class_weight has classes that are not in y"):
        CurvedSVC(disc, C=1.0, gamma=1.0, class_weight={9: 2.0}).fit(X / 20, y)
    with pytest.raises(InvalidInputError, match="X has entries"):
        CurvedSVC(CurvedMetric.euclidean(4)).fit(X * 1e200, y)


def test_there_are_no_probabilities_but_a_hint():
    model = CurvedSVC()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
        model.predict_proba  # noqa: B018


def test_columns_of_text_are_named():
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0], "colour": ["x", "y", "x"], "b": ["1", "2", "3"]})
    with pytest.raises(
        InvalidInputError, match=r"no numbers: 'colour' \(could not convert"
    ) as error:
        CurvedSVC().fit(table, [0, 1, 0])
    assert "TableClassifier" in str(error.value)
