"""Views: inverse maps, and no jump where the curvature changes its sign."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._state import CHARTS, PlaneState
from cayleyklein.app._views import View

CURVED = st.floats(-1, 1).map(lambda K: round(K, 2))
# within the smallest conic of the states below
DISC = st.tuples(st.floats(0, 0.75), st.floats(0, 2 * math.pi)).map(
    lambda polar: np.array([polar[0] * math.cos(polar[1]), polar[0] * math.sin(polar[1])])
)


def view(K, chart):
    return View(PlaneState(curvature=K, major=1.3, minor=0.9, angle=25).metric, chart)


@given(CURVED, st.sampled_from(CHARTS), DISC)
def test_what_is_seen_is_found_again(K, chart, x):
    looking = view(K, chart)
    away = bool(looking.faces_away(x))
    found = looking.from_screen(looking.to_screen(x), far_side=away)
    # near the outline of a dome a pixel is a long way
    assert found == pytest.approx(x, abs=0.02 if chart == "hemisphere" else 1e-6)


@given(CURVED, st.sampled_from(CHARTS), st.floats(-9, 9), st.floats(-9, 9))
def test_every_place_of_the_screen_gives_a_point_inside(K, chart, u, v):
    looking = view(K, chart)
    x = looking.from_screen([u, v])
    assert looking.metric.contains(x)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("K", [-1e-8, 1e-8])
def test_views_are_continuous_where_the_curvature_vanishes(chart, K):
    x = np.random.default_rng(0).uniform(-0.8, 0.8, size=(50, 2))
    assert view(K, chart).to_screen(x) == pytest.approx(view(0.0, chart).to_screen(x), abs=1e-3)


@pytest.mark.parametrize("chart", CHARTS[1:])
def test_the_flat_limit_is_z(chart):
    looking = view(0.0, chart)
    z = looking.metric.coordinates([0.3, 0.2])
    tilt = math.sin(math.radians(38)) if chart == "hemisphere" else 1.0
    assert looking.to_screen([0.3, 0.2]) == pytest.approx(z * [1, tilt])


def test_geodesics_of_the_disc_are_circles_across_its_rim():
    looking = view(-1.0, "poincare")
    metric = looking.metric
    path = looking.to_screen(metric.geodesic([0.5, 0.1], [-0.2, 0.6], np.linspace(0, 1, 9)))
    # a circle |y|² - 2⟨c, y⟩ + 4 = 0 meets the rim |y| = 2 at right angles
    c, residual, *_ = np.linalg.lstsq(2 * path, np.sum(path**2, axis=1) + 4, rcond=None)
    assert residual == pytest.approx(0, abs=1e-20)
    assert np.linalg.norm(c) > 2


@pytest.mark.parametrize("chart", CHARTS)
def test_outside_is_told_from_inside(chart):
    looking = view(-1.0, chart)
    middle = looking.to_screen(looking.metric.center)
    assert looking.holds(middle)
    assert not looking.holds(middle - np.array([0, 8]))
