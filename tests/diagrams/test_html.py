"""What a notebook shows of a diagram."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cayleyklein import CayleyKleinVoronoi, CurvedMetric

POINTS = np.random.default_rng(0).uniform(-0.6, 0.6, size=(12, 2))


def elements(html, tag):
    tree = ET.fromstring(re.search(r"<svg.*</svg>", html, re.S)[0])
    return [element for element in tree.iter() if element.tag.endswith(tag)]


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("order", [1, 2])
def test_plane_diagram(K, order):
    diagram = CayleyKleinVoronoi(POINTS, CurvedMetric.euclidean(2, curvature=K), order=order)
    html = diagram._repr_html_()
    assert len(elements(html, "circle")) == len(POINTS)
    assert len(elements(html, "path")) == len(diagram.ridge_segments()[1]) + (K < 0)
    assert f">{len(diagram.cell_generators)}, " in html


def test_labels_colour_the_cells():
    labels = np.where(POINTS[:, 0] > 0, "<b>", "a")
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    html = CayleyKleinVoronoi(POINTS, metric, labels=labels)._repr_html_()
    filled = [path for path in elements(html, "path") if path.get("fill") != "none"]
    assert len(filled) == len(POINTS)
    assert len({path.get("fill") for path in filled}) == 2
    assert "2 labels" in html


def test_duplicates_are_said_and_space_has_no_picture():
    points = np.vstack([np.eye(3), np.eye(3)[:1], -np.eye(3)])
    html = CayleyKleinVoronoi(points, CurvedMetric.euclidean(3))._repr_html_()
    assert "<svg" not in html
    assert "not of the plane" in html
    assert ">duplicates</th>" in html
