"""Constructions of the page: Gauss and Bonnet, congruence under isometries, and K through zero."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cayleyklein.app._exports import plane_json, plane_svg
from cayleyklein.app._figures import Construction, Figure, read_figures
from cayleyklein.app._measures import measured, polygon_measures
from cayleyklein.app._scene import Drafter
from cayleyklein.app._session import PlaneSession
from cayleyklein.app._state import CHART_NAMES, PlaneState
from cayleyklein.app._tools import CIRCLE_KINDS, POINT_KINDS, TOOLS
from cayleyklein.app._worksheets import bundled_worksheets
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.geometry import constructions

CURVATURES = st.integers(-100, 100).map(lambda K: K / 100)
PLACE = st.tuples(st.floats(0.1, 0.7), st.floats(0, 2 * math.pi)).map(
    lambda polar: (polar[0] * math.cos(polar[1]), polar[0] * math.sin(polar[1]))
)
POINTS = "-0.5,-0.3,0;0.45,-0.2,0;0.1,0.5,0;-0.3,0.4,0;0.6,0.2,0"
EVERYTHING = (
    "point,A,,ink,0,0;point,B,,ink,0,1;point,C,,ink,0,2;point,D,,ink,0,3;point,E,,ink,0,4;"
    "segment,s,A.B,ink,0,0;line,l,C.D,flat,0,0;circle,c,A.E,ink,0,0;ball,b,B,ink,0,0.4;"
    "midpoint,M,A.C,ink,0,0;meet,N,s.l,ink,0,0;perpendicular,p,l.A,ink,0,0;"
    "angle,w,A.B.C,ink,0,0;bisector,h,A.B.C,ink,0,0;reflection,R,A.l,ink,0,0;"
    "parallels,q,l.A,ink,0,0;horocycle,o,A.B,ink,0,0;equidistant,e,l.B,ink,0,0;"
    "polygon,ABC,A.B.C,elliptic,0,0;polygon,quad,A.B.E.C,gold,1,0;"
    "number,r,,ink,2,0.3;ball,d,C.r,ink,2,0;compass,f,A.B.D,ink,0,0;meet,X,c.d,ink,0,0;"
    "meet,Y,c.d,ink,0,1;meet,Z,l.c,ink,0,1;tangent,t,E.d,ink,0,1;on,G,c,ink,0,1.2;on,H,s,ink,0,0.4;"
    "on,I,l,ink,0,0.3;on,J,ABC,ink,0,1.5;mediator,m,A.C,ink,0,0;reach,U,A.B.r,ink,2,0;"
    "midpoint,V,G.B,ink,0,0;locus,v,G.V,gold,0,0;distance,y,A.B,ink,2,0;note,z,A,ink,2,0,a%2C b"
)


def state_of(K=-0.6, objects=EVERYTHING, **parts):
    query = {"points": POINTS, "curvature": K, "objects": objects, "shown": ""} | parts
    return PlaneState().with_parts(query)


def made(state):
    return Construction(state.objects, state.coordinates, state.metric)


@given(CURVATURES, st.integers(3, 8), st.randoms(use_true_random=False))
def test_gauss_and_bonnet(K, n, random):
    """K·area is the angle sum less (n - 2)π, for polygons that need not be convex."""
    metric = PlaneState(curvature=K).metric
    angle = sorted(2 * math.pi * (i + 0.8 * random.random()) / n for i in range(n))
    corners = np.array([(random.uniform(0.1, 0.8) * math.cos(a), math.sin(a) * 0.5) for a in angle])
    found = polygon_measures(corners, metric)
    if "angle_sum" in found:
        left = found["angle_sum"] - (n - 2) * math.pi
        assert found["curved_area"] == pytest.approx(left, abs=1e-9)
        assert found["curved_area"] == pytest.approx(K * found["area"])


def test_the_area_is_that_of_a_mesh():
    from cayleyklein.meshes import mesh_polygon

    corners = np.array([[-0.5, -0.4], [0.6, -0.3], [0.1, 0.0], [0.2, 0.6]])  # not convex
    for K in (-0.8, 0.0, 0.9):
        metric = PlaneState(curvature=K).metric
        area = mesh_polygon(corners, metric).areas.sum()
        assert polygon_measures(corners, metric)["area"] == pytest.approx(area)


def test_sides_that_cross_have_no_angle_sum():
    crossed = np.array([[0.0, 0.0], [0.5, 0.5], [0.5, 0.0], [0.0, 0.5]])
    found = polygon_measures(crossed, PlaneState().metric)
    assert "angle_sum" not in found
    bow = state_of(objects=EVERYTHING.partition(";segment")[0] + ";polygon,bow,A.C.B.D,ink,0,0")
    assert "its sides cross" in measured(made(bow), bow.objects[-1])


@given(CURVATURES, PLACE, PLACE, st.floats(-3, 3))
def test_what_is_measured_is_the_same_after_an_isometry(K, start, end, angle):
    state = state_of(K)
    move = np.asarray(state.metric.transvection(0.3 * np.array(start), 0.3 * np.array(end)))
    turn = constructions.rotation_about(state.coordinates[1], angle, state.metric)
    for H in (move, turn):
        try:
            moved = state.moved(H)
        except InvalidInputError as error:
            assert "leave the page" in str(error)  # noqa: PT017
            continue
        before, after = made(state), made(moved)
        for figure in state.objects:
            if figure.kind in ("segment", "circle", "polygon", "angle", "bisector"):
                for a, b in zip(numbers(before, figure), numbers(after, figure), strict=True):
                    assert a == pytest.approx(b, abs=0.02, rel=2e-3), figure


def numbers(construction, figure):
    words = measured(construction, figure).replace("°", " ").replace(",", " ").replace(";", " ")
    return [
        float(w.replace("−", "-"))
        for w in words.split()
        if w.strip("-−").replace(".", "").isdigit()
    ]


@pytest.mark.parametrize("chart", CHART_NAMES)
def test_constructions_go_through_zero_without_a_jump(chart):
    below, flat, above = (state_of(K) for K in (-0.01, 0.0, 0.01))
    for other in (below, above):
        places, limits = made(other).places, made(flat).places
        for figure in other.objects:
            a, b = places[figure.name], limits[figure.name]
            if figure.kind in POINT_KINDS:
                assert np.asarray(a) == pytest.approx(np.asarray(b), abs=0.02), figure
            if figure.kind in CIRCLE_KINDS:
                assert a.radius == pytest.approx(b.radius, abs=0.02), figure
        for scene in (Drafter(s).scene(chart) for s in (other, flat)):
            for shape in scene.shapes:
                assert not np.isinf(shape.xy).any()


@pytest.mark.parametrize("K", [-0.6, 0.0, 0.6])
def test_measures_are_those_of_the_library(K):
    state = state_of(K)
    there = made(state)
    found = {f.name: measured(there, f) for f in state.objects}
    A, B, C, D, E = state.coordinates
    metric = state.metric
    assert found["s"] == f"length {metric.distance(A, B):.4f}"
    assert found["w"] == f"{math.degrees(metric.vertex_angle(B, A, C)):.2f}°"
    around, inside = constructions.circle_measures(float(metric.distance(A, E)), K)
    assert f"circumference {around:.4f}, area {inside:.4f}" in found["c"]
    assert "K·area" in found["ABC"]
    height = abs(float(constructions.distance_to_line(A, constructions.line_through(C, D), metric)))
    assert f"{height:.4f}" in found["p"]
    said = {-1: "two, at", 0: "one parallel", 1: "none"}[int(np.sign(K))]
    assert found["q"].startswith(said)
    assert ("only where K < 0" in found["o"]) == (K >= 0)


@pytest.mark.parametrize("chart", CHART_NAMES)
def test_objects_are_held_by_address_json_svg_and_undo(chart):
    state = state_of(chart=chart)
    again = PlaneState.from_query(state.query)
    assert again == state
    assert len(again.objects) == len(read_figures(EVERYTHING))
    held = json.loads(plane_json(state))
    assert [one["name"] for one in held["objects"]] == [f.name for f in state.objects]
    assert "length" in held["objects"][5]["measure"]
    bare = plane_svg(replace(state, objects=()))
    assert plane_svg(state).count("<path") > bare.count("<path")
    assert ">R</text>" in plane_svg(state)
    hidden = replace(state, objects=tuple(f._replace(hidden=True) for f in state.objects))
    assert plane_svg(hidden).replace("37 constructed objects", "") != plane_svg(state)


@pytest.mark.parametrize(
    "points",
    ["0,0,0;" * 5, "0,0.5,0;" * 3 + "0,0,0;0,0,0", "-0.1,0.8,0;0.1,0.8,0;0,0.85,0;0,0,0;3,3,0"],
)
@pytest.mark.parametrize("K", [-0.6, 0.04, 0.8])
def test_points_that_coincide_or_are_behind_have_a_picture(points, K):
    state = state_of(K, points=points, tilt=5)
    for chart in CHART_NAMES:
        assert Drafter(state).scene(chart).shapes
    there = made(state)
    for figure in state.objects:
        assert "nan" not in measured(there, figure)


# -- tools


def commands(session, *given):
    answer = session.hear(list(given))
    assert answer["errors"] == [], answer["errors"]
    return answer


@pytest.mark.parametrize("kind", TOOLS)
def test_every_tool_makes_its_figure_from_the_list(kind):
    session = PlaneSession(state_of(objects=EVERYTHING.partition(";midpoint")[0]).query)
    objects = (
        f"{session.state.objects_text};number,r,,ink,2,0.3;on,G,l,ink,0,0;midpoint,M,G.A,ink,0,0"
    )
    commands(session, {"do": "set", "values": {"objects": objects}})
    before = len(session.state.objects)
    commands(session, {"do": "tool", "name": kind})
    names = {"P": ["A", "B", "C"], "L": ["s"], "O": ["s", "l"], "C": ["c"], "W": ["c"], "N": ["r"]}
    names |= {"G": ["G"]} | ({"P": ["M"]} if kind == "locus" else {})
    names |= {"P": ["E"]} if kind == "tangent" else {}
    for _ in range(3):
        needs = session.tool_answer()["needs"]
        if needs:
            commands(session, {"do": "take", "name": names[needs].pop(0)})
        if not session.picked:
            break
    if kind == "polygon":
        commands(session, {"do": "take", "name": "A"})
    made_of = {"point": 0, "tangent": 2}.get(kind, 1)
    assert len(session.state.objects) == before + made_of
    if kind != "point":
        assert session.state.objects[-1].kind == kind
        place = session.drafter.construction.places[session.state.objects[-1].name]
        missing = kind in ("meet", "tangent")  # these lines do not meet, and E is on the circle
        assert (place is None) == missing


def test_a_click_where_two_circles_cross_takes_both():
    objects = (
        "point,A,,ink,0,0;point,B,,ink,0,1;circle,a,A.B,ink,0,0;circle,b,B.A,ink,0,0;"
        "meet,C,a.b,ink,0,0"
    )
    start = f"points=-0.2,0,0;0.2,0,0&shown=&chart=poincare&curvature=-0.5&objects={objects}"
    session = PlaneSession(start)
    x, y = session.view().to_screen(session.drafter.construction.places["C"]).tolist()
    session = PlaneSession(start.removesuffix(";meet,C,a.b,ink,0,0"))
    commands(session, {"do": "tool", "name": "meet"})
    commands(session, {"do": "pick", "x": x, "y": y, "view": 0, "reach": 0.05})
    made_there = session.state.objects[-2:]
    assert [(f.kind, set(f.parents)) for f in made_there] == [("meet", {"a", "b"})] * 2
    metric, places = session.state.metric, session.drafter.construction.places
    for figure in made_there:  # the corner of an equilateral triangle
        for corner in "AB":
            d = metric.distance(places[figure.name], places[corner])
            assert d == pytest.approx(metric.distance(places["A"], places["B"]))
    commands(
        session, {"do": "tool", "name": "polygon"}, *({"do": "take", "name": n} for n in "ABCA")
    )
    measure = session.answer()["objects"][-1]["measure"]
    angle = measure.removeprefix("angle sum ").split(" + ")[0]
    assert measure.startswith(f"angle sum {angle} + {angle} + {angle} = ")


def test_picking_by_place_takes_points_lines_and_new_ground():
    session = PlaneSession(state_of(objects="").query)
    commands(session, {"do": "tool", "name": "line"})
    for x, y in ((-0.5, -0.3), (0.0, -0.6)):  # a point that is there, and a new one
        answer = commands(session, {"do": "pick", "x": x, "y": y, "view": 0, "reach": 0.05})
    assert [f.name for f in session.state.objects] == ["A", "B", "a"]
    assert len(session.state.points) == 6
    assert answer["said"] == ["a: through A and B"]
    commands(session, {"do": "tool", "name": "perpendicular"})
    commands(session, {"do": "pick", "x": -0.25, "y": -0.45, "view": 0, "reach": 0.05})
    assert session.picked == ["a"]
    commands(session, {"do": "pick", "x": 0.1, "y": 0.5, "view": 0, "reach": 0.05})
    assert session.state.objects[-1].parents == ("a", "C")
    answer = session.hear([{"do": "pick", "x": 0.5, "y": 0.5, "view": 0, "reach": 0.01}])
    assert "no line here" in answer["errors"][0]


def test_deleting_says_what_goes_with_it():
    session = PlaneSession(state_of().query)
    commands(session, {"do": "choose", "index": 4})
    answer = commands(session, {"do": "delete"})
    gone = "E, c, quad, X, Y, Z, t, G, V, v"
    assert answer["said"] == [f"Point 5 is gone, and with it {gone}. Undo brings it back."]
    answer = commands(session, {"do": "remove", "name": "l"})
    assert "with it N, p, R, q, e, I" in answer["said"][0]
    assert [f.value for f in session.state.objects if f.kind == "point"] == [0, 1, 2, 3]


def test_the_list_renames_colours_hides_and_resizes():
    session = PlaneSession(state_of().query)
    for name, part, value in (
        ("A", "name", "Anna"),
        ("Anna", "color", "gold"),
        ("Anna", "hidden", "1"),
    ):
        commands(session, {"do": "figure", "name": name, "part": part, "value": value})
    first = session.state.objects[0]
    assert first == Figure("point", "Anna", (), "gold", True, 0.0)
    assert session.state.objects[5].parents == ("Anna", "B")
    commands(session, {"do": "figure", "name": "b", "part": "value", "value": "0.7"})
    assert "r = 0.7000" in session.objects_answer()[8]["measure"]
    for part, value, said in (
        ("name", "B", "already"),
        ("color", "x", "color"),
        ("name", "a b", "letters"),
        ("value", "x", "cannot be changed"),
        ("moon", "1", "cannot"),
    ):
        answer = session.hear([{"do": "figure", "name": "Anna", "part": part, "value": value}])
        assert said in answer["errors"][0]


@pytest.mark.parametrize("chart", CHART_NAMES)
@pytest.mark.parametrize("tool", ["move", "turn"])
def test_a_drag_of_the_space_is_an_isometry_in_every_view(chart, tool):
    session = PlaneSession(state_of(-0.6, chart=chart).query)
    before = session.state
    commands(session, {"do": "tool", "name": tool})
    view = session.view()
    (x0, y0), (x1, y1) = view.to_screen(np.array([[0.1, 0.05], [0.25, 0.2]])).tolist()
    commands(
        session,
        {"do": "shift", "x": x0, "y": y0, "view": 0, "begin": True},
        {"do": "shift", "x": x1, "y": y1, "view": 0, "begin": False},
    )
    far = [s.metric.pairwise(s.coordinates, s.coordinates) for s in (before, session.state)]
    assert far[1] == pytest.approx(far[0], abs=1e-4)
    assert not np.allclose(before.coordinates, session.state.coordinates)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("segment,s,A.B,ink,0,0", "cannot be made"),
        ("point,A,,ink,0,0;point,A,,ink,0,1", "already"),
        ("point,A,,ink,0,99", "no point number 99"),
        ("point,A,,pink,0,0", "color"),
        ("moon,A,,ink,0,0", "kind"),
        ("point,A,,ink,0,x", "must be a number"),
        ("point,A", "six parts"),
        ("point,A b,,ink,0,0", "letters and digits"),
    ],
)
def test_an_address_of_objects_that_cannot_be(text, said):
    with pytest.raises(CayleyKleinError, match=said):
        state_of(objects=text)


def test_reading_is_the_inverse_of_writing():
    figures = read_figures(EVERYTHING)
    assert read_figures(";".join(f.text for f in figures)) == figures


# -- worksheets


def move_to(index, x, y):
    return {"do": "move", "index": index, "x": x, "y": y, "view": 0, "far": False}


SHEETS = bundled_worksheets()


def sheet_session(name):
    session = PlaneSession("shown=")
    commands(session, {"do": "sheet", "name": name})
    return session


def verdict(session, answer=""):
    return session.hear([{"do": "check", "step": 0, "answer": answer}])["verdict"]


def test_worksheets_are_answered_by_what_is_made():
    named = ["angle-sum", "parallels", "circles", "squares", "diagram", "hierarchy"]
    assert list(SHEETS) == named
    tree = sheet_session("hierarchy")
    names = tree.state.names
    distances = tree.state.metric.pairwise(tree.state.coordinates)[names.index("seal")]
    for name, is_right in (("bear", True), ("dolphin", False), ("salmon", False)):
        right, text = verdict(tree, name)
        assert right == is_right
        assert f"{distances[names.index(name)]:.1f}" in text
    for name in SHEETS:
        right, text = verdict(sheet_session(name))
        assert not right
        assert text
    triangle = sheet_session("angle-sum")
    for scale in np.linspace(2.2, 3.4, 60).tolist():
        for i, (x, y) in enumerate(((-0.3, -0.2), (0.35, -0.15), (0, 0.3))):
            triangle.hear([move_to(i, scale * x, scale * y)])
        if verdict(triangle)[0]:
            break
    assert verdict(triangle)[0]
    lines = sheet_session("parallels")
    for y in (0.4, 0.3):
        commands(
            lines,
            {"do": "tool", "name": "line"},
            {"do": "take", "name": "P"},
            {"do": "pick", "x": 0.7, "y": y, "view": 0, "reach": 0.01},
        )
    assert verdict(lines)[0]
    commands(lines, {"do": "set", "values": {"curvature": 0.5}})
    assert "every line" in verdict(lines)[1]
    circle = sheet_session("circles")
    radius = 1.6221  # sinh r = 1.5 r
    commands(circle, move_to(1, 1.2 * math.tanh(radius), 0))
    assert verdict(circle)[0]
    square = sheet_session("squares")
    commands(square, {"do": "set", "values": {"curvature": 0}})
    assert verdict(square)[0]
    assert verdict(sheet_session("diagram"), "Voronoi cells")[0]
    assert "Not this one" in verdict(sheet_session("diagram"), "Delaunay")[1]


@pytest.mark.parametrize("chart", CHART_NAMES)
def test_lines_and_circles_have_their_names_in_the_drawing(chart):
    state = PlaneState.from_query(SHEETS["parallels"].start)
    state = state.with_parts({"objects": f"{state.objects_text};circle,k,P.A,gold,0,0"})
    words = [s for s in Drafter(state).scene(chart).shapes if s.kind == "words"]
    assert {name for shape in words for name in shape.text} == {"A", "B", "P", "a", "k"}
