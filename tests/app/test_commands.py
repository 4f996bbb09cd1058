"""What a visitor does, as commands: pure changes of the state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._commands import ACTIONS, PlaneSession
from cayleyklein.app._scene import handle_places
from cayleyklein.app._state import CHARTS, MAX_POINTS, PlaneState, scatter
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError


@pytest.fixture
def session():
    return PlaneSession(PlaneState(points=scatter(12, seed=1)))


def grab(session, place):
    session.apply({"do": "grab", "x": place[0], "y": place[1], "reach": 0.01})


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("K", [-0.7, 0.0, 0.7])
def test_drag(session, chart, K):
    session.apply({"do": "set", "name": "chart", "value": chart})
    session.apply({"do": "set", "name": "curvature", "value": K})
    grab(session, session.scene.points[4])
    target = session.scene.points[4] + [0.06, -0.04]
    session.apply({"do": "drag", "x": target[0], "y": target[1]})
    assert session.state.chosen == (4, 0)
    assert session.scene.points[4] == pytest.approx(target, abs=2e-3)
    session.apply({"do": "drop"})
    session.apply({"do": "drag", "x": 0.0, "y": 0.0})
    assert session.scene.points[4] == pytest.approx(target, abs=2e-3)


def test_a_point_stays_inside_the_conic(session):
    grab(session, session.scene.points[0])
    session.apply({"do": "drag", "x": 50.0, "y": 50.0})
    assert session.scene.inside.all()


def test_handles(session):
    place = handle_places(session.state)
    grab(session, place[1])
    session.apply({"do": "drag", "x": 0.0, "y": 1.5})
    assert (session.state.major, session.state.angle) == (1.5, -90)
    grab(session, handle_places(session.state)[0])
    session.apply({"do": "drag", "x": 0.25, "y": -0.5})
    assert session.state.metric.center.tolist() == [0.25, -0.5]
    grab(session, handle_places(session.state)[2])
    session.apply({"do": "drag", "x": 0.75, "y": -0.5})
    assert session.state.minor == pytest.approx(0.5)
    assert np.linalg.eigvalsh(session.state.metric.matrix) == pytest.approx([1.5**-2, 0.5**-2])


def test_choosing(session):
    for i in (3, 8):
        x, y = session.scene.points[i]
        session.apply({"do": "tap", "x": x, "y": y, "reach": 0.01})
    assert session.state.chosen == (8, 3)
    session.apply({"do": "tap", "x": 9.0, "y": 9.0, "reach": 0.01})
    assert session.state.chosen == (8, 3)
    for by, expected in ((1, 9), (-1, 8), (-1, 7)):
        session.apply({"do": "next", "by": by})
        assert session.state.chosen[0] == expected


def test_add_delete_label_and_nudge(session):
    session.apply({"do": "label", "value": 2})
    assert session.state.points[0].label == 2
    session.apply({"do": "add"})
    assert session.state.points[-1].label == 2
    assert session.state.chosen == (12, 0)
    before = session.scene.points[12]
    session.apply({"do": "nudge", "dx": 0.02, "dy": 0.0})
    assert session.scene.points[12][0] > before[0]
    for _ in range(20):
        session.apply({"do": "delete"})
    assert session.state.points == ()
    for command in ({"do": "nudge", "dx": 1, "dy": 1}, {"do": "next", "by": 1}, {"do": "delete"}):
        session.apply(command)
    session.apply({"do": "add", "x": 0.5, "y": 0.5})
    assert len(session.state.points) == 1


def test_a_held_arrow_key_costs_no_scene_each_time(session, monkeypatch):
    monkeypatch.setattr("cayleyklein.app._commands.make_scene", None)
    before = session.state.coordinates[0]
    for _ in range(10):
        session.apply({"do": "nudge", "dx": 0.01, "dy": 0.0})
    assert session.state.coordinates[0][0] > before[0]


def test_steps_end_at_the_range(session):
    for _ in range(50):
        session.apply({"do": "step", "name": "curvature", "by": 0.05})
    assert session.state.curvature == 1.0


def test_points_are_bounded(session):
    session.apply({"do": "scatter", "n": 200, "seed": 1})
    for _ in range(MAX_POINTS - 200):
        session.apply({"do": "add", "x": 0.0, "y": 0.0})
    with pytest.raises(InvalidInputError, match=str(MAX_POINTS)):
        session.apply({"do": "add", "x": 0.0, "y": 0.0})


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(), st.text(max_size=4), st.just([])
)
FIELDS = st.sampled_from(["x", "y", "reach", "name", "value", "n", "seed", "by", "dx", "dy"])


@given(st.sampled_from([*ACTIONS, "format", ""]), st.dictionaries(FIELDS, VALUES))
def test_a_command_works_or_changes_nothing(name, fields):
    session = PlaneSession(PlaneState(points=scatter(3, seed=0)))
    before = session.state
    try:
        session.apply({"do": name} | fields)
    except CayleyKleinError:
        assert session.state == before
    assert PlaneState.from_query(session.state.to_query()) == session.state
