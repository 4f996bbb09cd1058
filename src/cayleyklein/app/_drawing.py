"""Draw the figures of a construction, and ask for their labels."""

from collections.abc import Collection

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.app._figures import Construction, Figure
from cayleyklein.app._measures import short
from cayleyklein.app._tools import POINT_KINDS
from cayleyklein.plotting.shapes import NOTHING, Shape
from cayleyklein.plotting.views import Canvas


def draw_construction(made: Construction, canvas: Canvas, lit: Collection[str] = ()) -> None:
    """Draw what is not hidden; the figures `lit` have a glow."""
    curves = {f: place for f, place in made.placed().items() if f.kind not in POINT_KINDS}
    for figure in curves:
        if figure.kind not in ("number", "note"):
            _draw_curve(made, canvas, figure, figure.name in lit)
    for figure, place in made.placed(*POINT_KINDS).items():
        seen = canvas.view.to_screen(place)[None]
        if figure.kind != "point":
            canvas.marks(
                place[None], figure.color, 4.5, "circle" if figure.kind == "on" else "diamond"
            )
        if figure.name in lit:
            canvas.put(Shape("marks", seen, "", 13.0, edge="gold", edge_width=4.0))
        text = figure.name
        if figure.pinned:
            text += f" ({place[0]:.2f}, {place[1]:.2f})".replace("-", "\N{MINUS SIGN}")
        canvas.label(text, figure.color, seen)
    for figure, place in curves.items():
        _label_curve(made, canvas, figure, place)


def _draw_curve(made: Construction, canvas: Canvas, figure: Figure, lit: bool) -> None:
    path = made.path(figure, canvas.view)
    if not len(path):
        return
    if figure.kind == "polygon":
        canvas.rings(path[~np.isnan(path[:, 0])][None], figure.color, 0.12)
    if lit:
        canvas.line(path, "gold", 7.0, alpha=0.5)
    dashes: dict[str, tuple[float, ...]] = {"distance": (6, 4), "locus": (1, 4)}
    canvas.line(path, figure.color, 2.4, dashes.get(figure.kind, ()))


def _label_curve(made: Construction, canvas: Canvas, figure: Figure, place: object) -> None:
    measured = short(made, figure) if figure.pinned else ""
    view = canvas.view
    if figure.kind == "note":
        (at,) = made.given(figure)
        canvas.label(figure.note, figure.color, view.to_screen(at)[None], 14.0)
        return
    if figure.kind == "number" or (figure.kind in ("polygon", "angle", "locus") and not measured):
        return  # whose corners have names
    seen = view.look(_whole(made.path(figure, view)))[0]
    if figure.kind == "polygon":
        corners = view.to_screen(np.asarray(place))
        sides = (corners + np.roll(corners, -1, axis=0)) / 2
        anchors = np.concatenate([seen.mean(axis=0)[None], sides, corners])
    else:
        off = np.abs(seen - view.middle).max(axis=1)
        shown = seen[off < 0.9 * view.half_width]
        parts = [0.12, 0.3, 0.7, 0.88, 0.2, 0.8, 0.4, 0.6]  # of the path, where its label may be
        if figure.kind in ("segment", "distance", "angle"):
            parts = [0.5, *parts]
        anchors = shown[[int(part * (len(shown) - 1)) for part in parts]] if len(shown) else NOTHING
    named = figure.kind not in ("polygon", "angle", "distance")
    text = f"{figure.name} = {measured}" if named and measured else measured or figure.name
    canvas.label(text.replace("= r ", ": r "), figure.color, anchors, 4.0)


def _whole(path: Floats) -> Floats:
    """Return a path without its gaps, with some points on a path that has only ends."""
    path = path[~np.isnan(path[:, 0])]
    if len(path) == 2:
        path = path[0] + np.linspace(0, 1, 21)[:, None] * (path[1] - path[0])
    return path
