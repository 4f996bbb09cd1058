"""Views: inverse maps, the horizon, and no jump where the curvature changes its sign."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._state import CHART_NAMES, PlaneState
from cayleyklein.app._views import View

CURVED = st.floats(-1, 1).map(lambda K: round(K, 2))
# within the smallest conic of the states below
DISC = st.tuples(st.floats(0, 0.75), st.floats(0, 2 * math.pi)).map(
    lambda polar: np.array([polar[0] * math.cos(polar[1]), polar[0] * math.sin(polar[1])])
)
TURN, TILT = st.floats(-180, 180), st.floats(5, 88)


def view(K, chart, turn=0.0, tilt=38.0):
    return View(PlaneState(curvature=K, major=1.3, minor=0.9, angle=25).metric, chart, turn, tilt)


def test_the_window_of_the_half_plane_follows_the_curvature():
    (left, low), (right, high) = view(1.0, "half-plane").window
    assert left == low == -right == -high  # the stereographic view is a disc around 0
    assert high >= 2.0
    for K in (-1.0, -0.6, -0.25):
        assert view(K, "half-plane").window[0, 1] < -1 / math.sqrt(-K)  # its edge is seen
    assert view(-0.0001, "half-plane").window == pytest.approx(
        view(0.0001, "half-plane").window, abs=0.02
    )


@given(CURVED, st.sampled_from(list(CHART_NAMES)), DISC, TURN, TILT)
def test_what_is_seen_is_found_again(K, chart, x, turn, tilt):
    looking = view(K, chart, turn, tilt)
    away = bool(looking.faces_away(x))
    found = looking.from_screen(looking.to_screen(x), far_side=away)
    # near the outline of a dome a pixel is a long way
    assert found == pytest.approx(x, abs=0.05 if looking.surface else 1e-6)


@given(CURVED, st.sampled_from(list(CHART_NAMES)), st.floats(-9, 9), st.floats(-9, 9), TURN, TILT)
def test_every_place_of_the_screen_gives_a_point_inside(K, chart, u, v, turn, tilt):
    looking = view(K, chart, turn, tilt)
    x = looking.from_screen([u, v])
    assert looking.metric.contains(x)


@pytest.mark.parametrize("chart", CHART_NAMES)
@pytest.mark.parametrize("K", [-1e-8, 1e-8])
def test_views_are_continuous_where_the_curvature_vanishes(chart, K):
    x = np.random.default_rng(0).uniform(-0.8, 0.8, size=(50, 2))
    assert view(K, chart).to_screen(x) == pytest.approx(view(0.0, chart).to_screen(x), abs=1e-3)


@pytest.mark.parametrize("chart", CHART_NAMES)
@pytest.mark.parametrize("K", [-0.8, -0.01, 0.0, 0.8])
def test_up_stays_up_in_every_view(chart, K):
    """A step to the right or upwards at the centre is seen to the right or upwards."""
    looking = View(PlaneState(curvature=K, major=1.6, minor=0.8, angle=40).metric, chart, tilt=60)
    center = looking.metric.center
    here = looking.to_screen(center)
    across, up = (looking.to_screen(center + step) - here for step in ([1e-3, 0], [0, 1e-3]))
    factor = np.linalg.inv(looking.metric.factor)
    assert np.allclose(factor, factor.T)
    assert across[0] > abs(across[1])
    assert up[1] > 0.8 * abs(up[0])


@given(
    st.sampled_from([-0.9, -0.3, 0.4, 1.0]),
    st.sampled_from(list(CHART_NAMES)[3:]),
    TURN,
    st.floats(5, 44),
    st.floats(0.1, 0.9),
)
def test_the_horizon_is_where_the_surface_turns_away(K, chart, turn, tilt, part):
    looking = view(K, chart, turn, tilt)
    assert looking.has_horizon
    t = 4 * part - 2 if K < 0 and chart == "hyperboloid" else math.pi * part
    x = looking.horizon(t)
    assert looking.look(x[None])[1] == pytest.approx([0], abs=1e-6)
    assert looking.horizon_parameter(x[None]) == pytest.approx([t], abs=1e-6)


def test_geodesics_of_the_disc_are_circles_across_its_rim():
    looking = view(-1.0, "poincare")
    metric = looking.metric
    path = looking.to_screen(metric.geodesic([0.5, 0.1], [-0.2, 0.6], np.linspace(0, 1, 9)))
    # a circle |y|² - 2⟨c, y⟩ + 4 = 0 meets the rim |y| = 2 at right angles
    c, residual, *_ = np.linalg.lstsq(2 * path, np.sum(path**2, axis=1) + 4, rcond=None)
    assert residual == pytest.approx(0, abs=1e-20)
    assert np.linalg.norm(c) > 2


@pytest.mark.parametrize("chart", list(CHART_NAMES)[:4])
def test_outside_is_told_from_inside(chart):
    looking = view(-1.0, chart)
    middle = looking.to_screen(looking.metric.center)
    assert looking.holds(middle)
    assert not looking.holds(middle - np.array([0, 8]))


@pytest.mark.parametrize("chart", list(CHART_NAMES)[3:])
@pytest.mark.parametrize("tilt", [5, 38, 80])
def test_the_sphere_is_framed_whole(chart, tilt):
    for K in (0.2, 0.6, 1.0):
        looking = view(K, chart, 30, tilt)
        sphere = 1e6 * np.stack([np.cos(np.arange(7)), np.sin(np.arange(7))], axis=1)
        seen = looking.to_screen(np.vstack([sphere, looking.metric.center, looking.outline(9)]))
        assert (np.abs(seen - looking.middle) < looking.half_width).all()
    near = [view(K, chart, 30, tilt) for K in (-1e-9, 0.0, 1e-9)]
    for one in near[::2]:
        if chart == "hemisphere" or one.sign > 0:  # no jump at K = 0
            assert one.window == pytest.approx(near[1].window, abs=1e-3)
