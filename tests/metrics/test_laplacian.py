"""exp(-γd) is positive definite for every metric, and goes wherever scikit-learn takes a kernel."""

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import apply_collineation
from cayleyklein.metrics import laplacian_kernel

METRICS = {
    "elliptic": CurvedMetric.euclidean(3, curvature=1.0),
    "strongly elliptic": CurvedMetric.euclidean(3, curvature=400.0),
    "flat": CurvedMetric.euclidean(3),
    "hyperbolic": CurvedMetric.euclidean(3, curvature=-1.0),
    "mixed": MixedMetric([CurvedMetric.euclidean(3, curvature=K) for K in (4.0, 0.0, -1.0)]),
    "product": ProductMetric([CurvedMetric.euclidean(3, curvature=K) for K in (9.0, 0.0)]),
    "low rank": CurvedMetric(factor=[[1.0, 0.5, -0.5]], curvature=-0.2),
}


def ball(n, seed, radius=0.999, d=3):
    """Return points of a ball, many of them near its boundary."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / lengths * radius * rng.uniform(size=(n, 1)) ** 0.1


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("gamma", [1e-3, 0.3, 10.0])
def test_it_is_positive_definite(metric, gamma):
    X = ball(120, seed=0)
    for weights in (None, [1.0, 0.0, 2.0]):
        table = laplacian_kernel(metric, gamma, weights)(X)
        assert np.array_equal(table, table.T)
        assert (table.diagonal() == 1).all()
        assert np.linalg.eigvalsh(table)[0] > -1e-12 * len(X)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_distances_are_conditionally_negative_definite(metric):
    X = ball(120, seed=1)
    center = np.eye(len(X)) - 1 / len(X)
    D = metric.pairwise(X)
    assert np.linalg.eigvalsh(center @ D @ center)[-1] < 1e-12 * len(X) * D.max()


def test_elliptic_distances_are_arcs_of_an_open_hemisphere():
    """Arcs reach beyond π/2 and stay below π: antipodes are not identified."""
    metric = CurvedMetric.euclidean(2, curvature=4.0)
    X = 50 * ball(60, seed=2, d=2)
    lifted = np.column_stack([2 * X, np.ones(len(X))])
    lifted /= np.linalg.norm(lifted, axis=1, keepdims=True)
    arcs = np.arccos(np.clip(lifted @ lifted.T, -1, 1)) / 2
    found = metric.pairwise(X)
    np.testing.assert_allclose(found, arcs, atol=1e-7)
    assert np.pi / 4 < found.max() < np.pi / 2


def test_projective_distances_would_not_do():
    """With antipodes identified, min(d, π/√K - d), eigenvalues are negative."""
    d = METRICS["elliptic"].pairwise(50 * ball(200, seed=3))
    assert np.linalg.eigvalsh(np.exp(-0.3 * np.minimum(d, np.pi - d)))[0] < -1e-3


@pytest.mark.parametrize("name", ["elliptic", "hyperbolic"])
def test_squared_distances_would_not_do(name):
    d = METRICS[name].pairwise(20 * ball(150, seed=4) if name == "elliptic" else ball(150, seed=4))
    assert np.linalg.eigvalsh(np.exp(-0.05 * d**2))[0] < -1e-3


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_values_are_those_of_the_formula(metric):
    X, Y = ball(7, seed=5), ball(5, seed=6)
    weights = np.array([0.5, 0.0, 2.0])
    kernel = laplacian_kernel(metric, 0.7, weights)
    expected = np.exp(-0.7 * (metric.pairwise(X, Y) + cdist(X * weights, Y * weights, "cityblock")))
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12)
    assert kernel(X[0], Y[0]) == pytest.approx(expected[0, 0], rel=1e-9)
    assert isinstance(kernel(X[0], Y[0]), float)
    assert np.array_equal(kernel(X, X), kernel(X))


@pytest.mark.parametrize("K", [1.0, -1.0])
def test_isometries_keep_it(K):
    metric = CurvedMetric.euclidean(3, curvature=K)
    X = ball(20, seed=7, radius=0.9)
    moved = apply_collineation(metric.transvection([0.0, 0.0, 0.0], [0.3, -0.2, 0.1]), X)
    kernel = laplacian_kernel(metric, 1.3)
    np.testing.assert_allclose(kernel(moved), kernel(X), rtol=1e-7)


@pytest.mark.parametrize("K", [1e-9, -1e-9])
def test_it_tends_to_the_flat_kernel(K):
    X = ball(20, seed=8)
    flat = laplacian_kernel(CurvedMetric.euclidean(3), 1.3)(X)
    np.testing.assert_allclose(
        laplacian_kernel(CurvedMetric.euclidean(3, curvature=K), 1.3)(X), flat, rtol=1e-7
    )


def test_it_is_a_kernel_of_scikit_learn():
    X, y = ball(60, seed=9), np.repeat([0, 1], 30)
    X[y == 1] *= 0.5
    kernel = laplacian_kernel(METRICS["hyperbolic"], 0.5)
    machine = SVC(kernel=kernel).fit(X, y)
    precomputed = SVC(kernel="precomputed").fit(kernel(X), y)
    assert np.array_equal(clone(machine).fit(X, y).predict(X), machine.predict(X))
    assert np.array_equal(machine.predict(X), precomputed.predict(kernel(X, X)))
    ridge = KernelRidge(kernel=kernel).fit(X, y).predict(X)
    fast = KernelRidge(kernel="precomputed").fit(kernel(X), y).predict(kernel(X))
    np.testing.assert_allclose(ridge, fast, atol=1e-9)
    assert KernelPCA(2, kernel="precomputed").fit_transform(kernel(X)).shape == (60, 2)


def test_it_is_a_value():
    kernel = laplacian_kernel(METRICS["mixed"], 0.5, [1.0, 2.0, 3.0])
    for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert other == kernel
        assert np.array_equal(other(ball(4, 0)), kernel(ball(4, 0)))
    assert kernel != laplacian_kernel(METRICS["mixed"], 0.6, [1.0, 2.0, 3.0])
    assert "gamma=0.5" in repr(kernel)
    with pytest.raises(AttributeError, match="immutable"):
        kernel.gamma = 2.0


def test_far_rows_have_the_kernel_zero():
    kernel = laplacian_kernel(CurvedMetric.euclidean(1), 1e300)
    assert kernel([[0.0], [1e100]])[0, 1] == 0


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "scale", None, [1.0, 2.0]])
def test_bad_gamma(gamma):
    with pytest.raises(InvalidInputError, match="gamma"):
        laplacian_kernel(METRICS["flat"], gamma)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="metric must be"):
        laplacian_kernel("euclidean", 1.0)
    with pytest.raises(InvalidInputError, match="column_weights"):
        laplacian_kernel(METRICS["flat"], 1.0, [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="column_weights must be ≥ 0"):
        laplacian_kernel(METRICS["flat"], 1.0, [1.0, 2.0, -1.0])
    kernel = laplacian_kernel(METRICS["hyperbolic"], 1.0, [1.0, 1.0, 1.0])
    with pytest.raises(OutsideDomainError, match="X at index 1"):
        kernel([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    with pytest.raises(InvalidInputError, match="X has 2 coordinates"):
        kernel([[0.0, 0.0]])
    with pytest.raises(InvalidInputError, match="X has NaN"):
        kernel([[0.0, 0.0, np.nan]])
    with pytest.raises(InvalidInputError, match="X must have 2 axes"):
        kernel([0.0, 0.0, 0.0])
    flat = laplacian_kernel(METRICS["flat"], 1.0, [1e200, 1.0, 1.0])
    with pytest.raises(InvalidInputError, match="overflow"):
        flat([[0.0, 0.0, 0.0], [1e200, 0.0, 0.0]])
