"""What a notebook shows of metrics."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cayleyklein import CurvedMetric, MixedMetric
from cayleyklein.metrics._html import card, metric_facts, metric_picture
from cayleyklein.metrics._sections import principal_section
from cayleyklein.metrics._spheres import ball_lattice, sphere_path

TILTED = [[1.0, 0.3], [0.3, 0.8]]


def picture_of(html):
    """Return the picture as an XML tree, which it must be."""
    found = re.search(r"<svg.*</svg>", html, re.S)
    return None if found is None else ET.fromstring(found[0])


def paths(tree):
    return [element for element in tree.iter() if element.tag.endswith("path")]


@pytest.mark.parametrize("K", [-0.8, 0.0, 0.8])
def test_plane_metric(K):
    metric = CurvedMetric(shape=TILTED, center=[3.0, -2.0], curvature=K)
    html = metric._repr_html_()
    assert f">{metric.geometry}<" in html
    assert "plane of x₁ and x₂" in html
    balls, _ = ball_lattice(metric, None, 5)
    assert len(paths(picture_of(html))) == len(balls) + (K < 0)


def test_mixed_metric_names_its_parts():
    metric = MixedMetric([CurvedMetric.euclidean(3, K) for K in (0.5, -2.0)], [0.25, 0.75])
    html = metric._repr_html_()
    assert "elliptic, K = 0.5" in html
    assert "hyperbolic, K = −2" in html
    assert "first part" in html
    assert picture_of(html) is not None


def test_principal_section_shows_the_metric_at_its_center():
    rng = np.random.default_rng(0)
    metric = CurvedMetric(factor=rng.normal(size=(5, 5)), center=rng.normal(size=5), curvature=-0.3)
    section = principal_section(metric)
    t = rng.uniform(-0.5, 0.5, size=(6, 2))
    plane = section.restrict(metric)
    np.testing.assert_allclose(plane.pairwise(t), metric.pairwise(section.embed(t)), atol=1e-9)
    np.testing.assert_allclose(plane.shape, np.eye(2), atol=1e-12)
    lengths = np.linalg.svd(metric.factor)[1]
    assert np.isclose(np.linalg.norm(section.basis[:, 0]), 1 / lengths[0])
    # the outline that is drawn is the ball's
    outline, _ = sphere_path(plane, np.array([0.2, 0.1]), 0.3, 16)
    center, edge = section.embed(np.array([0.2, 0.1])), section.embed(outline)
    np.testing.assert_allclose(metric.distance(center, edge), 0.3, rtol=1e-9)


@pytest.mark.parametrize(
    "metric",
    [
        CurvedMetric.euclidean(1, curvature=-1.0),
        CurvedMetric(factor=[[1.0, 2.0, 3.0]], curvature=1.0),
        CurvedMetric(factor=np.outer([1.0, 2.0], [1.0, 1.0])),
    ],
)
def test_a_line_has_facts_but_no_picture(metric):
    html = metric._repr_html_()
    assert picture_of(html) is None
    assert "dimension" in html


@pytest.mark.parametrize("K", [-1e12, -1e-12, 0.0, 1e-12, 1e12])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_extreme_metrics_have_finite_pictures(K, scale):
    factor = scale * np.array([[1.0, 0.2, 0.0], [0.0, 1e-3, 0.0], [0.0, 0.0, 1.0]])
    html = CurvedMetric(factor=factor, center=[1e3, 0.0, -1e3], curvature=K)._repr_html_()
    tree = picture_of(html)
    assert tree is not None
    assert not re.search(r"nan|inf", " ".join(path.get("d") for path in paths(tree)))


def test_stretched_metric_is_shown_in_its_axes():
    assert "principal axes" in metric_picture(CurvedMetric(shape=[[1.0, 0.0], [0.0, 100.0]]))[1]


def test_low_rank_is_said():
    assert ("dimension", "3, factor of 2 rows") in metric_facts(
        CurvedMetric(factor=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    )


def test_text_is_escaped():
    picture, caption = metric_picture(CurvedMetric.euclidean(2), ["<script>", "a & b"])
    html = card("<i>", [("<u>", "<s>")], picture, caption)
    assert not re.search(r"<(script|i|u|s)>", html)
    assert "&lt;script&gt; and a &amp; b" in html
    assert picture_of(html).get("aria-label").endswith("<script> and a & b")


def test_colors_follow_the_page():
    html = CurvedMetric.euclidean(2, curvature=-1.0)._repr_html_()
    assert "currentColor" in html
    assert not re.search(r"background|(white|black)[;\"]", html)
