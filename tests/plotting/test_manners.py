"""What all displays have in common."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection

from cayleyklein import (
    CayleyKleinVoronoi,
    CurvedKNeighborsClassifier,
    CurvedMDS,
    CurvedMetric,
    plotting,
)
from cayleyklein.plotting import (
    BallDisplay,
    ChartDisplay,
    CrossRatioDisplay,
    DecisionBoundaryDisplay,
    GeodesicDisplay,
    MapDisplay,
    MetricDisplay,
    VoronoiDisplay,
)

METRIC = CurvedMetric(matrix=[[1.0, 0.3], [0.3, 0.8]], curvature=-1.0)
POINTS = np.random.default_rng(0).uniform(-0.6, 0.6, size=(12, 2))
LABELS = np.arange(12) % 3
DISPLAYS = {
    "balls": lambda: BallDisplay.from_metric(METRIC, POINTS, 0.2),
    "geodesic": lambda: GeodesicDisplay.from_points(METRIC, POINTS[0], POINTS[1], marks=5),
    "bisector": lambda: GeodesicDisplay.from_hyperplane(METRIC, METRIC.bisector(*POINTS[:2])),
    "cross_ratio": lambda: CrossRatioDisplay.from_metric(METRIC, POINTS[0], POINTS[1]),
    "map": lambda: MapDisplay.from_estimator(
        CurvedMDS(curvature=-1.0, random_state=0).fit(POINTS), LABELS
    ),
    "metric": lambda: MetricDisplay.from_metric(METRIC, POINTS, LABELS),
    "voronoi": lambda: VoronoiDisplay.from_points(POINTS, METRIC),
    "boundary": lambda: DecisionBoundaryDisplay.from_estimator(
        CurvedKNeighborsClassifier(1, metric=METRIC).fit(POINTS, LABELS),
        0.98 * METRIC.domain.boundary(40),
        resolution=20,
    ),
    "chart": lambda: ChartDisplay.from_diagram(
        CayleyKleinVoronoi(POINTS, METRIC), charts=["conformal"]
    ),
}


@pytest.fixture(params=DISPLAYS)
def display(request):
    return DISPLAYS[request.param]()


def axes_of(display):
    return display.axes_[0] if isinstance(display, ChartDisplay) else display.ax_


def test_every_display_is_here():
    others = {"CurvatureDisplay", "FeatureWeightsDisplay"}  # with axes of their own kind
    made = {type(make()).__name__ for make in DISPLAYS.values()} | others
    assert made == {name for name in plotting.__all__ if name.endswith("Display")}


def test_computing_makes_no_figure(display):
    assert not plt.get_fignums()


def test_axes_are_equal_and_labelled(display):
    assert display.plot() is display
    ax = axes_of(display)
    assert ax.get_aspect() == 1
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert display.figure_ is ax.figure


def test_conic_is_thick_black_and_within_the_limits(display):
    display.plot()
    ax = axes_of(display)
    if isinstance(display, ChartDisplay):
        (conic,) = (c for c in ax.collections if c.get_linewidth()[0] > 2)
        edge, color = conic.get_segments()[0], conic.get_edgecolor()[0]
    else:
        (conic,) = (a for a in ax.get_children() if a.get_gid() == "domain")
        edge, color = conic.get_xy(), conic.get_edgecolor()
        assert conic.get_linewidth() > 2
        on_map = isinstance(display, MapDisplay)  # where it is the rim of the unit disc
        round_edge = edge if on_map else METRIC.domain.to_euclidean(edge)
        np.testing.assert_allclose(np.linalg.norm(round_edge, axis=1), 1)
    assert tuple(color) == (0, 0, 0, 1)
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    assert (low < edge.min(axis=0)).all()
    assert (edge.max(axis=0) < high).all()


def test_given_axes_are_used(display):
    _, ax = plt.subplots()
    display.plot([ax] if isinstance(display, ChartDisplay) else ax)
    assert axes_of(display) is ax
    assert len(plt.get_fignums()) == 1


def test_a_caller_s_labels_and_limits_stay():
    _, ax = plt.subplots()
    ax.set(xlabel="mine", xlim=(-3, 3), title="also mine")
    MetricDisplay.from_metric(METRIC, POINTS).plot(ax)
    assert ax.get_xlabel() == "mine"
    assert ax.get_title() == "also mine"
    assert ax.get_xlim() == (-3, 3)


def test_two_displays_share_axes_and_draw_one_conic():
    display = VoronoiDisplay.from_points(POINTS, METRIC).plot()
    BallDisplay.from_metric(METRIC, POINTS, 0.1).plot(display.ax_)
    flat = CurvedMetric.euclidean(2)
    BallDisplay.from_metric(flat, [[5.0, 0.0]], 1.0).plot(display.ax_)
    assert sum(a.get_gid() == "domain" for a in display.ax_.get_children()) == 1
    assert display.ax_.get_xlim()[1] > 6


def test_saves(display, tmp_path):
    display.plot()
    for suffix, start in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        path = tmp_path / f"picture.{suffix}"
        display.figure_.savefig(path)
        assert path.read_bytes().startswith(start)


def test_without_matplotlib_the_error_names_the_extra(display, monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as caught:
        display.plot()
    assert str(caught.value) == (
        'matplotlib is not installed; pip install "cayleyklein[plot]" adds it.'
    )


def test_the_markers_of_all_classes_have_the_same_area():
    display = VoronoiDisplay.from_points(POINTS, METRIC, labels=np.arange(12) % 8).plot()
    areas = []
    for marks in display.ax_.collections:
        if isinstance(marks, PathCollection):
            (path,) = marks.get_paths()
            x, y = (path.vertices[:-1] * np.sqrt(marks.get_sizes()[0])).T
            areas.append(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)
    assert len(areas) == 8
    np.testing.assert_allclose(areas, areas[0], rtol=0.01)
