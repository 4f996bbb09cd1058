"""Delaunay refinement in rounds (Ruppert 1995), in the conformal plane of a curved metric.

A round triangulates all vertices by Qhull, and then adds as many as may be added one after the
other: a bad triangle's point is taken only if no point taken before lies in its circle, so that
the triangle would still be there. Segments of the boundary are split until the circle around each,
the segment being its diameter in the metric, is empty; they are then edges of the triangulation.

* A bad triangle gets its circumcentre, or a nearer point of the bisector of its shortest edge at
  which that edge is seen under the wanted angle (off-centre, Üngör 2004).
* Next to a corner sharper than 60°, segments are split at distances 2ᵏ from it, and a triangle
  whose shortest edge joins two sides at one such distance is left alone (Miller, Pav and
  Walkington 2003).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay, cKDTree

from cayleyklein._typing import Bools, Complexes, Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.meshes import conformal as plane

SHARP = math.radians(60.0)  # corners under this angle get concentric shells
ON_CIRCLE = 1e-9  # relative distance from a circle within which a point is on it, and not in it
EQUAL = 1e-6  # difference of angles, or relative difference of lengths, that decides no choice
OFF_CENTER = 0.95  # height of an off-centre, relative to the height with exactly the wanted angle
RESOLUTION = 1e-6  # shortest segment to split, relative to the polygon's extent in the chart

# far vertices, in units of the polygon's extent: with them no segment is on Qhull's hull
GHOSTS = 8.0 * np.exp(2j * np.pi * np.arange(8) / 8 + 0.1j)


class Goal(NamedTuple):
    min_angle: float  # in radians; areas and edges in the metric
    max_area: float
    max_edge: float


class Triangles(NamedTuple):
    corners: Ints  # counter-clockwise in the chart
    neighbors: Ints
    of_segment: Ints  # left and right of each segment (k, 2), -1 where it is not an edge


class Verdict(NamedTuple):
    bad: Bools  # to be refined
    by_angle: Bools  # to be refined for an angle
    spared: Bools  # narrower than wanted because the polygon is
    worst: Ints  # corner (0, 1 or 2) with the smallest angle that is not the polygon's own


class Refinement:
    """Vertices y (n,) in the conformal plane, corners of the polygon first, and segments."""

    def __init__(self, y: Complexes, edges: Ints, K: float, goal: Goal, max_vertices: int) -> None:
        self.K, self.goal, self.max_vertices = K, goal, max_vertices
        self.y, self.edges = y, edges
        self.segments, self.edge_of_segment = edges, np.arange(len(edges))
        self.edge_of_vertex = np.full(len(y), -1)
        before = np.empty(len(edges), dtype=np.intp)
        before[edges[:, 1]] = edges[:, 0]
        corner, after = y[edges[:, 0]], y[edges[:, 1]]
        u = plane.difference(y[before[edges[:, 0]]], corner, K)
        v = plane.difference(after, corner, K)
        self.sharp = np.zeros(len(edges), dtype=bool)
        self.sharp[edges[:, 0]] = np.abs(np.angle(v * np.conj(u))) < SHARP
        self.ghosts = GHOSTS * np.abs(y).max()
        self.stopped = ""  # by what, before the goal was reached

    def run(self) -> tuple[Ints, Verdict]:
        """Refine; return the last triangles inside, none if no round kept all segments."""
        none: Ints = np.empty((0, 3), dtype=np.intp)
        last = self.y, self.segments, none, self.judge(none)
        while True:
            triangles = self.triangulate()
            points, split = np.empty(0, dtype=np.complex128), self.encroached(triangles)
            if not split.any():
                inside = triangles.corners[self.inside(triangles)]
                verdict = self.judge(inside)
                if not verdict.bad.any():
                    return inside, verdict
                last = self.y, self.segments, inside, verdict
                points, split = self.choose(inside, verdict)
            a, b = self.y[self.segments[split].T]
            if (np.abs(a - b) < RESOLUTION * np.abs(self.y).max()).any():  # too short for Qhull
                self.stopped = f"edges of {RESOLUTION:g} of the polygon's extent"
            if len(self.y) + len(points) + split.sum() > self.max_vertices:
                self.stopped = f"max_vertices={self.max_vertices}"
            if self.stopped:
                self.y, self.segments, inside, verdict = last
                return inside, verdict
            self.y = np.append(self.y, points)
            self.edge_of_vertex = np.append(self.edge_of_vertex, np.full(len(points), -1))
            self.split(split)

    def triangulate(self) -> Triangles:
        y = np.append(self.y, self.ghosts)
        qhull = Delaunay(_pairs(y))
        corners, neighbors = qhull.simplices.astype(np.intp), qhull.neighbors.astype(np.intp)
        a, b, c = y[corners.T]
        clockwise = (np.conj(b - a) * (c - a)).imag < 0
        corners[clockwise] = corners[clockwise, ::-1]
        neighbors[clockwise] = neighbors[clockwise, ::-1]
        # directed edges as sorted keys; edge k of a triangle is opposite its corner k
        tail, head = np.roll(corners, -1, axis=1), np.roll(corners, -2, axis=1)
        keys = (tail * len(y) + head).ravel()
        order = np.argsort(keys)
        wanted = self.segments @ np.array([[len(y), 1], [1, len(y)]])
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        found = np.where(keys[order[place]] == wanted, order[place], -1)
        return Triangles(corners, neighbors, found)

    def encroached(self, triangles: Triangles) -> Bools:
        found = triangles.of_segment
        missing = (found < 0).any(axis=1)
        if self.goal == Goal(0.0, math.inf, math.inf):
            return np.asarray(missing)
        center, t = self.circles()
        apex = triangles.corners.ravel()[found]
        real = apex < len(self.y)
        near = plane.gap(self.y[np.where(real, apex, 0)], center[:, None], self.K)
        inner = (real & (near < t[:, None] * (1 - ON_CIRCLE))).any(axis=1)
        a, b = self.y[self.segments.T]
        lengths = plane.length_of_gap(plane.gap(a, b, self.K), self.K)
        return np.asarray(missing | inner | (lengths > self.goal.max_edge))

    def circles(self) -> tuple[Complexes, Floats]:
        a, b = self.y[self.segments.T]
        return plane.midpoint(a, b, self.K), plane.half_gap(plane.gap(a, b, self.K), self.K)

    def inside(self, triangles: Triangles) -> Bools:
        """Return which triangles are inside: on the left of a segment, or joined to such."""
        free = triangles.neighbors >= 0
        free.ravel()[triangles.of_segment] = False
        rows, others = np.nonzero(free)[0], triangles.neighbors[free]
        graph = coo_array((np.ones(len(rows)), (rows, others)), shape=(len(free), len(free)))
        _, label = connected_components(graph, directed=False)
        return np.isin(label, label[triangles.of_segment[:, 0] // 3])

    def judge(self, corners: Ints) -> Verdict:
        K, goal = self.K, self.goal
        a, b, c = self.y[corners.T]
        angle = plane.angles(a, b, c, K)
        narrow = angle.min(axis=1) < goal.min_angle
        angle[narrow] = np.where(self.given(corners[narrow]), np.pi, angle[narrow])
        smallest = angle.min(axis=1)
        equal = angle <= smallest[:, None] + EQUAL
        worst = np.where(equal, corners, len(self.y)).argmin(axis=1)
        by_angle = smallest < goal.min_angle
        by_angle[by_angle] = ~self.across_corner(corners[by_angle], worst[by_angle])
        large = plane.signed_areas(a, b, c, K) > goal.max_area
        if not math.isinf(goal.max_edge):
            longest = np.max([plane.gap(p, q, K) for p, q in ((a, b), (b, c), (c, a))], axis=0)
            large |= plane.length_of_gap(longest, K) > goal.max_edge
        return Verdict(np.asarray(by_angle | large), by_angle, narrow & ~by_angle, worst)

    def given(self, corners: Ints) -> Bools:
        """Return which angles (n, 3) of triangles lie between two segments: the polygon's own."""
        n = len(self.y)
        tail, head = np.roll(corners, -1, axis=1), np.roll(corners, -2, axis=1)
        sides = np.sort(self.segments, axis=1) @ [n, 1]
        on = np.isin(np.minimum(tail, head) * n + np.maximum(tail, head), sides)
        return np.roll(on, 1, axis=1) & np.roll(on, 2, axis=1)

    def across_corner(self, corners: Ints, worst: Ints) -> Bools:
        """Return whether the edge opposite the worst angle joins two sides of a sharp corner."""
        # Both ends are on one shell: refining would add shells without end, at small scales only;
        # beyond the radius of curvature a shell may be refined.
        u, v = np.take_along_axis(corners, np.add.outer(worst, (1, 2)) % 3, axis=1).T
        e, f = self.edge_of_vertex[u], self.edge_of_vertex[v]
        first = np.where(self.edges[e, 1] == self.edges[f, 0], self.edges[e, 1], -1)
        corner = np.where(self.edges[e, 0] == self.edges[f, 1], self.edges[e, 0], first)
        shell = (e >= 0) & (f >= 0) & (e != f) & (corner >= 0) & self.sharp[corner]
        p, q = (plane.gap(self.y[ends], self.y[corner], self.K) for ends in (u, v))
        small = abs(self.K) * (2 * p) ** 2 < 1
        return np.asarray(shell & small & (np.abs(p - q) < EQUAL * p))

    def choose(self, corners: Ints, verdict: Verdict) -> tuple[Complexes, Bools]:
        K, bad = self.K, verdict.bad
        corners, by_angle, worst = corners[bad], verdict.by_angle[bad], verdict.worst[bad]
        center, radius = plane.circumcircle(*self.y[corners.T])
        point = plane.true_center(center, radius, K)
        p, q = self.y[np.take_along_axis(corners, np.add.outer(worst, (1, 2)) % 3, axis=1).T]
        side = plane.gap(p, q, K)
        # isosceles with apex angle θ: sin_K(height) = tan_K(base/2)/tan(θ/2)
        if self.goal.min_angle > 0:
            height = OFF_CENTER * side / math.tan(self.goal.min_angle / 2)
            with np.errstate(invalid="ignore"):
                height = height / (1 + np.sqrt(1 - K * height * height))
            middle = plane.midpoint(p, q, K)
            nearer = by_angle & (height < plane.gap(point, middle, K))
            point[nearer] = plane.towards(middle[nearer], point[nearer], height[nearer], K)
        # angles and sides are often equal: then older vertices decide, not rounding
        order = np.lexsort((*np.sort(corners, axis=1).T, np.round(np.log(side) / EQUAL), ~by_angle))
        taken = order[_independent(point[order], center[order], radius[order])]
        point, center, radius = point[taken], center[taken], radius[taken]
        middle, t = self.circles()
        around, reach = plane.chart_circle(middle, t, K)
        hits = cKDTree(_pairs(point)).query_ball_point(_pairs(around), reach * (1 - ON_CIRCLE))
        split = np.array([len(hit) > 0 for hit in hits], dtype=bool)
        keep = ~np.isin(np.arange(len(point)), [i for hit in hits for i in hit])
        if split.any():
            near, _ = cKDTree(_pairs(middle[split])).query(_pairs(center))
            keep &= near >= radius
        return point[keep], split

    def split(self, chosen: Bools) -> None:
        K, ends, edge = self.K, self.segments[chosen], self.edge_of_segment[chosen]
        sharp = np.append(self.sharp, False)[np.minimum(ends, len(self.sharp))]
        flip = sharp[:, 1] & ~sharp[:, 0]
        a, b = self.y[np.where(flip[:, None], ends[:, ::-1], ends).T]
        t = plane.gap(a, b, K)
        shell = lifts.tangent(np.exp2(np.round(np.log2(plane.length_of_gap(t, K) / 2))) / 2, K)
        t = np.where(sharp[:, 0] != sharp[:, 1], shell, plane.half_gap(t, K))
        new = len(self.y) + np.arange(len(ends))
        self.y = np.append(self.y, plane.towards(a, b, t, K))
        self.edge_of_vertex = np.append(self.edge_of_vertex, edge)
        halves = np.stack([ends[:, 0], new, new, ends[:, 1]], axis=1).reshape(-1, 2, 2)
        turned = ends[:, 0] > ends[:, 1]
        halves[turned] = halves[turned, ::-1]  # in one order whatever the direction
        self.segments = np.vstack([self.segments[~chosen], halves.reshape(-1, 2)])
        self.edge_of_segment = np.append(self.edge_of_segment[~chosen], np.repeat(edge, 2))


def _pairs(y: Complexes) -> Floats:
    return np.stack([y.real, y.imag], axis=1)


def _independent(points: Complexes, centers: Complexes, radii: Floats) -> Ints:
    """Return the points to take in this order: none lies in the circle of one after it."""
    at, around, reach = _pairs(points), _pairs(centers), radii * (1 - ON_CIRCLE)
    taken: Ints = np.empty(0, dtype=np.intp)
    start, size = 0, 64  # compared with each other; then twice as many, …
    while start < len(points):
        rows = np.arange(start, min(start + size, len(points)))
        if len(taken):
            rows = rows[cKDTree(at[taken]).query(around[rows])[0] >= reach[rows]]
        free = np.zeros(len(rows), dtype=bool)
        if len(rows):
            within = cKDTree(at[rows]).query_ball_point(around[rows], reach[rows])
            for i, others in enumerate(within):
                free[i] = not free[others].any()
        taken = np.append(taken, rows[free])
        start, size = start + size, 2 * size
    return taken
