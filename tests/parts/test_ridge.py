"""Ridge regression against plain solves, fits without a row, and a normal density."""

import numpy as np
import pytest
from scipy import stats

from cayleyklein.parts.kernel import Spectrum


@pytest.fixture(params=["equal", "different"])
def problem(request):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 3))
    gram = np.exp(-np.abs(X[:, None] - X).sum(axis=2))
    weights = np.ones(25) if request.param == "equal" else rng.uniform(0.2, 3.0, size=25)
    return gram, rng.normal(size=(25, 2)), weights


@pytest.mark.parametrize("ridge", [1e-3, 0.5, 20.0])
def test_coefficients_solve_the_weighted_problem(problem, ridge):
    gram, targets, weights = problem
    expected = np.linalg.solve(gram + np.diag(ridge / weights), targets)
    found = Spectrum.of(*problem).coefficients(ridge)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_left_out_errors_are_those_of_fits_without_the_row(problem, ridge):
    gram, targets, weights = problem
    found = Spectrum.of(*problem).left_out_errors(ridge)
    for row in (0, 7, 24):
        rest = np.delete(np.arange(25), row)
        system = gram[np.ix_(rest, rest)] + np.diag(ridge / weights[rest])
        predicted = gram[row, rest] @ np.linalg.solve(system, targets[rest])
        np.testing.assert_allclose(found[row], targets[row] - predicted, rtol=1e-8)


def test_likelihood_is_a_normal_density_and_its_variance_the_best(problem):
    gram, targets, weights = problem
    spectrum, ridge = Spectrum.of(*problem), 0.3
    found, covariance = spectrum.log_likelihood(ridge), gram + np.diag(ridge / weights)
    for y, top in zip(targets.T, found, strict=True):
        best = y @ np.linalg.solve(covariance, y) / len(y)
        density = [stats.multivariate_normal(cov=v * best * covariance) for v in (1, 0.8, 1.2)]
        np.testing.assert_allclose(top, density[0].logpdf(y), rtol=1e-9)
        assert top > max(each.logpdf(y) for each in density[1:])


def test_a_weight_of_two_is_two_rows():
    X = np.array([0.0, 1.0, 2.5])
    gram = np.exp(-np.abs(X[:, None] - X))
    y = np.array([[1.0], [-1.0], [0.5]])
    once = Spectrum.of(gram, y, np.array([1.0, 2.0, 1.0])).coefficients(0.1)
    rows = [0, 1, 1, 2]
    twice = Spectrum.of(gram[np.ix_(rows, rows)], y[rows], np.ones(4)).coefficients(0.1)
    np.testing.assert_allclose(gram @ once, gram[:, rows] @ twice, rtol=1e-9)
