"""Notebook cards of metrics, diagrams and estimators."""

import pickle
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import (
    MMC,
    CayleyKleinVoronoi,
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
    MixedMetric,
    ProductMetric,
)
from cayleyklein.geometry import Ellipsoid
from cayleyklein.plotting.cards import html_card, metric_facts, metric_picture
from cayleyklein.plotting.outlines import ball_lattice, inset, sphere_path
from cayleyklein.plotting.sections import choose_section
from cayleyklein.plotting.shapes import GEOMETRY_COLORS, LIGHT, Shape, picture

TILTED = [[1.0, 0.3], [0.3, 0.8]]
POINTS = np.random.default_rng(0).uniform(-0.6, 0.6, size=(12, 2))
X, y = load_iris(return_X_y=True)
CARD = 'class="cayleyklein"'


def picture_of(html):
    """Return the picture as an XML tree, which it must be."""
    found = re.search(r"<svg.*</svg>", html, re.S)
    return None if found is None else ET.fromstring(found[0])


def pieces(html, **wanted):
    """Return how many paths are drawn in elements with some attributes."""
    found = [e for e in elements(html, "path") if all(e.get(k) == v for k, v in wanted.items())]
    return sum(element.get("d").count("M") for element in found)


def elements(html, tag):
    return [element for element in picture_of(html).iter() if element.tag.endswith(tag)]


@pytest.mark.parametrize("K", [-0.8, 0.0, 0.8])
def test_plane_metric(K):
    metric = CurvedMetric(matrix=TILTED, center=[3.0, -2.0], curvature=K)
    html = metric._repr_html_()
    assert f">{metric.geometry}<" in html
    assert "plane of x₁ and x₂" in html
    balls, _ = ball_lattice(metric, None, 5)
    color = GEOMETRY_COLORS[metric.geometry]
    assert pieces(html, fill=color) == pieces(html, stroke=color) == len(balls)
    assert pieces(html, stroke="currentColor") == (K < 0)


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
    section = choose_section(metric, None, "pca")
    t = rng.uniform(-0.5, 0.5, size=(6, 2))
    plane = section.restrict(metric)
    np.testing.assert_allclose(plane.pairwise(t), metric.pairwise(section.embed(t)), atol=1e-9)
    np.testing.assert_allclose(plane.matrix, np.eye(2), atol=1e-12)
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
    assert not re.search(r"nan|inf", " ".join(p.get("d") for p in elements(html, "path")))


def test_stretched_metric_is_shown_in_its_axes():
    assert "principal axes" in metric_picture(CurvedMetric(matrix=[[1.0, 0.0], [0.0, 100.0]]))[1]


def test_low_rank_is_said():
    assert ("dimension", "3, factor of 2 rows") in metric_facts(
        CurvedMetric(factor=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    )


def test_text_is_escaped():
    picture, caption = metric_picture(CurvedMetric.euclidean(2), ["<script>", "a & b"])
    html = html_card("<i>", [("<u>", "<s>")], picture, caption)
    assert not re.search(r"<(script|i|u|s)>", html)
    assert "&lt;script&gt; and a &amp; b" in html
    assert picture_of(html).get("aria-label").endswith("<script> and a & b")


def test_colors_follow_the_page():
    html = CurvedMetric.euclidean(2, curvature=-1.0)._repr_html_()
    assert "currentColor" in html
    assert not re.search(r"background|(white|black)[;\"]", html)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("order", [1, 2])
def test_plane_diagram(K, order):
    diagram = CayleyKleinVoronoi(POINTS, CurvedMetric.euclidean(2, curvature=K), order=order)
    html = diagram._repr_html_()
    assert pieces(html, fill="currentColor") == len(POINTS)
    assert pieces(html, stroke="currentColor") == len(diagram.ridge_segments()[1]) + (K < 0)
    assert f">{len(diagram.cell_generators)}, " in html


def test_labels_colour_the_cells():
    labels = np.where(POINTS[:, 0] > 0, "<b>", "a")
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    html = CayleyKleinVoronoi(POINTS, metric, labels=labels)._repr_html_()
    a, b = (pieces(html, fill=LIGHT[f"class{i}"]) for i in (0, 1))
    assert (a, b) == ((labels == "<b>").sum(), (labels == "a").sum())
    assert "2 labels" in html


def test_duplicates_are_said_and_space_has_no_picture():
    points = np.vstack([np.eye(3), np.eye(3)[:1], -np.eye(3)])
    html = CayleyKleinVoronoi(points, CurvedMetric.euclidean(3))._repr_html_()
    assert "<svg" not in html
    assert "only for diagrams of the plane" in html
    assert ">duplicates</th>" in html


def shown(estimator):
    """Return what a notebook shows; both ways to ask have the same answer, but for ids."""
    html = estimator._repr_mimebundle_()["text/html"]
    assert html.count("<svg") == estimator._repr_html_().count("<svg")
    return html


def test_learner_shows_diagram_metric_and_what_was_chosen():
    model = CurvedKNeighborsClassifier(random_state=0).fit(X, y)
    html = shown(model)
    assert "sk-top-container" in html
    assert CARD in html
    selection = model.selection_
    chosen = {trial.name: trial for trial in selection.trials}[selection.chosen]
    assert str(chosen) in html
    assert selection.reason in html
    assert CARD in shown(pickle.loads(pickle.dumps(model)))
    assert CARD in shown(model.learner_)


def test_classifier_shows_alpha():
    model = CurvedKNeighborsClassifier(geometry="mixed", random_state=0).fit(X, y)
    assert model.selection_.chosen in shown(model)


def test_nothing_was_chosen_in_one_geometry():
    assert "held-out" not in shown(CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y))


