"""Figures that a visitor constructs: their text in an address, their places, and their drawing.

A figure of the kind "point" names a point of the plane by its number; every other figure depends on
the figures that it is made from, which come before it.
"""

import math
import re
from collections.abc import Container, Iterable
from contextlib import suppress
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._tools import CIRCLE_KINDS, LINE_KINDS, NEEDS, POINT_KINDS, TOOLS, Circle
from cayleyklein.app._views import View
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.geometry import circles, constructions, metric_tensor
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.shapes import NOTHING, chain
from cayleyklein.plotting.views import sample_segments, see_path

FIGURE_COLORS = {
    "ink": "black",
    "gold": "gold",
    "elliptic": "red",
    "flat": "violet",
    "hyperbolic": "green",
    "learned": "brown",
}


def read_numbers(text: str, name: str, count: int) -> list[float]:
    with suppress(ValueError):
        values = [float(part) for part in text.split(",")]
        if len(values) == count and all(map(math.isfinite, values)):
            return values
    said = "a number" if count == 1 else f"{count} numbers"
    raise InvalidInputError(f"{name} must be {said}; got {text[:30]!r}.")


class Figure(NamedTuple):
    kind: str
    name: str
    parents: tuple[str, ...] = ()
    color: str = "ink"
    hidden: bool = False
    # the number of a point, the radius of a ball or of a slider, the place of a point on an object,
    # and which one of several that the same parents have
    value: float = 0.0
    pinned: bool = False  # whether its measure is in the drawing
    note: str = ""

    @property
    def text(self) -> str:
        """The figure in an address; the fifth part is 1 for hidden, and 2 for pinned."""
        parents = ".".join(self.parents)
        shown = self.hidden + 2 * self.pinned
        text = f"{self.kind},{self.name},{parents},{self.color},{shown:d},{self.value:g}"
        return f"{text},{quote(self.note, safe=' ')}" if self.note else text

    def fits(self, needed: str) -> bool:
        return self.kind in NEEDS[needed].kinds


def read_figures(text: str) -> tuple[Figure, ...]:
    found: dict[str, Figure] = {}
    for item in filter(None, text.split(";")):
        parts = item.split(",")
        if len(parts) not in (6, 7) or len(found) >= LIMITS.most_figures:
            said = f"up to {LIMITS.most_figures} figures of six parts each"
            raise InvalidInputError(f"objects must hold {said}; got {item[:30]!r}.")
        kind, name, parents, color, shown, value = parts[:6]
        (number,) = read_numbers(value, "objects", 1)
        hue = as_choice(color[:20], "color", tuple(FIGURE_COLORS))
        names = tuple(filter(None, parents.split(".")))
        note = as_note(unquote(parts[6])) if len(parts) == 7 else ""
        figure = Figure(
            kind, name, names, hue, shown in ("1", "3"), number, shown in ("2", "3"), note
        )
        found[name] = checked(figure, found)
    return tuple(found.values())


def as_note(text: str) -> str:
    if len(text) > LIMITS.note_letters:
        raise InvalidInputError(f"A note has up to {LIMITS.note_letters} letters.")
    return " ".join(text.split())


def checked(figure: Figure, before: dict[str, Figure]) -> Figure:
    as_choice(figure.kind[:20], "kind", tuple(TOOLS))
    check_figure_name(figure.name, before)
    needed = "" if figure.kind == "point" else TOOLS[figure.kind].needs
    if needed == "P*":
        needed = "P" * min(max(len(figure.parents), 3), LIMITS.most_corners)
    if figure.kind == "ball" and len(figure.parents) == 1:  # with a radius of its own
        needed = "P"
    parents = [before[name] for name in figure.parents if name in before]
    fits = len(parents) == len(figure.parents) == len(needed)
    if not fits or not all(p.fits(n) for p, n in zip(parents, needed, strict=True)):
        raise InvalidInputError(f"{figure.name} cannot be made from {'.'.join(figure.parents)!r}.")
    return figure


def check_figure_name(name: str, taken: Container[str]) -> None:
    if not re.fullmatch(r"[^\W_][\w′]{0,11}", name):
        raise InvalidInputError(f"A name has up to 12 letters and digits; got {name[:20]!r}.")
    if name in taken:
        raise InvalidInputError(f"There is a {name} already; choose another name.")


def new_name(kind: str, taken: Container[str]) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if kind in POINT_KINDS else "abcdefghijklmnopqrstuvwxyz"
    if kind == "number":
        letters = "rstuvw"
    names = (f"{letter}{i or ''}" for i in count() for letter in letters)
    return next(name for name in names if name not in taken)


def without(figures: tuple[Figure, ...], *names: str) -> tuple[tuple[Figure, ...], list[str]]:
    """Remove figures and all that depend on them; return the rest, and the names of the removed."""
    gone = dict.fromkeys(names)
    for figure in figures:  # parents come first
        if figure.name in gone or not gone.keys().isdisjoint(figure.parents):
            gone[figure.name] = None
    return tuple(f for f in figures if f.name not in gone), list(gone)


