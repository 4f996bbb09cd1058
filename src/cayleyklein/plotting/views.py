"""Charts of a metric on the screen: where points are seen, and how paths are drawn.

A curved surface is seen from a camera of some turn and tilt. It faces the eye where y · e > 0, for
a vector e; the line y · e = 0 on it is its horizon, a curve with one parameter t. Polylines and
polygons are sampled where they bend, and cut where a surface turns away.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.diagrams import Boundary
from cayleyklein.geometry.charts import EMBEDDED
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.labels import Label
from cayleyklein.plotting.shapes import NOTHING, Shape, unit_circle

EUCLIDEAN = "euclidean"  # the plane as it is
CLEARANCE = 1e-4  # margin at the end of a chart without points, relative to the chart's size
FAR_OUT = 1e3  # where lines to infinity end
RIM_POINTS = 513  # of the conic, the equator and horizons
Dash = tuple[float, ...]


class ChartView:
    """A chart on the screen: its coordinates, seen by a camera (turn, tilt) if it has one.

    With in_unit=True the chart is scaled and moved: (y(x) - y(μ)) · c/√|K|, which is 0 at the
    centre and tends to z = L(x - μ) as K tends to 0, from both sides.
    """

    def __init__(
        self,
        metric: CurvedMetric,
        name: str,
        camera: tuple[float, float] | None = None,
        *,
        in_unit: bool = False,
        half_width: float = 1.0,
    ) -> None:
        self.metric = metric
        self.name = name
        self.half_width = half_width
        self.sign = int(np.sign(metric.curvature))
        self.domain = metric.domain
        self.straight = name == EUCLIDEAN or self.sign == 0
        self.surface = name in EMBEDDED
        self.camera = camera
        self.scale = 1.0
        self.origin = np.zeros(3 if self.surface else 2)
        if in_unit and name != EUCLIDEAN:
            unit = math.sqrt(abs(metric.curvature)) or 1.0
            self.scale = (2.0 if name == "conformal" else 1.0) / unit
            self.origin = np.asarray(metric.to_chart(metric.center, name), dtype=float)
        bowl = name == "hyperboloid"
        tilt = camera[1] if camera else 90.0
        # steeper, in degrees, a surface is seen from above, and none of it turns away
        steep = 45.0 if bowl else 89.0
        self.has_horizon = self.surface and tilt < steep
        if not camera:
            return
        turn, tilt = (math.radians(angle) for angle in camera)
        c = math.cos(turn)
        s = math.sin(turn)
        low = math.cos(tilt)
        high = math.sin(tilt)
        self.right = np.array([c, s, 0.0])
        self.up = np.array([-s * high, c * high, low])
        self.eye = np.array([s * low, -c * low, high])
        self.apex = np.array([0.0, -self.scale * low])  # of the projection to the plane
        # the normal of a bowl is (-X, -Y, Z); its horizon goes along (high, -low) against the eye
        self.facing = self.eye * ([-1, -1, 1] if bowl else [1, 1, 1])
        if bowl and self.has_horizon:
            self.rise = np.array([s * high, -c * high, low]) / math.sqrt(math.cos(2 * tilt))

    def to_screen(self, x: ArrayLike) -> Floats:
        """Return points (…, 2) on the screen; those on the absolute slightly inside it."""
        return self.look(np.asarray(x, dtype=float))[0]

    def look(self, x: Floats) -> tuple[Floats, Floats]:
        """Return points on the screen, and how much a surface faces the eye there (< 0: away)."""
        if self.name == EUCLIDEAN or not x.size:
            return x, np.ones(x.shape[:-1])
        y = self.to_chart(x)
        facing = y @ self.facing if self.has_horizon else np.ones(x.shape[:-1])
        seen = self._project((y - self.origin) * self.scale)
        farthest = 1e3 * self.half_width  # a canvas computes in single precision
        reach = np.linalg.norm(seen, axis=-1, keepdims=True) / farthest
        return np.asarray(seen / np.maximum(reach, 1.0)), np.asarray(facing)

    def on_tangent_plane(self, x: Floats) -> Floats:
        w = np.asarray(self.metric.to_chart(outlines.inset(self.domain, x), "klein"))
        flat = np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1)
        return self._project(flat * self.scale)

    def to_chart(self, x: Floats) -> Floats:
        return np.asarray(self.metric.to_chart(outlines.inset(self.domain, x), self.name), float)

    def _project(self, y: Floats) -> Floats:
        if self.camera is None:
            return y
        # the flat limit has two coordinates
        return np.asarray(y @ np.stack([self.right, self.up])[:, : y.shape[-1]].T)

    def faces_away(self, x: ArrayLike) -> Bools:
        return np.asarray(self.look(np.asarray(x, dtype=float))[1] < 0)

    def horizon(self, t: ArrayLike) -> Floats:
        t = np.asarray(t, dtype=float)[..., None]
        if self.name == "hyperboloid":
            y = np.sinh(t) * self.right + np.cosh(t) * self.rise
        else:
            y = np.cos(t) * self.right + np.sin(t) * self.up
        return np.asarray(self.metric.from_chart(y, self.name), dtype=float)

    def horizon_parameter(self, x: Floats) -> Floats:
        y = self.to_chart(x)
        if self.name == "hyperboloid":
            return np.asarray(np.arcsinh(y @ self.right))
        t = np.arctan2(y @ self.up, y @ self.right)
        return np.asarray(np.clip(t, CLEARANCE, math.pi - CLEARANCE))

    def outline(self, n: int) -> Floats:
        if not self.has_horizon:
            return NOTHING
        bowl = self.name == "hyperboloid"
        # on a bowl up to the height cosh 4
        ends = (-4.0, 4.0) if bowl else (CLEARANCE, np.pi - CLEARANCE)
        return self.horizon(np.linspace(*ends, n))

    def rim(self) -> Floats:
        """Return the edge of the space, if it has one that is seen: the conic, or the equator."""
        circle = unit_circle(RIM_POINTS)
        if self.domain is not None:
            return NOTHING if self.name == "hyperboloid" else self.domain.from_euclidean(circle)
        if self.sign > 0 and self.name in ("conformal", "sphere"):
            far = FAR_OUT * FAR_OUT / math.sqrt(self.metric.curvature)
            return self.metric.points(far * circle)
        return NOTHING

    @cached_property
    def edges(self) -> tuple[Floats, Floats, Floats]:
        """The near and the far side of the rim on the screen, and where a surface turns away."""
        if self.name == "half_space" and self.domain is not None:  # the point ∞ is on it
            low = self.to_screen(self.domain.from_euclidean([0.0, -1.0]))
            return low + np.array([[-FAR_OUT, 0.0], [FAR_OUT, 0.0]]), NOTHING, NOTHING
        turning = self.to_screen(self.outline(RIM_POINTS)) if self.surface else NOTHING
        return *see_path(self, self.rim()), turning


class Loops(NamedTuple):
    """Closed polygons: the corners of all, and the number of the polygon of each corner."""

    xy: Floats
    loop: Ints

    @property
    def after(self) -> Ints:
        last = np.flatnonzero(np.diff(self.loop, append=-1))
        after = np.arange(1, len(self.loop) + 1)
        after[last] = np.append(0, last + 1)[:-1]
        return after

    def of(self, which: Bools) -> Floats:
        mine = which[self.loop]
        ends = np.flatnonzero(np.diff(self.loop[mine])) + 1
        return np.insert(self.xy[mine], ends, np.nan, axis=0)


def sample_segments(view: ChartView, starts: Floats, ends: Floats) -> Floats:
    count = _pieces_needed(view, starts, ends)
    # one more row for the end of each, and one for the gap
    row, part = spread(count + 2)
    t = np.minimum(part / count[row], 1.0)
    path = _along(view.metric, starts[row], ends[row], t)
    return np.where((part > count[row])[:, None], np.nan, path)[:-1]


def sample_boundaries(view: ChartView, cell: Ints, boundary: Boundary) -> Loops:
    starts, ends, angles = boundary
    arc = ~np.isnan(angles[:, 0])
    step = 2 * math.pi / 256  # samples are at its multiples, one of which is the half-plane's ∞
    first = np.where(arc, np.floor(angles[:, 0] / step) + 1, 0)
    inner = np.where(arc, np.ceil(angles[:, 1] / step) - first, 0)
    count = np.ones(len(starts), dtype=np.intp)
    count[~arc] = _pieces_needed(view, starts[~arc], ends[~arc])
    count[arc] += np.maximum(inner[arc], 0).astype(np.intp)
    row, part = spread(count)
    x = starts[row]
    between = part > 0
    bent = between & arc[row]
    flat = between & ~arc[row]
    if bent.any():
        theta = (first[row] + part - 1)[bent] * step
        on_circle = np.stack([np.cos(theta), np.sin(theta)], axis=1)
        x[bent] = view.metric.points(on_circle / math.sqrt(-view.metric.curvature))
    t = part[flat] / count[row[flat]]
    x[flat] = _along(view.metric, starts[row[flat]], ends[row[flat]], t)
    return Loops(x, cell[row])


def spread(count: Ints) -> tuple[Ints, Ints]:
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)


def _along(metric: CurvedMetric, starts: Floats, ends: Floats, t: Floats) -> Floats:
    """Return points of segments at t from 0 to 1, with small steps far out, where charts stretch.

    On a sphere the steps are of one length: with unit vectors h and an angle ω between them,
    h(t) is proportional to h₀ sin (1 - t)ω + h₁ sin tω.
    """
    if metric.curvature > 0 and len(t):
        z = metric.coordinates(np.stack([starts, ends]))
        sigma = np.sqrt(1 + metric.curvature * np.sum(z * z, axis=-1))
        cosine = (1 + metric.curvature * np.sum(z[0] * z[1], axis=-1)) / (sigma[0] * sigma[1])
        # for arcs below 1e-3 the steps are the same to rounding
        omega = np.maximum(np.arccos(np.clip(cosine, -1, 1)), 1e-3)
        a = np.sin((1 - t) * omega) / sigma[0]
        b = np.sin(t * omega) / sigma[1]
        t = b / (a + b)
    elif metric.curvature < 0:
        t = (1 - np.cos(math.pi * t)) / 2
    return np.asarray(starts + t[:, None] * (ends - starts))


def _pieces_needed(view: ChartView, starts: Floats, ends: Floats) -> Ints:
    """Return how many chords stay within a part of a pixel of each curve: at most 64."""
    if view.straight or not len(starts):
        return np.ones(len(starts), dtype=np.intp)
    middle = _along(view.metric, starts, ends, np.full(len(starts), 0.5))
    p, m, q = view.to_chart(np.stack([starts, middle, ends])) * view.scale
    chord = q - p
    bent = m - p
    square = np.maximum(np.sum(chord * chord, axis=1), np.finfo(float).tiny)
    foot = (np.sum(bent * chord, axis=1) / square)[:, None] * chord
    sagitta = np.linalg.norm(bent - foot, axis=1)
    needed = np.ceil(np.sqrt(sagitta / (0.0002 * view.half_width)))
    return np.asarray(np.clip(needed, 1, 64), dtype=np.intp)


def see_path(view: ChartView, path: Floats) -> tuple[Floats, Floats]:
    gap = np.isnan(path[:, 0])
    seen, side = view.look(np.where(gap[:, None], view.metric.center, path))
    if not (side < 0).any():
        return np.where(gap[:, None], np.nan, seen), NOTHING
    side = np.where(gap, np.nan, side)
    cut = np.flatnonzero(side[:-1] * side[1:] < 0)
    at = view.to_screen(_crossings(path[cut], path[cut + 1], side[cut], side[cut + 1]))
    seen = np.insert(seen, cut + 1, at, axis=0)
    side = np.insert(side, cut + 1, 0.0)
    return np.where(side[:, None] >= 0, seen, np.nan), np.where(side[:, None] <= 0, seen, np.nan)


def see_loops(view: ChartView, loops: Loops) -> tuple[Loops, Loops]:
    """Return polygons on the screen: their near side, and their far side on a surface.

    Where corners are cut off, a side follows the horizon; going there and back encloses nothing.
    """
    x, loop = loops
    after = loops.after
    seen, side = view.look(x)
    near = side > 0
    if near.all():
        return Loops(seen, loop), Loops(NOTHING, np.empty(0, dtype=np.intp))
    cut = np.flatnonzero(near != near[after])
    if not len(cut):  # each polygon is on one side
        return Loops(seen[near], loop[near]), Loops(seen[~near], loop[~near])
    ends = after[cut]
    t = view.horizon_parameter(_crossings(x[cut], x[ends], side[cut], side[ends]))
    seen = np.insert(seen, cut + 1, np.nan, axis=0)
    loop = np.insert(loop, cut + 1, loop[cut])
    t = np.insert(np.full(len(x), np.nan), cut + 1, t)
    signs = np.insert(np.where(near, 1, -1), cut + 1, 0)
    front = signs >= 0
    back = signs <= 0
    return (
        _one_side(view, seen[front], loop[front], t[front]),
        _one_side(view, seen[back], loop[back], t[back]),
    )


def _one_side(view: ChartView, seen: Floats, loop: Ints, t: Floats) -> Loops:
    """Join corners of one side; those on the horizon have a parameter t, the others NaN."""
    step = np.nan_to_num(t[Loops(seen, loop).after] - t)
    count = 1 + (np.abs(step) / 0.03).astype(np.intp)
    row, part = spread(count)
    t = t[row] + step[row] * part / count[row]
    xy = seen[row]
    here = ~np.isnan(t)
    xy[here] = view.to_screen(view.horizon(t[here]))
    return Loops(xy, loop[row])


def _crossings(p: Floats, q: Floats, at_p: Floats, at_q: Floats) -> Floats:
    return np.asarray(p + (at_p / (at_p - at_q))[:, None] * (q - p))


class Canvas:
    """Collect shapes: the far side of a surface is drawn first, and faint."""

    def __init__(self, view: ChartView) -> None:
        self.view: Any = view  # the page has views with more attributes
        self.labels: list[Label] = []
        self._back: list[Shape] = []
        self._front: list[Shape] = []

    def shapes(self) -> tuple[Shape, ...]:
        return tuple(shape for shape in (*self._back, *self._front) if len(shape.xy))

    def label(self, text: str, color: str, anchors: Floats, clearance: float = 7.0) -> None:
        """Ask for a label at one of some places on the screen, the best first."""
        self.labels.append(Label(text, color, anchors, clearance))

    def put(self, shape: Shape) -> None:
        self._front.append(shape)

    def areas(self, seen: tuple[Loops, Loops], which: Bools, color: str, alpha: float) -> None:
        area = Shape("area", NOTHING, color, alpha=alpha)
        self._both([loops.of(which) for loops in seen], area)

    def rings(self, x: Floats, color: str, alpha: float) -> None:
        """Fill polygons (m, n, 2), which all have n corners."""
        loops = Loops(x.reshape(-1, 2), np.repeat(np.arange(len(x)), x.shape[1]))
        self.areas(see_loops(self.view, loops), np.ones(len(x), dtype=bool), color, alpha)

    def line(
        self, path: Floats, hue: str, width: float, dash: Dash = (), alpha: float = 1
    ) -> Floats:
        """Draw a path, and return what is seen of its near side."""
        seen = see_path(self.view, path)
        self._both(seen, Shape("line", NOTHING, hue, width, dash, alpha))
        return seen[0]

    def _both(self, seen: Sequence[Floats], shape: Shape) -> None:
        self._front.append(shape._replace(xy=seen[0]))
        self._back.append(shape._replace(xy=seen[1], alpha=0.3 * shape.alpha))

    def segments(self, starts: Floats, ends: Floats, *look: Any, **more: Any) -> None:
        self.line(sample_segments(self.view, starts, ends), *look, **more)

    def marks(self, x: Floats, color: str, size: float, marker: str = "circle") -> None:
        seen, facing = self.view.look(x)
        away = facing < 0
        dots = Shape("marks", seen, color, size, marker=marker)
        self._front.append(dots._replace(xy=seen[~away]))
        self._back.append(dots._replace(xy=seen[away], alpha=0.4))

    def rim(self, width: float) -> None:
        """Draw where the space ends, and where a surface turns away."""
        near, far, turning = self.view.edges
        self._both((near, far), Shape("line", NOTHING, "ink", width))
        self.put(Shape("line", turning, "ink", min(width, 1.4)))
