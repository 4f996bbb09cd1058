"""Voronoi diagrams of the plane, as they are and in charts of their space."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import CHARTS
from cayleyklein.geometry.charts import EMBEDDED, refuse_chart
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines, shapes, views


def _check_plane(diagram: CayleyKleinVoronoi) -> None:
    kind = type(diagram).__name__
    checks.expect(isinstance(diagram, CayleyKleinVoronoi), "diagram", kind, "a CayleyKleinVoronoi")
    if (d := diagram.metric.dimension) != 2:
        advice = "make a diagram of points of the plane, for example of two columns."
        raise InvalidInputError(f"The diagram has {d} dimensions, but a picture has 2; {advice}")


@dataclass(kw_only=True, eq=False, repr=False)
class VoronoiDisplay(shapes.PlaneDisplay):
    """A Voronoi diagram of the plane, of any order, labelled or not (paper, figures 5, 7 and 8).

    :meth:`plot` sets `ax_`, `figure_`, `edges_` (a LineCollection) and `cells_` (a PolyCollection).

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = VoronoiDisplay.from_points(points, metric).plot()
    >>> len(display.cells_.get_paths()), len(display.edges_.get_segments())
    (4, 6)
    >>> figure = VoronoiDisplay.from_diagram(display.diagram).plot(highlight=0).figure_
    """

    diagram: CayleyKleinVoronoi  #: A diagram of the plane.

    @classmethod
    def from_points(cls, points: ArrayLike, metric: CurvedMetric, **options: Any) -> Self:
        """Compute the diagram of points (n, 2), as by :class:`cayleyklein.CayleyKleinVoronoi`."""
        return cls.from_diagram(CayleyKleinVoronoi(points, metric, **options))

    @classmethod
    def from_diagram(cls, diagram: CayleyKleinVoronoi) -> Self:
        """Show a diagram of the plane."""
        _check_plane(diagram)
        return cls(diagram=diagram)

    def plot(
        self,
        ax: shapes.Axes | None = None,
        *,
        fill: bool = True,
        highlight: int | None = None,
        regions: bool = False,
        show_points: bool = True,
        **options: Any,
    ) -> Self:
        """Draw the cells, the points and the conic.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        fill : bool, default=True
            Whether to fill the cells with the colours of their labels, if there are any.
        highlight : int, optional
            Number of a cell to paint yellow, with its generators in red.
        regions : bool, default=False
            Whether to draw the frontier of decision regions, the exact ones of as many neighbours
            as the diagram's order, instead of the edges of the cells. Needs labels.
        show_points : bool, default=True
            Whether to draw the generators.
        **options : keyword arguments
            Options of the edges or of the frontier, a LineCollection.
        """
        diagram = self.diagram
        n = len(self.diagram.cell_generators)
        known = highlight is None or highlight in range(n)
        checks.expect(known, "highlight", highlight, f"the number of one of the {n} cells")
        if regions and diagram.labels is None:
            raise InvalidInputError("The diagram has no labels; make it with labels=y.")
        colors: list[Any] = ["none"] * n
        ax = shapes.new_axes(ax)
        if fill and diagram.labels is not None:
            tints = shapes.class_tints(len(diagram.classes))
            colors = [tints[i] for i in np.searchsorted(diagram.classes, diagram.cell_labels)]
        if highlight is not None:
            colors[highlight] = shapes.tint("#ffe14d", 0.8)
        cells = diagram.outlines()
        drawn = [color for cell, color in zip(cells, colors, strict=True) if len(cell)]
        # edges of the same colour close the hairlines that antialiasing leaves between cells
        look: Any = {"facecolors": drawn, "edgecolors": drawn, "linewidths": 0.5, "zorder": 0.5}
        self.cells_ = shapes.draw_shape(ax, shapes.Shape("area", shapes.chain(cells)), **look)
        edges = diagram.frontier() if regions else diagram.ridge_segments()[1]
        look = {"colors": "black", "linewidths": 1.4} if regions else {"colors": "0.35"}
        self.edges_ = shapes.draw_lines(ax, edges, **(look | options))
        if show_points:
            shapes.draw_points(ax, diagram.points, diagram.labels)
        if highlight is not None:
            generators = diagram.points[diagram.cell_generators[highlight]]
            shapes.draw_points(ax, generators, color=shapes.LIGHT["elliptic"], s=40)
        domains = outlines.domains_of(diagram.metric)
        shown = outlines.edges_of(domains) if diagram.window is None else [diagram.window]
        return self._finish(ax, domains, *shown, padding=shapes.PADDING if domains else 0.0)


@dataclass(kw_only=True, eq=False, repr=False)
class ChartDisplay:
    """The same Voronoi diagram in several charts, side by side.

    Edges are straight in the Euclidean chart, which shows the data as they are, and in Klein's,
    where the conic is round; in Poincaré's disc and half-plane, which keep angles, they are arcs.
    Surfaces are seen from above, their far side faint. :meth:`plot` sets `axes_` and `figure_`.

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = ChartDisplay.from_diagram(CayleyKleinVoronoi(points, metric, order=2))
    >>> display.charts
    ('euclidean', 'klein', 'conformal', 'half_space', 'hemisphere')
    >>> figure = display.plot().figure_
    """

    diagram: CayleyKleinVoronoi  #: A diagram of the plane.
    charts: Sequence[str]  #: Names of the charts.

    @classmethod
    def from_diagram(
        cls, diagram: CayleyKleinVoronoi, *, charts: Sequence[str] | None = None
    ) -> Self:
        """Show a diagram of the plane, an elliptic one almost up to the equator.

        Charts are "euclidean" and keys of :data:`cayleyklein.geometry.CHARTS`, by default the usual
        ones.
        """
        _check_plane(diagram)
        sign = int(np.sign(diagram.metric.curvature))
        if charts is None:
            names: tuple[str, ...] = (views.EUCLIDEAN, "klein")
            if sign > 0:
                names += ("conformal", "sphere")
            if sign < 0:
                names += ("conformal", "half_space", "hemisphere")
        else:
            names = tuple(checks.as_texts(charts, "charts"))
        checks.expect(len(names) > 0, "charts", charts, "a list of names")
        for name in names:
            checks.as_choice(name, "charts", (views.EUCLIDEAN, *CHARTS))
            if name != views.EUCLIDEAN:
                refuse_chart(name, sign)
        if sign > 0:  # 10⁴ radii of the sphere
            metric = diagram.metric
            reach = 1e4 * np.linalg.norm(metric.inverse_factor, axis=1) * metric.curvature**-0.5
            window = np.stack([metric.center - reach, metric.center + reach])
            diagram = CayleyKleinVoronoi(diagram.points, metric, order=diagram.order, window=window)
        return cls(diagram=diagram, charts=names)

    def plot(self, axes: Sequence[shapes.Axes] | None = None, **options: Any) -> Self:
        """Draw each chart in axes of its own, with options of LineCollections for the edges."""
        n = len(self.charts)
        if axes is None:
            across = min(n, 3)
            down = math.ceil(n / 3)
            pyplot = checks.require("matplotlib.pyplot", "plot")
            figure = pyplot.figure(figsize=(3.2 * across, 3.4 * down), layout="constrained")
            axes = [figure.add_subplot(down, across, i + 1) for i in range(n)]
        axes = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(axes) != n:
            raise InvalidInputError(f"Got {len(axes)} axes for {n} charts; give one for each.")
        with checks.about("axes"):
            axes = [shapes.new_axes(ax) for ax in axes]  # checks their type
        for ax, chart in zip(axes, self.charts, strict=True):
            _draw_chart(ax, self.diagram, chart, options)
        self.axes_ = axes
        self.figure_ = axes[0].figure
        return self


def _draw_chart(
    ax: shapes.Axes, diagram: CayleyKleinVoronoi, chart: str, options: dict[str, Any]
) -> None:
    camera = (30.0, 35.0) if chart in EMBEDDED else None  # turn and tilt, in degrees
    view = views.ChartView(diagram.metric, chart, camera)
    ends = np.concatenate([view.to_screen(view.rim()), view.to_screen(view.outline(99))])
    if chart in ("half_space", "hyperboloid") or not len(ends):
        low, high = outlines.bounds_of(view.to_screen(diagram.points))
        half = max(0.75 * float((high - low).max()), 0.1)  # of a square around the points
        bounds = (low + high) / 2 + np.array([[-half], [half]])
        if chart == "half_space":
            bounds[0, 1] = 0.0
    else:
        bounds = outlines.bounds_of(ends)
    edges = views.Canvas(view)
    others = views.Canvas(view)
    segments = diagram.ridge_segments()[1]
    edges.segments(segments[:, 0], segments[:, 1], shapes.BLUE, shapes.EDGE_WIDTH)
    others.rim(shapes.DOMAIN_WIDTH if view.sign < 0 else shapes.EDGE_WIDTH)  # the conic is thick
    others.marks(diagram.points, "ink", 2.2)
    for canvas, look in ((edges, options), (others, {})):
        for shape in canvas.shapes():
            shapes.draw_shape(ax, shape, **look)
    letter = {views.EUCLIDEAN: "x", "klein": "w"}.get(chart, "y")
    title = _chart_title(chart, view.sign)
    shapes.finish_axes(ax, bounds, (f"${letter}_1$", f"${letter}_2$"), title=title)
    if chart in EMBEDDED:
        ax.set_axis_off()  # a projection has no coordinates


def _chart_title(chart: str, sign: int) -> str:
    """Return what a chart is called, by the sign of K."""
    if chart == "klein":
        return {-1: "Klein disc", 0: "Cartesian", 1: "gnomonic"}[sign]
    if chart == "conformal":
        return {-1: "Poincaré disc", 0: "Cartesian / 2", 1: "stereographic"}[sign]
    titles = {
        views.EUCLIDEAN: "Euclidean: the data",
        "poincare": "Poincaré disc",
        "half_space": "Poincaré half-plane",
    }
    return titles.get(chart, chart)
