"""Commands of the plane: pure changes of the state, as the page sends them, and quick."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._limits import LIMITS
from cayleyklein.app._scene import handle_places
from cayleyklein.app._session import PlaneSession, run_command
from cayleyklein.app._state import CHART_NAMES, PlaneState, scatter
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

COMMANDS = {name.removeprefix("do_") for name in dir(PlaneSession) if name.startswith("do_")}

# JSON has no whole numbers of its own: a browser's 7 may arrive as 7.0
FIGURES = "point,A,,ink,0,0;point,B,,ink,0,1;line,a,A.B,ink,0,0;line,b,A.B,ink,0,0;on,E,a,ink,0,0"
AS_SENT = [
    {"do": "set", "values": {"curvature": 0.25, "order": 3.0, "shown": "balls,cells"}},
    {"do": "set", "values": {"chart": "hyperboloid", "second": "half-plane"}},
    {"do": "label", "value": 3.0},
    {"do": "load", "query": PlaneState(points=scatter(4, seed=1)).query},
    {"do": "add", "x": 0.25, "y": -0.125, "view": 0.0},
    {"do": "add"},
    {"do": "delete"},
    {"do": "scatter", "n": 200.0, "seed": 2147483646.0},
    {"do": "next", "by": -1},
    {"do": "choose", "index": 5.0},
    {"do": "move", "index": 2.0, "x": 0.1, "y": 0.2, "view": 1.0, "far": False},
    {"do": "nudge", "dx": 0.02, "dy": 0},
    {"do": "handle", "name": "major", "x": 1.0, "y": 0.5},
    {"do": "hover", "x": 0.1, "y": 0.2, "view": 0},
    {"do": "hover"},
    {"do": "leave"},
    {"do": "drop"},
    {"do": "tool", "name": "segment"},
    {"do": "pick", "x": 0.1, "y": 0.2, "view": 0.0, "reach": 0.05},
    {"do": "take", "name": ""},
    {"do": "figure", "name": "a", "part": "color", "value": "flat"},
    {"do": "remove", "name": "a"},
    {"do": "tool", "name": "move"},
    {"do": "shift", "x": 0.1, "y": 0.2, "view": 0, "begin": True},
    {"do": "shift", "x": 0.15, "y": 0.2, "view": 0, "begin": False},
    {"do": "tile", "p": 7.0, "q": 3.0, "depth": 3.0, "edge": 0},
    {"do": "sheet", "name": "circles"},
    {"do": "check", "step": 0.0, "answer": ""},
    {"do": "own_sheet", "content": "---\ntitle: Mine\n---\nLook."},
    {"do": "own_tree", "content": "((a:1,b:2)c:1,d:3)e;"},
    {"do": "tool", "name": "on"},
    {"do": "set", "values": {"objects": FIGURES}},
    {"do": "glide", "name": "E", "x": 0.1, "y": 0.2, "view": 0.0},
    {"do": "group", "name": "lines", "hidden": True},
    {"do": "reorder", "name": "b", "before": "a"},
    {"do": "light", "name": "a"},
    {"do": "trace", "name": "a", "on": True},
    {"do": "replay", "step": 2.0},
    {"do": "frame", "view": 0.0, "box": [-1, -1, 1.5, 1.5], "width": 640.0},
]


@pytest.fixture
def session():
    return PlaneSession(PlaneState(points=scatter(12, seed=1)).query)


def scene(session):
    return session.drafter.scene(session.state.chart)


def move(session, index, place, far=False):
    x, y = (float(c) for c in place)
    run_command(session, {"do": "move", "index": index, "x": x, "y": y, "view": 0, "far": far})


def test_every_command_is_done_as_the_page_sends_it():
    assert {command["do"] for command in AS_SENT} == COMMANDS
    session = PlaneSession(PlaneState(points=scatter(12, seed=1)).query)
    for command in AS_SENT:
        answer = session.hear([json.loads(json.dumps(command))])
        assert answer["errors"] == [], command
    assert session.state.second == ""


@pytest.mark.parametrize("chart", CHART_NAMES)
def test_a_trace_is_where_a_midpoint_has_been(chart):
    """In every view, while a corner is dragged and while K goes through zero."""
    objects = "point,A,,ink,0,0;point,B,,ink,0,1;midpoint,M,A.B,gold,0,0;segment,s,A.B,flat,0,0"
    session = PlaneSession(
        f"chart={chart}&shown=&points=-0.3,-0.2,0;0.4,-0.1,0&objects={objects}&curvature=-0.6"
    )
    run_command(session, {"do": "trace", "name": "M", "on": True})
    run_command(session, {"do": "trace", "name": "s", "on": True})
    been = []
    for K in (-0.6, -0.3, 0.0, 0.3):
        session.hear([{"do": "set", "values": {"curvature": K}}])
        been.append(session.drafter.construction.places["M"])
    x, y = scene(session).points[1].tolist()
    session.hear([{"do": "move", "index": 1, "x": x, "y": y + 0.1, "view": 0, "far": False}])
    been.append(session.drafter.construction.places["M"])
    drawn = scene(session)
    (dots,) = [s for s in drawn.shapes if s.color == "gold" and s.kind == "marks" and s.size == 2]
    view = session.view()
    places = np.stack([view.to_screen(place) for place in been])
    gaps = np.linalg.norm(places[:, None] - dots.xy[None], axis=-1).min(axis=1)
    assert gaps.max() < 0.01  # places nearer than a thousandth are one
    assert [s for s in drawn.shapes if s.color == "flat" and s.alpha == 0.4]
    traced = {o["name"]: o["traced"] for o in session.answer()["objects"]}
    assert traced == {"A": False, "B": False, "M": True, "s": True}
    session.hear([{"do": "figure", "name": "M", "part": "name", "value": "N"}])
    assert session.trails.names == {"N", "s"}
    session.hear([{"do": "trace", "name": "N", "on": False}])
    assert not [s for s in scene(session).shapes if s.color == "gold" and s.size == 2]
    session.hear([{"do": "load", "query": ""}])
    assert session.trails.names == set()


def test_traces_are_refused_where_nothing_moves():
    session = PlaneSession("points=&shown=&objects=number,r,,ink,0,0.5")
    assert session.answer()["objects"][0]["traced"] is None
    for name in ("r", "moon"):
        said = session.hear([{"do": "trace", "name": name, "on": True}])["errors"][0]
        assert "leaves a trace" in said


@pytest.mark.parametrize("chart", CHART_NAMES)
@pytest.mark.parametrize("K", [-0.7, 0.0, 0.7])
def test_move(session, chart, K):
    run_command(session, {"do": "set", "values": {"chart": chart}})
    run_command(session, {"do": "set", "values": {"curvature": K}})
    there = scene(session)
    target = there.points[4] + [0.06, -0.04]
    move(session, 4, target, bool(there.away[4]))
    assert session.state.chosen == (4, 0)
    assert scene(session).points[4] == pytest.approx(target, abs=2e-3)


def test_a_drag_of_either_chosen_point_keeps_their_names(session):
    for index, chosen in ((1, (0, 1)), (0, (0, 1)), (5, (5, 0)), (0, (5, 0))):
        move(session, index, session.state.coordinates[index] + 0.01)
        assert session.state.chosen == chosen


def test_a_point_stays_inside_the_conic(session):
    move(session, 0, (50, 50))
    assert session.drafter.inside.all()


def test_handles(session):
    run_command(session, {"do": "handle", "name": "major", "x": 0.0, "y": 1.5})
    assert (session.state.major, session.state.angle) == (1.5, -90)
    run_command(session, {"do": "handle", "name": "center", "x": 0.25, "y": -0.5})
    assert session.state.metric.center.tolist() == [0.25, -0.5]
    run_command(session, {"do": "handle", "name": "minor", "x": 0.75, "y": -0.5})
    assert session.state.minor == pytest.approx(0.5)
    assert np.linalg.eigvalsh(session.state.metric.matrix) == pytest.approx([1.5**-2, 0.5**-2])
    assert handle_places(session.state)[0].tolist() == [0.25, -0.5]


def test_choosing(session):
    for i in (3, 8, 99):
        run_command(session, {"do": "choose", "index": i})
    assert session.state.chosen == (8, 3)
    for by, expected in ((1, 9), (-1, 8), (-1, 7)):
        run_command(session, {"do": "next", "by": by})
        assert session.state.chosen[0] == expected


def test_add_delete_label_and_nudge(session):
    run_command(session, {"do": "label", "value": 2})
    assert session.state.points[0].label == 2
    run_command(session, {"do": "add"})
    assert session.state.points[-1].label == 2
    assert session.state.chosen == (12, 0)
    before = session.state.coordinates[12]
    run_command(session, {"do": "nudge", "dx": 0.02, "dy": 0.0})
    assert session.state.coordinates[12][0] > before[0]
    for _ in range(20):
        run_command(session, {"do": "delete"})
    assert session.state.points == ()
    for command in ({"do": "nudge", "dx": 1, "dy": 1}, {"do": "next", "by": 1}, {"do": "delete"}):
        run_command(session, command)
    assert session.hear([{"do": "hover"}])["readout"] == "There are no points yet."


def test_bounds(session):
    run_command(session, {"do": "scatter", "n": LIMITS.most_points, "seed": 1})
    with pytest.raises(InvalidInputError, match=str(LIMITS.most_points)):
        run_command(session, {"do": "add", "x": 0.0, "y": 0.0})


def test_the_pointer_is_in_both_views(session):
    run_command(session, {"do": "set", "values": {"second": "poincare"}})
    session.answer()
    answer = session.hear([{"do": "hover", "x": 0.1, "y": 0.1, "view": 0}])
    assert "pictures" not in answer
    assert "to point" in answer["readout"]
    first, second = answer["pointer"]
    assert first[-1]["xy"] == pytest.approx(np.array([[0.1, 0.1]]))
    back = session.hear(
        [{"do": "hover", "view": 1} | dict(zip("xy", second[-1]["xy"][0].tolist(), strict=True))]
    )
    assert back["readout"] == answer["readout"]


def test_what_was_told_goes_with_its_point(session):
    for command in ({"do": "delete"}, {"do": "scatter", "n": 4, "seed": 1}):
        assert session.hear([{"do": "hover"}])["readout"]
        answer = session.hear([command])
        assert (answer["readout"], answer["pointer"]) == ("", [])
    assert "readout" not in session.hear([])


def test_an_outside_place_says_so(session):
    assert "Outside" in session.hear([{"do": "hover", "x": -1.5, "y": 1.5}])["readout"]


def test_errors_are_told_and_change_nothing(session):
    before = session.state
    answer = session.hear([{"do": "set", "values": {"curvature": 7}}, {"do": "delete"}])
    assert "between -1 and 1" in answer["errors"][0]
    assert session.state is before


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(), st.text(max_size=4), st.just([])
)
FIELDS = st.sampled_from(
    ["x", "y", "view", "far", "index", "name", "value", "n", "seed", "by", "dx", "dy", "turn"]
)


@given(st.sampled_from([*sorted(COMMANDS), "format", ""]), st.dictionaries(FIELDS, VALUES))
def test_a_command_works_or_changes_nothing(name, fields):
    session = PlaneSession(PlaneState(points=scatter(3, seed=0)).query)
    before = session.state
    try:
        run_command(session, {"do": name} | fields)
    except CayleyKleinError:
        assert session.state == before
    assert PlaneState.from_query(session.state.query) == session.state


@pytest.mark.parametrize("command", [5, None, [], {}, {"do": 5}, {"do": "x" * 99}])
def test_what_is_no_command(session, command):
    with pytest.raises(InvalidInputError, match="no command"):
        run_command(session, command)
