"""One visitor's plane: commands that change its state, and the answers that the page draws."""

import inspect
import math
from dataclasses import replace
from typing import Any, get_origin

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice
from cayleyklein.app import _state
from cayleyklein.app._figures import without_point
from cayleyklein.app._scene import HANDLES, Drafter, handle_places
from cayleyklein.app._state import RANGES, PlaneState, rounded_point
from cayleyklein.app._tools import Toolbox
from cayleyklein.app._views import View
from cayleyklein.app._worksheets import SHEETS, check_sheet
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.plotting.paths import sample_segments, see_path
from cayleyklein.plotting.shapes import Shape

NEAREST = 3  # number of nearest points that the pointer is told of, or the order where it is larger
VALUE_NAMES = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
LARGEST_VALUE = 2**31  # largest number in a command


def run_command(session: Any, command: Any) -> Any:
    """Do a command by the method do_NAME; each value must be of the type in its signature."""
    name = command.get("do") if isinstance(command, dict) else None
    action = getattr(session, f"do_{name}", None)
    if action is None:
        raise InvalidInputError(f"There is no command {str(name)[:20]!r}.")
    values = {}
    for key, parameter in inspect.signature(action, eval_str=True).parameters.items():
        if key in command or parameter.default is parameter.empty:
            kind, value = get_origin(parameter.annotation) or parameter.annotation, command.get(key)
            fits = isinstance(value, kind)
            if kind in (int, float):  # a page may send a whole number as a float
                fits = type(value) in (int, float) and abs(value) <= LARGEST_VALUE
                fits = fits and (kind is float or value == int(value))
            if not fits:
                said = VALUE_NAMES.get(kind, "an object")
                raise InvalidInputError(f"{key} must be {said}; got {str(value)[:20]!r}.")
            values[key] = kind(value)
    return action(**values)


def run_commands(session: Any, commands: list[Any]) -> list[str]:
    """Do commands up to the first that is refused; return what is said to that one."""
    try:
        for command in commands:
            run_command(session, command)
    except CayleyKleinError as error:
        return [str(error)]
    return []


