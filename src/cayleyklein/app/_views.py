"""Views: where a point of the plane is on the screen, and back.

Klein's view shows the plane as it is. The others show a chart of :mod:`cayleyklein.geometry` in
the unit of the metric, moved so that the centre is at 0: (y(x) - y(μ)) · c/√|K|. So every view
tends to z = L(x - μ) as K tends to 0, from both sides, without a jump. The half-plane, which is
hyperbolic only, continues as the stereographic view, the hemisphere and hyperboloid as the sphere.

A curved surface is seen from a camera of some turn and tilt. It faces the eye where y · e > 0, for
a vector e; the line y · e = 0 on it is its horizon, a curve with one parameter t.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Bools, Floats
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines

LIBRARY_CHARTS = {  # chart of the library for K < 0, K = 0 and K > 0
    "poincare": ("conformal", "conformal", "conformal"),
    "half-plane": ("half_space", "conformal", "conformal"),
    "hemisphere": ("hemisphere", "klein", "sphere"),
    "hyperboloid": ("hyperboloid", "klein", "sphere"),
}
VIEWS = {  # titles, and the centre and half the width of the first window
    "klein": (("Klein", "Cartesian", "Gnomonic"), (0.0, 0.0, 1.6)),
    "poincare": (("Poincaré disc", "Cartesian, in z", "Stereographic"), (0.0, 0.0, 2.6)),
    "half-plane": (("Poincaré half-plane", "Cartesian, in z", "Stereographic"), (0.0, 0.0, 2.6)),
    "hemisphere": (("Hemisphere", "Plane, tilted", "Sphere"), (0.0, 0.0, 1.6)),
    "hyperboloid": (("Hyperboloid", "Plane, tilted", "Sphere"), (0.0, 0.2, 1.9)),
}
ROOM, WIDEST = 1.12, 2.6  # half the width around a surface, in its radii and at most
# The window of a half-plane of K = -1 is raised by this; its edge is 1/√-K below the centre.
HALF_PLANE_RISE = 1.1
SURFACES = ("hemisphere", "hyperboloid")
CLEARANCE = 1e-4  # margin at the end of a chart without points, relative to the chart's size
FARTHEST = 1e3  # largest screen coordinate in half widths: a canvas computes in single precision
STEEP = 89.0  # tilt in degrees from which a dome is seen from above, without a horizon
HORIZON_END = 4.0  # largest |t| of the horizon that is drawn on a hyperboloid, of height cosh t


class View:
    def __init__(self, metric: CurvedMetric, chart: str, turn: float = 0, tilt: float = 38) -> None:
        self.metric, self.chart = metric, chart
        self.sign, self.domain = int(np.sign(metric.curvature)), metric.domain
        titles, (x, y, self.half_width) = VIEWS[chart]
        self.title = titles[self.sign + 1]
        self.straight = chart == "klein" or self.sign == 0
        self.surface = chart in SURFACES and self.sign != 0
        if chart == "half-plane":
            y += HALF_PLANE_RISE * math.sqrt(max(-metric.curvature, 0.0))
        self.middle = np.array([x, y])
        if chart == "klein":
            return
        self._name = LIBRARY_CHARTS[chart][self.sign + 1]
        unit = math.sqrt(abs(metric.curvature)) or 1.0
        self._scale = (2.0 if self._name == "conformal" else 1.0) / unit
        self._origin = np.asarray(metric.to_chart(metric.center, self._name), dtype=float)
        self._aim(math.radians(turn), math.radians(tilt))
        bowl = self._name == "hyperboloid"
        self.has_horizon = self.surface and tilt < (45.0 if bowl else STEEP)
        if chart in SURFACES:
            self._frame(bowl, math.radians(tilt))

    def _frame(self, bowl: bool, tilt: float) -> None:
        """Take a window that holds the surface; as K tends to 0, one around the centre."""
        size = math.inf if self.sign == 0 else ROOM * self._scale
        self.half_width = min(max(self.half_width, size), WIDEST)
        if not bowl:  # the middle between the top of the dome and its rim, in radii
            low, high = math.cos(tilt), math.sin(tilt)
            share = min(1.0, WIDEST / size)
            self.middle[1] = (1 - 2 * low - high) / 2 * min(size, WIDEST) / ROOM * share

    def _aim(self, turn: float, tilt: float) -> None:
        c, s, low, high = math.cos(turn), math.sin(turn), math.cos(tilt), math.sin(tilt)
        self._right = np.array([c, s, 0.0])
        self._up = np.array([-s * high, c * high, low])
        self._eye = np.array([s * low, -c * low, high])
        self.apex = np.array([0.0, -self._scale * low])  # of the projection to the plane
        # the normal of a bowl is (-X, -Y, Z); its horizon goes along (high, -low) against the eye
        bowl = self._name == "hyperboloid"
        self._facing = self._eye * ([-1, -1, 1] if bowl else [1, 1, 1])
        if bowl and tilt < math.pi / 4:
            self._rise = np.array([s * high, -c * high, low]) / math.sqrt(math.cos(2 * tilt))

    @property
    def window(self) -> Floats:
        return np.stack([self.middle - self.half_width, self.middle + self.half_width])

    def to_screen(self, x: ArrayLike) -> Floats:
        """Return points (…, 2) on the screen; those on the absolute slightly inside it."""
        return self.look(np.asarray(x, dtype=float))[0]

    def look(self, x: Floats) -> tuple[Floats, Floats]:
        """Return points on the screen, and how much a surface faces the eye there, < 0 behind."""
        if self.chart == "klein" or not x.size:
            return x, np.ones(x.shape[:-1])
        y = self._chart(x)
        facing = y @ self._facing if self.has_horizon else np.ones(x.shape[:-1])
        seen = self._project((y - self._origin) * self._scale)
        reach = np.linalg.norm(seen, axis=-1, keepdims=True) / (FARTHEST * self.half_width)
        return np.asarray(seen / np.maximum(reach, 1.0)), np.asarray(facing)

    def lift(self, x: Floats) -> Floats:
        return x if self.chart == "klein" else (self._chart(x) - self._origin) * self._scale

    def on_tangent_plane(self, x: Floats) -> Floats:
        w = np.asarray(self.metric.to_chart(outlines.inset(self.domain, x), "klein"))
        flat = np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1)
        return self._project(flat * self._scale)

    def _chart(self, x: Floats) -> Floats:
        inside = outlines.inset(self.domain, x)
        return np.asarray(self.metric.to_chart(inside, self._name), dtype=float)

    def _project(self, y: Floats) -> Floats:
        if self.chart not in SURFACES:
            return y
        # the flat limit has two coordinates
        return np.asarray(y @ np.stack([self._right, self._up])[:, : y.shape[-1]].T)

    def faces_away(self, x: ArrayLike) -> Bools:
        return np.asarray(self.look(np.asarray(x, dtype=float))[1] < 0)

    def horizon(self, t: ArrayLike) -> Floats:
        t = np.asarray(t, dtype=float)[..., None]
        if self._name == "hyperboloid":
            y = np.sinh(t) * self._right + np.cosh(t) * self._rise
        else:
            y = np.cos(t) * self._right + np.sin(t) * self._up
        return np.asarray(self.metric.from_chart(y, self._name), dtype=float)

    def horizon_parameter(self, x: Floats) -> Floats:
        y = self._chart(x)
        if self._name == "hyperboloid":
            return np.asarray(np.arcsinh(y @ self._right))
        t = np.arctan2(y @ self._up, y @ self._right)
        return np.asarray(np.clip(t, CLEARANCE, math.pi - CLEARANCE))

    def outline(self, n: int) -> Floats:
        if not self.has_horizon:
            return np.empty((0, 2))
        bowl = self._name == "hyperboloid"
        ends = (-HORIZON_END, HORIZON_END) if bowl else (CLEARANCE, np.pi - CLEARANCE)
        return self.horizon(np.linspace(*ends, n))

    def from_screen(self, seen: ArrayLike, *, far_side: bool = False) -> Floats:
        """Return the point seen at (2,); a place outside the chart gives the nearest inside."""
        spot = np.asarray(seen, dtype=float)
        if self.chart == "klein":
            return outlines.inset(self.domain, spot, CLEARANCE)
        if self.chart in SURFACES and not self.sign:
            flat = np.stack([self._right, self._up])[:, :2]
            return np.asarray(self.metric.from_chart(np.linalg.solve(flat, spot), self._name))
        if self.surface:
            y = self._on_surface(spot / self._scale, far_side)
        else:
            y = spot / self._scale + self._origin
            if self._name == "half_space":
                y[1] = max(y[1], CLEARANCE)
            elif self.sign:
                y /= max(1.0, float(np.linalg.norm(y)) / (1 - CLEARANCE))
        x: Floats = np.asarray(self.metric.from_chart(y, self._name), dtype=float)
        return outlines.inset(self.domain, x, CLEARANCE)

    def _on_surface(self, spot: Floats, far_side: bool) -> Floats:
        """Return where the line of sight of a spot meets the surface, or comes nearest to it."""
        u, v = spot[0] + self._origin @ self._right, spot[1] + self._origin @ self._up
        if self._name == "hyperboloid":
            return self._on_bowl(u, v, far_side)
        size = math.hypot(u, v)
        if size > 1 - CLEARANCE:
            u, v = ((1 - CLEARANCE) * c / size for c in (u, v))
        depth = math.sqrt(1 - u * u - v * v)
        y = u * self._right + v * self._up + (-depth if far_side else depth) * self._eye
        if far_side and y[2] < CLEARANCE:
            return self._on_surface(spot, False)
        y[2] = max(y[2], CLEARANCE)
        return np.asarray(y / np.linalg.norm(y))

    def _on_bowl(self, u: float, v: float, far_side: bool) -> Floats:
        """Solve Z² - X² - Y² = 1 along the line of sight; the far side is its outer wall."""
        start, eye = u * self._right + v * self._up, self._eye
        form = np.array([-1.0, -1.0, 1.0])
        a, b, c = (eye * form) @ eye, (start * form) @ eye, (start * form) @ start - 1
        if abs(a) < CLEARANCE:
            depths = [-c / (2 * b)] if b else [0.0]
        else:
            root = math.sqrt(max(b * b - a * c, 0.0))
            depths = sorted([(-b - root) / a, (-b + root) / a])
        sheet = [y for y in (start + d * eye for d in depths) if y[2] > 0] or [start]
        wanted = [y for y in sheet if (y @ self._facing < 0) == far_side]
        y = (wanted or sheet)[-1]
        y[2] = math.hypot(1.0, y[0], y[1])
        return np.asarray(y)

    def holds(self, seen: ArrayLike) -> bool:
        found = self.to_screen(self.from_screen(seen))
        return bool(np.linalg.norm(found - np.asarray(seen)) < 10 * CLEARANCE * self.half_width)
