"""Centroidal Voronoi diagrams by Lloyd's method, with the centroids of the geometry.

The energy of points p is the sum of ∫ ρ c² dA over their cells, with the squared chord
c²(x, p) = 4 sin_K²(d(x, p)/2), d² at K = 0. With lifted points X of length 1, c² = 2(1 - ⟨X, P⟩)/K,
so the minimising P of a cell is the mean of X over it, scaled back to length 1: the centre of mass
of the geometry (Galperin 1993). The chord grows with the distance, so that the cells, too, are
those of least energy: neither half of a step raises it.

The parts of the polygon in the cells are cut into triangles, and integrals taken by Gauss
quadrature in the Klein chart z, where cells are straight and dA = dz/σ³, σ² = 1 + K‖z‖².
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats, Ints
from cayleyklein.diagrams import CayleyKleinVoronoi, domains
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import lifts
from cayleyklein.meshes._polygon import read_region
from cayleyklein.metrics import CurvedMetric

GAUSS_NODES = 5  # along each side of a triangle: exact for polynomials of degree 8
LARGEST_PIECE = 0.25  # longest edge of a triangle, times √|K|: areas are exact to 1e-10

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

    points: Floats
    """The points, shape (n, 2)."""
    energies: Floats
    """Energy before each step, and after the last one; it never rises."""
    masses: Floats
    """Mass of each cell, ∫ ρ dA in the metric: its area when there is no density."""
    converged: bool
    """Whether the last step changed the energy by less than `tol`."""
    polygon: Floats
    """Corners of the polygon, shape (m, 2)."""
    metric: CurvedMetric

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
    points: ArrayLike, metric: CurvedMetric, polygon: ArrayLike, *,
    holes: list[Any] | None = None, density: Density | None = None, max_iter: int = 200,
    tol: float = 1e-4,
) -> CentroidalVoronoi:  # fmt: skip
    """Move points repeatedly to the centroids of their Voronoi cells (Lloyd 1982).

    The centroid of a cell, at K = 0 the ordinary one, is its centre of mass in the geometry, which
    moves along with isometries: the point of least ∫ ρ c² dA, with the chord c = 2 sin_K(d/2) of
    the distance d. The energy, the sum of these integrals, falls with every step. In a polygon that
    is not convex, a centroid may lie outside of it, as in flat geometry.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Where to start, inside the polygon.
    metric : CurvedMetric
        A metric of the plane, of any curvature.
    polygon : array-like of shape (m, 2)
        Corners in either direction, inside the domain of the metric.
    holes : list of array-like of shape (m, 2), optional
        Polygons inside that do not count.
    density : callable, optional
        Takes points (q, 2) and returns ρ ≥ 0 of shape (q,), mass per area of the metric; 1 by
        default. It should vary little within a cell, since it is integrated by quadrature.
    max_iter : int, default=200
        Largest number of steps.
    tol : float, default=1e-4
        Stop when a step lowers the energy by less than this share of it.

    Returns
    -------
    CentroidalVoronoi

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> rng = np.random.default_rng(0)
    >>> square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    >>> start = rng.uniform(-1, 1, size=(4, 2))
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
    max_iter, tol = checks.as_count(max_iter, "max_iter"), checks.as_real(tol, "tol", "[0, 1)")
    energy, masses, centroids = _integrate(x, metric, region.shape, density)
    energies, converged = [energy], False
    while not converged and len(energies) <= max_iter:
        energy, *after = _integrate(centroids, metric, region.shape, density)
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


