"""The views of the page: their windows, and the point of the plane at a place on the screen.

Klein's view shows the plane as it is, the others a chart in the unit of the metric. The half-plane,
which is hyperbolic only, continues as the stereographic view, the hemisphere and hyperboloid as the
sphere, so that no view has a jump at K = 0.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.views import CLEARANCE, EUCLIDEAN, ChartView


class Layout(NamedTuple):
    """A view of the page: charts of the library and titles for K < 0, K = 0 and K > 0."""

    charts: tuple[str, str, str]
    titles: tuple[str, str, str]
    half_width: float  # of the first window
    height: float = 0.0  # of its centre


VIEWS = {
    "klein": Layout(
        charts=(EUCLIDEAN, EUCLIDEAN, EUCLIDEAN),
        titles=("Klein", "Cartesian", "Gnomonic"),
        half_width=1.6,
    ),
    "poincare": Layout(
        charts=("conformal", "conformal", "conformal"),
        titles=("Poincaré disc", "Cartesian, in z", "Stereographic"),
        half_width=2.6,
    ),
    "half-plane": Layout(
        charts=("half_space", "conformal", "conformal"),
        titles=("Poincaré half-plane", "Cartesian, in z", "Stereographic"),
        half_width=2.6,
    ),
    "hemisphere": Layout(
        charts=("hemisphere", "klein", "sphere"),
        titles=("Hemisphere", "Plane, tilted", "Sphere"),
        half_width=1.6,
    ),
    "hyperboloid": Layout(
        charts=("hyperboloid", "klein", "sphere"),
        titles=("Hyperboloid", "Plane, tilted", "Sphere"),
        half_width=1.9,
        height=0.2,
    ),
}


class View(ChartView):
    def __init__(self, metric: CurvedMetric, chart: str, turn: float = 0, tilt: float = 38) -> None:
        layout = VIEWS[chart]
        sign = int(np.sign(metric.curvature))
        name = layout.charts[sign + 1]
        camera = (turn, tilt) if chart in ("hemisphere", "hyperboloid") else None
        super().__init__(metric, name, camera, in_unit=True, half_width=layout.half_width)
        self.chart = chart
        self.title = layout.titles[sign + 1]
        y = layout.height
        if chart == "half-plane":  # its edge is 1/√-K below the centre
            y += 1.1 * math.sqrt(max(-metric.curvature, 0.0))
        room = 1.12  # half the width around a surface, in its radii
        widest = 2.6
        size = room * self.scale if sign else math.inf
        if camera:  # a window that holds the surface; as K tends to 0, one around the centre
            self.half_width = min(max(layout.half_width, size), widest)
        if camera and name != "hyperboloid":  # between the top of the dome and its rim, in radii
            low, high = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
            y = (1 - 2 * low - high) / 2 * min(size, widest) / room * min(1.0, widest / size)
        self.middle = np.array([0.0, y])

    @property
    def window(self) -> Floats:
        return np.stack([self.middle - self.half_width, self.middle + self.half_width])

    def from_screen(self, seen: ArrayLike, *, far_side: bool = False) -> Floats:
        """Return the point seen at (2,); a place outside the chart gives the nearest inside."""
        spot = np.asarray(seen, dtype=float)
        if self.chart == "klein":
            return outlines.inset(self.domain, spot, CLEARANCE)
        if self.camera and not self.sign:
            flat = np.stack([self.right, self.up])[:, :2]
            return np.asarray(self.metric.from_chart(np.linalg.solve(flat, spot), self.name))
        if self.surface:
            y = self._on_surface(spot / self.scale, far_side)
        else:
            y = spot / self.scale + self.origin
            if self.name == "half_space":
                y[1] = max(y[1], CLEARANCE)
            elif self.sign:
                y /= max(1.0, float(np.linalg.norm(y)) / (1 - CLEARANCE))
        x: Floats = np.asarray(self.metric.from_chart(y, self.name), dtype=float)
        return outlines.inset(self.domain, x, CLEARANCE)

    def _on_surface(self, spot: Floats, far_side: bool) -> Floats:
        """Return where the line of sight of a spot meets the surface, or comes nearest to it.

        On it ⟨y, y⟩ = 1 for a form, Z² - X² - Y² of a bowl: a quadratic equation of the depth.
        """
        bowl = self.name == "hyperboloid"
        eye = self.eye
        u = spot[0] + self.origin @ self.right
        v = spot[1] + self.origin @ self.up
        size = 1.0 if bowl else max(1.0, math.hypot(u, v) / (1 - CLEARANCE))
        start = (u * self.right + v * self.up) / size
        form = np.array([-1.0, -1.0, 1.0] if bowl else [1.0, 1.0, 1.0])
        a = (eye * form) @ eye
        b = (start * form) @ eye
        c = (start * form) @ start - 1
        root = math.sqrt(max(b * b - a * c, 0.0))
        depths = [-c / (2 * b)] if b else [0.0]
        if abs(a) >= CLEARANCE:
            depths = sorted([(-b - root) / a, (-b + root) / a])
        least = 0.0 if bowl else CLEARANCE
        places = [start + depth * eye for depth in depths]
        sheet = [y for y in places if y[2] > least]
        wanted = [y for y in sheet if (y @ self.facing < 0) == far_side]
        y = (wanted or sheet or [start + depths[-1] * eye])[-1]
        if bowl:
            return np.array([y[0], y[1], math.hypot(1.0, y[0], y[1])])
        y[2] = max(y[2], CLEARANCE)
        return np.asarray(y / np.linalg.norm(y))

    def holds(self, seen: ArrayLike) -> bool:
        found = self.to_screen(self.from_screen(seen))
        return bool(np.linalg.norm(found - np.asarray(seen)) < 10 * CLEARANCE * self.half_width)
