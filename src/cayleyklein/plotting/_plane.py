"""Balls and lines of the plane, and the cross-ratio of four points of a line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import Ellipsoid, Hyperplane, cross_ratio, line_intersections, space
from cayleyklein.metrics import CurvedMetric, Metric
from cayleyklein.plotting import outlines, sections, shapes


@dataclass(kw_only=True, eq=False, repr=False)
class BallDisplay(shapes.PlaneDisplay):
    """Balls of a metric of the plane: ellipses with displaced centres (paper, figure 6).

    Elliptic balls are red, hyperbolic green, Mahalanobis violet, mixed brown and those of a product
    yellow; the dots are the centres of the distance, not of the ellipses. :meth:`plot` sets `ax_`,
    `figure_`, `fill_` (a PolyCollection) and `lines_` (a LineCollection).

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = BallDisplay.from_metric(metric, [[0.0, 0.0], [0.6, 0.3]], 0.4)
    >>> metric.distance(display.centers[1], display.outlines[1]).round(9).max()
    np.float64(0.4)
    >>> figure = display.plot().figure_
    """

    centers: Floats  #: Centres, shape (n, 2).
    radii: Floats  #: Radii, shape (n,).
    outlines: Sequence[Floats]  #: Their spheres, polylines (m, 2).
    closed: Sequence[bool]  #: Whether each is closed; across the elliptic equator it is a branch.
    metric: Metric  #: A metric of the plane; it gives the colour and the conics.

    @classmethod
    def from_metric(
        cls, metric: Metric, centers: ArrayLike, radius: ArrayLike = 1.0, *, resolution: int = 256
    ) -> Self:
        """Compute the outlines.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric
            Metric of the plane.
        centers : array-like of shape (n, 2)
            Centres of the balls.
        radius : float or array-like of shape (n,), default=1.0
            Radius of all balls, or of each.
        resolution : int, default=256
            Number of points on an outline.
        """
        centers = np.atleast_2d(checks.as_points(centers, "centers"))
        centers = checks.as_points(centers, "centers", 2, ndim=2)
        given = np.atleast_1d(checks.as_finite_array(radius, "radius"))
        checks.as_points(given, "radius", ndim=1)
        _, radii = checks.broadcast_points(centers=centers[:, 0], radius=given)
        space.refuse_at(radii <= 0, "radius must be positive, but is not", ".")
        n = checks.as_count(resolution, "resolution")
        sections.expect_metric(metric)
        with checks.about("centers"):
            spheres = outlines.sphere_paths(metric, centers, radii, n)
        paths, closed = map(list, zip(*spheres, strict=True))
        return cls(centers=centers, radii=radii, outlines=paths, closed=closed, metric=metric)

    def plot(
        self,
        ax: shapes.Axes | None = None,
        *,
        color: str | None = None,
        fill: float = 0.15,
        show_centers: bool = True,
        **options: Any,
    ) -> Self:
        """Draw the balls.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        color : str, optional
            Colour of the balls; by default that of the geometry.
        fill : float, default=0.15
            Opacity of the inside.
        show_centers : bool, default=True
            Whether to draw the centres.
        **options : keyword arguments
            Options of the outlines, a LineCollection, such as the label in a legend.
        """
        shade = shapes.GEOMETRY_COLORS[self.metric.geometry] if color is None else color
        inside, lines = ball_shapes(self, shade, checks.as_real(fill, "fill", "[0, 1]"))
        ax = shapes.new_axes(ax)
        self.fill_ = shapes.draw_shape(ax, inside)
        self.lines_ = shapes.draw_shape(ax, lines, **options)
        if show_centers:
            shapes.draw_points(ax, self.centers, color=shade, s=12)
        domains = outlines.domains_of(self.metric)
        shown = (self.centers, *compress(self.outlines, self.closed), *outlines.edges_of(domains))
        return self._finish(ax, domains, *shown)


def ball_shapes(
    balls: BallDisplay, color: str, fill: float, width: float = 1.2
) -> list[shapes.Shape]:
    lines = []
    for path, is_closed in zip(balls.outlines, balls.closed, strict=True):
        lines.append(np.concatenate([path, path[:1]]) if is_closed else path)
    inside = shapes.chain(compress(balls.outlines, balls.closed))
    return [
        shapes.Shape("area", inside, color, alpha=fill),
        shapes.Shape("line", shapes.chain(lines), color, width),
    ]


@dataclass(kw_only=True, eq=False, repr=False)
class GeodesicDisplay(shapes.PlaneDisplay):
    """Geodesics of a metric of the plane, with marks at equal distances, or whole lines.

    :meth:`plot` sets `ax_`, `figure_` and `lines_`, a LineCollection.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = GeodesicDisplay.from_points(metric, [0.0, 0.0], [0.9, 0.0], marks=3)
    >>> display.marks[:, 0].round(3)  # equal steps look ever shorter
    array([0.   , 0.627, 0.9  ])
    >>> line = metric.bisector([-0.5, 0.0], [0.5, 0.0])
    >>> figure = GeodesicDisplay.from_hyperplane(metric, line).plot(display.plot().ax_).figure_
    """

    paths: Sequence[Floats]  #: Polylines (m, 2).
    marks: Floats  #: Points to mark, shape (k, 2); may be empty.
    domains: Sequence[Ellipsoid] = ()  #: Fundamental conics.

    @classmethod
    def from_points(
        cls, metric: CurvedMetric, p: ArrayLike, q: ArrayLike, *, marks: int = 2
    ) -> Self:
        """Compute the geodesics from p to q.

        Parameters
        ----------
        metric : CurvedMetric
            Metric of the plane.
        p, q : array-like of shape (..., 2)
            Ends, broadcast against each other.
        marks : int, default=2
            Number of marks on each geodesic, at equal distances; 2 marks the ends.
        """
        space.as_space(metric)
        p, q = checks.as_points(p, "p", 2), checks.as_points(q, "q", 2)
        pairs = np.stack(checks.broadcast_points(p=p, q=q), axis=-2).reshape(-1, 2, 2)
        t = np.linspace(0, 1, checks.as_count(marks, "marks"))
        marked = np.concatenate([metric.geodesic(start, end, t) for start, end in pairs])
        return cls(paths=list(pairs), marks=marked, domains=outlines.domains_of(metric))

    @classmethod
    def from_hyperplane(cls, metric: CurvedMetric, line: Hyperplane) -> Self:
        """Compute a whole line, for example ``metric.bisector(p, q)``, clipped to the domain."""
        space.as_space(metric)
        checks.expect(isinstance(line, Hyperplane), "line", line, "a Hyperplane")
        checks.expect(np.ndim(line.offset) == 0, "line", line, "one line; make a display of each")
        path = outlines.line_path(metric, line, 2)
        return cls(paths=[path], marks=shapes.NOTHING, domains=outlines.domains_of(metric))

    def plot(self, ax: shapes.Axes | None = None, *, color: str = "black", **options: Any) -> Self:
        """Draw lines and marks of a colour, in new axes by default; options are the lines'."""
        ax = shapes.new_axes(ax)
        look = {"colors": color, "linewidths": 1.2} | options
        self.lines_ = shapes.draw_lines(ax, self.paths, **look)
        shapes.draw_points(ax, self.marks, color=color)
        return self._finish(ax, self.domains, self.marks, *outlines.edges_of(self.domains))


