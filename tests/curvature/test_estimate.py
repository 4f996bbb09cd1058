"""Estimates of the curvature: invariances, the interval, and draws of known curvature."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from tests.curvature import draws

from cayleyklein import CurvedLMNN, CurvedMetric, CurvedMLKR, estimate_curvature

X = draws.rows(80, 2, 0)
Y = draws.numbers(X, 0.0, 0)
LABELS = np.digitize(Y, np.quantile(Y, [0.4, 0.7]))


def same(found, expected, factor=1.0, rtol=2e-2):
    """Check estimates in units that differ by a factor; searches end at tolerances."""
    np.testing.assert_allclose(found.curvature * factor, expected.curvature, rtol=rtol, atol=1e-2)
    ends = np.multiply(found.interval, factor), expected.interval
    np.testing.assert_allclose(*ends, rtol=rtol, atol=1e-2)
    assert found.open_ends == expected.open_ends
    assert found.verdict == expected.verdict


@pytest.mark.parametrize("y", [Y, LABELS > 0, LABELS], ids=["numbers", "two labels", "three"])
def test_profile_and_interval_belong_together(y):
    found = estimate_curvature(X, y, random_state=0)
    K, value, score = found.profile
    assert (np.diff(K) > 0).all()
    assert K[value.argmax()] == found.curvature
    assert found.interval[0] <= found.curvature <= found.interval[1]
    fall = 2 * (value.max() - value)
    limit = stats.chi2.ppf(0.95, 1)
    inside = (found.interval[0] <= K) & (found.interval[1] >= K)
    assert (fall[~inside] > limit - 0.05).all()
    for end, is_open in zip(found.interval, found.open_ends, strict=True):
        if not is_open:  # the profile crosses the limit there
            assert np.interp(end, K, fall) == pytest.approx(limit, abs=0.15)
    assert found.interval[0] >= -1 / np.square(X).sum(axis=1).max() * (1 + 1e-12)
    np.testing.assert_allclose(found.bend, found.curvature * np.square(X).sum(axis=1).mean())
    assert ((score > -1) & (score <= 1)).all()


@pytest.mark.parametrize("y", [Y, LABELS > 0], ids=["numbers", "labels"])
def test_units_rotations_order_and_names_do_not_matter(y):
    expected = estimate_curvature(X, y, random_state=0)
    same(estimate_curvature(10 * X + 3, y, random_state=0), expected, factor=100)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    same(estimate_curvature(X @ turn, y, random_state=0), expected)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = estimate_curvature(X[order], y[order], random_state=0)
    same(shuffled, expected)
    assert shuffled.margins == expected.margins
    again = np.where(y, "yes", "no") if y.dtype == bool else 5 - 3 * y
    same(estimate_curvature(X, again, random_state=0), expected)


def test_metric_has_the_curvature_and_contains_the_rows():
    found = estimate_curvature(5 * X + 1, Y, shape="diagonal")
    assert found.metric.curvature == found.curvature
    assert found.metric.contains(5 * X + 1).all()
    z = found.metric.coordinates(5 * X + 1)
    np.testing.assert_allclose(found.curvature * np.square(z).sum(axis=1).mean(), found.bend)


def test_diagonal_shape_finds_the_scales_of_columns():
    expected = estimate_curvature(X, Y)
    stretched = estimate_curvature(X * [1.0, 30.0], Y, shape="diagonal")
    scales = stretched.metric.diagonal * [1.0, 30.0]
    assert scales[0] / scales[1] == pytest.approx(1.0, rel=0.5)
    assert stretched.bend == pytest.approx(expected.bend, abs=1.0)
    log_likelihoods = [e.profile.log_likelihood.max() for e in (stretched, expected)]
    assert log_likelihoods[0] > log_likelihoods[1] - 0.05  # one parameter more


def test_a_metric_gives_its_shape_and_center():
    metric = CurvedMetric(factor=[2.0, 2.0], center=X.mean(axis=0), curvature=0.7)
    same(estimate_curvature(X, Y, shape=metric), estimate_curvature(X, Y), factor=4)


@pytest.mark.parametrize(
    ("learner", "y"), [(CurvedLMNN(geometry="flat"), LABELS), (CurvedMLKR(geometry="flat"), Y)]
)
def test_a_learner_sees_one_half_and_the_likelihood_the_other(learner, y):
    seen = []

    class Spy(BaseEstimator):
        def fit(self, rows, targets):
            seen.append(rows)
            self.metric_ = learner.fit(rows, targets).metric_
            return self

    found = estimate_curvature(X, y, shape=Spy(), random_state=0)
    assert found.n_rows == 40
    assert len(seen[0]) == 40


@pytest.mark.parametrize(("learner", "labelled"), [(CurvedLMNN, True), (CurvedMLKR, False)])
def test_a_learned_shape_does_not_forbid_a_strong_curvature(learner, labelled):
    for seed in range(4):
        rows = draws.rows(120, 2, seed)
        y = draws.numbers(rows, -0.9, seed)
        y = y > np.median(y) if labelled else y
        shape = learner(geometry="flat", random_state=0)
        found = estimate_curvature(rows, y, shape=shape, n_grid=9, random_state=seed)
        low, high = found.bend_interval
        assert low <= -0.9 * np.square(rows).sum(axis=1).mean() <= high
        assert low <= found.bend <= high


def test_scales_of_columns_are_no_unit_of_the_curvature():
    expected = estimate_curvature(X, Y, shape="diagonal")
    found = estimate_curvature(X * [1.0, 30.0], Y, shape="diagonal")
    longest = [np.square(rows).sum(axis=1).max() for rows in (X, X * [1.0, 30.0])]
    same(found, expected, factor=longest[1] / longest[0])
    np.testing.assert_allclose(found.bend_interval, expected.bend_interval, rtol=2e-2, atol=1e-2)


def test_intervals_of_flat_draws_hold_zero():
    for seed in range(6):
        rows = draws.rows(80, 2, seed)
        found = estimate_curvature(rows, draws.numbers(rows, 0.0, seed), random_state=0)
        assert found.interval[0] < 0 < found.interval[1]
        assert found.geometry == "flat"


@pytest.mark.parametrize("K", [-0.99, 20.0])
def test_intervals_of_curved_draws_hold_their_curvature(K):
    rows = draws.rows(150, 2, 3)
    found = estimate_curvature(rows, draws.numbers(rows, K, 3, noise=0.05), random_state=0)
    assert found.interval[0] <= K <= found.interval[1]
    assert not found.interval[0] < 0 < found.interval[1]
    labels = draws.numbers(rows, K, 5, noise=0.05) > 0
    found = estimate_curvature(rows, labels, random_state=0)
    assert found.interval[0] <= K <= found.interval[1]


def test_targets_that_say_nothing_leave_both_ends_open():
    noise = np.random.default_rng(2).normal(size=len(X))
    found = estimate_curvature(X, noise, shape="isotropic", random_state=0)
    assert found.open_ends == (True, True)
    assert found.verdict == "too few rows, or nothing predicts y"
    assert found.interval == (pytest.approx(-1.0), np.inf)
    assert found.verdict in repr(found)


def test_long_tables_are_sampled():
    found = estimate_curvature(np.tile(X, (3, 1)), np.tile(Y, 3), max_samples=60, random_state=0)
    assert found.n_rows == 60
    assert found.metric.dimension == 2


@pytest.mark.parametrize("K", [-0.9, 0.0, 2.0])
def test_maps_of_dissimilarities(K):
    rows = draws.rows(30, 2, 1)
    D = draws.dissimilarities(rows, K, 1)
    given = {"dissimilarity": "precomputed", "random_state": 0}
    found = estimate_curvature(D, **given)
    assert found.interval[0] <= K <= found.interval[1]
    assert (found.interval[0] < 0 < found.interval[1]) == (K == 0)
    same(estimate_curvature(3 * D, **given), found, factor=9)
    D[3, 5] = D[5, 3] = np.nan
    assert estimate_curvature(D, **given).curvature == pytest.approx(found.curvature, abs=0.3)
