"""Balls of the plane, and a metric shown by equal balls over the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics.combined import Metric, terms_of
from cayleyklein.plotting import outlines, sections, style
from cayleyklein.plotting.shapes import GEOMETRY_COLORS, Shape, chain
from cayleyklein.plotting.svg import number


@dataclass(kw_only=True, eq=False, repr=False)
class BallDisplay(style.PlaneDisplay):
    """Balls of a metric of the plane: ellipses with displaced centres (paper, figure 6).

    Make one by :meth:`from_metric`. Elliptic balls are red, hyperbolic green, Mahalanobis violet,
    mixed brown and those of a product yellow; the dots are the centres of the distance, not of the
    ellipses. :meth:`plot` sets `ax_`, `figure_`, `fill_` (a PolyCollection) and `lines_` (a
    LineCollection).

    Parameters
    ----------
    centers, radii : ndarray of shape (n, 2) and (n,)
        Centres and radii of the balls.
    outlines, closed : sequence of ndarray of shape (m, 2), and of bool
        Their spheres, and which are closed: one across the elliptic equator is an open branch.
    metric : CurvedMetric, MixedMetric or ProductMetric
        Gives the colour and the fundamental conics.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = BallDisplay.from_metric(metric, [[0.0, 0.0], [0.6, 0.3]], 0.4)
    >>> metric.distance(display.centers[1], display.outlines[1]).round(9).max()
    np.float64(0.4)
    >>> figure = display.plot().figure_
    """

    centers: Floats
    radii: Floats
    outlines: Sequence[Floats]
    closed: Sequence[bool]
    metric: Metric

    @classmethod
    def from_metric(
        cls, metric: Metric, centers: ArrayLike, radius: ArrayLike = 1.0, *, resolution: int = 256
    ) -> Self:
        """Compute the outlines.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric of the plane
        centers : array-like of shape (n, 2)
            Centres of the balls.
        radius : float or array-like of shape (n,), default=1.0
            Radius of all balls, or of each.
        resolution : int, default=256
            Points on an outline.
        """
        centers = np.atleast_2d(checks.as_points(centers, "centers"))
        centers = checks.as_points(centers, "centers", 2, ndim=2)
        given = np.atleast_1d(checks.as_finite_array(radius, "radius"))
        checks.as_points(given, "radius", ndim=1)
        _, radii = checks.broadcast_points(centers=centers[:, 0], radius=given)
        if (radii <= 0).any():
            raise InvalidInputError(f"radius must be positive{checks.at_index(radii <= 0)}.")
        n = checks.as_count(resolution, "resolution")
        sections.any_metric(metric)
        with checks.about("centers"):
            spheres = [
                outlines.sphere_path(metric, center, radius, n)
                for center, radius in zip(centers, radii.tolist(), strict=True)
            ]
        paths, closed = [path for path, _ in spheres], [whole for _, whole in spheres]
        return cls(centers=centers, radii=radii, outlines=paths, closed=closed, metric=metric)

    def plot(
        self, ax: style.Axes | None = None, *, color: str | None = None, fill: float = 0.15,
        label: str | None = None, show_centers: bool = True, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the balls.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        color : str, optional
            Colour of the balls; that of the geometry by default.
        fill : float, default=0.15
            Opacity of the inside; 0 leaves it empty.
        label : str, optional entry of a legend
        show_centers : bool, default=True
            Whether to draw the centres.
        **options : options of the outlines, a LineCollection
        """
        shade = GEOMETRY_COLORS[self.metric.geometry] if color is None else color
        checks.as_real(fill, "fill", "[0, 1]")
        ax = style.new_axes(ax)
        self._draw(ax, shade, fill, {"label": label} | options)
        if show_centers:
            style.draw_points(ax, self.centers, color=shade, s=12)
        domains = outlines.domains_of(self.metric)
        return self._finish(ax, domains, self.centers, *self._full, *outlines.edges_of(domains))

    @property
    def _full(self) -> list[Floats]:
        return [path for path, whole in zip(self.outlines, self.closed, strict=True) if whole]

    def _shapes(self, color: str, fill: float, width: float = 1.2) -> tuple[Shape, Shape]:
        spheres = zip(self.outlines, self.closed, strict=True)
        lines = chain(np.concatenate([path, path[: int(whole)]]) for path, whole in spheres)
        inside = Shape("area", chain(self._full), color, alpha=fill)
        return inside, Shape("line", lines, color, width)

    def _draw(self, ax: style.Axes, color: str, fill: float, look: dict[str, Any]) -> None:
        inside, lines = self._shapes(color, fill)
        self.fill_ = style.draw_shape(ax, inside)
        self.lines_ = style.draw_shape(ax, lines, **look)