@pytest.mark.parametrize("d", [2, 4])
def test_a_product_shows_its_parts(d):
    parts = [CurvedMetric.euclidean(d, K) for K in (0.09, 1.0, 0.0)]
    html = ProductMetric(parts, [0.5, 1.0, 2.0])._repr_html_()
    assert html.count("<svg") == 1 + len(parts)
    for text in ("elliptic, K = 0.09, unit 0.5", "elliptic, K = 1, unit 1", "flat, K = 0, unit 2"):
        assert text in html


@pytest.mark.parametrize(
    "estimator",
    [
        MMC(),
        CurvedNeighbors(metric=CurvedMetric.euclidean(4, curvature=1e-3)),
        CurvedLMNN(margin="3"),
    ],
)
def test_before_the_fit_there_is_only_the_diagram(estimator):
    assert CARD not in shown(estimator)


def test_others_show_their_metric_too():
    assert CARD in shown(MMC().fit(X[::5], y[::5]))
    assert CARD in shown(CurvedNeighbors().fit(X))


def test_names_of_columns_are_escaped():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["<b>", "w"])
    assert "the plane of &lt;b&gt; and w" in shown(CurvedNeighbors().fit(table))


def test_text_display_is_respected():
    learner = MMC().fit(X[::5], y[::5])
    with config_context(display="text"):
        assert "text/html" not in learner._repr_mimebundle_()
        assert not hasattr(learner, "_repr_html_")


@pytest.mark.parametrize("learner", [MMC(), CurvedLMNN(geometry="flat", random_state=0)])
def test_a_pipeline_shows_the_card_in_its_step(learner):
    pipeline = make_pipeline(StandardScaler(), learner)
    before = pipeline._repr_html_()
    assert type(learner).__name__ in before
    assert CARD not in before
    after = pipeline.fit(X[::5], y[::5])._repr_html_()
    assert after.count(CARD) == 1
    assert shown(learner).count(CARD) == 1


def test_points_outside_a_conic_move_inside():
    disc = Ellipsoid([0.0, 0.0], np.eye(2))
    moved = inset(disc, np.array([[0.3, 0.0], [0.0, 2.0]]), 0.25)
    np.testing.assert_allclose(moved, [[0.3, 0.0], [0.0, 0.75]])


def test_a_drawing_is_upside_down_and_has_a_margin():
    line = Shape("line", np.array([[0.0, 0.0], [1.0, 0.5]]))
    drawn = picture([line], np.array([[0.0, 0.0], [1.0, 1.0]]), 108, "a line")
    assert drawn.partition("</title>")[2].startswith(
        '<path d="M4.0 104.0L104.0 54.0" fill="none" stroke="currentColor"'
    )
