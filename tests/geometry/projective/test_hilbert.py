"""Hilbert geometry: hyperbolic on an ellipsoid, log-ratios on a simplex."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import ConvexBody, Ellipsoid, Polytope, cross_ratio, hilbert_distance

seeds = st.integers(0, 2**32 - 1)
INTERVAL = Polytope([[1.0], [-1.0]], [1.0, 1.0])
SQUARE = Polytope.from_vertices([[0.0, 0], [1, 0], [1, 1], [0, 1]])


def exact_hyperbolic(body, p, q):
    """Return arccosh of the normalised form in 50 digits."""
    with mpmath.workdps(50):
        shape = mpmath.matrix(body.matrix.tolist())
        z = [mpmath.matrix([mpmath.mpf(a) - mpmath.mpf(c) for a, c in zip(x, body.center)])  # noqa: B905
             for x in (p.tolist(), q.tolist())]  # fmt: skip
        square = mpmath.mpf(body.radius) ** 2
        pp, qq, pq = (square - (z[i].T * shape * z[j])[0] for i, j in ((0, 0), (1, 1), (0, 1)))
        return float(mpmath.acosh(pq / mpmath.sqrt(pp * qq)))


@given(seeds, st.integers(1, 5), st.integers(-12, 0))
def test_ellipsoid_is_hyperbolic(seed, d, exponent):
    rng = np.random.default_rng(seed)
    F = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    body = Ellipsoid(rng.normal(size=d), F.T @ F + 0.1 * np.eye(d), rng.uniform(0.5, 3))
    size = body.radius / np.sqrt(np.linalg.eigvalsh(body.matrix)[-1])
    unit = rng.normal(size=(2, d))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    p = body.center + 0.6 * size * unit[0]
    q = p + 10.0**exponent * 0.3 * size * unit[1]
    assert hilbert_distance(body, p, q) == pytest.approx(exact_hyperbolic(body, p, q), rel=1e-11)


@pytest.mark.parametrize("gap", [2.0**-10, 2.0**-30, 2.0**-50])
def test_near_the_boundary(gap):
    body = Ellipsoid([0.0, 0.0], np.eye(2))
    p, q = np.array([0.25, 0.125]), np.array([1 - gap, 0.0])
    assert hilbert_distance(body, p, q) == pytest.approx(exact_hyperbolic(body, p, q), rel=1e-12)
    assert hilbert_distance(body, -q, q) == pytest.approx(exact_hyperbolic(body, -q, q), rel=1e-12)
    expected = np.log((2 - gap) / gap) / 2
    assert hilbert_distance(INTERVAL, [0.0], [1 - gap]) == pytest.approx(expected, rel=1e-14)


@given(seeds, st.integers(1, 5), st.integers(-12, 0))
def test_simplex_is_half_the_range_of_log_ratios(seed, d, exponent):
    rng = np.random.default_rng(seed)
    normals = np.concatenate([-np.eye(d), np.ones((1, d))])
    body = Polytope(normals, np.append(np.zeros(d), 1.0))
    p = rng.dirichlet(np.ones(d + 1))[:d]
    q = p + 10.0**exponent * (rng.dirichlet(np.ones(d + 1))[:d] - p) * 0.9
    with mpmath.workdps(50):
        logs = [mpmath.log(mpmath.mpf(a) / mpmath.mpf(b)) for a, b in zip(p, q, strict=True)]
        rest = [1 - mpmath.fsum(mpmath.mpf(a) for a in x) for x in (p, q)]
        logs.append(mpmath.log(rest[0] / rest[1]))
        expected = float((max(logs) - min(logs)) / 2)
        condition = float(1 / min(*rest, *p, *q))
    assert hilbert_distance(body, p, q) == pytest.approx(expected, rel=1e-14 * condition)


@given(seeds, st.integers(1, 3))
def test_it_is_a_metric_with_straight_geodesics_and_the_cross_ratio(seed, d):
    rng = np.random.default_rng(seed)
    body = Polytope.from_vertices(rng.normal(size=(d + 6, d)))
    weights = rng.dirichlet(np.ones(d + 6), size=3)
    p, q, r = weights @ np.random.default_rng(seed).normal(size=(d + 6, d))
    pq, qr, pr = (hilbert_distance(body, *x) for x in ((p, q), (q, r), (p, r)))
    assert pq > 0
    assert hilbert_distance(body, q, p) == pytest.approx(pq, rel=1e-12)
    assert pr <= pq + qr + 1e-12
    m = p + 0.3 * (q - p)
    parts = hilbert_distance(body, p, m) + hilbert_distance(body, m, q)
    assert parts == pytest.approx(pq, rel=1e-9)
    P, Q = p - body.exit_time(p, p - q) * (q - p), q + body.exit_time(q, q - p) * (q - p)
    assert np.log(cross_ratio(p, q, Q, P)) / 2 == pytest.approx(pq, rel=1e-9)


def test_polygon_with_many_sides_tends_to_the_disc():
    angles = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    polygon = Polytope(np.stack([np.cos(angles), np.sin(angles)], axis=-1), np.ones(1000))
    disc = Ellipsoid([0.0, 0.0], np.eye(2))
    p, q = np.array([0.1, 0.2]), np.array([-0.5, 0.3])
    assert hilbert_distance(polygon, p, q) == pytest.approx(hilbert_distance(disc, p, q), rel=1e-4)


def test_close_and_equal_points():
    assert hilbert_distance(SQUARE, [0.5, 0.5], [0.5, 0.5]) == 0
    for step in (1e-15, 1e-100, 1e-300):
        assert hilbert_distance(INTERVAL, [0.0], [step]) == pytest.approx(step, rel=1e-14)
    p = np.full((4, 2), 0.25)
    q = p.copy()
    q[2] = 0.5
    assert (hilbert_distance(SQUARE, p, q) > 0).tolist() == [False, False, True, False]


def test_vertices_and_half_spaces_describe_one_body():
    cube = Polytope.from_vertices(np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T)
    assert cube.dimension == 3
    assert len(cube.offsets) == 6
    assert cube.contains([[0.5, 0.5, 0.5], [1.0, 0.5, 0.5], [2.0, 0.5, 0.5]]).tolist() == [
        True,
        False,
        False,
    ]
    np.testing.assert_allclose(
        cube.exit_time([0.5, 0.5, 0.5], [[1, 0, 0], [0, -2, 0]]), [0.5, 0.25]
    )
    segment = Polytope.from_vertices([[3.0], [1.0], [2.0]])
    assert segment.exit_time([2.0], [-1.0]) == 1


def test_bodies_are_frozen_and_print():
    for body in (INTERVAL, Ellipsoid([0.0], [[1.0]], 2.0)):
        assert isinstance(body, ConvexBody)
        with pytest.raises(AttributeError, match="immutable"):
            body.offsets = None
        assert type(body).__name__ in repr(body)
    with pytest.raises(ValueError, match="read-only"):
        INTERVAL.offsets[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        Ellipsoid([0.0], [[1.0]]).center[0] = 7


def test_a_body_of_ones_own():
    class Interval:
        dimension = 1

        def contains(self, points):
            return (np.abs(points) < 1).all(axis=-1)

        def exit_time(self, points, directions):
            points, directions = np.asarray(points)[..., 0], np.asarray(directions)[..., 0]
            return (1 - np.sign(directions) * points) / np.abs(directions)

    p, q = np.array([[0.1], [0.2]]), np.array([[0.5], [-0.5]])
    np.testing.assert_allclose(
        hilbert_distance(Interval(), p, q), hilbert_distance(INTERVAL, p, q), rtol=1e-14
    )


def test_points_on_or_outside_are_named():
    with pytest.raises(OutsideDomainError, match=r"q must lie inside.*: \[1.0, 0.5\]"):
        hilbert_distance(SQUARE, [0.5, 0.5], [1.0, 0.5])
    with pytest.raises(OutsideDomainError, match=r"p must lie inside.* at index 1"):
        hilbert_distance(SQUARE, [[0.5, 0.5], [2.0, 0.5]], [0.5, 0.25])
    with pytest.raises(OutsideDomainError, match="points must lie"):
        Ellipsoid([0.0, 0.0], np.eye(2)).exit_time([1.0, 0.0], [1.0, 0.0])
    with pytest.raises(InvalidInputError, match="directions has a zero vector at index 1"):
        SQUARE.exit_time([0.5, 0.5], [[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("normals", "offsets", "message"),
    [
        ([[1.0]], [1.0], "do not bound"),
        ([[1.0, 0], [-1, 0], [0, 1]], [1.0, 1, 1], "do not bound"),
        ([[1.0, 0], [-1, 0]], [1.0, 1], "do not bound"),
        ([[1.0], [-1.0]], [1.0, -2.0], "no common inside"),
        ([[1.0], [-1.0]], [1.0, -1.0], "no common inside"),
        ([[1.0], [0.0]], [1.0, 1.0], "zero vector at index 1"),
        ([[1.0], [-1.0]], [1.0], "one entry for each of the 2"),
        ([[1.0], [np.nan]], [1.0, 1.0], "normals has NaN"),
        (np.zeros((0, 2)), [], "normals is empty"),
        ([1.0, -1.0], [1.0, 1.0], "2 axes"),
    ],
)
def test_bad_half_spaces_are_named(normals, offsets, message):
    with pytest.raises(InvalidInputError, match=message):
        Polytope(normals, offsets)


def test_other_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="span no volume"):
        Polytope.from_vertices([[0.0, 0], [1, 1], [2, 2]])
    with pytest.raises(InvalidInputError, match="span no volume"):
        Polytope.from_vertices([[0.0, 0], [1, 1]])
    with pytest.raises(InvalidInputError, match="one point, 2"):
        Polytope.from_vertices([[2.0], [2.0]])
    with pytest.raises(InvalidInputError, match=r"positive definite.*-1"):
        Ellipsoid([0.0, 0.0], np.diag([1.0, -1.0]))
    with pytest.raises(InvalidInputError, match="radius=-1"):
        Ellipsoid([0.0], [[1.0]], -1.0)
    with pytest.raises(InvalidInputError, match="center has 1"):
        Ellipsoid([0.0], np.eye(2))
    with pytest.raises(InvalidInputError, match="got str"):
        hilbert_distance("disc", [0.0], [0.5])
    with pytest.raises(InvalidInputError, match="q has 1 coordinates"):
        hilbert_distance(SQUARE, [0.5, 0.5], [0.5])
    with pytest.raises(InvalidInputError, match="broadcast"):
        hilbert_distance(SQUARE, np.full((2, 2), 0.5), np.full((3, 2), 0.5))


def test_single_precision_and_shapes():
    p, q = np.full((3, 1, 2), 0.5, np.float32), np.full((4, 2), 0.25, np.float32)
    assert hilbert_distance(SQUARE, p, q).shape == (3, 4)
    assert hilbert_distance(SQUARE, p, q).dtype == np.float32
    assert np.ndim(hilbert_distance(SQUARE, [0.5, 0.5], [0.25, 0.5])) == 0
