"""Voronoi diagrams of the whole sphere.

The nearest of points p on the sphere has the largest ⟨x, p⟩, and in a weighted diagram the largest
⟨x, p⟩/c, c = cos √w. So the cells are the cones of directions in which a corner p/c of the convex
hull of all is the farthest one, and the vertices are the outward normals of its facets. The k
nearest points have the largest mean of these, so cells of order k come from the hull of the means
of sets, which grow as in `_power`: a way on a great circle to a point of the set meets the next.
"""

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError, cKDTree

from cayleyklein import _validation as checks
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.diagrams import _power
from cayleyklein.diagrams.domains import added_heights, check_weights, first_equal
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import sphere
from cayleyklein.geometry.distances import norms


class SphereVoronoi:
    """The Voronoi diagram of points all over a sphere, such as the globe.

    Parameters
    ----------
    points : array-like of shape (n, 3), or (n, 2)
        Unit vectors, or with ``chart="lonlat"`` longitudes and latitudes in degrees; at least four
        that are not on one circle. Copies have no cell of their own.
    chart : {"unit", "lonlat"}, default="unit"
        What the points are.
    weights : array-like of shape (n,), optional
        Squared radii, in radians: a power diagram, as of :class:`CayleyKleinVoronoi`.
    order : int, default=1
        Order k < n: the cells are those of sets of k points, which are the k nearest there.

    Attributes
    ----------
    points : ndarray of shape (n, 3)
        Unit vectors.
    cell_generators : ndarray of shape (n_cells, order)
        Points of each cell: of order 1 all, in their order; of higher order the sets with a cell.
    vertices : ndarray of shape (m, 3)
        Corners of cells, unit vectors.
    regions : list of n_cells ndarrays
        Rows of `vertices` around each cell, anticlockwise seen from outside; empty for a point
        without a cell.

    Examples
    --------
    >>> cities = [[13.4, 52.5], [174.8, -36.8], [-77.0, -12.0], [103.8, 1.4], [-99.1, 19.4]]
    >>> diagram = SphereVoronoi(cities, chart="lonlat")
    >>> diagram.locate([[-3.7, 40.4], [-70.7, -33.4]])  # Madrid, Santiago
    array([0, 2])
    >>> (diagram.areas() / (4 * np.pi)).round(2)  # shares of the globe
    array([0.22, 0.21, 0.19, 0.23, 0.15])
    >>> diagram.outlines()[0].shape[1], diagram.to_geojson()["features"][4]["geometry"]["type"]
    (3, 'MultiPolygon')
    >>> pairs = SphereVoronoi(cities, chart="lonlat", order=2)
    >>> pairs.cell_generators[pairs.locate([[-3.7, 40.4]])]  # Madrid: Berlin, then Mexico City
    array([[0, 4]])
    """

    def __init__(
        self,
        points: ArrayLike,
        *,
        chart: str = "unit",
        weights: ArrayLike | None = None,
        order: int = 1,
    ) -> None:
        self.chart = checks.as_choice(chart, "chart", sphere.WHOLE)
        given = checks.as_points(points, "points", ndim=2)
        self.points = sphere.whole_sphere(given, chart, "points")
        n, width = self.points.shape
        checks.expect(width == 3, "points of shape", self.points.shape, "(n, 3)")
        self.weights = check_weights(weights, n, 1.0)
        self._sites = self.points
        if self.weights is not None:
            self._sites = self.points * (1 + added_heights(self.weights, 1.0))[:, None]
        if n < 4:
            raise InvalidInputError(f"points must be at least four; got {n}.")
        self.order = checks.as_count(order, "order")
        if 1 < self.order >= n:
            raise InvalidInputError(f"Got order={order} for {n} points; it must be smaller.")
        hull, self.cell_generators, self._sites = hull_of_sets(self._sites, self.order)
        n = len(self._sites)
        self.vertices = np.asarray(hull.equations[:, :3])
        corner = np.tile(np.arange(len(hull.simplices)), 3)
        site = hull.simplices.T.ravel()
        middle = sums_of(self.vertices[corner], site, n)
        east = np.cross(middle, np.roll(middle, 1, axis=1))
        north = np.cross(middle, east)
        at = self.vertices[corner]
        scale = norms(middle)[site]  # of north beside east
        turn = np.arctan2(
            np.einsum("ij,ij->i", at, north[site]), np.einsum("ij,ij->i", at, east[site]) * scale
        )
        turned = np.lexsort((turn, site))
        around = corner[turned]
        starts = np.searchsorted(site[turned], np.arange(n + 1))
        self.regions: list[Ints] = [around[a:b] for a, b in pairwise(starts)]

    def __repr__(self) -> str:
        cells = sum(len(region) > 0 for region in self.regions)
        return f"SphereVoronoi({len(self.points)} points, {cells} cells)"

    @cached_property
    def _tree(self) -> Any:
        return cKDTree(self.points)

    def locate(self, X: ArrayLike) -> Ints:
        """Return the cell (m,) that each query is in, given in the diagram's chart.

        In a diagram of order 1 this is the row of its point.
        """
        return self._nearest(sphere.whole_sphere(checks.as_points(X, "X", ndim=2), self.chart))

    def _nearest(self, directions: Floats) -> Ints:
        if self.weights is None and self.order == 1:
            return np.asarray(self._tree.query(directions)[1], dtype=np.intp)
        step = max(1, 2**22 // len(self._sites))
        blocks = range(0, len(directions), step)
        found = [np.argmax(directions[i : i + step] @ self._sites.T, axis=1) for i in blocks]
        return np.concatenate(found)

    def areas(self) -> Floats:
        """Return the exact areas (n_cells,) of the cells on the unit sphere, which sum to 4π."""
        site = np.repeat(np.arange(len(self.regions)), [len(region) for region in self.regions])
        around = np.concatenate(self.regions)
        sizes = np.array([len(region) for region in self.regions])
        after = np.roll(around, -1)
        ends = np.cumsum(sizes)[sizes > 0]
        after[ends - 1] = around[ends - sizes[sizes > 0]]
        b, c = self.vertices[around], self.vertices[after]
        middle = sums_of(b, site, len(self.regions))
        length = norms(middle)
        a = (middle / np.where(length > 0, length, 1.0)[:, None])[site]
        # the solid angle of a triangle (Van Oosterom and Strackee 1983)
        volume = np.einsum("ij,ij->i", a, np.cross(b, c))
        sides = sum(np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a)))
        angles = 2 * np.arctan2(np.abs(volume), 1 + sides)
        return np.asarray(np.bincount(site, angles, len(self.regions)), dtype=np.float64)

    def outlines(self, step: float = 2.0) -> list[Floats]:
        """Return the boundaries (k, 3) of the cells, unit vectors along great circles.

        Parameters
        ----------
        step : float, default=2.0
            Largest angle between two of them, in degrees.
        """
        largest = np.radians(checks.as_real(step, "step", "(0, 90]"))
        found = []
        for region in self.regions:
            pieces = [np.empty((0, 3))]
            for p, q in zip(self.vertices[region], self.vertices[np.roll(region, -1)], strict=True):
                count = max(1, int(np.ceil(sphere.angle_between(p, q) / largest)))
                part = np.arange(count)[:, None] / count
                path = (1 - part) * p + part * q
                pieces.append(path / norms(path)[:, None])
            found.append(np.concatenate(pieces))
        return found

    def to_geojson(self, step: float = 2.0) -> dict[str, Any]:
        """Return the cells as a GeoJSON FeatureCollection in longitude and latitude.

        Cells that cross the antimeridian are cut there, and a cell around a pole reaches ±90.
        The property "point" of a cell is the row of its point; of order 2 and more, "points" are
        those of its points.

        Parameters
        ----------
        step : float, default=2.0
            As in :meth:`outlines`.
        """
        shapely = checks.require("shapely", "plot")
        poles = self._nearest(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
        features = []
        for number, path in enumerate(self.outlines(step)):
            if not len(path):
                continue
            cell = on_the_map(shapely, path, [90.0, -90.0], poles == number)
            rows = self.cell_generators[number].tolist()
            features.append(
                {
                    "type": "Feature",
                    "geometry": shapely.geometry.mapping(cell),
                    "properties": {"point": number} if self.order == 1 else {"points": rows},
                }
            )
        return {"type": "FeatureCollection", "features": features}


class Neighbours(NamedTuple):
    """What `_power.with_one_more` asks of a diagram."""

    used: Bools  # whether each set has a cell
    ridges: tuple[Ints]  # pairs of sets whose cells meet


def hull_of_sets(sites: Floats, order: int) -> tuple[ConvexHull, Ints, Floats]:
    """Return the hull of the means of sets with a cell, these sets (m, k), and their means (m, 3).

    Of order 1 all sites are returned, with and without a cell.
    """
    if order == 1:
        return hull_of(sites), np.arange(len(sites))[:, None], sites
    original = first_equal(sites)
    sets = np.flatnonzero(original == np.arange(len(sites)))[:, None]
    hull = hull_of(sites[sets[:, 0]])
    for k in range(1, order):
        used = np.zeros(len(sets), dtype=bool)
        used[hull.vertices] = True
        if k == 1:
            hidden = sets[~used, 0]
        simplices = hull.simplices
        pairs = np.concatenate([simplices[:, [0, 1]], simplices[:, [1, 2]], simplices[:, [2, 0]]])
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        sets = _power.with_one_more(Neighbours(used, (pairs,)), sets, original, hidden)
        means = sites[sets].mean(axis=1)
        hull = hull_of(means)
    kept = np.sort(hull.vertices)
    return hull_of(means[kept]), sets[kept], means[kept]


def hull_of(points: Floats) -> ConvexHull:
    try:
        return ConvexHull(points)
    except QhullError as error:
        raise NotRepresentableError(
            "points lie on one circle, so that all cells meet in two points; move one of them."
        ) from error


def sums_of(rows: Floats, group: Ints, n: int) -> Floats:
    """Return the sums (n, 3) of rows (m, 3) over groups."""
    sums = [np.bincount(group, rows[:, i], n) for i in range(3)]
    return np.stack(sums, axis=1).astype(np.float64, copy=False)


def on_the_map(shapely: Any, path: Floats, latitudes: list[float], holds: Any) -> Any:
    """Return a region of the sphere as a polygon of the map, cut at ±180 degrees."""
    lonlat = sphere.to_lonlat(path)
    closed = np.vstack([lonlat, lonlat[:1]])
    closed[:, 0] = np.degrees(np.unwrap(np.radians(closed[:, 0])))
    if abs(closed[-1, 0] - closed[0, 0]) > 180:  # around a pole, along which it is closed
        pole = latitudes[0] if holds[0] else latitudes[1]
        ends = [[closed[-1, 0], pole], [closed[0, 0], pole]]
        closed = np.vstack([closed, ends])
    polygon = shapely.make_valid(shapely.Polygon(closed))
    parts = []
    for turn in (-360.0, 0.0, 360.0):
        window = shapely.box(-180 + turn, -90, 180 + turn, 90)
        part = shapely.intersection(polygon, window)
        moved = shapely.affinity.translate(part, xoff=-turn)
        parts += [piece for piece in getattr(moved, "geoms", [moved]) if piece.area > 0]
    # pieces on both sides of where the path began agree to rounding
    polygons = [piece for piece in parts if piece.geom_type == "Polygon"]
    whole = shapely.union_all(polygons, grid_size=1e-9)
    pieces = getattr(whole, "geoms", [whole])
    parts = [shapely.geometry.polygon.orient(piece) for piece in pieces]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)
