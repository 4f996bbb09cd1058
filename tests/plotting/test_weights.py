"""Bars of feature weights."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.plotting import FeatureWeightsDisplay

X, y = load_wine(return_X_y=True, as_frame=True)


def test_bars_start_at_zero_and_are_sorted():
    metric = CurvedMetric.mahalanobis(X)
    display = FeatureWeightsDisplay.from_metric(metric, X).plot(top=5)
    np.testing.assert_allclose(display.weights, metric.feature_weights(X))
    lengths = [bar.get_width() for bar in display.bars_]
    assert lengths == sorted(display.weights, reverse=True)[:5]
    assert all(bar.get_x() == 0 for bar in display.bars_)
    assert display.ax_.get_xlim()[0] == 0
    top = display.ax_.get_yticklabels()[0].get_text()
    assert top == X.columns[display.weights.argmax()]
    assert display.ax_.yaxis_inverted()
    assert "5 of 13 columns" in display.ax_.get_xlabel()


def test_at_most_twenty_bars_in_given_axes():
    _, ax = plt.subplots()
    ax.set_xlabel("mine")
    display = FeatureWeightsDisplay.from_metric(CurvedMetric.euclidean(30)).plot(ax)
    assert display.ax_ is ax
    assert len(display.bars_) == 20
    assert ax.get_xlabel() == "mine"


def test_estimator_and_pipeline_have_their_names():
    model = CurvedKNeighborsClassifier(5, geometry="flat", random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(pipeline, X)
    assert list(display.names) == list(X.columns)
    rows = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(display.weights, model.metric_.feature_weights(rows))
    # the card of the classifier, which knows its rows, has bars for the largest of them
    card = model._repr_html_()
    assert card.count("<rect") == 5
    assert "x₁" in card


def test_without_a_metric():
    with pytest.raises(InvalidInputError, match="has no metric"):
        FeatureWeightsDisplay.from_estimator(StandardScaler().fit(X), X)
