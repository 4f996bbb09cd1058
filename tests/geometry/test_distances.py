import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from tests import oracle
from tests.strategies import CURVATURES, metrics_with_points, near_the_pole, random_metric

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import apply_collineation, measure, metric_tensor, to_chart
from cayleyklein.geometry.geodesics import geodesic, transvection

DISC = CurvedMetric(factor=np.eye(2), curvature=-1.0)


def pair_at(rng, metric, separation, edge):
    """Two points, `separation` apart and at `edge` of the radius 1/√|K| in coordinates."""
    K, d = metric.curvature, metric.dimension
    radius = 1 / math.sqrt(abs(K)) if K else 1.0
    z = rng.normal(size=d)
    z *= radius * edge / np.linalg.norm(z)
    if separation >= 1:
        other = -z * rng.uniform(0.2, 1)
    else:
        step = rng.normal(size=d)
        other = z + separation * radius * step / np.linalg.norm(step)
        other *= min(1, radius * edge / np.linalg.norm(other))
    return metric.points(z), metric.points(other)


@pytest.mark.parametrize("d", [1, 2, 30])
@pytest.mark.parametrize("given_as", ["factor", "matrix"])
@pytest.mark.parametrize("K", CURVATURES)
def test_agrees_with_fifty_digits(K, given_as, d):
    """To 1e-12 or 8 times what one ulp of a coordinate does, from 1e-12 apart to the boundary."""
    rng = np.random.default_rng([d, CURVATURES.index(K)])
    metric = random_metric(rng, d, K)
    form = {given_as: getattr(metric, given_as)}
    metric = CurvedMetric(center=metric.center, curvature=K, **form)
    separations = (1e-12, 1e-6, 1e-2, 1.0) if d < 100 else (1e-12, 1e-2, 1.0)
    for separation in separations:
        for edge in (0.5, 1 - 1e-4, 1 - 1e-8, 1 - 1e-12):
            p, q = pair_at(rng, metric, separation, edge)
            exact = oracle.distance(p, q, K, metric.center, **form)
            error = abs(mpmath.mpf(float(metric.distance(p, q))) - exact)
            if error > 1e-12 * exact:
                explained = oracle.explained_by_ulps(error, 8, p, q, K, metric.center, **form)
                assert explained, (separation, edge)


@pytest.mark.parametrize("K", [1e-12, 1.0, 1e3])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_agrees_with_fifty_digits_at_unequal_radii(d, K):
    """On the sphere, one point near the pole and one near the equator, and close ones there."""
    rng = np.random.default_rng([d, int(K)])
    metric = CurvedMetric(factor=np.eye(d), curvature=K)
    form = {"center": np.zeros(d), "factor": np.eye(d)}
    for first, second in itertools.product((1e-3, 1.0, 1e4, 1e8), repeat=2):
        directions = rng.normal(size=(2, d))
        p, q = directions * np.array([[first], [second]]) / math.sqrt(K)
        along = p * second / first
        for other in (q, along, -along, along + 1e-6 * q, p + 1e-12 * q):
            exact = oracle.distance(p, other, K, **form)
            value = metric.distance(p, other)
            assert value == metric.distance(other, p)
            error = abs(mpmath.mpf(float(value)) - exact)
            if error > 1e-12 * exact:
                assert oracle.explained_by_ulps(error, 8, p, other, K, **form), (first, second)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_extreme_scales(sign, scale):
    metric = CurvedMetric(factor=np.eye(2), curvature=sign / scale / scale)
    unit = CurvedMetric(factor=np.eye(2), curvature=sign)
    p, q = np.array([0.1, 0.2]), np.array([0.3, -0.1])
    assert metric.distance(p * scale, q * scale) == pytest.approx(
        float(unit.distance(p, q)) * scale, rel=1e-14
    )


def test_overflow_is_refused():
    with pytest.raises(InvalidInputError, match="overflows for p at index 1"):
        CurvedMetric(factor=[[1.0]], curvature=1.0).distance([[1.0], [1e200]], [0.0])
    with pytest.raises(InvalidInputError, match=r"‖L\(p - q\)‖ overflows for p and q at index 1"):
        CurvedMetric(factor=np.eye(2)).distance([[1.0, 0.0], [-1.7e308, 0.0]], [1.7e308, 0.0])
    with pytest.raises(InvalidInputError, match="overflows"):
        CurvedMetric(factor=np.eye(2)).distance([0.0, 0.0], [1.7e308, 1.7e308])


