"""Balls of the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import (
    about,
    as_count,
    as_finite_array,
    as_points,
    as_real,
    at_index,
    broadcast_points,
    require,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.metrics import Metric
from cayleyklein.plotting._outlines import bounds_of, domains_of, sphere_path
from cayleyklein.plotting._style import (
    GEOMETRY_COLORS,
    as_color,
    as_metric,
    draw_domains,
    draw_lines,
    draw_points,
    finish_axes,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BallDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class BallDisplay:
    """Balls of a metric of the plane: ellipses with displaced centres (paper, figure 6).

    Make one by :meth:`from_metric`. Elliptic balls are drawn red, hyperbolic green, Mahalanobis
    blue, mixed purple and those of a product orange; the dots are the centres of the distance, not
    of the ellipses.

    Parameters
    ----------
    centers : ndarray of shape (n, 2)
    radii : ndarray of shape (n,)
    outlines : sequence of ndarray of shape (m, 2)
        The spheres. One that crosses the elliptic equator is an open branch.
    closed : sequence of bool
        Which of the outlines are closed.
    geometry : str, default="flat"
        Gives the colour: "elliptic", "hyperbolic", "flat", "mixed" or "product".
    domains : sequence of Ellipsoid, default=()
        Fundamental conics to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    fill_ : matplotlib PolyCollection
    lines_ : matplotlib LineCollection

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.plotting import BallDisplay
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = BallDisplay.from_metric(metric, [[0.0, 0.0], [0.6, 0.3]], 0.4)
    >>> metric.distance(display.centers[1], display.outlines[1]).round(9).max()
    np.float64(0.4)

    An elliptic ball that crosses the equator is not an ellipse:

    >>> plane = CurvedMetric.euclidean(2, curvature=1.0)
    >>> BallDisplay.from_metric(plane, [[1.0, 0.0]], 1.0).closed
    [False]
    >>> figure = display.plot().figure_
    """

    centers: Floats
    radii: Floats
    outlines: Sequence[Floats]
    closed: Sequence[bool]
    geometry: str = "flat"
    domains: Sequence[Ellipsoid] = ()

    @classmethod
    def from_metric(
        cls, metric: Metric, centers: ArrayLike, radius: ArrayLike = 1.0, *, resolution: int = 256
    ) -> BallDisplay:
        """Compute the outlines.

        Parameters
        ----------
        metric : CurvedMetric, MixedMetric or ProductMetric
            Of the plane.
        centers : array-like of shape (n, 2)
        radius : float or array-like of shape (n,), default=1.0
        resolution : int, default=256
            Points on an outline.
        """
        centers = as_points(np.atleast_2d(as_points(centers, "centers")), "centers", 2, ndim=2)
        given = as_points(np.atleast_1d(as_finite_array(radius, "radius")), "radius", ndim=1)
        _, radii = broadcast_points(centers=centers[:, 0], radius=given)
        if (radii <= 0).any():
            raise InvalidInputError(
                f"radius must be positive{at_index(radii <= 0)}: nothing to draw."
            )
        n = as_count(resolution, "resolution")
        as_metric(metric)
        with about("centers"):
            spheres = [
                sphere_path(metric, c, float(r), n) for c, r in zip(centers, radii, strict=True)
            ]
        return cls(
            centers=centers,
            radii=radii,
            outlines=[path for path, _ in spheres],
            closed=[closed for _, closed in spheres],
            geometry=metric.geometry,
            domains=domains_of(metric),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: str | None = None,
        fill: float = 0.15,
        label: str | None = None,
        show_centers: bool = True,
        **style: Any,
    ) -> BallDisplay:
        """Draw the balls.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        color : str, optional
            That of the geometry by default.
        fill : float, default=0.15
            Opacity of the inside; 0 leaves it empty.
        label : str, optional
            For a legend.
        show_centers : bool, default=True
        **style
            For the outlines, a LineCollection.
        """
        shade = GEOMETRY_COLORS[self.geometry] if color is None else as_color(color)
        as_real(fill, "fill", "[0, 1]")
        ax = new_axes(ax)
        self._draw(ax, shade, fill, {"label": label} | style)
        if show_centers:
            draw_points(ax, self.centers, color=shade, s=12)
        draw_domains(ax, self.domains)
        full = [path for path, whole in zip(self.outlines, self.closed, strict=True) if whole]
        edges = [domain.boundary() for domain in self.domains]
        finish_axes(ax, bounds_of(self.centers, *full, *edges))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Axes, color: str, fill: float, style: dict[str, Any]) -> None:
        """Draw the balls without changing the limits of the axes."""
        collections = require("matplotlib.collections", "plot")
        outlines = list(zip(self.outlines, self.closed, strict=True))
        self.fill_ = collections.PolyCollection(
            [path for path, whole in outlines if whole],
            facecolors=color,
            edgecolors="none",
            alpha=fill,
        )
        ax.add_collection(self.fill_, autolim=False)
        paths = [np.concatenate([path, path[:1]]) if whole else path for path, whole in outlines]
        self.lines_ = draw_lines(ax, paths, **({"colors": color, "linewidths": 1.2} | style))
