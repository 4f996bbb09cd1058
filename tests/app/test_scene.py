"""Scenes: what is drawn is what the library computes, in every view and curvature."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._readout import read_out
from cayleyklein.app._scene import make_scene
from cayleyklein.app._state import CHARTS, LAYERS, Generator, PlaneState, scatter
from cayleyklein.app._views import View
from cayleyklein.diagrams import CayleyKleinVoronoi

POINTS = scatter(14, seed=5)
EVERYTHING = frozenset(LAYERS)
CURVATURES = st.integers(-100, 100).map(lambda K: K / 100)


def pieces(path):
    """Split a polyline at its rows of NaN."""
    gaps = np.flatnonzero(np.isnan(path[:, 0]))
    parts = [part[~np.isnan(part[:, 0])] for part in np.split(path, gaps)]
    return [part for part in parts if len(part)]


def area(ring):
    x, y = ring.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


@given(CURVATURES, st.sampled_from(CHARTS), st.integers(1, 5), st.integers(0, 14))
def test_every_state_has_a_scene(K, chart, order, n):
    state = PlaneState(
        points=POINTS[:n], curvature=K, chart=chart, order=order, shown=EVERYTHING, chosen=(0, 1)
    ).with_points(POINTS[:n])
    scene = make_scene(state)
    assert len(scene.points) == n
    for path in (*scene.fills.values(), *scene.lines.values(), scene.balls):
        assert path.shape[1:] == (2,)
        assert not np.isinf(path).any()
    assert bool(scene.fills) == (n > 0)


@pytest.mark.parametrize("order", [1, 3])
def test_cells_have_the_areas_of_the_diagram(order):
    state = PlaneState(points=POINTS, curvature=-0.8, order=order)
    drawn = sum(area(ring) for fill in make_scene(state).fills.values() for ring in pieces(fill))
    diagram = CayleyKleinVoronoi(state.coordinates, state.metric, order=order)
    assert drawn == pytest.approx(diagram.areas().sum(), rel=1e-3)


@given(CURVATURES, st.sampled_from(["poincare", "half-plane"]))
def test_regions_agree_with_the_nearest_point(K, chart):
    shapely = pytest.importorskip("shapely")
    state = PlaneState(points=POINTS, curvature=K, chart=chart, shown=frozenset({"regions"}))
    scene = make_scene(state)
    queries = np.random.default_rng(1).uniform(-0.6, 0.6, size=(40, 2))
    distances = state.metric.pairwise(queries, state.coordinates)
    nearest = np.sort(distances, axis=1)
    clear = nearest[:, 1] - nearest[:, 0] > 0.02  # a polygon's edge is drawn to a part of a pixel
    labels = state.labels[np.argmin(distances, axis=1)]
    seen = scene.view.to_screen(queries)
    for label, fill in scene.fills.items():
        cells = [shapely.Polygon(ring) for ring in pieces(fill)]
        within = np.any([shapely.contains_xy(cell, *seen.T) for cell in cells], axis=0)
        assert (within == (labels == label))[clear].all()


@given(CURVATURES, st.sampled_from(CHARTS), st.floats(0.05, 1.5))
def test_spheres_are_at_their_radius(K, chart, radius):
    state = PlaneState(
        points=POINTS, curvature=K, chart=chart, radius=radius, shown=frozenset({"balls"})
    )
    if chart == "hemisphere":
        state = replace(state, chart="klein")
    view = View(state.metric, state.chart)
    path = make_scene(state).lines["spheres"]
    seen = path[~np.isnan(path[:, 0])]
    # what is near the edge of a chart is pulled inside
    seen = seen[np.linalg.norm(seen, axis=1) < 1.5]
    for spot in seen[:: max(1, len(seen) // 12)]:
        distances = state.metric.distance(state.coordinates, view.from_screen(spot))
        assert np.abs(distances - radius).min() < 1e-5


@pytest.mark.parametrize("chart", ["klein", "poincare", "half-plane"])
def test_the_bisector_is_as_far_from_both(chart):
    state = PlaneState(points=POINTS, chart=chart, shown=frozenset({"bisector"}), chosen=(2, 7))
    path = make_scene(state).lines["bisector"]
    spot = path.mean(axis=0) if len(path) == 2 else path[len(path) // 2]
    x = View(state.metric, chart).from_screen(spot)
    p, q = state.coordinates[[2, 7]]
    assert state.metric(x, p) == pytest.approx(state.metric(x, q), rel=1e-6)


@pytest.mark.parametrize("chart", CHARTS)
def test_turning_the_curvature_through_zero_moves_nothing_far(chart):
    state = PlaneState(points=POINTS, chart=chart, shown=EVERYTHING)
    below, flat, above = (make_scene(replace(state, curvature=K)) for K in (-0.01, 0.0, 0.01))
    for scene in (below, above):
        assert scene.points == pytest.approx(flat.points, abs=0.05)
        marks = scene.marks
        assert marks == pytest.approx(flat.marks, abs=0.05)


def test_points_outside_the_conic_have_no_part():
    state = PlaneState(
        points=(*POINTS, Generator(1.9, 1.9)), curvature=-1.0, shown=EVERYTHING, major=1.0
    )
    scene = make_scene(state)
    assert scene.inside.sum() == 14
    assert "1 point lies outside" in scene.notes[0]
    assert np.isfinite(make_scene(replace(state, chart="poincare")).points).all()


def test_points_that_coincide_are_one():
    twice = PlaneState(points=(*POINTS, POINTS[0]), order=3, shown=EVERYTHING)
    assert len(make_scene(twice).points) == 15


def test_the_half_plane_says_where_it_ends():
    assert make_scene(PlaneState(points=POINTS, chart="half-plane", curvature=0.3)).notes


@given(CURVATURES, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_the_readout_names_the_nearest(K, x, y):
    state = PlaneState(points=POINTS, curvature=K)
    found = read_out(state, View(state.metric, "klein"), [x, y])
    distances = state.metric.distance(state.coordinates, [x, y])
    nearest = int(np.argmin(distances))
    assert f"d = {distances[nearest]:.3f} to point {nearest + 1}" in found.text
    assert math.isclose(found.lines[0, 0], x)
