"""Pictures of metrics whose domain is no ellipsoid: what can be drawn, and why the rest cannot."""

import numpy as np
import pytest

from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric, FormMetric
from cayleyklein.exceptions import NotRepresentableError
from cayleyklein.plotting import DecisionBoundaryDisplay, MetricDisplay

TWO_SHEETS = FormMetric.from_form(np.diag([1.0, -1.0, 1.0]))


def rows(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) * [1.0, 0.3] + [0.0, 4.0]
    return X, (X[:, 0] > 0).astype(int)


def test_decision_regions():
    X, y = rows()
    model = CurvedKNeighborsClassifier(3, metric=TWO_SHEETS).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X)
    assert display.domains == ()


def test_the_card_of_a_metric_without_a_picture_has_its_facts():
    card = TWO_SHEETS._repr_html_()
    assert "hyperbolic" in card
    assert "<svg" not in card


def test_a_plane_that_meets_the_domain_in_no_ellipse_is_refused():
    X, y = rows()
    model = CurvedKNeighborsClassifier(3, metric=TWO_SHEETS).fit(X, y)
    with pytest.raises(NotRepresentableError, match='domain="ellipsoid"'):
        MetricDisplay.from_estimator(model, X)


def test_a_plane_that_meets_it_in_an_ellipse_is_drawn():
    """In the plane z = 5 the domain x² + y² + 1 < z² is a disc of radius √24."""
    metric = FormMetric.from_form(np.diag([1.0, 1.0, -1.0, 1.0]))
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(30, 2)), np.full(30, 5.0)])
    model = CurvedKNeighborsClassifier(3, metric=metric).fit(X, (X[:, 0] > 0).astype(int))
    display = MetricDisplay.from_estimator(model, X, features=(0, 1))
    assert isinstance(display.metric, CurvedMetric)
    assert display.metric.curvature == pytest.approx(-1.0)
    p, q = X[:2]
    assert display.metric(p[:2], q[:2]) == pytest.approx(metric(p, q))
    assert display.metric.domain.semi_axes == pytest.approx([np.sqrt(24)] * 2)
