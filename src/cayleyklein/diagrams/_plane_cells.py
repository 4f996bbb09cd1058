"""The cells of a plane diagram within the domain or the window: exact boundaries and polygons."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.diagrams._meshes import CutOut
from cayleyklein.diagrams._power import Groups
from cayleyklein.metrics import CurvedMetric

NO_ARC = 1e-12  # an arc this close to a whole circle has length 0: rounding exchanged its ends


class Pieces(NamedTuple):
    """Boundary pieces of convex cells, cell after cell and each cell counter-clockwise."""

    cell: Ints
    starts: Floats
    ends: Floats
    angles: Floats  # where an arc starts and ends, (m, 2) and increasing; NaN for a segment

    @property
    def sweeps(self) -> Floats:
        return np.nan_to_num(self.angles[:, 1] - self.angles[:, 0])


def cut_to_disc(corners: Floats, cells: Groups, around_center: int) -> Pieces:
    """Intersect polygons, counter-clockwise, with the unit disc; `around_center` has its centre."""
    tail, head = cells.members, _next(cells)
    # both cells at an edge cut it from the same end, so that they agree to the last bit
    back = (tail > head)[:, None]
    low, high, meets = cut_edges(corners[np.minimum(tail, head)], corners[np.maximum(tail, head)])
    cell = cells.keys[meets]
    start, end = np.where(back, high, low)[meets], np.where(back, low, high)[meets]
    if not (cell == around_center).any():
        east = np.array([[1.0, 0.0]])  # the cell is the whole disc
        return Pieces(np.array([around_center]), east, east, np.array([[0.0, 2 * math.pi]]))
    follower = _next(Groups.of(cell, np.arange(len(cell)), len(cells.sizes)))
    leaving = np.flatnonzero(~_in_disc(corners)[head[meets]])
    arc_start, arc_end = end[leaving], start[follower[leaving]]
    first, last = (np.arctan2(p[:, 1], p[:, 0]) for p in (arc_start, arc_end))
    sweep = np.mod(last - first, 2 * math.pi)
    sweep[sweep > 2 * math.pi - NO_ARC] = 0.0
    segments = Pieces(cell, start, end, np.full((len(cell), 2), np.nan))
    arcs = Pieces(cell[leaving], arc_start, arc_end, np.stack([first, first + sweep], axis=1))
    order = np.argsort(np.append(np.arange(len(cell)), leaving), kind="stable")
    return Pieces(*(np.concatenate(both)[order] for both in zip(segments, arcs, strict=True)))


def cut_edges(tail: Floats, head: Floats) -> tuple[Floats, Floats, Bools]:
    """Return the ends of segments within the unit disc, and which segments meet it."""
    e = head - tail
    along, sqlength = np.einsum("ij,ij->i", tail, e), np.einsum("ij,ij->i", e, e)
    cross = tail[:, 0] * e[:, 1] - tail[:, 1] * e[:, 0]
    # ‖tail + t e‖² = 1, whose discriminant is |e|² - (tail × e)²
    room = sqlength - cross * cross
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(room, 0.0))
        enter, leave = (-along - root) / sqlength, (-along + root) / sqlength
    tail_in, head_in = _in_disc(tail), _in_disc(head)
    enter, leave = np.where(tail_in, 0.0, enter), np.where(head_in, 1.0, leave)
    meets = (sqlength > 0) & (tail_in | head_in | ((room > 0) & (enter > 0) & (leave < 1)))
    start = np.where(tail_in[:, None], tail, tail + enter[:, None] * e)
    end = np.where(head_in[:, None], head, tail + leave[:, None] * e)
    return start, end, meets


def _in_disc(y: Floats) -> Bools:
    return np.asarray(np.einsum("ij,ij->i", y, y) < 1)


def _next(groups: Groups) -> Ints:
    """Return for each member the one after it in its group, cyclically."""
    following = np.roll(groups.members, -1)
    filled = groups.sizes > 0
    following[groups.starts[1:][filled] - 1] = groups.members[groups.starts[:-1][filled]]
    return following


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
        return np.asarray(y @ self.matrix.T + self.origin)

    def areas(self) -> Floats:
        """Return the areas of the cells in the plane of x, by ½∮(x dy - y dx)."""
        (x, y), (u, v) = self.pieces.starts.T, self.pieces.ends.T
        is_arc = ~np.isnan(self.pieces.angles[:, 0])
        sectors = np.where(is_arc, self.pieces.sweeps, x * v - y * u) / 2
        areas = np.bincount(self.pieces.cell, sectors, minlength=self.n_cells)
        return np.asarray(areas * abs(np.linalg.det(self.matrix)), dtype=np.float64)

    def boundaries(self) -> list[Boundary]:
        pieces = self.pieces
        ends = np.searchsorted(pieces.cell, np.arange(self.n_cells + 1)).tolist()
        starts, stops = self.to_points(pieces.starts), self.to_points(pieces.ends)
        return [Boundary(starts[a:b], stops[a:b], pieces.angles[a:b]) for a, b in pairwise(ends)]

    def outlines(self, tolerance: float) -> list[Floats]:
        """Return the corners of each cell, arcs in chords at most `tolerance` of the radius off."""
        # a chord of the unit circle over the angle φ has the sagitta 1 - cos(φ/2)
        pieces, step = self.pieces, 2 * math.acos(1 - tolerance)
        count = np.maximum(1, np.ceil(pieces.sweeps / step)).astype(np.intp)
        piece = np.repeat(np.arange(len(count)), count)
        part = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
        angle = pieces.angles[piece, 0] + pieces.sweeps[piece] * part / count[piece]
        on_circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        corners = np.where((part == 0)[:, None], pieces.starts[piece], on_circle)
        ends = np.searchsorted(pieces.cell[piece], np.arange(1, self.n_cells))
        return np.split(self.to_points(corners), ends)


def cells_in_disc(
    metric: CurvedMetric, corners: Floats, cells: Groups, center: int, ridges: tuple[Ints, Groups]
) -> PlaneCells:
    """Return the cells in a hyperbolic domain, from corners where it is the unit disc.

    `center` is the cell with the disc's centre; `ridges` are pairs of cells, and their corners.
    """
    pairs, ends = ridges
    start, end, _ = cut_edges(*corners[ends.members.reshape(-1, 2).T])
    pieces, segments = cut_to_disc(corners, cells, center), np.stack([start, end], axis=1)
    matrix = metric.inverse_factor / math.sqrt(-metric.curvature)
    return PlaneCells(pieces, pairs, segments, matrix, metric.center, len(cells.sizes))


def cells_in_window(cut: CutOut) -> PlaneCells:
    """Return the cells in the window, in the coordinates of the cut."""
    power, corners, cells = cut.power, cut.power.corners, cut.power.cells
    pairs, ends = power.ridges
    between = (pairs < power.n).all(axis=1)
    no_arcs = np.full((len(cells.members), 2), np.nan)
    pieces = Pieces(cells.keys, corners[cells.members], corners[_next(cells)], no_arcs)
    segments = corners[ends.members.reshape(-1, 2)[between]]
    origin = cut.to_points(np.zeros(2))
    return PlaneCells(pieces, pairs[between], segments, cut.chart.matrix, origin, power.n)
