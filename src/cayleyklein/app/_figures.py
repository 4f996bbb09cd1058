"""Figures that a visitor constructs: their text in an address, their places and measures.

A figure of the kind "point" names a point of the plane by its number; every other figure depends on
the figures that it is made from, which come before it. Worksheets ask for figures; their questions,
scenes and answers are in ``static/worksheets.json``, in the order of `CHECKS`.
"""

import json
import math
import re
from collections.abc import Callable, Container
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_choice
from cayleyklein.app import _limits
from cayleyklein.app._views import View
from cayleyklein.exceptions import CayleyKleinError, InvalidInputError
from cayleyklein.geometry import Hyperplane, constructions, metric_tensor
from cayleyklein.meshes import conformal
from cayleyklein.metrics import CurvedMetric
from cayleyklein.plotting import outlines
from cayleyklein.plotting.shapes import Shape, chain
from cayleyklein.plotting.views import Canvas, sample_segments, see_path

POINT_KINDS = ("point", "midpoint", "meet", "reflection")
LINE_KINDS = ("segment", "line", "perpendicular", "bisector")
FIGURE_COLORS = {
    "ink": "black",
    "gold": "gold",
    "elliptic": "red",
    "flat": "violet",
    "hyperbolic": "green",
    "learned": "brown",
}
SHEETS = json.loads((Path(__file__).parent / "static" / "worksheets.json").read_text("utf-8"))
Found = tuple[str, dict[str, Any]]  # the key of an answer, and its numbers


def _parallels(line: Hyperplane, p: Floats, metric: CurvedMetric) -> Any:
    if metric.curvature:
        ends = constructions.line_ends(line, metric)
        return tuple(constructions.line_through(p, end) for end in ends)  # limiting parallels
    upright = constructions.perpendicular(line, p, metric)
    return (constructions.perpendicular(upright, p, metric),) * 2


def _corners(*points_and_metric: Any) -> Floats:
    return np.stack(points_and_metric[:-1])


def _line(p: Floats, q: Floats, metric: CurvedMetric) -> Any:
    return constructions.line_through(p, q)


def _midpoint(p: Floats, q: Floats, metric: CurvedMetric) -> Any:
    return metric.midpoint(p, q)


def _equidistant(line: Hyperplane, p: Floats, metric: CurvedMetric) -> Any:
    return constructions.equidistant(p, line, metric)


class Tool(NamedTuple):
    """What constructs a figure.

    It needs a point (P) or a line (L) for each letter; after * more of the same. The function
    returns the figure's place from the places of what it needs, and the metric.
    """

    title: str
    needs: str
    place: Callable[..., Any]


TOOLS = {
    "point": Tool("Point", "P", _corners),
    "segment": Tool("Segment", "PP", _line),
    "line": Tool("Line", "PP", _line),
    "circle": Tool("Circle", "PP", _corners),
    "ball": Tool("Circle of radius", "P", _corners),
    "polygon": Tool("Polygon", "P*", _corners),
    "midpoint": Tool("Midpoint", "PP", _midpoint),
    "meet": Tool("Where lines meet", "LL", constructions.meet),
    "perpendicular": Tool("Perpendicular", "LP", constructions.perpendicular),
    "angle": Tool("Angle", "PPP", _corners),
    "bisector": Tool("Angle bisector", "PPP", constructions.angle_bisector),
    "reflection": Tool("Mirror image", "PL", constructions.reflect),
    "parallels": Tool("Limiting parallels", "LP", _parallels),
    "horocycle": Tool("Horocycle", "PP", constructions.horocycle),
    "equidistant": Tool("Equidistant", "LP", _equidistant),
}


def read_numbers(text: str, name: str, count: int) -> list[float]:
    with suppress(ValueError):
        values = [float(part) for part in text.split(",")]
        if len(values) == count and all(map(math.isfinite, values)):
            return values
    said = "a number" if count == 1 else f"{count} numbers"
    raise InvalidInputError(f"{name} must be {said}; got {text[:30]!r}.")


