import numpy as np
import pytest
from hypothesis import given
from tests.strategies import metrics_with_points, near_the_pole

from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import (
    apply_collineation,
    bisector,
    distance,
    reflection,
    transvection,
)
from cayleyklein.metrics import CurvedMetric


@given(metrics_with_points(4))
def test_carries_p_to_q_and_keeps_distances(case):
    metric, points = case
    p, q, r, s = near_the_pole(metric, points)
    tolerance = {"rtol": 1e-6, "atol": 1e-6 * max(1, float(np.abs([p, q]).max()))}
    before = float(distance(r, s, metric))
    for make in (transvection, reflection):
        H = make(p, q, metric)
        moved = apply_collineation(H, np.stack([p, r, s]))
        np.testing.assert_allclose(moved[0], q, **tolerance)
        after = float(distance(moved[1], moved[2], metric))
        assert after == pytest.approx(before, rel=1e-5, abs=1e-9)
    H = reflection(p, q, metric)
    np.testing.assert_allclose(apply_collineation(H, q), p, **tolerance)


def test_transvection_keeps_the_form():
    metric = CurvedMetric(factor=[[1.0, 0.3], [0.0, 2.0]], center=[0.5, -0.2], curvature=-0.3)
    H = transvection([0.4, 0.1], [0.9, 0.2], metric)
    S = metric.absolute.matrix
    np.testing.assert_allclose(H.T @ S @ H, S, atol=1e-13)
    assert np.linalg.det(H) == pytest.approx(1)
    assert np.linalg.det(reflection([0.4, 0.1], [0.9, 0.2], metric)) == pytest.approx(-1)


def test_reflection_fixes_the_bisector():
    metric = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    p, q = [0.1, 0.3], [-0.4, 0.2]
    plane = bisector(p, q, metric)
    on_it = -plane.offset * plane.normal / (plane.normal @ plane.normal)
    np.testing.assert_allclose(
        apply_collineation(reflection(p, q, metric), on_it), on_it, atol=1e-15
    )


def test_refusals():
    disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    with pytest.raises(InvalidInputError, match="coincide"):
        reflection([0.1, 0.1], [0.1, 0.1], disc)
    with pytest.raises(OutsideDomainError, match="q lies on or outside"):
        transvection([0.1, 0.1], [1.1, 0.1], disc)
    with pytest.raises(NotRepresentableError, match="no inverse"):
        transvection([0.1, 0.1], [0.2, 0.1], CurvedMetric(factor=[[1.0, 0.0]], curvature=-1.0))
    with pytest.raises(InvalidInputError, match="overflows for p and q"):
        reflection([1e200], [-1e200], CurvedMetric(factor=[[1.0]]))
    with pytest.raises(NotRepresentableError, match="opposite points"):
        transvection([1e100], [-1e100], CurvedMetric(factor=[[1.0]], curvature=1.0))
