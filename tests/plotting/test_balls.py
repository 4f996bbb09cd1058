import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from cayleyklein import CurvedMetric, MixedMetric
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.plotting import BallDisplay
from cayleyklein.plotting.shapes import GEOMETRY_COLORS

SHAPE = [[1.0, 0.3], [0.3, 0.8]]
CURVATURES = [-1.0, -1e-6, 0.0, 1e-6, 1.0]
CENTERS = np.array([[0.0, 0.0], [0.6, 0.1], [-0.3, -0.5]])


@pytest.mark.parametrize("K", CURVATURES)
@settings(max_examples=25)
@given(radius=st.floats(0.01, 0.6))
def test_outline_is_at_the_radius(K, radius):
    metric = CurvedMetric(matrix=SHAPE, center=[0.05, 0.0], curvature=K)
    display = BallDisplay.from_metric(metric, CENTERS, radius, resolution=32)
    for center, outline, closed in zip(
        display.centers, display.outlines, display.closed, strict=True
    ):
        assert closed
        np.testing.assert_allclose(metric.distance(center, outline), radius, rtol=1e-7)


def test_mixed_outline_is_at_the_radius():
    metric = MixedMetric(
        [CurvedMetric(matrix=SHAPE, curvature=1.0), CurvedMetric(matrix=SHAPE, curvature=-1.0)],
        [0.3, 0.7],
    )
    display = BallDisplay.from_metric(metric, CENTERS, [0.1, 0.2, 0.4])
    for center, outline, radius in zip(CENTERS, display.outlines, display.radii, strict=True):
        np.testing.assert_allclose(metric.distance(center, outline), radius, rtol=1e-9)


@pytest.mark.parametrize("radius", [0.9, 1.2, 1.7])
def test_ball_across_the_equator_is_an_open_branch(radius):
    metric = CurvedMetric.euclidean(2, curvature=1.0)
    display = BallDisplay.from_metric(metric, [[1.0, 0.5]], radius)
    (outline,) = display.outlines
    assert display.closed == [False]
    assert len(outline) > 10
    np.testing.assert_allclose(metric.distance([1.0, 0.5], outline), radius, rtol=1e-9)
    gaps = np.linalg.norm(np.diff(outline, axis=0), axis=1)
    assert gaps[len(gaps) // 2] < gaps[[0, -1]].min()  # one piece that leaves at both ends


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_balls_of_any_size_have_their_outline(size):
    """Rays without a domain to end in are followed as far as the ball reaches."""
    flat = MixedMetric([CurvedMetric(matrix=SHAPE), CurvedMetric.euclidean(2)])
    display = BallDisplay.from_metric(flat, CENTERS, size, resolution=16)
    assert all(display.closed)
    for center, outline in zip(CENTERS, display.outlines, strict=True):
        np.testing.assert_allclose(flat.distance(center, outline), size, rtol=1e-9)
    sphere = CurvedMetric.euclidean(2, curvature=size**-2)
    display = BallDisplay.from_metric(sphere, [[size, 0.0]], 1.2 * size, resolution=64)
    assert len(display.outlines[0]) == 43  # as for K = 1


def test_ball_that_holds_the_plane_has_no_outline():
    metric = CurvedMetric.euclidean(2, curvature=1.0)
    display = BallDisplay.from_metric(metric, [[0.0, 0.0]], 1.6)
    assert len(display.outlines[0]) == 0
    display.plot()


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_plot_draws_what_was_computed(K):
    metric = CurvedMetric(matrix=SHAPE, curvature=K)
    display = BallDisplay.from_metric(metric, CENTERS, 0.3).plot(label="balls")
    drawn = [path[:-1] for path in display.lines_.get_segments()]
    np.testing.assert_array_equal(drawn, display.outlines)
    assert to_hex(display.lines_.get_colors()[0]) == GEOMETRY_COLORS[metric.geometry].lower()
    low, high = np.transpose([display.ax_.get_xlim(), display.ax_.get_ylim()])
    outlines = np.concatenate(display.outlines)
    assert (low < outlines.min(axis=0)).all()
    assert (outlines.max(axis=0) < high).all()


def test_an_unbounded_ball_does_not_set_the_limits():
    metric = CurvedMetric.euclidean(2, curvature=1.0)
    display = BallDisplay.from_metric(metric, [[0.0, 0.0], [1.0, 0.0]], [0.5, 1.0]).plot()
    assert np.ptp(display.ax_.get_xlim()) < 5


def test_wrong_input_is_named():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(CayleyKleinError, match="centers"):
        BallDisplay.from_metric(metric, [[0.0, 0.0, 0.0]], 1.0)
    with pytest.raises(CayleyKleinError, match="centers is not a rectangular array"):
        BallDisplay.from_metric(metric, [[0.0, 0.0], [0.0]], 1.0)
    with pytest.raises(CayleyKleinError, match="domain"):
        BallDisplay.from_metric(metric, [[2.0, 0.0]], 1.0)
    with pytest.raises(CayleyKleinError, match="radius"):
        BallDisplay.from_metric(metric, CENTERS, [0.1, 0.2])
    with pytest.raises(CayleyKleinError, match="radius must be positive, but is not at index 1"):
        BallDisplay.from_metric(metric, CENTERS, [0.1, 0.0, 0.2])
