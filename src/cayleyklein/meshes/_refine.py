"""Delaunay refinement in rounds (Ruppert 1995), in the conformal plane of a curved metric.

Qhull triangulates the given vertices, with segments of the boundary split until all are edges. They
then stay edges, *fences*, while vertices are added one after the other, in rounds: segments with a
vertex in the circle whose diameter in the metric they are get their midpoints; when there are none,
each bad triangle gets a point, unless an earlier point of the round has replaced the triangle.

* A bad triangle gets its circumcentre, or a nearer point of the bisector of its shortest edge at
  which that edge is seen under the wanted angle (off-centre, Üngör 2004).
* Next to a corner sharper than 60°, segments are split at distances 2ᵏ from it, and a triangle
  whose shortest edge joins two sides at one such distance is left alone (Miller, Pav and
  Walkington 2003).
"""

import math

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay

from cayleyklein._typing import Bools, Complexes, Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.meshes import _kernels as kernels
from cayleyklein.meshes import conformal as plane

EQUAL = 1e-6  # difference of angles, or relative difference of lengths, that decides no choice
RESOLUTION = 1e-6  # shortest segment to split, relative to the polygon's extent in the chart

# far vertices, the first of a mesh, in units of the polygon's extent: no segment is on the hull
GHOSTS = 8.0 * np.exp(2j * np.pi * np.arange(8) / 8 + 0.1j)


