"""A diagonal metric, kept as a vector, against the same metric with a dense factor."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import curvatures, random_points, seeds

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric, geometry
from cayleyklein.exceptions import NotRepresentableError


def both(rng, K, d=3):
    """A diagonal metric, a dense one with the same distances, and points of their domain."""
    scales = np.exp(rng.uniform(-1, 1, size=d)) * rng.choice([-1, 1], size=d)
    center = rng.normal(size=d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    turn[0] *= np.sign(np.linalg.det(turn))  # keeps the sense of rotation
    diagonal = CurvedMetric(factor=scales, center=center, curvature=K)
    dense = CurvedMetric(factor=turn * scales, center=center, curvature=K)
    return diagonal, dense, random_points(rng, diagonal, 12, reach=0.5)


def answers(metric, X):
    """Return what every public method says that does not depend on the rotation of L."""
    p, q, x = X[0], X[1], X[2]
    plane, ball = metric.bisector(p, q), metric.ball(p, 0.1 * metric(p, q))
    parts = [metric, CurvedMetric(factor=metric.factor)]
    product = MixedMetric if metric.curvature < 0 else ProductMetric
    return {
        "distance": metric.distance(X[:, None], X),
        "pairwise": metric.pairwise(X),
        "pairwise of two": metric.pairwise(X[:5], X[5:]),
        "contains": metric.contains(X) * 1.0,
        "form values": metric.form_values(X),
        "feature weights": metric.feature_weights(X),
        "weights at the centre": metric.feature_weights(),
        "column shares": metric.column_shares(X[:6], X[6:]),
        "column lengths": metric.column_lengths,
        "bisector": plane.homogeneous,
        "proximity planes": geometry.proximity_planes(X, metric).homogeneous,
        "geodesic": metric.geodesic(p, q),
        "midpoint": metric.midpoint(p, q),
        "exp": metric.exp(p, metric.log(p, q) / 2),
        "log": metric.log(p, q),
        "vertex angle": metric.vertex_angle(x, p, q),
        "transvection": geometry.apply_collineation(metric.transvection(p, q), p),
        "ball": ball.ellipsoid().center,
        "matrix": metric.matrix,
        "domain": [0.0] if metric.domain is None else metric.domain.semi_axes,
        "klein": metric.from_chart(metric.to_chart(X, "klein"), "klein"),
        "conformal": metric.from_chart(metric.to_chart(X, "conformal"), "conformal"),
        "angle": metric.angle([1.0, 0.0, 0.0, -p[0]], [1.0, 2.0, -1.0, -p @ [1.0, 2.0, -1.0]]),
        "metric tensor": geometry.metric_tensor(X, metric),
        "mixed": MixedMetric(parts).pairwise(X),
        "product": product(parts).pairwise(X),
    }


@given(seeds, curvatures)
def test_every_method_agrees_with_the_dense_metric(seed, K):
    diagonal, dense, X = both(np.random.default_rng(seed), K)
    found, expected = answers(diagonal, X), answers(dense, X)
    for name, values in expected.items():
        size = np.abs(values).max()
        np.testing.assert_allclose(found[name], values, rtol=1e-7, atol=1e-9 * size, err_msg=name)


@given(seeds, curvatures)
def test_coordinates_and_their_inverse(seed, K):
    diagonal, dense, X = both(np.random.default_rng(seed), K)
    z, w = diagonal.coordinates(X), dense.coordinates(X)
    np.testing.assert_allclose(z @ z.T, w @ w.T, rtol=1e-9, atol=1e-9 * np.abs(z @ z.T).max())
    np.testing.assert_array_equal(z, (X - diagonal.center) * diagonal.diagonal)
    np.testing.assert_allclose(diagonal.points(z), X, rtol=1e-12)
    np.testing.assert_allclose(diagonal.inverse_factor @ diagonal.factor, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(diagonal.homogeneous_matrix[:-1] @ [*X[0], 1.0], z[0], atol=1e-9)
    v, u = diagonal.embed(X), dense.embed(X)
    np.testing.assert_allclose(v @ v.T, u @ u.T, rtol=1e-9, atol=1e-9 * np.abs(v @ v.T).max())


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_a_diagonal_given_as_a_matrix_is_the_same_metric(K):
    vector = CurvedMetric(factor=[1.0, -2.0], center=[0.1, 0.2], curvature=K)
    matrix = CurvedMetric(factor=[[1.0, 0.0], [0.0, -2.0]], center=[0.1, 0.2], curvature=K)
    assert vector == matrix
    assert hash(vector) == hash(matrix)
    assert repr(vector) == repr(matrix)
    np.testing.assert_array_equal(vector.factor, np.diag([1.0, -2.0]))
    np.testing.assert_array_equal(matrix.diagonal, [1.0, -2.0])
    copy = pickle.loads(pickle.dumps(vector))
    assert copy == vector
    assert "factor" not in vars(copy)
    assert vector != CurvedMetric(factor=[1.0, 2.0], center=[0.1, 0.2], curvature=K)
    with pytest.raises(ValueError, match="read-only"):
        vector.diagonal[0] = 3.0


@pytest.mark.parametrize("factor", [[[1.0, 0.1], [0.0, 2.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
def test_other_factors_have_no_diagonal(factor):
    metric = CurvedMetric(factor=factor)
    assert metric.diagonal is None
    assert metric.factor_shape == np.shape(factor)
    np.testing.assert_allclose(metric.column_lengths, np.linalg.norm(factor, axis=0))


def test_a_zero_on_the_diagonal_has_no_inverse():
    metric = CurvedMetric(factor=[1.0, 0.0])
    assert metric([0.0, 0.0], [3.0, 4.0]) == 3.0
    for use in (lambda: metric.inverse_factor, lambda: metric.points([0.0, 0.0])):
        with pytest.raises(NotRepresentableError, match="rank 1"):
            use()


@pytest.mark.parametrize("K", [-1e-7, 0.0, 1e-7])
def test_a_million_columns(K):
    """A factor of 10¹² entries does not fit into memory."""
    d = 10**6
    metric = CurvedMetric.euclidean(d, curvature=K)
    X = np.random.default_rng(0).normal(size=(3, d))
    distances = metric.pairwise(X)
    np.testing.assert_allclose(distances[0, 1:], metric.distance(X[0], X[1:]), rtol=1e-12)
    assert metric.contains(X).all()
    assert metric.embed(X).shape == (3, d + (K > 0))
    assert metric.feature_weights(X).shape == metric.column_lengths.shape == (d,)
    assert metric.column_shares(X[:1], X[1:2]).shape == (1, d)
    np.testing.assert_allclose(metric.points(metric.coordinates(X)), X)
    assert metric.bisector(X[0], X[1]).evaluate(X[0]) > 0
    np.testing.assert_allclose(metric.exp(X[0], metric.log(X[0], X[1])), X[1], atol=1e-9)
    assert metric.factor_shape == (d, d)


def test_near_the_boundary_it_is_as_exact():
    """S(x, x) = 1 - q with q within 1e-14 of 1, from the diagonal and from a dense factor."""
    scales, x = np.array([0.3, 1.7, 2.2]), np.array([0.4, -0.2, 0.7])
    K = -(1 - 1e-14) / float(np.sum((scales * x) ** 2))
    padded = np.vstack([np.diag(scales), np.zeros(3)])  # not square, so dense
    found = CurvedMetric(factor=scales, curvature=K).form_values(x)
    expected = CurvedMetric(factor=padded, curvature=K).form_values(x)
    assert found == pytest.approx(float(expected), rel=1e-14)
