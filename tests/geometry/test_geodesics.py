import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import metrics_with_points, random_metric, random_points, seeds

from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import hyperplane_angle, metric_tensor
from cayleyklein.geometry.geodesics import (
    exp_map,
    geodesic,
    log_map,
    lower_steps,
    mean_diagonal,
    vertex_angle,
)
from cayleyklein.metrics import CurvedMetric

SPHERE = CurvedMetric(factor=np.eye(2), curvature=1.0)
DISC = CurvedMetric(factor=np.eye(2), curvature=-1.0)


@given(metrics_with_points(2))
def test_equal_steps_on_a_straight_line(case):
    metric, (p, q) = case
    points = geodesic(p, q, metric, np.linspace(0, 1, 6))
    steps = metric.distance(points[:-1], points[1:])
    whole = float(metric.distance(p, q))
    np.testing.assert_allclose(steps, whole / 5, rtol=1e-8)
    np.testing.assert_allclose(points[0], p, rtol=1e-12)
    np.testing.assert_allclose(points[-1], q, rtol=1e-9, atol=1e-12 * np.abs(p - q).max())
    if metric.dimension == 2:
        residual = np.linalg.det(np.stack([points[2] - p, q - p]))
        assert abs(residual) <= 1e-9 * float((q - p) @ (q - p))


@given(metrics_with_points(2))
def test_midpoint_is_equidistant(case):
    metric, (p, q) = case
    m = metric.midpoint(p, q)
    assert metric.distance(p, m) == pytest.approx(float(metric.distance(q, m)), rel=1e-9)


@given(metrics_with_points(2))
def test_exp_and_log_are_inverse(case):
    metric, (x, y) = case
    v = log_map(x, y, metric)
    scale = float(np.abs(x - y).max())
    np.testing.assert_allclose(exp_map(x, v, metric), y, rtol=1e-9, atol=1e-8 * scale)
    length = math.sqrt(v @ metric_tensor(x, metric) @ v)
    assert length == pytest.approx(float(metric.distance(x, y)), rel=1e-6)


def points_at_radii(rng, d, K, radii):
    """A metric, and points in random directions at distances radii/√|K| from its centre."""
    factor = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.uniform(-1, 1, size=d))
    metric = CurvedMetric(factor=factor, center=0.1 * rng.normal(size=d), curvature=K)
    z = rng.normal(size=(len(radii), d))
    z /= np.linalg.norm(z, axis=1, keepdims=True) * math.sqrt(abs(K))
    radius = np.tanh(radii) if K < 0 else np.tan(np.minimum(radii, 1.5))
    return metric, metric.points(z * radius[:, None])


@given(
    seeds,
    st.sampled_from([2, 3, 8]),
    st.sampled_from([-4.0, -1.0, -1e-3, 1e-3, 1.0, 4.0]),
    st.tuples(st.floats(0, 12), st.floats(0, 12)),
)
def test_ends_next_to_the_absolute_are_as_exact_as_their_coordinates(seed, d, K, radii):
    """One ulp of a coordinate moves a point by about eps/S(x, x); so may rounding, a few times."""
    metric, (x, y) = points_at_radii(np.random.default_rng(seed), d, K, np.array(radii))
    allowed = 64 * np.finfo(float).eps * np.maximum(1, 1 / metric.form_values([x, y])).sum()
    half_way = metric.geodesic(x, y, 0.5)
    for end in (metric.exp(x, metric.log(x, y)), metric.geodesic(x, half_way, 2.0)):
        assert metric.contains(end)
        off = oracle.distance(end, y, K, metric.center, factor=metric.factor)
        assert float(off) * math.sqrt(abs(K)) <= allowed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("speed", [10.0, 1e3, 1e30])
def test_no_end_is_outside(speed, dtype):
    rng = np.random.default_rng(0)
    metric, x = points_at_radii(rng, 3, -1.0, np.linspace(0, 7, 40))
    x, v = x.astype(dtype), (speed * rng.normal(size=x.shape)).astype(dtype)
    ends = [metric.exp(x, v), metric.geodesic(x[0], x[1:], [-500.0, 500.0])]
    for end in ends:
        assert end.dtype == dtype
        assert metric.contains(end).all()


@pytest.mark.parametrize("K", [-1.0, -1e-8, 0.0, 1e-8, 1.0])
def test_metric_tensor_is_the_second_derivative(K):
    rng = np.random.default_rng(0)
    metric = random_metric(rng, 3, K)
    x = random_points(rng, metric, 1, reach=0.7)[0] if K in (-1.0, 1.0) else rng.normal(size=3)
    g = metric_tensor(x, metric)
    for v in rng.normal(size=(5, 3)):
        step = 1e-7 * v
        assert float(metric.distance(x, x + step)) ** 2 == pytest.approx(step @ g @ step, rel=1e-5)


def test_exp_past_the_equator_is_refused():
    np.testing.assert_allclose(exp_map([0.0, 0.0], [1.0, 0.0], SPHERE), [math.tan(1.0), 0.0])
    with pytest.raises(OutsideDomainError, match="beyond the equator"):
        exp_map([0.0, 0.0], [2.0, 0.0], SPHERE)
    with pytest.raises(OutsideDomainError, match="at index 1"):
        geodesic([0.0, 0.0], [1.0, 0.0], SPHERE, [0.5, 3.0])


