"""The regressor: what it learns, how neighbours vote, and scikit-learn's conventions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein import CurvedKNeighborsRegressor, CurvedLMNN, CurvedMetric, CurvedMLKR
from cayleyklein.exceptions import InvalidInputError

RNG = np.random.default_rng(3)
METRICS = {
    "elliptic": CurvedMetric.euclidean(3, curvature=1.0),
    "hyperbolic": CurvedMetric.euclidean(3, curvature=-1.0),
}
X = RNG.uniform(-0.5, 0.5, size=(300, 3))
Q = RNG.uniform(-0.5, 0.5, size=(40, 3))


@parametrize_with_checks(
    [
        CurvedKNeighborsRegressor(),
        CurvedKNeighborsRegressor(learner=CurvedMLKR(geometry="hyperbolic"), weights="distance"),
    ]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


# -- learning -------------------------------------------------------------------------


def friedman(n=400):
    X, y = make_friedman1(n, noise=0.5, random_state=0)
    return (X[::2], y[::2]), (X[1::2], y[1::2])


def test_the_default_learns_a_product_that_beats_plain_neighbours():
    train, test = friedman()
    model = CurvedKNeighborsRegressor(random_state=0).fit(*train)
    assert model.metric_.geometry == "product"
    assert model.selection_.n_neighbors == model.n_neighbors_
    plain = max(KNeighborsRegressor(k).fit(*train).score(*test) for k in (3, 5, 9, 15))
    assert model.score(*test) > plain + 0.1


def test_a_notebook_shows_what_was_chosen():
    model = CurvedKNeighborsRegressor(random_state=0).fit(*friedman(200)[0])
    html = model._repr_mimebundle_()["text/html"]
    assert "The learned metric" in html
    assert model.selection_.trials[0].name in html


def test_plain_neighbours_are_kept_where_they_do_as_well():
    """Targets that are noise: nothing is to be learned."""
    rng = np.random.default_rng(0)
    model = CurvedKNeighborsRegressor(random_state=0).fit(rng.normal(size=(150, 6)),
                                                          rng.normal(size=150))  # fmt: skip
    assert model.metric_.geometry == "flat"
    assert "k-NN" in model.selection_.chosen
    assert model.selection_.trials[0].name == "product"
    assert "R²" in repr(model.selection_)


def test_the_same_input_gives_the_same_model_whatever_the_threads():
    train, test = friedman()
    models = [CurvedKNeighborsRegressor(random_state=3, n_jobs=n).fit(*train) for n in (None, 1, 2)]
    for model in models[1:]:
        np.testing.assert_array_equal(models[0].predict(test[0]), model.predict(test[0]))


def test_units_of_columns_and_targets_change_nothing():
    (A, y), (B, _) = friedman()
    model = CurvedKNeighborsRegressor(random_state=0).fit(A, y)
    scaled = CurvedKNeighborsRegressor(random_state=0).fit(A * 2.0 ** np.arange(10), 1024 * y)
    np.testing.assert_allclose(
        scaled.predict(B * 2.0 ** np.arange(10)), 1024 * model.predict(B), rtol=1e-9
    )


def test_several_targets():
    (A, y), (B, z) = friedman()
    both = CurvedKNeighborsRegressor(random_state=0).fit(A, np.column_stack([y, -1e6 * y]))
    found = both.predict(B)
    assert found.shape == (len(B), 2)
    np.testing.assert_allclose(found[:, 1], -1e6 * found[:, 0], rtol=1e-9)
    single = CurvedKNeighborsRegressor(random_state=0).fit(A, y)
    np.testing.assert_allclose(found[:, 0], single.predict(B), rtol=1e-6)
    column = CurvedKNeighborsRegressor(random_state=0).fit(A, y[:, None])
    assert column.predict(B).shape == (len(B), 1)
    assert both.score(B, np.column_stack([z, -1e6 * z])) == pytest.approx(single.score(B, z))


def test_weights_of_rows_count_in_the_mean():
    """A row of weight 0 is left out."""
    metric = CurvedMetric.euclidean(1)
    rows, y = [[0.0], [0.1], [5.0]], [1.0, 3.0, 9.0]
    model = CurvedKNeighborsRegressor(2, metric=metric, weights="uniform")
    assert model.fit(rows, y, sample_weight=[3.0, 1.0, 1.0]).predict([[0.0]]) == [1.5]
    assert model.fit(rows, y, sample_weight=[0.0, 1.0, 1.0]).predict([[0.0]]) == [6.0]
    assert model.fit(rows, y, sample_weight=[0.0, 0.0, 1.0]).predict([[0.0]]) == [9.0]


def test_leaving_one_row_out():
    A, y = load_diabetes(return_X_y=True)
    model = CurvedKNeighborsRegressor(5, metric=CurvedMetric.euclidean(10), weights="uniform")
    model.fit(A[:100], y[:100])
    rows = model.kneighbors()[1]
    np.testing.assert_allclose(model.predict(None), y[rows].mean(axis=1))
    assert model.score(None, y[:100]) < model.score(A[:100], y[:100])


def test_linear_weights_by_definition():
    model = CurvedKNeighborsRegressor(3, metric=CurvedMetric.euclidean(1))
    rows, y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([1.0, 2.0, 4.0, 100.0])
    expected = (1.0 * 1 + 0.75 * 2 + 0.5 * 4) / 2.25
    assert model.fit(rows, y).predict([[0.0]]) == pytest.approx(expected)


def test_a_learner_or_a_metric_of_ones_own():
    train, test = friedman(200)
    fitted = CurvedMLKR(geometry="flat", random_state=0).fit(*train)
    model = CurvedKNeighborsRegressor(learner=FrozenEstimator(fitted)).fit(*train)
    assert model.learner_ is fitted
    given = CurvedKNeighborsRegressor(model.n_neighbors_, metric=fitted.metric_).fit(*train)
    np.testing.assert_array_equal(model.predict(test[0]), given.predict(test[0]))
    assert given.learner_ is None
    k = model.n_neighbors_
    assert k == 9
    fresh = CurvedKNeighborsRegressor(k, learner=clone(fitted)).fit(*train)
    np.testing.assert_array_equal(fresh.predict(test[0]), model.predict(test[0]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learner": CurvedMLKR(), "metric": METRICS["elliptic"]}, "both a learner and a metric"),
        (
            {"learner": CurvedMLKR(), "geometry": "flat"},
            "geometry has no effect when a learner",
        ),
        (
            {"metric": METRICS["elliptic"], "verbose": True},
            "verbose has no effect when a metric",
        ),
        ({"learner": CurvedMLKR}, "not the class CurvedMLKR"),
        ({"n_neighbors": "many"}, "'n_neighbors' parameter"),
    ],
)
def test_contradictions_are_refused(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        CurvedKNeighborsRegressor(**parameters).fit(X, X[:, 0])


def test_a_learner_without_a_metric_is_refused():
    with pytest.raises(InvalidInputError, match="KNeighborsRegressor has none"):
        CurvedKNeighborsRegressor(learner=KNeighborsRegressor()).fit(X, X[:, 0])


def test_missing_targets_are_named_by_row():
    y = X[:, 0].copy()
    y[[7, 11]] = np.nan
    with pytest.raises(InvalidInputError, match=r"y has NaN or infinite entries at index 7, 11"):
        CurvedKNeighborsRegressor().fit(X, y)
    both = np.column_stack([X[:, 0], y])
    with pytest.raises(InvalidInputError, match=r"index \(7, 1\), \(11, 1\)"):
        CurvedKNeighborsRegressor().fit(X, both)
    with pytest.raises(InvalidInputError, match="index 7, 11"):
        CurvedKNeighborsRegressor().fit(X, pd.Series(y))


def test_constant_targets_are_warned_about():
    with pytest.warns(UserWarning, match="y is the same in every row"):
        model = CurvedKNeighborsRegressor().fit(X, np.full(300, 7.0))
    np.testing.assert_allclose(model.predict(Q), 7.0)


def test_one_distinct_row_predicts_its_mean():
    model = CurvedKNeighborsRegressor(3).fit(np.ones((4, 2)), [1.0, 2.0, 3.0, 4.0])
    assert model.predict([[5.0, 5.0]]) == [2.5]


def test_equal_rows_are_one_neighbour_whatever_their_order():
    """Many rows at a few points: each point predicts its mean, as its rows have it."""
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(300, 3)).astype(float)
    y = 2 * rows[:, 0] + rng.normal(scale=0.5, size=300)
    order = np.argsort(y)
    model = CurvedKNeighborsRegressor(1, random_state=0).fit(rows, y)
    other = CurvedKNeighborsRegressor(1, random_state=0).fit(rows[order], y[order])
    means = [y[(rows == row).all(axis=1)].mean() for row in rows]
    np.testing.assert_allclose(model.predict(rows), means)
    np.testing.assert_allclose(other.predict(rows), means)
    same = [(rows == row).all(axis=1) for row in rows]
    rest = [(y[s].sum() - y[i]) / (s.sum() - 1) for i, s in enumerate(same)]
    np.testing.assert_allclose(model.predict(None), rest)


def test_cross_validation_and_a_column_that_never_changes():
    A, y = make_friedman1(150, random_state=0)
    A = np.column_stack([A, np.ones(150)])
    scores = cross_val_score(CurvedKNeighborsRegressor(random_state=0), A, y, cv=3)
    assert (scores > 0.4).all()


def test_a_classifiers_learner_serves_too():
    """Any learner with a metric_ does, such as one of labels made from the targets."""
    labels = (X[:, 0] > 0).astype(int)
    learner = CurvedLMNN(geometry="flat", random_state=0).fit(X, labels)
    assert (
        CurvedKNeighborsRegressor(learner=FrozenEstimator(learner))
        .fit(X, X[:, 0])
        .score(X, X[:, 0])
        > 0.8
    )


# -- votes ----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_regression_is_scikit_learns(weights):
    y = np.column_stack([X.sum(axis=1), X[:, 0] ** 2])
    metric = METRICS["elliptic"]
    queries = np.concatenate([Q, X[:5]])
    ours = CurvedKNeighborsRegressor(4, metric=metric, weights=weights).fit(X, y)
    theirs = KNeighborsRegressor(4, weights=weights, metric="precomputed").fit(
        metric.pairwise(X), y
    )
    expected = theirs.predict(metric.pairwise(queries, X))
    np.testing.assert_allclose(ours.predict(queries), expected, rtol=1e-10)
    single = CurvedKNeighborsRegressor(4, metric=metric, weights=weights).fit(X, y[:, 1])
    np.testing.assert_allclose(single.predict(queries), ours.predict(queries)[:, 1], rtol=1e-14)
    grown = CurvedKNeighborsRegressor(4, metric=metric, weights=weights)
    grown.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(grown.predict(queries), ours.predict(queries))
    with pytest.raises(InvalidInputError, match=r"y has shape \(9,\), but expected \(9, 2\)"):
        grown.partial_fit(X[:9], y[:9, 0])


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_regression_outside_counts_neighbours_alike():
    y = X[:, 0]
    model = CurvedKNeighborsRegressor(3, metric=METRICS["hyperbolic"], weights="distance").fit(X, y)
    rows = model.kneighbors([[3.0, 0.0, 0.0]])[1]
    np.testing.assert_allclose(model.predict([[3.0, 0.0, 0.0]]), y[rows].mean(), rtol=1e-12)


@pytest.mark.parametrize("k", [0, "three", 2.5])
def test_neighbours_set_after_the_fit_are_checked(k):
    model = CurvedKNeighborsRegressor(3, geometry="flat").fit(X, X[:, 0]).set_params(n_neighbors=k)
    with pytest.raises(InvalidInputError, match="Got n_neighbors="):
        model.predict(Q)


def test_regression_refuses_bad_weights():
    with pytest.raises(InvalidInputError, match="'weights' parameter"):
        CurvedKNeighborsRegressor(weights="near").fit(X, X[:, 0])
    wrong = CurvedKNeighborsRegressor(3, geometry="flat", weights=lambda d: d[0]).fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="one weight for each"):
        wrong.predict(Q)
