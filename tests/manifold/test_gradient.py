"""The stress and its gradient, against differences and through K = 0."""

import mpmath
import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.manifold import _placing
from cayleyklein.manifold._stress import (
    Stress,
    distances,
    to_stereographic,
    to_surface,
    to_tangent,
)

CURVATURES = (-4.0, -1.0, -1e-4, -1e-9, 0.0, 1e-9, 1e-3, 0.5, 3.0)


def symmetric(seed, low):
    D = np.triu(np.random.default_rng(seed).uniform(low, 2.0, size=(9, 9)), 1)
    return D + D.T


def slope(function, x, step=1e-6):
    """Return the derivatives of a function by differences."""
    out = np.empty(x.size)
    for i in range(x.size):
        there = np.zeros(x.size)
        there[i] = step
        there = there.reshape(x.shape)
        out[i] = (function(x + there) - function(x - there)) / (2 * step)
    return out.reshape(x.shape)


@pytest.mark.parametrize("weights", [None, symmetric(1, 0.0)])
@pytest.mark.parametrize("shrinkage", [0.0, 0.01])
@pytest.mark.parametrize("K", CURVATURES)
def test_gradient_is_that_of_differences(K, shrinkage, weights):
    stress = Stress(symmetric(0, 0.3), weights)
    v = 0.5 * np.random.default_rng(2).normal(size=(9, 2))
    _, by_v, by_K = stress(v, K, shrinkage)
    np.testing.assert_allclose(by_v, slope(lambda x: stress(x, K, shrinkage)[0], v), atol=1e-8)
    (expected,) = slope(lambda k: stress(v, float(k[0]), shrinkage)[0], np.array([K]))
    assert by_K == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("K", CURVATURES)
def test_gradient_of_one_point(K):
    rng = np.random.default_rng(0)
    fixed = to_stereographic(0.5 * rng.normal(size=(7, 3)), K)
    target, weights, v = rng.uniform(size=7), rng.uniform(size=7), rng.normal(size=3)

    def expand(x):
        owner = np.zeros(1, dtype=np.intp)
        return _placing.expand(fixed, K, x[None], target[None], weights[None], owner)

    by_v = 2 * expand(v)[1][0]
    np.testing.assert_allclose(by_v, slope(lambda x: expand(x)[0][0], v), atol=1e-7)


@pytest.mark.parametrize("K", CURVATURES)
def test_distances_are_those_of_the_metric(K):
    v = 0.3 * np.random.default_rng(0).normal(size=(20, 2))
    X = to_surface(v, K)
    np.testing.assert_allclose(to_tangent(X, K), v, atol=1e-12)
    expected = CurvedMetric.euclidean(2, curvature=K).pairwise(X[:, :-1] / X[:, -1:])
    np.testing.assert_allclose(distances(v, K), expected, atol=1e-12)


@pytest.mark.parametrize("K", [-2.0, -0.5, 0.5, 2.0])
def test_stereographic_coordinates_agree_with_fifty_digits(K):
    """y = T v, w and b = (1/w - T)/(Kρ²), which is a series near the origin."""
    x = np.array([1e-10, 1e-4, 5e-3, 9.9e-3, 1.01e-2, 0.5, 2.0])
    rho = np.sqrt(x / abs(K))
    found = to_stereographic(np.column_stack([rho, 0 * rho]), K)
    with mpmath.workdps(50):
        k = mpmath.sqrt(abs(K))
        tangent, cosine = (mpmath.tan, mpmath.cos) if K > 0 else (mpmath.tanh, mpmath.cosh)
        for i, length in enumerate(map(float, rho)):
            T = 2 * tangent(k * length / 2) / (k * length)
            w = cosine(k * length / 2) ** 2
            b = (1 / w - T) / (K * mpmath.mpf(length) ** 2)
            assert found.y[i, 0] == pytest.approx(float(T * length), rel=1e-14)
            assert found.w[i] == pytest.approx(float(w), rel=1e-14)
            assert found.bend[i] == pytest.approx(float(b), rel=1e-9)
