"""Views: where a point of the plane is on the screen, in a chart of its metric.

A curved surface is seen from a camera of some turn and tilt. It faces the eye where y · e > 0, for
a vector e; the line y · e = 0 on it is its horizon, a curve with one parameter t.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Bools, Floats
from cayleyklein.geometry.charts import EMBEDDED
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.shapes import NOTHING, unit_circle

EUCLIDEAN = "euclidean"  # the plane as it is
CHART_TITLES = {  # by the sign of K: negative, zero, positive
    EUCLIDEAN: ("Euclidean: the data",) * 3,
    "klein": ("Klein disc", "Cartesian", "gnomonic"),
    "conformal": ("Poincaré disc", "Cartesian / 2", "stereographic"),
    "poincare": ("Poincaré disc", "", ""),
    "half_space": ("Poincaré half-plane", "", ""),
    "hemisphere": ("hemisphere", "", ""),
    "hyperboloid": ("hyperboloid", "", ""),
    "sphere": ("", "", "sphere"),
}
CLEARANCE = 1e-4  # margin at the end of a chart without points, relative to the chart's size
FARTHEST = 1e3  # largest screen coordinate in half widths: a canvas computes in single precision
FAR_OUT = 1e3  # where lines to infinity end
STEEP = 89.0  # tilt in degrees from which a dome is seen from above, without a horizon
HORIZON_END = 4.0  # largest |t| of the horizon that is drawn on a hyperboloid, of height cosh t
RIM_POINTS = 513


class ChartView:
    """A chart on the screen: its coordinates, seen by a camera (turn, tilt) if it has one.

    In the unit of the metric it is moved so that the centre is at 0: (y(x) - y(μ)) · c/√|K|, which
    tends to z = L(x - μ) as K tends to 0, from both sides.
    """

    def __init__(
        self, metric: CurvedMetric, name: str, camera: tuple[float, float] | None = None, *,
        in_unit: bool = False, half_width: float = 1.0,
    ) -> None:  # fmt: skip
        self.metric, self.name, self.half_width = metric, name, half_width
        self.sign, self.domain = int(np.sign(metric.curvature)), metric.domain
        self.straight = name == EUCLIDEAN or self.sign == 0
        self.surface, self._camera = name in EMBEDDED, camera
        self.scale, self._origin = 1.0, np.zeros(3 if self.surface else 2)
        if in_unit and name != EUCLIDEAN:
            unit = math.sqrt(abs(metric.curvature)) or 1.0
            self.scale = (2.0 if name == "conformal" else 1.0) / unit
            self._origin = np.asarray(metric.to_chart(metric.center, name), dtype=float)
        bowl, tilt = name == "hyperboloid", camera[1] if camera else 90.0
        self.has_horizon = self.surface and tilt < (45.0 if bowl else STEEP)
        if camera:
            self._aim(math.radians(camera[0]), math.radians(tilt))

    def _aim(self, turn: float, tilt: float) -> None:
        c, s, low, high = math.cos(turn), math.sin(turn), math.cos(tilt), math.sin(tilt)
        self._right = np.array([c, s, 0.0])
        self._up = np.array([-s * high, c * high, low])
        self._eye = np.array([s * low, -c * low, high])
        self.apex = np.array([0.0, -self.scale * low])  # of the projection to the plane
        # the normal of a bowl is (-X, -Y, Z); its horizon goes along (high, -low) against the eye
        bowl = self.name == "hyperboloid"
        self._facing = self._eye * ([-1, -1, 1] if bowl else [1, 1, 1])
        if bowl and tilt < math.pi / 4:
            self._rise = np.array([s * high, -c * high, low]) / math.sqrt(math.cos(2 * tilt))

    def to_screen(self, x: ArrayLike) -> Floats:
        """Return points (…, 2) on the screen; those on the absolute slightly inside it."""
        return self.look(np.asarray(x, dtype=float))[0]

    def look(self, x: Floats) -> tuple[Floats, Floats]:
        """Return points on the screen, and how much a surface faces the eye there, < 0 behind."""
        if self.name == EUCLIDEAN or not x.size:
            return x, np.ones(x.shape[:-1])
        y = self._chart(x)
        facing = y @ self._facing if self.has_horizon else np.ones(x.shape[:-1])
        seen = self._project((y - self._origin) * self.scale)
        reach = np.linalg.norm(seen, axis=-1, keepdims=True) / (FARTHEST * self.half_width)
        return np.asarray(seen / np.maximum(reach, 1.0)), np.asarray(facing)

    def lift(self, x: Floats) -> Floats:
        return x if self.name == EUCLIDEAN else (self._chart(x) - self._origin) * self.scale

    def on_tangent_plane(self, x: Floats) -> Floats:
        w = np.asarray(self.metric.to_chart(outlines.inset(self.domain, x), "klein"))
        flat = np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1)
        return self._project(flat * self.scale)

    def _chart(self, x: Floats) -> Floats:
        inside = outlines.inset(self.domain, x)
        return np.asarray(self.metric.to_chart(inside, self.name), dtype=float)

    def _project(self, y: Floats) -> Floats:
        if self._camera is None:
            return y
        # the flat limit has two coordinates
        return np.asarray(y @ np.stack([self._right, self._up])[:, : y.shape[-1]].T)

    def faces_away(self, x: ArrayLike) -> Bools:
        return np.asarray(self.look(np.asarray(x, dtype=float))[1] < 0)

    def horizon(self, t: ArrayLike) -> Floats:
        t = np.asarray(t, dtype=float)[..., None]
        if self.name == "hyperboloid":
            y = np.sinh(t) * self._right + np.cosh(t) * self._rise
        else:
            y = np.cos(t) * self._right + np.sin(t) * self._up
        return np.asarray(self.metric.from_chart(y, self.name), dtype=float)

    def horizon_parameter(self, x: Floats) -> Floats:
        y = self._chart(x)
        if self.name == "hyperboloid":
            return np.asarray(np.arcsinh(y @ self._right))
        t = np.arctan2(y @ self._up, y @ self._right)
        return np.asarray(np.clip(t, CLEARANCE, math.pi - CLEARANCE))

    def outline(self, n: int) -> Floats:
        if not self.has_horizon:
            return NOTHING
        bowl = self.name == "hyperboloid"
        ends = (-HORIZON_END, HORIZON_END) if bowl else (CLEARANCE, np.pi - CLEARANCE)
        return self.horizon(np.linspace(*ends, n))

    def rim(self) -> Floats:
        """Return where the space ends, if it does and is seen: the conic, or the equator."""
        circle = unit_circle(RIM_POINTS)
        if self.domain is not None:
            return NOTHING if self.name == "hyperboloid" else self.domain.from_euclidean(circle)
        if self.sign > 0 and self.name in ("conformal", "sphere"):
            far = FAR_OUT * FAR_OUT / math.sqrt(self.metric.curvature)
            return self.metric.points(far * circle)
        return NOTHING
