"""Signed measures: antisymmetric, additive on a line or in a pencil, with a P and Q of the line."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import (
    Absolute,
    cross_ratio,
    hyperplane_measure,
    line_intersections,
    measure,
    signed_hyperplane_measure,
    signed_measure,
)
from cayleyklein.geometry.projective import signed

seeds = st.integers(0, 2**32 - 1)
DISC = np.diag([1.0, 1.0, -1.0])
UNITS = {"hyperbolic": -0.5, "elliptic": -0.5j}


def random_form(rng, d, negative):
    """Return a well-conditioned form with as many negative eigenvalues as asked for."""
    signs = np.where(np.arange(d + 1) < negative, -1.0, 1.0)
    Q = np.linalg.qr(rng.normal(size=(d + 1, d + 1)))[0]
    A = (Q * (signs * rng.uniform(0.5, 2.0, d + 1))) @ Q.T
    return (A + A.T) / 2


def modulo(values, period):
    """Return complex values less the nearest multiple of a complex period."""
    return values - period * np.rint((values / period).real)


def exact_log(A, base, u, times):
    """Return Log (p, q; P, Q) for p, q = base + t u, by the P and Q of the line, in 50 digits.

    P and Q are the zeros of the form along the line, in one order for all p and q.
    """
    with mpmath.workdps(50):
        form = mpmath.matrix(np.asarray(A, dtype=float).tolist())
        x = mpmath.matrix([*np.asarray(base, dtype=float).tolist(), 1])
        v = mpmath.matrix([*np.asarray(u, dtype=float).tolist(), 0])
        a, b, c = ((s.T * form * t)[0] for s, t in ((v, v), (x, v), (x, x)))
        root = mpmath.sqrt(b * b - a * c)
        P, Q = (-b - root) / a, (-b + root) / a
        p, q = (mpmath.mpf(float(t)) for t in times)
        return complex(mpmath.log((p - P) * (q - Q) / ((p - Q) * (q - P))))


@given(seeds, st.integers(1, 4), st.data())
def test_it_is_the_log_with_one_p_and_q_for_the_whole_line(seed, d, data):
    rng = np.random.default_rng(seed)
    A = random_form(rng, d, data.draw(st.integers(0, d + 1)))
    u = np.abs(rng.normal(size=d))  # the orientation that is taken by default
    base = 2.0 ** rng.integers(-2, 3, size=d)
    u = np.ldexp(np.rint(np.ldexp(u, 10)) + 1, -10)  # so that the points below are exact
    times = rng.integers(-8, 8, size=2) / 4.0
    if times[0] == times[1]:
        times[1] += 0.25
    p, q = base + times[0] * u, base + times[1] * u
    expected = exact_log(A, base, u, times)
    got = complex(signed_measure(A, p, q, unit=1))
    x, y = np.append(p, 1.0), np.append(q, 1.0)
    condition = max(np.abs(z) @ np.abs(A) @ np.abs(z) / abs(z @ A @ z) for z in (x, y))
    assert abs(modulo(np.array(got - expected), 2j * np.pi)) <= 1e-12 * condition


@pytest.mark.parametrize("kind", ["hyperbolic", "elliptic", "outside, meets", "outside, misses"])
def test_it_is_additive_and_antisymmetric(kind):
    rng = np.random.default_rng(0)
    A, unit = (np.eye(3), -0.5j) if kind == "elliptic" else (DISC, -0.5)
    directions = {"hyperbolic": [0.6, 0.3], "outside, misses": [1.0, 0.2]}
    u = np.array(directions.get(kind, [1.0, 0.3]))
    base = np.array([0.1, 2.0 if kind == "outside, misses" else -0.2])
    t = rng.uniform(-1, 1, size=(40, 3)) if kind == "hyperbolic" else rng.normal(size=(40, 3))
    if kind == "outside, meets":
        t += 4.0 * np.sign(t)  # on both sides of the conic
    if kind == "outside, misses":
        t *= 3.0
    p, q, r = (base + t[:, [i]] * u for i in range(3))
    whole, first, second = (
        signed_measure(A, *pair, unit=unit) for pair in ((p, q), (p, r), (r, q))
    )
    difference = whole - first - second
    back = signed_measure(A, q, p, unit=unit)
    if kind == "hyperbolic":
        assert not whole.imag.any()
        np.testing.assert_allclose(difference, 0, atol=1e-12)
        assert (np.sign(whole.real) == np.sign(t[:, 1] - t[:, 0])).all()
    else:
        period = 2j * np.pi * unit
        assert np.abs(difference).max() > 1 or kind == "outside, meets"  # the period does occur
        np.testing.assert_allclose(modulo(difference, period), 0, atol=1e-12)
    np.testing.assert_allclose(back, -whole, rtol=1e-11)
    assert not (whole.real if kind == "outside, misses" else whole.imag).any()
    np.testing.assert_array_equal(np.abs(whole), np.abs(measure(A, p, q, unit=unit)))


def test_inside_and_outside_on_one_line():
    """Complex: the real parts add up, and the imaginary parts do modulo iπ."""
    t = np.array([-5.0, -1.5, -0.9, 0.0, 0.3, 0.99, 1.2, 7.0])
    i, j, k = np.array([(i, j, k) for i in range(8) for j in range(8) for k in range(8)]).T
    points = t[:, None] * [1.0, 0.5]
    A = np.diag([1.0, 1.0, -1.25])  # which the line meets at t = ±1
    found = signed_measure(A, points[:, None], points)
    np.testing.assert_allclose(found[i, k].real, (found[i, j] + found[j, k]).real, atol=1e-12)
    period = (found[i, k] - found[i, j] - found[j, k]).imag / np.pi
    np.testing.assert_allclose(period, np.rint(period), atol=1e-12)
    position = 0.5 * np.log(np.abs((1 + t) / (1 - t)))  # -½ log |(t - P)/(t - Q)| reversed
    np.testing.assert_allclose(found.real, position - position[:, None], atol=1e-12)
    across = (np.abs(t) < 1) ^ (np.abs(t) < 1)[:, None]
    np.testing.assert_allclose(found.imag, np.where(across, -np.pi / 2, 0), atol=1e-15)


def test_right_angles_have_the_principal_value_in_both_orders():
    for unit in (-0.5j, 0.5j):
        forth = signed_measure(np.eye(2), [1.0], [-1.0], unit=unit)
        back = signed_measure(np.eye(2), [-1.0], [1.0], unit=unit)
        assert forth == back == pytest.approx(1j * np.pi * unit)


def test_direction_orders_the_points_where_the_conic_meets_the_line():
    p, q = np.array([0.1, 0.2]), np.array([0.4, -0.3])
    P, Q = ((x[:2] / x[2]).real for x in line_intersections(DISC, p, q))
    for first, last in ((P, Q), (Q, P)):
        expected = -np.log(cross_ratio(p, q, first, last)) / 2
        got = signed_measure(DISC, p, q, direction=last - first)
        assert got == pytest.approx(expected, rel=1e-12)
        assert signed_measure(DISC, q, p, direction=last - first) == pytest.approx(-expected)
    for size in (1e-300, 1e300):  # only the direction counts
        turned = signed_measure(DISC, p, q, direction=size * (p - q))
        assert turned == -signed_measure(DISC, p, q)
    assert signed_measure(DISC, p, q) > 0  # the first coordinate increases
    assert signed_measure(DISC, p, q, direction=[0.0, 1.0]) < 0
    assert signed_measure(-DISC, p, q) == -signed_measure(DISC, p, q)


def test_rounding_does_not_turn_an_axis_parallel_line():
    x = 0.3 + np.array([0.0, 1e-17, -1e-17, 5e-17, -5e-17])
    p, q = np.column_stack([x, np.zeros(5)]), np.column_stack([x[::-1], np.full(5, 0.4)])
    assert (signed_measure(DISC, p, q).real > 0).all()
    assert (signed_measure(DISC, q, p).real < 0).all()
    assert signed_measure(DISC, [0.0, 0.5], [1e-6, 0.0]).real > 0


def test_a_point_and_itself_and_points_on_the_conic():
    assert signed_measure(DISC, [0.1, 0.2], [0.1, 0.2], direction=[1.0, 0.0]) == 0
    assert signed_measure(DISC, [0.0, 0.0], [1.0, 0.0]) == np.inf
    assert signed_measure(DISC, [0.0, 0.0], [-1.0, 0.0]) == -np.inf
    assert signed_measure(DISC, [1e-200, 0.0], [-1e-200, 0.0]).real == pytest.approx(-2e-200)


def test_a_point_comes_not_before_itself():
    p = np.array([[0.3, -0.2], [0.0, 0.0]])
    assert signed.sense_of_line(p, p).tolist() == [1, 1]
    assert signed.sense_of_line(p, p - [0.1, 0.0]).tolist() == [-1, -1]


def test_batches_dtypes_and_bad_directions():
    p, q = np.zeros((4, 1, 2), np.float32), np.full((3, 2), 0.5, np.float32)
    found = signed_measure(DISC.astype(np.float32), p, q, direction=np.ones((4, 3, 2)))
    assert (found.shape, found.dtype) == ((4, 3), np.complex64)
    for direction, message in (
        ([1.0, -1.0], "perpendicular to the line pq at index"),
        ([0.0, 0.0], "direction has a zero vector"),
        ([1.0], "direction has 1 coordinates"),
        ([np.nan, 1.0], "direction has NaN"),
        (np.ones((7, 2)), "broadcast"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            signed_measure(DISC, np.zeros((4, 2)), np.full((4, 2), 0.5), direction=direction)


# -- the signed distance of a metric -----------------------------------------------------------


@pytest.mark.parametrize("K", [-2.0, -1e-8, 0.0, 1e-8, 2.0])
def test_the_signed_distance_is_additive_without_a_period(K):
    rng = np.random.default_rng(1)
    factor = np.array([[1.0, 0.3], [0.0, 0.8]])
    metric = CurvedMetric(factor=factor, center=[0.1, -0.2], curvature=K)
    size = 0.3 if K < 0 else 30.0  # an elliptic line nearly from end to end
    t = rng.uniform(-size, size, size=(50, 3))
    p, q, r = ([0.2, 0.1] + t[:, [i]] * [-1.0, 0.5] for i in range(3))
    whole = metric.signed_distance(p, q)
    parts = metric.signed_distance(p, r) + metric.signed_distance(r, q)
    np.testing.assert_allclose(whole, parts, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(metric.signed_distance(q, p), -whole)
    np.testing.assert_array_equal(np.abs(whole), metric.distance(p, q))
    assert (np.sign(whole) == -np.sign(t[:, 1] - t[:, 0])).all()
    turned = metric.signed_distance(p, q, direction=[-1.0, 0.5])
    np.testing.assert_array_equal(turned, -whole)
    if K > 0:
        assert K < 1 or np.abs(whole).max() > np.pi / 2 / np.sqrt(K)
        principal = signed_measure(metric.form, p, q, unit=-0.5j / np.sqrt(K))
        period = np.pi / np.sqrt(K)
        error = modulo(principal - whole, period)
        np.testing.assert_allclose(error, 0, atol=1e-9 / np.sqrt(K))
    if K == -2.0:
        outside = signed_measure(metric.form, p, q, unit=-0.5 / np.sqrt(-K))
        np.testing.assert_allclose(outside, whole, rtol=1e-11)


def test_the_signed_distance_keeps_single_precision_and_refuses_points_outside():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    found = metric.signed_distance(np.zeros((3, 2), np.float32), np.ones(2, np.float32) / 2)
    assert found.dtype == np.float32
    assert metric.signed_distance([0.0, 0.0], [0.5, 0.0]) == pytest.approx(np.arctanh(0.5))
    with pytest.raises(OutsideDomainError):
        metric.signed_distance([0.0, 0.0], [2.0, 0.0])
    flat = CurvedMetric.euclidean(2)
    with pytest.raises(InvalidInputError, match="overflow"):
        flat.signed_distance([1e308, 0.0], [-1e308, 0.0])
    assert flat.signed_distance([1e-300, 0.0], [-1e-300, 0.0]) == -2e-300


# -- angles ------------------------------------------------------------------------------------


def lines_through(point, angles):
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.concatenate([normals, -(normals @ point)[..., None]], axis=-1)


@pytest.mark.parametrize("A", [DISC, np.eye(3)], ids=["hyperbolic", "elliptic"])
def test_signed_angles_are_additive_over_a_pencil(A):
    rng = np.random.default_rng(2)
    dual = Absolute(A).dual
    unit = 0.5j if A[2, 2] < 0 else -0.5j
    factors = rng.choice([-3.0, 0.5, 2.0], size=(40, 3, 1))
    theta = rng.uniform(0, 2 * np.pi, size=(40, 3))
    l, m, k = np.moveaxis(factors * lines_through(np.array([0.2, 0.3]), theta), 1, 0)  # noqa: E741
    whole, first, second = (
        signed_hyperplane_measure(dual, *pair, unit=unit) for pair in ((l, m), (l, k), (k, m))
    )
    assert not whole.imag.any()
    assert (np.abs(whole - first - second) > 1).any()
    np.testing.assert_allclose(modulo(whole - first - second, np.pi), 0, atol=1e-12)
    np.testing.assert_allclose(signed_hyperplane_measure(dual, m, l, unit=unit), -whole, rtol=1e-12)
    np.testing.assert_allclose(
        np.abs(whole), np.abs(hyperplane_measure(dual, l, m, unit=unit)), rtol=1e-12
    )
    metric = CurvedMetric.from_form(A)
    np.testing.assert_allclose(metric.signed_angle(l, m), whole.real, rtol=1e-9)
    np.testing.assert_allclose(np.abs(whole), metric.angle(l, m), rtol=1e-9)


def test_anticlockwise_is_positive():
    theta = np.radians([10.0, 40.0, 80.0, 100.0])
    l, turned = [1.0, 0.0, 0.0], lines_through(np.zeros(2), theta)  # noqa: E741
    expected = np.radians([10.0, 40.0, 80.0, -80.0])  # lines have no sides
    for K in (-1.0, 0.0, 1.0):
        metric = CurvedMetric(factor=np.diag([-1.0, 1.0]), curvature=K)  # a reflection: no matter
        np.testing.assert_allclose(metric.signed_angle(l, turned), expected, rtol=1e-12)
        np.testing.assert_allclose(metric.signed_angle(l, -turned), expected, rtol=1e-12)
        np.testing.assert_allclose(metric.signed_angle(turned, l), -expected, rtol=1e-12)
        assert metric.signed_angle(l, [0.0, 1.0, 0.0]) == pytest.approx(np.pi / 2)
        assert metric.signed_angle([0.0, 1.0, 0.0], l) == pytest.approx(np.pi / 2)
        x_axis, y_axis = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
        for turn, sign in (([x_axis, y_axis], 1), ([y_axis, x_axis], -1)):
            found = metric.signed_angle(turned, l, turn=turn)
            np.testing.assert_allclose(found, sign * expected, rtol=1e-12)


def test_turn_orients_pencils_in_space():
    rng = np.random.default_rng(3)
    metric = CurvedMetric.euclidean(3, curvature=-1.0)
    a, b = rng.normal(size=(2, 4)) * [1, 1, 1, 0.1]
    weights = rng.normal(size=(3, 2))
    l, m, k = weights @ [a, b]  # noqa: E741
    dual = Absolute(DISC_3).dual
    for turn in ([a, b], [b, a], [a, -b], [l, m]):
        sign = -1 if turn[0] is b or turn[1] is not b else 1
        whole, first, second = (
            metric.signed_angle(*pair, turn=turn) for pair in ((l, m), (l, k), (k, m))
        )
        assert modulo(np.array(whole - first - second), np.pi) == pytest.approx(0, abs=1e-12)
        measured = signed_hyperplane_measure(dual, l, m, turn=turn)
        assert measured == pytest.approx(whole, rel=1e-9)
        if turn[0] is a:
            expected = sign * metric.signed_angle(l, m, turn=[a, b])
            assert whole == pytest.approx(expected)


DISC_3 = np.diag([1.0, 1.0, 1.0, -1.0])


def test_ultraparallel_lines_have_an_imaginary_additive_measure():
    dual = Absolute(DISC).dual
    a = np.array([-0.8, 0.1, 0.7])
    planes = np.column_stack([np.ones(3), np.zeros(3), -a])
    found = signed_hyperplane_measure(dual, planes[:, None], planes)
    np.testing.assert_allclose(found.real, 0)
    np.testing.assert_allclose(found, -found.T, rtol=1e-14)
    np.testing.assert_allclose(found[0, 2], found[0, 1] + found[1, 2], rtol=1e-12)
    expected = np.arctanh(a) - np.arctanh(a)[:, None]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-12)


def test_one_hyperplane_and_bad_turns():
    dual = Absolute(DISC).dual
    l = np.array([0.3, 0.6, 0.15])  # noqa: E741
    turn = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    for m in (l, l / 3, -0.7 * l):
        assert signed_hyperplane_measure(dual, l, m, turn=turn) == pytest.approx(0, abs=1e-15)
    for bad, message in (
        ([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], "two hyperplanes of turn are the same"),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], "perpendicular to the pencil of l and m, which"),
        ([1.0, 0.0, 0.0], r"turn of shape=\(3,\)"),
        ([[1.0, 0.0], [0.0, 1.0]], "turn has 2 coordinates"),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "turn has a zero vector at index 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            signed_hyperplane_measure(dual, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], turn=bad)
