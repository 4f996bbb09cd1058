"""The block computation against the plain one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import curvatures, dimensions, random_metric, random_points, seeds

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import _pairwise


def hard_rows(rng, metric, n):
    """Random, duplicated and nearly duplicated rows, some close to the boundary."""
    X = random_points(rng, metric, n, reach=1 - 1e-9 if metric.curvature else 1.0)
    X[1] = X[0]
    X[2] = X[0] + 1e-10 * (X[3] - X[0])
    return X


@given(seeds, dimensions, curvatures, st.booleans())
def test_agrees_with_distance(seed, d, K, far_away):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, d, K)
    X, Y = hard_rows(rng, metric, 12), hard_rows(rng, metric, 7)
    if far_away and K >= 0:  # a small cluster far from the centre
        X, Y = (metric.center + 100 + 1e-3 * (rows - metric.center) for rows in (X, Y))
    Y[0] = X[4]
    plain = metric.distance(X[:, None], Y)
    np.testing.assert_allclose(metric.pairwise(X, Y), plain, rtol=2e-12)
    square = metric.pairwise(X)
    np.testing.assert_allclose(square, metric.distance(X[:, None], X), rtol=2e-12)
    np.testing.assert_array_equal(square, square.T)
    assert not square.diagonal().any()


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_across_blocks(K, monkeypatch):
    rng = np.random.default_rng(0)
    metric = random_metric(rng, 3, K)
    X, Y = random_points(rng, metric, 50), random_points(rng, metric, 37)
    expected = metric.pairwise(X, Y), metric.pairwise(X)
    monkeypatch.setattr(_pairwise, "TILE_COLUMNS", 16)
    monkeypatch.setattr(_pairwise, "TILE_ROWS", 5)
    np.testing.assert_allclose(metric.pairwise(X, Y), expected[0], rtol=1e-12)
    small = metric.pairwise(X)
    np.testing.assert_allclose(small, expected[1], rtol=1e-12)
    np.testing.assert_array_equal(small, small.T)


def test_nearly_antipodal_points():
    """Just under the equator on opposite sides: d is close to π, where arcsin loses digits."""
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    X = np.array([[1e9, 0.0], [-1e9, 1.0], [-1e4, 0.0], [-1e4, 1e4]])
    D = sphere.pairwise(X, X.copy())
    np.testing.assert_allclose(D, sphere.distance(X[:, None], X), rtol=1e-14)
    assert D[0, 1] == pytest.approx(math.pi, rel=1e-8)


@pytest.mark.parametrize("policy", ["inf", "modulus"])
def test_points_outside(policy):
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, size=(40, 2))
    X[0] = [1.0, 0.0]
    if policy == "modulus":
        X = X[1:]  # on the conic itself every measure is infinite
    expected = disc.distance(X[:, None], X, outside=policy)
    np.testing.assert_allclose(disc.pairwise(X, X.copy(), outside=policy), expected, rtol=1e-11)
    np.testing.assert_allclose(disc.pairwise(X, outside=policy), expected, rtol=1e-11, atol=1e-300)
    assert np.isinf(expected).any() == (policy == "inf")


def test_float32_rows_near_the_boundary():
    rng = np.random.default_rng(1)
    disc = CurvedMetric.euclidean(3, curvature=-1.0)
    X = random_points(rng, disc, 30, reach=0.99999).astype(np.float32)
    D = disc.pairwise(X)
    assert D.dtype == np.float32
    np.testing.assert_allclose(D, disc.pairwise(X.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("K", [-1e-9, 0.0, 1e-4, 1.0])
@pytest.mark.parametrize("rows", ["uncentred", "tight cluster"])
def test_rows_far_from_the_centre_are_not_all_recomputed(K, rows, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20))
    X = X + 1000 if rows == "uncentred" else 1e-6 * X + 3
    metric = CurvedMetric.euclidean(20, curvature=K)
    recomputed = []
    refine = _pairwise.BlockKernel._refine
    monkeypatch.setattr(
        _pairwise.BlockKernel,
        "_refine",
        lambda self, i, j, out, inexact: (
            recomputed.append(np.count_nonzero(inexact)),
            refine(self, i, j, out, inexact),
        ),
    )
    D = metric.pairwise(X)
    assert sum(recomputed) <= 200  # the diagonal, and few others
    np.testing.assert_allclose(D, metric.distance(X[:, None], X), rtol=1e-12)


@pytest.mark.parametrize("K", [-1e-12, 0.0])
def test_a_far_centre_does_not_spoil_it(K):
    metric = CurvedMetric(factor=[[1.0, -1.0]], center=[1e8, 1e8], curvature=K)
    X = np.array([[0.1, 0.2], [0.3, 0.7], [1.3, -0.7]])
    np.testing.assert_allclose(metric.pairwise(X), metric.distance(X[:, None], X), rtol=1e-14)


@pytest.mark.parametrize("K", [-1e-9, -1e-4, -1e-2, 1e2, 1e6, 1e10])
def test_a_ring_next_to_the_boundary_or_the_equator(K):
    """No row is in the middle, and all have a small σ, or a large one."""
    radius = math.sqrt(-1 / K) * (1 - 1e-10) if K < 0 else 1.0
    angle = np.concatenate([np.linspace(0, 6, 40), [1e-9, 1e-6, 1e-3]])
    X = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    metric = CurvedMetric.euclidean(2, curvature=K)
    np.testing.assert_allclose(metric.pairwise(X), metric.distance(X[:, None], X), rtol=2e-12)


@pytest.mark.parametrize("K", [5e-324, -5e-324, 1e-310, -1e-300, 1e-200])
def test_the_least_curvatures_are_flat(K):
    X = np.array([[0.0, 0.0], [0.3, 0.4], [1e-5, 0.0]])
    flat = CurvedMetric.euclidean(2).pairwise(X)
    np.testing.assert_allclose(CurvedMetric.euclidean(2, curvature=K).pairwise(X), flat, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-155, 1e200, 1e307])
@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_extreme_scales(K, scale):
    if scale > 1:
        K = 0.0
    X = scale * np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.5]])
    metric = CurvedMetric.euclidean(2, curvature=K)
    np.testing.assert_allclose(metric.pairwise(X), metric.distance(X[:, None], X), rtol=1e-14)
    assert metric.pairwise(X)[0, 1] == pytest.approx(5 * scale, rel=1e-12)


def test_overflow_is_refused():
    with pytest.raises(InvalidInputError, match="overflow for rows"):
        CurvedMetric.euclidean(2).pairwise([[-1.7e308, 0.0], [1.7e308, 0.0]])


@pytest.mark.parametrize("size", [1e90, 1e110, 1e140])
def test_far_out_on_the_sphere(size):
    """The square of σ fits where its cube does not."""
    rng = np.random.default_rng(0)
    X = size * rng.normal(size=(8, 3))
    metric = CurvedMetric.euclidean(3, curvature=1.0)
    expected = metric.distance(X[:, None], X[None])
    np.testing.assert_allclose(metric.pairwise(X), expected, rtol=1e-12, atol=1e-15)
