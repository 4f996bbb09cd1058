"""The SVG writer: small drawings of the plane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from cayleyklein._typing import Floats

BEYOND = 40.0
"""Coordinates end this many widths outside the picture."""

PADDING = 0.04
"""How far a picture reaches beyond its bounds, as a part of the longer side."""

CORNERS = {"square": (45, 4), "triangle": (-90, 3), "diamond": (0, 4)}
"""Angle of the first corner of a marker in degrees, and the number of corners."""

LONGEST_NAME = 22
"""Characters of the name of a bar."""

ONE_BY_DEFAULT = ("opacity", "fill_opacity", "stroke_opacity", "stroke_width")


class Drawing:
    """A picture of a box of the plane, with the same scale along both axes.

    The default stroke ``currentColor`` is the colour of the text around the picture, light or dark.

    Parameters
    ----------
    bounds : ndarray of shape (2, 2)
        Lower and upper corner.
    size : float
        Length of the longer side in pixels.
    padding : float
        Space around the bounds, as a part of the longer side.

    Examples
    --------
    >>> drawing = Drawing(np.array([[0.0, 0.0], [1.0, 1.0]]), 100, padding=0.0)
    >>> drawing.path(np.array([[0.0, 0.0], [1.0, 0.5]]))
    >>> drawing.elements
    '<path d="M0.0 100.0L100.0 50.0" fill="none" stroke="currentColor" stroke-linejoin="round"/>'
    >>> drawing.svg("a line").startswith("<svg")
    True
    """

    def __init__(self, bounds: Floats, size: float, *, padding: float = PADDING) -> None:
        extent = np.ptp(bounds, axis=0)
        longest = float(extent.max()) or 1.0
        self._scale = size / (longest * (1 + 2 * padding))
        self._corner = bounds[0] - padding * longest
        self._size = np.maximum((extent + 2 * padding * longest) * self._scale, 1.0)
        self._elements: list[str] = []

    @property
    def elements(self) -> str:
        """The elements drawn so far, without the frame around them."""
        return "".join(self._elements)

    def path(
        self,
        points: Floats,
        *,
        closed: bool = False,
        stroke: str | None = "currentColor",
        width: float = 1.0,
        opacity: float = 1.0,
        dash: Iterable[float] = (),
        fill: str | None = None,
        fill_opacity: float = 1.0,
    ) -> None:
        """Draw a polyline or an area; a row of NaN lifts the pen."""
        self._add(
            "path",
            d=_path_data(self._place(points), closed),
            fill=fill or "none",
            fill_opacity=fill_opacity,
            stroke=stroke,
            stroke_width=width,
            stroke_opacity=opacity,
            stroke_linejoin="round" if stroke else None,
            stroke_dasharray=" ".join(map(str, dash)) or None,
        )

    def dots(self, points: Floats, *, color: str = "currentColor", radius: float = 2.0) -> None:
        """Draw points."""
        for x, y in self._place(points).tolist():
            self._add("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=radius, fill=color)

    def marker(
        self, point: Floats, kind: str, *, color: str, edge: str, radius: float, opacity: float
    ) -> None:
        """Draw a circle, square, triangle or diamond around a point."""
        x, y = self._place(point[None])[0].tolist()
        if kind == "circle":
            arc = f"a{radius} {radius} 0 1 0"
            d = f"M{x - radius:.1f} {y:.1f}{arc} {2 * radius} 0{arc} {-2 * radius} 0Z"
        else:
            first, n = CORNERS[kind]
            angle = np.radians(first + 360 * np.arange(n) / n)
            corners = [x, y] + 1.2 * radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
            d = _path_data(corners, closed=True)
        self._add("path", d=d, fill=color, stroke=edge, stroke_width=1, opacity=opacity)

    def svg(self, title: str, *, background: str | None = None) -> str:
        """Return the picture; the title describes it to screen readers."""
        width, height = self._size.tolist()
        paper = f'<rect width="100%" height="100%" fill="{background}"/>' if background else ""
        return _document(width, height, title, paper + self.elements)

    def _place(self, points: Floats) -> Floats:
        x = (points - self._corner) * self._scale
        flipped = np.stack([x[:, 0], self._size[1] - x[:, 1]], axis=1)
        reach = BEYOND * float(self._size.max())
        return np.asarray(np.clip(flipped, -reach, reach))

    def _add(self, tag: str, **attributes: float | str | None) -> None:
        """Add an element without the attributes that are None, or 1 where that is the default."""
        text = "".join(
            f' {name.replace("_", "-")}="{value if isinstance(value, str) else f"{value:g}"}"'
            for name, value in attributes.items()
            if value is not None and not (value == 1.0 and name in ONE_BY_DEFAULT)
        )
        self._elements.append(f"<{tag}{text}/>")


def bar_chart(names: Sequence[str], values: Sequence[float], color: str, title: str) -> str:
    """Return horizontal bars from zero, with their names above and percentages beside them."""
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
    """Format a number with a true minus sign.

    >>> number(-0.25)
    '−0.25'
    """
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def _path_data(points: Floats, closed: bool) -> str:
    parts = []
    for piece in np.split(points, np.flatnonzero(np.isnan(points[:, 0]))):
        whole = piece[~np.isnan(piece[:, 0])]
        if len(whole):
            corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in whole.tolist())
            parts.append(f"M{corners}{'Z' if closed else ''}")
    return "".join(parts)
