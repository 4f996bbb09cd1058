import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import metrics_with_points, random_metric, random_points

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import Ball, Ellipsoid, ball_from_ellipsoid
from cayleyklein.geometry.geodesics import exp_map

SPHERE = CurvedMetric(factor=np.eye(2), curvature=1.0)


def radius_in(metric, fraction):
    K = metric.curvature
    return fraction / math.sqrt(abs(K)) if K else fraction


@given(metrics_with_points(1), st.floats(0.01, 0.6))
def test_ellipsoid_has_the_balls_points(case, fraction):
    """The ellipsoid's boundary is at distance r of the ball's centre."""
    metric, (center,) = case
    ball = Ball(center, radius_in(metric, fraction), metric)
    if ball.kind != "ellipsoid":
        return
    ellipsoid = ball.ellipsoid()
    directions = np.random.default_rng(0).normal(size=(20, metric.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    boundary = ellipsoid.from_euclidean(directions)
    np.testing.assert_allclose(metric.distance(boundary, center), ball.radius, rtol=1e-6)
    np.testing.assert_allclose(ellipsoid.to_euclidean(boundary), directions, atol=1e-7)


@given(metrics_with_points(1), st.floats(0.01, 0.6))
def test_ellipsoid_agrees_with_membership(case, fraction):
    metric, (center,) = case
    ball = Ball(center, radius_in(metric, fraction), metric)
    if ball.kind != "ellipsoid":
        return
    ellipsoid = ball.ellipsoid()
    rng = np.random.default_rng(1)
    X = ellipsoid.from_euclidean(rng.uniform(-1.5, 1.5, size=(200, metric.dimension)))
    distances = metric.distance(X, center, outside="inf")
    clear = np.abs(distances - ball.radius) > 1e-6 * ball.radius
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(ellipsoid.contains(X)[clear], ball.contains(X)[clear])
    np.testing.assert_array_equal(ball.contains(X)[clear], (distances <= ball.radius)[clear])


@given(metrics_with_points(1), st.floats(0.01, 0.6))
def test_round_trip(case, fraction):
    metric, (center,) = case
    ball = Ball(center, radius_in(metric, fraction), metric)
    if ball.kind != "ellipsoid":
        return
    e = ball.ellipsoid()
    if e.semi_axes[0] > 1e3 * e.semi_axes[-1]:
        return
    back = ball_from_ellipsoid(e.center, e.matrix, e.radius, metric)
    assert back.radius == pytest.approx(ball.radius, rel=1e-7)
    np.testing.assert_allclose(
        metric.coordinates(back.center), metric.coordinates(center), atol=1e-6 * ball.radius
    )


@pytest.mark.parametrize("K", [-1.0, 1.0])
def test_is_the_papers_formula(K):
    """Σ' = ±(r̃²Σ - a'a'ᵀ), with a' = Σc + a and r̃² = S_cc cos²r, or S_cc cosh²r, signed."""
    rng = np.random.default_rng(0)
    metric = random_metric(rng, 3, K)
    c = random_points(rng, metric, 1, reach=0.5)[0]
    r = 0.4
    S = metric.form
    a, b = S[:-1, -1], S[-1, -1]
    s_cc = np.append(c, 1) @ S @ np.append(c, 1)
    r2 = s_cc * (math.cos(r) ** 2 if K > 0 else math.cosh(r) ** 2)
    a1, b1 = metric.matrix @ c + a, a @ c + b
    matrix = np.sign(K) * (r2 * metric.matrix - np.outer(a1, a1))
    center = np.linalg.solve(matrix, np.sign(K) * (b1 * a1 - r2 * a))
    sq_radius = np.sign(K) * (b1 * b1 - r2 * b) + center @ matrix @ center
    ours = Ball(c, r, metric).ellipsoid()
    np.testing.assert_allclose(ours.center, center, rtol=1e-9)
    np.testing.assert_allclose(
        ours.matrix / ours.radius**2, matrix / sq_radius, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("K", [1e-14, -1e-14, 0.0])
def test_flat_limit(K):
    metric = CurvedMetric(factor=[[1.0, 0.2], [0.0, 3.0]], center=[5.0, 5.0], curvature=K)
    e = Ball([1.0, 2.0], 0.7, metric).ellipsoid()
    np.testing.assert_allclose(e.center, [1.0, 2.0], rtol=1e-11)
    np.testing.assert_allclose(e.matrix / e.radius**2, metric.matrix / 0.49, rtol=1e-10)


def kinds(center, radii):
    return [Ball(center, r, SPHERE).kind for r in radii]


def test_kinds_on_the_sphere():
    quarter = math.pi / 2
    # centred at the pole the equator is a quarter away
    assert kinds([0.0, 0.0], [1.0, quarter, 2.0, 4.0]) == ["ellipsoid", *["everything"] * 3]
    # at 45° it is an eighth away; beyond 3/4 π the rest lies below the equator
    assert kinds([1.0, 0.0], [0.7, math.pi / 4, 0.9, quarter, 2.0, 2.5, 4.0]) == [
        "ellipsoid",
        "paraboloid",
        "hyperboloid",
        "half-space",
        "hyperboloid",
        "everything",
        "everything",
    ]


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8])
def test_just_above_the_equator(gap):
    """A pole's ball of radius π/2 - gap is a disc of radius tan(π/2 - gap) = cot(gap)."""
    ball = Ball([0.0, 0.0], math.pi / 2 - gap, SPHERE)
    assert ball.kind == "ellipsoid"
    np.testing.assert_allclose(ball.ellipsoid().semi_axes, 1 / math.tan(gap), rtol=3e-8)
    near = Ball([1.0, 0.0], math.pi / 4 - gap, SPHERE)
    assert near.kind == "ellipsoid"
    assert Ball([1.0, 0.0], math.pi / 4 + gap, SPHERE).kind == "hyperboloid"


@pytest.mark.parametrize("radius", [20.0, 400.0, 1000.0])
def test_a_huge_hyperbolic_ball_is_the_domain(radius):
    ball = Ball([0.5, 0.0], radius, CurvedMetric(factor=np.eye(2), curvature=-1.0))
    np.testing.assert_allclose(ball.ellipsoid().center, 0, atol=1e-15)
    np.testing.assert_allclose(ball.ellipsoid().semi_axes, 1, rtol=1e-12)


@pytest.mark.parametrize("radius", [0.3, 0.7, 0.9, 1.2, math.pi / 2, 2.0, 2.5, 3.5])
def test_membership_beyond_the_equator(radius):
    X = np.random.default_rng(1).standard_cauchy(size=(2000, 2))
    inside = Ball([1.0, 0.0], radius, SPHERE).contains(X)
    np.testing.assert_array_equal(inside, SPHERE.distance(X, [1.0, 0.0]) <= radius)


def test_never_a_wrong_ellipsoid():
    with pytest.raises(NotRepresentableError, match=r"a hyperboloid; contains\(\)"):
        Ball([1.0, 0.0], 1.0, SPHERE).ellipsoid()
    with pytest.raises(NotRepresentableError, match="the whole space"):
        Ball([0.0, 0.0], 4.0, SPHERE).ellipsoid()


def test_outside_points_are_in_no_hyperbolic_ball():
    disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    ball = Ball([0.0, 0.0], 2.0, disc)
    edge = exp_map([0.0, 0.0], [1.999, 0.0], disc)
    np.testing.assert_array_equal(
        ball.contains([edge, [0.97, 0.0], [1.5, 0.0]]), [True, False, False]
    )


def test_refusals():
    disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    with pytest.raises(OutsideDomainError, match="center lies"):
        Ball([2.0, 0.0], 1.0, disc)
    with pytest.raises(InvalidInputError, match=r"expected a number in \[0, inf\)"):
        Ball([0.0, 0.0], -1.0, disc)
    with pytest.raises(NotRepresentableError, match="not a ball of this metric"):
        ball_from_ellipsoid([0.3, 0.0], [[1.0, 0.0], [0.0, 9.0]], 0.1, disc)
    with pytest.raises(InvalidInputError, match="center has 3 coordinates per point, but 2"):
        ball_from_ellipsoid([0.0, 0.0, 0.0], np.eye(3), 0.1, disc)
    with pytest.raises(NotRepresentableError, match="matrix is singular"):
        ball_from_ellipsoid([0.3, 0.0], [[0.0, 0.0], [0.0, 1.0]], 0.1, disc)
    with pytest.raises(InvalidInputError, match="masked"):
        Ball(np.ma.array([0.1, 0.2], mask=[True, False]), 0.1, disc)
    with pytest.raises(NotRepresentableError, match="radius 0 is not an ellipsoid but a point"):
        Ball([0.0, 0.0], 0.0, disc).ellipsoid()
    with pytest.raises(InvalidInputError, match="Got n='x'"):
        Ellipsoid([0.0, 0.0], np.eye(2)).boundary("x")
    with pytest.raises(InvalidInputError, match="in the plane"):
        Ellipsoid([0.0], [[1.0]], 1.0).boundary()


def test_points_of_the_boundary_of_an_ellipse():
    ellipse = Ellipsoid([1.0, 0.0], [[1.0, 0.0], [0.0, 4.0]], 2.0)
    expected = [[3.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [1.0, -1.0]]
    np.testing.assert_allclose(ellipse.boundary(4), expected, atol=1e-12)


def test_frozen_and_picklable():
    ball = Ball([0.1, 0.2], 0.3, SPHERE)
    for item in (ball, ball.ellipsoid()):
        copy = pickle.loads(pickle.dumps(item))
        assert repr(copy) == repr(item)
        for thing in (item, copy):
            with pytest.raises(AttributeError, match="immutable"):
                thing.radius = 1.0
            with pytest.raises(ValueError, match="read-only"):
                thing.center[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        ball.ellipsoid().factor[0, 0] = 1.0


@pytest.mark.parametrize("radius", [1e-200, 1.0, 1e200])
def test_ellipsoids_of_any_size(radius):
    ellipse = Ellipsoid([0.0, 0.0], np.diag([1.0, 4.0]), radius)
    points = radius * np.array([[0.0, 0.0], [0.99, 0.0], [1.0, 0.0], [0.0, 0.51]])
    np.testing.assert_array_equal(ellipse.contains(points), [True, True, False, False])
    ball = ball_from_ellipsoid([0.0, 0.0], np.eye(2), radius, CurvedMetric(factor=np.eye(2)))
    assert ball.radius == pytest.approx(radius)
