import mpmath
import numpy as np
import pytest
from tests.oracle import vector

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import CHARTS, chart_distance, from_chart, to_chart
from cayleyklein.geometry.charts import from_polar, surface_points


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
    return w, CurvedMetric(factor=np.eye(d), curvature=-1.0).distance(w[:-1], w[1:])


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
    expected = CurvedMetric(factor=np.eye(3), curvature=1.0).distance(w[:-1], w[1:])
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


# -- distances in a chart ------------------------------------------------------------------


def true_distance(p, q, chart, sign=-1):
    """The textbook formula of each chart, in 60 digits."""
    p, q = vector(p), vector(q)
    square = mpmath.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True))
    if chart == "hyperboloid":
        p, q = p[:-1], q[:-1]
        times = mpmath.sqrt((1 + mpmath.fdot(p, p)) * (1 + mpmath.fdot(q, q)))
        return mpmath.acosh(times - mpmath.fdot(p, q))
    if chart == "sphere":
        return mpmath.acos(mpmath.fdot(p, q) / mpmath.sqrt(mpmath.fdot(p, p) * mpmath.fdot(q, q)))
    if chart in ("half_space", "hemisphere"):
        a, b = 2 * p[-1], 2 * q[-1]
    else:
        a, b = 1 + sign * mpmath.fdot(p, p), 1 + sign * mpmath.fdot(q, q)
    half = mpmath.sqrt(square / (a * b))
    return 2 * (mpmath.asinh(half) if sign < 0 else mpmath.asin(half))


def pairs_at(radius, chart, n=40):
    """Pairs at a radius, far from each other, close, and on one ray."""
    rng = np.random.default_rng(int(radius))
    u = rng.normal(size=(n, 3))
    turn = np.exp(-rng.uniform(0, radius, size=(n, 1)))
    v = np.where(np.arange(n)[:, None] % 4 == 0, u, u + turn * rng.normal(size=(n, 3)))
    u, v = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (u, v))
    r = radius * rng.uniform(0.9, 1.0, size=(2, n, 1))
    r[1, ::5] = r[0, ::5] * (1 + 1e-9)
    if chart == "poincare":
        return [np.tanh(a / 2) * x for a, x in zip(r, (u, v), strict=True)]
    if chart == "hyperboloid":
        return [np.hstack([np.sinh(a) * x, np.cosh(a)]) for a, x in zip(r, (u, v), strict=True)]
    if chart == "hemisphere":
        return [np.hstack([np.tanh(a) * x, 1 / np.cosh(a)]) for a, x in zip(r, (u, v), strict=True)]
    return [np.hstack([x[:, :2], np.exp(-a)]) for a, x in zip(r, (u, v), strict=True)]


@pytest.mark.parametrize("radius", [1.0, 5.0, 10.0, 16.0, 20.0, 25.0, 30.0])
@pytest.mark.parametrize("chart", ["poincare", "half_space", "hyperboloid", "hemisphere"])
def test_distances_in_a_chart_are_exact_at_every_radius(chart, radius):
    p, q = pairs_at(radius, chart)
    truth = np.array([float(true_distance(*pair, chart)) for pair in zip(p, q, strict=True)])
    np.testing.assert_allclose(chart_distance(p, q, chart), truth, rtol=2e-14)
    np.testing.assert_allclose(chart_distance(p, q, chart, curvature=-4.0), truth / 2, rtol=2e-14)


def test_distances_at_the_centre_and_of_equal_points():
    for chart, centre in (("hyperboloid", [0.0, 0.0, 1.0]), ("poincare", [0.0, 0.0])):
        assert chart_distance(centre, centre, chart) == 0
    far = [np.sinh(3.0), 0.0, np.cosh(3.0)]
    assert chart_distance([0.0, 0.0, 1.0], far, "hyperboloid") == pytest.approx(3, rel=1e-15)
    assert chart_distance(far, far, "hyperboloid") == 0
    tiny = 1e-200
    assert chart_distance([tiny, 0.0, 1.0], [0.0, tiny, 1.0], "hyperboloid") == pytest.approx(
        np.sqrt(2) * tiny, rel=1e-14
    )


def test_distances_on_the_sphere_next_to_equal_and_to_antipodal_points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X[:, -1] = np.abs(X[:, -1]) * 1e-6
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.where(np.arange(30)[:, None] < 15, X, X * [-1.0, -1.0, 1.0])
    Y = Y + 1e-7 * rng.normal(size=Y.shape) * [1, 1, 0]
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    flat = [x[:, :-1] / (1 + x[:, -1:]) for x in (X, Y)]
    for chart, (p, q) in (("sphere", (X, Y)), ("conformal", flat)):
        truth = [float(true_distance(*pair, chart, 1)) for pair in zip(p, q, strict=True)]
        found = chart_distance(p, q, chart, curvature=1.0)
        np.testing.assert_allclose(found, truth, rtol=1e-8, atol=1e-15)
        np.testing.assert_allclose(found[15:], truth[15:], rtol=1e-15)
    w = klein_points(0, 3)
    np.testing.assert_allclose(
        chart_distance(w[0] / 2, w[1:] / 2, "conformal", curvature=0.0),
        np.linalg.norm(w[0] - w[1:], axis=1),
    )


