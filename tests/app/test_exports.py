"""Exports: pictures, tables and code of a state."""

import csv
import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from cayleyklein.app import draw_plane
from cayleyklein.app._exports import EXPORTS, offline_page, plane_code, plane_svg, points_csv
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._state import CHART_NAMES, LAYERS, PlaneState, scatter
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric

STATE = PlaneState(points=scatter(9, seed=2), shown=frozenset(LAYERS), order=2, turn=40, tilt=20)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("chart", CHART_NAMES)
@pytest.mark.parametrize("K", [-0.6, 0.0, 0.6])
def test_the_code_draws_the_same_picture(chart, K, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    state = replace(STATE, chart=chart, curvature=K)
    names = {}
    exec(compile(plane_code(state, "dark"), "plane.py", "exec"), names)
    drawn = (tmp_path / "plane.svg").read_text("utf-8")
    assert drawn == plane_svg(state, "dark")
    assert "nan" not in drawn
    assert "9 points" in ET.fromstring(drawn).find(f"{SVG}title").text
    assert np.allclose(names["metric"].matrix, state.metric.matrix)
    p, q = state.coordinates[[0, 1]]
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(state.metric(p, q))


def test_both_views_are_exported_side_by_side():
    both = replace(STATE, chart="poincare", second="hemisphere")
    for text in (plane_svg(both), offline_page(both)):
        assert 'viewBox="0 0 1440 720"' in text
    found = ET.fromstring(plane_svg(both)).findall(f"{SVG}svg")
    alone = (ET.fromstring(plane_svg(replace(STATE, chart=c))) for c in ("poincare", "hemisphere"))
    for one, other in zip(found, alone, strict=True):
        assert ET.tostring(one[0]) == ET.tostring(other.find(f"{SVG}svg")[0])
    assert [one.get("x") for one in found] == ["0", "720"]


def test_the_code_of_an_empty_plane_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(plane_code(PlaneState()), "plane.py", "exec"), {})
    assert (tmp_path / "plane.svg").exists()


def test_csv_names_classes_as_the_page_does():
    rows = list(csv.reader(io.StringIO(points_csv(STATE))))
    assert rows[0] == ["x", "y", "class"]
    assert [row[2] for row in rows[1:]] == ["ABC"[label] for label in STATE.labels]
    assert np.array([row[:2] for row in rows[1:]], float) == pytest.approx(STATE.coordinates)


def test_the_offline_page_needs_nothing():
    page = offline_page(replace(STATE, curvature=-0.33))
    assert page.count('"shapes"') == 42
    assert '"K":-0.33' in page
    still = offline_page(replace(STATE, curvature=-0.33, chart="hemisphere"))
    assert still.count("<g ") == 42
    assert 'data-k="-0.33"' in still
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_files_of_the_largest_scene_are_bounded():
    large = PlaneState(points=scatter(LIMITS.most_points, seed=0), shown=frozenset(LAYERS))
    for name, (_, make) in EXPORTS.items():
        assert len(make(large, "light")) < 8_000_000, name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chart": "mercator"}, "chart"),
        ({"shown": ["moon"]}, "shown"),
        ({"labels": [1]}, "labels"),
        ({"order": 9}, "order"),
        ({"theme": "pink"}, "theme"),
        ({"metric": CurvedMetric.euclidean(3)}, "of the plane"),
        ({"points": [[np.nan, 0]]}, "points"),
        ({"points": [[0.0, 0.0], [1.0]]}, "points"),
        ({"labels": 3}, "labels"),
        ({"labels": [0, 20]}, "labels.* a whole number from 0 to 19"),
        ({"labels": [0, None]}, "labels"),
        ({"shown": None}, "shown"),
        ({"order": True}, "order"),
        ({"chosen": None}, "chosen"),
        ({"chosen": (0,)}, "chosen"),
        ({"chosen": (0.5, 1)}, "chosen"),
        ({"chosen": (-1, 0)}, "chosen"),
        ({"chosen": (0, 2)}, "chosen"),
    ],
)
def test_draw_plane_says_what_is_wrong(given, said):
    ready = {"points": [[0.0, 0.0], [0.5, 0.1]], "metric": CurvedMetric.euclidean(2)} | given
    with pytest.raises(InvalidInputError, match=said):
        draw_plane(ready.pop("points"), ready.pop("metric"), **ready)


@pytest.mark.parametrize("tiling", ["", "7,3,3,0.7"])
def test_the_code_draws_objects_and_tilings_too(tiling, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = "point,A,,ink,0,0;point,B,,ink,0,1;circle,c,A.B,gold,0,0;segment,s,A.B,flat,0,0"
    state = STATE.with_parts({"objects": objects, "tiling": tiling, "second": "poincare"})
    exec(compile(plane_code(state), "plane.py", "exec"), {})
    drawn = (tmp_path / "plane.svg").read_text("utf-8")
    assert drawn == plane_svg(state)
    assert ">A</text>" in drawn
    assert drawn != plane_svg(replace(state, objects=(), tiling=None))
