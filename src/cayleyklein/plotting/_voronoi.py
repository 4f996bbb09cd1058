"""Voronoi diagrams in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import require
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.plotting._outlines import bounds_of, domains_of, edges_of
from cayleyklein.plotting._style import (
    PADDING,
    VERMILION,
    YELLOW,
    PlaneDisplay,
    class_tints,
    draw_lines,
    draw_points,
    new_axes,
    tint,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    return bounds_of(*edges_of(domains_of(diagram.metric)))


@dataclass(kw_only=True, eq=False, repr=False)
class VoronoiDisplay(PlaneDisplay):
    """A Voronoi diagram of the plane, of any order, labelled or not (paper, figures 5, 7 and 8).

    Make one by :meth:`from_diagram`. The cells of a labelled diagram are the exact regions of
    nearest neighbours. :meth:`plot` sets `ax_`, `figure_`, `edges_` (a LineCollection) and `cells_`
    (a PolyCollection).

    Parameters
    ----------
    diagram : CayleyKleinVoronoi
        Of the plane.

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> from cayleyklein.plotting import VoronoiDisplay
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = VoronoiDisplay.from_diagram(
    ...     CayleyKleinVoronoi(points, metric, labels=list("abba"))
    ... )
    >>> len(display.plot().edges_.get_segments())
    6
    >>> len(display.plot(frontier=True).edges_.get_segments())  # between a and b
    4
    """

    diagram: CayleyKleinVoronoi

    @classmethod
    def from_diagram(cls, diagram: CayleyKleinVoronoi) -> VoronoiDisplay:
        """Show a diagram of the plane."""
        picture_bounds(diagram)  # raises for others
        return cls(diagram=diagram)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        fill: bool = True,
        frontier: bool = False,
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
        frontier : bool, default=False
            Whether to draw the edges between different labels only: the decision frontier.
        highlight : int, optional
            A cell to paint yellow, with its generators in red.
        show_points : bool, default=True
        **style
            For the edges, a LineCollection.
        """
        diagram, cells = self.diagram, self.diagram.outlines()
        if highlight is not None and highlight not in range(len(cells)):
            raise InvalidInputError(
                f"Got highlight={highlight!r}, but expected the number of one of the "
                f"{len(cells)} cells."
            )
        look: dict[str, Any] = {"colors": "0.35"}
        edges = diagram.ridge_segments()[1]
        if frontier:
            look, edges = {"colors": "black", "linewidths": 1.4}, diagram.frontier()
        ax = new_axes(ax)
        colors: list[Any] = ["none"] * len(cells)
        if fill and diagram.labels is not None:
            tints = class_tints(len(diagram.classes))
            colors = [tints[i] for i in np.searchsorted(diagram.classes, diagram.cell_labels)]
        if highlight is not None:
            colors[highlight] = tint(YELLOW, 0.8)
        # edges of the same colour close the hairlines that antialiasing leaves between cells
        self.cells_ = require("matplotlib.collections", "plot").PolyCollection(
            cells, facecolors=colors, edgecolors=colors, linewidths=0.5, zorder=0.5
        )
        ax.add_collection(self.cells_, autolim=False)
        self.edges_ = draw_lines(ax, list(edges), **(look | style))
        if show_points:
            draw_points(ax, diagram.points, diagram.labels)
        if highlight is not None:
            generators = diagram.points[diagram.cell_generators[highlight]]
            draw_points(ax, generators, color=VERMILION, s=40)
        domains = domains_of(diagram.metric)
        padding = PADDING if domains else 0.0
        return self._finish(ax, domains, picture_bounds(diagram), padding=padding)