@pytest.mark.parametrize("chart", [c for c in CHARTS if -1 in CHARTS[c]])
def test_a_chart_keeps_the_digits_of_the_metric(chart):
    """The distance from the centre by the metric and by the chart, up to where Klein ends."""
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    centre = metric.to_chart([0.0, 0.0], chart)
    for radius in (2.0, 8.0, 12.0, 16.0):
        for angle in (0.1, 1.5707, 2.0, 4.0):
            x = np.tanh(radius) * np.array([np.cos(angle), np.sin(angle)])
            truth = metric([0.0, 0.0], x)
            found = chart_distance(centre, metric.to_chart(x, chart), chart)
            tolerance = 1e-15 * np.exp(radius) if chart != "klein" else 0
            assert found == pytest.approx(truth, rel=1e-14, abs=tolerance)


def test_points_that_klein_coordinates_cannot_hold_are_refused():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    for radius, chart in ((16.7, "poincare"), (16.9, "poincare"), (16.9, "half_space")):
        y = [np.tanh(radius / 2), 0.0] if chart == "poincare" else [0.0, np.exp(-radius)]
        if radius < 16.8:
            assert metric(from_chart(y, chart, -1), [0.0, 0.0]) == pytest.approx(radius, abs=0.01)
        else:
            with pytest.raises(OutsideDomainError, match=r"y at index 0 lies more than 16\.8"):
                from_chart([y, [0.0, 0.5]], chart, -1)
    with pytest.raises(OutsideDomainError, match="cannot hold it"):
        from_chart([np.sinh(17.0), 0.0, np.cosh(17.0)], "hyperboloid", -1)
    with pytest.raises(OutsideDomainError, match="cannot hold it"):
        from_chart([[1 - 7e-9, 0.0]], "conformal", -1)  # once a point of the boundary


def test_the_time_coordinate_is_not_trusted():
    """In float32 it is wrong by more than its distance from the cone."""
    p = np.array([np.sinh(9.0), 0.0, np.cosh(9.0)], dtype=np.float32)
    w = from_chart(p, "hyperboloid", -1)
    found = CurvedMetric.euclidean(2, curvature=-1.0)(w, [0.0, 0.0])
    assert found == pytest.approx(9, abs=1e-6)


def test_charts_say_what_is_wrong_with_a_point():
    with pytest.raises(OutsideDomainError, match=r"q at index 0 .* a last coordinate √"):
        chart_distance([0.0, 1.0], [[0.0, 2.0]], "hyperboloid")
    with pytest.raises(OutsideDomainError, match=r"index 0, 1 .*axis=0"):
        from_chart([[1.0, 0.0, 0.0], [np.sqrt(2), 1.0, 0.0]], "hyperboloid", -1)
    with pytest.raises(InvalidInputError, match="q has 2 coordinates per point, but 3 are"):
        chart_distance([0.0, 0.0, 0.1], [0.0, 0.1], "poincare")
    with pytest.raises(InvalidInputError, match=r"y of shape.* 2 or more"):
        from_chart([1.0], "hyperboloid", -1)
    with pytest.raises(NotRepresentableError, match="An elliptic space has no 'poincare' chart"):
        chart_distance([0.0], [0.1], "poincare", curvature=2.0)


def test_heights_of_the_half_space_keep_their_digits_far_out():
    """On the way to the point at infinity the height is exp(r), where tanh(r) is nearly 1."""
    r = np.array([0.5, 5.0, 15.0, 100.0])
    up = np.tile([0.0, 0.0, 1.0], (len(r), 1))
    found = from_polar(r, up, "half_space")
    np.testing.assert_allclose(found[:, 2], np.exp(r), rtol=1e-13)
    np.testing.assert_array_equal(found[:, :2], 0.0)


@pytest.mark.parametrize(("chart", "sign"), [(c, s) for c in CHARTS for s in CHARTS[c] if s])
def test_surface_points_are_those_of_klein_coordinates(chart, sign):
    w = klein_points(sign, 2)
    found = surface_points(to_chart(w, chart, sign), chart, sign)
    lifts = np.column_stack([w, np.ones(len(w))])
    lifts /= np.sqrt(1 + sign * np.square(w).sum(axis=1))[:, None]
    np.testing.assert_allclose(found, lifts, rtol=1e-7, atol=1e-9)
