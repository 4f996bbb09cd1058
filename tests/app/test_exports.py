"""Exports: pictures, tables and code of a state."""

import csv
import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from cayleyklein.app._code import plane_code, points_csv
from cayleyklein.app._offline import offline_page
from cayleyklein.app._scene import make_scene
from cayleyklein.app._state import CHARTS, LAYERS, PlaneState, scatter
from cayleyklein.app._svg import svg

STATE = PlaneState(points=scatter(9, seed=2), shown=frozenset(LAYERS), order=2)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("K", [-0.6, 0.0, 0.6])
def test_svg_is_well_formed_and_finite(chart, K):
    state = replace(STATE, chart=chart, curvature=K)
    text = svg(state, make_scene(state), theme="dark")
    root = ET.fromstring(text)
    assert "nan" not in text
    markers = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == "#15181c"]
    assert len(markers) == 9
    assert "9 points" in root.find(f"{SVG}title").text


def test_csv_holds_the_points():
    rows = list(csv.reader(io.StringIO(points_csv(STATE))))
    assert rows[0] == ["x", "y", "class"]
    assert np.array(rows[1:], dtype=float)[:, :2] == pytest.approx(STATE.coordinates)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("K", [-0.6, 0.0, 0.6])
def test_the_code_runs_and_has_the_metric(chart, K, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(len(plt.get_fignums())))
    state = replace(STATE, chart=chart, curvature=K)
    names = {}
    exec(compile(plane_code(state), "plane.py", "exec"), names)
    plt.close("all")
    assert shown == [1]
    assert names["metric"] == state.metric


def test_the_code_of_an_empty_plane_runs(capsys):
    exec(compile(plane_code(PlaneState()), "plane.py", "exec"), {})
    assert "without a point" in capsys.readouterr().out


def test_the_offline_page_needs_nothing():
    page = offline_page(replace(STATE, curvature=-0.33))
    assert page.count("<g ") == 42
    assert 'data-k="-0.33"' in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
