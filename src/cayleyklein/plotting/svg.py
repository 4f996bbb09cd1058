"""The SVG writer: shapes as the elements of a picture, and bars."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.plotting.shapes import LIGHT, MARKERS, Shape, split_paths

PADDING = 0.04  # margin of a picture on each side, relative to its size
CLIP_WIDTHS = 40.0  # coordinates end this many widths outside the picture
LONGEST_NAME = 22  # characters of the name of a bar
IN_TEXT = LIGHT | {"ink": "currentColor"}  # of the text around the picture, light or dark


def picture(shapes: Iterable[Shape], bounds: Floats, size: float, title: str) -> str:
    """Return a picture of a box of the plane with some room, its longer side of `size` pixels."""
    room = PADDING * (float(np.ptp(bounds, axis=0).max()) or 1.0)
    window = bounds + np.array([[-room], [room]])
    extent = np.ptp(window, axis=0)
    width, height = np.maximum(size * extent / extent.max(), 1.0).tolist()
    return document(width, height, title, elements(shapes, window, size, IN_TEXT))


def elements(
    shapes: Iterable[Shape], window: Floats, size: float, palette: Mapping[str, str]
) -> str:
    scale, found = size / np.ptp(window, axis=0).max(), []
    for shape in shapes:
        if len(shape.xy):
            xy = (shape.xy - [window[0, 0], window[1, 1]]) * [scale, -scale]
            xy = np.clip(xy, -CLIP_WIDTHS * size, CLIP_WIDTHS * size)
            color, edge = palette.get(shape.color, shape.color), palette.get(shape.edge, "none")
            found.append(_element(shape, xy, color, edge))
    return "".join(found)


def _element(shape: Shape, xy: Floats, color: str, edge: str) -> str:
    if shape.kind == "area":
        d = path_data(xy, closed=True)
        return f'<path d="{d}" fill="{color}" fill-opacity="{shape.alpha:.2g}"/>'
    if shape.kind == "line":
        d, dashes = path_data(xy), " ".join(map(str, shape.dash))
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


def bar_chart(names: Sequence[str], values: Sequence[float], color: str, title: str) -> str:
    width, row = 150, 26
    parts = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        text = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        length, y = width * 0.75 * value / max(values), row * i
        parts.append(
            f'<text x="0" y="{y + 11}" font-size="11" fill="currentColor">{escape(text)}</text>'
            f'<rect x="0" y="{y + 14}" width="{length:.1f}" height="8" fill="{color}"/>'
            f'<text x="{length + 4:.1f}" y="{y + 22}" font-size="10" fill="currentColor">'
            f"{100 * value:.0f} %</text>"
        )
    return document(width, row * len(parts), title, "".join(parts))


def document(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{body}</svg>'
    )


def number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def path_data(points: Floats, closed: bool = False) -> str:
    """Return polylines or polygons, separated by rows of NaN, as the attribute d of a path."""
    corners = ("L".join(f"{x:.1f} {y:.1f}" for x, y in p.tolist()) for p in split_paths(points))
    return "".join(f"M{piece}{'Z' if closed else ''}" for piece in corners)