@pytest.mark.parametrize("K", [-1.0, -1e-3, 0.0, 1e-3, 1.0])
def test_angles_of_a_triangle(K):
    """The angle sum differs from π by K times the area: Gauss and Bonnet, by the law of cosines."""
    rng = np.random.default_rng(1)
    metric = random_metric(rng, 2, K)
    p, q, r = random_points(rng, metric, 3, reach=0.6)
    angles = [
        float(vertex_angle(p, q, r, metric)),
        float(vertex_angle(q, r, p, metric)),
        float(vertex_angle(r, p, q, metric)),
    ]
    excess = sum(angles) - math.pi
    assert np.sign(round(excess, 10)) == np.sign(K)
    a, b, c = metric.distance(q, r), metric.distance(r, p), metric.distance(p, q)
    if K == 0:
        cosine = (b**2 + c**2 - a**2) / (2 * b * c)
    elif K > 0:
        a, b, c = (math.sqrt(K) * side for side in (a, b, c))
        cosine = (np.cos(a) - np.cos(b) * np.cos(c)) / (np.sin(b) * np.sin(c))
    else:
        a, b, c = (math.sqrt(-K) * side for side in (a, b, c))
        cosine = (np.cosh(b) * np.cosh(c) - np.cosh(a)) / (np.sinh(b) * np.sinh(c))
    assert angles[0] == pytest.approx(math.acos(cosine), rel=1e-6)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_vertex_angle_is_the_dual_absolutes(K):
    """Two definitions of an angle, by tangent vectors and by Laguerre's formula."""
    rng = np.random.default_rng(2)
    metric = random_metric(rng, 2, K)
    x, p, q = random_points(rng, metric, 3, reach=0.8)

    def line(a, b):
        normal = np.array([b[1] - a[1], a[0] - b[0]])
        return np.append(normal, -normal @ a)

    angle = float(vertex_angle(x, p, q, metric))
    dual = metric.absolute.dual
    laguerre = float(hyperplane_angle(dual, line(x, p), line(x, q)))
    assert laguerre == pytest.approx(min(angle, math.pi - angle), rel=1e-10)


def test_degenerate():
    with pytest.raises(InvalidInputError, match="q coincides with the vertex"):
        vertex_angle([0.1, 0.0], [0.2, 0.0], [0.1, 0.0], DISC)
    np.testing.assert_array_equal(log_map([0.1, 0.2], [0.1, 0.2], DISC), [0.0, 0.0])


@pytest.mark.parametrize("K", [-100.0, 0.0, 1.0, 100.0])
def test_a_point_is_half_way_to_itself(K):
    metric, x = CurvedMetric(factor=np.eye(2), curvature=K), [0.03, 0.04]
    np.testing.assert_array_equal(geodesic(x, x, metric, [-7.0, 0.5, 5.0]), [x] * 3)


def test_points_that_the_metric_does_not_tell_apart():
    flattened = CurvedMetric(factor=[[1.0, 0.0]], curvature=1.0)
    path = geodesic([0.5, 0.0], [0.5, 2.0], flattened, [0.0, 0.25, 1.0])
    np.testing.assert_array_equal(path, [[0.5, 0.0], [0.5, 0.5], [0.5, 2.0]])


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_angles_of_any_size(size):
    flat = CurvedMetric(factor=np.eye(2))
    right = vertex_angle([0.0, 0.0], [size, 0.0], [0.0, 2 * size], flat)
    assert right == pytest.approx(np.pi / 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_end_is_on_the_boundary(dtype):
    end = DISC.exp(np.zeros(2, dtype), np.array([40.0, 0.0], dtype))  # tanh 40 is 1 in all digits
    assert end.dtype == dtype
    assert 1 - 2 * np.finfo(dtype).eps <= end[0] < 1
    assert DISC.contains(end)


def test_metric_tensor_far_from_the_pole():
    # Along the radius it is 1/S², which is 0 to float64 here, and across it 1/S.
    g = metric_tensor([1e100, 0.0], SPHERE)
    np.testing.assert_allclose(g, [[0.0, 0.0], [0.0, 1e-200]], rtol=1e-12)


def test_far_beyond_the_ends():
    """sinh of the length overflows, but the point is on the boundary to rounding."""
    points = geodesic([0.0, 0.0], [0.5, 0.0], DISC, [-1e5, 0.5, 1000.0, 1e5])
    np.testing.assert_allclose(points[[0, 2, 3]], [[-1, 0], [1, 0], [1, 0]], rtol=1e-12)
    assert DISC.distance([0.0, 0.0], points[1]) == pytest.approx(math.atanh(0.5) / 2, rel=1e-14)


def test_refusals():
    with pytest.raises(InvalidInputError, match=r"t of shape.*a number or"):
        geodesic([0.0, 0.0], [0.5, 0.0], DISC, [[0.0, 1.0]])
    with pytest.raises(OutsideDomainError, match="q lies on or outside"):
        vertex_angle([0.0, 0.0], [0.5, 0.0], [3.0, 4.0], DISC)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("diagonal", [True, False])
def test_the_tensor_without_its_matrices(K, diagonal):
    rng = np.random.default_rng(3)
    metric = random_metric(rng, 3, K)
    if diagonal:
        metric = CurvedMetric(factor=np.diagonal(metric.factor), center=metric.center, curvature=K)
    x, u = random_points(rng, metric, 20, reach=0.7), rng.normal(size=(20, 3))
    g = metric_tensor(x, metric)
    found = lower_steps(u, x, metric, "x")
    np.testing.assert_allclose(found, np.einsum("nij,nj->ni", g, u), rtol=1e-12, atol=1e-12)
    mean = np.diagonal(g.mean(axis=0))
    np.testing.assert_allclose(mean_diagonal(x, metric), mean, rtol=1e-12)
