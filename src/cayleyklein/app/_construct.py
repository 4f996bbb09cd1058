"""Constructed figures at a state: where they are, what they measure, and their shapes."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.app._figures import LINE_KINDS, POINT_KINDS, Figure, takes
from cayleyklein.app._views import View
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.geometry import Hyperplane, constructions, metric_tensor
from cayleyklein.meshes import conformal
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.paths import Canvas, sample_segments, see_path
from cayleyklein.plotting.shapes import Shape, chain

ON_LINE, AROUND_CIRCLE = 129, 145
NAME_AT = 0.12  # of the part of a line or circle that is seen: where its name is
CORNER = 0.22  # radius of an angle's arc, relative to its shorter side


def _parallels(metric: CurvedMetric, line: Hyperplane, p: Floats) -> Any:
    if metric.curvature > 0:
        return None
    if metric.curvature < 0:
        return constructions.limiting_parallels(line, p, metric)
    upright = constructions.perpendicular(line, p, metric)
    return (constructions.perpendicular(upright, p, metric),) * 2


def _apart(p: Floats, x: Floats, q: Floats) -> bool:
    return not ((p == x).all() or (q == x).all())


MAKE: dict[str, Callable[..., Any]] = {  # places of figures, from a metric and their parents'
    "segment": lambda metric, p, q: constructions.line_through(p, q),
    "line": lambda metric, p, q: constructions.line_through(p, q),
    "circle": lambda metric, p, q: float(metric.distance(p, q)),
    "midpoint": lambda metric, p, q: metric.midpoint(p, q),
    "meet": lambda metric, a, b: constructions.meet(a, b, metric),
    "perpendicular": lambda metric, line, p: constructions.perpendicular(line, p, metric),
    "bisector": lambda metric, p, x, q: constructions.angle_bisector(p, x, q, metric),
    "reflection": lambda metric, p, line: constructions.reflect(p, line, metric),
    "parallels": _parallels,
    "horocycle": lambda metric, p, q: constructions.horocycle(p, q, metric),
    "equidistant": lambda metric, line, p: constructions.equidistant(p, line, metric),
    "polygon": lambda metric, *corners: np.stack(corners),
    "angle": lambda metric, *corners: np.stack(corners) if _apart(*corners) else None,
}


class Construction:
    """The figures of a state. `places` has points (2,), lines, and radii or corners of the rest."""

    def __init__(self, figures: tuple[Figure, ...], points: Floats, metric: CurvedMetric) -> None:
        self.figures, self.metric, self._points = figures, metric, points
        self.by_name = {figure.name: figure for figure in figures}

    @cached_property
    def places(self) -> dict[str, Any]:
        """Where each figure is; None for one that is not in the geometry of this K."""
        found: dict[str, Any] = {}
        for figure in self.figures:
            given = [found[name] for name in figure.parents]
            place = None
            if not any(one is None for one in given):
                try:
                    place = self._place(figure, given)
                except CayleyKleinError:
                    place = None
            found[figure.name] = place
        return found

    def _place(self, figure: Figure, given: list[Any]) -> Any:
        if figure.kind == "ball":
            return figure.value
        if figure.kind == "point":
            x = self._points[int(figure.value)]
            return x if self.metric.contains(x) else None
        place = MAKE[figure.kind](self.metric, *given)
        beyond = figure.kind in POINT_KINDS and not np.isfinite(place).all()
        return None if beyond else place

    def given(self, figure: Figure) -> list[Any]:
        return [self.places[name] for name in figure.parents]

    # -- measures

    def measure(self, figure: Figure) -> str:
        return self._measure(figure).replace("-", "\N{MINUS SIGN}")

    def _measure(self, figure: Figure) -> str:
        place, K = self.places[figure.name], self.metric.curvature
        if place is None:
            if figure.kind == "parallels" and K > 0:
                return "none: for K > 0 all lines meet"
            hyperbolic = figure.kind in ("parallels", "horocycle") and K >= 0
            return "only where K < 0" if hyperbolic else "not in the geometry here"
        if figure.kind in POINT_KINDS:
            return f"({place[0]:.3f}, {place[1]:.3f})"
        given = self.given(figure)
        if figure.kind == "segment":
            return f"length {self.metric.distance(*given):.4f}"
        if figure.kind in ("circle", "ball"):
            around, inside = constructions.circle_measures(place, K)
            flat = f"2πr = {2 * math.pi * place:.4f}, πr² = {math.pi * place**2:.4f}"
            return f"r = {place:.4f}, circumference {around:.4f}, area {inside:.4f}; {flat}"
        if figure.kind == "angle":
            return f"{math.degrees(self.metric.vertex_angle(place[1], place[0], place[2])):.2f}°"
        if figure.kind == "bisector":
            half = math.degrees(self.metric.vertex_angle(given[1], given[0], given[2])) / 2
            return f"halves of {half:.2f}°"
        if figure.kind == "polygon":
            return self._polygon(place)
        if figure.kind == "horocycle":
            return "its centre is at infinity"
        if figure.kind == "line":
            return f"through {' and '.join(figure.parents)}"
        height = abs(float(constructions.distance_to_line(given[1], given[0], self.metric)))
        if figure.kind != "parallels":
            return f"{figure.parents[1]} is {height:.4f} from {figure.parents[0]}"
        if K == 0:
            return f"one parallel, {height:.4f} away: the two are the same at K = 0"
        angle = 2 * math.degrees(math.atan(math.exp(-math.sqrt(-K) * height)))
        return f"two, at {angle:.2f}° to the perpendicular, which is {height:.4f} long"

    def _polygon(self, corners: Floats) -> str:
        found = polygon_measures(corners, self.metric)
        said = f"perimeter {found['perimeter']:.4f}, area {found['area']:.4f}"
        if "angle_sum" not in found:
            return f"{said}; its sides cross, so it has no inner angles"
        total, n = found["angle_sum"], len(corners)
        flat = f"{n - 2}·180°" if n > 3 else "180°"
        return (
            f"{said}, angle sum {math.degrees(total):.2f}°; "
            f"K·area = {math.degrees(found['curved_area']):.2f}°, "
            f"angle sum − {flat} = {math.degrees(total - (n - 2) * math.pi):.2f}°"
        )

    # -- shapes

    def draw(self, canvas: Canvas) -> None:
        names, spots = [], []
        for figure in self.figures:
            place = self.places[figure.name]
            if figure.hidden or place is None:
                continue
            if figure.kind in POINT_KINDS:
                if figure.kind != "point":
                    canvas.marks(place[None], figure.color, 4.5, "diamond")
                names.append(figure.name)
                spots.append(place)
                continue
            if figure.kind == "polygon":
                ring = sample_segments(canvas.view, place, np.roll(place, -1, axis=0))
                canvas.rings(ring[~np.isnan(ring[:, 0])][None], figure.color, 0.12)
            path = self.path(figure, canvas.view)
            canvas.line(path, figure.color, 2.0)
            if figure.kind not in ("polygon", "angle"):  # whose corners have names
                seen = see_path(canvas.view, path)[0]
                off = np.abs(seen - canvas.view.middle).max(axis=1)
                shown = seen[off < 0.9 * canvas.view.half_width]
                if len(shown):
                    at = shown[int(NAME_AT * len(shown))][None]
                    canvas.put(Shape("words", at, figure.color, text=(figure.name,)))
        if names:
            seen = canvas.view.to_screen(np.stack(spots))
            canvas.put(Shape("words", seen, "ink", text=tuple(names)))

    def path(self, figure: Figure, view: View) -> Floats:
        """Return a figure that is not a point as a polyline in x."""
        place, given, metric = self.places[figure.name], self.given(figure), self.metric
        if figure.kind == "segment":
            return sample_segments(view, given[0][None], given[1][None])
        if figure.kind in LINE_KINDS:
            return outlines.line_path(metric, place, ON_LINE)
        if figure.kind == "parallels":
            return chain(outlines.line_path(metric, line, ON_LINE) for line in place)
        if figure.kind in ("circle", "ball"):
            return np.asarray(outlines.spheres(metric, given[0][None], place, AROUND_CIRCLE)[0])
        if figure.kind == "polygon":
            return sample_segments(view, place, np.roll(place, -1, axis=0))
        if figure.kind == "angle":
            return self._arc(place)
        return np.asarray(place)

    def _arc(self, corners: Floats) -> Floats:
        p, x, q = corners
        C = np.linalg.cholesky(metric_tensor(x, self.metric))
        a, b = (np.asarray(self.metric.log(x, end)) @ C for end in (p, q))
        turn = math.atan2(a[0] * b[1] - a[1] * b[0], float(a @ b))
        angle = math.atan2(a[1], a[0]) + turn * np.linspace(0, 1, 33)
        radius = CORNER * min(np.linalg.norm(a), np.linalg.norm(b))
        steps = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ np.linalg.inv(C)
        return np.asarray(self.metric.exp(x, steps))

    def nearest(self, spot: Floats, view: View, reach: float, needed: str) -> str | None:
        """Return the name of the point or the line that is nearest to a place on the screen."""
        best, least = None, reach
        for figure in self.figures:
            place = self.places[figure.name]
            if place is None or figure.hidden or not takes(figure, needed):
                continue
            point = needed == "P"
            seen = (
                [view.to_screen(place[None])] if point else see_path(view, self.path(figure, view))
            )
            gap = _gap(np.concatenate(seen), spot)
            if gap < least:
                best, least = figure.name, gap
        return best


def _gap(path: Floats, spot: Floats) -> float:
    """Return the distance of a spot from a polyline on the screen."""
    if len(path) < 2:
        return float(np.linalg.norm(path - spot, axis=1).min(initial=math.inf))
    a, step = path[:-1], np.diff(path, axis=0)
    square = np.maximum(np.einsum("ij,ij->i", step, step), np.finfo(float).tiny)
    t = np.clip(np.einsum("ij,ij->i", spot - a, step) / square, 0, 1)
    return float(np.nanmin(np.linalg.norm(a + t[:, None] * step - spot, axis=1), initial=math.inf))


def polygon_measures(corners: Floats, metric: CurvedMetric) -> dict[str, float]:
    """Return perimeter and area, and, where no sides cross, the sum of the inner angles.

    The area comes from triangles, the angles from the corners: that K·area is the angle sum less
    (n - 2)π is Gauss and Bonnet's theorem, not how either is computed.
    """
    after, K = np.roll(corners, -1, axis=0), metric.curvature
    y = conformal.ConformalPlane(metric, corners[0]).from_points(corners)
    signed = float(conformal.signed_areas(y[0], y[1:-1], y[2:], K).sum())
    found = {"perimeter": float(np.sum(metric.distance(corners, after))), "area": abs(signed)}
    if _sides_cross(corners):
        return found
    ahead, behind = (conformal.difference(np.roll(y, shift), y, K) for shift in (-1, 1))
    inner = np.angle(behind * np.conj(ahead)) * math.copysign(1, signed) % (2 * math.pi)
    return found | {"angle_sum": float(inner.sum()), "curved_area": K * abs(signed)}


def _sides_cross(corners: Floats) -> bool:
    """Say whether two sides that are not neighbours have a point in common."""
    p, q, n = corners, np.roll(corners, -1, axis=0), len(corners)
    along = (q - p)[:, None]

    def sides(x: Floats) -> Floats:  # of x[j] seen along side i
        off = x - p[:, None]
        return np.sign(along[..., 0] * off[..., 1] - along[..., 1] * off[..., 0])

    parts = sides(p[None]) * sides(q[None]) <= 0
    gap = (np.arange(n) - np.arange(n)[:, None]) % n
    return bool((parts & parts.T & (gap > 1) & (gap < n - 1)).any())
