import pickle

import numpy as np
import pytest
from tests import oracle

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError


def test_factor_and_matrix_agree():
    shape = np.array([[2.0, 0.5], [0.5, 1.0]])
    metric = CurvedMetric(matrix=shape)
    np.testing.assert_allclose(metric.factor.T @ metric.factor, shape, rtol=1e-15)
    np.testing.assert_array_equal(metric.factor, np.triu(metric.factor))


def test_coordinates_round_trip():
    rng = np.random.default_rng(0)
    metric = CurvedMetric(factor=rng.normal(size=(3, 3)), center=[1.0, 2.0, 3.0])
    x = rng.normal(size=(4, 5, 3))
    np.testing.assert_allclose(metric.points(metric.coordinates(x)), x, rtol=1e-10)


def test_immutable_and_picklable():
    metric = CurvedMetric(matrix=np.eye(2), center=[1.0, 0.0], curvature=-2.0)
    with pytest.raises(AttributeError, match="immutable"):
        metric.curvature = 1.0
    with pytest.raises(ValueError, match="read-only"):
        metric.factor[0, 0] = 3.0
    for array in (
        metric.matrix,
        metric.inverse_factor,
        metric.homogeneous_matrix,
        CurvedMetric(factor=[[2.0]]).matrix,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 3.0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del metric.factor
    assert repr(metric) == "CurvedMetric(hyperbolic, d=2, K=-2)"
    copy = pickle.loads(pickle.dumps(metric))
    np.testing.assert_array_equal(copy.given_matrix, metric.given_matrix)
    assert copy.curvature == -2.0


def test_does_not_keep_a_view_of_its_input():
    factor = np.eye(2)
    metric = CurvedMetric(factor=factor)
    factor[0, 0] = 5.0
    assert metric.factor[0, 0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InvalidInputError, "exactly one"),
        ({"factor": np.eye(2), "matrix": np.eye(2)}, InvalidInputError, "exactly one"),
        ({"matrix": [[1.0, 0.3], [0.0, 1.0]]}, InvalidInputError, r"\(0, 1\) and \(1, 0\)"),
        ({"matrix": [[1.0, 2.0], [2.0, 1.0]]}, NotRepresentableError, "smallest eigenvalue is -1"),
        ({"matrix": [[1.0, 0.0], [0.0, np.nan]]}, InvalidInputError, r"index \(1, 1\)"),
        ({"matrix": [[1.0, 0.0]]}, InvalidInputError, "square"),
        ({"factor": 1.0}, InvalidInputError, "factor of shape"),
        ({"factor": []}, InvalidInputError, "neither 0"),
        ({"factor": np.empty((0, 2))}, InvalidInputError, "neither 0"),
        ({"factor": np.eye(2), "center": [0.0]}, InvalidInputError, "2 are expected"),
        ({"factor": np.eye(2), "curvature": np.nan}, InvalidInputError, "curvature has NaN"),
        ({"factor": np.eye(2), "curvature": [1.0]}, InvalidInputError, "single number"),
    ],
)
def test_bad_parameters(arguments, error, message):
    with pytest.raises(error, match=message):
        CurvedMetric(**arguments)


def test_low_rank_has_no_points():
    with pytest.raises(NotRepresentableError, match="rank 1"):
        CurvedMetric(factor=[[1.0, 1.0]]).points([[1.0]])


def test_coordinates_and_points_are_checked():
    metric = CurvedMetric(factor=np.eye(2))
    with pytest.raises(InvalidInputError, match="x has 3 coordinates"):
        metric.coordinates([0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match="z has 3 coordinates"):
        metric.points([0.0, 0.0, 0.0])


def test_matrix_takes_points_to_coordinates():
    metric = CurvedMetric(factor=[[1.0, 2.0], [0.0, 3.0]], center=[1.0, -1.0])
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(metric.homogeneous_matrix @ [*x, 1.0], [*metric.coordinates(x), 1.0])


def test_inside_names_the_offenders():
    metric = CurvedMetric(factor=np.eye(1), curvature=-1.0)
    points = np.array([[0.0], [1.0], [0.5], [-2.0]])
    with pytest.raises(OutsideDomainError, match="X at index 1, 3 lies on or outside"):
        metric.inside(points, "X")


@pytest.mark.parametrize("d", [1, 2, 7, 100])
@pytest.mark.parametrize("given_as", ["factor", "matrix"])
def test_quadratic_form_where_it_cancels(given_as, d):
    """1 - q with q within 1e-14 of 1 keeps ten digits or more."""
    rng = np.random.default_rng(d)
    L, center = rng.normal(size=(d, d)), rng.normal(size=d)
    form = {"factor": L} if given_as == "factor" else {"matrix": L.T @ L}
    for _ in range(3):
        x = center + rng.normal(size=d)
        K = -(1 - 1e-14) / float(np.sum((L @ (x - center)) ** 2))
        metric = CurvedMetric(center=center, curvature=K, **form)
        t = [a - b for a, b in zip(oracle.vector(x), oracle.vector(center), strict=True)]
        left = oracle.apply(L if given_as == "factor" else metric.matrix, t)
        right = left if given_as == "factor" else t
        exact = 1 + oracle.vector([K])[0] * sum(a * b for a, b in zip(left, right, strict=True))
        assert abs(metric.form_values(x) - exact) <= 1e-10 * abs(exact)


def test_how_far_a_point_is_outside_is_said():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(OutsideDomainError, match=r"largest value 4\)"):
        metric.distance([2.0, 0.0], [0.0, 0.0])
