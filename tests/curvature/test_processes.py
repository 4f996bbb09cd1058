"""Gaussian processes: densities and held-out rows against refits, and 40 digits."""

import mpmath
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from cayleyklein.curvature import processes, rivals, spaces

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3))
X -= X.mean(axis=0)
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
Y -= Y.mean(axis=0)
BALL = rivals.smallest_ball(X)
FAMILIES = [
    *rivals.flat_in_place(X),
    *rivals.flat_rescaled(X, BALL),
    *spaces.elliptic_spaces(X),
    *spaces.hyperbolic_spaces(X, BALL),
]


def covariance(at=processes.START):
    sample = processes.Sample(X, Y, np.arange(len(X)))
    family = FAMILIES[0]
    D = sample.distances(family, 1.0)
    return sample.covariance(family.kernel, D, processes.median_distance(D), at)


def test_log_likelihood_has_the_digits_of_mpmath():
    C, found = covariance(), 0.0
    with mpmath.workdps(40):
        matrix, n = mpmath.matrix(C.tolist()), len(C)
        log_det = mpmath.log(mpmath.det(matrix))
        for y in Y.T:
            column = mpmath.matrix(y.tolist())
            variance = (column.T * mpmath.inverse(matrix) * column)[0] / n
            found -= (n * mpmath.log(2 * mpmath.pi * variance) + log_det + n) / 2
    assert processes.log_likelihood(C, Y) == pytest.approx(float(found), rel=1e-12)


def test_held_out_rows_are_those_of_refits():
    C, folds = covariance(), np.arange(len(X)) % 4
    errors, variances = processes.held_out_blocks(processes.invert(C), Y, folds)
    for fold in range(4):
        held, known = folds == fold, folds != fold
        weights = np.linalg.solve(C[np.ix_(known, known)], C[np.ix_(known, held)])
        np.testing.assert_allclose(errors[held], np.square(Y[held] - weights.T @ Y[known]))
        left = C[np.ix_(held, held)] - C[np.ix_(held, known)] @ weights
        np.testing.assert_allclose(variances[held], np.diagonal(left))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_covariances_of_every_space_are_positive_definite(family):
    sample = processes.Sample(X, Y, np.arange(len(X)))
    for parameter in family.parameters:
        D = sample.distances(family, parameter)
        assert np.isfinite(D).all()
        k = family.kernel(D, processes.median_distance(D))
        assert np.linalg.eigvalsh(k)[0] > -1e-10


def test_climbing_ends_where_no_neighbour_is_better():
    sample = processes.Sample(X, Y, np.arange(len(X)))
    fit = sample.fit(FAMILIES[0], 1.0, processes.START)
    near = processes.neighbours(fit.settings)
    assert fit.log_likelihood >= max(processes.log_likelihood(covariance(at), Y) for at in near)


def test_smallest_ball_holds_all_rows_and_touches_several():
    center, radius = BALL
    away = np.linalg.norm(X - center, axis=1)
    assert (away <= radius).all()
    assert (away > 0.99 * radius).sum() >= 2
    assert radius <= np.linalg.norm(X, axis=1).max()


def test_weakly_curved_spaces_are_flat():
    flat = processes.flat_distances(X)
    for family in (*spaces.elliptic_spaces(X), *spaces.hyperbolic_spaces(X, BALL)):
        D = processes.measure_points(family.place(1e-4), family.sign)
        np.testing.assert_allclose(D / D.max(), flat / flat.max(), atol=1e-5)


def test_covariances_are_those_of_scikit_learn():
    D = processes.flat_distances(X)
    np.testing.assert_allclose(processes.exponential(D, 0.7), Matern(0.7, nu=0.5)(X))
    np.testing.assert_allclose(processes.matern(D, 0.7), Matern(0.7, nu=1.5)(X))
    np.testing.assert_allclose(processes.gaussian(D, 0.7), RBF(0.7)(X))


def test_covariance_is_that_of_the_settings():
    at = processes.Settings(3, 6, 2)
    D = processes.flat_distances(X)
    unit = np.median(D[np.triu_indices(25, 1)])
    expected = (
        np.exp(-D / unit / processes.LENGTH_GRID[3]) + 1 + processes.NOISE_GRID[6] * np.eye(25)
    )
    expected += processes.SLOPE_GRID[2] * X @ X.T / np.square(X).sum(axis=1).mean()
    np.testing.assert_allclose(covariance(at), expected)


def test_neighbours_stay_on_the_grid():
    middle = processes.neighbours(processes.START)
    assert sorted(np.abs(np.subtract(at, processes.START)).sum() for at in middle) == [1] * 6
    assert len(set(middle)) == 6
    assert len(processes.neighbours(processes.Settings(0, 0, 0))) == 3
    assert len(processes.neighbours(processes.Settings(4, 9, 2))) == 3


def test_parameters_between_those_tried():
    family = processes.Family("", lambda _: X, parameters=(1.0, 4.0, 9.0))
    assert family.between(4.0) == [2.0, 6.0]
    assert family.between(1.0) == [2.0]
    assert family.between(9.0) == [6.0]


def test_errors_of_partitions_are_averaged():
    sample = processes.Sample(X, Y, np.arange(25))
    fit = sample.fit(FAMILIES[0], 1.0, processes.START)
    partitions = [np.arange(25) % 4, np.arange(25) // 5]
    errors, variances = sample.held_out(fit, partitions)
    each = [sample.held_out(fit, [folds]) for folds in partitions]
    np.testing.assert_allclose(errors, (each[0][0] + each[1][0]) / 2)
    np.testing.assert_allclose(variances, (each[0][1] + each[1][1]) / 2)


def test_the_unit_of_lengths():
    D = processes.flat_distances(np.array([[0.0], [1.0], [4.0]]))
    assert processes.median_distance(D) == pytest.approx(3.0, rel=1e-12)
    assert processes.median_distance(np.zeros((3, 3))) == 1.0
