"""Kernel machines: positive definite kernels, γ and λ, column weights, ranks, landmarks."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.learning.rows import GivenRows, place_order
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.parts import distances, kernel, landmarks
from cayleyklein.parts.distances import (
    ColumnDistance,
    NormalScores,
    shared_sizes,
    slopes_of,
)
from cayleyklein.parts.kernel import MetricDistance, Spectrum, Tuning, fit_machine
from cayleyklein.parts.places import TargetPlaces, count_rows, pool_rows

BALL = {K: CurvedMetric.euclidean(3, curvature=K) for K in (-1.0, -0.2, 0.0, 0.5, 4.0)}
METRICS = {
    **{f"K={K}": metric for K, metric in BALL.items()},
    "mixed": MixedMetric([BALL[4.0], BALL[-1.0]], [0.3, 0.7]),
    "product": ProductMetric([BALL[0.0], BALL[0.5], BALL[4.0]]),
}


def points_of(X, y, weights=None):
    y = np.reshape(y, (len(X), -1))
    weights = np.ones(len(X)) if weights is None else weights
    ones = np.ones(len(X))
    return TargetPlaces(np.asarray(X, float), y, weights, ones, 0 * ones, np.arange(len(X)))


def ball_rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d) * 0.99


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("gamma", [0.05, 1.0, 20.0])
def test_kernels_are_positive_definite(name, gamma):
    X = ball_rows(80, 3)
    gram = kernel.gram_of(MetricDistance(METRICS[name])(X), gamma)
    assert np.linalg.eigvalsh(gram).min() > 0


def test_kernel_of_columns_is_positive_definite():
    X = ball_rows(80, 3)
    for weights in ([1.0, 1.0, 1.0], [0.0, 2.0, 0.5]):
        gram = kernel.gram_of(ColumnDistance(np.array(weights))(X), 2.0)
        assert np.linalg.eigvalsh(gram).min() > 0


def test_a_flat_machine_is_a_gaussian_process():
    X = ball_rows(60, 2)
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    found = fit_machine(
        MetricDistance(CurvedMetric.euclidean(2)), points_of(X, y), Tuning(1.0, 0.1)
    )
    kernel = Matern(1 / found.gamma, "fixed", nu=0.5) + WhiteKernel(0.1, "fixed")
    process = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y - y.mean())
    Q = ball_rows(20, 2, seed=1)
    mean, std = process.predict(Q, return_std=True)
    np.testing.assert_allclose(found.scores(Q)[:, 0], mean + y.mean(), rtol=1e-8)
    np.testing.assert_allclose(found.variances(Q), std**2, rtol=1e-8)


def test_what_rows_add_is_the_score():
    X, y = ball_rows(40, 2), np.arange(40.0) % 7
    found = fit_machine(MetricDistance(BALL_PLANE), points_of(X, y))
    Q = ball_rows(5, 2, seed=1)
    for q, score in zip(Q, found.scores(Q), strict=True):
        numbers, effects = found.row_effects(q)
        np.testing.assert_array_equal(numbers, np.sort(found.numbers))
        np.testing.assert_allclose(effects.sum(axis=0) + found.offset, score, rtol=1e-9)


BALL_PLANE = CurvedMetric.euclidean(2, curvature=-1.0)


def test_chosen_tuning_is_the_best_of_leaving_points_out():
    X = ball_rows(50, 2)
    y = np.sin(3 * X[:, 0])[:, None] + 0.1 * np.random.default_rng(0).normal(size=(50, 1))
    found = fit_machine(MetricDistance(BALL_PLANE), points_of(X, y))

    def loss(gamma, penalty):
        unit = kernel.typical_distance(BALL_PLANE.pairwise(X))
        total, centred = 0.0, y - y.mean()
        gram = np.exp(-gamma / unit * BALL_PLANE.pairwise(X))
        for i in range(50):
            rest = np.delete(np.arange(50), i)
            a = np.linalg.solve(gram[np.ix_(rest, rest)] + penalty * np.eye(49), centred[rest])
            total += ((centred[i] - gram[i, rest] @ a) ** 2).sum()
        return total

    tried = {(g, r): loss(g, r) for g in kernel.GAMMAS for r in kernel.RIDGES}
    assert tuple(found.tuning) == min(tried, key=tried.get)


def test_rows_at_one_point_are_left_out_one_at_a_time():
    rng = np.random.default_rng(0)
    places = ball_rows(8, 2)
    place = rng.integers(0, 8, size=40)
    X, y, penalty = places[place], rng.normal(size=(40, 2)), 0.3
    gram = np.exp(-BALL_PLANE.pairwise(X))
    expected = 0.0
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        a = np.linalg.solve(gram[np.ix_(rest, rest)] + penalty * np.eye(39), y[rest])
        expected += ((y[i] - gram[i, rest] @ a) ** 2).sum()
    points = pool_rows(GivenRows(X, y, np.ones(40), 2), y, counted=True)
    spectrum = Spectrum.of(np.exp(-BALL_PLANE.pairwise(points.X)), points.targets, points.weights)
    alpha, inverse = spectrum.coefficients(penalty), spectrum.inverse_diagonal(penalty)
    assert points.left_out_loss(alpha, inverse, penalty) == pytest.approx(expected, rel=1e-9)


def test_many_points_choose_the_best_ridge_of_all():
    rng = np.random.default_rng(0)
    n = kernel.GAMMA_PLACES + 50
    X = ball_rows(n, 2)
    y = np.sin(4 * X) + 0.3 * rng.normal(size=(n, 2))
    points = points_of(X, y, rng.uniform(0.5, 2.0, size=n))
    found = fit_machine(MetricDistance(BALL_PLANE), points)
    gram, (centred, _) = np.exp(-found.gamma * BALL_PLANE.pairwise(X)), points.centred()
    spectrum = Spectrum.of(gram, centred.targets, centred.weights)
    losses = {
        penalty: centred.left_out_loss(
            spectrum.coefficients(penalty), spectrum.inverse_diagonal(penalty), penalty
        )
        for penalty in kernel.RIDGES
    }
    penalty = found.tuning.ridge
    assert penalty == min(losses, key=losses.get)
    coefficients = found.views[0].coefficients
    np.testing.assert_allclose(coefficients, spectrum.coefficients(penalty), atol=1e-8)
    assert found.log_likelihood == pytest.approx(spectrum.log_likelihood(penalty).sum(), rel=1e-9)


def test_a_part_of_very_many_points_chooses_the_ridge(monkeypatch):
    monkeypatch.setattr(kernel, "RIDGE_PLACES", 160)
    rng = np.random.default_rng(0)
    n = 320
    X = ball_rows(n, 2)
    y = np.sin(4 * X)
    y[::2] += 3 * rng.normal(size=(n // 2, 2))  # noise where places are asked, and nowhere else
    points = points_of(X, y, np.ones(n))
    found = fit_machine(MetricDistance(BALL_PLANE), points)
    gram, (centred, _) = np.exp(-found.gamma * BALL_PLANE.pairwise(X)), points.centred()
    some = even_rows(n, 160)
    losses = {}
    for penalty in kernel.RIDGES:
        inverse = np.linalg.inv(gram[np.ix_(some, some)] + penalty * np.eye(160))
        missed = inverse @ centred.targets[some] / np.diag(inverse)[:, None]
        losses[penalty] = (missed**2).sum()
    assert found.tuning.ridge == min(losses, key=losses.get)
    a = np.linalg.solve(gram + found.tuning.ridge * np.eye(n), centred.targets)
    np.testing.assert_allclose(found.views[0].coefficients, a, atol=1e-9)


def test_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    X, Q, a = rng.normal(size=(30, 3)), rng.normal(size=(4, 3)), rng.normal(size=(30, 1))
    weights, h = np.array([1.0, 0.3, 2.0]), 1e-6

    def value(Q):
        return kernel.gram_of(ColumnDistance(weights)(Q, X), 1.0) @ a

    gram = kernel.gram_of(ColumnDistance(weights)(Q, X), 1.0)
    slopes = slopes_of(weights, X, Q, gram, a)
    found = weights * shared_sizes(slopes[None])
    for j in range(3):
        step = h * np.eye(3)[j]
        slope = (value(Q + step) - value(Q - step)) / (2 * h)
        assert found[j] == pytest.approx(np.sqrt(np.mean(slope**2)), rel=1e-6)


def test_columns_of_noise_get_little_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20)) * 10.0 ** np.arange(20)[::-1]
    scale = X.std(axis=0)
    y = np.sin(2 * X[:, 0] / scale[0]) + np.abs(X[:, 1]) / scale[1]
    weights = distances.weigh_columns(points_of(X, y)).weights * scale
    assert weights[:2].min() > 3 * weights[2:].max()


def test_constant_columns_and_constant_targets():
    X = np.column_stack([np.ones(30), np.arange(30.0)])
    assert distances.weigh_columns(points_of(X, X[:, 1])).weights[0] == 0
    constant = fit_machine(distances.weigh_columns(points_of(X, X[:, 0])), points_of(X, X[:, 0]))
    np.testing.assert_allclose(constant.scores(X), 1.0)


def test_normal_scores_are_monotone_and_keep_ties():
    X = np.array([[3.0], [1.0], [1.0], [1e9], [2.0]])
    scores = NormalScores.of(X, np.ones(5))
    np.testing.assert_allclose(
        scores.transform(X)[:, 0], norm.ppf([0.7, 0.2, 0.2, 0.9, 0.5]), atol=1e-12
    )
    line = scores.transform(np.linspace(-5, 20, 200)[:, None])[:, 0]
    assert (np.diff(line) >= 0).all()
    assert line[0] == -3.0
    twice = NormalScores.of(X[[0, 1, 3, 4]], np.array([1.0, 2.0, 1.0, 1.0]))
    np.testing.assert_allclose(twice.transform(X), scores.transform(X))


def test_what_is_noise_in_the_slopes_of_one_part_is_none_in_another():
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=(4, 3, 500, 2))
    slopes[:, 0] += 2 * rng.normal(size=(500, 2))
    found = shared_sizes(slopes)
    assert found[0] == pytest.approx(2.0, rel=0.1)
    assert found[1:].max() < 0.2
    np.testing.assert_allclose(shared_sizes(slopes[[1, 1]]), np.sqrt((slopes[1] ** 2).mean((1, 2))))
    pairs = [(slopes[i] * slopes[j]).mean((1, 2)) for i in range(4) for j in range(4) if i != j]
    assert found[0] == pytest.approx(np.sqrt(np.mean(pairs, axis=0)[0]))


def test_many_rows_weigh_columns_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=4000)
    few, many = (distances.weigh_columns(points_of(X[:n], y[:n])).weights for n in (1000, 4000))
    assert many[:2].min() / many[2:].max() > 2 * few[:2].min() / few[2:].max()


def test_sums_do_not_depend_on_blocks(monkeypatch):
    X, y = ball_rows(100, 2), np.random.default_rng(0).normal(size=(100, 3))
    weights = np.random.default_rng(1).uniform(size=100)
    kernel = landmarks.LandmarkKernel(MetricDistance(BALL_PLANE), 1.0, X[:10])
    whole = landmarks.row_sums(kernel, X, y, weights)
    monkeypatch.setattr(landmarks, "GRAM_ENTRIES", 70)
    halves = np.split(X, [37]), np.split(y, [37]), np.split(weights, [37])
    parts = sum(landmarks.row_sums(kernel, *half) for half in zip(*halves, strict=True))
    np.testing.assert_allclose(whole, parts, rtol=1e-12, atol=1e-14)


def test_copies_are_counted_where_most_rows_share_their_place_with_other_targets():
    X, y = np.repeat([0.0, 1.0], 4)[:, None], np.array([0, 0, 1, 1, 0, 1, 1, 1])
    for weights, expected in (
        ([3.0] * 8, [1.0] * 8),
        ([0.2, 0.4] * 4, [1.0, 2.0] * 4),
        ([1, 1, 1, 1, 2, 1, 1, 0], [0.5] * 4 + [1.0, 0.5, 0.5, 0.0]),  # 2, 2; 2, 2 observations
    ):
        found, counted = count_rows(GivenRows(X, y, np.array(weights, float), 1))
        assert counted
        assert found.weights.tolist() == expected
    odd = np.array([1.0, 1.5, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert not count_rows(GivenRows(X, y, odd, 1))[1]
    assert not count_rows(GivenRows(X, np.repeat([0, 1], 4), np.ones(8), 1))[1]
    one_by_one = np.arange(8.0)[:, None]
    assert not count_rows(GivenRows(one_by_one, y, np.ones(8), 1))[1]
    twice = GivenRows(np.tile(X, (2, 1)), np.tile(y, 2), np.ones(16), 1)
    assert count_rows(twice)[0].weights.sum() == 8.0


def test_places_have_an_order_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(30, 4)) ** np.arange(1, 5)
    order = place_order(X)
    columns, rows = rng.permutation(4), rng.permutation(30)
    moved = (X * [2.0, 0.3, 1e6, 1.0])[:, columns][rows]
    np.testing.assert_array_equal(rows[place_order(moved)], order)
