"""Coordinates, and trigonometry of curvature K."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import lifts


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
