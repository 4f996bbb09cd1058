"""Voronoi diagrams of curved metrics."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import as_real, at_index, require
from cayleyklein.diagrams._diagram import Diagram
from cayleyklein.diagrams._meshes import CutOut, cell_meshes
from cayleyklein.diagrams._plane_cells import Boundary, PlaneCells, cells_in_disc, cells_in_window
from cayleyklein.diagrams.domains import ball_walls, window_corners, window_walls
from cayleyklein.diagrams.labels import encode_labels
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError

# distance of shapes from the absolute by dimension, relative to its radius: default and smallest
TOLERANCES = {2: (1e-4, 1e-12), 3: (1e-2, 1e-6)}


class CayleyKleinVoronoi(NotebookCard, Diagram):
    """The Voronoi diagram of points under a curved metric, of order 1 or k (paper §3.1).

    The bisectors of a curved metric are hyperplanes, so the diagram is the power diagram of
    :func:`equivalent_balls`, within the domain.

    Parameters
    ----------
    points : array-like of shape (n, d)
        The generators. Equal points share a cell of order 1, see `duplicates`; in
        higher orders each counts, earlier rows first.
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
    >>> diagram.locate([[0.1, 0.0], [0.9, 0.0]])
    array([0, 1])
    >>> bool(np.isclose(diagram.areas().sum(), np.pi))  # the disc
    True
    >>> len(diagram.boundaries())  # segments, and arcs of the circle
    4
    >>> [len(corners) for corners in diagram.outlines(0.1)]  # the same with chords for arcs
    [3, 6, 6, 6]
    >>> [round(cell.area, 3) for cell in diagram.cells()]
    [0.475, 0.864, 0.864, 0.938]
    >>> cells, segments = diagram.ridge_segments()
    >>> cells.shape, segments.shape
    ((6, 2), (6, 2, 2))
    >>> np.sort(diagram.dual().simplices, axis=1).tolist()
    [[0, 1, 3], [0, 2, 3], [0, 1, 2]]

    Nearest-neighbour classification by labels:

    >>> diagram.predict([[0.1, 0.0], [0.9, 0.0]])
    array(['a', 'b'], dtype='<U1')
    >>> diagram.frontier().shape
    (4, 2, 2)

    In space cells are meshes, and the frontier is made of polygons:

    >>> ball = CurvedMetric.euclidean(3, curvature=-1.0)
    >>> diagram = CayleyKleinVoronoi([[-0.5, 0, 0], [0.5, 0, 0]], ball, labels=["a", "b"])
    >>> [round(cell.volume, 2) for cell in diagram.cells()]
    [2.07, 2.07]
    >>> [polygon] = diagram.frontier()
    >>> bool(np.allclose(polygon[:, 0], 0))
    True
    """

    window: Floats | None
    labels: AnyArray | None

    def __init__(
        self, points: ArrayLike, metric: Any, *, order: int = 1,
        labels: ArrayLike | None = None, window: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(points, metric, order)
        self.window = window_corners(window, self.points, self.metric.curvature)
        self.labels = None
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
    def _plane_cells(self) -> PlaneCells:
        self._needs_dimension(2)
        if self.window is not None:
            return cells_in_window(self._cut_out())
        o, rho = self._chart.disc
        center = self._cell_number[self._locator(-o[None] / rho)[0]]
        corners = np.asarray(self._disc_corners)
        cells = self._power.cells.take(self._cells)
        ridges = self.ridge_cells, self._ridges[1]
        return cells_in_disc(self.metric, corners, cells, int(center), ridges)

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
        """Return the tolerance of shapes, or the default for the dimension."""
        default, finest = TOLERANCES[self._power.dimension]
        return default if value is None else as_real(value, "tolerance", f"[{finest:g}, 1)")

    def _cut_out(self, tolerance: float | None = None) -> CutOut:
        """Return the diagram within the window, or within a polyhedron close to the domain."""
        off = self._off(tolerance)
        if self.window is None:
            walls = ball_walls(self._chart, off)
        else:
            walls = window_walls(self._chart, self.window)
        return CutOut(self._chart, self._A[self._cells], self._b[self._cells], *walls)

    def boundaries(self) -> list[Boundary]:
        """Return the exact boundaries of plane cells: segments, and arcs of the absolute.

        They are cut to the domain when hyperbolic, and to the window otherwise; a cell outside the
        window has an empty boundary.
        """
        return self._plane_cells.boundaries()

    def areas(self) -> Floats:
        """Return the exact areas of plane cells in the chart x, which sum to the domain's."""
        return self._plane_cells.areas()

    def outlines(self, tolerance: float | None = None) -> list[Floats]:
        """Return the corners of plane cells as polygons, within the domain or the window.

        Parameters
        ----------
        tolerance : float, optional
            Largest distance of chords from the absolute, relative to its radius; 1e-4 by default.

        Returns
        -------
        list of ndarray of shape (m, 2)
            A cell outside the window has no corners.
        """
        self._needs_dimension(2)
        return self._plane_cells.outlines(self._off(tolerance))

    def cells(self, tolerance: float | None = None) -> list[Any]:
        """Return the cells within the domain, or the window, as shapes.

        Parameters
        ----------
        tolerance : float, optional
            Largest distance of the shapes of a hyperbolic diagram from the absolute, relative to
            its radius; 1e-4 in the plane and 1e-2 in space by default.

        Returns
        -------
        list of shapely.Polygon, or list of Mesh
            In the plane the :meth:`outlines` as polygons, which needs the extra ``plot``; in space
            closed triangle meshes. A cell outside the window is empty.
        """
        if self._needs_dimension(2, 3) == 3:
            return cell_meshes(self._cut_out(tolerance))
        outlines, shapely = self.outlines(tolerance), require("shapely", "plot")
        # a cell of fewer than three corners is flat to rounding, which also exchanges close corners
        cells = [shapely.Polygon(ring if len(ring) > 2 else None) for ring in outlines]
        return [cell if cell.is_valid else cell.convex_hull for cell in cells]

    def ridge_segments(self) -> tuple[Ints, Floats]:
        """Return the ridges of a plane diagram within the domain, or the window, as segments.

        Returns
        -------
        cells : ndarray of shape (m, 2)
            The cells on both sides.
        segments : ndarray of shape (m, 2, 2)
            The two ends.
        """
        plane = self._plane_cells
        return plane.pairs, plane.to_points(plane.segments)

    def dual(self) -> Triangulation:
        """Return the Delaunay triangulation of the metric, the dual of a diagram of order 1.

        Its edges are straight, and geodesics; it is the regular triangulation of the
        :func:`equivalent_balls`. The ball of the metric around a simplex's center through its
        corners contains no other point. Where the domain has no such ball there is no simplex: in
        curved geometries a part of the points' convex hull may stay uncovered.
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
        first, second = self.cell_labels[pairs].T
        return np.asarray(first != second)

    def frontier(self, tolerance: float | None = None) -> Any:
        """Return the decision frontier of k-NN, k = order: ridges between different labels.

        Parameters
        ----------
        tolerance : float, optional
            In space, the largest distance of polygons from the absolute, as in :meth:`cells`;
            segments in the plane are exact.

        Returns
        -------
        ndarray of shape (m, 2, 2), or list of ndarray of shape (k, 3)
            Segments in the plane, as by :meth:`ridge_segments`, and convex polygons in space.
        """
        if self._needs_dimension(2, 3) == 3:
            pairs, polygons = self._cut_out(tolerance).polygons()
            return [polygons[i] for i in np.flatnonzero(self._differ(pairs))]
        self._off(tolerance)
        pairs, segments = self.ridge_segments()
        return segments[self._differ(pairs)]

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the k-NN prediction for each query, k = order: the label of its cell.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Queries.

        Returns
        -------
        ndarray of shape (m,)

        Raises
        ------
        OutsideDomainError
            For queries outside a hyperbolic domain, when the order is over 1.
        """
        cells = self.locate(X)
        if (cells < 0).any():
            raise OutsideDomainError(
                f"X{at_index(cells < 0)} lies outside the hyperbolic domain, in no cell of the "
                f"diagram of order {self.order}; move or drop such points."
            )
        return self.cell_labels[cells]


class Triangulation(NamedTuple):
    """The Delaunay triangulation of a curved metric.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=-1.0))
    >>> triangles = diagram.dual()
    >>> triangles.simplices.shape, triangles.centers.shape, triangles.edges.shape
    ((3, 3), (3, 2), (6, 2))
    """

    simplices: Ints
    """Points of each simplex, shape (m, d + 1)."""

    centers: Floats
    """Centre of each simplex, equally far from its points, shape (m, d)."""

    edges: Ints
    """Points of neighbouring cells, shape (e, 2); some belong to no simplex when K < 0."""