@given(metrics_with_points(3))
def test_metric_axioms(case):
    metric, (p, q, r) = case
    pq, qr, pr = metric.distance(p, q), metric.distance(q, r), metric.distance(p, r)
    assert pq == metric.distance(q, p)
    assert metric.distance(p, p) == 0
    assert pq > 0 or np.array_equal(p, q)
    assert pr <= (pq + qr) * (1 + 1e-12)


@given(metrics_with_points(4))
def test_isometry_invariance(case):
    metric, points = case
    p, q, r, s = near_the_pole(metric, points)
    moved = apply_collineation(transvection(p, q, metric), np.stack([r, s]))
    assert metric.distance(*moved) == pytest.approx(
        float(metric.distance(r, s)), rel=1e-6, abs=1e-9
    )


@given(metrics_with_points(2))
def test_additive_along_lines(case):
    metric, (p, q) = case
    whole = float(metric.distance(p, q))
    middle = geodesic(p, q, metric, 0.3)
    parts = float(metric.distance(p, middle)), float(metric.distance(middle, q))
    assert sum(parts) == pytest.approx(whole, rel=1e-9)
    assert parts[0] == pytest.approx(0.3 * whole, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_flat_limit_from_both_sides(d):
    rng = np.random.default_rng(d)
    metric = random_metric(rng, d, 0.0)
    p, q = rng.normal(size=(2, 20, d))
    flat = metric.distance(p, q)
    np.testing.assert_allclose(flat, np.linalg.norm((p - q) @ metric.factor.T, axis=-1), rtol=1e-14)
    for K in (1e-15, -1e-15, 5e-324, -5e-324):
        curved = CurvedMetric(factor=metric.factor, center=metric.center, curvature=K).distance(
            p, q
        )
        np.testing.assert_allclose(curved, flat, rtol=1e-12)


@given(metrics_with_points(2))
def test_is_the_logarithm_of_the_cross_ratio(case):
    metric, (p, q) = case
    K = metric.curvature
    if abs(K) < 1e-3:
        return
    S = np.eye(metric.dimension + 1)
    S[:-1, :-1] = K * metric.matrix
    S[:-1, -1] = S[-1, :-1] = -K * metric.matrix @ metric.center
    S[-1, -1] += K * metric.center @ metric.matrix @ metric.center
    unit = 1 / (2j * math.sqrt(K)) if K > 0 else 1 / (2 * math.sqrt(-K))
    value = measure(S, p, q, unit=unit)
    expected = float(metric.distance(p, q))
    if K > 0 and expected > math.pi / 2 / math.sqrt(K):  # the principal value folds at π
        expected = math.pi / math.sqrt(K) - expected
    assert abs(value) == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert abs(value.imag) <= 1e-7


# Distances between points of the Poincaré ball, by PoincareBall(d).metric.dist of geomstats 2.8.0.
GEOMSTATS = [
    ([0.051, -0.086], [-0.344, -0.363], 1.0683177957156456),
    ([-0.344, -0.363], [0.574, 0.757], 4.760046870032412),
    ([0.574, 0.757], [0.051, -0.086], 3.7558681013943045),
    ([0.042, 0.089, 0.017], [0.297, 0.216, -0.34], 1.0161210300287713),
    ([0.297, 0.216, -0.34], [0.538, -0.702, 0.346], 4.33911780656362),
    ([0.538, -0.702, 0.346], [0.042, 0.089, 0.017], 3.7462512999636557),
    (
        [-0.061, 0.068, 0.008, -0.038, -0.014],
        [-0.361, -0.287, 0.13, 0.113, 0.088],
        1.1315898844343073,
    ),
    ([-0.361, -0.287, 0.13, 0.113, 0.088], [-0.149, 0.637, 0.616, 0.238, 0.193], 4.170864385040095),
    (
        [-0.149, 0.637, 0.616, 0.238, 0.193],
        [-0.061, 0.068, 0.008, -0.038, -0.014],
        3.5710987005606283,
    ),
]


@pytest.mark.parametrize(("p", "q", "expected"), GEOMSTATS)
def test_agrees_with_geomstats(p, q, expected):
    def klein(y):
        y = np.array(y)
        return 2 * y / (1 + y @ y)

    metric = CurvedMetric(factor=np.eye(len(p)), curvature=-1.0)
    assert metric.distance(klein(p), klein(q)) == pytest.approx(expected, rel=1e-9)
    assert to_chart(klein(p), "conformal", -1) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize("K", CURVATURES)
def test_float32_is_kept_and_exact(K):
    rng = np.random.default_rng(3)
    radius = 0.9 / math.sqrt(abs(K)) if K else 1.0
    p, q = (rng.uniform(-0.5, 0.5, size=(2, 50, 3)) * radius).astype(np.float32)
    metric = CurvedMetric(factor=np.eye(3), curvature=K)
    single = metric.distance(p, q)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, metric.distance(p.astype(float), q.astype(float)), rtol=1e-6)
    assert metric.distance(p, q.astype(float)).dtype == np.float64


