"""The views of the page: their windows, and which point of the plane is at a place of the screen.

Klein's view shows the plane as it is, the others a chart in the unit of the metric. The half-plane,
which is hyperbolic only, continues as the stereographic view, the hemisphere and hyperboloid as the
sphere, so that no view has a jump at K = 0.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.views import CLEARANCE, EUCLIDEAN, ChartView

FLAT_AND_ROUND = ("Cartesian, in z", "Stereographic")
TILTED_ONES = ("Plane, tilted", "Sphere")
VIEWS = {  # for K < 0, K = 0 and K > 0 charts of the library and titles; the height of the centre
    # and half the width of the first window
    "klein": ((EUCLIDEAN,) * 3, ("Klein", "Cartesian", "Gnomonic"), (0.0, 1.6)),
    "poincare": (("conformal",) * 3, ("Poincaré disc", *FLAT_AND_ROUND), (0.0, 2.6)),
    "half-plane": (
        ("half_space", "conformal", "conformal"),
        ("Poincaré half-plane", *FLAT_AND_ROUND),
        (0.0, 2.6),
    ),
    "hemisphere": (("hemisphere", "klein", "sphere"), ("Hemisphere", *TILTED_ONES), (0.0, 1.6)),
    "hyperboloid": (("hyperboloid", "klein", "sphere"), ("Hyperboloid", *TILTED_ONES), (0.2, 1.9)),
}
ROOM = 1.12
WIDEST = 2.6  # half the width around a surface, in its radii and at most
HALF_PLANE_RISE = 1.1  # of the window of a half-plane of K = -1; its edge is 1/√-K below the centre
TILTED = ("hemisphere", "hyperboloid")


class View(ChartView):
    def __init__(self, metric: CurvedMetric, chart: str, turn: float = 0, tilt: float = 38) -> None:
        names, titles, (y, half_width) = VIEWS[chart]
        sign = int(np.sign(metric.curvature))
        camera = (turn, tilt) if chart in TILTED else None
        name = names[sign + 1]
        super().__init__(metric, name, camera, in_unit=True, half_width=half_width)
        self.chart = chart
        self.title = titles[sign + 1]
        if chart == "half-plane":
            y += HALF_PLANE_RISE * math.sqrt(max(-metric.curvature, 0.0))
        size = ROOM * self.scale if sign else math.inf
        if camera:  # a window that holds the surface; as K tends to 0, one around the centre
            self.half_width = min(max(half_width, size), WIDEST)
        if camera and name != "hyperboloid":  # between the top of the dome and its rim, in radii
            low, high = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
            y = (1 - 2 * low - high) / 2 * min(size, WIDEST) / ROOM * min(1.0, WIDEST / size)
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
        sheet = [y for y in (start + d * eye for d in depths) if y[2] > least]
        wanted = [y for y in sheet if (y @ self.facing < 0) == far_side]
        y = (wanted or sheet or [start + depths[-1] * eye])[-1]
        if bowl:
            return np.array([y[0], y[1], math.hypot(1.0, y[0], y[1])])
        y[2] = max(y[2], CLEARANCE)
        return np.asarray(y / np.linalg.norm(y))

    def holds(self, seen: ArrayLike) -> bool:
        found = self.to_screen(self.from_screen(seen))
        return bool(np.linalg.norm(found - np.asarray(seen)) < 10 * CLEARANCE * self.half_width)
