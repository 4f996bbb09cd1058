"""One diagram in several charts of the same space."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Bools, Floats
from cayleyklein._validation import about, as_choice, as_texts, require
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import CHARTS, space
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines, style
from cayleyklein.plotting._voronoi import picture_bounds

EUCLIDEAN = "euclidean"
CHART_TITLES = {  # by the sign of K: negative, zero, positive
    EUCLIDEAN: ("Euclidean: the data",) * 3,
    "klein": ("Klein disc", "Cartesian", "gnomonic"),
    "conformal": ("Poincaré disc", "Cartesian / 2", "stereographic"),
    "half_space": ("Poincaré half-plane", "", ""),
    "hemisphere": ("hemisphere", "", ""),
    "hyperboloid": ("hyperboloid", "", ""),
    "sphere": ("", "", "sphere"),
}
DEFAULT_CHARTS = {
    -1: (EUCLIDEAN, "klein", "conformal", "half_space", "hemisphere"),
    0: (EUCLIDEAN, "klein"),
    1: (EUCLIDEAN, "klein", "conformal", "sphere"),
}

EDGE_POINTS = 64  # on an edge, which is straight in the Klein chart and curved in others
ELEVATION, AZIMUTH = math.radians(35), math.radians(-60)
RIGHT = np.array([-math.sin(AZIMUTH), math.cos(AZIMUTH), 0.0])
EYE = np.append(math.cos(ELEVATION) * np.array([RIGHT[1], -RIGHT[0]]), math.sin(ELEVATION))
BEHIND = 0.2  # opacity of the far side of a sphere


class ChartPanel(NamedTuple):
    chart: str
    title: str
    edges: list[Floats]  # polylines of 2 coordinates, or 3 on the surfaces
    points: Floats
    rim: Floats  # where the space ends, if it does: the conic, or the elliptic equator
    rim_width: float
    bounds: Floats  # two corners


@dataclass(kw_only=True, eq=False, repr=False)
class ChartDisplay:
    """The same Voronoi diagram in several charts, side by side.

    Make one by :meth:`from_points` or :meth:`from_diagram`. Cells are straight in the Euclidean
    chart (the data as they are) and in the Klein chart, where the conic is round; in Poincaré's
    disc and half-plane angles are true, and edges are arcs. The hemisphere stands above the Klein
    disc. :meth:`plot` sets `axes_`, a list, and `figure_`.

    Parameters
    ----------
    panels : sequence of named tuples
        `chart`, `title`, `edges`, `points`, `rim`, `rim_width` and `bounds` of each chart.

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
        edges = [_subdivide(segment, metric) for segment in diagram.ridge_segments()[1]]
        return cls(panels=[_panel(name, metric, edges, diagram.points) for name in names])

    def plot(self, axes: Sequence[style.Axes] | None = None, **options: Any) -> Self:
        """Draw the charts.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            One for each chart, ``projection="3d"`` for surfaces; a new figure's by default.
        **options : options of the edges, LineCollections
        """
        n = len(self.panels)
        if axes is None:
            across, down = min(n, 3), math.ceil(n / 3)
            pyplot = require("matplotlib.pyplot", "plot")
            figure = pyplot.figure(figsize=(3.2 * across, 3.4 * down), layout="constrained")
            axes = [
                figure.add_subplot(down, across, i + 1, projection=_projection(panel))
                for i, panel in enumerate(self.panels)
            ]
        axes = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(axes) != n:
            raise InvalidInputError(f"Got {len(axes)} axes for {n} charts; give one for each.")
        with about("axes"):
            for ax, panel in zip(axes, self.panels, strict=True):
                style.new_axes(ax, _projection(panel))  # raises for other objects
        look = {"colors": style.BLUE, "linewidths": style.EDGE_WIDTH} | options
        for ax, panel in zip(axes, self.panels, strict=True):
            (draw_surface if _projection(panel) else _draw_plane)(ax, panel, look)
            ax.set_title(panel.title, fontsize="medium")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _projection(panel: ChartPanel) -> str | None:
    return "3d" if panel.points.shape[1] == 3 else None


def _subdivide(segment: Floats, metric: CurvedMetric) -> Floats:
    start, end = segment
    t = np.linspace(0, 1, EDGE_POINTS)
    if metric.curvature > 0:
        return np.asarray(metric.geodesic(start, end, t), dtype=float)
    # dense far out, where the charts stretch it; an end may be on the conic, infinitely far
    return np.asarray(start + (1 - np.cos(math.pi * t))[:, None] / 2 * (end - start))


