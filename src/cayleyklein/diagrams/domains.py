"""A diagram as the upper envelope of affine functions, and where it ends: at a disc or a window.

A query is nearest to the generator of the largest f_i (:func:`proximity_planes`). Only
differences count, so f_i is taken relative to the f of one generator c, the *pivot*, and in
coordinates w around it, z = z_c + s w:

    f_i(w) = ⟨A_i, w⟩ + b_i,    A_i = s (z_i/σ_i - z_c/σ_c),    b_i = -2 σ_c sin_K²(d(c, i)/2),

both divided by one positive number so that b is of order 1. No term of it cancels, however
far the generators are from μ and however close to each other, and b ≤ 0 = b_c.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import about, as_finite_array, as_points, expect, refuse_containers
from cayleyklein.diagrams._power import Groups, PowerDiagram
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import bisectors, distances, lifts, space
from cayleyklein.metrics import CurvedMetric


class EquivalentBalls(NamedTuple):
    centers: Floats
    sq_radii: Floats


def equivalent_balls(
    points: ArrayLike, metric: object, *, as_printed: bool = False
) -> EquivalentBalls:
    """Return the balls whose power diagram, clipped to the domain, is the Voronoi diagram.

    With f_i(x) = ⟨a_i, x⟩ + b_i of :func:`cayleyklein.geometry.proximity_planes` and any w > 0 and
    constant h, they are

        c_i = w a_i/2,    r_i² = ‖c_i‖² + w b_i + h,    ‖x - c_i‖² - r_i² = ‖x‖² - w f_i(x) - h.

    By default w = 2 and h = 0: for K = 0 and Σ = I these balls are the points themselves, with
    radius 0. The paper's own (§3.1) have w = √|K| and h = sign(K)/√|K|, that is,

        c_i = (Σp_i + a) / (2√|S_ii|),    r_i² = ‖Σp_i + a‖²/(4|S_ii|) + (aᵀp_i + b)/√|S_ii|

    of the paper's form S (corrected: |S_ii|, since S_ii < 0 in the hyperbolic case). Their r_i²
    grow without bound as K tends to 0.

    Parameters
    ----------
    points : array-like of shape (n, d)
        Points in the domain.
    metric : CurvedMetric
        Metric of any curvature.
    as_printed : bool, default=False
        Whether to return the paper's own balls; a flat metric has none.

    Returns
    -------
    EquivalentBalls
        A named tuple of `centers` (n, d) and `sq_radii` (n,), which may be negative.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> equivalent_balls([[0.0, 0.0], [0.6, 0.0]], disc).centers.round(12).tolist()
    [[0.0, 0.0], [0.75, 0.0]]
    >>> paper = equivalent_balls([[0.0, 0.0], [0.6, 0.0]], disc, as_printed=True)
    >>> paper.centers.round(12).tolist(), paper.sq_radii.round(12).tolist()
    ([[0.0, 0.0], [0.375, 0.0]], [-1.0, -1.109375])
    """
    known = space.as_space(metric)
    rows = as_points(points, "points", known.dimension, ndim=2)
    with about("points"):
        planes = bisectors.proximity_planes(rows, known)
    normals, offsets = (np.asarray(part, dtype=np.float64) for part in planes)
    weight, height = 2.0, 0.0
    if as_printed:
        said = "The paper's own balls of a flat metric are infinitely large"
        remedy = "; leave out as_printed."
        space.refuse_at(known.curvature == 0, said, remedy, NotRepresentableError)
        weight = math.sqrt(abs(known.curvature))
        height = math.copysign(1 / weight, known.curvature)
    centers = weight / 2 * normals
    sq_radii = np.einsum("ij,ij->i", centers, centers) + weight * offsets + height
    return EquivalentBalls(centers, sq_radii)


class LocalChart(NamedTuple):
    """Coordinates w with x = pivot + spread L⁻¹w, in which the generators are of order 1."""

    metric: CurvedMetric
    pivot: Floats
    spread: float

    def to_local(self, x: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller raises
            return np.asarray((x - self.pivot) @ self.metric.factor.T / self.spread)

    def to_points(self, w: Floats) -> Floats:
        return np.asarray(w @ self.matrix.T + self.pivot)

    @property
    def matrix(self) -> Floats:
        return self.spread * self.metric.inverse_factor

    @property
    def disc(self) -> tuple[Floats, float]:
        """(o, ρ) with √-K z = o + ρ w: a hyperbolic domain is ‖o + ρ w‖ < 1."""
        k = float(np.sqrt(-self.metric.curvature))
        return k * self.metric.coordinates(self.pivot), k * self.spread


def local_planes(
    points: Floats, metric: CurvedMetric, weights: Floats | None = None
) -> tuple[LocalChart, Floats, Floats]:
    """Return a chart w, and the planes f = Aw + b of points, the highest of which is the nearest.

    They are cos_K(d)/(K c) times σ, less what all have in common, for weights w and
    c = cos_K(√w); so (1/c - 1)/K of S(x, p)/σ_p is added where there are weights.
    """
    metric.inverse_factor  # noqa: B018 - raises for a factor without inverse
    space.place_inside(metric, points, "points")
    with np.errstate(over="ignore", invalid="ignore"):  # nan is inf - inf or 0 * inf
        sizes = np.abs((points - points[0]) @ metric.factor.T)
        extent = float(np.where(np.isnan(sizes), np.inf, sizes).max())
    refuse_extent(extent, "points, in the coordinates z = L(x - μ), are spread over")
    K = metric.curvature
    middle = points - points.mean(axis=0)
    pivot = points[np.argmin(np.einsum("ij,ij->i", middle, middle))]
    reach = np.linalg.norm((points - pivot) @ metric.factor.T, axis=1)
    spread = _positive_median(reach, default=1 / np.sqrt(abs(K)) if K else 1.0)
    pivots = np.broadcast_to(pivot, points.shape)
    spatial, _ = bisectors.point_difference(points, pivots, metric)
    sigma = np.sqrt(space.place_inside(metric, pivot[None], "points")[1][0])
    half = distances.distance_between(points, pivots, metric, "raise") / 2
    offsets = -2 * sigma * lifts.sine(half, K) ** 2
    height = _positive_median(-offsets, default=1.0)
    if weights is not None:
        z, s = space.place_inside(metric, points, "points")
        lift = added_heights(weights, K) / np.sqrt(s)
        spatial = spatial + K * lift[:, None] * z
        offsets = offsets + lift * (1 + K * z @ metric.coordinates(pivot))
    return LocalChart(metric, pivot, spread), spatial * (spread / height), offsets / height


def added_heights(weights: Floats, K: float) -> Floats:
    """Return (1/c - 1)/K of weights w, c = cos_K(√w), which is cosh or cos where K or w < 0."""
    if K == 0:
        return weights / 2
    half = np.sqrt(np.abs(K * weights)) / 2
    turned = K * weights > 0
    sine = np.where(turned, np.sin(half), np.sinh(half))
    missing = 2 * np.where(turned, 1, -1) * sine * sine  # 1 - c
    return np.asarray(missing / (K * (1 - missing)))


def check_weights(weights: ArrayLike | None, n: int, K: float) -> Floats | None:
    """Return weights (n,) of points, in squared length, or None."""
    if weights is None:
        return None
    found = as_finite_array(weights, "weights")
    each = f"one for each of the {n} points"
    expect(found.shape == (n,), "weights of shape", found.shape, each)
    refuse_extent(float(np.abs(found).max()), "weights reach")
    most = (math.pi / 2) ** 2
    said = "weights times K must be below (π/2)², a quarter of a great circle, but are not"
    space.refuse_at(K * found >= most, said, "; make them smaller.")
    return found


def _positive_median(values: Floats, default: float) -> float:
    positive = values[values > 0]
    return float(np.median(positive)) if len(positive) else float(default)


def window_corners(window: ArrayLike | None, points: Floats, curvature: float) -> Floats | None:
    if window is None:
        return None if curvature < 0 else box_around(points)
    said = "A hyperbolic diagram ends at its domain, the inside of the absolute"
    space.refuse_at(curvature < 0, said, "; leave out window.")
    corners = as_finite_array(window, "window")
    d = points.shape[1]
    refuse_extent(float(np.abs(corners).max(initial=0.0)), "window reaches")
    right = corners.shape == (2, d) and bool((corners[0] < corners[1]).all())
    expected = f"two corners, the lower and the upper, of {d} coordinates each"
    expect(right, "window", corners.tolist(), expected)
    return corners


def refuse_extent(extent: float, what: str, largest: float = 1e100) -> None:
    """Refuse an extent that is not between 1/largest and largest; products of 3 are then finite."""
    if extent and not 1 / largest < extent < largest:
        raise InvalidInputError(
            f"{what} {extent:.3g}, and products of such coordinates overflow or underflow; "
            f"rescale the coordinates."
        )


def first_equal(points: Floats) -> Ints:
    """Return for each row the first row equal to it."""
    _, first, like = np.unique(points, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[like.reshape(-1)])


def box_around(points: Floats) -> Floats:
    """Return the corners (2, d) of the box of points, a tenth larger on each side."""
    lower, upper = points.min(axis=0), points.max(axis=0)
    extent = upper - lower
    extent[extent == 0] = extent.max() or 1.0
    return np.stack([lower - 0.1 * extent, upper + 0.1 * extent])


def cut_out(
    chart: LocalChart, A: Floats, b: Floats, window: Floats | None, tolerance: float = 0.0
) -> tuple[LocalChart, PowerDiagram]:
    """Return the diagram within a window in x, or within `tolerance` of the domain in space.

    The chart that goes with it is around a point well inside.
    """
    if window is None:
        inner = chart.metric.center
        N, r = _ball_walls(tolerance)
        N = chart.disc[1] * N
    else:
        lower, upper = window
        room = 0.05 * (upper - lower)
        inner = np.clip(chart.pivot, lower + room, upper - room)
        N = np.vstack([chart.matrix, -chart.matrix])
        r = np.append(upper - inner, inner - lower)
    power = PowerDiagram(A, b + A @ chart.to_local(inner), N, r)
    return chart._replace(pivot=inner), power


def _ball_walls(tolerance: float) -> tuple[Floats, Floats]:
    """Return the walls of a polyhedron in the unit ball of space, within `tolerance` of it."""
    count = 64
    off = math.inf
    while off > tolerance:
        # a spiral of points that are spread evenly over the sphere
        height = 1 - (2 * np.arange(count) + 1) / count
        turn = np.arange(count) * math.pi * (3 - math.sqrt(5))
        ring = np.sqrt(1 - height * height)
        points = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
        faces = ConvexHull(points).equations
        off = 1 + faces[:, 3].max()
        count *= 2
    return faces[:, :3], -faces[:, 3]


def far_walls(chart: LocalChart, w: Floats) -> tuple[Floats, Floats]:
    """Return walls around the domain, or far around the generators w."""
    if chart.metric.curvature < 0:
        o, rho = chart.disc
        reach = 1.5 * (1 + float(np.linalg.norm(o))) / rho
    else:
        # Vertices beyond count as infinitely far. Farther walls would leave Qhull no digits for
        # near vertices.
        reach = max(1e6, 1e3 * float(np.linalg.norm(w, axis=1).max()))
    d = w.shape[1]
    corners = np.eye(d + 1) - 1 / (d + 1)  # of a regular simplex around the ball of this radius
    N = corners @ np.linalg.svd(corners)[2][:d].T
    return N / np.linalg.norm(N, axis=1, keepdims=True), np.full(d + 1, reach)


def in_ball(y: Floats) -> Bools:
    return np.asarray(np.einsum("ij,ij->i", y, y) < 1)


def meets_ball(y: Floats, groups: Groups, which: AnyArray) -> Bools:
    """Return whether convex hulls of corners y meet the open unit ball, for the groups `which`."""
    answer = np.bincount(groups.keys, in_ball(y)[groups.members], len(groups.sizes)) > 0
    for group in np.flatnonzero(which & ~answer & (groups.sizes > 0)):
        corners = y[groups.of_group(group)]
        # the point Σ λ_i v_i of the hull nearest to 0 is u/Σu for the u ≥ 0 that comes nearest to
        # Σ u_i v_i = 0, Σ u_i = 1
        system = np.vstack([corners.T / np.abs(corners).max(), np.ones(len(corners))])
        u, _ = nnls(system, np.append(np.zeros(corners.shape[1]), 1.0))
        nearest = u @ corners / u.sum()
        answer[group] = nearest @ nearest < 1
    return answer


def cut_to_disc(
    corners: Floats, cells: Groups, around_center: int
) -> tuple[Ints, Floats, Floats, Floats]:
    """Intersect polygons, counter-clockwise, with the unit disc; `around_center` has its centre."""
    tail = cells.members
    head = cells.following()
    # both cells at an edge cut it from the same end, so that they agree to the last bit
    back = (tail > head)[:, None]
    low, high, meets = cut_edges(corners[np.minimum(tail, head)], corners[np.maximum(tail, head)])
    cell = cells.keys[meets]
    start, end = np.where(back, high, low)[meets], np.where(back, low, high)[meets]
    if not (cell == around_center).any():
        east = np.array([[1.0, 0.0]])  # the cell is the whole disc
        return np.array([around_center]), east, east, np.array([[0.0, 2 * math.pi]])
    follower = Groups.of(cell, np.arange(len(cell)), len(cells.sizes)).following()
    leaving = np.flatnonzero(~in_ball(corners)[head[meets]])
    arc_start = end[leaving]
    arc_end = start[follower[leaving]]
    first, last = (np.arctan2(p[:, 1], p[:, 0]) for p in (arc_start, arc_end))
    sweep = np.mod(last - first, 2 * math.pi)
    sweep[sweep > 2 * math.pi - 1e-12] = 0.0  # rounding exchanged the ends of an arc of length 0
    segments = start, end, np.full((len(cell), 2), np.nan)
    arcs = arc_start, arc_end, np.stack([first, first + sweep], axis=1)
    order = np.argsort(np.append(np.arange(len(cell)), leaving), kind="stable")
    starts, ends, angles = (np.vstack(both)[order] for both in zip(segments, arcs, strict=True))
    return np.append(cell, cell[leaving])[order], starts, ends, angles


def cut_edges(tail: Floats, head: Floats) -> tuple[Floats, Floats, Bools]:
    """Return the ends of segments within the unit disc, and which segments meet it."""
    e = head - tail
    along, sqlength = np.einsum("ij,ij->i", tail, e), np.einsum("ij,ij->i", e, e)
    cross = tail[:, 0] * e[:, 1] - tail[:, 1] * e[:, 0]
    # ‖tail + t e‖² = 1, whose discriminant is |e|² - (tail × e)²
    room = sqlength - cross * cross
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(room, 0.0))
        enter = (-along - root) / sqlength
        leave = (-along + root) / sqlength
    tail_in, head_in = in_ball(tail), in_ball(head)
    meets = (sqlength > 0) & (tail_in | head_in | ((room > 0) & (enter > 0) & (leave < 1)))
    start = np.where(tail_in[:, None], tail, tail + enter[:, None] * e)
    end = np.where(head_in[:, None], head, tail + leave[:, None] * e)
    return start, end, meets


class Boundary(NamedTuple):
    """The boundary of a plane cell, pieces one after the other: segments and arcs.

    An arc follows x(θ) = μ + L⁻¹(cos θ, sin θ)/√-K between its angles; those of a segment are NaN.

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> left, right = CayleyKleinVoronoi([[-0.5, 0.0], [0.5, 0.0]], disc).boundaries()
    >>> np.isnan(left.angles).any(axis=1)  # a segment, and an arc of the absolute
    array([ True, False])
    """

    starts: Floats  #: Start of each piece, shape (m, 2).
    ends: Floats  #: End of each piece, shape (m, 2).
    angles: Floats  #: Angles θ of the start and the end of each piece, shape (m, 2).


class Triangulation(NamedTuple):
    """The Delaunay triangulation of a curved metric.

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    >>> diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=-1.0))
    >>> [part.shape for part in diagram.dual()]
    [(3, 3), (3, 2), (6, 2)]
    """

    simplices: Ints  #: Points of each simplex, shape (m, d + 1).
    centers: Floats  #: Centre of each simplex, equally far from its points, shape (m, d).
    edges: Ints  #: Points of neighbouring cells (e, 2); some belong to no simplex when K < 0.


class Mesh(NamedTuple):
    """A closed triangle mesh.

    >>> corners = np.vstack([np.zeros(3), np.eye(3)])
    >>> faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> round(6 * Mesh(corners, faces).volume, 12)
    1.0
    """

    vertices: Floats  #: Corners, shape (v, 3).
    triangles: Ints  #: Vertices of each triangle, anticlockwise seen from outside, shape (t, 3).

    @property
    def volume(self) -> float:
        """Enclosed volume in the chart x."""
        middle = self.vertices.sum(axis=0) / max(1, len(self.vertices))
        return float(np.linalg.det(self.vertices[self.triangles] - middle).sum() / 6)


def cell_meshes(chart: LocalChart, power: PowerDiagram) -> list[Mesh]:
    pairs, polygons = power.facets
    wall = pairs[:, 1] >= power.n
    outward = power.slopes[pairs[:, 1]] - np.where(wall, 0.0, power.slopes[pairs[:, 0]].T).T
    triangles, ridge = polygons.fans()
    at = power.corners[triangles]
    normal = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
    # seen from outside in the chart, which may be a mirror image of x
    mirrored = np.linalg.det(chart.matrix) < 0
    turn = (np.einsum("ij,ij->i", normal, outward[ridge]) < 0) != mirrored
    triangles[turn] = triangles[turn, ::-1]
    inner = ~wall[ridge]
    cell = np.append(pairs[ridge, 0], pairs[ridge[inner], 1])
    faces = np.vstack([triangles, triangles[inner, ::-1]])
    order = np.argsort(cell, kind="stable")
    x = chart.to_points(power.corners)
    meshes = []
    for part in np.split(faces[order], np.searchsorted(cell[order], np.arange(1, power.n))):
        used, number = np.unique(part, return_inverse=True)
        meshes.append(Mesh(x[used], number.reshape(-1, 3)))
    return meshes


def encode_labels(labels: ArrayLike, n: int, name: str = "labels") -> tuple[AnyArray, Ints]:
    """Return the sorted classes, and the index of the class of each of n points."""
    refuse_containers(labels, name)
    values = np.asarray(labels)
    each = f"one entry for each of the {n} points"
    expect(values.shape == (n,), f"{name} of shape", values.shape, each)
    if values.dtype.kind == "f":
        as_finite_array(values, name)
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(f"{name} cannot be sorted: {error}.") from error
    return classes, codes
