"""Coordinates, and trigonometry of curvature K."""

import mpmath
import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import distances, lifts


def test_coordinates_of_a_dense_and_of_a_diagonal_factor():
    rng = np.random.default_rng(0)
    x, center, diagonal = rng.normal(size=(100, 3)), rng.normal(size=3), rng.uniform(size=3)
    expected = (x - center) * diagonal
    found = CurvedMetric(factor=diagonal, center=center).coordinates(x)
    np.testing.assert_array_equal(found, expected)
    for factor in (rng.normal(size=(3, 3)), rng.normal(size=(2, 3))):
        found = CurvedMetric(factor=factor, center=center).coordinates(x)
        np.testing.assert_allclose(found, (x - center) @ factor.T)


@pytest.mark.parametrize("factor", [np.ones(2), np.ones((2, 2))])
def test_coordinates_that_overflow_are_refused(factor):
    metric = CurvedMetric(factor=factor, center=np.full(2, -2e307))
    with pytest.raises(InvalidInputError, match="overflows for x at index 1"):
        metric.coordinates([[0.0, 0.0], [1.7e308, 1.7e308]])


def test_a_row_is_mapped_alike_in_every_array():
    rng = np.random.default_rng(0)
    matrix, x = rng.normal(size=(5, 7)), rng.normal(size=(200, 7))
    whole = lifts.map_rows(matrix, x)
    np.testing.assert_array_equal(lifts.map_rows(matrix, x[150:]), whole[150:])
    np.testing.assert_array_equal(lifts.map_rows(matrix, np.asfortranarray(x)), whole)


@pytest.mark.parametrize("K", [0.0, 1e-300, -1e-300])
def test_one_function_through_zero_curvature(K):
    assert lifts.sine(1.0, K) == lifts.cosine(1.0, K) == lifts.tangent(1.0, K) == 1


def test_points_beyond_a_hyperbolic_boundary_are_put_just_inside():
    found = lifts.euclidean_coordinates(np.array([[0.5], [2.0]]), K=-1.0)
    np.testing.assert_allclose(found, [[np.arctanh(0.5)], [18.715]], rtol=1e-4)


@pytest.mark.parametrize("K", [-2.0, -0.5, 0.0, 0.5, 2.0])
def test_slopes_of_distances_agree_with_fifty_digits(K):
    """∂d/∂c² and ∂d/∂K of d = 2 arcsin(√K c/2)/√K, where ∂d/∂K is a series and where it is not."""
    x = np.array([1e-12, 1e-4, 5e-4, 9.99e-4, 1.01e-3, 0.1, 1.0, 3.9])
    sqchord = x / (abs(K) or 1.0)
    d, by_sqchord = lifts.slopes_from_sqchord(sqchord, K)
    by_K = lifts.curvature_slopes(sqchord, K)

    def exact(sqchord, K):
        c = mpmath.sqrt(sqchord)
        if K == 0:
            return c
        root = mpmath.sqrt(abs(K))
        return 2 * (mpmath.asin if K > 0 else mpmath.asinh)(root * c / 2) / root

    with mpmath.workdps(60):
        for i, square in enumerate(map(float, sqchord)):
            c2, step = mpmath.mpf(square), mpmath.mpf(10) ** -20
            assert d[i] == pytest.approx(float(exact(c2, K)), rel=1e-14, abs=0)
            slope = (exact(c2 + c2 * step, K) - exact(c2 - c2 * step, K)) / (2 * c2 * step)
            assert by_sqchord[i] == pytest.approx(float(slope), rel=1e-13, abs=0)
            slope = (exact(c2, K + step) - exact(c2, K - step)) / (2 * step)
            if K == 0 and square > 1e-3:
                continue  # only the first terms are there
            cancelled = 1e-16 / min(x[i], 1.0) if x[i] > 1e-3 else 0.0
            assert by_K[i] == pytest.approx(float(slope), rel=1e-13 + 200 * cancelled, abs=0)


def test_coinciding_points_pull_nowhere():
    d, by_sqchord = lifts.slopes_from_sqchord(np.zeros(1), 1.0)
    assert (d, by_sqchord, lifts.curvature_slopes(np.zeros(1), 1.0)) == (0, 0, 0)


@pytest.mark.parametrize("K", [-2.0, 0.0, 2.0])
def test_chord_and_distance_are_inverse(K):
    d = np.array([0.0, 1e-9, 0.5, 1.0, 2.2])
    np.testing.assert_allclose(lifts.distance_from_sqchord(lifts.sqchord_from(d, K), K), d)
    beyond = lifts.sqchord_from(np.array([2.23]), K)  # the antipode is at π/√2
    assert np.isinf(beyond[0]) == (K > 0)


@pytest.mark.parametrize("K", [-0.2, 0.0, 0.2, 3.0])
def test_the_gram_determinant_of_a_line(K):
    """W = ‖u‖² + K (‖u‖²‖c‖² - ⟨u, c⟩²), for points c of any length."""
    rng = np.random.default_rng(0)
    u, c = rng.normal(size=(2, 50, 3))
    c *= np.geomspace(1e-3, 1.0, 50)[:, None]
    c[0] = 0.0
    uu, cc, uc = (np.einsum("ij,ij->i", a, b) for a, b in ((u, u), (c, c), (u, c)))
    found = distances.wedge(u, c, 1 + K * cc, K)
    np.testing.assert_allclose(found, uu + K * (uu * cc - uc**2), rtol=1e-13)
