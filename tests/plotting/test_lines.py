import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import cross_ratio
from cayleyklein.plotting import CrossRatioDisplay, GeodesicDisplay

SHAPE = [[1.0, 0.3], [0.3, 0.8]]
CURVATURES = [-1.0, 0.0, 1.0]
COORDINATE = st.floats(-0.6, 0.6).map(lambda x: round(x, 6))
POINT = st.tuples(COORDINATE, COORDINATE).map(np.array)


@pytest.mark.parametrize("K", CURVATURES)
@settings(max_examples=25)
@given(p=POINT, q=POINT)
def test_marks_are_at_equal_distances(K, p, q):
    metric = CurvedMetric(matrix=SHAPE, curvature=K)
    marks = GeodesicDisplay.from_points(metric, p, q, marks=6).marks
    steps = metric.distance(marks[:-1], marks[1:])
    np.testing.assert_allclose(steps, metric(p, q) / 5, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("K", CURVATURES)
def test_bisector_is_equidistant_and_reaches_the_conic(K):
    metric = CurvedMetric(matrix=SHAPE, center=[0.1, -0.1], curvature=K)
    p, q = [-0.4, 0.1], [0.3, 0.5]
    path = GeodesicDisplay.from_hyperplane(metric, metric.bisector(p, q)).paths[0]
    inside = path[0] + np.linspace(0.01, 0.99, 30)[:, None] * (path[1] - path[0])
    np.testing.assert_allclose(metric.distance(inside, p), metric.distance(inside, q), rtol=1e-9)
    if K < 0:
        ends = metric.domain.to_euclidean(path[[0, -1]])
        np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 1, rtol=1e-12)
    else:
        assert np.abs(path[[0, -1]]).max(axis=1).min() > 100


@pytest.mark.parametrize("K", [1e-10, 1.0, 1e10])
def test_lines_of_a_sphere_end_close_to_its_equator(K):
    metric = CurvedMetric.euclidean(2, curvature=K)
    p, q = np.array([[0.0, 0.1], [0.2, 0.0]]) / np.sqrt(K)
    path = GeodesicDisplay.from_hyperplane(metric, metric.bisector(p, q)).paths[0]
    quarter = np.pi / 2 / np.sqrt(K)
    np.testing.assert_allclose(metric.distance([0.0, 0.0], path), quarter, rtol=1e-3)


def test_line_that_misses_the_domain_is_empty():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    line = metric.bisector([0.0, 0.0], [0.5, 0.0])._replace(offset=-5.0)
    display = GeodesicDisplay.from_hyperplane(metric, line)
    assert len(display.paths[0]) == 0
    assert display.plot().ax_.get_xlim()[1] > 1


def test_many_geodesics_at_once():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    display = GeodesicDisplay.from_points(metric, [0.0, 0.0], 0.5 * np.eye(2)).plot()
    assert len(display.lines_.get_segments()) == 2


@settings(max_examples=25)
@given(p=POINT, q=POINT)
def test_cross_ratio_gives_the_distance(p, q):
    metric = CurvedMetric(matrix=SHAPE, curvature=-0.8)
    assume(np.linalg.norm(p - q) > 1e-3)
    display = CrossRatioDisplay.from_metric(metric, p, q)
    expected = 2 * np.sqrt(0.8) * metric(p, q)
    np.testing.assert_allclose(abs(np.log(display.value)), expected, rtol=1e-6)
    np.testing.assert_allclose(display.distance, metric(p, q))
    _, _, P, Q = display.points
    assert (Q - P) @ (q - p) > 0
    on_conic = np.linalg.norm(metric.domain.to_euclidean([P, Q]), axis=1)
    np.testing.assert_allclose(on_conic, 1, rtol=1e-9)


def test_cross_ratio_is_named_in_the_picture():
    points = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [-3.0, -3.0]]
    display = CrossRatioDisplay.from_points(*points).plot(labels=("a", "b", "A", "B"))
    assert display.value == pytest.approx(cross_ratio(*points))
    assert [text.get_text() for text in display.ax_.texts] == ["$a$", "$b$", "$A$", "$B$"]
    assert f"{display.value:.3f}" in display.ax_.get_title()


@pytest.mark.parametrize("K", [0.0, 1.0])
def test_cross_ratio_needs_a_real_conic(K):
    with pytest.raises(NotRepresentableError, match="K < 0"):
        CrossRatioDisplay.from_metric(CurvedMetric.euclidean(2, K), [0.0, 0.0], [0.5, 0.0])


def test_wrong_lines_are_refused():
    metric = CurvedMetric.euclidean(2)
    several = metric.bisector(np.zeros((3, 2)), np.eye(3, 2) + 1)
    with pytest.raises(InvalidInputError, match="a display of each"):
        GeodesicDisplay.from_hyperplane(metric, several)
    with pytest.raises(InvalidInputError, match="P and Q coincide"):
        CrossRatioDisplay.from_points([0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 0.0])
