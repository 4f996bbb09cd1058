"""What the pointer is told: its place, and the distances to the nearest generators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein.app._paths import trace_segments
from cayleyklein.app._state import PlaneState
from cayleyklein.app._views import View

__all__ = ["Readout", "read_out", "read_out_point"]

Array = NDArray[np.float64]

NEAREST = 3
NOTHING = np.empty((0, 2))


class Readout(NamedTuple):
    """A sentence, and the geodesics to the nearest generators on the screen."""

    text: str
    lines: Array


def read_out(state: PlaneState, view: View, seen: ArrayLike) -> Readout:
    """Say where a place on the screen is, and how far from it the nearest generators are.

    Examples
    --------
    >>> from cayleyklein.app._state import Generator
    >>> state = PlaneState(points=(Generator(0.5, 0.0),), curvature=0.0, major=1.0, angle=0.0)
    >>> read_out(state, View(state.metric, "klein"), [0.0, 0.0]).text
    'x = (0.000, 0.000); d = 0.500 to point 1'
    """
    if not view.holds(seen):
        return Readout("Outside the geometry: no real distances here.", NOTHING)
    return _distances_from(state, view, view.from_screen(seen), "x")


def read_out_point(state: PlaneState, view: View, index: int) -> Readout:
    """Say the same of one of the generators, and of the others.

    Examples
    --------
    >>> from cayleyklein.app._state import Generator
    >>> points = (Generator(0.5, 0.0), Generator(0.0, 0.0))
    >>> state = PlaneState(points=points, curvature=0.0, major=1.0, angle=0.0)
    >>> read_out_point(state, View(state.metric, "klein"), 1).text
    'point 2 = (0.000, 0.000); d = 0.500 to point 1'
    """
    if index >= len(state.points):
        return Readout("There are no points yet.", NOTHING)
    x = state.coordinates[index]
    if not state.metric.contains(x):
        return Readout(f"Point {index + 1} is outside the geometry: no real distances.", NOTHING)
    return _distances_from(state, view, x, f"point {index + 1}", but=index)


def _distances_from(
    state: PlaneState, view: View, x: Array, name: str, but: int | None = None
) -> Readout:
    where = f"{name} = ({x[0]:.3f}, {x[1]:.3f})"
    if not state.points:
        return Readout(where, NOTHING)
    distances = np.asarray(state.metric.distance(state.coordinates, x, outside="inf"))
    if but is not None:
        distances[but] = np.inf
    rows = np.argsort(distances, kind="stable")[: max(NEAREST, state.order)]
    rows = rows[np.isfinite(distances[rows])]
    if not len(rows):
        return Readout(where, NOTHING)
    far = ", ".join(f"{distances[row]:.3f} to point {row + 1}" for row in rows)
    start = np.broadcast_to(x, (len(rows), 2))
    return Readout(f"{where}; d = {far}", trace_segments(view, start, state.coordinates[rows]))
