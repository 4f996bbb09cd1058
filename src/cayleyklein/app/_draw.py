"""Shapes, the one drawing language of the page, SVG and PNG, and their colours and markers."""

import math
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.plotting import svg

SIZE = 720  # width and height of a picture in pixels


def _polygon(n: int, first: float, inner: float = 1.0) -> list[list[float]]:
    count = n if inner == 1.0 else 2 * n
    angle = np.radians(first) + 2 * math.pi * np.arange(count) / count
    radius = np.where(np.arange(count) % 2, inner, 1.0)
    corners = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return [[float(x), float(y)] for x, y in corners.round(3)]


MARKERS = {  # corners, of radius 1 and with y downwards
    "circle": _polygon(24, 0),
    "square": _polygon(4, 45),
    "triangle": _polygon(3, -90),
    "diamond": _polygon(4, 0, 0.5),
    "down": _polygon(3, 90),
    "cross": _polygon(4, 45, 0.38),
    "hexagon": _polygon(6, 30),
    "star": _polygon(5, -90, 0.42),
}
COLORS = {  # of seven classes; after them the hues repeat with other markers
    "light": ("#c94a00", "#0067a5", "#12805c", "#a06a00", "#4a4a4a", "#b0559a", "#2e8bc9"),
    "dark": ("#ff8a4c", "#4ea3e6", "#35c493", "#f0b429", "#e3e6ea", "#f08fcb", "#8fd3ff"),
}
PALETTE = {  # none of a geometry is that of a class
    "light": {
        "ink": "#1b1f24", "soft": "#6b7480", "paper": "#ffffff", "gold": "#c08a00",
        "elliptic": "#b3003c", "flat": "#5b3fd0", "hyperbolic": "#4f7a00", "learned": "#7a3b12",
    },
    "dark": {
        "ink": "#e8eaed", "soft": "#98a2ad", "paper": "#15181c", "gold": "#ffe14d",
        "elliptic": "#ff5c7a", "flat": "#a993ff", "hyperbolic": "#a8d63a", "learned": "#d2a27c",
    },
}  # fmt: skip
for _name, _colors in COLORS.items():
    PALETTE[_name] |= {f"class{i}": color for i, color in enumerate(_colors)}

N_HUES = len(COLORS["light"])
STRENGTHS = (0.30, 0.55, 0.16)  # opacity of the regions of classes 0–6, 7–13, and of the rest


def class_look(label: int) -> tuple[str, str, float]:
    """Return the colour and marker of a class, unique up to 56, and the opacity of its region."""
    strength = STRENGTHS[label // N_HUES % len(STRENGTHS)]
    return f"class{label % N_HUES}", list(MARKERS)[label % len(MARKERS)], strength


def plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


class Shape(NamedTuple):
    """An "area", a "line", "marks" or "words" to draw; NaN in xy parts two paths."""

    kind: str
    xy: Floats
    color: str  # of the palette, or hexadecimal; "" leaves marks open
    size: float = 1.0  # width of a line or radius of marks, in pixels
    dash: tuple[float, ...] = ()
    alpha: float = 1.0
    marker: str = "circle"
    edge: str = "paper"
    edge_width: float = 1.0
    text: tuple[str, ...] = ()


def elements(shapes: Iterable[Shape], window: Floats, theme: str) -> str:
    palette = PALETTE[theme]
    scale = SIZE / (window[1] - window[0])
    found = []
    for shape in shapes:
        if len(shape.xy):
            xy = (shape.xy - window[0]) * scale
            xy[:, 1] = SIZE - xy[:, 1]
            xy = np.clip(xy, -svg.CLIP_WIDTHS * SIZE, svg.CLIP_WIDTHS * SIZE)
            color, edge = palette.get(shape.color, shape.color), palette.get(shape.edge, "none")
            found.append(_element(shape, xy, color, edge))
    return "".join(found)


def _element(shape: Shape, xy: Floats, color: str, edge: str) -> str:
    if shape.kind == "area":
        d = svg.path_data(xy, closed=True)
        return f'<path d="{d}" fill="{color}" fill-opacity="{shape.alpha:.2g}"/>'
    if shape.kind == "line":
        d, dashes = svg.path_data(xy), " ".join(map(str, shape.dash))
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        return (
            f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{shape.size:g}" '
            f'stroke-opacity="{shape.alpha:.2g}" stroke-linejoin="round"{dash}/>'
        )
    if shape.kind == "marks":
        corners = shape.size * np.array(MARKERS[shape.marker])
        outline = "l".join(f"{x:.2g} {y:.2g}" for x, y in np.diff(corners, axis=0).tolist())
        d = "".join(f"M{x:.1f} {y:.1f}l{outline}z" for x, y in (xy + corners[0]).tolist())
        return (
            f'<path d="{d}" fill="{color or "none"}" opacity="{shape.alpha:.2g}" stroke="{edge}" '
            f'stroke-width="{shape.edge_width:g}"/>'
        )
    return "".join(
        f'<text x="{x + 8:.1f}" y="{y - 8:.1f}" fill="{color}" '
        f'font-family="serif" font-style="italic" font-size="18">{escape(text)}</text>'
        for (x, y), text in zip(xy.tolist(), shape.text, strict=True)
    )