@dataclass(kw_only=True, eq=False, repr=False)
class CrossRatioDisplay(shapes.PlaneDisplay):
    """Four collinear points p, q, P, Q with their cross-ratio (paper, figures 1 and 2).

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> figure = CrossRatioDisplay.from_metric(metric, [0.0, 0.0], [0.5, 0.0]).plot().figure_
    >>> CrossRatioDisplay.from_points([0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]).value
    0.25
    """

    points: Floats  #: p, q, P and Q, shape (4, 2).
    value: float  #: (p, q; P, Q).
    distance: float | None = None  #: d(p, q) when the points come from a metric.
    domains: Sequence[Ellipsoid] = ()  #: Fundamental conics.

    @classmethod
    def from_points(cls, p: ArrayLike, q: ArrayLike, P: ArrayLike, Q: ArrayLike) -> Self:
        """Compute the cross-ratio of four points of a line."""
        named = {"p": p, "q": q, "P": P, "Q": Q}
        rows = [checks.as_points(point, name, 2, ndim=1) for name, point in named.items()]
        if (rows[2] == rows[3]).all():
            raise InvalidInputError("P and Q coincide, and the cross-ratio is 1 for any p and q.")
        return cls(points=np.stack(rows), value=float(cross_ratio(*rows)))

    @classmethod
    def from_metric(cls, metric: CurvedMetric, p: ArrayLike, q: ArrayLike) -> Self:
        """Compute the distance in a hyperbolic metric, and P and Q, where pq meets the conic."""
        if space.as_space(metric).geometry != "hyperbolic":
            said = f"The conic of a {metric.geometry} metric has no real points"
            raise NotRepresentableError(f"{said}; take a metric with K < 0.")
        distance = metric(p, q)
        ends = line_intersections(metric.form, p, q)
        display = cls.from_points(p, q, *((end / end[2]).real[:2] for end in ends))
        return replace(display, distance=distance, domains=outlines.domains_of(metric))

    def plot(
        self,
        ax: shapes.Axes | None = None,
        *,
        labels: Sequence[str] = ("p", "q", "P", "Q"),
        **options: Any,
    ) -> Self:
        """Draw the line, with options of a LineCollection, and its points with four labels.

        The cross-ratio is the title of axes that have none.
        """
        names = checks.as_texts(labels, "labels")
        checks.expect(len(names) == len(self.points), "labels", labels, "four names")
        ax = shapes.new_axes(ax)
        start, end = self.points[2:]
        along = (end - start) / math.dist(start, end)
        t = (self.points - start) @ along
        ends = np.array([t.min(), t.max()]) + np.array([-1, 1]) * 0.08 * np.ptp(t)
        line = start + ends[:, None] * along
        shapes.draw_lines(ax, [line], **({"colors": "0.35", "linewidths": 1.2} | options))
        shapes.draw_points(ax, self.points[:2], color=shapes.BLUE, s=30)
        hollow: Any = {"color": "white", "edgecolors": "black", "linewidths": 1, "s": 30}
        shapes.draw_points(ax, self.points[2:], **hollow)
        across = np.array([-along[1], along[0]]) * (1 if along[0] >= 0 else -1)
        shifts = np.tile(11 * across, (4, 1))
        for domain in self.domains:  # P and Q are named outside, where the conic recedes
            for i, outwards in ((2, -along), (3, along)):
                normal = domain.matrix @ (self.points[i] - domain.center)
                side = 11 if normal @ across >= 0 else -11
                shifts[i] = 9 * outwards + side * across
        look: Any = {"ha": "center", "va": "center", "zorder": 5, "textcoords": "offset points"}
        for name, at, shift in zip(names, self.points, shifts, strict=True):
            ax.annotate(f"${name}$", at, shift, **look)
        p, q, P, Q = names
        text = f"$({p}, {q}; {P}, {Q}) = {self.value:.3f}$"
        if self.distance is not None:
            text += f",  $d({p}, {q}) = {self.distance:.3f}$"
        return self._finish(ax, self.domains, line, *outlines.edges_of(self.domains), title=text)
