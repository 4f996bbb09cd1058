"""One visitor's plane: commands that change its state, and the answers that the page draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.app._draw import Shape
from cayleyklein.app._paths import sample_segments, see_path
from cayleyklein.app._scene import HANDLES, Drafter, handle_places
from cayleyklein.app._state import (
    CHARTS,
    DEFAULT_POINTS,
    LAYERS,
    MAX_POINTS,
    RANGES,
    REACH,
    PlaneState,
    as_generator,
    scatter,
)
from cayleyklein.app._views import View
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError

NEAREST = 3
"""Number of nearest points that the pointer is told of, or the order where it is larger."""


# -- commands -----------------------------------------------------------------------


class Value(NamedTuple):
    """What a command's value must be: a type, or choices, or a range; None where it may miss."""

    kind: type = float
    choices: Collection[str] = ()
    low: float = -1e6
    high: float = 1e6
    optional: bool = False

    def check(self, value: Any, name: str) -> Any:
        """Return the value; a page may send a whole number as a float."""
        if value is None and self.optional:
            return None
        if self.kind in (int, float):
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            fits = fits and self.low <= value <= self.high
            fits = fits and (self.kind is float or value == math.floor(value))
        else:
            fits = isinstance(value, self.kind) and (not self.choices or value in self.choices)
        if not fits:
            kinds = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
            said = ", ".join(self.choices) or kinds[self.kind]
            raise InvalidInputError(f"{name} must be {said}; got {str(value)[:20]!r}.")
        return self.kind(value)


NUMBER, TEXT, FLAG = Value(), Value(str), Value(bool)


def run(commands: Mapping[str, tuple[Any, Mapping[str, Value]]], owner: Any, given: Any) -> Any:
    """Check one command against a table, and do it."""
    name = given.get("do") if isinstance(given, dict) else None
    if not isinstance(name, str) or name not in commands:
        raise InvalidInputError(f"There is no command {str(name)[:20]!r}.")
    action, values = commands[name]
    return action(owner, **{key: value.check(given.get(key), key) for key, value in values.items()})


