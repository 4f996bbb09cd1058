"""Constructions of the plane: mirror images, perpendiculars, parallels, circles and curves."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import apply_collineation, constructions

CURVATURES = st.sampled_from([-1.0, -0.3, -1e-9, 0.0, 1e-9, 0.4, 1.0])
# inside the smallest conic of the metrics below
PLACE = st.tuples(st.floats(0, 0.6), st.floats(0, 2 * math.pi)).map(
    lambda polar: np.array([polar[0] * math.cos(polar[1]), polar[0] * math.sin(polar[1])])
)
THREE = st.tuples(PLACE, PLACE, PLACE).filter(
    lambda p: min(np.linalg.norm(p[i] - p[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 0.05
)


def metric_of(K):
    factor = np.array([[1.0, 0.2], [0.2, 1.3]])
    return CurvedMetric(factor=factor, center=[0.05, -0.1], curvature=K)


@given(CURVATURES, THREE)
def test_mirror_images_are_as_far_from_the_line(K, places):
    metric, (p, q, x) = metric_of(K), places
    line = constructions.line_through(p, q)
    image = constructions.reflect(x, line, metric)
    here, there = constructions.distance_to_line(np.stack([x, image]), line, metric)
    assert here == pytest.approx(-there, abs=1e-9)
    assert 2 * abs(here) == pytest.approx(metric.distance(x, image), abs=1e-7)
    assert metric.distance(p, image) == pytest.approx(metric.distance(p, x), abs=1e-7)
    assert constructions.reflect(image, line, metric) == pytest.approx(x, abs=1e-9)
    upright = constructions.perpendicular(line, x, metric)
    foot = constructions.meet(line, upright, metric)
    if np.isfinite(foot).all():  # and not beyond the equator
        assert metric.distance(foot, x) == pytest.approx(abs(here), abs=1e-6)


@given(CURVATURES, THREE)
def test_a_perpendicular_is_at_right_angles(K, places):
    metric, (p, q, x) = metric_of(K), places
    line = constructions.line_through(p, q)
    upright = constructions.perpendicular(line, x, metric)
    assert upright.evaluate(x) == pytest.approx(0, abs=1e-12)
    assert metric.angle(line, upright) == pytest.approx(math.pi / 2, abs=1e-8)


@given(CURVATURES, THREE)
def test_a_bisector_of_an_angle_halves_it(K, places):
    metric, (p, x, q) = metric_of(K), places
    line = constructions.angle_bisector(p, x, q, metric)
    a, b = constructions.distance_to_line(np.stack([p, q]), line, metric)
    angle = float(metric.vertex_angle(x, p, q))
    for end, height in ((p, a), (q, b)):
        # the law of sines of the right-angled triangle
        unit = math.sqrt(abs(K)) or 1.0
        sine = {-1: math.sinh, 0: float, 1: math.sin}[int(np.sign(K))]
        expected = sine(unit * float(metric.distance(x, end))) * math.sin(angle / 2)
        assert abs(sine(unit * height)) == pytest.approx(expected, abs=1e-7)


@given(st.sampled_from([-1.0, -0.3]), THREE)
def test_limiting_parallels_meet_the_line_at_infinity(K, places):
    metric, (p, q, x) = metric_of(K), places
    line = constructions.line_through(p, q)
    height = abs(float(constructions.distance_to_line(x, line, metric)))
    upright = constructions.perpendicular(line, x, metric)
    for end in constructions.line_ends(line, metric):
        parallel = constructions.line_through(x, end)
        if height > 1e-3:
            spot = np.cross(line.homogeneous, parallel.homogeneous)
            radius = np.linalg.norm(metric.domain.to_euclidean(spot[:2] / spot[2]))
            assert radius == pytest.approx(1, abs=1e-9)
        # Lobachevsky's angle of parallelism: tan(Π/2) = exp(-√-K h)
        found = float(metric.angle(upright, parallel))
        expected = 2 * math.atan(math.exp(-math.sqrt(-K) * height))
        assert math.sin(found) == pytest.approx(math.sin(expected), abs=1e-6)


@given(st.sampled_from([-1.0, -0.3]), THREE)
def test_a_horocycle_is_the_limit_of_circles(K, places):
    metric, (p, q, _) = metric_of(K), places
    curve = constructions.horocycle(p, q, metric)
    far = metric.geodesic(p, q, 9 / float(metric.distance(p, q)))
    assert metric.distance(curve[100:156], far) == pytest.approx(9, abs=0.01)
    ends = metric.domain.to_euclidean(curve[[0, -1]])
    assert np.linalg.norm(ends, axis=1) == pytest.approx([1, 1], abs=1e-3)


@given(CURVATURES, THREE)
def test_an_equidistant_curve_has_one_distance(K, places):
    metric, (p, q, x) = metric_of(K), places
    line = constructions.line_through(p, q)
    curve = constructions.equidistant(x, line, metric)
    # a point at the edge of the domain has lost its digits
    curve = curve[np.isfinite(curve[:, 0])]
    curve = curve[np.linalg.norm(metric.coordinates(curve), axis=1) < 0.95]
    assert len(curve) > 5
    height = float(constructions.distance_to_line(x, line, metric))
    found = constructions.distance_to_line(curve, line, metric)
    assert found == pytest.approx(np.full(len(curve), height), abs=1e-7)


@given(CURVATURES, THREE, st.floats(-3, 3))
def test_rotations_keep_distances_and_turn_by_their_angle(K, places, angle):
    metric, (p, q, center) = metric_of(K if K <= 0 else 0.1 * K), places
    turn = constructions.rotation_about(center, angle, metric)
    moved = np.asarray(apply_collineation(turn, np.stack([p, q, center])))
    assert moved[2] == pytest.approx(center, abs=1e-9)
    assert metric.distance(moved[0], moved[1]) == pytest.approx(metric.distance(p, q), abs=1e-7)
    found = constructions.turn_between(center, p, moved[0], metric)
    assert found == pytest.approx(angle, abs=1e-7)


@pytest.mark.parametrize("K", [-0.7, -1e-12, 1e-12, 0.7])
@pytest.mark.parametrize("r", [1e-9, 0.3, 1.5])
def test_circles_against_mpmath(K, r):
    around, inside = constructions.circle_measures(r, K)
    with mpmath.workdps(60):
        k = mpmath.sqrt(mpmath.mpf(K))
        assert around == pytest.approx(float((2 * mpmath.pi * mpmath.sin(k * r) / k).real), 1e-14)
        expected = (2 * mpmath.pi * (1 - mpmath.cos(k * r)) / mpmath.mpf(K)).real
        assert inside == pytest.approx(float(expected), 1e-13)


def test_where_lines_meet():
    flat, disc = CurvedMetric.euclidean(2), CurvedMetric.euclidean(2, curvature=-1.0)
    across = constructions.line_through([0.0, 0.5], [1.0, 0.5])
    slanted = constructions.line_through([0.0, 0.0], [1.0, 1.0])
    assert constructions.meet(across, slanted, disc) == pytest.approx([0.5, 0.5])
    parallel = constructions.line_through([0.0, 0.2], [1.0, 0.2])
    far = constructions.line_through([0.0, 0.0], [1.0, 0.3])
    assert np.isnan(constructions.meet(across, parallel, flat)).all()
    assert np.isnan(constructions.meet(across, far, disc)).all()


def test_what_has_no_answer_is_said():
    flat, disc = CurvedMetric.euclidean(2), CurvedMetric.euclidean(2, curvature=-1.0)
    line = constructions.line_through([0.0, 0.0], [1.0, 0.0])
    with pytest.raises(InvalidInputError, match="coincide"):
        constructions.line_through([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="two sides"):
        constructions.angle_bisector([0.1, 0.2], [0.1, 0.2], [0.3, 0.0], flat)
    with pytest.raises(InvalidInputError, match="K < 0"):
        constructions.line_ends(line, flat)
    outside = constructions.line_through([0.0, 2.0], [1.0, 2.0])
    with pytest.raises(OutsideDomainError, match="does not meet"):
        constructions.perpendicular(outside, [0.0, 0.5], disc)
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    high = constructions.line_through([-1.0, 1.0], [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="pole"):
        constructions.perpendicular(high, [0.0, -1.0], sphere)
