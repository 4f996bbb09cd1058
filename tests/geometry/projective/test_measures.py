"""The complex measure against the literal definition in 50 digits, and its four cases."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import apply_collineation, measure
from cayleyklein.geometry.projective.angles import half_log

seeds = st.integers(0, 2**32 - 1)
DISC = np.diag([1.0, 1.0, -1.0])


def log_cross_ratio(A, p, q):
    return measure(A, p, q, unit=1)


def exact_log(A, p, q):
    """Return Log of the cross-ratio with the intersections, in 50 digits from the same floats."""
    with mpmath.workdps(50):
        form = mpmath.matrix(np.asarray(A, dtype=float).tolist())
        x, y = (mpmath.matrix([*np.asarray(z, dtype=float).tolist(), 1]) for z in (p, q))
        s = {k: (a.T * form * b)[0] for k, a, b in (("pp", x, x), ("qq", y, y), ("pq", x, y))}
        root = mpmath.sqrt(s["pq"] ** 2 - s["pp"] * s["qq"])
        # The intersections are αx + βy with β/α = -(S_pq ± √D)/S_qq; p is (1, 0), q is (0, 1).
        first, second = (-s["pq"] - root) / s["qq"], (-s["pq"] + root) / s["qq"]
        minors = first * -1, -1 * second  # [pP][qQ], [pQ][qP]
        return complex(mpmath.log(minors[0] / minors[1]))


def random_form(rng, d, negative):
    """Return a well-conditioned form with as many negative eigenvalues as asked for."""
    signs = np.where(np.arange(d + 1) < negative, -1.0, 1.0)
    Q = np.linalg.qr(rng.normal(size=(d + 1, d + 1)))[0]
    A = (Q * (signs * rng.uniform(0.5, 2.0, d + 1))) @ Q.T
    return (A + A.T) / 2


@given(seeds, st.integers(1, 5), st.data())
def test_log_is_the_literal_definition(seed, d, data):
    rng = np.random.default_rng(seed)
    A = random_form(rng, d, data.draw(st.integers(0, d + 1)))
    step = 10.0 ** data.draw(st.integers(-11, 1))
    p = rng.normal(size=d)
    q = p + step * rng.normal(size=d)
    expected = exact_log(A, p, q)
    got = complex(log_cross_ratio(A, p, q))
    x = np.append(p, 1.0)
    condition = np.abs(x) @ np.abs(A) @ np.abs(x) / abs(x @ A @ x)
    error = got - expected
    error -= 2j * np.pi * np.rint(error.imag / (2 * np.pi))  # the two ends of (-π, π] are one
    assert abs(error) <= 1e-13 * condition * max(abs(expected), step)


@pytest.mark.parametrize("step", [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.5])
@pytest.mark.parametrize(
    "A", [DISC, -DISC, np.eye(3), np.diag([2.0, -1.0, 1.0])], ids=["in", "minus", "ell", "mixed"]
)
def test_close_points_keep_their_digits(A, step):
    p, q = np.array([0.25, -0.125]), np.array([0.25 + step, -0.125 + step / 3])
    assert complex(log_cross_ratio(A, p, q)) == pytest.approx(exact_log(A, p, q), rel=1e-13)


def test_far_points_keep_their_digits():
    # Radial and close to each other, far from the origin: S_pu² nearly cancels S_pp S_uu.
    p, q = np.array([1e6, 1.0]), np.array([1e6 + 3.0, 1.0])
    assert complex(log_cross_ratio(np.eye(3), p, q)) == pytest.approx(
        exact_log(np.eye(3), p, q), rel=1e-9
    )
    gap = 2.0**-50
    p, q = np.array([1 - gap, 0.0]), np.array([gap - 1, 0.0])
    assert complex(log_cross_ratio(DISC, p, q)) == pytest.approx(exact_log(DISC, p, q), rel=1e-13)


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e300])
def test_scale_of_the_form_does_not_matter(size):
    p, q = np.array([0.3, 0.1]), np.array([-0.2, 0.5])
    expected = log_cross_ratio(DISC, p, q)
    assert log_cross_ratio(size * DISC, p, q) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("size", [1e-100, 1e100, 1e150])
def test_scale_of_the_points_does_not_overflow(size):
    p, q = np.array([0.3, 0.1]), np.array([-0.2, 0.5])
    big = np.diag([size**-2, size**-2, -1.0])
    expected = log_cross_ratio(DISC, p, q)
    assert log_cross_ratio(big, size * p, size * q) == pytest.approx(expected, rel=1e-13)


def test_four_cases_of_a_real_conic():
    inside = measure(DISC, [0.1, 0.2], [-0.3, 0.4])
    assert inside.imag == 0
    assert inside.real > 0
    outside_meeting = measure(DISC, [2.0, 0.0], [3.0, 0.1])
    assert outside_meeting.imag == 0
    assert outside_meeting.real != 0
    outside_missing = measure(DISC, [2.0, 0.0], [2.0, 1.0])
    assert outside_missing.real == 0
    assert outside_missing.imag != 0
    across = measure(DISC, [0.1, 0.2], [2.0, 1.0])
    assert across.real != 0
    assert abs(across.imag) == pytest.approx(np.pi / 2)
    for value, (p, q) in {
        inside: ([0.1, 0.2], [-0.3, 0.4]),
        outside_meeting: ([2.0, 0.0], [3.0, 0.1]),
        outside_missing: ([2.0, 0.0], [2.0, 1.0]),
        across: ([0.1, 0.2], [2.0, 1.0]),
    }.items():
        assert abs(value) == pytest.approx(abs(exact_log(DISC, p, q)) / 2, rel=1e-14)


def test_hyperbolic_and_elliptic_units_give_real_distances():
    p, q = np.array([0.1, 0.2]), np.array([-0.3, 0.4])
    s = [np.append(a, 1) @ DISC @ np.append(b, 1) for a, b in ((p, p), (q, q), (p, q))]
    assert measure(DISC, p, q) == pytest.approx(np.arccosh(-s[2] / np.sqrt(s[0] * s[1])))
    s = [1 + a @ b for a, b in ((p, p), (q, q), (p, q))]
    elliptic = measure(np.eye(3), p, q, unit=1 / 2j)
    assert elliptic == pytest.approx(np.arccos(s[2] / np.sqrt(s[0] * s[1])))
    assert elliptic.imag == 0


@given(seeds, st.integers(1, 4))
def test_log_is_symmetric_additive_and_odd_in_the_form(seed, d):
    rng = np.random.default_rng(seed)
    A = random_form(rng, d, 1)
    p, q = rng.normal(size=(2, d))
    r = p + rng.uniform() * (q - p)
    log = log_cross_ratio(A, p, q)
    np.testing.assert_allclose(log_cross_ratio(A, q, p), log, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(log_cross_ratio(-A, p, q) + log), 1, rtol=1e-9)
    # Which of P, Q comes first depends on the sign of S, the product does not.
    parts = np.exp([log_cross_ratio(A, p, r), log_cross_ratio(A, r, q)])
    products = [parts[0] * parts[1], parts[0] / parts[1], parts[1] / parts[0], 1 / parts.prod()]
    assert np.min(np.abs(np.array(products) / np.exp(log) - 1)) < 1e-6


@given(seeds, st.integers(1, 4), st.integers(0, 2))
def test_log_is_invariant_under_collineations(seed, d, negative):
    rng = np.random.default_rng(seed)
    A = random_form(rng, d, negative)
    H = np.eye(d + 1) + 0.2 * rng.uniform(-1, 1, size=(d + 1, d + 1)) / (d + 1)
    inverse = np.linalg.inv(H)
    B = inverse.T @ A @ inverse
    p, q = rng.uniform(-0.5, 0.5, size=(2, d))  # so that w stays positive
    image = log_cross_ratio((B + B.T) / 2, apply_collineation(H, p), apply_collineation(H, q))
    np.testing.assert_allclose(np.exp(image), np.exp(log_cross_ratio(A, p, q)), rtol=1e-6)


def test_points_on_the_absolute_are_infinitely_far():
    assert log_cross_ratio(DISC, [0.0, 0.0], [1.0, 0.0]) == -np.inf
    assert log_cross_ratio(-DISC, [0.0, 0.0], [1.0, 0.0]) == np.inf
    assert measure(DISC, [0.0, 0.0], [1.0, 0.0]) == np.inf
    value = measure(DISC, [0.0, 0.0], [1.0, 0.0], unit=0.5j)
    assert value.real == 0
    assert value.imag == -np.inf
    assert np.isnan(measure(DISC, [1.0, 0.0], [1.0, 1.0]))  # the tangent at that point
    assert np.isnan(measure(DISC, [1.0, 0.0], [1.0, 0.0]))


def test_tangents_and_degenerate_absolutes_measure_zero():
    assert log_cross_ratio(DISC, [1.0, 0.5], [1.0, 2.0]) == 0
    assert measure([[0.0, 0.0], [0.0, 1.0]], [3.0], [7.0]) == 0  # Euclidean, of rank 1
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 50)
    on = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    along = np.stack([-on[:, 1], on[:, 0]], axis=-1)
    tangents = log_cross_ratio(DISC, on + 0.5 * along, on + 2 * along)
    assert np.abs(tangents).max() < 1e-7
    p, q = rng.normal(size=(2, 200, 3))
    assert not log_cross_ratio(np.diag([0.0, 0.0, 0.0, 1.0]), p, q).any()
    a = rng.normal(size=4)
    signs = np.sign((p @ a[:3] + a[3]) * (q @ a[:3] + a[3]))
    logs = log_cross_ratio(np.outer(a, a), p, q)
    assert not logs[signs != 0].any()


def test_elliptic_measure_is_the_limit_of_mahalanobis():
    p, q = np.array([0.3, 0.7]), np.array([-1.0, 0.2])
    for K in (1e-8, 1e-12):
        A = np.diag([K, K, 1.0])
        assert measure(A, p, q, 1 / 2j) / np.sqrt(K) == pytest.approx(
            np.linalg.norm(p - q), rel=4 * K
        )


def test_half_log_covers_extreme_scalars():
    assert half_log(1e-200, 1e-200, 1e-200, 0.0) == 0
    assert half_log(1e-300, 1e-300, 1.0, 1.0).real == pytest.approx(np.log(2e300))
    assert half_log(1.0, 1.0, -0.5, -0.75).imag == pytest.approx(-np.pi / 3)
    assert half_log(1.0, -1.0, 0.0, 1.0) == 0.5j * np.pi
    batch = half_log([1.0, 1.0], [[1.0], [-1.0]], 0.5, [[-0.75], [1.25]])
    assert batch.shape == (2, 2)


def test_batches_broadcast():
    p, q = np.zeros((5, 1, 2)), np.full((3, 2), 0.25)
    assert measure(DISC, p, q).shape == (5, 3)
    assert np.ndim(measure(DISC, p[0, 0], q[0])) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0], [3.0, 4.0]], [0.0], [0.0]), "symmetric"),
        (([[1.0, np.nan], [np.nan, 4.0]], [0.0], [0.0]), "A has NaN"),
        ((np.zeros((3, 3)), [0.0, 0.0], [1.0, 0.0]), "zero matrix"),
        (([[1.0]], [0.0], [0.0]), "d ≥ 1"),
        ((DISC, [0.0, 0.0, 0.0], [1.0, 0.0]), "p has 3 coordinates"),
        ((DISC, [0.0, 0.0], np.zeros((0, 2))), "q is empty"),
        ((DISC, [0.0, np.inf], [0.0, 0.0]), "p has NaN or infinite entries at index 1"),
        ((DISC, np.zeros((2, 2)), np.zeros((3, 2))), r"p \(2, 2\), q \(3, 2\)"),
        ((DISC, [0.0, 1j], [0.0, 0.0]), "real numbers"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        measure(*arguments)


@pytest.mark.parametrize("unit", [0, np.nan, "half", [1.0]])
def test_bad_unit_is_named(unit):
    with pytest.raises(InvalidInputError, match="unit"):
        measure(DISC, [0.0, 0.0], [0.5, 0.0], unit=unit)
