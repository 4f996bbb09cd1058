"""What a visitor can do to the plane: commands, as data, that turn one state into the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import as_choice, as_real
from cayleyklein.app._scene import HANDLES, Scene, handle_places, make_scene
from cayleyklein.app._state import (
    CHARTS,
    DEFAULT_POINTS,
    LAYERS,
    RANGES,
    REACH,
    Generator,
    PlaneState,
    as_generator,
    scatter,
)
from cayleyklein.app._views import View
from cayleyklein.exceptions import InvalidInputError

__all__ = ["PlaneSession", "as_spot"]

Array = NDArray[np.float64]
Command = Mapping[str, Any]
Held = int | Literal["center", "major", "minor"] | None

MOST_SCATTERED = 200


class PlaneSession:
    """One visitor's plane: a state, what is being dragged, and the scene of the state.

    Examples
    --------
    >>> session = PlaneSession(PlaneState())
    >>> session.apply({"do": "add", "x": 0.25, "y": 0.5})
    >>> session.apply({"do": "set", "name": "curvature", "value": 0.5})
    >>> session.state.points, session.state.metric
    ((Generator(x=0.25, y=0.5, label=0),), CurvedMetric(elliptic, d=2, K=0.5))
    """

    def __init__(self, state: PlaneState) -> None:
        self.state = state
        self.held: Held = None
        self._scene: tuple[PlaneState, Scene] | None = None

    @property
    def view(self) -> View:
        """Where points are seen, without the cost of the scene."""
        return View(self.state.metric, self.state.chart)

    @property
    def scene(self) -> Scene:
        """What the present state shows."""
        if self._scene is None or self._scene[0] != self.state:
            self._scene = self.state, make_scene(self.state)
        return self._scene[1]

    def apply(self, command: Command) -> None:
        """Do what a command says.

        Raises
        ------
        InvalidInputError
            When it is not understood; nothing has changed then.
        """
        name = command.get("do")
        action = ACTIONS.get(name) if isinstance(name, str) else None
        if action is None:
            raise InvalidInputError(f"There is no command {str(name)[:20]!r}.")
        self.state = action(self, command)

    # -- single values --------------------------------------------------------------

    def _set(self, command: Command) -> PlaneState:
        name, value = command.get("name"), command.get("value")
        if name == "chart":
            return replace(self.state, chart=as_choice(value, "chart", CHARTS))
        return self.state.with_number(str(name), value)

    def _step(self, command: Command) -> PlaneState:
        """Move a number by a step, as far as its range goes."""
        name = str(command.get("name"))
        if name not in RANGES:
            raise InvalidInputError(f"There is no number {name[:20]!r} to step.")
        low, high = RANGES[name]
        value = getattr(self.state, name) + _number(command, "by")
        return self.state.with_number(name, min(max(value, low), high))

    def _toggle(self, command: Command) -> PlaneState:
        layer = as_choice(command.get("name"), "name", LAYERS)
        on = {layer} if command.get("value") is True else set()
        return replace(self.state, shown=(self.state.shown - {layer}) | on)

    def _label(self, command: Command) -> PlaneState:
        """Give the first chosen point a class, and so the points to come."""
        state, first = self.state.with_number("pen", command.get("value")), self.state.chosen[0]
        if not state.points:
            return state
        return _with_point(state, first, state.points[first]._replace(label=state.pen))

    # -- points ---------------------------------------------------------------------

    def _add(self, command: Command) -> PlaneState:
        """Add a point where the pointer is; without a place, at one that is not taken."""
        state = self.state
        if "x" in command:
            x, y = self._place(command)
        else:
            x, y = self._free_place()
        n = len(state.points)
        grown = state.with_points((*state.points, as_generator(x, y, state.pen)))
        return replace(grown, chosen=(n, state.chosen[0] if n else 0))

    def _free_place(self) -> Array:
        view, n = self.view, len(self.state.points)
        spots = np.random.default_rng(n).uniform(-0.6, 0.6, size=(32, 2)) * view.half_width
        free = [view.from_screen(spot + view.middle) for spot in spots]
        taken = self.state.coordinates
        if not n:
            return free[0]
        gaps = [float(np.linalg.norm(taken - spot, axis=1).min()) for spot in free]
        return free[int(np.argmax(gaps))]

    def _delete(self, command: Command) -> PlaneState:
        points, first = self.state.points, self.state.chosen[0]
        self.held = None
        return self.state.with_points(points[:first] + points[first + 1 :])

    def _scatter(self, command: Command) -> PlaneState:
        n, seed = _number(command, "n"), _number(command, "seed")
        if n not in range(1, MOST_SCATTERED + 1) or seed not in range(2**31):
            raise InvalidInputError(f"Between 1 and {MOST_SCATTERED} points are scattered.")
        self.held = None
        return replace(self.state.with_points(scatter(int(n), int(seed))), chosen=(0, int(n > 1)))

    def _reset(self, command: Command) -> PlaneState:
        self.held = None
        return PlaneState(points=DEFAULT_POINTS)

    # -- choosing and moving --------------------------------------------------------

    def _next(self, command: Command) -> PlaneState:
        n = len(self.state.points)
        if not n:
            return self.state
        return self._choose((self.state.chosen[0] + (1 if _number(command, "by") > 0 else -1)) % n)

    def _tap(self, command: Command) -> PlaneState:
        found = self._find(command)
        return self._choose(found) if isinstance(found, int) else self.state

    def _grab(self, command: Command) -> PlaneState:
        self.held = self._find(command)
        return self._choose(self.held) if isinstance(self.held, int) else self.state

    def _drop(self, command: Command) -> PlaneState:
        self.held = None
        return self.state

    def _drag(self, command: Command) -> PlaneState:
        if self.held is None:
            return self.state
        if isinstance(self.held, int):
            return self._move_chosen(self._place(command))
        return self._with_handle(self.held, as_spot(command))

    def _nudge(self, command: Command) -> PlaneState:
        """Move the first chosen point by a part of the view's width."""
        if not len(self.state.points):
            return self.state
        by = np.array([_number(command, "dx"), _number(command, "dy")])
        view, x = self.view, self.state.coordinates[self.state.chosen[0]]
        spot = view.to_screen(x) + by * view.half_width
        far_side = bool(view.faces_away(x))
        return self._move_chosen(_bounded(view.from_screen(spot, far_side=far_side)))

    def _choose(self, index: int) -> PlaneState:
        first = self.state.chosen[0]
        return self.state if index == first else replace(self.state, chosen=(index, first))

    def _find(self, command: Command) -> Held:
        """Return the nearest point or handle within reach of the pointer."""
        spot, reach = as_spot(command), _number(command, "reach")
        scene = self.scene
        # an open handle yields to a point on top of it
        for places, names in ((scene.points, range(len(scene.points))), (scene.handles, HANDLES)):
            if len(places):
                gaps = np.linalg.norm(places - spot, axis=1)
                nearest = int(np.argmin(gaps))
                if gaps[nearest] <= reach:
                    return names[nearest]  # type: ignore[return-value]
        return None

    def _place(self, command: Command) -> Array:
        view, held = self.view, self.held
        far_side = isinstance(held, int) and bool(view.faces_away(self.state.coordinates[held]))
        return _bounded(view.from_screen(as_spot(command), far_side=far_side))

    def _move_chosen(self, x: Array) -> PlaneState:
        first = self.state.chosen[0]
        moved = as_generator(x[0], x[1], self.state.points[first].label)
        return _with_point(self.state, first, moved)

    def _with_handle(self, handle: str, spot: Array) -> PlaneState:
        """Move the conic by a handle: its centre, or the end of an axis, which turns it too."""
        state = self.state
        if handle == "center":
            values = {"center_x": spot[0], "center_y": spot[1]}
        else:
            dx, dy = spot - handle_places(state)[0]
            turn = math.degrees(math.atan2(dy, dx)) - (90 if handle == "minor" else 0)
            values = {handle: math.hypot(dx, dy), "angle": (turn + 90) % 180 - 90}
        for name, value in values.items():
            low, high = RANGES[name]
            state = state.with_number(name, min(max(float(value), low), high))
        return state


def _with_point(state: PlaneState, index: int, point: Generator) -> PlaneState:
    return state.with_points((*state.points[:index], point, *state.points[index + 1 :]))


def _bounded(x: Array) -> Array:
    # near the elliptic equator points are far away, and the page ends somewhere
    return x * (REACH / max(float(np.abs(x).max()), REACH))


def _number(command: Command, name: str) -> float:
    value = command.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"The command needs a number {name!r}; got {str(value)[:20]!r}.")
    return as_real(value, name)


def as_spot(command: Command) -> Array:
    """Return the place on the screen that a command is about."""
    return np.array([_number(command, "x"), _number(command, "y")])


ACTIONS: dict[str, Callable[[PlaneSession, Command], PlaneState]] = {
    name: getattr(PlaneSession, f"_{name}")
    for name in (
        "set",
        "step",
        "toggle",
        "label",
        "add",
        "delete",
        "scatter",
        "reset",
        "next",
        "tap",
        "grab",
        "drop",
        "drag",
        "nudge",
    )
}