class PlaneSession:
    """One visitor's plane."""

    def __init__(self, state: PlaneState) -> None:
        self.state = state
        self.errors: list[str] = []
        self._drafter: Drafter | None = None
        self._drawn: PlaneState | None = None
        self._pointer: tuple[str, list[list[dict[str, Any]]]] | None = None

    @classmethod
    def from_query(cls, parts: Mapping[str, str]) -> PlaneSession:
        """Return the session of an address; one that is not understood is an error to show."""
        try:
            return cls(PlaneState.from_query(parts))
        except CayleyKleinError as error:
            session = cls(PlaneState.from_query({}))
            session.errors.append(f"The address was not understood: {error}")
            return session

    @property
    def charts(self) -> tuple[str, ...]:
        """The charts of the views."""
        return (self.state.chart, *([self.state.second] if self.state.second else []))

    def view(self, index: int | None = None) -> View:
        """Return one of the views, without the cost of its scene."""
        chart = self.charts[min(index or 0, len(self.charts) - 1)]
        return View(self.state.metric, chart, self.state.turn, self.state.tilt)

    @property
    def drafter(self) -> Drafter:
        """The layers of the present state."""
        if self._drafter is None or self._drafter.state is not self.state:
            self._drafter = Drafter(self.state)
        return self._drafter

    def apply(self, command: Any) -> None:
        """Do one command; on an error nothing has changed."""
        changed = run(COMMANDS, self, command)
        if changed is not None:
            self.state = changed

    def hear(self, commands: list[Any]) -> dict[str, Any]:
        """Do a batch of commands, and return the answer to the page."""
        self._pointer = None
        if any(isinstance(c, dict) and c.get("do") not in ("hover", "leave") for c in commands):
            self.errors = []
        try:
            for command in commands:
                self.apply(command)
        except CayleyKleinError as error:
            self.errors.append(str(error))
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Return the state for the controls, and the pictures when they have changed."""
        state, drafter = self.state, self.drafter
        answer: dict[str, Any] = {
            "state": {name: getattr(state, name) for name in (*RANGES, "chart", "second")},
            "shown": sorted(state.shown),
            "query": state.to_query(),
            "count": len(state.points),
            "chosen": list(state.chosen),
            "label": state.points[state.chosen[0]].label if state.points else state.pen,
            "geometry": state.metric.geometry,
            "cross": drafter.cross_ratio() if "cross" in state.shown else "",
            "errors": self.errors,
            "notes": drafter.notes,
        }
        if self._drawn is not state:
            answer["pictures"] = [self._picture(chart) for chart in self.charts]
            self._drawn = state
        if self._pointer is not None:
            answer["readout"], answer["pointer"] = self._pointer
        return answer

    def _picture(self, chart: str) -> dict[str, Any]:
        scene = self.drafter.scene(chart)
        return {
            "chart": chart,
            "title": scene.view.title,
            "description": scene.description,
            "surface": chart in ("hemisphere", "hyperboloid"),
            "window": scene.view.window.ravel().tolist(),
            "shapes": [shape._asdict() for shape in scene.shapes],
            "points": scene.points,
            "away": scene.away.astype(np.int8),
            "handles": scene.handles,
        }

    # -- single values --------------------------------------------------------------

    def _set(self, name: str, value: Any) -> PlaneState:
        return self.state.with_number(name, value)

    def _step(self, name: str, by: float) -> PlaneState:
        """Change a number by a step, as far as its range goes."""
        low, high = RANGES[name]
        value = getattr(self.state, name) + by
        return self.state.with_number(name, min(max(value, low), high))

    def _chart(self, value: str) -> PlaneState:
        return replace(self.state, chart=value)

    def _second(self, value: str) -> PlaneState:
        return replace(self.state, second=value)

    def _toggle(self, name: str, value: bool) -> PlaneState:
        return replace(self.state, shown=(self.state.shown - {name}) | ({name} if value else set()))

    def _camera(self, turn: float, tilt: float) -> PlaneState:
        """Turn the surfaces; a turn wraps around and a tilt ends at its range."""
        low, high = RANGES["tilt"]
        state = self.state.with_number("turn", (turn + 180) % 360 - 180)
        return state.with_number("tilt", min(max(tilt, low), high))

    def _label(self, value: Any) -> PlaneState:
        """Give the first chosen point a class, and the points that are added later."""
        state, first = self.state.with_number("pen", value), self.state.chosen[0]
        if not state.points:
            return state
        return self._with_point(state, first, *state.points[first][:2], state.pen)

    def _load(self, query: str) -> PlaneState:
        return PlaneState.from_query(query)

    # -- points ---------------------------------------------------------------------

    def _add(self, x: float | None, y: float | None, view: int | None) -> PlaneState:
        """Add a point where the pointer is; without a place, at one that is not taken."""
        state, looking, n = self.state, self.view(view), len(self.state.points)
        if x is None or y is None:
            place = self._free_place(looking)
        else:
            place = looking.from_screen([x, y])
        point = as_generator(*_bounded(place), state.pen)
        grown = state.with_points((*state.points, point))
        return replace(grown, chosen=(n, state.chosen[0] if n else 0))

    def _free_place(self, view: View) -> Floats:
        n, taken = len(self.state.points), self.state.coordinates
        spots = np.random.default_rng(n).uniform(-0.6, 0.6, size=(32, 2)) * view.half_width
        free = [view.from_screen(spot + view.middle) for spot in spots]
        if not n:
            return free[0]
        gaps = [float(np.linalg.norm(taken - spot, axis=1).min()) for spot in free]
        return free[int(np.argmax(gaps))]

    def _delete(self) -> PlaneState:
        points, first = self.state.points, self.state.chosen[0]
        return self.state.with_points(points[:first] + points[first + 1 :])

    def _scatter(self, n: int, seed: int) -> PlaneState:
        return replace(self.state.with_points(scatter(n, seed)), chosen=(0, int(n > 1)))

    def _reset(self) -> PlaneState:
        return PlaneState(points=DEFAULT_POINTS)

    def _next(self, by: float) -> PlaneState:
        n = len(self.state.points)
        return self._choose((self.state.chosen[0] + (1 if by > 0 else -1)) % n) if n else self.state

    def _choose(self, index: int) -> PlaneState:
        first = self.state.chosen[0]
        if index == first or index >= len(self.state.points):
            return self.state
        return replace(self.state, chosen=(index, first))

    def _move(self, index: int, x: float, y: float, view: int, far: bool) -> PlaneState:
        """Move a point to a place on the screen, read its distances, and choose it."""
        if index >= len(self.state.points):
            return self.state
        place = self.view(view).from_screen([x, y], far_side=far)
        moved = as_generator(*_bounded(place), self.state.points[index].label)
        self._read(np.array(moved[:2]), f"point {index + 1}", index)
        state = self.state if index in self.state.chosen else self._choose(index)
        return self._with_point(state, index, *moved)

    def _nudge(self, dx: float, dy: float) -> PlaneState:
        """Move the first chosen point by a part of the view's width."""
        if not len(self.state.points):
            return self.state
        first, view = self.state.chosen[0], self.view()
        x = self.state.coordinates[first]
        spot = view.to_screen(x) + np.array([dx, dy]) * view.half_width
        far = bool(view.faces_away(x))
        return self._move(first, float(spot[0]), float(spot[1]), 0, far)

    def _handle(self, name: str, x: float, y: float) -> PlaneState:
        """Move the conic by its centre, or by the end of an axis, which turns it too."""
        state = self.state
        if name == "center":
            values = {"center_x": x, "center_y": y}
        else:
            dx, dy = np.array([x, y]) - handle_places(state)[0]
            turn = math.degrees(math.atan2(dy, dx)) - (90 if name == "minor" else 0)
            values = {name: math.hypot(dx, dy), "angle": (turn + 90) % 180 - 90}
        for key, value in values.items():
            low, high = RANGES[key]
            state = state.with_number(key, min(max(float(value), low), high))
        return state

    @staticmethod
    def _with_point(state: PlaneState, index: int, x: float, y: float, label: int) -> PlaneState:
        points = list(state.points)
        points[index] = as_generator(x, y, label)
        return state.with_points(tuple(points))

    # -- the pointer ----------------------------------------------------------------

    def _hover(self, x: float | None, y: float | None, view: int | None) -> None:
        """Read the distances from the pointer, or without a place from the chosen point."""
        state, first = self.state, self.state.chosen[0]
        if x is not None and y is not None:
            looking = self.view(view)
            if not looking.holds([x, y]):
                self._pointer = "Outside the geometry: no real distances here.", []
                return
            self._read(looking.from_screen([x, y]), "x", None)
        elif first >= len(state.points):
            self._pointer = "There are no points yet.", []
        elif not self.drafter.inside[first]:
            text = f"Point {first + 1} is outside the geometry: no real distances."
            self._pointer = text, []
        else:
            self._read(state.coordinates[first], f"point {first + 1}", first)

    def _read(self, x: Floats, name: str, but: int | None) -> None:
        """Tell the distances from x to the nearest points, and draw the geodesics to them."""
        state = self.state
        said = f"{name} = ({x[0]:.3f}, {x[1]:.3f})"
        rows = np.empty(0, dtype=np.intp)
        if state.points:
            distances = np.asarray(state.metric.distance(state.coordinates, x, outside="inf"))
            if but is not None:
                distances[but] = np.inf
            rows = np.argsort(distances, kind="stable")[: max(NEAREST, state.order)]
            rows = rows[np.isfinite(distances[rows])]
            far = ", ".join(f"{distances[row]:.3f} to point {row + 1}" for row in rows)
            said += f"; d = {far}" if len(rows) else ""
        start, shapes = np.broadcast_to(x, (len(rows), 2)), []
        for index in range(len(self.charts)):
            view = self.view(index)
            seen = see_path(view, sample_segments(view, start, state.coordinates[rows]))
            dot = Shape("marks", view.to_screen(x[None]), "ink", 3.0)
            paths = (Shape("line", path, "ink", 1.0, (2, 2)) for path in seen)
            shapes.append([shape._asdict() for shape in (*paths, dot)])
        self._pointer = said, shapes

    def _leave(self) -> None:
        self._pointer = "", []


