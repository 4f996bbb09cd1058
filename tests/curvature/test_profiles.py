"""Likelihoods of K against direct computations, and the search for its interval."""

import numpy as np
import pytest
from scipy import optimize, stats
from tests.curvature import draws

from cayleyklein import CurvedMetric
from cayleyklein.curvature import profiles

X = draws.rows(20, 2, 0)
D = CurvedMetric.euclidean(2).pairwise(X)
D = D / D.mean()
TREND = 0.3 * X @ X.T


def test_the_peak_of_a_parabola():
    x = [-1.0, 0.0, 0.4, 2.0]
    assert profiles.peak({at: -3 * (at - 0.3) ** 2 for at in x}) == pytest.approx(0.3, rel=1e-14)
    assert profiles.peak({at: -3 * (at - 0.7) ** 2 for at in x}) == pytest.approx(0.7, rel=1e-14)
    assert profiles.peak({at: at for at in x}) == 2.0
    assert profiles.peak({-1.0: -np.inf, 0.0: 1.0, 1.0: 0.0}) == 0.0


def test_contrasts_are_orthonormal_and_see_no_constant():
    C = profiles.contrasts(np.eye(7))
    np.testing.assert_allclose(C @ C.T, np.eye(6), atol=1e-15)
    np.testing.assert_allclose(C @ np.ones(7), 0, atol=1e-15)


def test_numbers_have_the_restricted_likelihood():
    """Differences between lengths, with σ² and noise at their best, by a plain search."""
    y = np.sin(3 * X[:, :1]) + 0.1 * np.cos(17 * X[:, 1:])
    found = profiles.NumberProcess(y, TREND)
    C = profiles.contrasts(np.eye(20))
    z, n = C @ y[:, 0], 19

    def direct(length):
        gram = C @ (np.exp(-D / length) + TREND) @ C.T

        def loss(log_noise):
            whole = gram + np.exp(log_noise) * np.eye(n)
            variance = z @ np.linalg.solve(whole, z) / n
            return 0.5 * (n * np.log(variance) + np.linalg.slogdet(whole)[1])

        return -optimize.minimize_scalar(loss, bounds=(-11, 4.6), method="bounded").fun

    values = [found.log_likelihood(D, np.log([length])) for length in (0.3, 1.0, 4.0)]
    expected = [direct(length) for length in (0.3, 1.0, 4.0)]
    np.testing.assert_allclose(np.diff(values), np.diff(expected), atol=0.02)
    centred = y - y.mean(axis=0)
    assert 0.5 < found.score(D, np.log([1.0])) < 1
    assert profiles.NumberProcess(10 * centred + 3, TREND).score(D, np.log([1.0])) == pytest.approx(
        found.score(D, np.log([1.0]))
    )


def test_laplaces_approximation():
    """The mode has no gradient; the value is that of the definition."""
    signs = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    K = 4 * np.exp(-D) + 2
    value, f = profiles.laplace(K, signs, np.zeros(20))
    ratio = np.exp(stats.norm.logpdf(f) - stats.norm.logcdf(signs * f))
    np.testing.assert_allclose(np.linalg.solve(K, f), signs * ratio, atol=1e-3)
    W = ratio * (ratio + signs * f)
    height = stats.norm.logcdf(signs * f).sum() - f @ np.linalg.solve(K, f) / 2
    expected = height - np.linalg.slogdet(np.eye(20) + K * W)[1] / 2
    assert value == pytest.approx(expected, abs=1e-3)
    assert profiles.laplace(K, signs, 50 * signs)[0] == pytest.approx(value, abs=1e-4)


