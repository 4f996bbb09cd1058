"""The block computation against the plain one."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import curvatures, dimensions, random_frame, random_points, seeds

from cayleyklein import CurvedMetric
from cayleyklein.metrics import _pairwise


def hard_rows(rng, frame, n):
    """Random, duplicated and nearly duplicated rows, some close to the boundary."""
    X = random_points(rng, frame, n, reach=1 - 1e-9 if frame.curvature else 1.0)
    X[1] = X[0]
    X[2] = X[0] + 1e-10 * (X[3] - X[0])
    return X


@given(seeds, dimensions, curvatures, st.booleans())
def test_agrees_with_distance(seed, d, K, far_away):
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, d, K)
    metric = CurvedMetric.from_frame(frame)
    X, Y = hard_rows(rng, frame, 12), hard_rows(rng, frame, 7)
    if far_away and K >= 0:  # a small cluster far from the centre
        X, Y = (frame.center + 100 + 1e-3 * (rows - frame.center) for rows in (X, Y))
    Y[0] = X[4]
    plain = metric.distance(X[:, None], Y)
    np.testing.assert_allclose(metric.pairwise(X, Y), plain, rtol=2e-12)
    square = metric.pairwise(X)
    np.testing.assert_allclose(square, metric.distance(X[:, None], X), rtol=2e-12)
    np.testing.assert_array_equal(square, square.T)
    assert not square.diagonal().any()


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_across_blocks_and_strips(K, monkeypatch):
    rng = np.random.default_rng(0)
    frame = random_frame(rng, 3, K)
    metric = CurvedMetric.from_frame(frame)
    X, Y = random_points(rng, frame, 50), random_points(rng, frame, 37)
    expected = metric.pairwise(X, Y), metric.pairwise(X)
    monkeypatch.setattr(_pairwise, "BLOCK", 16)
    monkeypatch.setattr(_pairwise, "STRIP", 5)
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
    X = random_points(rng, disc.frame, 30, reach=0.99999).astype(np.float32)
    D = disc.pairwise(X)
    assert D.dtype == np.float32
    np.testing.assert_allclose(D, disc.pairwise(X.astype(float)), rtol=1e-6)


def test_memory_beside_the_result_is_bounded():
    metric = CurvedMetric.euclidean(20, curvature=0.1)
    X = np.random.default_rng(0).normal(size=(3000, 20))
    metric.pairwise(X[:10])
    tracemalloc.start()
    result = metric.pairwise(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - result.nbytes <= 64e6
