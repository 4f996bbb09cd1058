"""One visitor's plane: commands that change its state, and the answers that the page draws."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, get_origin

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice
from cayleyklein.app import _figures, _maps, _measures, _scene, _state, _views, _worksheets
from cayleyklein.app._constructing import Constructing
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._tools import POINT_KINDS
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.geometry import constructions
from cayleyklein.plotting import labels
from cayleyklein.plotting.shapes import Shape
from cayleyklein.plotting.views import sample_segments, see_path


def run_command(session: Any, command: Any) -> None:
    """Do a command by the method do_NAME; each value must be of the type in its signature."""
    name = command.get("do") if isinstance(command, dict) else None
    action = getattr(session, f"do_{name}", None)
    if action is None:
        raise InvalidInputError(f"There is no command {str(name)[:20]!r}.")
    values = {}
    for key, (kind, is_needed) in _parameters(action.__func__).items():
        if key in command or is_needed:
            value = command.get(key)
            fits = isinstance(value, kind)
            if kind in (int, float):  # a page may send a whole number as a float
                fits = type(value) in (int, float) and abs(value) <= 2**31
                fits = fits and (kind is float or value == int(value))
            if not fits:
                names = {
                    float: "a number",
                    int: "a whole number",
                    str: "a text",
                    bool: "true or false",
                }
                said = names.get(kind, "an object")
                raise InvalidInputError(f"{key} must be {said}; got {str(value)[:20]!r}.")
            values[key] = kind(value)
    action(**values)


@cache
def _parameters(action: Any) -> dict[str, tuple[type, bool]]:
    """Return the type of each parameter of a command, and whether it must be given."""
    _, *given = inspect.signature(action, eval_str=True).parameters.values()
    return {p.name: (get_origin(p.annotation) or p.annotation, p.default is p.empty) for p in given}


def run_commands(session: Any, commands: list[Any]) -> list[str]:
    """Do commands up to the first that is refused; return the message of its refusal."""
    try:
        for command in commands:
            run_command(session, command)
    except CayleyKleinError as error:
        return [str(error)]
    return []


class PlaneSession(Constructing):
    """The plane of one visitor; `sheets` are worksheets by name, by default the package's."""

    def __init__(
        self, query: str = "", sheets: Mapping[str, _worksheets.Worksheet] | None = None
    ) -> None:
        super().__init__()
        self.sheets = _worksheets.bundled_worksheets() if sheets is None else sheets
        self.sheet: _worksheets.Worksheet | None = None  # that the next answer tells of
        self._opened: _worksheets.Worksheet | None = None
        self.frames: dict[int, labels.LabelFrame] = {}
        self.upto: int | None = None  # how many objects a replay of the construction shows
        self.state = _state.PlaneState.from_query("")
        refused = run_commands(self, [{"do": "load", "query": query}])
        self.errors = [f"The address was not understood: {said}" for said in refused]
        self._drafter = _scene.Drafter(self.state)
        self._drawn: _state.PlaneState | None = None
        self._moving: int | None = None
        self._held: tuple[_state.PlaneState, Floats] | None = None
        self._pointer: tuple[str, list[Any]] | None = None
        self.verdict: tuple[bool, str] | None = None
        self.said: list[str] = []

    def view(self, index: int = 0) -> _views.View:
        return self.drafter.view(self.state.charts[-1 if index else 0])

    @property
    def drafter(self) -> _scene.Drafter:
        lit = frozenset({self.lit, *self.picked} - {""})
        if self._drafter.state is not self.state or self._drafter.lit != lit:
            if self._drafter.lit != lit:
                self._drawn = None
            self._drafter = _scene.Drafter(self.state, self._moving, lit, self.trails)
        return self._drafter

    def hear(self, commands: list[Any]) -> dict[str, Any]:
        before = self.state
        self._pointer = None
        keep_what_was_said = ("hover", "leave", "frame", "light")
        if any(isinstance(c, dict) and c.get("do") not in keep_what_was_said for c in commands):
            self.errors = []
            self.said = []
            self.verdict = None
        self.errors += run_commands(self, commands)
        if self.state is not before:
            self.upto = None
        if self.state is not before and self.trails.names:
            self.trails.follow(self.drafter.construction, self.view())
        if self.state is not before and not self._pointer:
            self.do_leave()  # what the pointer showed is out of date
        return self.answer()

    def answer(self) -> dict[str, Any]:
        state = self.state
        drafter = self.drafter
        answer: dict[str, Any] = {
            "state": {name: getattr(state, name) for name in (*_state.RANGES, "chart", "second")},
            "shown": sorted(state.shown),
            "query": state.query,
            "count": len(state.points),
            "chosen": list(state.chosen),
            "geometry": state.metric.geometry,
            "label": state.points[state.chosen[0]].label if state.points else 0,
            "cross": drafter.cross_ratio() if "cross" in state.shown else "",
            "errors": self.errors,
            "notes": drafter.notes,
            "said": self.said,
            "tool": self.tool_answer(),
            "objects": self.objects_answer(),
            "tiling": state.tiling and state.tiling._asdict(),
            "verdict": self.verdict,
            "headline": _scene.headline(state, drafter.construction),
            "lit": self.lit,
            "upto": self.upto,
        }
        if self._drawn is not state:
            answer["pictures"] = [self._picture(i) for i in range(len(state.charts))]
            self._drawn = state
        if self.sheet is not None:
            answer["sheet"] = self._sheet_answer(self.sheet)
            self.sheet = None
        if self._pointer is not None:
            answer["readout"], answer["pointer"] = self._pointer
        return answer

    def _picture(self, index: int) -> dict[str, Any]:
        chart = self.state.charts[index]
        drafter = self.drafter
        if self.upto is not None:
            objects = self.state.objects[: self.upto]
            drafter = _scene.Drafter(replace(self.state, objects=objects), lit=drafter.lit)
        frame = self.frames.get(index)
        scene = drafter.scene(chart, frame)
        gliders = {
            figure.name: scene.view.to_screen(place)
            for figure, place in drafter.construction.placed("on").items()
        }
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
            "gliders": list(gliders),
            "glides": np.array([*gliders.values()]).reshape(-1, 2),
        }

    def do_frame(self, view: int, box: list[float], width: float) -> None:
        """Take the part of a view that is shown, which labels are placed for."""
        corners = np.array(box, dtype=float)
        sound = corners.shape == (4,) and np.isfinite(corners).all() and width > 0
        if view not in (0, 1) or not sound or (corners[2:] <= corners[:2]).any():
            raise InvalidInputError("A frame must be a box and its width in pixels.")
        frame = labels.LabelFrame(corners.reshape(2, 2), min(width, 4000.0))
        if frame.scale * np.ptp(frame.window[:, 1]) > 4000:
            raise InvalidInputError("A frame may be 4,000 pixels high.")
        self.frames[view] = frame
        if self.state.objects or "cross" in self.state.shown:
            self._drawn = None

    def do_light(self, name: str) -> None:
        """Show a figure brighter, or none for ""."""
        self.lit = name

    def do_replay(self, step: int) -> None:
        """Show the first objects only, in the order of their construction; all for -1."""
        n = len(self.state.objects)
        self.upto = None if step < 0 else min(step, n)
        self._drawn = None

    def do_set(self, values: dict[str, Any]) -> None:
        self.state = self.state.with_parts(values)

    def do_load(self, query: str) -> None:
        self.state = _state.PlaneState.from_query(query)
        self.trails.clear(figure.name for figure in self.state.objects)

    def do_label(self, value: int) -> None:
        if self.state.points:
            first = self.state.chosen[0]
            self._put(first, self.state.coordinates[first], value)

    def do_add(self, x: float = math.nan, y: float = math.nan, view: int = 0) -> None:
        points = self.state.points
        looking = self.view(view)
        if math.isnan(x + y):
            spot = np.random.default_rng(len(points)).uniform(-0.6, 0.6, size=2)
            x, y = (looking.middle + looking.half_width * spot).tolist()
        label = points[self.state.chosen[0]].label if points else 0
        self._put(len(points), looking.from_screen([x, y]), label)
        self.do_choose(len(points))

    def do_delete(self) -> None:
        points = self.state.points
        first = self.state.chosen[0]
        gone = [f.name for f in self.state.objects if f.kind == "point" and f.value == first]
        objects, lost = _figures.without(self.state.objects, *gone)
        later = (f.kind == "point" and f.value > first for f in objects)
        objects = tuple(f._replace(value=f.value - n) for f, n in zip(objects, later, strict=True))
        kept = points[:first] + points[first + 1 :]
        edges = [pair for pair in self.state.edges if first not in pair]
        self.state = replace(
            self.state,
            points=kept,
            objects=objects,
            edges=tuple((a - (a > first), b - (b > first)) for a, b in edges),
            names=self.state.names[:first] + self.state.names[first + 1 :],
        )
        self.picked = []
        self._tell_lost(f"Point {first + 1}", lost)

    def do_scatter(self, n: int, seed: int) -> None:
        points = _state.scatter(min(max(n, 1), LIMITS.most_points), abs(seed))
        self.state = replace(
            self.state, points=points, chosen=(0, 1), objects=(), edges=(), names=()
        )

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
        said, shapes = self._read(self.state.coordinates[index], f"point {index + 1}", index)
        made = self.drafter.construction
        figures = self.state.objects
        names = {f.name for f in figures if f.kind == "point" and f.value == index}
        mine = [f for f in figures if names & set(f.parents) and f.kind not in POINT_KINDS]
        told = "; ".join(f"{f.name}: {_measures.measured(made, f)}" for f in mine[-2:])
        self._pointer = told or said, shapes
        if index not in self.state.chosen:
            self.do_choose(index)

    def do_drop(self) -> None:
        """End a drag: draw what was left out of the picture meanwhile."""
        if self._moving is not None:
            self._moving = self._drawn = None
            self._drafter = _scene.Drafter(self.state, trails=self.trails)

    def do_nudge(self, dx: float, dy: float) -> None:
        if self.state.points:
            first = self.state.chosen[0]
            view = self.view()
            place = self.state.coordinates[first]
            x, y = (view.to_screen(place) + np.array([dx, dy]) * view.half_width).tolist()
            self.do_move(first, x, y, 0, bool(view.faces_away(place)))

    def do_handle(self, name: str, x: float, y: float) -> None:
        if as_choice(name[:20], "name", ("center", "major", "minor")) == "center":
            values = {"center_x": x, "center_y": y}
        else:
            dx, dy = np.array([x, y]) - _scene.handle_places(self.state)[0]
            turn = math.degrees(math.atan2(dy, dx)) - (90 if name == "minor" else 0)
            values = {name: math.hypot(dx, dy), "angle": (turn + 90) % 180 - 90}
        for part, value in values.items():
            low, high = _state.RANGES[part]
            values[part] = min(max(value, low), high)
        self.do_set(values)

    def _put(self, index: int, place: Floats, label: int) -> None:
        # points near the elliptic equator are far away: keep them on the page
        x, y = place * min(1.0, _state.LARGEST_COORDINATE / max(1.0, *np.abs(place)))
        points = self.state.points
        point = _state.rounded_point(x, y, label)
        self.state = replace(self.state, points=(*points[:index], point, *points[index + 1 :]))

    def do_hover(self, x: float = math.nan, y: float = math.nan, view: int = 0) -> None:
        state = self.state
        first = self.state.chosen[0]
        looking = self.view(view)
        if not math.isnan(x + y):
            self._pointer = "Outside the geometry: no real distances here.", []
            if looking.holds([x, y]):
                self._pointer = self._read(looking.from_screen([x, y]), "x")
        elif not state.points:
            self._pointer = "There are no points yet.", []
        elif not state.inside[first]:
            self._pointer = f"Point {first + 1} is outside the geometry: no real distances.", []
        else:
            self._pointer = self._read(state.coordinates[first], f"point {first + 1}", first)

    def _read(self, x: Floats, name: str, but: int | None = None) -> tuple[str, list[Any]]:
        state = self.state
        distances = np.asarray(state.metric.distance(state.coordinates, x, outside="inf"))
        if but is not None:
            distances[but] = np.inf
        rows = np.argsort(distances, kind="stable")[: max(3, state.order)]
        rows = rows[np.isfinite(distances[rows])]
        far = ", ".join(f"{distances[row]:.3f} to point {row + 1}" for row in rows)
        said = f"{name} = ({x[0]:.3f}, {x[1]:.3f})" + (f"; d = {far}" if far else "")
        start = np.broadcast_to(x, (len(rows), 2))
        shapes = []
        for index in range(len(state.charts)):
            view = self.view(index)
            seen = see_path(view, sample_segments(view, start, state.coordinates[rows]))
            dot = Shape("marks", view.to_screen(x[None]), "ink", 3.0)
            paths = (Shape("line", path, "ink", 1.0, (2, 2)) for path in seen)
            shapes.append([shape._asdict() for shape in (*paths, dot)])
        return said, shapes

    def do_leave(self) -> None:
        self._pointer = "", []

    def do_tile(self, p: int, q: int, depth: int, edge: float) -> None:
        """Lay a tiling {p, q}, or none for p = 0; an edge of 0 keeps K where it can."""
        if not p:
            self.state = replace(self.state, tiling=None)
            return
        old = self.state.tiling or _state.Tiling(p, q)
        tiling = _state.read_tiling(old._replace(p=p, q=q, depth=depth, edge=edge or 0.5).text)
        if not edge:
            K = self.state.curvature
            K = K if np.sign(K) == tiling.sign else 0.6 * tiling.sign
            tiling = tiling.at_curvature(K) or tiling
        self.do_set({"tiling": tiling.text})

    def do_shift(self, x: float, y: float, view: int, begin: bool) -> None:
        """Move the space by the isometry of a drag: along it, or around the chosen point."""
        place = self.view(view).from_screen([x, y])
        if begin or self._held is None:
            self._held = self.state, place
        state, start = self._held
        if self.tool == "turn" and state.points:
            pivot = state.coordinates[state.chosen[0]]
            angle = constructions.turn_between(pivot, start, place, state.metric)
            move = constructions.rotation_about(pivot, angle, state.metric)
        else:
            move = np.asarray(state.metric.transvection(start, place))
        self.state = state.moved(move)

    def _sheet_answer(self, sheet: _worksheets.Worksheet) -> dict[str, Any]:
        return {
            "title": sheet.title,
            "steps": [
                {
                    "title": step.title,
                    "question": step.question,
                    "hint": step.hint,
                    "choices": step.choices,
                    "checks": bool(step.rules),
                }
                for step in sheet.steps
            ],
        }

    def do_sheet(self, name: str) -> None:
        """Open a worksheet by its name, and load its start."""
        if name not in self.sheets:
            raise InvalidInputError(f"There is no worksheet {name[:30]!r}.")
        self._open(self.sheets[name])

    def do_own_sheet(self, content: str) -> None:
        """Open a worksheet that the visitor gives as Markdown."""
        self._open(_worksheets.read_worksheet(content))

    def do_own_tree(self, content: str) -> None:
        """Show a tree that the visitor gives in Newick format."""
        self._open(_maps.map_sheet(_maps.read_tree(content)))

    def _open(self, sheet: _worksheets.Worksheet) -> None:
        self.do_load(sheet.start or "shown=")
        self.do_tool("hand")
        self.sheet = self._opened = sheet

    def do_check(self, step: int, answer: str = "") -> None:
        """Check a step of the worksheet that was opened last."""
        steps = self._opened.steps if self._opened else ()
        if not 0 <= step < len(steps):
            raise InvalidInputError(f"There is no step {step + 1} of a worksheet.")
        self.verdict = _worksheets.check_step(steps[step], self.drafter.construction, answer)
