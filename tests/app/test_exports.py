"""Exports: pictures, tables and code of a state."""

import csv
import io
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from cayleyklein.app._exports import EXPORTS, offline_page, picture, plane_code, points_csv
from cayleyklein.app._state import CHARTS, LAYERS, MAX_POINTS, Generator, PlaneState, scatter

STATE = PlaneState(points=scatter(9, seed=2), shown=frozenset(LAYERS), order=2, turn=40, tilt=20)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("K", [-0.6, 0.0, 0.6])
def test_the_picture_of_every_view(chart, K):
    drawn = picture(replace(STATE, chart=chart, curvature=K), "dark")
    assert "nan" not in drawn
    assert "9 points" in ET.fromstring(drawn).find(f"{SVG}title").text


def test_the_code_draws_the_diagram_that_is_shown():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    outside = replace(STATE, points=(*STATE.points, Generator(9.0, 9.0)), curvature=-0.6, order=3)
    names = {}
    exec(compile(plane_code(outside), "plane.py", "exec"), names)
    pyplot.close("all")
    assert np.allclose(names["metric"].matrix, outside.metric.matrix)
    assert names["diagram"].points == pytest.approx(STATE.coordinates)
    assert names["diagram"].order == 3


def test_csv_names_classes_as_the_page_does():
    rows = list(csv.reader(io.StringIO(points_csv(STATE))))
    assert rows[0] == ["x", "y", "class"]
    assert [row[2] for row in rows[1:]] == ["ABC"[label] for label in STATE.labels]
    assert np.array([row[:2] for row in rows[1:]], float) == pytest.approx(STATE.coordinates)


def test_the_offline_page_needs_nothing():
    page = offline_page(replace(STATE, curvature=-0.33))
    assert page.count("<g ") == 42
    assert 'data-k="-0.33"' in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_files_of_the_largest_scene_are_bounded():
    large = PlaneState(points=scatter(MAX_POINTS, seed=0), shown=frozenset(LAYERS))
    before = time.process_time()
    for name, (_, make) in EXPORTS.items():
        assert len(make(large, "light")) < 8_000_000, name
    assert time.process_time() - before < 15
