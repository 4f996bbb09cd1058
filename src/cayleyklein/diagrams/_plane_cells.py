"""The cells of a plane diagram within the domain or the window: exact boundaries and polygons."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.diagrams._power import Groups
from cayleyklein.diagrams.domains import LocalChart, in_ball

NO_ARC = 1e-12  # an arc this close to a whole circle has length 0: rounding exchanged its ends


Pieces = tuple[Ints, Floats, Floats, Floats]  # the last fields of `PlaneCells`


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
        return np.array([around_center]), east, east, np.array([[0.0, 2 * math.pi]])
    follower = _next(Groups.of(cell, np.arange(len(cell)), len(cells.sizes)))
    leaving = np.flatnonzero(~in_ball(corners)[head[meets]])
    arc_start, arc_end = end[leaving], start[follower[leaving]]
    first, last = (np.arctan2(p[:, 1], p[:, 0]) for p in (arc_start, arc_end))
    sweep = np.mod(last - first, 2 * math.pi)
    sweep[sweep > 2 * math.pi - NO_ARC] = 0.0
    angles = np.stack([first, first + sweep], axis=1)
    order = np.argsort(np.append(np.arange(len(cell)), leaving), kind="stable")
    return (
        np.append(cell, cell[leaving])[order],
        np.vstack([start, arc_start])[order],
        np.vstack([end, arc_end])[order],
        np.vstack([np.full((len(cell), 2), np.nan), angles])[order],
    )


def polygon_pieces(corners: Floats, cells: Groups) -> Pieces:
    no_arcs = np.full((len(cells.members), 2), np.nan)
    return cells.keys, corners[cells.members], corners[_next(cells)], no_arcs


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
    tail_in, head_in = in_ball(tail), in_ball(head)
    enter, leave = np.where(tail_in, 0.0, enter), np.where(head_in, 1.0, leave)
    meets = (sqlength > 0) & (tail_in | head_in | ((room > 0) & (enter > 0) & (leave < 1)))
    start = np.where(tail_in[:, None], tail, tail + enter[:, None] * e)
    end = np.where(head_in[:, None], head, tail + leave[:, None] * e)
    return start, end, meets


def _next(groups: Groups) -> Ints:
    """Return for each member the one after it in its group, cyclically."""
    following = np.roll(groups.members, -1)
    filled = groups.sizes > 0
    following[groups.starts[1:][filled] - 1] = groups.members[groups.starts[:-1][filled]]
    return following


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

    starts: Floats
    ends: Floats
    angles: Floats


class PlaneCells(NamedTuple):
    chart: LocalChart  # of starts, ends and segments
    n_cells: int
    pairs: Ints  # of cells, with a common segment
    segments: Floats
    cell: Ints  # of each piece; cells are convex, one after the other, each counter-clockwise
    starts: Floats
    ends: Floats
    angles: Floats  # where an arc starts and ends, (m, 2) and increasing; NaN for a segment

    @property
    def sweeps(self) -> Floats:
        return np.nan_to_num(self.angles[:, 1] - self.angles[:, 0])

    def areas(self) -> Floats:
        (x, y), (u, v) = self.starts.T, self.ends.T  # area is ½∮(x dy - y dx)
        is_arc = ~np.isnan(self.angles[:, 0])
        sectors = np.where(is_arc, self.sweeps, x * v - y * u) / 2
        areas = np.bincount(self.cell, sectors, minlength=self.n_cells)
        return np.asarray(areas * abs(np.linalg.det(self.chart.matrix)), dtype=np.float64)

    def boundaries(self) -> list[Boundary]:
        places = np.searchsorted(self.cell, np.arange(self.n_cells + 1)).tolist()
        starts, ends = self.chart.to_points(self.starts), self.chart.to_points(self.ends)
        return [Boundary(starts[a:b], ends[a:b], self.angles[a:b]) for a, b in pairwise(places)]

    def outlines(self, tolerance: float) -> list[Floats]:
        """Return the corners of each cell, arcs in chords at most `tolerance` of the radius off."""
        # a chord of the unit circle over the angle φ has the sagitta 1 - cos(φ/2)
        step = 2 * math.acos(1 - tolerance)
        count = np.maximum(1, np.ceil(self.sweeps / step)).astype(np.intp)
        piece = np.repeat(np.arange(len(count)), count)
        part = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
        angle = self.angles[piece, 0] + self.sweeps[piece] * part / count[piece]
        on_circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        corners = np.where((part == 0)[:, None], self.starts[piece], on_circle)
        ends = np.searchsorted(self.cell[piece], np.arange(1, self.n_cells))
        return np.split(self.chart.to_points(corners), ends)