class Figure(NamedTuple):
    kind: str
    name: str
    parents: tuple[str, ...] = ()
    color: str = "ink"
    hidden: bool = False
    value: float = 0.0  # the number of a point, or the radius of a ball

    @property
    def text(self) -> str:
        parents = ".".join(self.parents)
        return f"{self.kind},{self.name},{parents},{self.color},{self.hidden:d},{self.value:g}"

    def fits(self, needed: str) -> bool:
        return self.kind in (LINE_KINDS if needed == "L" else POINT_KINDS)


def read_figures(text: str) -> tuple[Figure, ...]:
    found: dict[str, Figure] = {}
    for item in filter(None, text.split(";")):
        parts = item.split(",")
        if len(parts) != 6 or len(found) >= _limits.MOST_FIGURES:
            said = f"up to {_limits.MOST_FIGURES} figures of six parts each"
            raise InvalidInputError(f"objects must hold {said}; got {item[:30]!r}.")
        kind, name, parents, color, hidden, value = parts
        (number,) = read_numbers(value, "objects", 1)
        hue = as_choice(color[:20], "color", tuple(FIGURE_COLORS))
        names = tuple(filter(None, parents.split(".")))
        found[name] = checked(Figure(kind, name, names, hue, hidden == "1", number), found)
    return tuple(found.values())


def checked(figure: Figure, before: dict[str, Figure]) -> Figure:
    as_choice(figure.kind[:20], "kind", tuple(TOOLS))
    check_figure_name(figure.name, before)
    needed = "" if figure.kind == "point" else TOOLS[figure.kind].needs
    if needed == "P*":
        needed = "P" * min(max(len(figure.parents), 3), _limits.MOST_CORNERS)
    parents = [before[name] for name in figure.parents if name in before]
    fits = len(parents) == len(figure.parents) == len(needed)
    if not fits or not all(p.fits(n) for p, n in zip(parents, needed, strict=True)):
        raise InvalidInputError(f"{figure.name} cannot be made from {'.'.join(figure.parents)!r}.")
    return figure


def check_figure_name(name: str, taken: Container[str]) -> None:
    if not re.fullmatch(r"[^\W_][\w′]{0,11}", name):
        raise InvalidInputError(f"A name has up to 12 letters and digits; got {name[:20]!r}.")
    if name in taken:
        raise InvalidInputError(f"There is a {name} already; choose another name.")


def new_name(kind: str, taken: Container[str]) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if kind in POINT_KINDS else "abcdefghijklmnopqrstuvwxyz"
    names = (f"{letter}{i or ''}" for i in count() for letter in letters)
    return next(name for name in names if name not in taken)


def without(figures: tuple[Figure, ...], *names: str) -> tuple[tuple[Figure, ...], list[str]]:
    """Remove figures and all that depend on them; return the rest, and the names of the removed."""
    gone = dict.fromkeys(names)
    for figure in figures:  # parents come first
        if figure.name in gone or not gone.keys().isdisjoint(figure.parents):
            gone[figure.name] = None
    return tuple(f for f in figures if f.name not in gone), list(gone)


