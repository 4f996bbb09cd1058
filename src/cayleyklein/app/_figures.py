"""Figures that a visitor constructs: their kinds, names and parents, and how an address holds them.

A figure of the kind "point" names a point of the plane by its number; every other figure depends on
the figures that it is made from, which come before it.
"""

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import NamedTuple

from cayleyklein._validation import as_choice
from cayleyklein.exceptions import InvalidInputError

# A tool's title and what it is made from, one letter each: a Point or a Line; * for three or more.
TOOLS = {
    "point": ("Point", "P"),
    "segment": ("Segment", "PP"),
    "line": ("Line", "PP"),
    "circle": ("Circle", "PP"),
    "ball": ("Circle of radius", "P"),
    "polygon": ("Polygon", "P*"),
    "midpoint": ("Midpoint", "PP"),
    "meet": ("Where lines meet", "LL"),
    "perpendicular": ("Perpendicular", "LP"),
    "angle": ("Angle", "PPP"),
    "bisector": ("Angle bisector", "PPP"),
    "reflection": ("Mirror image", "PL"),
    "parallels": ("Limiting parallels", "LP"),
    "horocycle": ("Horocycle", "PP"),
    "equidistant": ("Equidistant", "LP"),
}
POINT_KINDS = ("point", "midpoint", "meet", "reflection")
LINE_KINDS = ("segment", "line", "perpendicular", "bisector")
FIGURE_COLORS = {
    "ink": "black", "gold": "gold", "elliptic": "red", "flat": "violet", "hyperbolic": "green",
    "learned": "brown",
}  # fmt: skip
MOST_FIGURES, MOST_CORNERS = 200, 24
NAME = re.compile(r"[^\W_][\w′]{0,11}")


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
    value: float = 0.0  # the number of a point, or the radius of a ball

    @property
    def text(self) -> str:
        parents = ".".join(self.parents)
        return f"{self.kind},{self.name},{parents},{self.color},{self.hidden:d},{self.value:g}"


def takes(figure: Figure, needed: str) -> bool:
    return figure.kind in (LINE_KINDS if needed == "L" else POINT_KINDS)


def read_figures(text: str) -> tuple[Figure, ...]:
    found: dict[str, Figure] = {}
    for item in filter(None, text.split(";")):
        parts = item.split(",")
        if len(parts) != 6 or len(found) >= MOST_FIGURES:
            said = f"up to {MOST_FIGURES} figures of six parts each"
            raise InvalidInputError(f"objects must hold {said}; got {item[:30]!r}.")
        kind, name, parents, color, hidden, value = parts
        (number,) = read_numbers(value, "objects", 1)
        hue = as_choice(color[:20], "color", tuple(FIGURE_COLORS))
        names = tuple(filter(None, parents.split(".")))
        figure = Figure(kind, name, names, hue, hidden == "1", number)
        check_figure(figure, found)
        found[name] = figure
    return tuple(found.values())


def check_figure(figure: Figure, before: dict[str, Figure]) -> None:
    as_choice(figure.kind[:20], "kind", tuple(TOOLS))
    check_figure_name(figure.name, before)
    needed = "" if figure.kind == "point" else needs_of(figure.kind, len(figure.parents))
    parents = [before[name] for name in figure.parents if name in before]
    fits = len(parents) == len(figure.parents) == len(needed)
    if not fits or not all(takes(p, n) for p, n in zip(parents, needed, strict=True)):
        raise InvalidInputError(f"{figure.name} cannot be made from {'.'.join(figure.parents)!r}.")


def needs_of(kind: str, n: int) -> str:
    needed = TOOLS[kind][1]
    return "P" * min(max(n, 3), MOST_CORNERS) if needed == "P*" else needed


def check_figure_name(name: str, taken: Iterable[str]) -> None:
    if not NAME.fullmatch(name):
        raise InvalidInputError(f"A name has up to 12 letters and digits; got {name[:20]!r}.")
    if name in taken:
        raise InvalidInputError(f"There is a {name} already; choose another name.")


def new_name(kind: str, taken: Iterable[str]) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if kind in POINT_KINDS else "abcdefghijklmnopqrstuvwxyz"
    known = set(taken)
    names = (f"{letter}{i or ''}" for i in count() for letter in letters)
    return next(name for name in names if name not in known)


def without(figures: tuple[Figure, ...], name: str) -> tuple[tuple[Figure, ...], list[str]]:
    """Return the figures that stay when one goes, and the names of those that go with it."""
    gone = {name}
    for figure in figures:  # parents come first
        if gone.intersection(figure.parents):
            gone.add(figure.name)
    stay = tuple(f for f in figures if f.name not in gone)
    return stay, [f.name for f in figures if f.name in gone and f.name != name]


def without_point(figures: tuple[Figure, ...], index: int) -> tuple[tuple[Figure, ...], list[str]]:
    """Do the same for a point of the plane; the numbers after it become one less."""
    lost: list[str] = []
    for name in [f.name for f in figures if f.kind == "point" and f.value == index]:
        figures, more = without(figures, name)
        lost += [name, *more]
    later = {f for f in figures if f.kind == "point" and f.value > index}
    return tuple(f._replace(value=f.value - 1) if f in later else f for f in figures), lost
