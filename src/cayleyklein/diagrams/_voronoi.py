"""Voronoi diagrams of curved metrics."""

from functools import cached_property
from math import acos, sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._notebook import NotebookCard
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.diagrams import _power, domains
from cayleyklein.diagrams._power import Groups
from cayleyklein.diagrams.domains import Boundary, LocalChart, Triangulation
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.space import refuse_at
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric


class PlaneCells(NamedTuple):
    chart: LocalChart  # of starts, ends and segments
    pairs: Ints  # of cells, with a common segment
    segments: Floats
    cell: Ints  # of each piece; cells are convex, one after the other, each counter-clockwise
    starts: Floats
    ends: Floats
    angles: Floats  # where an arc starts and ends, (m, 2) and increasing; NaN for a segment


class CayleyKleinVoronoi(NotebookCard):
    """The Voronoi diagram of points under a curved metric, of order 1 or k (paper §3.1).

    Its bisectors are hyperplanes, so it is the power diagram of :func:`equivalent_balls`, within
    the domain.

    Parameters
    ----------
    points : array-like of shape (n, d)
        The generators. Equal points share a cell of order 1, see `duplicates`; in higher orders
        each counts, earlier rows first.
    metric : CurvedMetric
        Metric of any curvature, with a factor of full rank.
    order : int, default=1
        Order k < n of the diagram: the k nearest points of a place in a cell are the k generators
        of the cell.
    weights : array-like of shape (n,), optional
        Weight of each point, in squared length: a power diagram, in which points are balls of
        radius √w, and two that meet are bisected by the hyperplane through their intersection. The
        nearest one has the largest cos_K(d)/cos_K(√w) (K ≥ 0; the smallest for K < 0), which for
        K = 0 is the least d² - w. A weight may be negative; a point of low weight may have no cell.
    labels : array-like of shape (n,), optional
        Class of each point.
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
        self,
        points: ArrayLike,
        metric: Any,
        *,
        order: int = 1,
        weights: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        window: ArrayLike | None = None,
    ) -> None:
        if not isinstance(metric, CurvedMetric):
            said = f"metric must be a CurvedMetric; got {type(metric).__name__}"
            if isinstance(metric, MixedMetric | ProductMetric):
                said += ", which has curved bisectors; use one of its metrics"
            raise InvalidInputError(f"{said}.")
        self.metric: CurvedMetric = metric
        self.points = checks.as_points(points, "points", metric.dimension, ndim=2) + 0.0
        n = len(self.points)
        self.order = checks.as_count(order, "order")
        if 1 < self.order >= n:
            raise InvalidInputError(f"Got order={order} for {n} points; it must be smaller.")
        #: Weights of the points, shape (n,), or None.
        self.weights = domains.check_weights(weights, n, metric.curvature)
        known = self.weights is not None
        same = self.points
        if self.weights is not None:
            same = np.column_stack([self.points, self.weights])
        self._original = domains.first_equal(same)
        self._chart, A, b = domains.local_planes(self.points, metric, self.weights)
        self._walls = domains.far_walls(self._chart, self._chart.to_local(self.points))
        found = _power.order_k(A, b, self._walls, self.order, self._original, known)
        self._sets, self._A, self._b, self._power = found
        self.window = domains.window_corners(window, self.points, metric.curvature)
        self.labels: AnyArray | None = None
        if labels is not None:
            self.classes, self._codes = domains.encode_labels(labels, n)
            self.labels = np.asarray(labels)
        used = self._power.used
        inside = ~self._power.on_wall
        self._disc_corners = np.empty(0)  # where a hyperbolic domain is the unit ball
        if metric.curvature < 0:
            o, rho = self._chart.disc
            self._disc_corners = np.asarray(o + rho * self._power.corners)
            inside = domains.in_ball(self._disc_corners)
        # a generator without weight always has a cell; others, and sets of them, may have none
        if self.order > 1 or known:
            used = used & (self._power.cells.sizes > metric.dimension)
            if metric.curvature < 0:
                used &= domains.meets_ball(self._disc_corners, self._power.cells, used)
        self._cells, self._cell_number = _numbering(used)
        vertices, self._vertex_number = _numbering(inside)
        again = np.flatnonzero(self._original != np.arange(n))
        #: Pairs (duplicate, first row with the same point), of shape (m, 2).
        self.duplicates = np.stack([again, self._original[again]], axis=1)
        self.cell_generators = self._sets[self._cells]  #: Those of each cell, (n_cells, order).
        shown = np.isin(np.arange(n), self.cell_generators)
        #: Points without a cell: of low weight, or merged with a neighbour by rounding.
        self.hidden = np.flatnonzero(~shown & ~shown[self._original])
        #: Vertices in the domain, of shape (n_vertices, d).
        self.vertices = self._chart.to_points(self._power.corners[vertices])

    def __repr__(self) -> str:
        what = repr(self.metric).partition("(")[2][:-1]
        return (
            f"CayleyKleinVoronoi({len(self.points)} points, {what}, order={self.order}, "
            f"{len(self.cell_generators)} cells)"
        )

    @cached_property
    def _ridges(self) -> tuple[Ints, Ints, Groups]:
        """The cells on both sides of each ridge, the points that it bisects, and its corners."""
        pairs, corners = self._power.ridges
        points, keep = _power.exchanges(self._sets[pairs.T], self._original)
        keep &= (self._cell_number[pairs] >= 0).all(axis=1)
        if self.metric.curvature < 0 and self.metric.dimension == 2:
            ends = self._disc_corners[corners.members.reshape(-1, 2).T]
            keep &= domains.cut_edges(*ends)[2]
        elif self.metric.curvature < 0:
            keep &= domains.meets_ball(self._disc_corners, corners, keep)
        return self._cell_number[pairs[keep]], points[keep], corners.take(keep)

    @cached_property
    def regions(self) -> list[list[int]]:
        """Vertices of each cell; -1 is a vertex at infinity, or outside the domain."""
        cells = self._power.cells.take(self._cells)
        return cells.renumber(self._vertex_number, cyclic=self.metric.dimension == 2)

    @cached_property
    def point_region(self) -> Ints:
        """Cell that contains each point."""
        if self.order > 1 or self.weights is not None:
            return self.locate(self.points)
        own = np.full(len(self.points), -1)
        own[self._sets[:, 0]] = self._cell_number
        if len(self.hidden):
            own[self.hidden] = self.locate(self.points[self.hidden])
        return own[self._original]

    @property
    def ridge_cells(self) -> Ints:
        """The two cells on both sides of each ridge."""
        return self._ridges[0]

    @property
    def ridge_points(self) -> Ints:
        """The two points that each ridge bisects."""
        return self._ridges[1]

    @cached_property
    def ridge_vertices(self) -> list[list[int]]:
        """Vertices of each ridge; -1 as in `regions`."""
        corners = self._ridges[2]
        if self.metric.dimension == 2:
            ends = self._vertex_number[corners.members.reshape(-1, 2)]
            return cast(list[list[int]], np.sort(ends, axis=1).tolist())
        return corners.renumber(self._vertex_number, cyclic=self.metric.dimension == 3)

    @cached_property
    def unbounded(self) -> Bools:
        """Whether each cell reaches infinity, which is the absolute when K < 0."""
        cells = self._power.cells
        infinite = self._vertex_number[cells.members] < 0
        return (np.bincount(cells.keys, infinite, len(self._A)) > 0)[self._cells]

    @cached_property
    def _location(self) -> tuple[Ints, Floats, Floats, Groups, Floats]:
        """The used sets in the order of a k-d tree; their planes, neighbours and sites."""
        used = np.flatnonzero(self._power.used)
        sites = self._chart.to_local(self.points)[self._sets].mean(axis=1)
        # in the tree's order cells that are close lie close in memory
        rows = used[_power.median_order(np.ascontiguousarray(sites[used]))]
        place = np.empty(self._power.n, dtype=np.intp)
        place[rows] = np.arange(len(rows))
        pairs = place[self._power.ridges[0]]
        pairs = np.vstack([pairs, pairs[:, ::-1]])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        graph = Groups.of(pairs[:, 0], np.ascontiguousarray(pairs[:, 1]), len(rows))
        return rows, self._A[rows], self._b[rows], graph, sites[rows]

    def locate(self, X: ArrayLike) -> Ints:
        """Return the number (m,) of the cell that contains each query X (m, d).

        Outside a hyperbolic domain the bisectors are continued; there the answer is -1 when the
        order is over 1, since there may be no such cell.
        """
        X = checks.as_points(X, "X", self.metric.dimension, ndim=2)
        w = np.ascontiguousarray(self._chart.to_local(X))
        checks.refuse_overflow(np.isfinite(w).all(axis=1), "L(x - μ)", "X")
        rows, A, b, graph, sites = self._location
        found = np.empty(len(w), dtype=np.intp)
        _power.walk_all(w, A, b, graph.starts, graph.members, sites, found)
        N, r = self._walls
        beyond = np.flatnonzero(~(w @ N.T <= r).all(axis=1))  # ridges out there are not known
        for part in np.array_split(beyond, 1 + len(beyond) * len(b) // 2**22):  # 32 MB at a time
            found[part] = np.argmax(w[part] @ A.T + b, axis=1)
        found = self._cell_number[rows[found]]
        if self.order > 1 and self.metric.curvature < 0:
            found[~self.metric.contains(X)] = -1
        return found

    def _tolerance(self, value: float | None = None, *, space: bool = True) -> float:
        """Check a tolerance, and that the diagram is one of the plane (or of space)."""
        d = self.metric.dimension
        if d != 2 and not (space and d == 3):
            where = "the plane or space" if space else "the plane"
            raise NotRepresentableError(
                f"These shapes exist for diagrams in {where}; this one has {d} dimensions. Use its "
                f"vertices, regions and ridges, locate() or predict()."
            )
        default, finest = (1e-4, 1e-12) if d == 2 else (1e-2, 1e-6)
        return default if value is None else checks.as_real(value, "tolerance", f"[{finest:g}, 1)")

    def _cut_out(self, tolerance: float) -> tuple[LocalChart, _power.PowerDiagram]:
        A, b = self._A[self._cells], self._b[self._cells]
        return domains.cut_out(self._chart, A, b, self.window, tolerance)

    @cached_property
    def _plane_cells(self) -> PlaneCells:
        off = self._tolerance(space=False)
        if self.window is not None:
            chart, power = self._cut_out(off)
            pairs, ends = power.ridges
            cells = power.cells
            y = power.corners
            pieces = cells.keys, y[cells.members], y[cells.following()]
            segments = y[ends.members.reshape(-1, 2)]
            no_arcs = np.full((len(pieces[0]), 2), np.nan)
            return PlaneCells(chart, pairs, segments, *pieces, no_arcs)
        y = self._disc_corners
        center = self.metric.center
        heights = self._A[self._cells] @ self._chart.to_local(center) + self._b[self._cells]
        cells = self._power.cells.take(self._cells)
        both = y[self._ridges[2].members.reshape(-1, 2).T]
        segments = np.stack(domains.cut_edges(*both)[:2], axis=1)
        chart = LocalChart(self.metric, center, 1 / sqrt(-self.metric.curvature))
        around = domains.cut_to_disc(y, cells, int(np.argmax(heights)))
        return PlaneCells(chart, self.ridge_cells, segments, *around)

    def boundaries(self) -> list[Boundary]:
        """Return the exact boundaries of plane cells: segments, and arcs of the absolute.

        They are cut to the domain or the window; a cell outside has an empty boundary.
        """
        cell, whole = self.boundary_pieces
        places = np.searchsorted(cell, np.arange(1, len(self._cells)))
        parts = (np.split(values, places) for values in whole)
        return [Boundary(*three) for three in zip(*parts, strict=True)]

    @cached_property
    def boundary_pieces(self) -> tuple[Ints, Boundary]:
        """The boundaries of all plane cells one after the other, and the cell of each piece."""
        chart, _, _, cell, starts, ends, angles = self._plane_cells
        return cell, Boundary(chart.to_points(starts), chart.to_points(ends), angles)

    def areas(self) -> Floats:
        """Return the exact areas of plane cells in the chart x, which sum to the domain's."""
        chart, _, _, cell, starts, ends, angles = self._plane_cells
        x, y = starts.T
        u, v = ends.T
        sweeps = angles[:, 1] - angles[:, 0]
        sectors = np.where(np.isnan(sweeps), x * v - y * u, sweeps) / 2  # area is ½∮(x dy - y dx)
        areas = np.bincount(cell, sectors, minlength=len(self._cells))
        return np.asarray(areas * abs(np.linalg.det(chart.matrix)), dtype=np.float64)

    def outlines(self, tolerance: float | None = None) -> list[Floats]:
        """Return the corners (m, 2) of plane cells in the domain or the window; (0, 2) outside.

        Arcs become chords at most `tolerance` off, relative to their radius; 1e-4 by default.
        """
        # a chord of the unit circle over the angle φ has the sagitta 1 - cos(φ/2)
        step = 2 * acos(1 - self._tolerance(tolerance, space=False))
        plane = self._plane_cells
        sweeps = np.nan_to_num(plane.angles[:, 1] - plane.angles[:, 0])
        count = np.maximum(1, np.ceil(sweeps / step)).astype(np.intp)
        piece = np.repeat(np.arange(len(count)), count)
        part = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
        angle = plane.angles[piece, 0] + sweeps[piece] * part / count[piece]
        on_circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        corners = np.where((part == 0)[:, None], plane.starts[piece], on_circle)
        ends = np.searchsorted(plane.cell[piece], np.arange(1, len(self._cells)))
        return np.split(plane.chart.to_points(corners), ends)

    def cells(self, tolerance: float | None = None) -> list[Any]:
        """Return the cells within the domain, or the window; those outside are empty.

        In the plane they are :meth:`outlines` as ``shapely.Polygon`` (needs the extra ``plot``), in
        space closed triangle meshes (:class:`Mesh`). Hyperbolic shapes are at most `tolerance` off
        the absolute, relative to its radius; 1e-4 in the plane and 1e-2 in space by default.
        """
        off = self._tolerance(tolerance)
        if self.metric.dimension == 3:
            return domains.cell_meshes(*self._cut_out(off))
        outlines = self.outlines(off)
        shapely = checks.require("shapely", "plot")
        # a cell of fewer than three corners is flat to rounding, which also exchanges close corners
        cells = [shapely.Polygon(ring if len(ring) > 2 else None) for ring in outlines]
        return [cell if cell.is_valid else cell.convex_hull for cell in cells]

    def clip(self, polygon: Any, tolerance: float | None = None) -> list[Any]:
        """Return the parts of plane cells within a polygon, as shapely geometries.

        Parameters
        ----------
        polygon : shapely.Polygon or shapely.MultiPolygon
            Region to cut the cells to, in place of the window of a flat or elliptic diagram.
        tolerance : float, optional
            As in :meth:`cells`.

        Examples
        --------
        >>> import shapely
        >>> from cayleyklein import CurvedMetric
        >>> triangle = shapely.Polygon([(0, 0), (4, 0), (0, 4)])
        >>> diagram = CayleyKleinVoronoi([[1, 1], [2, 1]], CurvedMetric.euclidean(2))
        >>> [cell.area for cell in diagram.clip(triangle)]
        [4.875, 3.125]
        """
        shapely = checks.require("shapely", "plot")
        kind = type(polygon).__name__
        right = isinstance(polygon, shapely.Polygon | shapely.MultiPolygon)
        checks.expect(right, "polygon", kind, "a shapely.Polygon or shapely.MultiPolygon")
        valid = polygon.is_valid and polygon.area > 0
        fault = shapely.is_valid_reason(polygon)
        checks.expect(valid, "polygon", fault, "a valid one with an area")
        diagram = self
        if self.metric.curvature >= 0:
            low, high = np.array(polygon.bounds).reshape(2, 2)
            diagram = CayleyKleinVoronoi(
                self.points,
                self.metric,
                order=self.order,
                weights=self.weights,
                window=[low, high],
            )
        return list(shapely.intersection(diagram.cells(tolerance), polygon))

    def to_geojson(self, polygon: Any = None, tolerance: float | None = None) -> dict[str, Any]:
        """Return plane cells as a GeoJSON FeatureCollection, without those that are empty.

        The properties of a cell are its number, the rows of its generators and its label.

        Parameters
        ----------
        polygon : shapely.Polygon or shapely.MultiPolygon, optional
            Region to cut the cells to, as by :meth:`clip`; the domain or the window by default.
        tolerance : float, optional
            As in :meth:`cells`.

        Examples
        --------
        >>> from cayleyklein import CurvedMetric
        >>> diagram = CayleyKleinVoronoi(
        ...     [[1, 1], [2, 1]], CurvedMetric.euclidean(2), labels=["a", "b"]
        ... )
        >>> found = diagram.to_geojson()["features"][1]
        >>> found["geometry"]["type"], found["properties"]
        ('Polygon', {'cell': 1, 'generators': [1], 'label': 'b'})
        """
        shapely = checks.require("shapely", "plot")
        cells = self.cells(tolerance) if polygon is None else self.clip(polygon, tolerance)
        labels = None if self.labels is None else self.cell_labels.tolist()
        features = []
        for i, cell in enumerate(cells):
            if cell.is_empty:
                continue
            properties = {"cell": i, "generators": self.cell_generators[i].tolist()}
            if labels is not None:
                properties["label"] = labels[i]
            geometry = shapely.geometry.mapping(cell)
            features.append({"type": "Feature", "geometry": geometry, "properties": properties})
        return {"type": "FeatureCollection", "features": features}

    def ridge_segments(self) -> tuple[Ints, Floats]:
        """Return the ridges of a plane diagram within the domain, or the window.

        They are pairs of cells (m, 2), and the two ends (m, 2, 2) of the segment between them.
        """
        plane = self._plane_cells
        return plane.pairs, plane.chart.to_points(plane.segments)

    def dual(self) -> Triangulation:
        """Return the Delaunay triangulation of the metric, the dual of a diagram of order 1.

        Its edges are geodesics; it is the regular triangulation of :func:`equivalent_balls`. The
        ball of the metric around a simplex's center through its corners contains no other point.
        Where the domain has no such ball there is no simplex: a part of the points' convex hull may
        stay uncovered.
        """
        said = "A triangulation is dual to a diagram of order 1"
        found = f"has order {self.order}"
        refuse_at(self.order > 1, said, f"; this one {found}.", NotRepresentableError)
        vertex = self._vertex_number[self._power.corner_of]
        simplices = self._sets[self._power.simplices[vertex >= 0], 0]
        return Triangulation(simplices, self.vertices[vertex[vertex >= 0]], self.ridge_points)

    @cached_property
    def cell_labels(self) -> AnyArray:
        """Majority label of the generators of each cell; ties go to the smallest label."""
        if self.labels is None:
            raise InvalidInputError("This diagram has no labels; give labels=, one for each point.")
        codes = self._codes[self.cell_generators]
        n = len(self.classes)
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

        In the plane they are segments (m, 2, 2), which are exact, in space a list of convex
        polygons (k, 3), at most `tolerance` off the absolute as in :meth:`cells`.
        """
        off = self._tolerance(tolerance)
        if self.metric.dimension == 3:
            chart, power = self._cut_out(off)
            pairs, corners = power.ridges
            x = chart.to_points(power.corners)
            return [x[corners.of_group(i)] for i in np.flatnonzero(self._differ(pairs))]
        pairs, segments = self.ridge_segments()
        return segments[self._differ(pairs)]

    def predict(self, X: ArrayLike) -> AnyArray:
        """Return the k-NN prediction (m,), k = order, for queries X (m, d): labels of their cells.

        When the order is over 1, queries must be in the domain.
        """
        cells = self.locate(X)
        reason = (
            f" lies outside the hyperbolic domain, in no cell of the diagram of order "
            f"{self.order}; move or drop such points."
        )
        refuse_at(cells < 0, "X", reason, OutsideDomainError)
        return self.cell_labels[cells]


def _numbering(chosen: Bools) -> tuple[Ints, Ints]:
    """Return the chosen rows, and for each row its place among them, or -1."""
    return np.flatnonzero(chosen), np.where(chosen, np.cumsum(chosen) - 1, -1)