def _integrate(
    x: Floats, metric: CurvedMetric, region: Any, density: Density | None
) -> tuple[float, Floats, Floats]:
    """Return the energy of points in a shapely shape, and masses and centroids of their cells."""
    K, n = metric.curvature, len(x)
    z, s = metric._inside(x, "points")
    cell, pieces = _divide(*_cells(x, metric, region), K)
    nodes, weights, own = _quadrature(cell, pieces)
    sigma = np.sqrt(1 + K * np.einsum("ij,ij->i", nodes, nodes))
    weights = weights / sigma**3
    if density is not None:
        values = checks.as_finite_array(density(metric.points(nodes)), "density(points)")
        if values.shape != weights.shape or (values < 0).any():
            raise InvalidInputError(
                f"density must return one number ≥ 0 for each of the {len(nodes)} points it is "
                f"given; got shape {values.shape}, smallest value {values.min(initial=math.inf):g}."
            )
        weights = weights * values
    at, s_at = z[own], s[own]
    spatial, rise = lifts.lift_difference(nodes - at, nodes, sigma * sigma, at, s_at, K)
    sqchord = np.einsum("ij,ij->i", spatial, spatial) + K * rise * rise
    sums = [np.bincount(own, weights * values, n) for values in (1.0, rise, *spatial.T)]
    masses = sums[0].astype(np.float64)
    share = 1 / np.where(masses > 0, masses, 1.0)  # a point without mass stays
    up, step = sums[1] * share, np.stack(sums[2:], axis=1) * share[:, None]
    # (z/σ + step)/(1/σ + K up) - z
    step = (step - K * up[:, None] * z) / (1 / np.sqrt(s) + K * up)[:, None]
    centroids = x + step @ metric.inverse_factor.T
    return float(weights @ sqchord), masses, centroids


def _cells(x: Floats, metric: CurvedMetric, region: Any) -> tuple[Ints, Floats]:
    """Cut a region along the cells; return the point of each piece, and pieces (q, 3, 2) in z."""
    shapely = checks.require("shapely", "mesh")
    diagram = CayleyKleinVoronoi(x, metric)
    # bisectors go on beyond a hyperbolic domain, and so a box around the region serves there too
    diagram.window = domains.box_around(shapely.get_coordinates(region))
    parts = shapely.constrained_delaunay_triangles(shapely.intersection(diagram.cells(), region))
    triangles, cell = shapely.get_parts(parts, return_index=True)
    corners = shapely.get_coordinates(triangles).reshape(-1, 4, 2)[:, :3]
    return diagram.cell_generators[cell, 0], metric._coordinates(corners)


def _divide(cell: Ints, pieces: Floats, K: float) -> tuple[Ints, Floats]:
    """Cut triangles in z into four until they are small in the metric."""
    if K == 0 or not len(cell):
        return cell, pieces
    after = np.roll(pieces, -1, axis=1)
    s, s_after = (1 + K * np.einsum("tki,tki->tk", z, z) for z in (pieces, after))
    D, rise = lifts.lift_difference(pieces - after, pieces, s, after, s_after, K)
    sqchords = np.einsum("tki,tki->tk", D, D) + K * rise * rise
    large = sqchords.max(axis=1) > LARGEST_PIECE**2 / abs(K)
    a, b, c = np.moveaxis(pieces[large], 1, 0)
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    four = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    quarters = np.concatenate([np.stack(three, axis=1) for three in four])
    cells, small = _divide(np.tile(cell[large], 4), quarters, K)
    return np.append(cell[~large], cells), np.concatenate([pieces[~large], small])


def _quadrature(cell: Ints, pieces: Floats) -> tuple[Floats, Floats, Ints]:
    """Return nodes (q, 2), weights (q,) and cells (q,) of Gauss quadrature over triangles."""
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS_NODES)
    u, v = (grid.ravel() for grid in np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2))
    # a square collapsed onto the triangle: u from the first corner, v along the opposite side
    barycentric = np.stack([1 - u, u * (1 - v), u * v], axis=1)
    weight = u * np.outer(weights, weights).ravel() / 4
    double = np.abs(np.linalg.det(pieces[:, 1:] - pieces[:, :1]))
    found = np.einsum("kc,tci->tki", barycentric, pieces).reshape(-1, 2)
    return found, np.outer(double, weight).ravel(), np.repeat(cell, len(weight))