def reordered(figures: tuple[Figure, ...], name: str, before: str) -> tuple[Figure, ...]:
    """Move a figure before another, or to the end for ""; parents stay before their children."""
    mine = next(f for f in figures if f.name == name)
    rest = [f for f in figures if f.name != name]
    at = next((i for i, f in enumerate(rest) if f.name == before), len(rest))
    late = [f.name for f in rest[at:] if f.name in mine.parents]
    early = [f.name for f in rest[:at] if name in f.parents]
    if late or early:
        said = f"{name} is made from {late[0]}" if late else f"{early[0]} is made from {name}"
        raise InvalidInputError(f"{said}, and what is made comes later.")
    return (*rest[:at], mine, *rest[at:])


class Construction:
    """The figures of a state. `places` has points (2,), lines, circles, corners and numbers."""

    def __init__(self, figures: Iterable[Figure], points: Floats, metric: CurvedMetric) -> None:
        self.figures = tuple(figures)
        self.metric = metric
        self._points = points
        self.by_name = {figure.name: figure for figure in self.figures}
        self.places: dict[str, Any] = {}  # None for figures that do not exist at this K
        for figure in self.figures:
            self.places[figure.name] = self.place_of(figure, self.given(figure))

    @cached_property
    def rings(self) -> dict[str, Floats]:
        """Circles as polylines."""
        found = self.placed(*CIRCLE_KINDS, hidden=True)
        if not found:
            return {}
        centers = np.stack([circle.center for circle in found.values()])
        radii = [circle.radius for circle in found.values()]
        rings = outlines.spheres(self.metric, centers, radii, 145)
        return {figure.name: ring for figure, ring in zip(found, rings, strict=True)}

    def given(self, figure: Figure) -> list[Any]:
        return [self.places[name] for name in figure.parents]

    def place_of(self, figure: Figure, given: list[Any]) -> Any:
        if any(place is None for place in given):
            return None
        with suppress(CayleyKleinError):
            return self._place(figure, given)
        return None

    def _place(self, figure: Figure, given: list[Any]) -> Any:
        if figure.kind == "number":
            return figure.value
        if figure.kind == "point":
            x = self._points[int(figure.value)]
            return x if self.metric.contains(x) else None
        if figure.kind == "on":
            return self._finite(self.point_on(self.by_name[figure.parents[0]], figure.value))
        if figure.kind == "ball" and len(given) == 1:
            return Circle(given[0], figure.value)
        place = TOOLS[figure.kind].place(*given, self.metric)
        if figure.kind in ("meet", "tangent"):
            which = int(figure.value)
            return self._finite(place[which]) if which < len(place) else None
        if figure.kind == "angle":
            return None if (place[::2] == place[1]).all(axis=1).any() else place
        return self._finite(place) if figure.kind in POINT_KINDS else place

    def _finite(self, place: Any) -> Any:
        known = not isinstance(place, np.ndarray) or np.isfinite(place).all()
        return place if known else None

    def point_on(self, way: Figure, value: float) -> Floats:
        """Return the point of a figure at a value: a length, an angle, or a part of the sides."""
        place = self.places[way.name]
        if way.kind in CIRCLE_KINDS:
            return circles.point_at(place.center, place.radius, value, self.metric)
        ends = self._ends(way)
        if ends is None:
            return constructions.point_on_line(place, value, self.metric)
        side = int(value) % len(ends)
        p, q = ends[side]
        return np.asarray(self.metric.geodesic(p, q, value - math.floor(value)), dtype=float)

    def value_on(self, way: Figure, x: Floats) -> float:
        """Return the value of the point of a figure that is nearest to a place."""
        place = self.places[way.name]
        if way.kind in CIRCLE_KINDS:
            return circles.angle_at(place.center, x, self.metric)
        ends = self._ends(way)
        if ends is None:
            return constructions.place_on_line(place, x, self.metric)
        found = []
        for side, (p, q) in enumerate(ends):
            line = constructions.line_through(p, q)
            start, here, end = (
                constructions.place_on_line(line, y, self.metric) for y in (p, x, q)
            )
            part = min(max((here - start) / (end - start), 0.0), 1 - 1e-6)
            spot = np.asarray(self.metric.geodesic(p, q, part), dtype=float)
            found.append((float(self.metric.distance(spot, x)), side + part))
        return min(found)[1]

    def _ends(self, way: Figure) -> Floats | None:
        """Return the ends (n, 2, 2) of a segment or of a polygon's sides; None for a line."""
        if way.kind == "segment":
            return np.stack(self.given(way))[None]
        if way.kind == "polygon":
            corners = self.places[way.name]
            return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
        return None

    def placed(self, *kinds: str, hidden: bool = False) -> dict[Figure, Any]:
        """Return the places of figures of some kinds, or of all, that have a place."""
        wanted = [f for f in self.figures if f.kind in (kinds or TOOLS) and hidden >= f.hidden]
        return {f: self.places[f.name] for f in wanted if self.places[f.name] is not None}

    def path(self, figure: Figure, view: View) -> Floats:
        """Return a figure that is not a point as a polyline in x."""
        place = self.places[figure.name]
        metric = self.metric
        if figure.kind in ("segment", "distance"):
            p, q = self.given(figure)
            return sample_segments(view, p[None], q[None])
        if figure.kind in LINE_KINDS:
            return outlines.line_path(metric, place, 129)
        if figure.kind == "parallels":
            return chain(outlines.line_path(metric, line, 129) for line in place)
        if figure.kind in CIRCLE_KINDS:
            return self.rings[figure.name]
        if figure.kind == "polygon":
            return sample_segments(view, place, np.roll(place, -1, axis=0))
        if figure.kind == "locus":
            return self.locus(figure)
        return self._arc(*place) if figure.kind == "angle" else np.asarray(place)

    def locus(self, figure: Figure) -> Floats:
        """Return where a point is for every value of what it depends on; NaN where it is not."""
        mover, end = (self.by_name[name] for name in figure.parents)
        chained = _between(self.figures, mover.name, end.name)
        if end.name not in chained:
            return NOTHING
        steps = [figure for figure in self.figures if figure.name in chained]
        trial = object.__new__(Construction)
        trial.__dict__.update(self.__dict__ | {"places": dict(self.places)})
        trial.by_name = dict(self.by_name)
        n_steps = 120
        path = np.full((n_steps + 1, 2), np.nan)
        for i, value in enumerate(self._values_of(mover, np.linspace(0, 1, n_steps + 1))):
            for step in steps:
                moved = step._replace(value=value) if step.name == mover.name else step
                trial.places[step.name] = trial.place_of(moved, trial.given(moved))
            if trial.places[end.name] is not None:
                path[i] = trial.places[end.name]
        return path

    def _values_of(self, mover: Figure, part: Floats) -> Floats:
        if mover.kind == "number":
            low, high = 0.02, 2.0  # the ends of the page's sliders
            return low + (high - low) * part
        way = self.by_name[mover.parents[0]]
        if way.kind in CIRCLE_KINDS:
            return 2 * math.pi * part
        ends = self._ends(way)
        if ends is not None:
            return len(ends) * part * (1 - 1e-9)
        K = self.metric.curvature
        longest = 1.57 / math.sqrt(K) if K > 0 else 8.0 / math.sqrt(-K) if K else 10.0
        return min(longest, 20.0) * (2 * part - 1) ** 3

    def _arc(self, p: Floats, x: Floats, q: Floats) -> Floats:
        C = np.linalg.cholesky(metric_tensor(x, self.metric))
        a, b = (np.asarray(self.metric.log(x, end)) @ C for end in (p, q))
        turn = math.atan2(a[0] * b[1] - a[1] * b[0], float(a @ b))
        angle = math.atan2(a[1], a[0]) + turn * np.linspace(0, 1, 33)
        radius = 0.22 * min(np.linalg.norm(a), np.linalg.norm(b))
        steps = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ np.linalg.inv(C)
        return np.asarray(self.metric.exp(x, steps))

    def nearest(
        self,
        spot: Floats,
        view: View,
        reach: float,
        kinds: tuple[str, ...],
        without: Container[str] = (),
    ) -> str | None:
        """Return the name of the figure of some kinds that is next to a place on the screen."""
        best = None
        least = reach
        for figure, place in self.placed(*kinds).items():
            if figure.kind == "number" or figure.name in without:
                continue
            if figure.kind in POINT_KINDS:
                on_path = view.to_screen(place)[None]
            else:  # the point of each piece of its path that is nearest
                path = np.concatenate(see_path(view, self.path(figure, view)))
                start = path[:-1]
                step = np.diff(path, axis=0)
                square = np.maximum(np.sum(step**2, axis=1), np.finfo(float).tiny)
                t = np.clip(np.sum((spot - start) * step, axis=1) / square, 0, 1)
                on_path = start + t[:, None] * step
            gap = np.nanmin(np.linalg.norm(on_path - spot, axis=1), initial=math.inf)
            if gap < least:
                best = figure.name
                least = float(gap)
        return best


def _between(figures: tuple[Figure, ...], start: str, end: str) -> set[str]:
    """Return the names of figures that depend on one and that another depends on, with both."""
    later = {start}
    for figure in figures:
        if not later.isdisjoint(figure.parents):
            later.add(figure.name)
    earlier = {end}
    for figure in reversed(figures):
        if figure.name in earlier:
            earlier.update(figure.parents)
    return later & earlier
