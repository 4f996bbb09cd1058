"""Vertices put into a constrained Delaunay triangulation (Bowyer 1981, Watson 1981), compiled."""

from typing import NamedTuple

import numpy as np

from cayleyklein._jit import Kernel, inlined
from cayleyklein._typing import Bools, Complexes, Ints


class FencedMesh(NamedTuple):
    """Arrays with room for more rows. *Fences* are edges of triangles that stay."""

    y: Complexes
    corners: Ints  # (t, 3), counter-clockwise
    neighbors: Ints  # (t, 3), each opposite to a corner
    fences: Ints  # (t, 3), the number of the fence opposite to a corner, or -1
    inner: Bools
    fresh: Bools  # whether a triangle is new since this was last cleared
    at_fence: Ints  # a triangle at each fence
    counts: Ints  # of vertices, of triangles, of cavities dug so far
    verdicts: Bools  # (t, 3): to be refined, for an angle; spared, narrower because the polygon is
    worst: Ints  # corner (0, 1 or 2) with the smallest angle that is not the polygon's own
    mark: Ints  # the last cavity that a triangle was part of
    cavity: Ints  # its triangles
    rim: Ints  # (m, 5): its edges, as tail, head, neighbour, fence and `inner`
    by_tail: Ints  # (v,): the new triangle whose edge on the rim starts at a vertex
    by_head: Ints

    def with_room(self, rows: int) -> "FencedMesh":
        """Return the mesh with room for this many triangles, and as many vertices."""
        if rows <= len(self.corners):
            return self
        room = max(rows, 2 * len(self.corners))
        larger = []
        for values in self:
            empty = np.zeros((room - len(values), *values.shape[1:]), values.dtype)
            larger.append(np.concatenate([values, empty]))
        return FencedMesh(*larger)


@inlined
def turn(a, b, p):
    return (b.real - a.real) * (p.imag - a.imag) - (b.imag - a.imag) * (p.real - a.real)


@Kernel
def in_circle(mesh, t, p):
    corners, y = mesh.corners, mesh.y
    a = y[corners[t, 0]] - p
    b = y[corners[t, 1]] - p
    c = y[corners[t, 2]] - p
    bc = (a.real * a.real + a.imag * a.imag) * (b.real * c.imag - b.imag * c.real)
    ca = (b.real * b.real + b.imag * b.imag) * (c.real * a.imag - c.imag * a.real)
    ab = (c.real * c.real + c.imag * c.imag) * (a.real * b.imag - a.imag * b.real)
    return bc + ca + ab > 1e-13 * (abs(bc) + abs(ca) + abs(ab))  # on the circle is not in it


@Kernel
def dig(mesh, p, first, second):
    """Find the cavity of p, from one or two of its triangles: how many, and how many edges."""
    # 0 and the fence if p is on or beyond one, 0 and -1 if lost in rounding
    cavity, neighbors = mesh.cavity, mesh.neighbors
    mesh.counts[2] += 1
    stamp = mesh.counts[2]
    n = 0
    i = 0
    for t in (first, second):
        if t >= 0:
            mesh.mark[t] = stamp
            cavity[n] = t
            n += 1
    while True:
        while i < n:
            t = cavity[i]
            i += 1
            for k in range(3):
                o = neighbors[t, k]
                free = o >= 0 and mesh.fences[t, k] < 0 and mesh.mark[o] != stamp
                if free and in_circle(mesh, o, p):
                    mesh.mark[o] = stamp
                    cavity[n] = o
                    n += 1
        m = 0
        before = n
        for j in range(before):
            t = cavity[j]
            for k in range(3):
                o = neighbors[t, k]
                fence = mesh.fences[t, k]
                if o >= 0 and mesh.mark[o] == stamp:
                    continue
                a, b = mesh.corners[t, (k + 1) % 3], mesh.corners[t, (k + 2) % 3]
                if turn(mesh.y[a], mesh.y[b], p) > 0:
                    mesh.rim[m] = (a, b, o, fence, np.int64(mesh.inner[t]))
                    m += 1
                elif o < 0 or fence >= 0:
                    return 0, fence
                else:  # by rounding: every edge of the rim must have p on its left
                    mesh.mark[o] = stamp
                    cavity[n] = o
                    n += 1
        if n == before:
            return (n, m) if m == n + 2 else (0, -1)


@Kernel
def fill(mesh, p, n, m):
    """Replace the cavity by the triangles of p and the edges of the rim."""
    vertex = mesh.counts[0]
    mesh.y[vertex] = p
    mesh.counts[0] += 1
    for j in range(m):
        a = mesh.rim[j, 0]
        b = mesh.rim[j, 1]
        o = mesh.rim[j, 2]
        fence = mesh.rim[j, 3]
        if j >= n:
            mesh.cavity[j] = mesh.counts[1]
            mesh.counts[1] += 1
        t = mesh.cavity[j]
        mesh.corners[t] = (vertex, a, b)
        mesh.fences[t] = (fence, -1, -1)
        mesh.neighbors[t, 0] = o
        mesh.inner[t] = mesh.rim[j, 4] > 0
        mesh.fresh[t] = True
        if fence >= 0:
            mesh.at_fence[fence] = t
        for k in range(3):
            if o >= 0 and mesh.corners[o, k] != a and mesh.corners[o, k] != b:
                mesh.neighbors[o, k] = t
        mesh.by_tail[a] = t
        mesh.by_head[b] = t
    for j in range(m):
        t = mesh.cavity[j]
        mesh.neighbors[t, 1] = mesh.by_tail[mesh.rim[j, 1]]
        mesh.neighbors[t, 2] = mesh.by_head[mesh.rim[j, 0]]


@Kernel
def add_inside(mesh, points, triangles, around, reach, limit, split):
    """Add points, each for a triangle if that still exists; return whether the limit was met.

    One in the circle (around, reach) of a fence, or beyond the fence, is left out; `split` has it.
    """
    for i in range(len(points)):
        p = points[i]
        if mesh.fresh[triangles[i]]:
            continue
        if mesh.counts[0] >= limit:
            return True
        n, m = dig(mesh, p, triangles[i], -1)  # whose circle has p in it
        if n == 0 and m >= 0:
            split[m] = True
        free = n > 0
        for j in range(m if free else 0):
            f = mesh.rim[j, 3]
            if f >= 0 and abs(p - around[f]) < reach[f]:
                split[f], free = True, False
        if free:
            fill(mesh, p, n, m)
    return False


@Kernel
def add_on_fences(mesh, points, fences, ends, halves):
    """Split fences at points, into halves (q, 2) with `ends` (q, 2); return whether all were."""
    for i in range(len(points)):
        t = mesh.at_fence[fences[i]]
        k = 0
        while mesh.fences[t, k] != fences[i]:
            k += 1
        n, m = dig(mesh, points[i], t, mesh.neighbors[t, k])
        if n == 0:
            return False
        fill(mesh, points[i], n, m)
        for j in range(2):
            left, right = mesh.by_tail[ends[i, j]], mesh.by_head[ends[i, j]]
            mesh.fences[left, 2] = mesh.fences[right, 1] = halves[i, j]
            mesh.at_fence[halves[i, j]] = left
    return True
