"""A scene as an SVG picture, which needs nothing but this module."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

import numpy as np
from numpy.typing import NDArray

from cayleyklein.app._scene import N_SHADES, Scene
from cayleyklein.app._state import PlaneState
from cayleyklein.app._theme import (
    CLASS_FILL,
    LINES,
    MARKERS,
    THEMES,
    Theme,
    class_color,
    geometry_color,
    line_color,
    shade_strength,
)
from cayleyklein.metrics._svg import path_data

__all__ = ["describe", "picture", "svg"]

Array = NDArray[np.float64]

SIZE = 720
"""Width and height in pixels."""

MARKER_SIZE = 5.0
BEYOND = 40.0
"""Coordinates end this many widths outside the picture."""


def svg(state: PlaneState, scene: Scene, *, theme: str = "light", size: int = SIZE) -> str:
    """Return a picture of a scene.

    Examples
    --------
    >>> from cayleyklein.app._scene import make_scene
    >>> svg(PlaneState(), make_scene(PlaneState()))[:28]
    '<svg xmlns="http://www.w3.or'
    """
    look = THEMES[theme]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" '
        f'height="{size}" role="img"><title>{escape(describe(state, scene))}</title>'
        f'<rect width="100%" height="100%" fill="{look.paper}"/>'
        f"{picture(state, scene, look, size)}</svg>"
    )


def describe(state: PlaneState, scene: Scene) -> str:
    """Return what a picture shows, in words."""
    parts = [f"{scene.view.title} view of {len(state.points)} points"]
    parts.append(f"{state.metric.geometry} geometry, K = {state.curvature:g}")
    names = {"cells": "Voronoi cells", "regions": "decision regions", "conic": "conic handles"}
    missing = set() if len(scene.handles) else {"conic"}
    shown = [names.get(layer, layer) for layer in sorted(state.shown - missing)]
    if state.order > 1 and state.shown & {"cells", "regions"}:
        shown.append(f"order {state.order}")
    return "; ".join([*parts, ", ".join(shown) or "points only"])


def picture(state: PlaneState, scene: Scene, look: Theme, size: int) -> str:
    """Return the elements of a picture, without the frame around them."""
    return "".join(_elements(state, scene, look, size))


def _elements(state: PlaneState, scene: Scene, look: Theme, size: int) -> Iterator[str]:
    window = scene.view.window
    scale = size / (window[1, 0] - window[0, 0])

    def place(points: Array) -> Array:
        x = (points - window[0]) * scale
        flipped = np.stack([x[:, 0], size - x[:, 1]], axis=1)
        return np.asarray(np.clip(flipped, -BEYOND * size, BEYOND * size))

    tone = geometry_color(state.curvature)
    for color, outline in scene.fills.items():
        fill = class_color(color) if scene.labelled else tone
        alpha = CLASS_FILL if scene.labelled else shade_strength(color, N_SHADES)
        edge = f' stroke="{look.ink}" stroke-opacity="0.6"' if scene.edged else ""
        yield (
            f'<path d="{path_data(place(outline), closed=True)}" fill="{fill}" '
            f'fill-opacity="{alpha:.3f}"{edge}/>'
        )
    if len(scene.balls):
        yield f'<path d="{path_data(place(scene.balls))}" fill="{tone}" fill-opacity="0.16"/>'
    for name, line in LINES.items():
        if name in scene.lines and len(scene.lines[name]):
            dash = f' stroke-dasharray="{" ".join(map(str, line.dash))}"' if line.dash else ""
            yield (
                f'<path d="{path_data(place(scene.lines[name]))}" fill="none" '
                f'stroke="{line_color(line, look, state.curvature)}" stroke-width="{line.width}" '
                f'stroke-opacity="{line.alpha}" stroke-linejoin="round"{dash}/>'
            )
    for x, y in place(scene.marks):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="#e69f00"/>'
    for i, (x, y) in enumerate(place(scene.points)):
        label = int(state.labels[i])
        fill = class_color(label) if scene.labelled else look.ink
        faint = ' opacity="0.35"' if scene.away[i] or not scene.inside[i] else ""
        yield (
            f'<path d="{_marker(MARKERS[label if scene.labelled else 0], x, y)}" fill="{fill}" '
            f'stroke="{look.paper}" stroke-width="1"{faint}/>'
        )


def _marker(kind: str, x: float, y: float) -> str:
    r = MARKER_SIZE
    if kind == "circle":
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    first, corners = {"square": (45, 4), "triangle": (-90, 3), "diamond": (0, 4)}[kind]
    turns = [math.radians(first + 360 * i / corners) for i in range(corners)]
    spots = (f"{x + 1.2 * r * math.cos(t):.1f} {y + 1.2 * r * math.sin(t):.1f}" for t in turns)
    return f"M{'L'.join(spots)}Z"
