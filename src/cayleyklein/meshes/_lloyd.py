"""Centroidal Voronoi diagrams by Lloyd's method, with the centroids of the geometry.

The energy of points p is the sum of ∫ ρ c² dA over their cells, with the squared chord
c²(x, p) = 4 sin_K²(d(x, p)/2), d² at K = 0. With lifted points X of length 1, c² = 2(1 - ⟨X, P⟩)/K,
so the minimising P of a cell is the mean of X over it, scaled back to length 1: the centre of mass
of the geometry (Galperin 1993). The chord grows with the distance, so that the cells, too, are
those of least energy: neither half of a step raises it.

The parts of the polygon in the cells are cut into triangles. With P the point of the cell, the
lifted corners P + D_i span a flat triangle of points V = P + Σ β_i D_i; the lifted triangle is
X = V/N, N² = ⟨V, V⟩. With the squared chords c_i² of the corners from P, and e_ij² of the edges,

    N² = 1 - Kg,   g = Σ β_i β_j e_ij² (i < j),   m = Σ β_i c_i²,
    c² = (m - 2g/(1 + N))/N,   dA = det(V_1, V_2, V_3) dβ/N³.

N is almost 1 wherever the triangle is, so that few nodes of Gauss quadrature serve.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats, Ints
from cayleyklein.diagrams import CayleyKleinVoronoi, domains
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import lifts, space
from cayleyklein.meshes._mesh import Region, read_region
from cayleyklein.metrics import CurvedMetric

# Nodes of Gauss quadrature along the sides of triangles whose longest edge, times √|K|, is at most
# this: energies are then exact to 1e-9, areas to 1e-11. Flat integrands are of degree 2.
NODES = {0.0: 2, 0.025: 3, 0.15: 4, 0.25: 5}
LONGEST_EDGE = max(NODES)

Density = Callable[[Floats], ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class CentroidalVoronoi:
    """Points that are, to a tolerance, the centroids of their Voronoi cells in a polygon.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> square = [[-0.6, -0.6], [0.6, -0.6], [0.6, 0.6], [-0.6, 0.6]]
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> found = lloyd([[-0.1, 0.0], [0.2, 0.1]], disc, square)
    >>> found.converged, bool((np.diff(found.energies) <= 0).all())
    (True, True)
    >>> found.diagram
    CayleyKleinVoronoi(2 points, hyperbolic, d=2, K=-1, order=1, 2 cells)
    """

    points: Floats  #: The points, shape (n, 2).
    energies: Floats  #: Energy before each step, and after the last one; it never rises.
    masses: Floats  #: Mass of each cell, ∫ ρ dA in the metric: its area when there is no density.
    converged: bool  #: Whether the last step changed the energy by less than `tol`.
    polygon: Floats  #: Corners of the polygon, shape (m, 2).
    metric: CurvedMetric  #: Metric of the plane.

    def __repr__(self) -> str:
        return (
            f"CentroidalVoronoi({len(self.points)} points, {self.metric.geometry}, "
            f"K={self.metric.curvature:g}, {len(self.energies) - 1} steps, "
            f"energy {self.energies[-1]:.6g})"
        )

    @cached_property
    def diagram(self) -> CayleyKleinVoronoi:
        """The Voronoi diagram of the points, not cut to the polygon but to a box around it."""
        box = np.stack([self.polygon.min(axis=0), self.polygon.max(axis=0)])
        window = None if self.metric.curvature < 0 else box
        return CayleyKleinVoronoi(self.points, self.metric, window=window)


def lloyd(
    points: ArrayLike,
    metric: CurvedMetric,
    polygon: ArrayLike,
    *,
    holes: list[Any] | None = None,
    density: Density | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
) -> CentroidalVoronoi:
    """Move points repeatedly to the centroids of their Voronoi cells (Lloyd 1982).

    The centroid of a cell, at K = 0 the ordinary one, is its centre of mass in the geometry, which
    moves along with isometries: the point of least ∫ ρ c² dA, with the chord c = 2 sin_K(d/2). The
    energy, the sum of these integrals, falls with every step. In a polygon that is not convex, a
    centroid may lie outside of it. Returns a :class:`CentroidalVoronoi`.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Points inside the polygon to start from.
    metric : CurvedMetric
        Metric of the plane, of any curvature.
    polygon : array-like of shape (m, 2)
        Corners in either direction, inside the domain of the metric.
    holes : list of array-like of shape (m, 2), optional
        Polygons inside that are left out.
    density : callable, optional
        Takes points (q, 2) and returns ρ ≥ 0 of shape (q,), mass per area of the metric; 1 by
        default. It should vary little within a cell, since it is integrated by quadrature.
    max_iter : int, default=200
        Maximum number of steps.
    tol : float, default=1e-4
        Share of the energy. The first step that lowers it by less is the last.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    >>> start = np.random.default_rng(0).uniform(-1, 1, size=(4, 2))
    >>> found = lloyd(start, CurvedMetric.euclidean(2), square, tol=1e-9)
    >>> np.ptp(np.abs(found.points).round(3))  # at (±0.5, ±0.5), in four smaller squares
    np.float64(0.0)
    >>> sphere = CurvedMetric.euclidean(2, curvature=1.0)
    >>> crowded = lloyd(start, sphere, square, density=lambda x: np.exp(4 * x[:, 0]))
    >>> bool(crowded.points[:, 0].mean() > 0.2)
    True
    """
    region = read_region(polygon, holes, metric)
    x = region.with_inside(points)
    known = density is None or callable(density)
    checks.expect(known, "density", density, "a function, or None")
    max_iter = checks.as_count(max_iter, "max_iter")
    tol = checks.as_real(tol, "tol", "[0, 1)")
    energy, masses, centroids = _integrate(x, region, density)
    energies = [energy]
    converged = False
    while not converged and len(energies) <= max_iter:
        energy, *after = _integrate(centroids, region, density)
        converged = not energy < (1 - tol) * energies[-1]
        if energy > energies[-1]:  # by the rounding of a minimum
            break
        x, (masses, centroids) = centroids, after
        energies.append(energy)
    if not converged:
        checks.warn_caller(
            f"lloyd did not converge in max_iter={max_iter} steps: the last lowered the energy by "
            f"{1 - energies[-1] / energies[-2]:.1e} of it. Allow more steps, or a larger tol.",
            ConvergenceWarning,
        )
    corners = np.asarray(polygon, dtype=np.float64)
    return CentroidalVoronoi(x, np.array(energies), masses, converged, corners, metric)


def _integrate(x: Floats, region: Region, density: Density | None) -> tuple[float, Floats, Floats]:
    """Return the energy of points in a region, and masses and centroids of their cells."""
    metric = region.metric
    n = len(x)
    K = metric.curvature
    z, s = space.place_inside(metric, x, "points")
    energy = 0.0
    sums = np.zeros((n, 5))  # of dA, dA/N, D dA/N
    own, corners = _cells(x, region)
    while len(own):
        u = space.apply_factor(metric, corners - x[own, None])
        ends = space.place_inside(metric, corners, "polygon")
        spatial, rise = lifts.lift_difference(u, *ends, z[own, None], s[own, None], K)
        D = np.concatenate([spatial, rise[..., None]], axis=2)
        across = D - np.roll(D, -1, axis=1)
        chords, edges = (np.einsum("tci,tci,i->tc", v, v, [1.0, 1.0, K]) for v in (D, across))
        (a, b), (c, d) = (u[:, 1:] - u[:, :1]).T
        double = np.abs(a * d - b * c) / np.sqrt(ends[1]).prod(axis=1)
        large = abs(K) * edges.max(axis=1) > LONGEST_EDGE**2
        middles = (corners + np.roll(corners, -1, axis=1))[large] / 2
        outer = np.stack([corners[large], middles, np.roll(middles, 1, axis=1)], axis=2)
        edges[large], double[large] = 0.0, 0.0  # they are cut into four
        longest = np.sqrt(abs(K) * edges.max()) if density is None else LONGEST_EDGE
        count = min(n_nodes for edge, n_nodes in NODES.items() if longest <= edge)
        beta, shares = _gauss_rule(count)
        m = chords @ beta.T
        g = edges @ (beta * np.roll(beta, -1, axis=1)).T
        N = np.sqrt(1 - K * g)
        mass = double[:, None] * shares / (N * N * N)
        if density is not None:
            V = beta @ lifts.lift(*ends)
            mass = mass * _values(density, metric.points(V[..., :2] / V[..., 2:]))
        energy += float((mass * (m - 2 * g / (1 + N)) / N).sum())
        by_corner = (mass / N) @ beta
        parts = mass.sum(axis=1), by_corner.sum(axis=1), *np.einsum("tc,tci->it", by_corner, D)
        sums += np.stack([np.bincount(own, part, n) for part in parts], axis=1)
        own = np.repeat(own[large], 4)
        corners = np.concatenate([outer, middles[:, None]], axis=1).reshape(-1, 3, 2)
    share = 1 / np.where(sums[:, 1] > 0, sums[:, 1], 1.0)  # a point without mass stays
    up = sums[:, 4] * share
    step = sums[:, 2:4] * share[:, None]
    # (z/σ + step)/(1/σ + K up) - z
    step = (step - K * up[:, None] * z) / (1 / np.sqrt(s) + K * up)[:, None]
    return energy, sums[:, 0], x + step @ metric.inverse_factor.T


def _values(density: Density, nodes: Floats) -> Floats:
    points = nodes.reshape(-1, 2)
    values = checks.as_finite_array(density(points), "density(points)")
    if values.shape != (len(points),) or (values < 0).any():
        raise InvalidInputError(
            f"density must return one number ≥ 0 for each of the {len(points)} points it is "
            f"given; got shape {values.shape}, smallest value {values.min(initial=math.inf):g}."
        )
    return values.reshape(nodes.shape[:-1])


def _cells(x: Floats, region: Region) -> tuple[Ints, Floats]:
    """Cut a region along the cells; return the point of each piece, and the pieces (q, 3, 2)."""
    shapely = checks.require("shapely", "mesh")
    # bisectors go on beyond a hyperbolic domain, and so a box around the region serves there too
    planes = domains.local_planes(x, region.metric)
    box = domains.box_around(region.corners)
    chart, power = domains.cut_out(*planes, box)
    corners = chart.to_points(power.corners)
    cells = power.cells
    real = np.flatnonzero(cells.sizes > 2)
    cells = cells.take(real)
    shapes = shapely.polygons(shapely.linearrings(corners[cells.members], indices=cells.keys))
    shapely.prepare(region.shape)
    inner = shapely.contains_properly(region.shape, shapes)
    whole, cell = cells.take(inner).fans()
    # rounding may exchange close corners
    parts = shapely.intersection(shapely.convex_hull(shapes[~inner]), region.shape)
    parts = shapely.constrained_delaunay_triangles(parts)
    triangles, part = shapely.get_parts(parts, return_index=True)
    at_edge = shapely.get_coordinates(triangles).reshape(-1, 4, 2)[:, :3]
    own = np.append(real[inner][cell], real[~inner][part])
    return own, np.concatenate([corners[whole], at_edge])


@cache
def _gauss_rule(count: int) -> tuple[Floats, Floats]:
    """Return barycentric nodes (q, 3) of Gauss quadrature over a triangle, and weights (q,)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    u, v = (grid.ravel() for grid in np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2))
    # a square collapsed onto the triangle: u from the first corner, v along the opposite side
    return np.stack([1 - u, u * (1 - v), u * v], axis=1), u * np.outer(weights, weights).ravel() / 4
