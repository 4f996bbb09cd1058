"""Straight pieces and arcs of the absolute as polylines on the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein.app._views import View
from cayleyklein.diagrams import Boundary
from cayleyklein.metrics import CurvedMetric

__all__ = ["Outlines", "chain", "trace_boundaries", "trace_segments"]

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

SAG = 0.0002
"""How far a polyline may be from its curve, in half widths of the view: a part of a pixel."""

MOST = 64
"""Most pieces of a segment."""

ARC_STEP = 2 * math.pi / 256
"""Arcs are sampled at whole multiples of this: one is the direction of the half-plane's ∞."""

GAP = np.full((1, 2), np.nan)


class Outlines(NamedTuple):
    """Closed polygons one after the other: corners on the screen, and the cell of each."""

    corners: Array
    cell: Ints

    def of(self, cells: NDArray[np.bool_]) -> Array:
        """Return the outlines of some cells, with a row of NaN between two."""
        mine = cells[self.cell]
        corners, cell = self.corners[mine], self.cell[mine]
        return np.insert(corners, np.flatnonzero(np.diff(cell)) + 1, np.nan, axis=0)


def chain(paths: Iterable[Array]) -> Array:
    """Join polylines, with a row of NaN between two.

    >>> chain([np.zeros((1, 2)), np.ones((1, 2))]).shape
    (3, 2)
    """
    pieces = [part for path in paths if len(path) for part in (GAP, path)]
    return np.concatenate(pieces[1:]) if pieces else np.empty((0, 2))


def trace_segments(view: View, starts: Array, ends: Array) -> Array:
    """Return segments of the plane as polylines on the screen, with NaN between two."""
    if not len(starts):
        return np.empty((0, 2))
    count = _pieces_needed(view, starts, ends)
    # one more row for the end of each, and one for the gap
    row, part = _spread(count + 2)
    t = np.minimum(part / count[row], 1.0)
    path = view.to_screen(_along(view.metric, starts[row], ends[row], t))
    return np.where((part > count[row])[:, None], np.nan, path)[:-1]


def trace_boundaries(view: View, boundaries: list[Boundary]) -> Outlines:
    """Return the cells of a diagram as polygons on the screen."""
    sizes = [len(boundary.starts) for boundary in boundaries]
    starts, ends, angles = (np.concatenate(parts) for parts in zip(*boundaries, strict=True))
    cell = np.repeat(np.arange(len(boundaries)), sizes)
    arc = ~np.isnan(angles[:, 0])
    first = np.where(arc, np.floor(angles[:, 0] / ARC_STEP) + 1, 0)
    inner = np.where(arc, np.ceil(angles[:, 1] / ARC_STEP) - first, 0)
    count = np.ones(len(starts), dtype=np.intp)
    count[~arc] = _pieces_needed(view, starts[~arc], ends[~arc])
    count[arc] += np.maximum(inner[arc], 0).astype(np.intp)
    row, part = _spread(count)
    x = starts[row]
    between = part > 0
    bent, flat = between & arc[row], between & ~arc[row]
    if bent.any():
        theta = (first[row] + part - 1)[bent] * ARC_STEP
        on_circle = np.stack([np.cos(theta), np.sin(theta)], axis=1)
        x[bent] = view.metric.points(on_circle / math.sqrt(-view.metric.curvature))
    t = part[flat] / count[row[flat]]
    x[flat] = _along(view.metric, starts[row[flat]], ends[row[flat]], t)
    return Outlines(view.to_screen(x), cell[row])


def _spread(count: Ints) -> tuple[Ints, Ints]:
    """Return i, count[i] times for each i, and the number of each among its like."""
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)


def _along(metric: CurvedMetric, starts: Array, ends: Array, t: Array) -> Array:
    """Return points of segments; t goes from 0 to 1, slowly where charts stretch: far out."""
    if metric.curvature > 0 and len(t):
        sigma = [np.sqrt(metric.form_values(x)) for x in (starts, ends)]
        t = t * sigma[0] / ((1 - t) * sigma[1] + t * sigma[0])
    elif metric.curvature < 0:
        t = (1 - np.cos(math.pi * t)) / 2
    return np.asarray(starts + t[:, None] * (ends - starts))


def _pieces_needed(view: View, starts: Array, ends: Array) -> Ints:
    """Return in how many pieces segments look smooth: a curve's sagitta falls with their square."""
    if view.straight or not len(starts):
        return np.ones(len(starts), dtype=np.intp)
    middle = _along(view.metric, starts, ends, np.full(len(starts), 0.5))
    p, m, q = view.to_screen(np.stack([starts, middle, ends]))
    chord = q - p
    length = np.linalg.norm(chord, axis=1)
    cross = np.abs(chord[:, 0] * (m - p)[:, 1] - chord[:, 1] * (m - p)[:, 0])
    sagitta = cross / np.where(length > 0, length, 1.0)
    needed = np.ceil(np.sqrt(sagitta / (SAG * view.half_width)))
    return np.asarray(np.clip(needed, 1, MOST), dtype=np.intp)
