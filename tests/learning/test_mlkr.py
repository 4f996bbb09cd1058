"""CurvedMLKR: what it learns, its parameters, its weights and its warnings."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests import small

from cayleyklein import CurvedMetric, CurvedMLKR
from cayleyklein.exceptions import InvalidInputError

GEOMETRIES = ("product", "flat", "elliptic", "hyperbolic", "learned")
X, Y = make_friedman1(150, n_features=8, noise=0.5, random_state=0)


@parametrize_with_checks(
    [
        CurvedMLKR(geometry="product"),
        CurvedMLKR(geometry="learned", kernel="gaussian"),
    ]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", ["window", "gaussian"])
@pytest.mark.parametrize("geometry", GEOMETRIES[1:])
def test_the_loss_falls_and_noise_columns_lose_weight(geometry, kernel):
    learner = CurvedMLKR(geometry=geometry, kernel=kernel, random_state=0).fit(X, Y)
    for losses in learner.loss_history_:
        assert losses == sorted(losses, reverse=True)
    assert learner.loss_history_[-1][-1] < 0.8 * learner.loss_history_[0][0]
    weight = np.square(learner.components_ * X.std(axis=0)).sum(axis=0)
    assert weight[5:].max() < weight[[0, 1, 3]].min()  # the last three columns are noise
    assert learner.n_iter_ == sum(len(losses) - 1 for losses in learner.loss_history_)


def test_loss_is_the_share_of_variance_left():
    """1 - R² of leaving one out: 1 and a bit where rows say nothing about the target."""
    rng = np.random.default_rng(0)
    learner = CurvedMLKR(geometry="flat").fit(rng.normal(size=(200, 3)), rng.normal(size=200))
    assert 0.9 < learner.loss_history_[0][0] < 1.2


@pytest.mark.parametrize("geometry", ["elliptic", "product"])
def test_a_row_repeated_is_a_row_that_weighs_two(geometry):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=len(X)).astype(float)
    learner = CurvedMLKR(geometry=geometry, random_state=0)
    weighted = learner.fit(X, Y, sample_weight=weights).components_
    order = rng.permutation(np.repeat(np.arange(len(X)), weights.astype(int)))
    repeated = learner.fit(X[order], Y[order]).components_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


def test_repeated_rows_draw_the_same_anchors():
    """Two thousand rows have a term in the loss for some of them only."""
    rows, y = make_friedman1(2000, n_features=5, random_state=1)
    weights = np.random.default_rng(0).integers(0, 3, size=2000)
    learner = CurvedMLKR(random_state=0, n_passes=1, max_iter=2)
    with pytest.warns(ConvergenceWarning):
        learner.fit(rows, y, sample_weight=weights)
    n_learned, found = learner.n_samples_learned_, learner.components_
    with pytest.warns(ConvergenceWarning):
        repeated = learner.fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(found, repeated.components_, rtol=1e-6)
    assert n_learned == repeated.n_samples_learned_ == (weights > 0).sum()


def test_order_and_units_change_nothing():
    learner = CurvedMLKR(geometry="flat", random_state=0)
    first = learner.fit(X, Y).components_
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(learner.fit(X[order], Y[order]).components_, first, rtol=1e-7)
    np.testing.assert_allclose(learner.fit(8 * X, 2 * Y - 1).components_, first / 8, rtol=1e-7)


def test_curvature_is_learned():
    """A direction decides the target: rows on rays from the centre are alike."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3)) * np.exp(rng.normal(size=(300, 1)))
    y = rows[:, 0] / np.linalg.norm(rows, axis=1)
    flat = CurvedMLKR(geometry="flat", random_state=0).fit(rows, y)
    for geometry in ("elliptic", "learned"):
        curved = CurvedMLKR(geometry=geometry, spread=3, random_state=0).fit(rows, y)
        assert curved.curvature_[0] > 0.5
        assert curved.loss_history_[-1][-1] < 0.7 * flat.loss_history_[-1][-1]


