"""Triangle meshes of polygons, checked first, with quality measured in a curved metric."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import _validation as checks
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.diagrams import domains
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import space
from cayleyklein.meshes._refine import GHOSTS, Refinement
from cayleyklein.meshes.conformal import ConformalPlane, signed_areas
from cayleyklein.metrics import CurvedMetric


@dataclass(frozen=True, eq=False, repr=False)
class PlaneMesh:
    """A triangle mesh of a plane polygon; its edges are straight in x, and geodesics.

    For Matplotlib: ``ax.triplot(*mesh.vertices.T, mesh.triangles)``.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> mesh = mesh_polygon([[0.0, 0.0], [0.8, 0.0], [0.0, 0.8]], disc, max_area=0.01)
    >>> mesh.angles.shape == mesh.lengths.shape == mesh.triangles.shape
    True
    >>> bool(mesh.angles[~mesh.spared].min() >= 20), bool(mesh.areas.max() <= 0.01)
    (True, True)
    >>> mesh.to_meshio().cells_dict["line"].shape == mesh.boundary.shape
    True
    >>> mesh.to_trimesh(chart="hyperboloid").vertices.shape == (len(mesh.vertices), 3)
    True
    """

    vertices: Floats  #: Points x (n, 2): corners of the polygon, of its holes, then new ones.
    triangles: Ints  #: Vertices of each triangle, shape (m, 3), counter-clockwise.
    boundary: Ints  #: Edges on the boundary, shape (k, 2), the mesh on their left.
    spared: Bools  #: Triangles (m,) narrower than asked for, at a sharp corner of the polygon.
    metric: CurvedMetric  #: Metric of the plane.

    def __repr__(self) -> str:
        return (
            f"PlaneMesh({len(self.vertices)} vertices, {len(self.triangles)} triangles, "
            f"{self.metric.geometry}, K={self.metric.curvature:g}, "
            f"smallest angle {self.angles.min():.1f}°)"
        )

    @cached_property
    def angles(self) -> Floats:
        """Angles in the metric, in degrees, shape (m, 3), at each vertex of each triangle."""
        corners = self.vertices[self.triangles]
        return np.degrees(self.metric.vertex_angle(*(np.roll(corners, -k, 1) for k in range(3))))

    @cached_property
    def lengths(self) -> Floats:
        """Lengths in the metric of the edges opposite to each vertex, shape (m, 3)."""
        corners = self.vertices[self.triangles]
        return np.asarray(self.metric.distance(np.roll(corners, -1, 1), np.roll(corners, -2, 1)))

    @cached_property
    def areas(self) -> Floats:
        """Areas in the metric, shape (m,): the angular excess divided by K."""
        y = ConformalPlane(self.metric, self.vertices.mean(axis=0)).from_points(self.vertices)
        a, b, c = y[self.triangles.T]
        return np.abs(signed_areas(a, b, c, self.metric.curvature))

    def _positions(self, chart: str | None) -> Floats:
        x = self.vertices if chart is None else self.metric.to_chart(self.vertices, chart)
        return np.pad(x, ((0, 0), (0, 3 - x.shape[1])))

    def to_meshio(self, chart: str | None = None) -> Any:
        """Return a ``meshio.Mesh``: triangles, boundary lines, smallest angles and areas.

        Positions are in a chart of the metric, see :func:`cayleyklein.geometry.to_chart`, or in x.
        """
        meshio = checks.require("meshio", "mesh")
        unknown = np.full(len(self.boundary), np.nan)
        data = {"smallest_angle": [self.angles.min(axis=1), unknown], "area": [self.areas, unknown]}
        cells = [("triangle", self.triangles), ("line", self.boundary)]
        return meshio.Mesh(self._positions(chart), cells, cell_data=data)

    def to_trimesh(self, chart: str | None = None) -> Any:
        """Return a ``trimesh.Trimesh``, with positions as in :meth:`to_meshio`.

        In the chart ``"sphere"`` it has the metric's angles, up to the flatness of the triangles.
        """
        trimesh = checks.require("trimesh", "mesh")
        return trimesh.Trimesh(self._positions(chart), self.triangles, process=False)


def mesh_polygon(
    polygon: ArrayLike,
    metric: CurvedMetric,
    *,
    holes: list[Any] | None = None,
    points: ArrayLike | None = None,
    min_angle: float = 20.0,
    max_area: float | None = None,
    max_edge: float | None = None,
    max_vertices: int = 1_000_000,
) -> PlaneMesh:
    """Return a Delaunay :class:`PlaneMesh` of a polygon, its angles and sizes in the metric.

    The polygon's edges are straight in x, and geodesics; the mesh keeps them, perhaps split. No
    circle of the metric around a triangle has a vertex inside. An isometry of the polygon carries
    the mesh along, up to rounding.

    Parameters
    ----------
    polygon : array-like of shape (n, 2)
        Corners in either direction, inside the domain of the metric.
    metric : CurvedMetric
        Metric of the plane, of any curvature.
    holes : list of array-like of shape (n, 2), optional
        Polygons inside that stay empty.
    points : array-like of shape (p, 2), optional
        Points inside that become vertices.
    min_angle : float, default=20.0
        Smallest angle in degrees, at most 33; 0 allows any. Delaunay refinement is proven to reach
        20.7° in flat geometry, and usually reaches over 30°. Next to sharper corners of the polygon
        triangles may be narrower, see `PlaneMesh.spared`.
    max_area, max_edge : float, optional
        Largest area of a triangle, and longest edge, in the metric.
    max_vertices : int, default=1_000_000
        Stop at this number, with a warning; also where edges become too short for double precision.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> square = [[-0.6, -0.6], [0.6, -0.6], [0.6, 0.6], [-0.6, 0.6]]
    >>> hole = [[-0.1, -0.1], [0.1, -0.1], [0.0, 0.2]]
    >>> mesh = mesh_polygon(square, CurvedMetric.euclidean(2), holes=[hole], max_edge=0.2)
    >>> round(float(mesh.areas.sum()), 12), bool(mesh.lengths.max() <= 0.2)
    (1.41, True)
    """
    region = read_region(polygon, holes, metric)
    inner = np.empty((0, 2)) if points is None else region.with_inside(points)
    x = np.concatenate([region.corners, inner])
    area = math.inf if max_area is None else checks.as_real(max_area, "max_area", "(0, inf)")
    edge = math.inf if max_edge is None else checks.as_real(max_edge, "max_edge", "(0, inf)")
    goal = math.radians(checks.as_real(min_angle, "min_angle", "[0, 33]")), area, edge
    limit = checks.as_count(max_vertices, "max_vertices")
    enough = f"at least the {len(x)} that the polygon and the points have already"
    checks.expect(limit >= len(x), "max_vertices", limit, enough)
    plane = ConformalPlane(metric, region.corners.mean(axis=0))
    work = Refinement(plane.from_points(x), region.edges, metric.curvature, goal, limit)
    triangles, bad, spared = work.run()
    said = f"mesh_polygon stopped at {work.stopped}, before it had the whole boundary"
    reason = ": polygon has edges too close to each other, or max_edge is too small."
    space.refuse_at(not len(triangles), said, reason, NotRepresentableError)
    if work.stopped:
        checks.warn_caller(
            f"mesh_polygon stopped at {work.stopped}: {bad.sum()} of {len(triangles)} triangles "
            f"miss the goal. Allow larger triangles, a smaller min_angle or more vertices.",
            ConvergenceWarning,
        )
    vertices = plane.to_points(work.y[len(GHOSTS) :])
    boundary = work.segments - len(GHOSTS)
    vertices[: len(x)] = x
    if np.linalg.det(metric.factor) < 0:  # the chart is a mirror image of x
        triangles, boundary = triangles[:, ::-1], boundary[:, ::-1]
    return PlaneMesh(vertices, triangles, boundary, spared, metric)


class Region(NamedTuple):
    metric: CurvedMetric
    corners: Floats
    edges: Ints  # (n, 2): edge i starts or ends at corner i, with the inside on its left in z
    shape: Any  # of shapely

    def with_inside(self, points: ArrayLike) -> Floats:
        x = checks.as_points(points, "points", 2, ndim=2)
        space.place_inside(self.metric, x, "points")
        shapely = checks.require("shapely", "mesh")
        places = shapely.points(x)
        rounding = 1e-14 * np.abs(x).max()
        on_edge = shapely.distance(self.shape.boundary, places) <= rounding
        outside = on_edge | ~shapely.contains(self.shape, places)
        where = "outside it, on its edges or in a hole; move or drop such points."
        space.refuse_at(outside, "points", f" not inside polygon: {where}")
        _refuse_repeats(x, [f"points[{i}]" for i in range(len(x))])
        return x


def read_region(polygon: ArrayLike, holes: Any, metric: CurvedMetric) -> Region:
    checks.expect(space.as_space(metric).dimension == 2, "metric", metric, "one of the plane")
    metric.inverse_factor  # noqa: B018 - raises for a lower rank
    shapely = checks.require("shapely", "mesh")
    given = {"polygon": polygon}
    if holes is not None:
        several = isinstance(holes, Iterable) and not isinstance(holes, str | bytes | dict)
        checks.expect(several, "holes", holes, "a list of polygons (n, 2)")
        given |= {f"holes[{i}]": hole for i, hole in enumerate(holes)}
    rings = [_read_ring(values, name, metric) for name, values in given.items()]
    sizes = [len(ring) for ring in rings]
    corners = np.concatenate(rings)
    names = [f"{name}[{k}]" for name, n in zip(given, sizes, strict=True) for k in range(n)]
    _refuse_repeats(corners, names)
    mirrored = np.linalg.det(metric.factor) < 0
    parts = list[Ints]()
    for k in np.split(np.arange(len(corners)), np.cumsum(sizes)[:-1]):
        sides = np.stack([k, np.roll(k, -1)], axis=1)
        left_in_z = shapely.is_ccw(shapely.LinearRing(corners[k])) != mirrored
        parts.append(sides if left_in_z == (not parts) else sides[:, ::-1])
    edges = np.concatenate(parts)
    _refuse_crossings(corners, edges, names)
    outer, *inner = map(shapely.Polygon, rings)
    for i, hole in enumerate(inner):
        if not outer.contains(hole):
            raise InvalidInputError(f"holes[{i}] lies outside polygon.")
        for j, other in enumerate(inner):
            if i != j and other.contains(hole):
                raise InvalidInputError(f"holes[{i}] lies inside holes[{j}]; drop it.")
    return Region(metric, corners, edges, shapely.Polygon(rings[0], rings[1:]))


def _read_ring(values: ArrayLike, name: str, metric: CurvedMetric) -> Floats:
    x = checks.as_points(values, name, 2, ndim=2)
    if len(x) > 1 and (x[0] == x[-1]).all():  # closed, as shapely gives it
        x = x[:-1]
    if len(x) < 3:
        raise InvalidInputError(f"{name} needs at least 3 different corners; got {len(x)}.")
    z, _ = space.place_inside(metric, x, name)
    extent = float(max(np.ptp(x, axis=0).max(), np.ptp(z, axis=0).max(), np.abs(z).max()))
    largest = 1e70  # products of four coordinates are then finite
    domains.refuse_extent(extent, f"{name} has an extent of", largest)
    return x


def _refuse_repeats(x: Floats, names: list[str]) -> None:
    original = domains.first_equal(x)
    for again in np.flatnonzero(original != np.arange(len(x))):
        raise InvalidInputError(
            f"{names[original[again]]} and {names[again]} are the same point; drop one."
        )


def _refuse_crossings(corners: Floats, edges: Ints, names: list[str]) -> None:
    shapely = checks.require("shapely", "mesh")
    lines = shapely.linestrings(corners[edges])
    first, second = shapely.STRtree(lines).query(lines, predicate="intersects")
    first, second = first[first < second], second[first < second]
    # edges with a common corner cross only when one folds back onto the other
    joined = (edges[first][:, :, None] == edges[second][:, None]).any(axis=(1, 2))
    folded = shapely.length(shapely.intersection(lines[first], lines[second])) > 0
    pairs = np.stack([first, second], axis=1)[~joined | folded]
    if not len(pairs):
        return
    pair = edges[pairs[np.lexsort(pairs.T[::-1])[0]]]
    shown = " and ".join(f"{names[a]}–{names[b]}" for a, b in np.sort(pair))
    more = f", and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    raise InvalidInputError(
        f"polygon must be simple, but edges cross or touch: {shown}{more}. Reorder or move its "
        f"corners, or mesh the parts one by one."
    )
