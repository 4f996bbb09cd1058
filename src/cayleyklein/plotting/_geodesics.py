"""Geodesics: straight in the plane, circular arcs in the conformal charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import as_count, as_points, broadcast_points
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid, Hyperplane
from cayleyklein.metrics import CurvedMetric
from cayleyklein.metrics._spheres import bounds_of, domains_of
from cayleyklein.plotting._outlines import line_path
from cayleyklein.plotting._style import (
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

__all__ = ["GeodesicDisplay"]


class GeodesicDisplay:
    """Geodesics of a metric of the plane, with marks at equal distances.

    Make one by :meth:`from_points`, or by :meth:`from_hyperplane` for whole lines such as
    bisectors.

    Parameters
    ----------
    paths : sequence of ndarray of shape (m, 2)
    marks : ndarray of shape (k, 2)
        Points to mark; may be empty.
    domains : sequence of Ellipsoid, default=()
        Fundamental conics to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : matplotlib LineCollection

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.plotting import GeodesicDisplay
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = GeodesicDisplay.from_points(metric, [0.0, 0.0], [0.9, 0.0], marks=3)
    >>> display.marks[:, 0].round(3)  # equal steps look ever shorter
    array([0.   , 0.627, 0.9  ])
    >>> figure = display.plot().figure_
    """

    def __init__(
        self, *, paths: Sequence[Floats], marks: Floats, domains: Sequence[Ellipsoid] = ()
    ) -> None:
        self.paths = paths
        self.marks = marks
        self.domains = domains

    @classmethod
    def from_points(
        cls, metric: CurvedMetric, p: ArrayLike, q: ArrayLike, *, marks: int = 2
    ) -> GeodesicDisplay:
        """Compute the geodesics from p to q.

        Parameters
        ----------
        metric : CurvedMetric
            Of the plane.
        p, q : array-like of shape (..., 2)
            The ends, broadcast against each other.
        marks : int, default=2
            Marks on each geodesic, at equal distances; 2 marks its ends.
        """
        as_metric(metric, mixed=False)
        ends = broadcast_points(p=as_points(p, "p", 2), q=as_points(q, "q", 2))
        t = np.linspace(0, 1, as_count(marks, "marks"))
        pairs = np.stack(ends, axis=-2).reshape(-1, 2, 2)
        return cls(
            paths=list(pairs),
            marks=np.concatenate([metric.geodesic(start, end, t) for start, end in pairs]),
            domains=domains_of(metric),
        )

    @classmethod
    def from_hyperplane(
        cls, metric: CurvedMetric, line: Hyperplane, *, resolution: int = 2
    ) -> GeodesicDisplay:
        """Compute a whole line, for example ``metric.bisector(p, q)``, clipped to the domain.

        Parameters
        ----------
        metric : CurvedMetric
            Of the plane.
        line : Hyperplane
        resolution : int, default=2
            Points on the line, which is straight.

        Examples
        --------
        >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
        >>> line = disc.bisector([-0.5, 0.0], [0.5, 0.0])
        >>> display = GeodesicDisplay.from_hyperplane(disc, line)
        >>> bool(abs(display.paths[0][:, 0]).max() < 1e-12)
        True
        """
        as_metric(metric, mixed=False)
        if not isinstance(line, Hyperplane):
            raise InvalidInputError(f"line must be a Hyperplane; got {type(line).__name__}.")
        if np.ndim(line.offset):
            raise InvalidInputError(
                f"line holds {np.shape(line.offset)} hyperplanes; make a display of each of them."
            )
        path = line_path(metric, line, as_count(resolution, "resolution"))
        return cls(paths=[path], marks=np.empty((0, 2)), domains=domains_of(metric))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: str = "black",
        label: str | None = None,
        **style: Any,
    ) -> GeodesicDisplay:
        """Draw the geodesics.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        color : str, default="black"
        label : str, optional
            For a legend.
        **style
            For the lines, a LineCollection.
        """
        as_color(color)
        ax = new_axes(ax)
        look = {"colors": color, "linewidths": 1.2, "label": label} | style
        self.lines_ = draw_lines(ax, self.paths, **look)
        draw_points(ax, self.marks, color=color)
        draw_domains(ax, self.domains)
        edges = [domain.boundary() for domain in self.domains]
        shown = [self.marks, *edges]
        finish_axes(ax, bounds_of(*shown) if sum(map(len, shown)) else None)
        self.ax_, self.figure_ = ax, ax.figure
        return self
