"""Diagrams cut out by walls, and their cells in space as closed triangle meshes."""

from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.diagrams._planes import LocalChart, local_planes
from cayleyklein.diagrams._power import Groups, PowerDiagram
from cayleyklein.diagrams.domains import window_walls
from cayleyklein.metrics import CurvedMetric


class CutOut:
    """The diagram of planes ⟨A_i, w⟩ + b_i within walls ⟨N, w - origin⟩ ≤ r."""

    def __init__(
        self, chart: LocalChart, A: Floats, b: Floats, origin: Floats, N: Floats, r: Floats
    ) -> None:
        self.chart, self.A, self.N, self.origin = chart, A, N, origin  # y of x is w - origin
        self.power = PowerDiagram(A, b + A @ origin, N, r)

    @classmethod
    def to_window(cls, points: Floats, metric: CurvedMetric, window: Floats) -> "CutOut":
        """Return the diagram of order 1 of points, within a window in x."""
        chart, A, b = local_planes(points, metric)
        return cls(chart, A, b, *window_walls(chart, window))

    def to_points(self, y: Floats) -> Floats:
        return self.chart.to_points(y + self.origin)

    def polygons(self) -> tuple[Ints, list[Floats]]:
        pairs, corners = self.power.ridges
        between = np.flatnonzero((pairs < self.power.n).all(axis=1))
        x = self.to_points(self.power.corners)
        return pairs[between], [x[corners.of_group(ridge)] for ridge in between]


class Mesh(NamedTuple):
    """A closed triangle mesh: vertices (v, 3), and triangles (t, 3) of them, seen from outside.

    >>> corners = np.vstack([np.zeros(3), np.eye(3)])
    >>> faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> round(6 * Mesh(corners, faces).volume, 12)
    1.0
    """

    vertices: Floats
    triangles: Ints

    @property
    def volume(self) -> float:
        """Enclosed volume in the chart x."""
        if not len(self.triangles):
            return 0.0
        corners = self.vertices[self.triangles] - self.vertices.mean(axis=0)
        return float(np.linalg.det(corners).sum() / 6)


def cell_meshes(cut: CutOut) -> list[Mesh]:
    power = cut.power
    pairs, polygons = power.ridges
    wall = pairs[:, 1] >= power.n
    slopes = np.vstack([cut.A, cut.N])
    outward = slopes[pairs[:, 1]] - np.where(wall[:, None], 0.0, slopes[pairs[:, 0]])
    triangles, ridge = fans(polygons)
    at = power.corners[triangles]
    normal = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
    # seen from outside in the chart, which may be a mirror image of x
    mirrored = np.linalg.det(cut.chart.matrix) < 0
    turn = (np.einsum("ij,ij->i", normal, outward[ridge]) < 0) != mirrored
    triangles[turn] = triangles[turn, ::-1]
    inner = ~wall[ridge]
    cell = np.append(pairs[ridge, 0], pairs[ridge[inner], 1])
    faces = np.vstack([triangles, triangles[inner, ::-1]])
    order = np.argsort(cell, kind="stable")
    groups = Groups.of(cell[order], order, power.n)
    x, meshes = cut.to_points(power.corners), []
    for i in range(power.n):
        used, number = np.unique(faces[groups.of_group(i)], return_inverse=True)
        meshes.append(Mesh(x[used], number.reshape(-1, 3)))
    return meshes


def fans(polygons: Groups) -> tuple[Ints, Ints]:
    """Cut polygons into triangles from their first corner; return triangles and their polygons."""
    key, place = polygons.keys, np.arange(len(polygons.members))
    place = place - polygons.starts[key]
    second = np.flatnonzero((place > 0) & (place < polygons.sizes[key] - 1))
    first = polygons.starts[key[second]]
    corners = polygons.members[np.stack([first, second, second + 1], axis=1)]
    return corners, key[second]
