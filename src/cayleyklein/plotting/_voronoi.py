"""Voronoi diagrams in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Ellipsoid
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting._outlines import bounds_of, cell_outlines, domains_of
from cayleyklein.plotting._style import (
    PADDING,
    VERMILION,
    YELLOW,
    class_tints,
    draw_cells,
    draw_domains,
    draw_lines,
    draw_points,
    finish_axes,
    new_axes,
    tint,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["VoronoiDisplay", "picture_bounds"]


def picture_bounds(diagram: CayleyKleinVoronoi) -> Floats:
    """Return the corners of the picture of a diagram: its window, or the box of its domain."""
    if not isinstance(diagram, CayleyKleinVoronoi):
        raise InvalidInputError(
            f"diagram must be a CayleyKleinVoronoi; got {type(diagram).__name__}."
        )
    if diagram.metric.dimension != 2:
        raise InvalidInputError(
            f"The diagram has {diagram.metric.dimension} dimensions, and a picture two; make it "
            f"of points of the plane, for example of two columns."
        )
    if diagram.window is not None:
        return diagram.window
    return bounds_of(*(domain.boundary() for domain in domains_of(diagram.metric)))


@dataclass(kw_only=True, eq=False, repr=False)
class VoronoiDisplay:
    """A Voronoi diagram of the plane, of order 1 or more (paper, figures 5, 7 and 8).

    Make one by :meth:`from_points` or :meth:`from_diagram`.

    Parameters
    ----------
    edges : ndarray of shape (m, 2, 2)
        The segments between cells.
    cells : sequence of ndarray of shape (k, 2)
        The outline of each cell.
    generators : ndarray of shape (n_cells, order)
        Generators of each cell.
    points : ndarray of shape (n, 2)
    bounds : ndarray of shape (2, 2)
        The lower and the upper corner of the picture.
    labels : ndarray of shape (n,), optional
        Classes of the points.
    cell_labels : ndarray of shape (n_cells,), optional
        Classes of the cells.
    domains : sequence of Ellipsoid, default=()
        Fundamental conics to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    edges_ : matplotlib LineCollection
    cells_ : matplotlib PolyCollection

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.plotting import VoronoiDisplay
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = VoronoiDisplay.from_points(points, metric)
    >>> len(display.cells), display.edges.shape
    (4, (6, 2, 2))
    >>> figure = display.plot().figure_
    """

    edges: Floats
    cells: Sequence[Floats]
    generators: Ints
    points: Floats
    bounds: Floats
    labels: AnyArray | None = None
    cell_labels: AnyArray | None = None
    domains: Sequence[Ellipsoid] = ()

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        metric: CurvedMetric,
        *,
        order: int = 1,
        labels: ArrayLike | None = None,
        window: ArrayLike | None = None,
    ) -> VoronoiDisplay:
        """Compute the diagram, see :class:`cayleyklein.diagrams.CayleyKleinVoronoi`."""
        diagram = CayleyKleinVoronoi(points, metric, order=order, labels=labels, window=window)
        return cls.from_diagram(diagram)

    @classmethod
    def from_diagram(cls, diagram: CayleyKleinVoronoi) -> VoronoiDisplay:
        """Take the cells of a diagram of the plane.

        Examples
        --------
        >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
        >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
        >>> diagram = CayleyKleinVoronoi([[-0.5, 0.0], [0.5, 0.0]], disc)
        >>> len(VoronoiDisplay.from_diagram(diagram).cells)
        2
        """
        bounds = picture_bounds(diagram)
        return cls(
            edges=diagram.ridge_segments()[1],
            cells=cell_outlines(diagram),
            generators=diagram.cell_generators,
            points=diagram.points,
            bounds=bounds,
            labels=diagram.labels,
            cell_labels=None if diagram.labels is None else diagram.cell_labels,
            domains=domains_of(diagram.metric),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        fill: bool = True,
        highlight: int | None = None,
        show_points: bool = True,
        **style: Any,
    ) -> VoronoiDisplay:
        """Draw the cells, the points and the conic.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        fill : bool, default=True
            Whether to fill the cells with the colours of their labels, if there are labels.
        highlight : int, optional
            A cell to paint yellow, with its generators in red.
        show_points : bool, default=True
        **style
            For the edges, a LineCollection.
        """
        if highlight is not None and highlight not in range(len(self.cells)):
            raise InvalidInputError(
                f"Got highlight={highlight!r}, but expected the number of one of the "
                f"{len(self.cells)} cells."
            )
        ax = new_axes(ax)
        self.cells_ = draw_cells(ax, self.cells, self._cell_colors(fill, highlight))
        self.edges_ = draw_lines(ax, list(self.edges), **({"colors": "0.35"} | style))
        if show_points:
            draw_points(ax, self.points, self.labels)
        if highlight is not None:
            draw_points(ax, self.points[self.generators[highlight]], color=VERMILION, s=40)
        draw_domains(ax, self.domains)
        finish_axes(ax, self.bounds, padding=PADDING if self.domains else 0.0)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _cell_colors(self, fill: bool, highlight: int | None) -> list[Any]:
        colors: list[Any] = ["none"] * len(self.cells)
        if fill and self.labels is not None and self.cell_labels is not None:
            classes = np.unique(self.labels)
            tints = class_tints(len(classes))
            colors = [tints[i] for i in np.searchsorted(classes, self.cell_labels)]
        if highlight is not None:
            colors[highlight] = tint(YELLOW, 0.8)
        return colors
