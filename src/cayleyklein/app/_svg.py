"""A scene as an SVG picture."""

from __future__ import annotations

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
from cayleyklein.plotting import Drawing

__all__ = ["describe", "picture", "svg"]

SIZE = 720
"""Width and height in pixels."""

MARKER_SIZE = 5.0


def svg(state: PlaneState, scene: Scene, *, theme: str = "light", size: int = SIZE) -> str:
    """Return a picture of a scene.

    Examples
    --------
    >>> from cayleyklein.app._scene import make_scene
    >>> svg(PlaneState(), make_scene(PlaneState()))[:28]
    '<svg xmlns="http://www.w3.or'
    """
    look = THEMES[theme]
    drawing = _drawing(state, scene, look, size)
    return drawing.svg(describe(state, scene), background=look.paper)


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
    return _drawing(state, scene, look, size).elements


def _drawing(state: PlaneState, scene: Scene, look: Theme, size: int) -> Drawing:
    drawing, tone = Drawing(scene.view.window, size, padding=0.0), geometry_color(state.curvature)
    for color, outline in scene.fills.items():
        drawing.path(
            outline,
            closed=True,
            stroke=look.ink if scene.edged else None,
            opacity=0.6 if scene.edged else 1.0,
            fill=class_color(color) if scene.labelled else tone,
            fill_opacity=CLASS_FILL if scene.labelled else shade_strength(color, N_SHADES),
        )
    if len(scene.balls):
        drawing.path(scene.balls, stroke=None, fill=tone, fill_opacity=0.16)
    for name, line in LINES.items():
        if name in scene.lines and len(scene.lines[name]):
            stroke = line_color(line, look, state.curvature)
            drawing.path(
                scene.lines[name],
                stroke=stroke,
                width=line.width,
                opacity=line.alpha,
                dash=line.dash,
            )
    drawing.dots(scene.marks, color="#e69f00", radius=2.6)
    for i, point in enumerate(scene.points):
        label = int(state.labels[i])
        drawing.marker(
            point,
            MARKERS[label if scene.labelled else 0],
            color=class_color(label) if scene.labelled else look.ink,
            edge=look.paper,
            radius=MARKER_SIZE,
            opacity=0.35 if scene.away[i] or not scene.inside[i] else 1.0,
        )
    return drawing
