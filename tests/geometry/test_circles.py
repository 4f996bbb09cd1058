"""Circles meet lines and each other, and have tangents, by what defines them; K through zero."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import circles, constructions

CURVATURES = st.sampled_from([-1.0, -0.3, -1e-9, 0.0, 1e-9, 0.4, 1.0])
PLACE = st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)).map(np.array)
RADIUS = st.floats(0.05, 0.8)


def space(K):
    return CurvedMetric(factor=[[1.1, 0.2], [0.0, 0.9]], center=[0.1, -0.05], curvature=K)


def apart(p, q):
    return np.linalg.norm(p - q) > 0.02


@given(CURVATURES, PLACE, PLACE, RADIUS, RADIUS)
def test_circles_meet_where_both_distances_are_the_radii(K, p, q, r, s):
    metric = space(K)
    if not apart(p, q):
        return
    d = float(metric.distance(p, q))
    found = circles.circles_meet(p, r, q, s, metric)
    crosses = abs(r - s) + 1e-6 < d < r + s - 1e-6
    misses = d > r + s + 1e-6 or d < abs(r - s) - 1e-6
    if K <= 0:  # for K > 0 they may meet beyond the equator
        assert np.isfinite(found).all() or not crosses
    assert np.isnan(found).all() or not misses
    for x in found[np.isfinite(found).all(axis=1)]:
        assert metric.distance(p, x) == pytest.approx(r, abs=1e-8)
        assert metric.distance(q, x) == pytest.approx(s, abs=1e-8)
    if crosses and np.isfinite(found).all():
        line = constructions.line_through(p, q)  # one on each side of the line of the centres
        one, other = constructions.distance_to_line(found, line, metric)
        assert one == pytest.approx(-other, abs=1e-7)


@given(CURVATURES, PLACE, PLACE, PLACE, RADIUS)
def test_a_line_meets_a_circle_on_both(K, center, p, q, r):
    metric = space(K)
    if not apart(p, q):
        return
    line = constructions.line_through(p, q)
    height = abs(float(constructions.distance_to_line(center, line, metric)))
    found = circles.line_and_circle(line, center, r, metric)
    assert np.isnan(found).all() or height < r + 1e-6
    if K <= 0 and height < r - 1e-6:
        assert np.isfinite(found).all()
    for x in found[np.isfinite(found).all(axis=1)]:
        assert metric.distance(center, x) == pytest.approx(r, abs=1e-8)
        assert constructions.distance_to_line(x, line, metric) == pytest.approx(0, abs=1e-8)


@given(CURVATURES, PLACE, PLACE, RADIUS)
def test_tangents_are_as_far_from_the_centre_as_the_radius(K, center, p, r):
    metric = space(K)
    if not apart(center, p):
        return
    found = circles.tangents(p, center, r, metric)
    d = float(metric.distance(center, p))
    if d < r - 1e-6:
        assert found == ()
    elif K <= 0 and d > r + 1e-6:
        assert len(found) == 2
    for line in found:
        height = float(constructions.distance_to_line(center, line, metric))
        assert abs(height) == pytest.approx(r, abs=1e-7)
        assert constructions.distance_to_line(p, line, metric) == pytest.approx(0, abs=1e-6)


@given(CURVATURES, PLACE, RADIUS, st.floats(-3, 3), st.floats(-3, 3))
def test_angles_around_a_point_are_those_of_the_metric(K, center, r, first, second):
    metric = space(K)
    x, y = circles.point_at(center, r, [first, second], metric)
    if np.isnan(x + y).any() or abs(first - second) < 0.01:
        return
    assert circles.angle_at(center, x, metric) == pytest.approx(first)
    between = abs(math.remainder(first - second, 2 * math.pi))
    assert metric.vertex_angle(center, x, y) == pytest.approx(between, abs=1e-7)


@given(CURVATURES, PLACE, PLACE, st.floats(-0.8, 0.8))
def test_places_on_a_line_are_its_lengths(K, p, q, t):
    metric = space(K)
    if not apart(p, q):
        return
    line = constructions.line_through(p, q)
    start, x = constructions.point_on_line(line, [0.0, t], metric)
    if np.isnan(start + x).any():
        return
    assert constructions.distance_to_line(x, line, metric) == pytest.approx(0, abs=1e-9)
    assert metric.distance(start, x) == pytest.approx(abs(t), abs=1e-9)
    assert constructions.place_on_line(line, x, metric) == pytest.approx(t, abs=1e-9)


@pytest.mark.parametrize("K", [-1.0, 0.0, 0.4])
def test_a_point_on_the_circle_has_one_tangent(K):
    metric = space(K)
    center, r = np.array([0.2, -0.1]), 0.4
    for p in circles.point_at(center, r, np.array([0.3, 2.0, 4.4]), metric):
        (line,) = circles.tangents(p, center, r, metric)
        assert constructions.distance_to_line(p, line, metric) == pytest.approx(0, abs=1e-7)


def test_what_cannot_be():
    metric = space(-0.5)
    same = np.zeros(2)
    assert np.isnan(circles.circles_meet(same, 0.3, same, 0.3, metric)).all()
    with pytest.raises(InvalidInputError, match="centre of the circle"):
        circles.tangents(same, same, 0.3, metric)
    with pytest.raises(InvalidInputError, match="radius"):
        circles.line_and_circle(constructions.line_through([0, 0], [1, 0]), same, 0.0, metric)
