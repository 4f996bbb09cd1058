"""Small drawings of the plane as SVG, in colours that suit a light and a dark page."""

from __future__ import annotations

from html import escape

import numpy as np

from cayleyklein._typing import Floats

__all__ = ["Drawing", "path_data"]


BEYOND = 40.0
"""Coordinates end this many widths outside the picture."""

PADDING = 0.04
"""How far a picture reaches beyond its bounds, as a part of the longer side."""


def path_data(points: Floats, *, closed: bool = False) -> str:
    """Return the data of an SVG path; a row of NaN lifts the pen.

    >>> path_data(np.array([[0.0, 0.0], [1.0, 0.5]]))
    'M0.0 0.0L1.0 0.5'
    """
    end = "Z" if closed else ""
    parts = []
    for piece in np.split(points, np.flatnonzero(np.isnan(points[:, 0]))):
        whole = piece[~np.isnan(piece[:, 0])]
        if len(whole):
            corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in whole.tolist())
            parts.append(f"M{corners}{end}")
    return "".join(parts)


class Drawing:
    """A picture of a box of the plane, with the same scale along both axes.

    Lines without a colour of their own have that of the text around the picture.

    Parameters
    ----------
    bounds : ndarray of shape (2, 2)
        Lower and upper corner.
    size : float
        Of the longer side, in pixels.

    Examples
    --------
    >>> drawing = Drawing(np.array([[0.0, 0.0], [1.0, 1.0]]), 100)
    >>> drawing.path(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> drawing.svg("a line").count("<path")
    1
    """

    def __init__(self, bounds: Floats, size: float) -> None:
        extent = np.ptp(bounds, axis=0)
        longest = float(extent.max()) or 1.0
        self._scale = size / (longest * (1 + 2 * PADDING))
        self._corner = bounds[0] - PADDING * longest
        self._size = np.maximum((extent + 2 * PADDING * longest) * self._scale, 1.0)
        self._elements: list[str] = []

    def _place(self, points: Floats) -> Floats:
        x = (points - self._corner) * self._scale
        flipped = np.stack([x[:, 0], self._size[1] - x[:, 1]], axis=1)
        reach = BEYOND * float(self._size.max())
        return np.asarray(np.clip(flipped, -reach, reach))

    def path(
        self,
        points: Floats,
        *,
        closed: bool = False,
        color: str = "currentColor",
        width: float = 1.0,
        fill: float = 0.0,
    ) -> None:
        """Draw a polyline, or with `fill` an area of that opacity."""
        inside = f'fill="{color}" fill-opacity="{fill:g}"' if fill else 'fill="none"'
        self._elements.append(
            f'<path d="{path_data(self._place(points), closed=closed)}" {inside} '
            f'stroke="{color}" stroke-width="{width:g}" stroke-linejoin="round"/>'
        )

    def dots(self, points: Floats, *, color: str = "currentColor", radius: float = 2.0) -> None:
        """Draw points."""
        self._elements += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'
            for x, y in self._place(points).tolist()
        ]

    def svg(self, title: str) -> str:
        """Return the picture; the title is for those who cannot see it."""
        width, height = self._size.tolist()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.1f} {height:.1f}" role="img" '
            f'aria-label="{escape(title)}"><title>{escape(title)}</title>'
            f"{''.join(self._elements)}</svg>"
        )
