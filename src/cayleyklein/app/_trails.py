"""Traces: where figures have been while something moved."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.app._figures import Construction, Figure
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._tools import POINT_KINDS
from cayleyklein.plotting.shapes import chain
from cayleyklein.plotting.views import Canvas


def can_leave(kind: str) -> bool:
    """Say whether figures of a kind can leave a trace."""
    return kind not in ("number", "note", "locus")


class Trails:
    """The places of the figures that leave a trace, from the oldest to the newest."""

    def __init__(self) -> None:
        self.names = set[str]()
        self._been: dict[str, list[Floats]] = {}

    def trace(self, name: str, on: bool) -> None:
        """Let a figure leave a trace from now on, or remove its trace."""
        self._been.pop(name, None)
        (self.names.add if on else self.names.discard)(name)

    def rename(self, name: str, to: str) -> None:
        if name in self.names:
            self.names = self.names - {name} | {to}
            self._been[to] = self._been.pop(name, [])

    def clear(self, known: Iterable[str]) -> None:
        """Forget all places, and the figures that are not there any more."""
        self.names &= set(known)
        self._been = {}

    def follow(self, made: Construction, view: Any) -> None:
        """Add where the figures are now."""
        for figure, place in made.placed(hidden=True).items():
            if figure.name not in self.names:
                continue
            is_point = figure.kind in POINT_KINDS
            now = np.asarray(place)[None] if is_point else made.path(figure, view)
            been = self._been.setdefault(figure.name, [])
            if been and been[-1].shape == now.shape and np.nanmax(abs(been[-1] - now)) < 1e-3:
                continue  # so near, it is the same place
            been.append(now)
            most = LIMITS.trail_spots if is_point else LIMITS.trail_paths
            del been[:-most]  # the oldest are forgotten

    def draw(self, made: Construction, canvas: Canvas) -> None:
        """Draw what is inside the geometry, the places of points as dots and curves faint."""
        for figure in made.figures:
            been = self._been.get(figure.name, [])
            if been:
                self._draw(figure, been, made, canvas)

    def _draw(self, figure: Figure, been: list[Floats], made: Construction, canvas: Canvas) -> None:
        is_point = figure.kind in POINT_KINDS
        x = np.concatenate(been) if is_point else chain(been)
        inside = np.zeros(len(x), dtype=bool)
        known = ~np.isnan(x[:, 0])
        inside[known] = made.metric.contains(x[known])
        if not inside.any():
            return
        if is_point:
            canvas.marks(x[inside], figure.color, 2.0)
        else:
            canvas.line(np.where(inside[:, None], x, np.nan), figure.color, 1.0, alpha=0.4)
