"""Tilings: edges and angles as {p, q} asks, K from the edge, and none but once."""

import math

import numpy as np
import pytest

from cayleyklein.app._scene import Drafter, power_edges
from cayleyklein.app._session import PlaneSession
from cayleyklein.app._state import CHART_NAMES, PlaneState, read_tiling, scatter
from cayleyklein.diagrams import CayleyKleinVoronoi, equivalent_balls
from cayleyklein.exceptions import InvalidInputError


@pytest.mark.parametrize(
    ("p", "q", "tiles"),
    [
        (3, 3, 4),
        (4, 3, 6),
        (3, 4, 8),
        (5, 3, 12),
        (3, 5, 20),
        (4, 4, 25),
        (6, 3, 37),
        (7, 3, 85),
        (5, 4, 61),
    ],
)
def test_tiles_have_their_edge_and_their_angles(p, q, tiles):
    K_sign = np.sign(1 / p + 1 / q - 1 / 2)
    tiling = read_tiling(f"{p},{q},{8 if K_sign > 0 else 4},1.2,0.1,-0.05,20")
    state = PlaneState(points=()).with_parts({"tiling": tiling.text})
    assert np.sign(state.curvature) == K_sign
    corners, depths = tiling.placed(state.metric)
    assert len(corners) == len(depths) == tiles
    inside = corners[(corners[..., 2] > 1e-6).all(axis=1)]
    x = inside[..., :2] / inside[..., 2:]
    after, before = np.roll(x, -1, axis=1), np.roll(x, 1, axis=1)
    assert state.metric.distance(x, after) == pytest.approx(
        np.full(x.shape[:2], tiling.edge), abs=1e-6
    )
    angles = state.metric.vertex_angle(x, after, before)
    assert angles == pytest.approx(np.full(x.shape[:2], 2 * math.pi / q), abs=1e-5)


def test_the_curvature_follows_the_edge_and_the_edge_the_curvature():
    state = PlaneState().with_parts({"tiling": "7,3,3,0.8"})
    assert state.metric.curvature == pytest.approx(-((0.566256306735 / 0.8) ** 2), rel=1e-6)
    moved = state.with_parts({"curvature": -0.25})
    assert moved.curvature == pytest.approx(-0.25, abs=1e-5)
    assert moved.tiling.edge == pytest.approx(2 * 0.566256306735, abs=1e-5)
    assert state.with_parts({"curvature": 0.3}).tiling is None
    assert PlaneState.from_query(state.query) == state


@pytest.mark.parametrize("chart", CHART_NAMES)
@pytest.mark.parametrize("text", ["7,3,4,0.7", "4,4,4,0.5", "3,5,4,1.2"])
def test_tilings_are_drawn_in_every_view_and_moved_with_the_space(chart, text):
    state = PlaneState(points=(), shown=frozenset()).with_parts({"tiling": text, "chart": chart})
    scene = Drafter(state).scene(chart)
    tone = state.metric.geometry
    assert {s.kind for s in scene.shapes if s.color == tone} == {"area", "line"}
    for shape in scene.shapes:
        assert not np.isinf(shape.xy).any()
    move = np.asarray(state.metric.transvection([0.05, 0.1], [0.2, -0.1]))
    moved = state.moved(move)
    expected = state.tiling.placed(state.metric)[0] @ move.T
    found = moved.tiling.placed(state.metric)[0]
    ratio = found / np.where(np.abs(found[..., 2:]) > 1e-9, found[..., 2:], 1)
    wanted = expected / np.where(np.abs(expected[..., 2:]) > 1e-9, expected[..., 2:], 1)
    near = np.abs(wanted).max(axis=(1, 2)) < 5
    assert ratio[near] == pytest.approx(wanted[near], abs=1e-4)


def test_choosing_a_tiling_keeps_the_curvature_where_it_can():
    session = PlaneSession("curvature=-0.4")
    session.hear([{"do": "tile", "p": 7, "q": 3, "depth": 3, "edge": 0}])
    assert session.state.curvature == pytest.approx(-0.4, abs=1e-5)
    session.hear([{"do": "tile", "p": 5, "q": 3, "depth": 3, "edge": 0}])
    assert session.state.curvature == pytest.approx(0.6, abs=1e-5)
    session.hear([{"do": "tile", "p": 0, "q": 3, "depth": 3, "edge": 0}])
    assert session.state.tiling is None


@pytest.mark.parametrize(("p", "q"), [(1, 3), (2, 2), (2, 7), (-4, 4), (7, 2), (3, 99)])
@pytest.mark.parametrize("edge", [0, 0.7])
def test_a_command_for_no_tiling_is_refused(p, q, edge):
    session = PlaneSession()
    answer = session.hear([{"do": "tile", "p": p, "q": q, "depth": 3, "edge": edge}])
    assert answer["errors"][0].startswith("tiling must have p and q from 3 to 12")
    assert session.state.tiling is None


@pytest.mark.parametrize("text", ["7", "2,3,4,1", "7,3,99,1", "x,y,z,1", "7,3,4,nan"])
def test_what_is_no_tiling(text):
    with pytest.raises(InvalidInputError, match="tiling"):
        read_tiling(text)


@pytest.mark.parametrize("K", [-0.8, 0.0, 0.7])
def test_the_circles_alone_give_the_voronoi_diagram(K):
    state = PlaneState(points=scatter(20, seed=4), curvature=K)
    edges = power_edges(*equivalent_balls(state.coordinates, state.metric))
    middles = np.array([edge.mean(axis=0) for edge in edges if np.ptp(edge) < 3])
    middles = middles[np.asarray(state.metric.contains(middles))]
    far = np.sort(state.metric.pairwise(middles, state.coordinates), axis=1)
    assert len(middles) > 20
    assert far[:, 0] == pytest.approx(far[:, 1], abs=1e-9)
    if K < 0:
        diagram = CayleyKleinVoronoi(state.coordinates, state.metric)
        assert len(diagram.ridge_points) <= len(edges)
