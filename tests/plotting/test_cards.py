"""Notebook cards of metrics, diagrams and estimators."""

import base64
import io
import pickle
import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
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
from cayleyklein.plotting import GEOMETRY_COLORS, choose_section
from cayleyklein.plotting._cards import card

TILTED = [[1.0, 0.3], [0.3, 0.8]]
POINTS = np.random.default_rng(0).uniform(-0.6, 0.6, size=(12, 2))
X, y = load_iris(return_X_y=True)
CARD = 'class="cayleyklein"'


def picture_of(html):
    """Return the pixels of the picture, or None."""
    found = re.search(r'<img [^>]*src="data:image/png;base64,([^"]*)"', html)
    return None if found is None else plt.imread(io.BytesIO(base64.b64decode(found[1])))


@pytest.mark.parametrize("K", [-0.8, 0.0, 0.8])
def test_plane_metric(K):
    metric = CurvedMetric(matrix=TILTED, center=[3.0, -2.0], curvature=K)
    html = metric._repr_html_()
    assert f">{metric.geometry}<" in html
    color = to_rgb(GEOMETRY_COLORS[metric.geometry])
    assert (np.abs(picture_of(html)[..., :3] - color).max(axis=-1) < 0.1).sum() > 100
    assert html == metric._repr_html_()


def test_mixed_metric_names_its_parts():
    metric = MixedMetric([CurvedMetric.euclidean(3, K) for K in (0.5, -2.0)], [0.25, 0.75])
    html = metric._repr_html_()
    assert "elliptic, K = 0.5" in html
    assert "hyperbolic, K = −2" in html
    assert picture_of(html) is not None


def test_without_rows_the_section_is_that_of_the_longest_axes():
    rng = np.random.default_rng(0)
    metric = CurvedMetric(factor=rng.normal(size=(5, 5)), center=rng.normal(size=5), curvature=-0.3)
    section = choose_section(metric, None, None)
    t = rng.uniform(-0.5, 0.5, size=(6, 2))
    plane = section.restrict(metric)
    np.testing.assert_allclose(plane.pairwise(t), metric.pairwise(section.embed(t)), atol=1e-9)
    np.testing.assert_allclose(plane.matrix, np.eye(2), atol=1e-12)
    lengths = np.linalg.svd(metric.factor)[1]
    assert np.isclose(np.linalg.norm(section.basis[:, 0]), 1 / lengths[0])


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
def test_extreme_metrics_have_pictures(K, scale):
    factor = scale * np.array([[1.0, 0.2, 0.0], [0.0, 1e-3, 0.0], [0.0, 0.0, 1.0]])
    html = CurvedMetric(factor=factor, center=[1e3, 0.0, -1e3], curvature=K)._repr_html_()
    assert picture_of(html) is not None


def test_low_rank_is_said():
    metric = CurvedMetric(factor=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert "3, factor of 2 rows" in metric._repr_html_()


def test_text_is_escaped():
    assert not re.search(r"<(script|i|u)>", card("<i>", [("<u>", "<script>")], ""))


def test_without_matplotlib_there_are_facts(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    html = CurvedMetric.euclidean(2)._repr_html_()
    assert "dimension" in html
    assert "<img" not in html


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("order", [1, 2])
def test_plane_diagram(K, order):
    diagram = CayleyKleinVoronoi(POINTS, CurvedMetric.euclidean(2, curvature=K), order=order)
    html = diagram._repr_html_()
    assert picture_of(html) is not None
    assert f">{len(diagram.cell_generators)}, " in html


def test_duplicates_are_said_and_space_has_no_picture():
    points = np.vstack([np.eye(3), np.eye(3)[:1], -np.eye(3)])
    html = CayleyKleinVoronoi(
        points, CurvedMetric.euclidean(3), labels=list("abababa")
    )._repr_html_()
    assert "<img" not in html
    assert "2 labels" in html
    assert ">duplicates</th>" in html


def shown(estimator):
    """Return what a notebook shows; both ways to ask have the same answer, but for ids."""
    html = estimator._repr_mimebundle_()["text/html"]
    assert html.count("<img") == estimator._repr_html_().count("<img")
    return html


def test_learner_shows_diagram_metric_and_what_was_chosen():
    learner = CurvedLMNN(random_state=0).fit(X, y)
    html = shown(learner)
    assert "sk-top-container" in html
    assert CARD in html
    selection = learner.selection_
    chosen = {trial.name: trial for trial in selection.trials}[selection.chosen]
    assert chosen.scores in html
    assert selection.reason in html
    assert CARD in shown(pickle.loads(pickle.dumps(learner)))


def test_classifier_shows_alpha():
    model = CurvedKNeighborsClassifier(geometry="mixed", random_state=0).fit(X, y)
    assert model.learner_.selection_.chosen in shown(model)


def test_nothing_was_chosen_in_one_geometry():
    assert "held-out" not in shown(CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y))


@pytest.mark.parametrize("d", [2, 4])
def test_a_product_shows_its_parts(d):
    parts = [CurvedMetric.euclidean(d, K) for K in (0.09, 1.0, 0.0)]
    html = ProductMetric(parts, [0.5, 1.0, 2.0])._repr_html_()
    assert picture_of(html) is not None
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


def test_columns_may_have_any_names():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["<b>", "$w"])
    assert picture_of(shown(CurvedNeighbors().fit(table))) is not None


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
