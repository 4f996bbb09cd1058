"""Scenes: the picture shows what the library computes, in every view and curvature."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cayleyklein.app._scene import Drafter
from cayleyklein.app._state import CHART_NAMES, LAYERS, Generator, PlaneState, scatter
from cayleyklein.app._views import View
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.plotting.views import Loops, sample_boundaries, see_loops

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


def turns(ring, spots):
    """Return how often a ring goes around each of some spots."""
    away = ring[:, 0] - spots[:, :1] + 1j * (ring[:, 1] - spots[:, 1:])
    return np.angle(np.roll(away, -1, axis=1) / away).sum(axis=1) / (2 * math.pi)


def made(state, chart=None):
    return Drafter(state).scene(chart or state.chart)


def areas(scene):
    return [shape for shape in scene.shapes if shape.kind == "area"]


@given(
    CURVATURES,
    st.sampled_from(list(CHART_NAMES)),
    st.integers(1, 5),
    st.integers(0, 14),
    st.floats(-180, 180),
    st.floats(5, 90),
)
def test_every_state_has_a_scene(K, chart, order, n, turn, tilt):
    state = PlaneState(
        points=POINTS[:n], curvature=K, order=order, shown=EVERYTHING, turn=turn, tilt=tilt
    )
    scene = made(state, chart)
    assert len(scene.points) == n
    for shape in scene.shapes:
        assert shape.xy.shape[1:] == (2,)
        assert not np.isinf(shape.xy).any()
    assert bool(areas(scene)) == (n > 0)


@pytest.mark.parametrize("K", [-0.6, 0.6])
def test_rays_of_the_projection_go_through_the_plane_and_the_surface(K):
    state = PlaneState(points=POINTS[:2], curvature=K, shown=frozenset())
    scene = made(state, "hyperboloid")
    (rays,) = [s.xy for s in scene.shapes if s.color == "soft" and s.dash]
    apex, plane, surface = np.moveaxis(rays[~np.isnan(rays[:, 0])].reshape(2, 3, 2), 1, 0)
    assert surface == pytest.approx(scene.points)
    (a, b), (c, d) = (plane - apex).T, (surface - apex).T
    assert a * d == pytest.approx(b * c, abs=1e-12)


@pytest.mark.parametrize("order", [1, 3])
def test_cells_have_the_areas_of_the_diagram(order):
    state = PlaneState(points=POINTS, curvature=-0.8, order=order, shown=frozenset({"cells"}))
    drawn = sum(area(ring) for shape in areas(made(state)) for ring in pieces(shape.xy))
    diagram = CayleyKleinVoronoi(state.coordinates, state.metric, order=order)
    assert drawn == pytest.approx(diagram.areas().sum(), rel=1e-3)


@given(
    st.sampled_from([(-0.9, "hemisphere"), (0.8, "hemisphere"), (-0.9, "hyperboloid")]),
    st.floats(-180, 180),
    st.floats(6, 80),
    st.integers(1, 14),
)
@settings(max_examples=40)
def test_cells_on_a_surface_cover_its_near_and_its_far_side_once(surface, turn, tilt, n):
    """The near cells together are the outline of the near side, and the far cells of the far."""
    K, chart = surface
    state = PlaneState(points=POINTS[:n], curvature=K, turn=turn, tilt=tilt, major=1.0)
    view, drafter = View(state.metric, chart, turn, tilt), Drafter(state)
    seen = see_loops(view, sample_boundaries(view, *drafter.diagram.boundary_pieces))
    x = np.random.default_rng(n).normal(size=(60, 2)) * 0.5
    x = x[np.asarray(state.metric.contains(x))]
    gaps = state.metric.pairwise(x, state.coordinates)
    nearest, two = np.argmin(gaps, axis=1), np.sort(gaps, axis=1)[:, :2]
    clear = (np.abs(view.look(x)[1]) > 0.05) & (n == 1 or two[:, -1] - two[:, 0] > 0.02)
    for side, loops in enumerate(seen):
        mine = clear & (view.faces_away(x) == bool(side))
        spots, cells = view.to_screen(x[mine]), nearest[mine]
        found = np.zeros(len(cells), dtype=int)
        for cell in np.unique(loops.loop):
            within = np.rint(turns(loops.xy[loops.loop == cell], spots)) != 0
            assert (cells[within] == cell).all()
            found += within
        assert (found == 1).all()


def test_a_ball_over_the_horizon_is_cut():
    state = PlaneState(points=POINTS[:1], curvature=-1.0, major=1.0, angle=0.0)
    view = View(state.metric, "hemisphere", 0.0, 20.0)
    angle = np.linspace(0, 2 * math.pi, 100)[:-1]
    ring = 0.9 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    front, back = see_loops(view, Loops(ring, np.zeros(99, dtype=np.intp)))
    assert len(front.xy)
    assert len(back.xy)
    whole = np.array([True])
    # the far part is behind the near one, and both end at the outline
    middle = np.array([0, -math.cos(math.radians(20))])
    assert np.linalg.norm(front.of(whole) - middle, axis=1).max() < 1.001


@given(CURVATURES, st.sampled_from(["poincare", "half-plane"]))
def test_regions_agree_with_the_nearest_point(K, chart):
    shapely = pytest.importorskip("shapely")
    state = PlaneState(points=POINTS, curvature=K, shown=frozenset({"regions"}))
    scene = made(state, chart)
    queries = np.random.default_rng(1).uniform(-0.6, 0.6, size=(40, 2))
    distances = state.metric.pairwise(queries, state.coordinates)
    nearest = np.sort(distances, axis=1)
    clear = nearest[:, 1] - nearest[:, 0] > 0.02  # a polygon's edge is drawn to a part of a pixel
    labels = state.labels[np.argmin(distances, axis=1)]
    seen = scene.view.to_screen(queries)
    for shape in areas(scene):
        label = int(shape.color.removeprefix("class"))
        cells = [shapely.Polygon(ring) for ring in pieces(shape.xy)]
        within = np.any([shapely.contains_xy(cell, *seen.T) for cell in cells], axis=0)
        assert (within == (labels == label))[clear].all()


@given(CURVATURES, st.sampled_from(list(CHART_NAMES)[:3]), st.floats(0.05, 1.5))
def test_spheres_are_at_their_radius(K, chart, radius):
    state = PlaneState(points=POINTS, curvature=K, radius=radius, shown=frozenset({"balls"}))
    scene = made(state, chart)
    path = next(s.xy for s in scene.shapes if s.kind == "line" and s.size == 1.1)
    seen = path[~np.isnan(path[:, 0])]
    # near the edge of a chart places are pulled inside
    seen = seen[np.linalg.norm(seen, axis=1) < 1.5]
    for spot in seen[:: max(1, len(seen) // 12)]:
        distances = state.metric.distance(state.coordinates, scene.view.from_screen(spot))
        assert np.abs(distances - radius).min() < 1e-5


@pytest.mark.parametrize("chart", ["klein", "poincare", "half-plane"])
def test_the_bisector_is_as_far_from_both(chart):
    state = PlaneState(points=POINTS, shown=frozenset({"bisector"}), chosen=(2, 7))
    scene = made(state, chart)
    path = next(s.xy for s in scene.shapes if s.kind == "line" and s.color == "learned")
    x = scene.view.from_screen(path[len(path) // 2])
    p, q = state.coordinates[[2, 7]]
    assert state.metric(x, p) == pytest.approx(state.metric(x, q), rel=1e-6)


@pytest.mark.parametrize("chart", CHART_NAMES)
def test_moving_the_curvature_through_zero_moves_nothing_far(chart):
    state = PlaneState(points=POINTS, shown=EVERYTHING)
    below, flat, above = (made(replace(state, curvature=K), chart) for K in (-0.01, 0.0, 0.01))
    for scene in (below, above):
        assert scene.points == pytest.approx(flat.points, abs=0.05)


@pytest.mark.parametrize("K", [-0.7, 0.0, 0.7])
def test_the_cross_ratio_gives_the_distance(K):
    state = PlaneState(points=POINTS, curvature=K, shown=frozenset({"cross"}), chosen=(3, 9))
    text = Drafter(state).cross_ratio()
    p, q = state.coordinates[[3, 9]]
    assert text.endswith(f"= {state.metric(p, q):.3f}")
    words = [s for s in made(state).shapes if s.kind == "words"]
    names = [text for each in words for text in each.text]
    assert sorted(names) == (["P", "Q", "p", "q"] if K < 0 else ["p", "q"])
    if K < 0:
        places = dict(zip(names, np.concatenate([each.xy for each in words]), strict=True))
        ends = np.array([places["P"], places["Q"]])
        assert state.metric.domain.to_euclidean(ends) ** 2 @ [1, 1] == pytest.approx([1, 1])
    assert "Choose two" in Drafter(replace(state, points=POINTS[:1])).cross_ratio()


@pytest.mark.parametrize("order", [1, 3])
def test_the_lit_cell_is_that_of_the_chosen_point(order):
    shapely = pytest.importorskip("shapely")
    state = PlaneState(points=POINTS, order=order, shown=frozenset({"lit"}), chosen=(6, 0))
    drafter = Drafter(state)
    (cell,) = areas(drafter.scene("klein"))
    polygon = shapely.Polygon(cell.xy)
    assert polygon.buffer(1e-9).contains(shapely.Point(state.coordinates[6]))
    near = np.argsort(state.metric.pairwise(state.coordinates[[6]], state.coordinates)[0])[:order]
    lit = drafter.live[drafter.diagram.cell_generators[drafter.lit_cell]]
    assert set(lit.tolist()) == set(near.tolist())


def test_points_outside_the_conic_have_no_part():
    state = PlaneState(
        points=(*POINTS, Generator(1.9, 1.9)), curvature=-1.0, shown=EVERYTHING, major=1.0
    )
    drafter = Drafter(state)
    assert drafter.inside.sum() == 14
    assert "1 point lies outside" in drafter.notes[0]
    assert np.isfinite(drafter.scene("poincare").points).all()


def test_points_that_coincide_are_one():
    twice = PlaneState(points=(*POINTS, POINTS[0]), order=3, shown=EVERYTHING)
    assert len(made(twice).points) == 15


def test_notes():
    half = PlaneState(points=POINTS, chart="half-plane", curvature=0.3)
    assert "stereographic" in Drafter(half).notes[0]
    few = PlaneState(points=POINTS[:2], order=4)
    assert "up to order 1" in Drafter(few).notes[0]


@pytest.mark.parametrize("order", [2, 5])
@pytest.mark.parametrize("K", [-0.8, 0.0, 0.8])
def test_what_is_drawn_around_a_dragged_point_is_right(order, K):
    """Its edges are those of the whole diagram: as far from the k-th point as from the next."""
    state = PlaneState(
        points=scatter(150, seed=3), curvature=K, order=order, shown=frozenset({"cells"})
    )
    drafter = Drafter(state, moving=7)
    assert len(drafter.live) < 60
    scene = drafter.scene("klein")
    (edges,) = [s.xy for s in scene.shapes if s.kind == "line" and s.size == 1.0]
    middles = np.array([ends.mean(axis=0) for ends in pieces(edges)])
    middles = middles[np.asarray(state.metric.contains(middles))]
    far = np.sort(state.metric.pairwise(middles, state.coordinates), axis=1)
    assert len(middles) > 30
    assert far[:, order - 1] == pytest.approx(far[:, order], abs=1e-9)
    near = state.metric.distance(middles, state.coordinates[7])
    assert np.isclose(near, far[:, order - 1]).any()  # the dragged point has edges of its own
    whole = sum(len(s.xy) for s in areas(Drafter(state).scene("klein")))
    assert sum(len(s.xy) for s in areas(scene)) < whole
