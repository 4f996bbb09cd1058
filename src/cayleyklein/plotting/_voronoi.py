"""Voronoi diagrams in the plane."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import expect
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines, style
from cayleyklein.plotting.shapes import LIGHT
from cayleyklein.plotting.svg import PADDING


def picture_bounds(diagram: CayleyKleinVoronoi) -> Floats:
    kind = type(diagram).__name__
    expect(isinstance(diagram, CayleyKleinVoronoi), "diagram", kind, "a CayleyKleinVoronoi")
    if (d := diagram.metric.dimension) != 2:
        advice = "make a diagram of points of the plane, for example of two columns."
        raise InvalidInputError(f"The diagram has {d} dimensions, but a picture has 2; {advice}")
    if diagram.window is not None:
        return diagram.window
    return outlines.bounds_of(*outlines.edges_of(outlines.domains_of(diagram.metric)))


@dataclass(kw_only=True, eq=False, repr=False)
class VoronoiDisplay(style.PlaneDisplay):
    """A Voronoi diagram of the plane, of any order, labelled or not (paper, figures 5, 7 and 8).

    Make one by :meth:`from_points` or :meth:`from_diagram`. :meth:`plot` sets `ax_`, `figure_`,
    `edges_` (a LineCollection) and `cells_` (a PolyCollection).

    Parameters
    ----------
    diagram : CayleyKleinVoronoi of the plane

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> display = VoronoiDisplay.from_points(points, metric).plot()
    >>> len(display.cells_.get_paths()), len(display.edges_.get_segments())
    (4, 6)
    >>> diagram = CayleyKleinVoronoi(points, metric, order=2)
    >>> figure = VoronoiDisplay.from_diagram(diagram).plot(highlight=0).figure_
    """

    diagram: CayleyKleinVoronoi

    @classmethod
    def from_points(cls, points: ArrayLike, metric: CurvedMetric, **options: Any) -> Self:
        """Compute the diagram.

        Parameters
        ----------
        points : array-like of shape (n, 2), the generators
        metric : CurvedMetric of the plane
        **options
            ``order``, ``labels`` and ``window`` of :class:`cayleyklein.CayleyKleinVoronoi`.
        """
        return cls.from_diagram(CayleyKleinVoronoi(points, metric, **options))

    @classmethod
    def from_diagram(cls, diagram: CayleyKleinVoronoi) -> Self:
        """Show a diagram of the plane."""
        picture_bounds(diagram)  # raises for others
        return cls(diagram=diagram)

    def plot(
        self, ax: style.Axes | None = None, *, fill: bool = True, highlight: int | None = None,
        regions: bool = False, show_points: bool = True, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the cells, the points and the conic.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        fill : bool, default=True
            Whether to fill the cells with the colours of their labels, if there are labels.
        highlight : int, optional
            A cell to paint yellow, with its generators in red.
        regions : bool, default=False
            Whether to draw decision regions, the exact ones of as many nearest neighbours as the
            diagram's order: their frontier instead of the edges of the cells. Needs labels.
        show_points : bool, default=True
            Whether to draw the generators.
        **options : options of the edges or of the frontier, a LineCollection
        """
        diagram, n = self.diagram, len(self.diagram.cell_generators)
        known = highlight is None or highlight in range(n)
        expect(known, "highlight", highlight, f"the number of one of the {n} cells")
        if regions and diagram.labels is None:
            raise InvalidInputError("The diagram has no labels; make it with labels=y.")
        colors: list[Any] = ["none"] * n
        ax = style.new_axes(ax)
        if fill and diagram.labels is not None:
            tints = style.class_tints(len(diagram.classes))
            colors = [tints[i] for i in np.searchsorted(diagram.classes, diagram.cell_labels)]
        if highlight is not None:
            colors[highlight] = style.tint("#ffe14d", 0.8)
        self.cells_ = style.draw_cells(ax, diagram.outlines(), colors)
        edges = diagram.frontier() if regions else diagram.ridge_segments()[1]
        look = {"colors": "black", "linewidths": 1.4} if regions else {"colors": "0.35"}
        self.edges_ = style.draw_lines(ax, edges, **(look | options))
        if show_points:
            style.draw_points(ax, diagram.points, diagram.labels)
        if highlight is not None:
            generators = diagram.points[diagram.cell_generators[highlight]]
            style.draw_points(ax, generators, color=LIGHT["elliptic"], s=40)
        domains = outlines.domains_of(diagram.metric)
        padding = PADDING if domains else 0.0
        return self._finish(ax, domains, picture_bounds(diagram), padding=padding)