def test_broadcasts_over_batches():
    rng = np.random.default_rng(4)
    p, q = rng.uniform(-0.5, 0.5, size=(4, 1, 2)), rng.uniform(-0.5, 0.5, size=(5, 2))
    table = DISC.distance(p, q)
    assert table.shape == (4, 5)
    assert table[2, 3] == DISC.distance(p[2, 0], q[3])


def test_outside_raises_and_names_the_points():
    with pytest.raises(OutsideDomainError, match=r"q at index 1 .*outside=\"inf\" or"):
        DISC.distance([0.0, 0.0], [[0.5, 0.0], [1.0, 0.0]])


def test_outside_inf():
    p, q = [[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]], [[0.5, 0.0], [1.0, 0.0], [2.0, 0.0]]
    expected = [math.atanh(0.5), np.inf, np.inf]
    np.testing.assert_allclose(DISC.distance(p, q, outside="inf"), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("p", "q", "case"),
    [
        ([0.1, 0.2], [0.5, 0.0], "inside"),
        ([2.0, 0.1], [-3.0, 0.2], "outside, the line meets the conic"),
        ([2.0, 1.5], [-3.0, 2.0], "outside, it does not"),
        ([0.1, 0.2], [2.0, 0.0], "across"),
    ],
)
def test_outside_modulus_is_that_of_the_complex_measure(p, q, case):
    value = DISC.distance(p, q, outside="modulus")
    assert value == pytest.approx(abs(measure(np.diag([1.0, 1.0, -1.0]), p, q)), rel=1e-12)
    assert DISC.distance(q, q, outside="modulus") == 0


def test_outside_modulus_of_a_point_on_the_conic_is_infinite():
    others = [[0.0, 0.0], [1.0, 0.5], [0.0, 1.0], [3.0, 0.0]]  # the second along the tangent
    np.testing.assert_array_equal(DISC.distance([1.0, 0.0], others, outside="modulus"), np.inf)
    assert DISC.distance([1.0, 0.0], [1.0, 0.0], outside="modulus") == 0


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([np.nan, 0.0], "NaN or infinite entries at index 0"),
        ([[0.0, 0.0], [0.0, np.inf]], r"at index \(1, 1\)"),
        ([0.0, 0.0, 0.0], "3 coordinates per point, but 2 are expected"),
        ([], "empty"),
        ([1j, 0.0], "real numbers"),
        (["a", "b"], "real numbers"),
        (0.5, "at least one axis"),
        ([[0.0, 0.0], [0.0]], "not a rectangular array"),
        ([10**400, 1], "do not convert to float"),
        (np.ma.array([0.0, 0.5], mask=[True, False]), "masked"),
    ],
)
def test_bad_points(p, message):
    with pytest.raises(InvalidInputError, match=message):
        DISC.distance(p, [0.0, 0.0])


def test_bad_policy():
    with pytest.raises(InvalidInputError, match="Got outside='clip'"):
        DISC.distance([0.0, 0.0], [0.0, 0.0], outside="clip")
    with pytest.raises(InvalidInputError, match="expected one of"):
        DISC.distance([0.0, 0.0], [0.0, 0.0], outside=np.array(["inf", "raise"]))


def test_a_metric_is_a_function_of_two_points():
    assert DISC.distance([0.0, 0.0], [0.5, 0.0]) == DISC([0.0, 0.0], [0.5, 0.0])


def test_geometry_takes_a_metric_and_nothing_else():
    with pytest.raises(InvalidInputError, match="metric must be a CurvedMetric; got str"):
        metric_tensor([0.0, 0.0], "euclidean")


@pytest.mark.parametrize("K", [1.0, 0.25])
def test_elliptic_distances_are_bounded(K):
    """They are below π/√K, which rows far from each other on both sides of the centre approach."""
    metric = CurvedMetric.euclidean(2, curvature=K)
    far = np.array([[1e8, 0.0], [-1e8, 0.0], [0.0, 1e3]])
    found = metric.pairwise(far)
    assert found.max() < math.pi / math.sqrt(K)
    assert found.max() == pytest.approx(math.pi / math.sqrt(K), rel=1e-6)
