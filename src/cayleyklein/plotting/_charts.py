"""One diagram in several charts of the same space."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import about, as_choice, as_texts, require
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import CHARTS, space
from cayleyklein.geometry.charts import EMBEDDED
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines, style
from cayleyklein.plotting._voronoi import picture_bounds
from cayleyklein.plotting.paths import Canvas
from cayleyklein.plotting.shapes import Shape
from cayleyklein.plotting.views import CHART_TITLES, EUCLIDEAN, ChartView

DEFAULT_CHARTS = {
    -1: (EUCLIDEAN, "klein", "conformal", "half_space", "hemisphere"),
    0: (EUCLIDEAN, "klein"),
    1: (EUCLIDEAN, "klein", "conformal", "sphere"),
}
CAMERA = (30.0, 35.0)  # turn and tilt, in degrees


class ChartPanel(NamedTuple):
    chart: str
    title: str
    edges: tuple[Shape, ...]  # the far side of a surface first
    others: tuple[Shape, ...]  # the points, and where the space ends
    bounds: Floats  # two corners


@dataclass(kw_only=True, eq=False, repr=False)
class ChartDisplay:
    """The same Voronoi diagram in several charts, side by side.

    Make one by :meth:`from_points` or :meth:`from_diagram`. Cells are straight in the Euclidean
    chart (the data as they are) and in the Klein chart, where the conic is round; in Poincaré's
    disc and half-plane angles are true, and edges are arcs. The hemisphere stands above the Klein
    disc; surfaces are seen from above, their far side faint. :meth:`plot` sets `axes_`, a list, and
    `figure_`.

    Parameters
    ----------
    panels : sequence of named tuples
        `chart`, `title`, `bounds`, and the shapes `edges` and `others` of each chart.

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = ChartDisplay.from_points(points, metric)
    >>> [panel.title for panel in display.panels][1:]
    ['Klein disc', 'Poincaré disc', 'Poincaré half-plane', 'hemisphere']
    >>> diagram = CayleyKleinVoronoi(points, metric, order=2)
    >>> figure = ChartDisplay.from_diagram(diagram, charts=["klein"]).plot().figure_
    """

    panels: Sequence[ChartPanel]

    @classmethod
    def from_points(
        cls, points: ArrayLike, metric: CurvedMetric, *, charts: Sequence[str] | None = None,
        order: int = 1, window: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Compute the diagram and its images.

        Parameters
        ----------
        points : array-like of shape (n, 2), the generators
        metric : CurvedMetric of the plane
        charts : sequence of str, optional
            "euclidean" and names of :data:`cayleyklein.geometry.CHARTS`; all that are usual for the
            curvature by default.
        order : int, default=1
            k < n: in a cell of the diagram, its k generators are the k nearest points.
        window : array-like of shape (2, 2), optional
            Lower and upper corner of the box that a diagram is cut to; by default a box around the
            points (flat), or almost the whole plane (elliptic).
        """
        if space.as_space(metric).curvature > 0 and window is None:
            # almost up to the equator: 10⁴ radii of the sphere
            reach = 1e4 * np.linalg.norm(metric.inverse_factor, axis=1) * metric.curvature**-0.5
            window = np.stack([metric.center - reach, metric.center + reach])
        diagram = CayleyKleinVoronoi(points, metric, order=order, window=window)
        return cls.from_diagram(diagram, charts=charts)

    @classmethod
    def from_diagram(
        cls, diagram: CayleyKleinVoronoi, *, charts: Sequence[str] | None = None
    ) -> Self:
        """Compute the images of a diagram of the plane, in charts as by :meth:`from_points`."""
        picture_bounds(diagram)  # raises unless it is a diagram of the plane
        metric = diagram.metric
        names = DEFAULT_CHARTS[int(np.sign(metric.curvature))] if charts is None else charts
        if not as_texts(names, "charts"):
            raise InvalidInputError(f"Got charts={charts!r}, but expected a list of names.")
        return cls(panels=[_panel(name, diagram) for name in names])

    def plot(self, axes: Sequence[style.Axes] | None = None, **options: Any) -> Self:
        """Draw the charts.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            One for each chart; a new figure's by default.
        **options : options of the edges, LineCollections
        """
        n = len(self.panels)
        if axes is None:
            across, down = min(n, 3), math.ceil(n / 3)
            pyplot = require("matplotlib.pyplot", "plot")
            figure = pyplot.figure(figsize=(3.2 * across, 3.4 * down), layout="constrained")
            axes = [figure.add_subplot(down, across, i + 1) for i in range(n)]
        axes = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(axes) != n:
            raise InvalidInputError(f"Got {len(axes)} axes for {n} charts; give one for each.")
        with about("axes"):
            for ax in axes:
                style.new_axes(ax)  # raises for other objects
        for ax, panel in zip(axes, self.panels, strict=True):
            for shape in panel.edges:
                style.draw_shape(ax, shape, **options)
            for shape in panel.others:
                style.draw_shape(ax, shape)
            letter = {EUCLIDEAN: "x", "klein": "w"}.get(panel.chart, "y")
            style.finish_axes(ax, panel.bounds, (f"${letter}_1$", f"${letter}_2$"))
            if panel.chart in EMBEDDED:
                ax.set_axis_off()  # a projection has no coordinates
            ax.set_title(panel.title, fontsize="medium")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _panel(chart: str, diagram: CayleyKleinVoronoi) -> ChartPanel:
    as_choice(chart, "charts", (EUCLIDEAN, *CHARTS))
    metric, points = diagram.metric, diagram.points
    view = ChartView(metric, chart, CAMERA if chart in EMBEDDED else None)
    dots = view.to_screen(points)
    ends = np.concatenate([view.to_screen(view.rim()), view.to_screen(view.outline(99))])
    if chart in ("half_space", "hyperboloid") or not len(ends):
        low, high = outlines.bounds_of(dots)  # a square around the points, half as large again
        half = max(0.75 * float((high - low).max()), 0.1)
        bounds = (low + high) / 2 + np.array([[-half], [half]])
        bounds[0, 1] = 0.0 if chart == "half_space" else bounds[0, 1]
    else:
        bounds = outlines.bounds_of(ends)
    edges, others = Canvas(view), Canvas(view)
    segments = diagram.ridge_segments()[1]
    edges.segments(segments[:, 0], segments[:, 1], style.BLUE, style.EDGE_WIDTH)
    others.rim(style.DOMAIN_WIDTH if view.sign < 0 else style.EDGE_WIDTH)  # the conic is thick
    others.marks(points, "ink", 2.2)
    title = CHART_TITLES[chart][view.sign + 1]
    return ChartPanel(chart, title, edges.shapes(), others.shapes(), bounds)