@dataclass(kw_only=True, eq=False, repr=False)
class MetricDisplay(style.PlaneDisplay):
    """A metric of the plane, or a plane section of one: its domain, equal balls, and K.

    Make one by :meth:`from_estimator` or :meth:`from_metric`. Balls of one radius are on a lattice
    over the data; their size and shape show the metric.

    Parameters
    ----------
    metric : CurvedMetric, MixedMetric or ProductMetric of the plane
    balls : BallDisplay of balls of one radius
    X, y : ndarray of shape (n, 2) and (n,), optional
        Rows of data, and their labels.
    names : pair of str, default=("$x_1$", "$x_2$")
        Labels of the axes.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    >>> display = MetricDisplay.from_estimator(learner, X, y, features=(2, 3))
    >>> display.metric  # on a plane it has the same curvature
    CurvedMetric(elliptic, d=2, K=1)
    >>> display = MetricDisplay.from_metric(learner.metric_, features="pca", lattice=3)
    >>> figure = display.plot().figure_
    """

    metric: Metric
    balls: BallDisplay
    X: Floats | None = None
    y: AnyArray | None = None
    names: Sequence[str] = style.NAMES

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Show the metric of a fitted learner over its data.

        Parameters
        ----------
        estimator : CurvedLMNN, MMC, or a Pipeline that holds one
            Fitted. The steps of a pipeline before the learner are applied to X.
        X, y : array-like of shape (n, d) and (n,), y optional
            Rows to show, and their classes.
        **options
            ``features``, ``feature_names``, ``radius`` and ``lattice`` of :meth:`from_metric`.
        """
        metric, rows, names = sections.shown_metric(estimator, X)
        return cls.from_metric(metric, rows, y, **({"feature_names": names} | options))

    @classmethod
    def from_metric(
        cls, metric: Metric, X: ArrayLike | None = None, y: ArrayLike | None = None, *,
        features: Sequence[Any] | str | None = None, feature_names: Sequence[str] | None = None,
        radius: float | None = None, lattice: int = 7,
    ) -> Self:  # fmt: skip
        """Compute the balls, on a plane section when the metric has more than two dimensions.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric for d columns
        X, y : array-like of shape (n, d) and (n,), optional
            Rows to show, projected to the plane, and their classes.
        features : pair of int or str, "pca" or None
            The plane, which cuts the balls exactly: two columns, with the others at the mean of X
            (at the centre without X), or the principal plane of X in the coordinates z of the
            metric (of the metric itself without X). None is "pca" for X of d > 2, and else the
            first two columns.
        feature_names : sequence of d str, optional
            Names of the columns; x₁, x₂, … by default.
        radius : float, optional
            Radius of the balls; by default they nearly touch.
        lattice : int, default=7
            Balls along the longer side of the data.
        """
        sections.any_metric(metric)
        rows, labels = None, None
        if X is not None:
            rows, labels = sections.rows_and_labels(X, y, metric.dimension)
        section = sections.choose_section(metric, rows, features, feature_names)
        plane = section.restrict(metric)
        shown = None if rows is None else section.project(rows)
        centers, size = outlines.ball_lattice(plane, shown, checks.as_count(lattice, "lattice"))
        size = size if radius is None else checks.as_real(radius, "radius")
        balls = BallDisplay.from_metric(plane, centers, size)
        return cls(metric=plane, balls=balls, X=shown, y=labels, names=section.names)

    def plot(self, ax: style.Axes | None = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw the data, the balls and the domain.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        legend : bool, default=True
            Whether to name the classes.
        **options : options of the rows, a scatter
        """
        ax = style.new_axes(ax)
        color = GEOMETRY_COLORS[self.metric.geometry]
        self.balls._draw(ax, color, 0.1, {"linewidths": 0.8})
        if self.X is not None:
            style.draw_points(ax, self.X, self.y, **({"s": 14} | options))
        domains = outlines.domains_of(self.metric)
        rows = self.balls._full if self.X is None else [self.X]
        near = outlines.bounds_of(self.balls.centers, *rows)
        far = outlines.bounds_of(near, *outlines.edges_of(domains))
        distant = np.ptp(far, axis=0).max() > 3 * np.ptp(near, axis=0).max()  # drawn in a corner
        self._finish(ax, domains, near if distant else far, names=self.names)
        if distant:
            self._draw_overview(ax, near, far)
        if not ax.get_title():
            K = ", ".join(number(part.curvature, 3) for part, _ in terms_of(self.metric))
            text = f"{self.metric.geometry}, $K$ = {K}; balls of radius {self.balls.radii[0]:.2g}"
            ax.set_title(text, fontsize="medium")
        if legend and self.y is not None:
            style.draw_legend(ax, fontsize="small")
        return self

    def _draw_overview(self, ax: style.Axes, near: Floats, far: Floats) -> None:
        corner = ax.inset_axes((1.03, 0.72, 0.28, 0.28))
        style.draw_domains(corner, outlines.domains_of(self.metric))
        patches = checks.require("matplotlib.patches", "plot")
        corner.add_patch(patches.Rectangle(near[0], *np.ptp(near, axis=0), fill=False, lw=0.8))
        corner.set(xticks=[], yticks=[], frame_on=False)
        style.finish_axes(corner, far, ("", ""))
