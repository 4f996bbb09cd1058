"""Means and medians: their gradient in 60 digits, isometries, and where they are not unique."""

import math

import mpmath
import numpy as np
import pytest
from tests.oracle import vector

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import apply_collineation, metric_tensor
from cayleyklein.geometry.means import bend, hessian_of_sum

KINDS = ["frechet_mean", "geometric_median"]


def cloud(K, d, radius, n=15, seed=0):
    """Points of L = I within a radius of the centre, and weights."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n, d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    k = math.sqrt(abs(K)) or 1.0
    r = k * radius * rng.uniform(size=(n, 1))
    z = u * (r if K == 0 else np.tan(r) if K > 0 else np.tanh(r)) / k
    return z, rng.uniform(0.5, 2.0, size=n)


def pull(x, X, weights, K, power):
    """The length of Σ w dᵖ⁻¹ ê over Σ w dᵖ⁻¹, in 60 digits, by the logarithm on the lifts."""
    K = mpmath.mpf(float(K))

    def lifted(z):
        z = vector(z)
        s = mpmath.sqrt(1 + K * mpmath.fdot(z, z))
        return [v / s for v in z] + [1 / s]

    def inner(a, b):  # a[-1] b[-1] + K ⟨a, b⟩, 1 for equal points
        return a[-1] * b[-1] + K * mpmath.fdot(a[:-1], b[:-1])

    here, total, whole = lifted(x), [mpmath.mpf(0)] * (len(x) + 1), mpmath.mpf(0)
    for row, weight in zip(X, weights, strict=True):
        there = lifted(row)
        c = inner(here, there)
        across = [b - c * a for a, b in zip(here, there, strict=True)]
        square = inner(across, across) / K
        if K == 0:
            across = [b - a for a, b in zip(here, there, strict=True)]
            square = mpmath.fdot(across, across)
        size = mpmath.sqrt(square)
        if K == 0:
            d = size
        else:
            d = mpmath.acos(c) / mpmath.sqrt(K) if K > 0 else mpmath.acosh(c) / mpmath.sqrt(-K)
        w = mpmath.mpf(float(weight)) * d ** (power - 1)
        total = [t + w * v / size for t, v in zip(total, across, strict=True)]
        whole += w
    length = mpmath.fdot(total, total) if K == 0 else inner(total, total) / K
    return mpmath.sqrt(abs(length)) / whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize(
    ("K", "radius"), [(-4.0, 1.0), (-1.0, 0.1), (-1.0, 6.0), (0.0, 3.0), (1.0, 0.7), (0.25, 1.5)]
)
def test_nothing_pulls_at_the_minimum(kind, K, radius, d):
    X, weights = cloud(K, d, radius)
    x = getattr(CurvedMetric.euclidean(d, curvature=K), kind)(X, weights)
    if K == 0:
        power = 2 if kind == "frechet_mean" else 1
        v = X - x
        w = weights * np.linalg.norm(v, axis=1) ** (power - 2)
        assert np.linalg.norm(w @ v) < 1e-13 * weights.sum() * radius
    else:
        assert pull(x, X, weights, K, 2 if kind == "frechet_mean" else 1) < 1e-13


def test_the_mean_of_a_whole_hemisphere():
    X, weights = cloud(1.0, 2, 1.55, n=60)
    x = CurvedMetric.euclidean(2, curvature=1.0).frechet_mean(X, weights)
    assert pull(x, X, weights, 1.0, 2) < 1e-13


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_an_isometry_carries_the_minimum_along(kind, K):
    metric = CurvedMetric(factor=[[1.0, 0.4], [0.0, 2.0]], center=[3.0, -1.0], curvature=K)
    z, weights = cloud(K, 2, 0.6)
    X = metric.points(z)
    moves = metric.transvection(X[0], X[1])
    moved = getattr(metric, kind)(apply_collineation(moves, X), weights)
    found = getattr(metric, kind)(X, weights)
    assert metric(moved, apply_collineation(moves, found)) < 1e-12
    order = np.argsort(weights)
    assert metric(found, getattr(metric, kind)(X[order], 1e-200 * weights[order])) < 1e-12


@pytest.mark.parametrize("K", [-1.0, -1e-12, 0.0, 1e-12, 1.0])
def test_known_means_and_medians(K):
    metric = CurvedMetric.euclidean(2, curvature=K)
    p, q = np.array([0.1, 0.2]), np.array([-0.3, 0.25])
    np.testing.assert_allclose(metric.frechet_mean([p, q]), metric.midpoint(p, q), atol=1e-15)
    np.testing.assert_allclose(metric.frechet_mean([p, p]), p, atol=1e-16)
    np.testing.assert_allclose(
        metric.frechet_mean([p, q], [3.0, 1.0]), metric.geodesic(p, q, 0.25), atol=1e-15
    )
    square = np.array([[0.3, 0.0], [-0.3, 0.0], [0.0, 0.3], [0.0, -0.3]])
    for kind in KINDS:
        np.testing.assert_allclose(getattr(metric, kind)(square), [0.0, 0.0], atol=1e-15)
    # more than half of the weight, or an angle above 120° between two others, holds a median
    assert metric.geometric_median([p, q, [0.4, 0.4]], [1.0, 3.0, 1.5]).tolist() == q.tolist()
    flat = [[-0.3, 0.0], [0.3, 0.0], [0.0, 0.05]]
    assert metric.geometric_median(flat).tolist() == [0.0, 0.05]
    assert metric.geometric_median([[0.0, 0.0], [0.1, 0.1], [0.3, 0.3]]).tolist() == [0.1, 0.1]
    assert metric.geometric_median([p, p, q]).tolist() == p.tolist()
    assert metric.geometric_median([p, p]).tolist() == p.tolist()


def test_medians_that_are_not_unique_are_refused():
    disc, line = CurvedMetric.euclidean(2, curvature=-1.0), CurvedMetric.euclidean(1)
    with pytest.raises(NotRepresentableError, match=r"between \[1.0\] and \[4.0\] is a median"):
        line.geometric_median([[4.0], [0.0], [9.0], [1.0]])
    with pytest.raises(NotRepresentableError, match="on one line"):
        disc.geometric_median([[0.0, 0.1], [0.4, 0.3]])
    sphere = CurvedMetric.euclidean(2, curvature=4.0)
    near, _ = cloud(4.0, 2, 0.9 * math.pi / 8)
    wide, _ = cloud(4.0, 2, 1.5 * math.pi / 8, n=50)
    assert sphere.contains(sphere.geometric_median(near))
    with pytest.raises(NotRepresentableError, match=r"π/\(4√K\) = 0.3927; take"):
        sphere.geometric_median(wide)
    with pytest.raises(NotRepresentableError, match="no inverse"):
        CurvedMetric(factor=[[1.0, 0.0]]).frechet_mean([[0.0, 1.0]])


def test_bad_weights_and_rows():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    rows = [[0.1, 0.2], [0.3, 0.4]]
    for weights in ([1.0], [1.0, -1.0], [0.0, 0.0], [[1.0, 1.0]], [np.nan, 1.0]):
        with pytest.raises(InvalidInputError, match="weights"):
            disc.frechet_mean(rows, weights)
    with pytest.raises(OutsideDomainError, match="X at index 1"):
        disc.geometric_median([[0.0, 0.0], [1.0, 0.0]])
    assert disc.frechet_mean(rows, [0.0, 2.0]).tolist() == rows[1]


def test_points_opposite_to_all_others_are_too_wide_for_a_median():
    """Their angle from the middle is π to rounding; the half chord of these is 1 + 2e-16."""
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    for end in ([10e9, 27e9], [25e9, 31e9]):
        rows = [end] * 3 + [np.negative(end)]
        with pytest.raises(NotRepresentableError, match="take frechet_mean"):
            sphere.geometric_median(rows)


@pytest.mark.parametrize("K", [-1.0, -0.3, 0.0, 1.0])
@pytest.mark.parametrize("power", [1, 2])
def test_the_hessian_is_the_second_derivative_along_geodesics(K, power):
    metric = CurvedMetric(factor=[[1.0, 0.4], [0.0, 2.0]], center=[3.0, -1.0], curvature=K)
    z, weights = cloud(K, 2, 1.2)
    X, x = metric.points(z), metric.points([0.1, -0.2])
    d, g = metric.distance(x, X), metric_tensor(x, metric)
    H = hessian_of_sum(metric.log(x, X), d, weights * d ** (power - 2), g, bend(d, K), power)
    for step in ([1e-3, 0.0], [0.0, 1e-3], [1e-3, -2e-3]):
        ends = [metric.exp(x, np.multiply(s, step)) for s in (-1, 1)]
        values = [weights @ metric.distance(end, X) ** power / power for end in (*ends, x)]
        second = values[0] + values[1] - 2 * values[2]
        assert np.array(step) @ g @ H @ step == pytest.approx(second, rel=1e-4)