def test_a_product_is_measured_by_its_euclidean_map():
    learner = CurvedMLKR(random_state=0).fit(X, Y)
    assert learner.geometry_ == "product"
    np.testing.assert_allclose(learner.curvature_, [0.0, 0.09, 1.0])
    Z = learner.transform(X)
    pairs = np.stack([X[:5], X[5:10]], axis=1)
    np.testing.assert_allclose(
        learner.pair_distance(pairs), np.linalg.norm(Z[:5] - Z[5:10], axis=1), rtol=1e-9
    )


def test_callback_stops_and_verbose_writes(capsys):
    told = []

    def stop_at_three(progress):
        told.append(progress)
        return len(told) == 3

    learner = CurvedMLKR(random_state=0, callback=stop_at_three, verbose=True).fit(X, Y)
    assert len(told) == 3
    assert told[0].part == "flat"
    assert told[0].loss > told[2].loss
    assert learner.metric_.contains(X).all()
    assert "[CurvedMLKR] flat: pass 1, iteration 1, loss" in capsys.readouterr().err


def test_starts():
    given = CurvedMetric(factor=np.diag(np.arange(1.0, 9.0)))
    for init in ("identity", "precision", "pca", "flat", given, given.factor):
        learner = CurvedMLKR(geometry="elliptic", init=init, random_state=0).fit(X, Y)
        assert learner.loss_history_[-1][-1] < learner.loss_history_[0][0]
    small = CurvedMLKR(geometry="flat", n_components=2, random_state=0).fit(X, Y)
    assert small.transform(X).shape == (150, 2)
    assert CurvedMLKR(n_components=2, random_state=0).fit(X, Y).components_.shape == (6, 8)


def test_many_rows_learn_from_a_sample_and_from_anchors():
    rows, y = make_friedman1(6000, n_features=5, random_state=1)
    learner = CurvedMLKR(geometry="flat", subsample=3000, random_state=0).fit(rows, y)
    assert learner.loss_history_[-1][-1] < 0.15
    again = CurvedMLKR(geometry="flat", subsample=0.5, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(learner.components_, again.components_)


# -- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"geometry": "product", "init": np.eye(8)}, "learns several metrics"),
        ({"spread": 1.0}, "parts have spreads of their own"),
        ({"geometry": "flat", "init": np.eye(3)}, "init is for 3 columns, but X has 8"),
        ({"geometry": "hyperbolic", "init": 100 * np.eye(8)}, "outside the domain"),
        ({"geometry": "flat", "init": "lda"}, "'init' parameter"),
        ({"n_components": 9}, "X has only 8 columns"),
        ({"kernel": "box"}, "'kernel' parameter"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        CurvedMLKR(**parameters).fit(X, Y)


def test_one_distinct_row_teaches_nothing():
    with pytest.raises(InvalidInputError, match="one distinct row"):
        CurvedMLKR().fit(np.ones((9, 2)), np.arange(9.0))


def test_constant_targets_are_warned_about():
    with pytest.warns(UserWarning, match="y is the same in every row"):
        learner = CurvedMLKR(geometry="elliptic").fit(X, np.full(150, 0.1))
    assert learner.geometry_ == "flat"
    one = CurvedMLKR(geometry="flat", random_state=0)
    both = np.column_stack([Y, np.full(150, 3.0)])
    assert one.fit(X, both).loss_history_[-1][-1] < 0.5  # one of two targets varies


def test_iterations_that_did_not_suffice_are_warned_about():
    with pytest.warns(ConvergenceWarning, match="still falls after max_iter=2"):
        CurvedMLKR(geometry="flat", max_iter=2, n_passes=1).fit(X, Y)


def test_a_start_that_makes_rows_alike():
    """Rows become two points of the sphere, whose distances differ by rounding alone."""
    start = np.full((2, 2), 1e10)
    learner = CurvedMLKR(geometry="elliptic", init=start, random_state=0)
    learner.fit(small.X, small.TARGETS)
    assert np.isfinite(learner.metric_.factor).all()
