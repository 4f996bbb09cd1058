"""What a notebook shows of learners and classifiers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import MMC, CurvedKNeighborsClassifier, CurvedLMNN, CurvedMetric, CurvedNeighbors

X, y = load_iris(return_X_y=True)


def shown(estimator):
    """Return what a notebook shows; both ways to ask have the same answer, but for ids."""
    html = estimator._repr_mimebundle_()["text/html"]
    assert html.count("<svg") == estimator._repr_html_().count("<svg")
    return html


def test_learner_shows_diagram_metric_and_accuracy():
    learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    html = shown(learner)
    assert "sk-top-container" in html
    assert 'class="cayleyklein"' in html
    chosen = {trial.name: trial for trial in learner.selection_.trials}[learner.selection_.chosen]
    assert f"{chosen.accuracy:.3f} on {chosen.n_rows} held-out rows" in html
    assert 'class="cayleyklein"' in shown(pickle.loads(pickle.dumps(learner)))


def test_classifier_shows_alpha():
    learner = CurvedLMNN(geometry="mixed", alpha=0.25, random_state=0)
    html = shown(CurvedKNeighborsClassifier(learner=learner).fit(X, y))
    assert "share α of the elliptic part</th>" in html
    assert ">0.25<" in html
    assert "held-out" not in html  # nothing was chosen


@pytest.mark.parametrize(
    "estimator",
    [MMC(), CurvedNeighbors(CurvedMetric.euclidean(4, curvature=1e-3)), CurvedLMNN("3")],
)
def test_before_the_fit_there_is_only_the_diagram(estimator):
    assert 'class="cayleyklein"' not in shown(estimator)


def test_others_show_their_metric_too():
    assert 'class="cayleyklein"' in shown(MMC().fit(X[::5], y[::5]))
    assert 'class="cayleyklein"' in shown(CurvedNeighbors().fit(X))


def test_names_of_columns_are_escaped():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["<b>", "w"])
    assert "the plane of &lt;b&gt; and w" in shown(CurvedNeighbors().fit(table))


def test_text_display_is_respected():
    learner = MMC().fit(X[::5], y[::5])
    with config_context(display="text"):
        assert "text/html" not in learner._repr_mimebundle_()
        assert not hasattr(learner, "_repr_html_")


def test_inside_a_pipeline_the_diagram_is_scikit_learns():
    pipeline = make_pipeline(StandardScaler(), MMC()).fit(X[::5], y[::5])
    assert "MMC" in pipeline._repr_html_()
