"""Commands of the plane page that construct figures and change them."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice, as_real
from cayleyklein.app import _figures, _measures, _scene, _state, _trails, _views
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._tools import CIRCLE_KINDS, LINE_KINDS, MOVES, NEEDS, POINT_KINDS, TOOLS
from cayleyklein.exceptions import InvalidInputError

OBJECT_GROUPS = {  # of the list of objects
    "points": POINT_KINDS,
    "lines": (*LINE_KINDS, "parallels"),
    "curves": (*CIRCLE_KINDS, "horocycle", "equidistant", "locus"),
    "polygons": ("polygon",),
    "measures": ("angle", "distance", "number", "note"),
}


def group_of(kind: str) -> str:
    return next(name for name, kinds in OBJECT_GROUPS.items() if kind in kinds)


class Constructing:
    """The tool in hand, what it has been given, and the list of objects.

    The session that uses it has a state, a drafter of the state, and `do_add` for new points.
    """

    state: _state.PlaneState
    said: list[str]

    def __init__(self) -> None:
        self.tool = "hand"
        self.picked = list[str]()
        self.lit = ""
        self.trails = _trails.Trails()

    @property
    def drafter(self) -> _scene.Drafter:
        raise NotImplementedError

    def view(self, index: int = 0) -> _views.View:
        raise NotImplementedError

    def do_add(self, x: float, y: float, view: int) -> None:
        raise NotImplementedError

    # -- the tool

    def tool_answer(self) -> dict[str, Any]:
        needed = self._needed()
        prompt = ""
        names = [f.name for f in self.state.objects if needed and f.fits(needed)]
        if needed:
            start = f" {', '.join(self.picked)}: then" if self.picked else ": choose"
            prompt = f"{TOOLS[self.tool].title}{start} {NEEDS[needed].prompt}."
            if self.tool == "polygon" and len(self.picked) > 2:
                prompt += f" Choose {self.picked[0]} again to end."
        return {
            "name": self.tool,
            "prompt": prompt,
            "candidates": names,
            "needs": needed,
            "picked": self.picked,
        }

    def _needed(self) -> str:
        """Return the letter of what the tool takes next, or "" for nothing."""
        if self.tool not in TOOLS:
            return ""
        n = len(self.picked)
        needs = TOOLS[self.tool].needs.replace("*", "P" * n)
        return needs[n : n + 1]

    def do_tool(self, name: str) -> None:
        self.tool = as_choice(name[:20], "tool", (*MOVES, *TOOLS))
        self.picked = []
        if name == "number":
            self.tool = "hand"
            self._new_number()

    def do_pick(self, x: float, y: float, view: int, reach: float) -> None:
        """Give the tool what is at a place of the drawing, or a new point there."""
        needed = self._needed()
        looking = self.view(view)
        spot = np.array([x, y])
        if not needed:
            return
        if needed == "N":
            self.do_take(self._new_number())
            return
        near = partial(self.drafter.construction.nearest, spot, looking, abs(reach))
        found = near(NEEDS[needed].kinds, without=self.picked if needed == "O" else ())
        if found is None and NEEDS[needed].place:
            raise InvalidInputError(f"There is no {NEEDS[needed].place} here; choose one.")
        if found is None and needed == "G":
            raise InvalidInputError("Choose a point on an object here, or a slider in the list.")
        if self.tool == "on" and found is not None:
            self._put_on(found, looking.from_screen(spot))
            return
        if found is None:
            if not looking.holds(spot):
                raise InvalidInputError("This is outside the geometry.")
            seen = np.linalg.norm(looking.to_screen(self.state.coordinates) - spot, axis=1)
            if not (seen < abs(reach)).any():
                self.do_add(x, y, view)
                seen = np.append(seen, -1)
            found = self._name_point(int(np.argmin(seen)))
        self.do_take(found)
        if self.tool == "meet" and self.picked == [found]:  # a click where two cross takes both
            other = near(NEEDS["O"].kinds, without=[found])
            if other is not None:
                self.do_take(other)

    def do_take(self, name: str = "") -> None:
        """Give the tool a figure by its name, or the chosen point; construct when it has all."""
        needed = self._needed()
        if not needed:
            return
        if not name and self.state.points and needed == "P":
            name = self._name_point(self.state.chosen[0])
        if not name and needed == "N":
            name = self._new_number()
        figure = self.drafter.construction.by_name.get(name)
        if figure is None or not figure.fits(needed):
            raise InvalidInputError(f"Choose {NEEDS[needed].prompt}.")
        if self.tool == "on":
            self._put_on(name, None)
            return
        ends = self.tool == "polygon" and self.picked[:1] == [name]
        if not ends:
            if name in self.picked and not (self.tool == "compass" and len(self.picked) == 2):
                raise InvalidInputError(f"{name} is taken already; choose another.")
            self.picked.append(name)
        if self.tool == "ball" and len(self.picked) == 1 and not self._numbers():
            self.picked.append(self._new_number())
        self._construct_if_complete(ends)

    def _construct_if_complete(self, ends: bool) -> None:
        picked = tuple(self.picked)
        complete = len(picked) == len(TOOLS[self.tool].needs)
        if self.tool == "polygon":
            complete = ends and len(picked) > 2
        if not complete:
            return
        self.picked = []
        if self.tool == "point":
            return
        if self.tool in ("meet", "tangent"):
            self._construct_all(picked)
            return
        note = "Note" if self.tool == "note" else ""
        pinned = self.tool in ("angle", "distance", "number", "note")  # show their measure
        self._construct(_figures.Figure(self.tool, "", picked, pinned=pinned, note=note))

    def _construct_all(self, parents: tuple[str, ...]) -> None:
        """Construct both intersections of circles and lines, and both tangents."""
        figures = self.drafter.construction.by_name
        lines = [name for name in parents if figures[name].kind in LINE_KINDS]
        first = _figures.Figure(self.tool, "", parents)
        self._construct(first)
        if len(lines) < 2:
            self._construct(first._replace(value=1))

    def _numbers(self) -> list[str]:
        return [figure.name for figure in self.state.objects if figure.kind == "number"]

    def _new_number(self) -> str:
        value = round(max(self.state.radius, 0.1) * 2, 3)
        return self._construct(_figures.Figure("number", "", value=value, pinned=True))

    def _put_on(self, way: str, x: Floats | None) -> None:
        made = self.drafter.construction
        value = 0.0 if x is None else made.value_on(made.by_name[way], x)
        self.picked = []
        self._construct(_figures.Figure("on", "", (way,), value=round(value, 6)))

    def _name_point(self, index: int) -> str:
        for figure in self.state.objects:
            if figure.kind == "point" and figure.value == index:
                return figure.name
        return self._construct(_figures.Figure("point", "", value=index))

    def _construct(self, figure: _figures.Figure) -> str:
        figures = self.state.objects
        taken = self.drafter.construction.by_name
        if len(figures) >= LIMITS.most_figures:
            raise InvalidInputError(f"{LIMITS.most_figures} objects are the most of a page.")
        name = "".join(figure.parents)[:12] if figure.kind == "polygon" else ""
        if not name or name in taken:
            name = _figures.new_name(figure.kind, taken)
        figure = _figures.checked(figure._replace(name=name), taken)
        self.state = replace(self.state, objects=(*figures, figure))
        if figure.kind != "point":
            self.said.append(f"{name}: {_measures.measured(self.drafter.construction, figure)}")
        return name

    # -- the list of objects

    def objects_answer(self) -> list[dict[str, Any]]:
        made = self.drafter.construction
        answers = []
        for number, figure in enumerate(self.state.objects):
            answers.append(
                figure._asdict()
                | {
                    "title": TOOLS[figure.kind].title,
                    "measure": _measures.measured(made, figure),
                    "group": group_of(figure.kind),
                    "step": number + 1,
                    "traced": figure.name in self.trails.names
                    if _trails.can_leave(figure.kind)
                    else None,
                }
            )
        return answers

    def do_figure(self, name: str, part: str, value: str) -> None:
        """Change a part of a figure: its name, color, hidden, pinned, value or note."""
        figures = self.state.objects
        found = self.drafter.construction.by_name
        if name not in found:
            raise InvalidInputError(f"There is no object {name[:20]!r}.")
        new: Any = value
        if part == "name":
            _figures.check_figure_name(value, set(found) - {name})
            renamed = []
            for figure in figures:
                parents = tuple(value if parent == name else parent for parent in figure.parents)
                renamed.append(figure._replace(parents=parents))
            figures = tuple(renamed)
        elif part == "color":
            as_choice(value[:20], "color", tuple(_figures.FIGURE_COLORS))
        elif part in ("hidden", "pinned"):
            new = value == "1"
        elif part == "note" and found[name].kind == "note":
            new = _figures.as_note(value) or "Note"
        elif part == "value" and found[name].kind in ("ball", "number"):
            (radius,) = _figures.read_numbers(value, "radius", 1)
            new = as_real(radius, "radius", "(0, 20]")
        else:
            raise InvalidInputError(f"{part[:20]!r} of {name} cannot be changed.")
        self.state = replace(
            self.state,
            objects=tuple(
                old._replace(**{part: new}) if old.name == name else old for old in figures
            ),
        )
        if part == "name":
            self.trails.rename(name, value)
            self.lit = value if self.lit == name else self.lit

    def do_trace(self, name: str, on: bool) -> None:
        """Let a figure leave a trace while something moves, or remove its trace."""
        figure = self.drafter.construction.by_name.get(name)
        if figure is None or not _trails.can_leave(figure.kind):
            raise InvalidInputError(f"There is no object {name[:20]!r} that leaves a trace.")
        self.trails.trace(name, on)
        self.state = replace(self.state)  # a picture without the trace, or with its first place

    def do_group(self, name: str, hidden: bool) -> None:
        """Hide or show all objects of a group of the list."""
        kinds = OBJECT_GROUPS[as_choice(name[:20], "group", tuple(OBJECT_GROUPS))]
        self.state = replace(
            self.state,
            objects=tuple(
                figure._replace(hidden=hidden) if figure.kind in kinds else figure
                for figure in self.state.objects
            ),
        )

    def do_reorder(self, name: str, before: str) -> None:
        """Move an object before another, or to the end for "". Later ones are drawn on top."""
        known = {figure.name for figure in self.state.objects}
        if name not in known or before not in known | {""}:
            raise InvalidInputError(f"There is no object {name[:20]!r} or {before[:20]!r}.")
        if name != before:
            objects = _figures.reordered(self.state.objects, name, before)
            self.state = replace(self.state, objects=objects)

    def do_glide(self, name: str, x: float, y: float, view: int) -> None:
        """Move a point along the object that it is on."""
        made = self.drafter.construction
        figure = made.by_name.get(name)
        if figure is None or figure.kind != "on" or made.places[figure.parents[0]] is None:
            return
        place = self.view(view).from_screen([x, y])
        value = made.value_on(made.by_name[figure.parents[0]], place)
        self._set_value(name, value)

    def _set_value(self, name: str, value: float) -> None:
        self.state = replace(
            self.state,
            objects=tuple(
                figure._replace(value=round(value, 6)) if figure.name == name else figure
                for figure in self.state.objects
            ),
        )

    def do_remove(self, name: str) -> None:
        objects, lost = _figures.without(self.state.objects, name)
        self.state = replace(self.state, objects=objects)
        self.picked = []
        self._tell_lost(name, lost[1:])

    def _tell_lost(self, name: str, lost: list[str]) -> None:
        if lost:
            self.said.append(f"{name} is gone, and with it {', '.join(lost)}. Undo brings it back.")
