"""The SVG writer: small drawings of the plane."""

from collections.abc import Sequence
from html import escape

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.plotting.style import PICTURE_PADDING

CLIP_WIDTHS = 40.0  # coordinates end this many widths outside the picture
LONGEST_NAME = 22  # characters of the name of a bar


class Drawing:
    """A picture of a box of the plane, its longer side of `size` pixels.

    The stroke ``currentColor`` is the colour of the text around the picture, light or dark.
    """

    def __init__(self, bounds: Floats, size: float) -> None:
        extent = np.ptp(bounds, axis=0)
        longest = float(extent.max()) or 1.0
        room = PICTURE_PADDING * longest
        self._scale = size / (longest + 2 * room)
        self._corner = bounds[0] - room
        self._size = np.maximum((extent + 2 * room) * self._scale, 1.0)
        self._elements: list[str] = []

    def path(
        self, points: Floats, *, closed: bool = False, stroke: str = "currentColor",
        width: float = 1.0, fill: str = "none", fill_opacity: float = 1.0,
    ) -> None:  # fmt: skip
        look = {"fill-opacity": fill_opacity, "stroke-width": width}
        more = "".join(f' {name}="{value:g}"' for name, value in look.items() if value != 1)
        d = path_data(self._place(points), closed)
        self._elements.append(
            f'<path d="{d}" fill="{fill}" stroke="{stroke}" stroke-linejoin="round"{more}/>'
        )

    def dots(self, points: Floats, *, radius: float) -> None:
        self._elements += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="currentColor"/>'
            for x, y in self._place(points).tolist()
        ]

    def svg(self, title: str) -> str:
        width, height = self._size.tolist()
        return _document(width, height, title, "".join(self._elements))

    def _place(self, points: Floats) -> Floats:
        x = (points - self._corner) * self._scale
        flipped = np.stack([x[:, 0], self._size[1] - x[:, 1]], axis=1)
        reach = CLIP_WIDTHS * float(self._size.max())
        return np.asarray(np.clip(flipped, -reach, reach))


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
    return _document(width, row * len(parts), title, "".join(parts))


def _document(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{body}</svg>'
    )


def number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def path_data(points: Floats, closed: bool = False) -> str:
    """Return polylines or polygons, separated by rows of NaN, as the attribute d of a path."""
    parts = []
    for piece in np.split(points, np.flatnonzero(np.isnan(points[:, 0]))):
        whole = piece[~np.isnan(piece[:, 0])]
        if len(whole):
            corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in whole.tolist())
            parts.append(f"M{corners}{'Z' if closed else ''}")
    return "".join(parts)