class Construction:
    """The figures of a state. `places` has points (2,), lines, and radii or corners of the rest."""

    def __init__(self, figures: tuple[Figure, ...], points: Floats, metric: CurvedMetric) -> None:
        self.figures = figures
        self.metric = metric
        self._points = points
        self.by_name = {figure.name: figure for figure in figures}
        self.places: dict[str, Any] = {}  # None for figures that do not exist at this K
        for figure in figures:
            given = self.given(figure)
            self.places[figure.name] = None
            if all(place is not None for place in given):
                with suppress(CayleyKleinError):
                    self.places[figure.name] = self._place(figure, given)
        pairs = self.placed("segment", "circle", hidden=True)
        self.lengths = dict[str, float]()
        if pairs:
            ends = np.array([self.given(figure) for figure in pairs])
            lengths = np.asarray(metric.distance(ends[:, 0], ends[:, 1])).tolist()
            self.lengths = dict(zip((figure.name for figure in pairs), lengths, strict=True))
        self.places |= {f.name: self.lengths[f.name] for f in pairs if f.kind == "circle"}

    @cached_property
    def rings(self) -> dict[str, Floats]:
        """Circles and balls as polylines."""
        radii = self.placed("circle", "ball", hidden=True)
        if not radii:
            return {}
        centers = np.stack([self.given(figure)[0] for figure in radii])
        found = outlines.spheres(self.metric, centers, list(radii.values()), 145)
        return {figure.name: ring for figure, ring in zip(radii, found, strict=True)}

    def _place(self, figure: Figure, given: list[Any]) -> Any:
        if figure.kind == "ball":
            return figure.value
        if figure.kind == "point":
            x = self._points[int(figure.value)]
            return x if self.metric.contains(x) else None
        place = TOOLS[figure.kind].place(*given, self.metric)
        if figure.kind == "angle":
            return None if (place[::2] == place[1]).all(axis=1).any() else place
        return None if figure.kind in POINT_KINDS and not np.isfinite(place).all() else place

    def given(self, figure: Figure) -> list[Any]:
        return [self.places[name] for name in figure.parents]

    def measure(self, figure: Figure) -> str:
        place = self.places[figure.name]
        K = self.metric.curvature
        given = self.given(figure)
        if place is None:
            if figure.kind == "parallels" and K > 0:
                return "none: for K > 0 all lines meet"
            hyperbolic = figure.kind in ("parallels", "horocycle") and K >= 0
            return "only where K < 0" if hyperbolic else "not in the geometry here"
        if figure.kind in POINT_KINDS:
            return f"({place[0]:.3f}, {place[1]:.3f})".replace("-", "\N{MINUS SIGN}")
        if figure.kind == "segment":
            return f"length {self.lengths[figure.name]:.4f}"
        if figure.kind in ("circle", "ball"):
            around, inside = constructions.circle_measures(place, K)
            flat = f"2πr = {2 * math.pi * place:.4f}, πr² = {math.pi * place**2:.4f}"
            return f"r = {place:.4f}, circumference {around:.4f}, area {inside:.4f}; {flat}"
        if figure.kind in ("angle", "bisector"):
            angle = math.degrees(self.metric.vertex_angle(given[1], given[0], given[2]))
            return f"{angle:.2f}°" if figure.kind == "angle" else f"halves of {angle / 2:.2f}°"
        if figure.kind == "polygon":
            return self._polygon(place).replace("-", "\N{MINUS SIGN}")
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
        n = len(corners)
        said = f"perimeter {found['perimeter']:.4f}, area {found['area']:.4f}"
        if "angle_sum" not in found:
            return f"{said}; its sides cross, so it has no inner angles"
        total = found["angle_sum"]
        flat = f"{n - 2}·180°" if n > 3 else "180°"
        area = f"K·area = {math.degrees(found['curved_area']):.2f}°"
        less = f"angle sum − {flat} = {math.degrees(total - (n - 2) * math.pi):.2f}°"
        return f"{said}, angle sum {math.degrees(total):.2f}°; {area}, {less}"

    def placed(self, *kinds: str, hidden: bool = False) -> dict[Figure, Any]:
        """Return the places of figures of some kinds, or of all, that have a place."""
        wanted = [f for f in self.figures if f.kind in (kinds or TOOLS) and hidden >= f.hidden]
        return {f: self.places[f.name] for f in wanted if self.places[f.name] is not None}

    def draw(self, canvas: Canvas) -> None:
        names = self.placed(*POINT_KINDS)
        for figure, place in self.placed().items():
            if figure.kind in POINT_KINDS:
                if figure.kind != "point":
                    canvas.marks(place[None], figure.color, 4.5, "diamond")
                continue
            path = self.path(figure, canvas.view)
            if figure.kind == "polygon":
                canvas.rings(path[~np.isnan(path[:, 0])][None], figure.color, 0.12)
            seen = canvas.line(path, figure.color, 2.0)
            if figure.kind not in ("polygon", "angle"):  # whose corners have names
                off = np.abs(seen - canvas.view.middle).max(axis=1)
                shown = seen[off < 0.9 * canvas.view.half_width]
                # the name is near the start of what is seen; the ends of segments have names
                part = 0.5 if figure.kind == "segment" else 0.12
                at = shown[int(part * len(shown)) :][:1]
                canvas.put(Shape("words", at, figure.color, text=(figure.name,)))
        if names:
            seen = canvas.view.to_screen(np.stack([*names.values()]))
            canvas.put(Shape("words", seen, "ink", text=tuple(figure.name for figure in names)))

    def path(self, figure: Figure, view: View) -> Floats:
        """Return a figure that is not a point as a polyline in x."""
        place = self.places[figure.name]
        given = self.given(figure)
        metric = self.metric
        if figure.kind == "segment":
            return sample_segments(view, given[0][None], given[1][None])
        if figure.kind in LINE_KINDS:
            return outlines.line_path(metric, place, 129)
        if figure.kind == "parallels":
            return chain(outlines.line_path(metric, line, 129) for line in place)
        if figure.kind in ("circle", "ball"):
            return self.rings[figure.name]
        if figure.kind == "polygon":
            return sample_segments(view, place, np.roll(place, -1, axis=0))
        return self._arc(*place) if figure.kind == "angle" else np.asarray(place)

    def _arc(self, p: Floats, x: Floats, q: Floats) -> Floats:
        C = np.linalg.cholesky(metric_tensor(x, self.metric))
        a, b = (np.asarray(self.metric.log(x, end)) @ C for end in (p, q))
        turn = math.atan2(a[0] * b[1] - a[1] * b[0], float(a @ b))
        angle = math.atan2(a[1], a[0]) + turn * np.linspace(0, 1, 33)
        radius = 0.22 * min(np.linalg.norm(a), np.linalg.norm(b))
        steps = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ np.linalg.inv(C)
        return np.asarray(self.metric.exp(x, steps))

    def nearest(self, spot: Floats, view: View, reach: float, needed: str) -> str | None:
        best = None
        least = reach
        for figure, place in self.placed(*(LINE_KINDS if needed == "L" else POINT_KINDS)).items():
            if needed == "P":
                on_path = view.to_screen(place)[None]
            else:  # the point of each piece of its path that is nearest
                path = np.concatenate(see_path(view, self.path(figure, view)))
                start = path[:-1]
                step = np.diff(path, axis=0)
                square = np.maximum(np.sum(step**2, axis=1), np.finfo(float).tiny)
                t = np.clip(np.sum((spot - start) * step, axis=1) / square, 0, 1)
                on_path = start + t[:, None] * step
            gap = np.nanmin(np.linalg.norm(on_path - spot, axis=1), initial=math.inf)
            if gap < least:
                best = figure.name
                least = float(gap)
        return best