def _bounded(x: Floats) -> tuple[float, float]:
    # near the elliptic equator points are far away, and the page ends somewhere
    scale = REACH / max(float(np.abs(x).max()), REACH)
    return float(scale * x[0]), float(scale * x[1])


ANY_POINT = Value(int, low=0, high=MAX_POINTS - 1)
ANY_NUMBER = Value(str, RANGES)
WHICH_VIEW = Value(int, low=0, high=1, optional=True)
PLACE = {"x": NUMBER, "y": NUMBER, "view": WHICH_VIEW}
MAYBE_PLACE = {key: value._replace(optional=True) for key, value in PLACE.items()}

COMMANDS: dict[str, tuple[Callable[..., PlaneState | None], dict[str, Value]]] = {
    "set": (PlaneSession._set, {"name": ANY_NUMBER, "value": NUMBER}),
    "step": (PlaneSession._step, {"name": ANY_NUMBER, "by": NUMBER}),
    "chart": (PlaneSession._chart, {"value": Value(str, CHARTS)}),
    "second": (PlaneSession._second, {"value": Value(str, ("", *CHARTS))}),
    "toggle": (PlaneSession._toggle, {"name": Value(str, LAYERS), "value": FLAG}),
    "camera": (PlaneSession._camera, {"turn": NUMBER, "tilt": NUMBER}),
    "label": (PlaneSession._label, {"value": NUMBER}),
    "load": (PlaneSession._load, {"query": TEXT}),
    "add": (PlaneSession._add, MAYBE_PLACE),
    "delete": (PlaneSession._delete, {}),
    "scatter": (
        PlaneSession._scatter,
        {"n": Value(int, low=1, high=MAX_POINTS), "seed": Value(int, low=0, high=2**31)},
    ),
    "reset": (PlaneSession._reset, {}),
    "next": (PlaneSession._next, {"by": NUMBER}),
    "choose": (PlaneSession._choose, {"index": ANY_POINT}),
    "move": (PlaneSession._move, {"index": ANY_POINT, **PLACE, "far": FLAG}),
    "nudge": (PlaneSession._nudge, {"dx": NUMBER, "dy": NUMBER}),
    "handle": (PlaneSession._handle, {"name": Value(str, HANDLES), "x": NUMBER, "y": NUMBER}),
    "hover": (PlaneSession._hover, MAYBE_PLACE),
    "leave": (PlaneSession._leave, {}),
}
"""Every command of the plane page: its action, and what each of its values must be."""
