import numpy as np
import pytest
from hypothesis import given
from tests.strategies import metrics_with_points, near_the_pole

from cayleyklein.exceptions import NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import apply_collineation
from cayleyklein.geometry.geodesics import transvection
from cayleyklein.metrics import CurvedMetric


@given(metrics_with_points(4))
def test_carries_p_to_q_and_keeps_distances(case):
    metric, points = case
    p, q, r, s = near_the_pole(metric, points)
    tolerance = {"rtol": 1e-6, "atol": 1e-6 * max(1, float(np.abs([p, q]).max()))}
    before = float(metric.distance(r, s))
    moved = apply_collineation(transvection(p, q, metric), np.stack([p, r, s]))
    np.testing.assert_allclose(moved[0], q, **tolerance)
    after = float(metric.distance(moved[1], moved[2]))
    assert after == pytest.approx(before, rel=1e-5, abs=1e-9)


def test_transvection_keeps_the_form():
    metric = CurvedMetric(factor=[[1.0, 0.3], [0.0, 2.0]], center=[0.5, -0.2], curvature=-0.3)
    H = transvection([0.4, 0.1], [0.9, 0.2], metric)
    S = metric.absolute.matrix
    np.testing.assert_allclose(H.T @ S @ H, S, atol=1e-13)
    assert np.linalg.det(H) == pytest.approx(1)


def test_close_points_next_to_the_boundary():
    """Entries of 1e6 that cancel to the identity matrix."""
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    p, q = np.tanh(7.0) * np.array([[1.0, 0.0], [np.cos(1e-6), np.sin(1e-6)]])
    moved = apply_collineation(transvection(p, q, disc), p)
    assert disc(moved, q) < 1e-8
    np.testing.assert_allclose(transvection(p, p, disc), np.eye(3), atol=1e-15)


def test_refusals():
    disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    with pytest.raises(OutsideDomainError, match="q lies on or outside"):
        transvection([0.1, 0.1], [1.1, 0.1], disc)
    with pytest.raises(NotRepresentableError, match="no inverse"):
        transvection([0.1, 0.1], [0.2, 0.1], CurvedMetric(factor=[[1.0, 0.0]], curvature=-1.0))
    with pytest.raises(NotRepresentableError, match="opposite points"):
        transvection([1e100], [-1e100], CurvedMetric(factor=[[1.0]], curvature=1.0))