def polygon_measures(corners: Floats, metric: CurvedMetric) -> dict[str, float]:
    """Return perimeter and area, and, where no sides cross, the sum of the inner angles.

    The area comes from triangles, the angles from the corners: K·area = angle sum - (n - 2)π is
    the theorem of Gauss and Bonnet, which neither computation uses.
    """
    after = np.roll(corners, -1, axis=0)
    K = metric.curvature
    y = conformal.ConformalPlane(metric, corners[0]).from_points(corners)
    signed = float(conformal.signed_areas(y[0], y[1:-1], y[2:], K).sum())
    found = {"perimeter": float(np.sum(metric.distance(corners, after))), "area": abs(signed)}
    if _sides_cross(corners, after):
        return found
    ahead, behind = (conformal.difference(np.roll(y, shift), y, K) for shift in (-1, 1))
    inner = np.angle(behind * np.conj(ahead)) * math.copysign(1, signed) % (2 * math.pi)
    return found | {"angle_sum": float(inner.sum()), "curved_area": K * abs(signed)}


def _sides_cross(p: Floats, q: Floats) -> bool:
    along = (q - p)[:, None]
    n = len(p)

    def sides(x: Floats) -> Floats:  # of x[j] seen along side i
        off = x - p[:, None]
        return np.sign(along[..., 0] * off[..., 1] - along[..., 1] * off[..., 0])

    parts = sides(p[None]) * sides(q[None]) <= 0
    gap = (np.arange(n) - np.arange(n)[:, None]) % n
    return bool((parts & parts.T & (gap > 1) & (gap < n - 1)).any())