class Refinement:
    """Vertices y (n,) in the conformal plane, ghosts and then corners first, and segments."""

    # the goal is the smallest angle in radians, and the largest area and edge in the metric
    def __init__(
        self, y: Complexes, edges: Ints, K: float, goal: tuple[float, float, float], limit: int
    ) -> None:
        self.K = K
        self.goal = goal
        self.max_vertices = limit + len(GHOSTS)
        self.extent = np.abs(y).max()
        self.y = y = np.append(GHOSTS * self.extent, y)
        self.edges = self.segments = edges = edges + len(GHOSTS)
        self.edge_of_segment = np.arange(len(edges))
        self.edge_of_vertex = np.full(len(y), -1)
        before, corner = edges[np.argsort(edges[:, 1])].T
        after = edges[np.argsort(edges[:, 0]), 1]
        u, v = (plane.difference(y[end], y[corner], K) for end in (before, after))
        # corners that get concentric shells
        self.sharp = corner[np.abs(np.angle(v * np.conj(u))) < math.radians(60.0)]
        self.at_limit = f"max_vertices={limit}"
        self.stopped = ""  # by what, if before the goal

    def run(self) -> tuple[Ints, Bools, Bools]:
        """Refine; return the triangles inside, if the boundary was ever whole, bad, and spared."""
        whole, rebuild = False, True
        while not self.stopped:
            if rebuild:
                split = self.build()
                rebuild = bool(split.any())
                whole = whole and not rebuild
            if not rebuild:
                split = self.encroached()
                if not split.any():
                    whole = True
                    self.judge()
                    if not (self.mesh.verdicts[:, 0] & self.mesh.inner).any():
                        break
                    split = self.add_points()
            a, b = self.y[self.segments[split].T]
            if (np.abs(a - b) < RESOLUTION * self.extent).any():
                self.stopped = f"edges of {RESOLUTION:g} of the polygon's extent"
            elif len(self.y) + split.sum() > self.max_vertices:
                self.stopped = self.at_limit
            elif not self.stopped:
                rebuild = not self.split(split, rebuild)
        self.judge()
        inside = self.mesh.inner & whole
        bad, _, spared = self.mesh.verdicts[inside].T
        return self.mesh.corners[inside] - len(GHOSTS), bad, spared

    def build(self) -> Bools:
        """Triangulate all vertices by Qhull; return which segments are not edges."""
        y = self.y
        n = len(self.y)
        qhull = Delaunay(np.stack([y.real, y.imag], axis=1))
        corners, neighbors = qhull.simplices.astype(np.intp), qhull.neighbors.astype(np.intp)
        a, b, c = y[corners.T]
        clockwise = (np.conj(b - a) * (c - a)).imag < 0
        corners[clockwise] = corners[clockwise, ::-1]
        neighbors[clockwise] = neighbors[clockwise, ::-1]
        # directed edges as sorted keys; edge k of a triangle is opposite its corner k
        tail, head = np.roll(corners, -1, axis=1), np.roll(corners, -2, axis=1)
        keys = (tail * n + head).ravel()
        order = np.argsort(keys)
        wanted = self.segments @ np.array([[n, 1], [1, n]])
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        found = np.where(keys[order[place]] == wanted, order[place], -1)
        fences = np.full(corners.shape, -1)
        fences.ravel()[found] = np.arange(len(found))[:, None]
        free = (neighbors >= 0) & (fences < 0)
        rows = np.nonzero(free)[0]
        others = neighbors[free]
        graph = coo_array((np.ones(len(rows)), (rows, others)), shape=(len(free), len(free)))
        label = connected_components(graph, directed=False)[1]
        at_fence = found[:, 0] // 3
        inner = np.isin(label, label[at_fence])  # on the left of a segment, or joined to it
        t = len(corners)
        zero = np.zeros(len(corners), np.intp)
        state = np.array([n, t, 0]), np.zeros((t, 3), bool), zero, zero, zero
        work = np.zeros((t, 5), np.intp), zero, zero
        mesh = kernels.FencedMesh(
            y, corners, neighbors, fences, inner, np.ones(t, bool), at_fence, *state, *work
        )
        self.mesh = mesh.with_room(t + 1)  # copies all
        return np.asarray((found < 0).any(axis=1))

    def encroached(self) -> Bools:
        if self.goal == (0.0, math.inf, math.inf):
            return np.zeros(len(self.segments), dtype=bool)
        mesh = self.mesh
        number = np.arange(len(self.segments))
        here = mesh.at_fence[: len(number)]
        side = (mesh.fences[here] == number[:, None]).argmax(axis=1)
        there = mesh.neighbors[here, side]
        back = (mesh.fences[there] == number[:, None]).argmax(axis=1)
        apex = mesh.corners[np.stack([here, there], 1), np.stack([side, back], 1)]
        around, reach = self.circles()
        near = np.abs(mesh.y[apex] - around[:, None]) < reach[:, None]
        a, b = self.y[self.segments.T]
        lengths = plane.length_of_gap(plane.gap(a, b, self.K), self.K)
        inner = (near & (apex >= len(GHOSTS))).any(axis=1)
        return np.asarray(inner | (lengths > self.goal[2]))

    def circles(self) -> tuple[Complexes, Floats]:
        """Return the circles in the chart whose diameters in the metric are the segments."""
        a, b = self.y[self.segments.T]
        t = plane.half_gap(plane.gap(a, b, self.K), self.K)
        around, reach = plane.chart_circle(plane.midpoint(a, b, self.K), t, self.K)
        return around, reach * (1 - 1e-9)  # a point on a circle is not in it

    def judge(self) -> None:
        """Judge the new triangles inside the polygon."""
        K, (min_angle, max_area, max_edge) = self.K, self.goal
        rows = np.flatnonzero(self.mesh.fresh & self.mesh.inner)
        self.mesh.fresh[:] = False
        corners = self.mesh.corners[rows]
        a, b, c = self.y[corners.T]
        angle = plane.angles(a, b, c, K)
        narrow = angle.min(axis=1) < min_angle
        # the polygon's own angles, between two segments, do not count
        on = self.mesh.fences[rows[narrow]] >= 0
        own = np.roll(on, 1, axis=1) & np.roll(on, 2, axis=1)
        angle[narrow] = np.where(own, np.pi, angle[narrow])
        smallest = angle.min(axis=1)
        equal = angle <= smallest[:, None] + EQUAL
        worst = np.where(equal, corners, len(self.y)).argmin(axis=1)
        by_angle = smallest < min_angle
        by_angle[by_angle] = ~self.across_corner(corners[by_angle], worst[by_angle])
        large = plane.signed_areas(a, b, c, K) > max_area
        if not math.isinf(max_edge):
            longest = np.max([plane.gap(p, q, K) for p, q in ((a, b), (b, c), (c, a))], axis=0)
            large |= plane.length_of_gap(longest, K) > max_edge
        verdicts = by_angle | large, by_angle, narrow & ~by_angle
        self.mesh.verdicts[rows] = np.stack(verdicts, axis=1)
        self.mesh.worst[rows] = worst

    def across_corner(self, corners: Ints, worst: Ints) -> Bools:
        """Return whether the edge opposite the worst angle joins two sides of a sharp corner."""
        # Both ends are on one shell: refining would add shells without end, at small scales only;
        # beyond the radius of curvature a shell may be refined.
        u, v = np.take_along_axis(corners, np.add.outer(worst, (1, 2)) % 3, axis=1).T
        e, f = self.edge_of_vertex[u], self.edge_of_vertex[v]
        first = np.where(self.edges[e, 1] == self.edges[f, 0], self.edges[e, 1], -1)
        corner = np.where(self.edges[e, 0] == self.edges[f, 1], self.edges[e, 0], first)
        shell = (e >= 0) & (f >= 0) & (e != f) & np.isin(corner, self.sharp)
        p, q = (plane.gap(self.y[ends], self.y[corner], self.K) for ends in (u, v))
        small = abs(self.K) * (2 * p) ** 2 < 1
        return np.asarray(shell & small & (np.abs(p - q) < EQUAL * p))

    def add_points(self) -> Bools:
        """Add points for bad triangles; return the segments that forbid some, and are to split."""
        K = self.K
        min_angle = self.goal[0]
        rows = np.flatnonzero(self.mesh.verdicts[:, 0] & self.mesh.inner)
        corners = self.mesh.corners[rows]
        by_angle = self.mesh.verdicts[rows, 1]
        worst = self.mesh.worst[rows]
        point = plane.true_center(*plane.circumcircle(*self.y[corners.T]), K)
        p, q = self.y[np.take_along_axis(corners, np.add.outer(worst, (1, 2)) % 3, axis=1).T]
        side = plane.gap(p, q, K)
        # isosceles with apex angle θ: sin_K(height) = tan_K(base/2)/tan(θ/2)
        if min_angle > 0:
            # a little lower, so that the angle is larger than the wanted one; 0.95 was not varied
            height = 0.95 * side / math.tan(min_angle / 2)
            with np.errstate(invalid="ignore"):
                height = height / (1 + np.sqrt(1 - K * height * height))
            middle = plane.midpoint(p, q, K)
            nearer = by_angle & (height < plane.gap(point, middle, K))
            point[nearer] = plane.towards(middle[nearer], point[nearer], height[nearer], K)
        # angles and sides are often equal: then older vertices decide, not rounding
        order = np.lexsort((*np.sort(corners, axis=1).T, np.round(np.log(side) / EQUAL), ~by_angle))
        split = np.zeros(len(self.segments), dtype=bool)
        self.mesh = self.mesh.with_room(self.mesh.counts[1] + 2 * len(rows))
        given = point[order], rows[order], *self.circles(), self.max_vertices, split
        full = kernels.add_inside(self.mesh, *given)
        new = np.full(self.mesh.counts[0] - len(self.y), -1)
        self.y = self.mesh.y[: self.mesh.counts[0]]
        self.edge_of_vertex = np.append(self.edge_of_vertex, new)
        if full:
            self.stopped = self.at_limit
        elif not (len(new) or split.any()):
            self.stopped = "the precision of double numbers"
        return split

    def split(self, chosen: Bools, anew: bool) -> bool:
        """Split segments; return whether the mesh has the points, which it gets unless `anew`."""
        K = self.K
        ends = self.segments[chosen]
        edge = self.edge_of_segment[chosen]
        sharp = np.isin(ends, self.sharp)
        flip = sharp[:, 1] & ~sharp[:, 0]
        a, b = self.y[np.where(flip[:, None], ends[:, ::-1], ends).T]
        t = plane.gap(a, b, K)
        shell = lifts.tangent(np.exp2(np.round(np.log2(plane.length_of_gap(t, K) / 2))) / 2, K)
        t = np.where(sharp[:, 0] != sharp[:, 1], shell, plane.half_gap(t, K))
        points = plane.towards(a, b, t, K)
        n = len(self.segments)
        new = len(self.y) + np.arange(len(ends))
        self.y = np.append(self.y, points)
        self.edge_of_vertex = np.append(self.edge_of_vertex, edge)
        # the half at the older end keeps the number, in whatever direction the segment goes
        first = np.stack([ends[:, 0], new], 1)
        second = np.stack([new, ends[:, 1]], 1)
        older = (ends[:, 0] < ends[:, 1])[:, None]
        numbers = np.stack([np.flatnonzero(chosen), n + np.arange(len(ends))], axis=1)
        self.segments = np.vstack([self.segments, np.where(older, second, first)])
        self.segments[numbers[:, 0]] = np.where(older, first, second)
        self.edge_of_segment = np.append(self.edge_of_segment, edge)
        if anew:
            return False
        self.mesh = self.mesh.with_room(self.mesh.counts[1] + 2 * len(points))
        ends = np.sort(ends, axis=1)
        return bool(kernels.add_on_fences(self.mesh, points, numbers[:, 0], ends, numbers))
