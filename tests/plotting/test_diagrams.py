import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PathCollection

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError, NotRepresentableError
from cayleyklein.plotting import ChartDisplay, VoronoiDisplay
from cayleyklein.plotting.shapes import COLORS, tint

SHAPE = [[1.0, 0.3], [0.3, 0.8]]
CURVATURES = [-1.0, -1e-6, 0.0, 1e-6, 1.0]


def random_points(n, seed=0):
    return np.random.default_rng(seed).uniform(-0.6, 0.6, size=(n, 2))


def metric_of(K):
    return CurvedMetric(matrix=SHAPE, center=[0.05, -0.02], curvature=K)


def inner_points(edges):
    """Points within segments: their ends may be on the conic, infinitely far."""
    t = np.array([0.1, 0.5, 0.8])[:, None, None]
    return ((1 - t) * edges[:, 0] + t * edges[:, 1]).reshape(-1, 2)


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("K", CURVATURES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_edges_are_as_far_from_two_points(K, order, seed):
    points, metric = random_points(12, seed), metric_of(K)
    display = VoronoiDisplay.from_points(points, metric, order=order)
    middles = inner_points(display.diagram.ridge_segments()[1])
    distances = np.sort(metric.pairwise(middles, points), axis=1)
    np.testing.assert_allclose(distances[:, order - 1], distances[:, order], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("K", CURVATURES)
def test_plot_draws_what_was_computed(K):
    display = VoronoiDisplay.from_points(random_points(20), metric_of(K)).plot()
    edges = display.diagram.ridge_segments()[1]
    np.testing.assert_array_equal(display.edges_.get_segments(), edges)
    assert len(display.cells_.get_paths()) == 20
    low, high = np.transpose([display.ax_.get_xlim(), display.ax_.get_ylim()])
    if K < 0:
        edge = display.diagram.metric.domain.boundary()
        assert (low < edge.min(axis=0)).all()
        assert (high > edge.max(axis=0)).all()
    else:  # the window fills the axes
        np.testing.assert_allclose([low, high], display.diagram.window)


def test_cells_take_the_colours_of_their_labels():
    points = random_points(15)
    labels = np.where(points[:, 0] > 0, "right", "left")
    display = VoronoiDisplay.from_points(points, metric_of(-1.0), labels=labels).plot()
    tints = {
        name: tint(color, 0.22)
        for name, color in zip(["left", "right"], COLORS["light"], strict=False)
    }
    expected = [tints[labels[generator]] for generator in display.diagram.cell_generators[:, 0]]
    np.testing.assert_allclose(display.cells_.get_facecolors()[:, :3], expected)
    names = [c.get_label() for c in display.ax_.collections]
    assert {"left", "right"} <= set(names)


def test_highlighted_cell_shows_its_generators():
    diagram = CayleyKleinVoronoi(random_points(15), metric_of(-1.0), order=3)
    (cell,) = diagram.locate([[0.1, 0.0]])
    display = VoronoiDisplay.from_diagram(diagram).plot(highlight=cell)
    np.testing.assert_allclose(
        display.cells_.get_facecolors()[cell, :3], tint("#ffe14d", 0.8), atol=1e-9
    )
    drawn = display.ax_.collections[-1].get_offsets()
    nearest = np.argsort(diagram.metric.pairwise([[0.1, 0.0]], diagram.points)[0])[:3]
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(diagram.points[nearest], axis=0))


def test_a_diagram_in_space_is_refused():
    diagram = CayleyKleinVoronoi(np.eye(3), CurvedMetric.euclidean(3))
    for display in (VoronoiDisplay, ChartDisplay):
        with pytest.raises(InvalidInputError, match="3 dimensions"):
            display.from_diagram(diagram)


def in_charts(points, metric, charts=None):
    return ChartDisplay.from_diagram(CayleyKleinVoronoi(points, metric), charts=charts)


def drawn_edges(points, metric, chart):
    """Return the polylines of the edges as they are drawn, and the places of the points."""
    display = in_charts(points, metric, charts=[chart]).plot(gid="edge")
    (ax,) = display.axes_
    found = [c.get_segments() for c in ax.collections if c.get_gid() == "edge"]
    dots = [c.get_offsets() for c in ax.collections if isinstance(c, PathCollection)]
    return [path for paths in found for path in paths], np.concatenate(dots)


@pytest.mark.parametrize("chart", ["conformal", "half_space", "klein"])
def test_images_of_hyperbolic_edges_are_equidistant(chart):
    points, metric = random_points(12), metric_of(-1.0)
    edges, dots = drawn_edges(points, metric, chart)
    np.testing.assert_allclose(metric.from_chart(dots, chart), points, atol=1e-9)
    for edge in edges:
        near = edge[np.linalg.norm(edge, axis=1) < (0.9 if chart != "half_space" else 3)]
        near = near[near[:, 1] > 0.2] if chart == "half_space" else near
        if len(near):
            distances = np.sort(metric.pairwise(metric.from_chart(near, chart), points), axis=1)
            np.testing.assert_allclose(distances[:, 0], distances[:, 1], rtol=1e-5)


def test_images_of_elliptic_edges_are_equidistant_up_to_the_equator():
    points, metric = random_points(12), metric_of(1.0)
    edges, _ = drawn_edges(points, metric, "conformal")
    for edge in edges:
        distances = np.sort(metric.pairwise(metric.from_chart(edge, "conformal"), points), axis=1)
        np.testing.assert_allclose(distances[:, 0], distances[:, 1], rtol=1e-6)
    assert 0.999 < max(np.linalg.norm(edge, axis=1).max() for edge in edges) <= 1


@pytest.mark.parametrize(("K", "chart"), [(-1.0, "hemisphere"), (1.0, "sphere")])
def test_a_surface_is_seen_from_above_with_its_far_side_faint(K, chart):
    points, metric = random_points(40, 3), metric_of(K)
    edges, dots = drawn_edges(points, metric, chart)
    assert len(dots) == len(points)
    assert np.linalg.norm(np.concatenate(edges), axis=1).max() <= 1 + 1e-9
    # two orthonormal directions of space are seen: y ↦ (⟨r, y⟩, ⟨u, y⟩), for points in any order
    y = np.asarray(metric.to_chart(points, chart))
    tilt, turn = np.radians(35.0), np.radians(30.0)
    right = np.array([np.cos(turn), np.sin(turn), 0.0])
    up = np.array([-np.sin(turn) * np.sin(tilt), np.cos(turn) * np.sin(tilt), np.cos(tilt)])
    seen = y @ np.stack([right, up]).T
    np.testing.assert_allclose(np.sort(dots, axis=0), np.sort(seen, axis=0), atol=1e-9)


def test_poincare_edges_are_circles_across_the_rim():
    edges, _ = drawn_edges(random_points(12), CurvedMetric.euclidean(2, -1.0), "conformal")
    for edge in edges:
        # ‖y‖² + 1 = 2 ⟨y, c⟩: a circle orthogonal to the unit circle
        y = edge[1:-1]
        c, *_ = np.linalg.lstsq(2 * y, (y * y).sum(axis=1) + 1, rcond=None)
        np.testing.assert_allclose(
            2 * y @ c, (y * y).sum(axis=1) + 1, atol=1e-7 * (1 + abs(c).max())
        )


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_every_default_chart_is_drawn(K):
    display = in_charts(random_points(10), metric_of(K)).plot()
    assert len(display.axes_) == len(display.charts) >= 2
    for ax in display.axes_:
        assert ax.get_title()
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    display.figure_.canvas.draw()


def test_a_point_at_the_bottom_of_the_bowl_is_drawn():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    display = in_charts([[0.0, 0.0]], disc, charts=["hyperboloid"]).plot()
    display.figure_.canvas.draw()


def test_axes_that_do_not_fit_the_charts_are_refused():
    display = in_charts(random_points(5), metric_of(-1.0))
    with pytest.raises(CayleyKleinError, match="1 axes for 5 charts"):
        display.plot(plt.figure().add_subplot())
    sphere = in_charts(random_points(5), metric_of(-1.0), charts=["hemisphere"])
    with pytest.raises(CayleyKleinError, match="3d"):
        sphere.plot([plt.figure().add_subplot(projection="3d")])
    for charts in ("klein", []):
        with pytest.raises(CayleyKleinError, match=r"list of names|sequence of str"):
            in_charts(random_points(5), metric_of(-1.0), charts=charts)


@pytest.mark.parametrize("cell", [-1, 10, "first"])
def test_a_cell_that_does_not_exist_is_not_highlighted(cell):
    display = VoronoiDisplay.from_points(random_points(10), metric_of(-1.0))
    with pytest.raises(CayleyKleinError, match="10 cells"):
        display.plot(highlight=cell)


def test_a_chart_that_does_not_exist_is_refused():
    with pytest.raises(NotRepresentableError, match="half_space"):
        in_charts(random_points(5), metric_of(1.0), charts=["half_space"])
    with pytest.raises(CayleyKleinError, match="mercator"):
        in_charts(random_points(5), metric_of(1.0), charts=["mercator"])
