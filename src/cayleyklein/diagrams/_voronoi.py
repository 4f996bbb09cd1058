"""Voronoi diagrams of curved metrics."""

from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_real, at_index, require
from cayleyklein.diagrams import _plane_cells as plane_cells
from cayleyklein.diagrams import domains
from cayleyklein.diagrams._diagram import Diagram
from cayleyklein.diagrams.labels import encode_labels
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError

# distance of shapes from the absolute by dimension, relative to its radius: default and smallest
TOLERANCES = {2: (1e-4, 1e-12), 3: (1e-2, 1e-6)}


class Triangulation(NamedTuple):
    """The Delaunay triangulation of a curved metric.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=-1.0))
    >>> [part.shape for part in diagram.dual()]
    [(3, 3), (3, 2), (6, 2)]
    """

    simplices: Ints
    """Points of each simplex, shape (m, d + 1)."""
    centers: Floats
    """Centre of each simplex, equally far from its points, shape (m, d)."""
    edges: Ints
    """Points of neighbouring cells, shape (e, 2); some belong to no simplex when K < 0."""


class CayleyKleinVoronoi(NotebookCard, Diagram):
    """The Voronoi diagram of points under a curved metric, of order 1 or k (paper §3.1).

    Its bisectors are hyperplanes, so it is the power diagram of :func:`equivalent_balls`, within
    the domain.

    Parameters
    ----------
    points : array-like of shape (n, d)
        The generators. Equal points share a cell of order 1, see `duplicates`; in higher orders
        each counts, earlier rows first.
    metric : CurvedMetric
        A metric of any curvature, with a factor of full rank.
    order : int, default=1
        k < n: in a cell, its k generators are the k nearest points.
    labels : array-like of shape (n,), optional
        The class of each point.
    window : array-like of shape (2, d), optional
        Lower and upper corner of the box that a flat or elliptic diagram is cut to; by default
        the box of the points, a tenth larger on each side. A hyperbolic diagram ends at its domain.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> points, labels = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]], list("abba")
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> diagram = CayleyKleinVoronoi(points, disc, labels=labels)
    >>> diagram
    CayleyKleinVoronoi(4 points, hyperbolic, d=2, K=-1, order=1, 4 cells)
    >>> queries = [[0.1, 0.0], [0.9, 0.0]]
    >>> diagram.locate(queries), diagram.predict(queries)
    (array([0, 1]), array(['a', 'b'], dtype='<U1'))
    >>> len(diagram.boundaries()), diagram.areas().round(3)
    (4, array([0.475, 0.864, 0.864, 0.938]))
    >>> [len(corners) for corners in diagram.outlines(0.1)]  # with chords for arcs
    [3, 6, 6, 6]
    >>> cells, segments = diagram.ridge_segments()
    >>> segments.shape, diagram.frontier().shape
    ((6, 2, 2), (4, 2, 2))
    >>> np.sort(diagram.dual().simplices, axis=1).tolist()
    [[0, 1, 3], [0, 2, 3], [0, 1, 2]]
    >>> ball = CurvedMetric.euclidean(3, curvature=-1.0)
    >>> diagram = CayleyKleinVoronoi([[-0.5, 0, 0], [0.5, 0, 0]], ball)
    >>> [round(cell.volume, 2) for cell in diagram.cells()]  # in space cells are meshes
    [2.07, 2.07]
    """

    def __init__(
        self, points: ArrayLike, metric: Any, *, order: int = 1,
        labels: ArrayLike | None = None, window: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(points, metric, order)
        self.window = domains.window_corners(window, self.points, self.metric.curvature)
        self.labels: AnyArray | None = None
        if labels is not None:
            self.classes, self._codes = encode_labels(labels, len(self.points))
            self.labels = np.asarray(labels)

    def __repr__(self) -> str:
        what = repr(self.metric).partition("(")[2][:-1]
        return (
            f"CayleyKleinVoronoi({len(self.points)} points, {what}, order={self.order}, "
            f"{len(self.cell_generators)} cells)"
        )

    @cached_property
    def _plane_cells(self) -> plane_cells.PlaneCells:
        self._needs_dimension(2)
        if self.window is not None:
            return plane_cells.cells_in_window(self._cut_out())
        o, rho = self._chart.disc
        center = int(np.argmax(self._A[self._cells] @ (-o / rho) + self._b[self._cells]))
        y, ends = np.asarray(self._disc_corners), self._ridges[1].members.reshape(-1, 2)
        pieces = plane_cells.cut_to_disc(y, self._power.cells.take(self._cells), center)
        segments = np.stack(plane_cells.cut_edges(*y[ends.T])[:2], axis=1)
        matrix = self.metric.inverse_factor / sqrt(-self.metric.curvature)
        place = matrix, self.metric.center, len(self._cells)
        return plane_cells.PlaneCells(pieces, self.ridge_cells, segments, *place)

    def _needs_dimension(self, *allowed: int) -> int:
        d = int(self._power.dimension)
        if d not in allowed:
            names = " or ".join({2: "the plane", 3: "space"}[k] for k in allowed)
            raise NotRepresentableError(
                f"These shapes exist for diagrams in {names}; this one has {d} dimensions. Use its "
                f"vertices, regions and ridges, locate() or predict()."
            )
        return d

    def _off(self, value: float | None) -> float:
        default, finest = TOLERANCES[self._power.dimension]
        return default if value is None else as_real(value, "tolerance", f"[{finest:g}, 1)")

    def _cut_out(self, tolerance: float | None = None) -> domains.CutOut:
        off = self._off(tolerance)
        if self.window is None:
            walls = domains.ball_walls(self._chart, off)
        else:
            walls = domains.window_walls(self._chart, self.window)
        return domains.CutOut(self._chart, self._A[self._cells], self._b[self._cells], *walls)

    def boundaries(self) -> list[plane_cells.Boundary]:
        """Return the exact boundaries of plane cells: segments, and arcs of the absolute.

        They are cut to the domain or the window; a cell outside has an empty boundary.
        """
        return self._plane_cells.boundaries()

    def areas(self) -> Floats:
        """Return the exact areas of plane cells in the chart x, which sum to the domain's."""
        return self._plane_cells.areas()

    def outlines(self, tolerance: float | None = None) -> list[Floats]:
        """Return the corners (m, 2) of plane cells in the domain or the window; (0, 2) outside.

        Parameters
        ----------
        tolerance : float, optional
            Largest distance of chords from the absolute, relative to its radius; 1e-4 by default.
        """
        self._needs_dimension(2)
        return self._plane_cells.outlines(self._off(tolerance))

    def cells(self, tolerance: float | None = None) -> list[Any]:
        """Return the cells within the domain, or the window; those outside are empty.

        In the plane they are :meth:`outlines` as ``shapely.Polygon`` (needs the extra ``plot``), in
        space closed triangle meshes (:class:`Mesh`).

        Parameters
        ----------
        tolerance : float, optional
            Largest distance of the shapes of a hyperbolic diagram from the absolute, relative to
            its radius; 1e-4 in the plane and 1e-2 in space by default.
        """
        if self._needs_dimension(2, 3) == 3:
            return domains.cell_meshes(self._cut_out(tolerance))
        outlines, shapely = self.outlines(tolerance), require("shapely", "plot")
        # a cell of fewer than three corners is flat to rounding, which also exchanges close corners
        cells = [shapely.Polygon(ring if len(ring) > 2 else None) for ring in outlines]
        return [cell if cell.is_valid else cell.convex_hull for cell in cells]

    def ridge_segments(self) -> tuple[Ints, Floats]:
        """Return the ridges of a plane diagram within the domain, or the window.

        They are pairs of cells (m, 2), and the two ends (m, 2, 2) of the segment between them.
        """
        plane = self._plane_cells
        return plane.pairs, plane.to_points(plane.segments)

    def dual(self) -> Triangulation:
        """Return the Delaunay triangulation of the metric, the dual of a diagram of order 1.

        Its edges are geodesics; it is the regular triangulation of :func:`equivalent_balls`. The
        ball of the metric around a simplex's center through its corners contains no other point.
        Where the domain has no such ball there is no simplex: a part of the points' convex hull may
        stay uncovered.
        """
        if self.order > 1:
            raise NotRepresentableError(
                f"A triangulation is dual to a diagram of order 1; this one has order {self.order}."
            )
        vertex = self._vertex_number[self._power.corner_of]
        simplices = self._sets[self._power.simplices[vertex >= 0], 0]
        return Triangulation(simplices, self.vertices[vertex[vertex >= 0]], self.ridge_points)

    @cached_property
    def cell_labels(self) -> AnyArray:
        """Majority label of the generators of each cell; ties go to the smallest label."""
        if self.labels is None:
            raise InvalidInputError("This diagram has no labels; give labels=, one for each point.")
        codes, n = self._codes[self.cell_generators], len(self.classes)
        places = np.arange(len(codes))[:, None] * n + codes
        votes = np.bincount(places.ravel(), minlength=len(codes) * n).reshape(-1, n)
        return np.asarray(self.classes[votes.argmax(axis=1)])

    @property
    def frontier_ridges(self) -> Bools:
        """Whether each ridge lies between different labels, on the decision frontier."""
        return self._differ(self.ridge_cells)

    def _differ(self, pairs: Ints) -> Bools:
        return np.asarray(np.not_equal(*self.cell_labels[pairs].T))

    def frontier(self, tolerance: float | None = None) -> Any:
        """Return the decision frontier of k-NN, k = order: ridges between different labels.

        In the plane they are segments (m, 2, 2), in space a list of convex polygons (k, 3).

        Parameters
        ----------
        tolerance : float, optional
            In space, the largest distance of polygons from the absolute, as in :meth:`cells`;
            segments in the plane are exact.
        """
        if self._needs_dimension(2, 3) == 3:
            pairs, polygons = self._cut_out(tolerance).polygons()
            return [polygons[i] for i in np.flatnonzero(self._differ(pairs))]
        self._off(tolerance)
        pairs, segments = self.ridge_segments()
        return segments[self._differ(pairs)]

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the k-NN prediction (m,) for each query, k = order: the label of its cell.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Queries; when the order is over 1, in the domain.
        """
        cells = self.locate(X)
        if (cells < 0).any():
            raise OutsideDomainError(
                f"X{at_index(cells < 0)} lies outside the hyperbolic domain, in no cell of the "
                f"diagram of order {self.order}; move or drop such points."
            )
        return self.cell_labels[cells]
