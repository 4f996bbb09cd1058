"""Views: where a point of the plane is on the screen, and back.

Klein's view shows the plane as it is. The others show a chart of :mod:`cayleyklein.geometry` in
the unit of the metric, moved so that the centre is at 0: (y(x) - y(μ)) · c/√|K|. In that form every
one of them tends to z = L(x - μ) as K tends to 0, from both sides, and turning the curvature
through 0 moves the picture without a jump. The half-plane, which is hyperbolic only, goes on as
the stereographic view; the hemisphere as the sphere's.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import inset

__all__ = ["View"]

Array = NDArray[np.float64]

LIBRARY_CHARTS = {
    "poincare": ("conformal", "conformal", "conformal"),
    "half-plane": ("half_space", "conformal", "conformal"),
    "hemisphere": ("hemisphere", "klein", "sphere"),
}
"""By the sign of K: negative, zero, positive."""

TITLES = {
    "klein": ("Klein", "Cartesian", "Gnomonic"),
    "poincare": ("Poincaré disc", "Cartesian, in z", "Stereographic"),
    "half-plane": ("Poincaré half-plane", "Cartesian, in z", "Stereographic"),
    "hemisphere": ("Hemisphere", "Plane, tilted", "Sphere"),
}

WINDOWS = {
    "klein": (0.0, 0.0, 1.6),
    "poincare": (0.0, 0.0, 2.6),
    "half-plane": (0.0, 1.1, 2.6),
    "hemisphere": (0.0, -0.6, 1.35),
}
"""Middle and half the width of what a view shows first."""

ELEVATION = math.radians(38)
"""Whence the surfaces are seen."""

RIGHT = np.array([1.0, 0.0, 0.0])
UP = np.array([0.0, math.sin(ELEVATION), math.cos(ELEVATION)])
EYE = np.array([0.0, -math.cos(ELEVATION), math.sin(ELEVATION)])

EDGE = 1e-4
"""How far inside the end of a chart a point may be put, relative to the chart's size."""

FARTHEST = 1e3
"""Where coordinates on the screen end, in half widths: a canvas computes in single precision."""


class View:
    """One of the charts of the page, for one metric.

    Examples
    --------
    >>> metric = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> View(metric, "poincare").to_screen([[0.8, 0.0]])
    array([[1., 0.]])
    >>> View(metric, "poincare").from_screen([1.0, 0.0])
    array([0.8, 0. ])
    >>> View(metric, "poincare").from_screen([4.0, 0.0]).round(3)  # drawn back inside
    array([1., 0.])
    """

    def __init__(self, metric: CurvedMetric, chart: str) -> None:
        self.metric, self.chart = metric, chart
        self.sign, self.domain = int(np.sign(metric.curvature)), metric.domain
        self.title = TITLES[chart][self.sign + 1]
        self.straight = chart == "klein" or self.sign == 0
        x, y, self.half_width = WINDOWS[chart]
        self.middle = np.array([x, y])
        if chart == "klein":
            return
        self._name = LIBRARY_CHARTS[chart][self.sign + 1]
        unit = math.sqrt(abs(metric.curvature)) or 1.0
        self._scale = (2.0 if self._name == "conformal" else 1.0) / unit
        self._origin = np.asarray(metric.to_chart(metric.center, self._name), dtype=float)

    @property
    def window(self) -> Array:
        """The lower and the upper corner of what is shown first."""
        return np.stack([self.middle - self.half_width, self.middle + self.half_width])

    def to_screen(self, x: ArrayLike) -> Array:
        """Return where points (…, 2) are seen; those of the absolute a hair inside it."""
        points = np.asarray(x, dtype=float)
        if self.chart == "klein" or not points.size:
            return points
        seen = self._project(self._chart_difference(points))
        reach = np.linalg.norm(seen, axis=-1, keepdims=True) / (FARTHEST * self.half_width)
        return np.asarray(seen / np.maximum(reach, 1.0))

    def _chart_difference(self, points: Array) -> Array:
        y = np.asarray(self.metric.to_chart(inset(self.domain, points), self._name), dtype=float)
        return np.asarray((y - self._origin) * self._scale)

    def _project(self, y: Array) -> Array:
        if self.chart != "hemisphere":
            return y
        if y.shape[-1] == 2:  # the flat limit
            return np.asarray(y @ np.stack([RIGHT, UP])[:, :2].T)
        return np.asarray(y @ np.stack([RIGHT, UP]).T)

    def faces_away(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Say which points are on the far side of a sphere."""
        points = np.asarray(x, dtype=float)
        if self.chart != "hemisphere" or not self.sign or not points.size:
            return np.zeros(points.shape[:-1], dtype=bool)
        y = self.metric.to_chart(inset(self.domain, points), self._name)
        return np.asarray(y @ EYE < 0)

    def from_screen(self, seen: ArrayLike, *, far_side: bool = False) -> Array:
        """Return the point seen at (2,); a place outside the chart gives the nearest inside.

        Parameters
        ----------
        seen : array-like of shape (2,)
        far_side : bool, default=False
            Whether the far side of a sphere is meant.
        """
        spot = np.asarray(seen, dtype=float)
        if self.chart == "klein":
            return inset(self.domain, spot, EDGE)
        if self.chart == "hemisphere" and not self.sign:
            z = spot / np.array([1.0, UP[1]])
            return np.asarray(self.metric.from_chart(z, self._name))
        if self.chart == "hemisphere":
            y = self._on_sphere(spot, far_side)
        else:
            y = spot / self._scale + self._origin
            if self._name == "half_space":
                y[1] = max(y[1], EDGE)
            elif self.sign:
                y /= max(1.0, float(np.linalg.norm(y)) / (1 - EDGE))
        x: Array = np.asarray(self.metric.from_chart(y, self._name), dtype=float)
        return inset(self.domain, x, EDGE)

    def _on_sphere(self, spot: Array, far_side: bool) -> Array:
        u, v = spot / self._scale + np.array([self._origin @ RIGHT, self._origin @ UP])
        size = math.hypot(u, v)
        if size > 1 - EDGE:
            u, v = ((1 - EDGE) * c / size for c in (u, v))
        depth = math.sqrt(1 - u * u - v * v)
        y = u * RIGHT + v * UP + (-depth if far_side else depth) * EYE
        if far_side and y[2] < EDGE:
            return self._on_sphere(spot, False)
        y[2] = max(y[2], EDGE)
        return np.asarray(y / np.linalg.norm(y))

    def holds(self, seen: ArrayLike) -> bool:
        """Say whether a point of the geometry is seen at (2,)."""
        found = self.to_screen(self.from_screen(seen))
        return bool(np.linalg.norm(found - np.asarray(seen)) < 10 * EDGE * self.half_width)