def check_sheet(index: int, made: Construction, answer: str) -> tuple[bool, str]:
    key, numbers = CHECKS[index](made, answer)
    said = SHEETS[index]["answers"][key].format(K=made.metric.curvature, **numbers)
    return key == "right", said.replace("= -", "= \N{MINUS SIGN}")


def _angle_sum(made: Construction, answer: str) -> Found:
    found = _polygons(made, 3)
    if not found:
        return "none", {}
    total = math.degrees(found[0]["angle_sum"])
    numbers = {"total": total, "missing": math.degrees(found[0]["curved_area"])}
    if abs(total - 150.0) <= 1:
        return "right", numbers
    should_grow = (total > 150.0) == (made.metric.curvature < 0)
    return "larger" if should_grow else "smaller", numbers


def _sheet_of_parallels(made: Construction, answer: str) -> Found:
    lines = made.placed(*LINE_KINDS, hidden=True)
    K = made.metric.curvature
    if not lines or "P" not in made.by_name:
        return "gone", {}
    first, *others = lines
    others = [figure for figure in others if "P" in figure.parents]
    meets = {f.name: constructions.meet(lines[first], lines[f], made.metric) for f in others}
    missing = [name for name, place in meets.items() if np.isnan(place).all()]
    if not others:
        return "none", {}
    if not missing:
        return "elliptic" if K > 0 else "meets", {}
    if K == 0:
        return "flat", {}
    return "right" if len(missing) > 1 else "one", {"names": " and ".join(missing[:2])}


def _circles(made: Construction, answer: str) -> Found:
    radii = made.placed("circle", "ball", hidden=True).values()
    K = made.metric.curvature
    if not radii:
        return "none", {}
    ratios = [constructions.circle_measures(r, K)[0] / (math.tau * r) for r in radii]
    best = min(ratios, key=lambda ratio: abs(ratio - 1.5))
    if abs(best - 1.5) <= 0.02:
        return "right", {"ratio": best}
    if K >= 0:
        return "flat", {"ratio": best}
    return "larger" if best < 1.5 else "smaller", {"ratio": best}


def _squares(made: Construction, answer: str) -> Found:
    found = _polygons(made, 4)
    if not found:
        return "gone", {}
    angle = math.degrees(found[0].get("angle_sum", math.nan)) / 4
    if not abs(angle - 90) < 0.5:
        return "wrong", {"angle": angle}
    return "right" if abs(made.metric.curvature) <= 0.02 else "small", {}


def _polygons(made: Construction, n: int) -> list[dict[str, float]]:
    found = made.placed("polygon", hidden=True).values()
    return [polygon_measures(corners, made.metric) for corners in found if len(corners) == n]


def _name_of_diagram(made: Construction, answer: str) -> Found:
    return "right" if answer == "voronoi" else "wrong", {}


CHECKS: tuple[Callable[[Construction, str], Found], ...] = (
    _angle_sum,
    _sheet_of_parallels,
    _circles,
    _squares,
    _name_of_diagram,
)
