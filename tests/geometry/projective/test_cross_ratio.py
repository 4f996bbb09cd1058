"""The cross-ratio, collineations, and where a line meets the absolute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import apply_collineation, cross_ratio, line_intersections, measure

seeds = st.integers(0, 2**32 - 1)
DISC = np.diag([1.0, 1.0, -1.0])


def on_a_line(rng, d, times):
    base, direction = rng.normal(size=(2, d))
    return base + np.asarray(times)[:, None] * direction


@given(seeds, st.integers(1, 5))
def test_it_is_that_of_the_parameters(seed, d):
    rng = np.random.default_rng(seed)
    t = rng.normal(size=4)
    expected = (t[0] - t[2]) * (t[1] - t[3]) / ((t[0] - t[3]) * (t[1] - t[2]))
    points = on_a_line(rng, d, t)
    assert cross_ratio(*points) == pytest.approx(expected, rel=1e-9)
    factors = rng.uniform(0.1, 10, size=(4, 1)) * rng.choice([-1, 1], size=(4, 1))
    vectors = np.concatenate([points, np.ones((4, 1))], axis=1) * factors
    assert cross_ratio(*vectors, homogeneous=True) == pytest.approx(expected, rel=1e-9)


@given(seeds, st.integers(1, 4))
def test_identities(seed, d):
    rng = np.random.default_rng(seed)
    p, q, r, P, Q = on_a_line(rng, d, rng.normal(size=5))
    value = cross_ratio(p, q, P, Q)
    assert cross_ratio(p, p, P, P) == 1
    assert cross_ratio(p, p, P, Q) == 1
    assert cross_ratio(p, q, Q, P) == pytest.approx(1 / value)
    assert cross_ratio(q, p, Q, P) == pytest.approx(value)
    product = cross_ratio(p, r, P, Q) * cross_ratio(r, q, P, Q)
    assert product == pytest.approx(value, rel=1e-7)


@given(seeds, st.integers(1, 4), st.booleans())
def test_collineations_keep_it(seed, d, complex_points):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(d + 1, d + 1)) + 2 * np.eye(d + 1)
    t = rng.normal(size=4) + (1j * rng.normal(size=4) if complex_points else 0)
    points = on_a_line(rng, d, t)
    vectors = np.concatenate([points, np.ones((4, 1))], axis=1)
    images = vectors @ H.T
    expected = cross_ratio(*points)
    np.testing.assert_allclose(cross_ratio(*images, homogeneous=True), expected, rtol=1e-7)
    affine = apply_collineation(H, points)
    np.testing.assert_allclose(cross_ratio(*affine), expected, rtol=1e-6)


def test_points_at_infinity():
    # With Q at infinity it is the simple ratio (p - P)/(q - P).
    p, q, P, Q = [1.0, 2, 1], [3.0, 6, 1], [0.0, 0, 1], [1.0, 2, 0]
    assert cross_ratio(p, q, P, Q, homogeneous=True) == pytest.approx(1 / 3)
    line_at_infinity = [[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0]]
    assert cross_ratio(*line_at_infinity, homogeneous=True) == -1  # harmonic


def test_close_points_are_exact_differences():
    p, q = np.array([1.0, 1.0]), np.array([1.0 + 2**-52, 1.0 + 2**-52])
    value = cross_ratio(p, q, [2.0, 2.0], [0.0, 0.0])
    step = 2.0**-52
    assert value - 1 == pytest.approx(2 * step, abs=1.5 * step)


def test_coincidences():
    a, b, c = [0.0, 0.0], [1.0, 2.0], [3.0, 6.0]
    assert cross_ratio(a, b, a, c) == 0
    assert cross_ratio(a, b, c, b) == 0
    assert cross_ratio(a, b, b, c) == np.inf
    assert cross_ratio(a, b, c, a) == np.inf
    assert cross_ratio(a, b, c, c) == 1
    assert cross_ratio(a, a, b, b) == 1
    for four in ((a, a, a, b), (a, b, a, a), (b, a, a, a), (a, a, a, a)):
        with pytest.raises(InvalidInputError, match="coincide"):
            cross_ratio(*four)
    three = np.array([0.1, 0.7, 1.0])
    with pytest.raises(InvalidInputError, match="coincide"):  # the same up to rounded factors
        cross_ratio(three, three / 3, three * 0.7, [1.0, 0, 0], homogeneous=True)
    with pytest.raises(InvalidInputError, match="coincide at index 1"):
        cross_ratio([[0.0], [1]], [[1.0], [1]], [[2.0], [1]], [[3.0], [2]])


def test_points_off_the_line_are_named():
    p = np.zeros((3, 2))
    q, P, Q = p + 1.0, p + 2.0, p + 3.0
    Q[1] = [3.0, 3.001]
    with pytest.raises(InvalidInputError, match=r"at index 1: one is 0.0"):
        cross_ratio(p, q, P, Q)
    with pytest.raises(InvalidInputError, match="not collinear: one"):
        cross_ratio([0.0, 0], [1e-9, 0], [0, 1e-9], [1e-9, 1e-9])  # small is no excuse
    with pytest.raises(InvalidInputError, match="not collinear"):
        cross_ratio([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], homogeneous=True)


def test_dtypes_and_batches():
    t = np.array([0.0, 1.0, 2.0, -3.0])
    points = np.stack([t, 2 * t], axis=-1)
    assert cross_ratio(*points).dtype == np.float64
    assert cross_ratio(*points.astype(complex)).dtype == np.complex128
    assert cross_ratio(points[0], points[1], points[2], np.tile(points[3], (5, 1))).shape == (5,)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (([0.0], [1.0], [np.nan], [2.0]), {}, "P has NaN"),
        (([0.0], [1.0], [complex(np.nan, 1)], [2.0]), {}, "P has NaN"),
        (([0.0], [1.0], [2.0], []), {}, "Q is empty"),
        (([0.0], [1.0, 2.0], [2.0, 3.0, 4.0], [1.0]), {}, "do not broadcast"),
        ((0.0, 1.0, 2.0, 3.0), {}, "at least one axis"),
        (([[0.0], [1.0, 2.0]], [1.0], [2.0], [3.0]), {}, "rectangular"),
        (([0.0], [1.0], [2.0], [3.0]), {"homogeneous": True}, "at least two"),
        (([0.0, 0], [1.0, 1], [2.0, 1], [3.0, 1]), {"homogeneous": True}, "zero vector"),
    ],
)
def test_bad_points_are_named(points, options, message):
    with pytest.raises(InvalidInputError, match=message):
        cross_ratio(*points, **options)


@pytest.mark.parametrize("far", [1.0, 4e7, 1e12])
def test_a_long_translation_is_a_collineation(far):
    H = [[1.0, 0.0, far], [0.0, 1.0, -far], [0.0, 0.0, 1.0]]
    np.testing.assert_array_equal(apply_collineation(H, [1.0, 2.0]), [1.0 + far, 2.0 - far])


def test_bad_collineations_are_named():
    with pytest.raises(InvalidInputError, match="invertible"):
        apply_collineation([[1.0, 1], [1, 1]], [0.0])
    with pytest.raises(InvalidInputError, match="shape"):
        apply_collineation(np.ones((2, 3)), [0.0])
    with pytest.raises(InvalidInputError, match="1 are expected"):
        apply_collineation(np.eye(2), [0.0, 1.0])
    with pytest.raises(NotRepresentableError, match=r"at index 1 to infinity"):
        apply_collineation([[1.0, 0], [1, 1]], [[1.0], [-1.0]])


@given(seeds, st.integers(1, 4), st.data())
def test_intersections_are_on_the_absolute_in_the_order_of_the_formula(seed, d, data):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(d + 1) < data.draw(st.integers(0, d + 1)), -1.0, 1.0)
    F = np.linalg.qr(rng.normal(size=(d + 1, d + 1)))[0]
    A = (F * signs) @ F.T
    A = (A + A.T) / 2
    p, q = rng.normal(size=(2, 5, d)) * 10.0 ** rng.integers(-2, 3, size=(2, 5, 1))
    P, Q = line_intersections(A, p, q)
    for R in (P, Q):
        norm = np.linalg.norm(R, axis=-1)
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", R, A, R) / norm**2, 0, atol=1e-9)
    lift = [np.concatenate([x, np.ones((5, 1))], axis=1) for x in (p, q)]
    ratio = cross_ratio(*lift, P, Q, homogeneous=True)
    np.testing.assert_allclose(np.exp(measure(A, p, q, unit=1)), ratio, rtol=1e-5)


@pytest.mark.parametrize("step", [1e-12, 1e-6, 1.0])
def test_intersections_of_close_points(step):
    P, Q = line_intersections(DISC, [0.25, 0.0], [0.25, step])
    height = np.sqrt(1 - 0.25**2)
    assert (P[:2] / P[2]).real == pytest.approx([0.25, -height])
    assert (Q[:2] / Q[2]).real == pytest.approx([0.25, height])
    assert not P.imag.any()
    swapped = line_intersections(DISC, [0.25, step], [0.25, 0.0])
    assert (swapped[0] / swapped[0][2]) == pytest.approx(Q / Q[2])


def test_special_intersections():
    P, Q = line_intersections(DISC, [1.0, 0.0], [1.0, 2.0])  # tangent, from its point
    assert (P / P[2]) == pytest.approx([1, 0, 1])
    assert (Q / Q[2]) == pytest.approx([1, 0, 1])
    P, Q = line_intersections(DISC, [1.0, 3.0], [1.0, 2.0])  # tangent, from elsewhere
    assert (P / P[2]) == pytest.approx([1, 0, 1])
    assert (Q / Q[2]) == pytest.approx([1, 0, 1])
    P, Q = line_intersections(np.diag([0.0, 0, 1]), [1.0, 3.0], [2.0, 5.0])  # at infinity
    assert P[2] == Q[2] == 0
    assert P[1] / P[0] == Q[1] / Q[0] == 2
    with pytest.raises(InvalidInputError, match="same point at index 0"):
        line_intersections(DISC, [[1.0, 3], [1, 1]], [[1.0, 3], [2, 2]])
    with pytest.raises(NotRepresentableError, match="lies in the absolute"):
        line_intersections(np.diag([0.0, 1, 0]), [1.0, 0], [2.0, 0])
