"""The cells of a plane diagram within the domain or the window: boundaries and polygons."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import require
from cayleyklein.diagrams._discs import Pieces, cut_edges, cut_to_disc, whole_polygons
from cayleyklein.diagrams._domains import CutOut
from cayleyklein.diagrams._power import Groups
from cayleyklein.metrics import CurvedMetric

__all__ = ["Boundary", "PlaneCells", "cells_in_disc", "cells_in_window"]


class Boundary(NamedTuple):
    """The boundary of a plane cell, pieces one after the other: segments and arcs.

    An arc follows x(θ) = μ + L⁻¹(cos θ, sin θ)/√-K from angles[i, 0] to angles[i, 1]; the angles
    of a segment are NaN.

    Examples
    --------
    >>> from cayleyklein import CayleyKleinVoronoi, CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> left, right = CayleyKleinVoronoi([[-0.5, 0.0], [0.5, 0.0]], disc).boundaries()
    >>> np.isnan(left.angles).any(axis=1)  # a segment, and an arc of the absolute
    array([ True, False])
    """

    starts: Floats
    ends: Floats
    angles: Floats


class PlaneCells(NamedTuple):
    """Cells and ridges in coordinates y, with x = origin + matrix y."""

    pieces: Pieces
    pairs: Ints
    segments: Floats
    matrix: Floats
    origin: Floats
    n_cells: int

    def to_points(self, y: Floats) -> Floats:
        """Return x of coordinates y."""
        return np.asarray(y @ self.matrix.T + self.origin)

    def areas(self) -> Floats:
        """Return the areas of the cells in the plane of x."""
        return self.pieces.areas(self.n_cells) * abs(float(np.linalg.det(self.matrix)))

    def boundaries(self) -> list[Boundary]:
        """Return the exact boundary of each cell."""
        pieces = self.pieces
        ends = np.searchsorted(pieces.cell, np.arange(self.n_cells + 1)).tolist()
        starts, stops = self.to_points(pieces.starts), self.to_points(pieces.ends)
        return [Boundary(starts[a:b], stops[a:b], pieces.angles[a:b]) for a, b in pairwise(ends)]

    def polygons(self, tolerance: float) -> list[Any]:
        """Return the cells as shapely polygons, arcs in chords at most `tolerance` off."""
        shapely = require("shapely", "plot")
        # a chord of the unit circle over the angle φ has the sagitta 1 - cos(φ/2)
        cell, corners = self.pieces.subdivide(2 * math.acos(1 - min(tolerance, 1.0)))
        shown, ring = np.unique(cell, return_inverse=True)
        polygons = np.full(self.n_cells, shapely.Polygon(), dtype=object)
        # a cell of fewer than three corners is flat to rounding
        solid = np.bincount(ring) > 2
        keep = solid[ring]
        rings = shapely.linearrings(
            self.to_points(corners[keep]), indices=(np.cumsum(solid) - 1)[ring[keep]]
        )
        polygons[shown[solid]] = shapely.polygons(rings)
        # where corners are so close that rounding exchanged them: cells are convex
        folded = ~shapely.is_valid(polygons)
        polygons[folded] = shapely.convex_hull(polygons[folded])
        return polygons.tolist()


def cells_in_disc(
    metric: CurvedMetric, corners: Floats, cells: Groups, center: int, ridges: tuple[Ints, Groups]
) -> PlaneCells:
    """Return the cells in a hyperbolic domain, in coordinates where it is the unit disc.

    Parameters
    ----------
    metric : CurvedMetric
    corners : ndarray of shape (c, 2)
        In the coordinates of the unit disc.
    cells : Groups
        The corners of each cell.
    center : int
        The cell with the disc's centre.
    ridges : tuple
        Pairs of cells, and the corners of the ridge between them.
    """
    pairs, ends = ridges
    ends_at = corners[ends.members.reshape(-1, 2)]
    start, end, _ = cut_edges(ends_at[:, 0], ends_at[:, 1])
    return PlaneCells(
        cut_to_disc(corners, cells, center),
        pairs,
        np.stack([start, end], axis=1),
        metric.inverse_factor / math.sqrt(-metric.curvature),
        metric.center,
        len(cells.sizes),
    )


def cells_in_window(cut: CutOut) -> PlaneCells:
    """Return the cells in the window, in the coordinates of the cut."""
    power = cut.power
    pairs, ends = power.ridges
    between = (pairs < power.n).all(axis=1)
    return PlaneCells(
        whole_polygons(power.corners, power.cells),
        pairs[between],
        power.corners[ends.members.reshape(-1, 2)][between],
        cut.chart.matrix,
        cut.to_points(np.zeros(2)),
        power.n,
    )
