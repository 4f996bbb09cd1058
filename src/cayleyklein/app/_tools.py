"""The tools of the plane: figures that are picked together, their list, and moves of the space."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice, as_real
from cayleyklein.app import _figures
from cayleyklein.app._figures import TOOLS, Figure
from cayleyklein.app._state import LARGEST_COORDINATE, PlaneState, rounded_point
from cayleyklein.app._tiling import Tiling
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import constructions

HAND, MOVES = "hand", ("move", "turn")
PROMPTS = {"P": "a point, or empty ground for a new one", "L": "a line or a segment"}


class Toolbox:
    """What a visitor does with the tools; a session adds the state, its drafter and its view."""

    state: PlaneState
    drafter: Any
    view: Any
    do_add: Any

    def __init__(self) -> None:
        self.tool = HAND
        self.picked: list[str] = []
        self.said: list[str] = []
        self._held: tuple[PlaneState, Floats] | None = None

    def tool_answer(self) -> dict[str, Any]:
        needed = self._needed()
        names = [f.name for f in self.state.objects if needed and _figures.takes(f, needed)]
        prompt = ""
        if needed:
            title = TOOLS[self.tool][0]
            prompt = f"{title}: choose {PROMPTS[needed]}."
            if self.picked:
                prompt = f"{title} {', '.join(self.picked)}: then {PROMPTS[needed]}."
            if self.tool == "polygon" and len(self.picked) > 2:
                prompt += f" Choose {self.picked[0]} again to end."
        return {"name": self.tool, "prompt": prompt, "candidates": names, "needs": needed}

    def objects_answer(self) -> list[dict[str, Any]]:
        made = self.drafter.construction
        return [
            figure._asdict() | {"title": TOOLS[figure.kind][0], "measure": made.measure(figure)}
            for figure in sorted(self.state.objects, key=lambda f: f.kind in _figures.POINT_KINDS)
        ]

    def dependent_measures(self, index: int) -> str:
        """Return what is measured of the figures that are made from a point."""
        made, figures = self.drafter.construction, self.state.objects
        names = {f.name for f in figures if f.kind == "point" and f.value == index}
        mine = [f for f in figures if names & set(f.parents) and f.kind not in _figures.POINT_KINDS]
        return "; ".join(f"{f.name}: {made.measure(f)}" for f in mine[-2:])

    def _needed(self) -> str:
        """Return "P" or "L" for what the tool takes next, or nothing."""
        if self.tool not in TOOLS:
            return ""
        return _figures.needs_of(self.tool, len(self.picked) + 1)[len(self.picked)]

    def do_tool(self, name: str) -> None:
        self.tool = as_choice(name[:20], "tool", (HAND, *MOVES, *TOOLS))
        self.picked = []

    def do_pick(self, x: float, y: float, view: int, reach: float) -> None:
        """Take what is at a place of the drawing for the tool, or a new point there."""
        needed, looking = self._needed(), self.view(view)
        if not needed:
            return
        spot = np.array([x, y])
        found = self.drafter.construction.nearest(spot, looking, abs(reach), needed)
        if found is None and needed == "L":
            raise InvalidInputError("There is no line here; choose a line or a segment.")
        if found is None:
            if not looking.holds(spot):
                raise InvalidInputError("This is outside the geometry.")
            seen = np.linalg.norm(looking.to_screen(self.state.coordinates) - spot, axis=1)
            near = int(np.argmin(seen)) if len(seen) else -1
            if near >= 0 and seen[near] < abs(reach):
                found = self._name_point(near)
            else:
                self.do_add(x, y, view)
                found = self._name_point(len(self.state.points) - 1)
        self._take(found)

    def do_take(self, name: str = "") -> None:
        """Take a figure by its name, or the chosen point."""
        if not self._needed():
            return
        if not name and self.state.points and self._needed() == "P":
            name = self._name_point(self.state.chosen[0])
        figure = self.drafter.construction.by_name.get(name)
        if figure is None or not _figures.takes(figure, self._needed()):
            raise InvalidInputError(f"Choose {PROMPTS[self._needed()]}.")
        self._take(name)

    def _name_point(self, index: int) -> str:
        for figure in self.state.objects:
            if figure.kind == "point" and figure.value == index:
                return figure.name
        return self._construct(Figure("point", "", value=index))

    def _take(self, name: str) -> None:
        ends = self.tool == "polygon" and self.picked[:1] == [name]
        if not ends:
            if name in self.picked:
                raise InvalidInputError(f"{name} is taken already; choose another.")
            self.picked.append(name)
        picked, needed = self.picked, TOOLS[self.tool][1]
        if self.tool == "point":
            self.picked = []
        elif (len(picked) == len(needed) and needed != "P*") or (ends and len(picked) > 2):
            self.picked = []
            radius = self.state.radius if self.tool == "ball" else 0.0
            self._construct(Figure(self.tool, "", tuple(picked), value=radius))

    def _construct(self, figure: Figure) -> str:
        figures = self.state.objects
        name = _figures.new_name(figure.kind, self.drafter.construction.by_name)
        if figure.kind == "polygon":
            joined = "".join(figure.parents)[:12]
            name = name if joined in self.drafter.construction.by_name else joined
        if len(figures) >= _figures.MOST_FIGURES:
            raise InvalidInputError(f"{_figures.MOST_FIGURES} objects are the most of a page.")
        figure = figure._replace(name=name)
        _figures.check_figure(figure, self.drafter.construction.by_name)
        self.state = replace(self.state, objects=(*figures, figure))
        if figure.kind != "point":
            self.said.append(f"{name}: {self.drafter.construction.measure(figure)}")
        return name

    def do_figure(self, name: str, part: str, value: str) -> None:
        """Change the name, colour, radius or visibility of a figure."""
        figures, found = self.state.objects, self.drafter.construction.by_name
        if name not in found:
            raise InvalidInputError(f"There is no object {name[:20]!r}.")
        figure = found[name]
        if part == "name":
            _figures.check_figure_name(value, set(found) - {name})
            new = {name: value}
            made = ([new.get(parent, parent) for parent in f.parents] for f in figures)
            pairs = zip(figures, made, strict=True)
            figures = tuple(f._replace(parents=tuple(parents)) for f, parents in pairs)
            figure = figure._replace(name=value)
        elif part == "color":
            hue = as_choice(value[:20], "color", tuple(_figures.FIGURE_COLORS))
            figure = figure._replace(color=hue)
        elif part == "hidden":
            figure = figure._replace(hidden=value == "1")
        elif part == "value" and figure.kind == "ball":
            (radius,) = _figures.read_numbers(value, "radius", 1)
            figure = figure._replace(value=as_real(radius, "radius", "(0, 20]"))
        else:
            raise InvalidInputError(f"{part[:20]!r} of {name} cannot be changed.")
        changed = tuple(figure if f.name == name else f for f in figures)
        self.state = replace(self.state, objects=changed)

    def do_tile(self, p: int, q: int, depth: int, edge: float) -> None:
        """Lay a tiling {p, q}, or none for p = 0; an edge of 0 keeps K where it can."""
        if not p:
            self.state = replace(self.state, tiling=None)
            return
        tiling = (self.state.tiling or Tiling(p, q))._replace(p=p, q=q, depth=depth)
        if not edge:
            K = self.state.curvature
            K = K if np.sign(K) == tiling.sign else 0.6 * tiling.sign
            edge = tiling.unit_edge / math.sqrt(abs(K)) if K else 0.5
        self.state = self.state.with_parts({"tiling": tiling._replace(edge=edge).text})

    def do_remove(self, name: str) -> None:
        objects, lost = _figures.without(self.state.objects, name)
        self.state, self.picked = replace(self.state, objects=objects), []
        self.tell_lost(name, lost)

    def tell_lost(self, name: str, lost: list[str]) -> None:
        if lost:
            self.said.append(f"{name} is gone, and with it {', '.join(lost)}. Undo brings it back.")

    # -- isometries

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
        self.state = moved_state(state, move)


def moved_state(state: PlaneState, move: Floats) -> PlaneState:
    """Return a state whose points inside the geometry are moved by an isometry."""
    x, metric = state.coordinates, state.metric
    tiling = state.tiling.moved(metric, move) if state.tiling else None
    if not len(x):
        return replace(state, tiling=tiling)
    inside = np.asarray(metric.contains(x))
    lifted = np.column_stack([x, np.ones(len(x))]) @ move.T
    beyond = inside & (lifted[:, 2] * LARGEST_COORDINATE < np.abs(lifted[:, :2]).max(axis=1))
    if beyond.any():
        number = int(np.argmax(beyond)) + 1
        raise InvalidInputError(f"Point {number} would leave the page; move it by less.")
    at = np.where(inside[:, None], lifted[:, :2] / np.where(inside, lifted[:, 2], 1.0)[:, None], x)
    points = (rounded_point(u, v, p.label) for (u, v), p in zip(at, state.points, strict=True))
    return replace(state, points=tuple(points), tiling=tiling)
