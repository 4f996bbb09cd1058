"""Colours of the page's drawings, light and dark, as the plots of the library have them."""

from __future__ import annotations

from typing import NamedTuple

from cayleyklein.plotting import CLASS_COLORS, GEOMETRY_COLORS

__all__ = [
    "CLASS_FILL",
    "LINES",
    "MARKERS",
    "THEMES",
    "Line",
    "Theme",
    "channels",
    "class_color",
    "geometry_color",
    "line_color",
    "shade_strength",
]

CLASS_FILL = 0.30
"""Opacity of decision regions."""

MARKERS = ("circle", "square", "triangle", "diamond")
"""A class is told by its marker as well as by its colour."""


class Theme(NamedTuple):
    """The colours that change between light and dark."""

    name: str
    ink: str
    soft: str
    paper: str


THEMES = {
    "light": Theme("light", ink="#1b1f24", soft="#6b7480", paper="#ffffff"),
    "dark": Theme("dark", ink="#e8eaed", soft="#98a2ad", paper="#15181c"),
}


class Line(NamedTuple):
    """How a line is drawn; its colour is one of the theme's, or that of the geometry."""

    color: str
    width: float
    dash: tuple[int, ...] = ()
    alpha: float = 1.0


LINES = {
    "axes": Line("soft", 1.0, (2, 3), 0.8),
    "conic": Line("soft", 1.2, (6, 4), 0.9),
    "delaunay": Line("geometry", 1.3, (), 0.75),
    "geodesics": Line("soft", 0.9, (), 0.55),
    "spheres": Line("geometry", 1.1, (), 0.9),
    "frontier": Line("ink", 2.0),
    "bisector": Line("#cc79a7", 2.6),
    "geodesic": Line("#e69f00", 2.6),
    "rim": Line("ink", 2.6),
}
"""In the order in which they are drawn."""


def geometry_color(curvature: float) -> str:
    """Return the colour of a curvature: green, blue or red, mixed in between.

    >>> geometry_color(0.0) == GEOMETRY_COLORS["flat"].lower()
    True
    """
    end = GEOMETRY_COLORS["hyperbolic" if curvature < 0 else "elliptic"]
    part = abs(curvature) ** 0.5
    flat, other = map(channels, (GEOMETRY_COLORS["flat"], end))
    mixed = (round(a + part * (b - a)) for a, b in zip(flat, other, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def channels(color: str) -> list[int]:
    """Return the red, green and blue of a colour.

    >>> channels("#e69f00")
    [230, 159, 0]
    """
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def shade_strength(shade: int, n_shades: int) -> float:
    """Return the opacity of a shade of unlabelled cells."""
    return 0.06 + 0.26 * shade / (n_shades - 1)


def line_color(line: Line, theme: Theme, curvature: float) -> str:
    """Return the colour in which a line is drawn."""
    if line.color == "geometry":
        return geometry_color(curvature)
    return line.color if line.color.startswith("#") else str(getattr(theme, line.color))


def class_color(label: int) -> str:
    """Return the colour of a class."""
    return CLASS_COLORS[label]
