import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import CHARTS, from_chart, to_chart
from cayleyklein.geometry.distances import distance


def klein_points(sign, d, n=40):
    rng = np.random.default_rng(d)
    w = rng.normal(size=(n, d))
    return w * rng.uniform(0, 0.999, size=(n, 1)) / np.linalg.norm(w, axis=1, keepdims=True)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(("chart", "sign"), [(c, s) for c in CHARTS for s in CHARTS[c]])
def test_round_trip(chart, sign, d):
    w = klein_points(sign, d)
    y = to_chart(w, chart, sign)
    np.testing.assert_allclose(from_chart(y, chart, sign), w, rtol=1e-9, atol=1e-12)
    assert to_chart(w.astype(np.float32), "klein", sign).dtype == np.float32


def hyperbolic_distances(d):
    w = klein_points(-1, d)
    return w, distance(w[:-1], w[1:], CurvedMetric(factor=np.eye(d), curvature=-1.0))


@pytest.mark.parametrize("d", [2, 5])
def test_each_chart_carries_its_own_known_distance(d):
    w, expected = hyperbolic_distances(d)
    X = to_chart(w, "hyperboloid", -1)
    minkowski = X[:-1, -1] * X[1:, -1] - np.einsum("ij,ij->i", X[:-1, :-1], X[1:, :-1])
    np.testing.assert_allclose(np.cosh(expected), minkowski, rtol=1e-9)

    y = to_chart(w, "conformal", -1)
    sq = ((y[:-1] - y[1:]) ** 2).sum(1)
    norm = 1 - (y**2).sum(1)
    np.testing.assert_allclose(np.cosh(expected), 1 + 2 * sq / (norm[:-1] * norm[1:]), rtol=1e-9)

    h = to_chart(w, "half_space", -1)
    sq = ((h[:-1] - h[1:]) ** 2).sum(1)
    np.testing.assert_allclose(np.cosh(expected), 1 + sq / (2 * h[:-1, -1] * h[1:, -1]), rtol=1e-9)
    assert (h[:, -1] > 0).all()


def test_sphere_and_stereographic():
    w = klein_points(1, 3) * 5
    X = to_chart(w, "sphere", 1)
    np.testing.assert_allclose((X**2).sum(1), 1, rtol=1e-14)
    expected = distance(w[:-1], w[1:], CurvedMetric(factor=np.eye(3), curvature=1.0))
    np.testing.assert_allclose(np.cos(expected), (X[:-1] * X[1:]).sum(1), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(to_chart(w, "conformal", 1), X[:, :-1] / (1 + X[:, -1:]), rtol=1e-12)


def test_refusals():
    with pytest.raises(NotRepresentableError, match="elliptic space has no 'half_space' chart"):
        to_chart([0.0, 0.0], "half_space", 1)
    with pytest.raises(InvalidInputError, match="Got chart='mercator'"):
        to_chart([0.0, 0.0], "mercator", 1)
    with pytest.raises(OutsideDomainError, match="w at index 1 lies outside the chart"):
        to_chart([[0.0, 0.0], [1.0, 0.0]], "conformal", -1)
    with pytest.raises(OutsideDomainError, match="last coordinate > 0"):
        from_chart([0.0, -1.0], "half_space", -1)
    with pytest.raises(OutsideDomainError, match="a point of the hyperboloid"):
        from_chart([0.0, 2.0], "hyperboloid", -1)
    with pytest.raises(OutsideDomainError, match="‖y‖ < 1"):
        from_chart([1.0, 0.0], "conformal", -1)
    for chart in ("sphere", "conformal"):  # where 1e200 was sent to the origin
        with pytest.raises(InvalidInputError, match="‖w‖² overflows for w"):
            to_chart([1e200, 0.0], chart, 1)
    with pytest.raises(InvalidInputError, match="‖y‖² overflows for y at index 1"):
        from_chart([[0.0, 1.0], [0.0, 1e200]], "half_space", -1)


@pytest.mark.parametrize("sign", [5, 0.5, "1"])
def test_bad_signs(sign):
    with pytest.raises(InvalidInputError, match="sign"):
        to_chart([0.0, 0.0], "klein", sign)
    with pytest.raises(InvalidInputError, match="sign"):
        from_chart([0.0, 0.0], "klein", sign)