def _panel(chart: str, metric: CurvedMetric, edges: list[Floats], points: Floats) -> ChartPanel:
    as_choice(chart, "charts", (EUCLIDEAN, *CHARTS))
    domain = metric.domain

    def image(x: Floats) -> Floats:
        if chart == EUCLIDEAN:
            return x
        return np.asarray(metric.to_chart(outlines.inset(domain, x), chart), dtype=float)

    sign = int(np.sign(metric.curvature))
    dots, rim = image(points), _rim(chart, metric, image)
    if chart in ("hemisphere", "sphere"):
        bounds = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
    elif chart == "hyperboloid":  # a cap that holds the points, with some room
        top = max(1 + 1.3 * (dots[:, 2].max() - 1), 1.1)
        reach = math.sqrt(top**2 - 1)
        bounds = np.array([[-reach, -reach, 1.0], [reach, reach, top]])
    elif chart != "half_space" and len(rim):
        bounds = outlines.bounds_of(rim)
    else:  # a square around the points, half as large again
        low, high = outlines.bounds_of(dots)
        half = 0.75 * (high - low).max()
        bounds = (low + high) / 2 + np.array([[-half], [half]])
        bounds[0, 1] = 0.0 if chart == "half_space" else bounds[0, 1]
    mapped = [image(edge) for edge in edges]
    width = style.DOMAIN_WIDTH if sign < 0 else style.EDGE_WIDTH  # only the conic is thick
    return ChartPanel(chart, CHART_TITLES[chart][sign + 1], mapped, dots, rim, width, bounds)


def _rim(chart: str, metric: CurvedMetric, image: Callable[[Floats], Floats]) -> Floats:
    angle = np.linspace(0, 2 * math.pi, 721)
    equator = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    if metric.domain is None:
        return {"conformal": equator[:, :2], "sphere": equator}.get(chart, np.empty((0, 2)))
    if chart == "half_space":
        return np.array([[-1e6, 0.0], [1e6, 0.0]])  # far outside every picture
    if chart == "hyperboloid":  # infinitely far
        return np.empty((0, 3))
    return image(metric.domain.from_euclidean(equator[:, :2]))


def _draw_plane(ax: style.Axes, panel: ChartPanel, look: dict[str, Any]) -> None:
    style.draw_lines(ax, panel.edges, **look)
    style.draw_points(ax, panel.points, s=10)
    style.draw_lines(ax, [panel.rim], colors="black", linewidths=panel.rim_width, zorder=3)
    letter = {EUCLIDEAN: "x", "klein": "w"}.get(panel.chart, "y")
    style.finish_axes(ax, panel.bounds, (f"${letter}_1$", f"${letter}_2$"))


def draw_surface(ax: Any, panel: ChartPanel, look: dict[str, Any]) -> None:
    low, high = panel.bounds
    if panel.chart == "hyperboloid":
        height = np.linspace(1, high[2], 13)
        radius = np.sqrt(height**2 - 1)
    else:
        latitude = np.linspace(math.asin(low[2]), math.pi / 2, 13)
        radius, height = np.cos(latitude), np.sin(latitude)
    turn, radius = np.meshgrid(np.linspace(0, 2 * math.pi, 49), radius)
    rise = np.broadcast_to(height[:, None], turn.shape)
    surface = radius * np.cos(turn), radius * np.sin(turn), rise
    ax.plot_surface(*surface, color="0.9", alpha=0.3, linewidth=0)
    for front, alpha in ((False, BEHIND), (True, 1.0)):
        for path, color, width in [
            *((edge, look["colors"], look["linewidths"]) for edge in panel.edges),
            (panel.rim, "black", panel.rim_width),
        ]:
            seen = (in_front(path, panel.chart) == front) & (path[:, 2] <= high[2])
            shown = np.where(seen[:, None], path, np.nan)
            ax.plot(*shown.T, color=color, linewidth=width, alpha=alpha, solid_capstyle="butt")
        dots = panel.points[in_front(panel.points, panel.chart) == front]
        ax.scatter(*dots.T, color="black", s=8, alpha=alpha, linewidths=0, depthshade=False)
    ax.set_proj_type("ortho")
    ax.set_box_aspect(high - low, zoom=1.25)  # surfaces have no axes, and use their space
    for axis, *limits, k in zip("xyz", low, high, (1, 2, 3), strict=True):
        ax.set(**{f"{axis}lim": limits, f"{axis}label": f"$X_{k}$"})
    ax.locator_params(nbins=3)
    ax.set_axis_off()  # matplotlib's layouts cut off their labels; set_axis_on() shows them
    ax.view_init(elev=math.degrees(ELEVATION), azim=math.degrees(AZIMUTH))


def in_front(points: Floats, chart: str) -> Bools:
    return np.asarray((points @ EYE >= 0) | (chart == "hyperboloid"))  # which hides none