def test_one_class_against_the_rest_counts_half():
    codes = (X[:, 0] > 0).astype(float)
    two, parameters = profiles.LabelProcess(codes, TREND), np.log([1.0, 4.0])
    covariance = 4.0 * (np.exp(-D) + TREND) + 100
    signs = 2 * codes - 1
    expected = profiles.laplace(covariance, signs, np.zeros(20))[0] / 1.1
    assert two.log_likelihood(D, parameters) == pytest.approx(expected)
    length = profiles.laplace(4.0 * 0.5 * (np.exp(-D / 0.5) + TREND) + 100, signs, np.zeros(20))[0]
    assert two.log_likelihood(D, np.log([0.5, 4.0])) == pytest.approx(length / 1.1, abs=1e-4)
    three = codes + (X[:, 1] > 0.2)
    each = [
        profiles.laplace(covariance, np.where(three == code, 1.0, -1.0), np.zeros(20))[0]
        for code in range(3)
    ]
    found = profiles.LabelProcess(three, TREND).log_likelihood(D, parameters)
    assert found == pytest.approx(sum(each) / 1.1 / 2)


def test_labels_are_scored_by_their_signs():
    codes = (X[:, 0] > 0).astype(float)
    right = profiles.LabelProcess(codes, TREND)
    assert right.score(D, np.log([1.0, 4.0])) >= 0.8
    errors = profiles.left_out_errors(D, np.log([1.0]), right.targets, TREND)
    predicted = np.sign(right.targets - errors)
    share = (predicted == right.targets).mean()
    assert right.score(D, np.log([1.0, 4.0])) == share


def test_climbing_to_the_top_of_a_hill():
    def hill(at):
        return -((at[0] - 1.3) ** 2) - 2 * (at[1] + 0.4) ** 2 - 0.5 * at[0] * at[1]

    expected = optimize.minimize(lambda at: -hill(at), [0.0, 0.0]).x
    bounds = np.array([[-3.0, 3.0], [-3.0, 3.0]])
    value, at = profiles.climb(hill, np.zeros(2), bounds)
    assert value == pytest.approx(hill(expected), abs=0.02)
    np.testing.assert_allclose(at, expected, atol=0.15)
    _, at = profiles.climb(hill, np.zeros(2), np.array([[-3.0, 0.5], [-3.0, 3.0]]))
    assert at[0] == 0.5


@pytest.mark.parametrize("n_grid", [5, 15])
def test_the_interval_of_a_parabola(n_grid):
    def search(u, near):
        return -40 * (u - 0.2) ** 2, np.array([u])

    profile = profiles.Profile(search)
    profile.explore(0.0, (-0.999, 0.97), n_grid)
    assert profile.best() == pytest.approx(0.2, abs=1e-12)
    assert profile.deviance(0.5) == pytest.approx(80 * 0.09)
    assert profile.nearest(0.21) == pytest.approx(0.2, abs=1e-12)
    half = np.sqrt(3.84 / 80)
    assert profile.crossing(3.84, -1) == pytest.approx(0.2 - half, abs=2e-3)
    assert profile.crossing(3.84, 1) == pytest.approx(0.2 + half, abs=2e-3)
    assert profile.crossing(80.0, 1) is None


def test_units_of_curvature():
    model = profiles.ProcessModel(profiles.NumberProcess(X[:, :1], TREND), 2 * X, np.empty((1, 0)))
    assert model.sqradius == pytest.approx(4)  # the farthest row of X is at 1
    assert model.curvature(-0.5) == pytest.approx(-0.125)
    assert model.curvature(0.5) == pytest.approx(0.25)
    spread = 4 * np.square(X).sum(axis=1).mean()
    assert model.measure(-0.5, np.zeros(1)) == pytest.approx((-0.125, -0.125 * spread))
    assert model.least == pytest.approx((-0.25, -0.25 * spread))
    distances = CurvedMetric.euclidean(2, curvature=0.25).pairwise(2 * X)
    found = model.distances(0.5, np.empty(0))
    np.testing.assert_allclose(found, distances / distances.mean())


def test_scales_keep_the_distance_of_the_farthest_row():
    process = profiles.NumberProcess(X[:, :1], TREND)
    model = profiles.ProcessModel(process, X, np.zeros((1, 2)))
    factor = model.factor(np.log([3.0, 0.5]))
    assert factor[0] / factor[1] == pytest.approx(6)
    assert np.linalg.norm(X * factor, axis=1).max() == pytest.approx(1)
    assert model.least[1] == -1
