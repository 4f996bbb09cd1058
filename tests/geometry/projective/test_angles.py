"""Angles between hyperplanes: ordinary, hyperbolic and complex."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Absolute, hyperplane_angle, hyperplane_measure

seeds = st.integers(0, 2**32 - 1)
EUCLIDEAN = np.diag([1.0, 1.0, 0.0])
DISC = Absolute(np.diag([1.0, 1.0, -1.0]))


def exact_acute(dual, l, m):  # noqa: E741
    return exact_acute_of(dual, *([mpmath.mpf(float(t)) for t in v] for v in (l, m)))


def exact_acute_of(dual, l, m):  # noqa: E741
    """Return arccos |B_lm|/√(B_ll B_mm) in 50 digits."""
    with mpmath.workdps(50):
        B = mpmath.matrix(np.asarray(dual).tolist())
        x, y = mpmath.matrix(l), mpmath.matrix(m)
        ll, mm, lm = ((a.T * B * b)[0] for a, b in ((x, x), (y, y), (x, y)))
        return float(mpmath.acos(abs(lm) / mpmath.sqrt(ll * mm)))


def lines_through(point, angles):
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.concatenate([normals, -(normals @ point)[..., None]], axis=-1)


@given(seeds, st.integers(1, 5))
def test_euclidean_angle_is_that_of_the_normals(seed, d):
    rng = np.random.default_rng(seed)
    dual = np.diag([1.0] * d + [0.0])
    l, m = rng.normal(size=(2, d + 1))  # noqa: E741
    cosine = abs(l[:d] @ m[:d]) / np.linalg.norm(l[:d]) / np.linalg.norm(m[:d])
    expected = np.arccos(min(cosine, 1.0))
    assert hyperplane_angle(dual, l, m) == pytest.approx(expected, abs=3e-8)


@given(seeds, st.integers(2, 4), st.sampled_from([-1, 1]), st.integers(-12, 0))
def test_angle_is_the_oracle(seed, d, sign, exponent):
    rng = np.random.default_rng(seed)
    absolute = Absolute(np.diag([1.0] * d + [float(sign)]))
    normals = rng.normal(size=(2, d))
    normals[1] = normals[0] + 10.0**exponent * normals[1]
    point = rng.uniform(-0.5, 0.5, size=d) / np.sqrt(d)
    l, m = (np.append(n, -n @ point) for n in normals)  # noqa: E741
    if sign < 0 and exponent < -6:  # rounding moves the common point far away; keep it exact
        l, m = (np.append(n, 0.0) for n in normals)  # noqa: E741
    expected = exact_acute(absolute.dual, l, m)
    assert hyperplane_angle(absolute.dual, l, m) == pytest.approx(expected, rel=1e-9)
    factors = rng.uniform(0.1, 10, 2) * [1, -1]
    scaled = hyperplane_angle(absolute.dual, factors[0] * l, factors[1] * m)
    assert scaled == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_small_angles_keep_their_digits():
    for step in (1e-15, 1e-12, 1e-9, 1e-6):
        l, m = np.array([1.0, 2.0, 1e6]), np.array([1.0, 2.0 + step, 1e6 + 5])  # noqa: E741
        expected = exact_acute(EUCLIDEAN, l, m)
        assert hyperplane_angle(EUCLIDEAN, l, m) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dual", [EUCLIDEAN, DISC.dual], ids=["Euclidean", "hyperbolic"])
@pytest.mark.parametrize("step", [1e-12, 1e-9, 1e-6])
def test_small_angles_between_lines_of_no_round_direction(dual, step):
    rng = np.random.default_rng(0)
    for normals in rng.normal(size=(20, 2, 2)):
        l, m = np.append(normals[0], 0.0), np.append(normals[0] + step * normals[1], 0.0)  # noqa: E741
        expected = exact_acute(dual, l, m)
        assert hyperplane_angle(dual, l, m) == pytest.approx(expected, rel=1e-12)


def test_hyperbolic_angle_at_the_centre_is_euclidean_and_the_triangle_is_thin():
    theta = np.linspace(0.01, 1.5, 7)
    lines = lines_through(np.zeros(2), theta)
    np.testing.assert_allclose(hyperplane_angle(DISC.dual, [1, 0, 0], lines), theta, rtol=1e-13)
    corners = np.array([[0.5, 0.0, 1], [-0.3, 0.6, 1], [-0.4, -0.5, 1]])
    sides = np.cross(corners, np.roll(corners, -1, axis=0))
    acute = hyperplane_angle(DISC.dual, sides, np.roll(sides, -1, axis=0))
    x, p, q = (np.roll(corners[:, :2], -k, axis=0) for k in (1, 0, 2))
    inner = CurvedMetric.euclidean(2, curvature=-1.0).vertex_angle(x, p, q)
    np.testing.assert_allclose(acute, np.minimum(inner, np.pi - inner), rtol=1e-12)
    assert 0 < inner.sum() < np.pi


@given(seeds)
def test_angle_is_invariant_under_collineations(seed):
    rng = np.random.default_rng(seed)
    H = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    if abs(np.linalg.det(H)) < 0.1:
        H = np.eye(3)
    l, m = lines_through(rng.uniform(-0.6, 0.6, 2), rng.uniform(0, 2 * np.pi, 2))  # noqa: E741
    dual = H @ DISC.dual @ H.T
    images = np.array([l, m]) @ np.linalg.inv(H)  # l x̃ = (l H⁻¹)(H x̃)
    assert hyperplane_angle((dual + dual.T) / 2, *images) == pytest.approx(
        hyperplane_angle(DISC.dual, l, m), abs=1e-7
    )


def test_lines_that_do_not_meet_inside_have_no_real_angle():
    cases = {
        "ultraparallel": ([2, 0, -1], [2, 0, 1]),
        "parallel": ([0, 1, 0], [1, 1, -1]),
        "tangent": ([1, 0, -1], [0, 1, 0]),
    }
    for l, m in cases.values():  # noqa: E741
        with pytest.raises(
            NotRepresentableError, match=r"outside the absolute.*hyperplane_measure"
        ):
            hyperplane_angle(DISC.dual, l, m)
    with pytest.raises(NotRepresentableError, match="at index 1"):
        hyperplane_angle(DISC.dual, [[1, 0, 0], [2, 0, -1]], [[0, 1, 0], [2, 0, 1]])
    with pytest.raises(NotRepresentableError, match="no real angle"):  # a Lorentz boost
        hyperplane_angle(np.diag([1, -1, 0]), [2, 1, 0], [3, 1, 0])


def test_degenerate_pencils_of_degenerate_geometries():
    assert hyperplane_angle(EUCLIDEAN, [1, 2, 3], [-2, -4, 9]) == 0  # parallels
    assert hyperplane_angle(EUCLIDEAN, [1, 2, 3], [1, 2, 3]) == 0
    assert hyperplane_angle(np.diag([1, 0, 0]), [1, 2, 3], [4, 2, 9]) == 0  # Galilean
    assert hyperplane_angle(DISC.dual, [0.1, 0.2, 0.05], [0.3, 0.6, 0.15]) == 0
    with pytest.raises(NotRepresentableError):
        hyperplane_angle(EUCLIDEAN, [0, 0, 1], [1, 2, 3])  # the line at infinity


@given(seeds)
def test_measure_agrees_with_the_angle_inside_and_the_distance_outside(seed):
    rng = np.random.default_rng(seed)
    l, m = lines_through(rng.uniform(-0.6, 0.6, 2), rng.uniform(0, 2 * np.pi, 2))  # noqa: E741
    inside = hyperplane_measure(DISC.dual, l, m)
    assert inside.imag == 0
    assert abs(inside) == pytest.approx(hyperplane_angle(DISC.dual, l, m), rel=1e-12)
    # x = a and x = b are perpendicular to the axis: their measure is the distance along it.
    a, b = rng.uniform(-0.9, 0.9, 2)
    outside = hyperplane_measure(DISC.dual, [1, 0, -a], [1, 0, -b])
    assert outside.real == 0
    assert abs(outside) == pytest.approx(abs(np.arctanh(a) - np.arctanh(b)), rel=1e-10)


def test_measure_changes_sign_with_one_vector_and_is_infinite_at_a_tangent():
    l, m = np.array([1.0, 0, 0.2]), np.array([0.3, 1.0, 0.1])  # noqa: E741
    value = hyperplane_measure(DISC.dual, l, m)
    assert hyperplane_measure(DISC.dual, l, -m) == pytest.approx(-value)
    assert hyperplane_measure(DISC.dual, l, m, unit=1.0) == pytest.approx(value / 0.5j)
    assert abs(hyperplane_measure(DISC.dual, [1, 0, -1], [0, 1, 0.5])) == np.inf


def test_dtypes_batches_and_bad_input():
    single = [x.astype(np.float32) for x in (EUCLIDEAN, np.ones((4, 1, 3)), np.eye(3)[:2])]
    assert hyperplane_angle(*single).shape == (4, 2)
    assert hyperplane_angle(*single).dtype == np.float32
    assert hyperplane_measure(*single).dtype == np.complex64
    for arguments, message in (
        ((EUCLIDEAN, [1, 0], [0, 1, 0]), "l has 2 coordinates per point, but 3"),
        ((EUCLIDEAN, [1, 0, 0], [0, 0, 0]), "m has a zero vector"),
        ((EUCLIDEAN, [1, 0, np.nan], [0, 1, 0]), "l has NaN"),
        ((EUCLIDEAN, np.zeros((0, 3)), [0, 1, 0]), r"shape is \(0, 3\)"),
        ((np.triu(np.ones((3, 3))), [1, 0, 0], [0, 1, 0]), "dual must be symmetric"),
        ((EUCLIDEAN, np.ones((2, 3)), np.ones((4, 3))), "broadcast"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            hyperplane_angle(*arguments)


@mpmath.workdps(50)
def exact_in_frame(l, m, K, center):  # noqa: E741
    """Return the angle by B(l, m) = ⟨n_l, n_m⟩ + K o_l o_m, o = n·μ + o, in 50 digits."""
    moved = []
    for plane in (l, m):
        *normal, offset = (mpmath.mpf(float(v)) for v in plane)
        moved.append(
            [*normal, offset + mpmath.fdot(normal, [mpmath.mpf(float(v)) for v in center])]
        )
    return exact_acute_of(np.diag([1.0] * len(center) + [K]), *moved)


@pytest.mark.parametrize("K", [-1e3, -1.0, 1.0, 1e3])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e5, 1e6])
def test_a_metric_measures_angles_wherever_its_centre_is(K, far):
    rng = np.random.default_rng(0)
    center = far * np.array([1.0, 1.1])
    metric = CurvedMetric(factor=np.eye(2), center=center, curvature=K)
    for angles in rng.uniform(0, np.pi, size=(20, 2)):
        l, m = lines_through(center + rng.uniform(-0.01, 0.01, 2), angles)  # noqa: E741
        expected = exact_in_frame(l, m, K, center)
        assert metric.angle(l, m) == pytest.approx(expected, rel=1e-11)


def test_a_metric_measures_angles_as_its_absolute_does():
    rng = np.random.default_rng(1)
    for determinant in (1.0, -1.0):
        factor = rng.normal(size=(2, 2))
        factor[0] *= determinant * np.sign(np.linalg.det(factor))
        metric = CurvedMetric(factor=factor, center=[0.1, 0.2], curvature=-0.01)
        l, m = lines_through(np.array([0.2, 0.1]), np.array([0.3, 0.5]))  # noqa: E741
        expected = float(hyperplane_angle(metric.absolute.dual, l, m))
        assert metric.angle(l, m) == pytest.approx(expected, rel=1e-10)
    single = metric.angle(l.astype(np.float32), m.astype(np.float32))
    assert single.dtype == np.float32


def test_an_angle_lost_in_the_rounding_of_the_dual_is_refused():
    center = np.array([1e6, 1e6])
    metric = CurvedMetric(factor=np.eye(2), center=center, curvature=-1e3)
    l, m = [1.0, 0.3, -1.3e6], [1.0, 2.0, -3e6]  # noqa: E741
    assert np.degrees(metric.angle(l, m)) == pytest.approx(46.7357, abs=1e-4)
    with pytest.raises(NotRepresentableError, match="lost in the rounding of the dual"):
        hyperplane_angle(metric.absolute.dual, l, m)