class PlaneSession(Toolbox):
    def __init__(self, query: str = "") -> None:
        super().__init__()
        self.errors: list[str] = []
        try:
            self.state = PlaneState.from_query(query)
        except CayleyKleinError as error:
            self.state = PlaneState.from_query("")
            self.errors.append(f"The address was not understood: {error}")
        self._drafter = Drafter(self.state)
        self._drawn: PlaneState | None = None
        self._moving: int | None = None
        self.verdict: tuple[bool, str] | None = None
        self._pointer: tuple[str, list[Any]] | None = None

    def view(self, index: int = 0) -> View:
        return self.drafter.view(self.state.charts[-1 if index else 0])

    @property
    def drafter(self) -> Drafter:
        if self._drafter.state is not self.state:
            self._drafter = Drafter(self.state, self._moving)
        return self._drafter

    def hear(self, commands: list[Any]) -> dict[str, Any]:
        before = self.state
        self._pointer = None
        if any(isinstance(c, dict) and c.get("do") not in ("hover", "leave") for c in commands):
            self.errors, self.said, self.verdict = [], [], None
        self.errors += run_commands(self, commands)
        if self.state is not before and not self._pointer:
            self.do_leave()  # what was told is not so any more
        return self.answer()

    def answer(self) -> dict[str, Any]:
        state, drafter = self.state, self.drafter
        answer: dict[str, Any] = {
            "state": {name: getattr(state, name) for name in (*RANGES, "chart", "second")},
            "shown": sorted(state.shown), "query": state.query, "count": len(state.points),
            "chosen": list(state.chosen), "geometry": state.metric.geometry,
            "label": state.points[state.chosen[0]].label if state.points else 0,
            "cross": drafter.cross_ratio() if "cross" in state.shown else "",
            "errors": self.errors, "notes": drafter.notes, "said": self.said,
            "tool": self.tool_answer(), "objects": self.objects_answer(),
            "tiling": state.tiling and state.tiling._asdict(), "verdict": self.verdict,
        }  # fmt: skip
        if self._drawn is not state:
            answer["pictures"] = [self._picture(chart) for chart in state.charts]
            self._drawn = state
        if self._pointer is not None:
            answer["readout"], answer["pointer"] = self._pointer
        return answer

    def _picture(self, chart: str) -> dict[str, Any]:
        scene = self.drafter.scene(chart)
        return {
            "chart": chart, "title": scene.view.title, "description": scene.description,
            "surface": chart in ("hemisphere", "hyperboloid"),
            "window": scene.view.window.ravel().tolist(),
            "shapes": [shape._asdict() for shape in scene.shapes],
            "points": scene.points, "away": scene.away.astype(np.int8), "handles": scene.handles,
        }  # fmt: skip

    def do_set(self, values: dict[str, Any]) -> None:
        self.state = self.state.with_parts(values)

    def do_load(self, query: str) -> None:
        self.state = PlaneState.from_query(query)

    def do_label(self, value: int) -> None:
        if self.state.points:
            first = self.state.chosen[0]
            self._put(first, self.state.coordinates[first], value)

    def do_add(self, x: float = math.nan, y: float = math.nan, view: int = 0) -> None:
        points, looking = self.state.points, self.view(view)
        if math.isnan(x + y):
            spot = np.random.default_rng(len(points)).uniform(-0.6, 0.6, size=2)
            x, y = (looking.middle + looking.half_width * spot).tolist()
        label = points[self.state.chosen[0]].label if points else 0
        self._put(len(points), looking.from_screen([x, y]), label)
        self.do_choose(len(points))

    def do_delete(self) -> None:
        points, first = self.state.points, self.state.chosen[0]
        objects, lost = without_point(self.state.objects, first)
        kept = points[:first] + points[first + 1 :]
        self.state, self.picked = replace(self.state, points=kept, objects=objects), []
        if lost:
            self.tell_lost(f"Point {first + 1}", lost)

    def do_scatter(self, n: int, seed: int) -> None:
        points = _state.scatter(min(max(n, 1), _state.MAX_POINTS), abs(seed))
        self.state = replace(self.state, points=points, chosen=(0, 1), objects=())

    def do_next(self, by: int) -> None:
        if self.state.points:
            self.do_choose((self.state.chosen[0] + by) % len(self.state.points))

    def do_choose(self, index: int) -> None:
        """Choose a point; the one chosen before becomes the second."""
        first = self.state.chosen[0]
        if index != first and 0 <= index < len(self.state.points):
            self.state = replace(self.state, chosen=(index, first))

    def do_move(
        self, index: int, x: float, y: float, view: int, far: bool, dragged: bool = False
    ) -> None:
        if not 0 <= index < len(self.state.points):
            return
        self._moving = index if dragged else None
        place = self.view(view).from_screen([x, y], far_side=far)
        self._put(index, place, self.state.points[index].label)
        self._read(self.state.coordinates[index], f"point {index + 1}", index)
        told = self.dependent_measures(index)
        if told and self._pointer:
            self._pointer = told, self._pointer[1]
        if index not in self.state.chosen:
            self.do_choose(index)

    def do_drop(self) -> None:
        """End a drag: draw what was left out of the picture meanwhile."""
        if self._moving is not None:
            self._moving = self._drawn = None
            self._drafter = Drafter(self.state)

    def do_nudge(self, dx: float, dy: float) -> None:
        if self.state.points:
            first, view = self.state.chosen[0], self.view()
            place = self.state.coordinates[first]
            x, y = (view.to_screen(place) + np.array([dx, dy]) * view.half_width).tolist()
            self.do_move(first, x, y, 0, bool(view.faces_away(place)))

    def do_handle(self, name: str, x: float, y: float) -> None:
        if as_choice(name[:20], "name", HANDLES) == "center":
            values = {"center_x": x, "center_y": y}
        else:
            dx, dy = np.array([x, y]) - handle_places(self.state)[0]
            turn = math.degrees(math.atan2(dy, dx)) - (90 if name == "minor" else 0)
            values = {name: math.hypot(dx, dy), "angle": (turn + 90) % 180 - 90}
        self.do_set({k: min(max(v, RANGES[k][0]), RANGES[k][1]) for k, v in values.items()})

    def _put(self, index: int, place: Floats, label: int) -> None:
        # near the elliptic equator points are far away, and the page ends somewhere
        x, y = place * min(1.0, _state.LARGEST_COORDINATE / max(1.0, *np.abs(place)))
        points, point = self.state.points, rounded_point(x, y, label)
        self.state = replace(self.state, points=(*points[:index], point, *points[index + 1 :]))

    def do_hover(self, x: float = math.nan, y: float = math.nan, view: int = 0) -> None:
        state, first = self.state, self.state.chosen[0]
        if not math.isnan(x + y):
            looking = self.view(view)
            if looking.holds([x, y]):
                self._read(looking.from_screen([x, y]), "x")
            else:
                self._pointer = "Outside the geometry: no real distances here.", []
        elif not state.points:
            self._pointer = "There are no points yet.", []
        elif not self.drafter.inside[first]:
            self._pointer = f"Point {first + 1} is outside the geometry: no real distances.", []
        else:
            self._read(state.coordinates[first], f"point {first + 1}", first)

    def _read(self, x: Floats, name: str, but: int | None = None) -> None:
        state = self.state
        distances = np.asarray(state.metric.distance(state.coordinates, x, outside="inf"))
        if but is not None:
            distances[but] = np.inf
        rows = np.argsort(distances, kind="stable")[: max(NEAREST, state.order)]
        rows = rows[np.isfinite(distances[rows])]
        far = ", ".join(f"{distances[row]:.3f} to point {row + 1}" for row in rows)
        said = f"{name} = ({x[0]:.3f}, {x[1]:.3f})" + (f"; d = {far}" if far else "")
        start, shapes = np.broadcast_to(x, (len(rows), 2)), []
        for index in range(len(state.charts)):
            view = self.view(index)
            seen = see_path(view, sample_segments(view, start, state.coordinates[rows]))
            dot = Shape("marks", view.to_screen(x[None]), "ink", 3.0)
            paths = (Shape("line", path, "ink", 1.0, (2, 2)) for path in seen)
            shapes.append([shape._asdict() for shape in (*paths, dot)])
        self._pointer = said, shapes

    def do_check(self, sheet: int, answer: str = "") -> None:
        if not 0 <= sheet < len(SHEETS):
            raise InvalidInputError(f"There is no worksheet {sheet + 1}.")
        self.verdict = check_sheet(sheet, self.drafter.construction, answer)

    def do_leave(self) -> None:
        self._pointer = "", []
