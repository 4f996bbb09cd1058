"""The state of the plane page: one value that fits into an address; and regular tilings {p, q}.

Of those, q polygons of p sides are around each corner. In a triangle of a tile's centre, the middle
of an edge and a corner the angles are π/p, π/2 and π/q. So with c = cos or cosh of a length times
√|K|, by the sign of 1/p + 1/q - 1/2, and an edge that fixes K,

    c(edge/2) = cos(π/p)/sin(π/q),    c(apothem) = cos(π/q)/sin(π/p).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

import numpy as np
from scipy.spatial import cKDTree

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import as_choice
from cayleyklein.app._figures import Figure, read_figures, read_numbers
from cayleyklein.app._limits import LIMITS
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import apply_collineation, constructions, lifts
from cayleyklein.metrics import CurvedMetric

CHART_NAMES = {
    "klein": "Klein",
    "poincare": "Poincaré",
    "half-plane": "Half-plane",
    "hemisphere": "Hemisphere",
    "hyperboloid": "Hyperboloid",
}
LAYERS = {  # with their names in a description
    "cells": "Voronoi cells",
    "regions": "decision regions",
    "lit": "the cell of the chosen point",
    "delaunay": "Delaunay triangulation",
    "geodesics": "geodesics",
    "bisector": "bisector",
    "cross": "cross-ratio",
    "balls": "balls",
    "conic": "conic handles",
    "power": "power diagram",
}
LETTERS = "ABCDEFGHIJKLMNOPQRST"  # names of the classes, on the page and in tables
RANGES = {  # lowest and highest value of every number; turn and tilt are of the camera
    "curvature": (-1.0, 1.0),
    "radius": (0.02, 1.5),
    "center_x": (-4.0, 4.0),
    "center_y": (-4.0, 4.0),
    "major": (0.1, 6.0),
    "minor": (0.1, 6.0),
    "angle": (-90.0, 90.0),
    "turn": (-180.0, 180.0),
    "tilt": (5.0, 90.0),
    "order": (1, 5),
}
LARGEST_COORDINATE = 20.0  # largest coordinate of a point
DECIMALS = 6  # decimals of numbers in an address: enough that moved figures look congruent
MAP_DECIMALS = 10  # of the points of a map, which may be far out
CURVATURE_DECIMALS = 2  # K moves in steps of 0.01; the conic of a smaller K is too far to be drawn
CONIC = ("center_x", "center_y", "major", "minor", "angle")


def plural(n: int, noun: str) -> str:
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun}es" if noun.endswith("s") else f"{n:,} {noun}s"


class Tiling(NamedTuple):
    p: int
    q: int
    depth: int = 4
    edge: float = 1.0
    x: float = 0.0
    y: float = 0.0
    turn: float = 0.0

    @property
    def text(self) -> str:
        return ",".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in self)

    @property
    def sign(self) -> int:
        return int(np.sign(2 * (self.p + self.q) - self.p * self.q))

    def at_curvature(self, K: float) -> "Tiling | None":
        """Return the tiling with the edge that it has at K, or None where there is none."""
        if np.sign(K) != self.sign:
            return None
        edge = self.unit_edge / math.sqrt(abs(K)) if K else self.edge
        return read_tiling(self._replace(edge=edge).text)

    @property
    def unit_edge(self) -> float:
        """The edge where |K| = 1; the least on the page, as |K| ≤ 1."""
        return 2 * self._length(self.p, self.q)

    def _length(self, p: int, q: int) -> float:
        ratio = math.cos(math.pi / p) / math.sin(math.pi / q)
        return math.acos(ratio) if self.sign > 0 else math.acosh(max(ratio, 1.0))

    @property
    def curvature(self) -> float:
        return self.sign * (self.unit_edge / self.edge) ** 2 if self.sign else 0.0

    def placed(self, metric: CurvedMetric) -> tuple[Floats, Floats]:
        """Return homogeneous points (n, p, 3) of x, and the depths (n,) of the tiles."""
        K = self.curvature
        flat = self.edge / 2 / math.tan(math.pi / self.p)
        apothem = self._length(self.q, self.p) / math.sqrt(abs(K)) if K else flat
        k = math.sqrt(abs(K))
        c = float(lifts.cosine(apothem, K))
        s = float(lifts.sine(apothem, K))
        turn = 2 * math.pi * np.arange(self.p) / self.p
        u = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        # reflections I - 2 N lᵀ in the edges, l = (c u, -s), N = (c u, -K s)
        line = np.column_stack([c * u, np.full(self.p, -s)])
        normal = np.column_stack([c * u, np.full(self.p, -K * s)])
        mirrors = np.eye(3) - 2 * normal[:, :, None] * line[:, None, :]
        # a corner is at the edge's middle and half an edge along it, turned by π/p
        across = math.tan(math.pi / self.p) * s
        half = np.stack([s * u[:, 0] - across * u[:, 1], s * u[:, 1] + across * u[:, 0]], axis=1)
        first = np.column_stack([half, np.full(self.p, c)])
        # scaled so that the chord of two centres shows whether tiles differ
        scale = np.array([1.0, 1.0, 1 / k if k else 0.0])
        tiles = layer = np.eye(3)[None]
        depths = np.zeros(1)
        for number in range(1, self.depth):
            fresh = (layer[:, None] @ mirrors[None]).reshape(-1, 3, 3)
            centers = fresh[:, :, 2] * scale
            tree = cKDTree(np.concatenate([tiles[:, :, 2] * scale, centers]))
            near = tree.query_ball_point(centers, apothem / 2)
            new = [i for i, found in enumerate(near) if min(found) == len(tiles) + i]
            layer = fresh[new]
            if not len(layer) or len(tiles) + len(layer) > LIMITS.most_tiles:
                break
            tiles = np.concatenate([tiles, layer])
            depths = np.append(depths, np.full(len(layer), float(number)))
        to_x = np.eye(3)
        to_x[:2, :2] = metric.inverse_factor
        to_x[:2, 2] = metric.center
        corners = first @ np.swapaxes(tiles, 1, 2)
        return np.asarray(corners @ (self._place(metric) @ to_x).T), depths

    def _place(self, metric: CurvedMetric) -> Floats:
        at = np.array([self.x, self.y])
        turned = constructions.rotation_about(metric.center, math.radians(self.turn), metric)
        return np.asarray(metric.transvection(metric.center, at) @ turned)

    def moved(self, metric: CurvedMetric, move: Floats) -> "Tiling":
        """Return the tiling after an isometry: its centre, and how far it is turned there."""
        whole = move @ self._place(metric)
        step = metric.points(np.array([0.1, 0.0]))
        at, ahead = apply_collineation(whole, np.stack([metric.center, step]))
        back = apply_collineation(metric.transvection(at, metric.center), ahead)
        angle = constructions.turn_between(metric.center, step, np.asarray(back), metric)
        return self._replace(x=float(at[0]), y=float(at[1]), turn=math.degrees(angle))


def read_tiling(text: str) -> Tiling:
    numbers = read_numbers(text, "tiling, p,q,depth,edge,", min(max(text.count(",") + 1, 4), 7))
    p, q, depth = (int(number) for number in numbers[:3])
    found = Tiling(p, q, depth, *(round(number, 6) for number in numbers[3:]))
    if not (min(p, q) >= 3 and max(p, q) <= 12 and 1 <= depth <= 8 and max(map(abs, found)) <= 180):
        said = "p and q from 3 to 12 and a depth from 1 to 8"
        raise InvalidInputError(f"tiling must have {said}; got {text[:30]!r}.")
    return found._replace(edge=max(found.edge, math.ceil(1e6 * found.unit_edge) / 1e6, 0.1))


@lru_cache(maxsize=64)  # a drag of points asks for the same metric, and the same views, many times
def conic_metric(
    K: float, x: float, y: float, major: float, minor: float, turn: float
) -> CurvedMetric:
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    axes = np.array([[c, s], [-s, c]])
    factor = axes.T @ np.diag([1 / major, 1 / minor]) @ axes
    return CurvedMetric(factor=factor, center=[x, y], curvature=K)


class RowScale(NamedTuple):
    """How rows of a table are scaled to the window, and their metric with them.

    x = middle + size·p for a point p of the page. (Σ/c, cK) have the same geometry for c > 0; c is
    such that K and the axes are in their ranges.
    """

    middle: Floats
    size: Floats
    c: float

    @classmethod
    def of(cls, metric: CurvedMetric, rows: Floats) -> Self:
        low, high = rows.min(axis=0), rows.max(axis=0)
        size = np.where(high > low, high - low, 2.4) / 2.4
        c = abs(float(np.linalg.det(metric.factor * size)))
        if metric.curvature:
            bent = abs(metric.curvature)
            c = min(max(round(bent * c, CURVATURE_DECIMALS), 0.01), 1.0) / bent
        return cls((low + high) / 2, size, c)

    def to_page(self, x: Floats) -> Floats:
        return np.asarray((x - self.middle) / self.size)

    def to_rows(self, x: Floats) -> Floats:
        return np.asarray(self.middle + self.size * x)

    def metric_of_page(self, metric: CurvedMetric) -> CurvedMetric:
        factor = metric.factor * self.size / math.sqrt(self.c)
        center = self.to_page(metric.center)
        return CurvedMetric(factor=factor, center=center, curvature=self.c * metric.curvature)

    def metric_of_rows(self, metric: CurvedMetric) -> CurvedMetric:
        factor = metric.factor / self.size * math.sqrt(self.c)
        center = self.to_rows(metric.center)
        return CurvedMetric(factor=factor, center=center, curvature=metric.curvature / self.c)


def in_figures(value: float, digits: int = 4) -> str:
    """Write a number of a table with some digits: 207,400, not 2.074e+05."""
    return f"{float(f'{value:.{digits}g}'):,.10g}".replace("-", "\N{MINUS SIGN}")


class Generator(NamedTuple):
    x: float
    y: float
    label: int = 0


@dataclass(frozen=True)
class PlaneState:
    """Everything that the plane page shows; `second` is the chart of the second view, or "".

    The conic with the given centre, semi-axes and angle (in degrees) is ‖L(x - μ)‖ = 1, with the
    symmetric root L of the matrix, so that views of z = L(x - μ) are not turned.
    """

    points: tuple[Generator, ...] = ()
    curvature: float = -0.6
    center_x: float = 0.0
    center_y: float = 0.0
    major: float = 1.25
    minor: float = 1.0
    angle: float = 20.0
    turn: float = 0.0
    tilt: float = 38.0
    chart: str = "klein"
    second: str = ""
    order: int = 1
    radius: float = 0.25
    shown: frozenset[str] = frozenset({"cells", "conic"})
    chosen: tuple[int, int] = (0, 1)
    objects: tuple[Figure, ...] = ()
    tiling: Tiling | None = None
    edges: tuple[tuple[int, int], ...] = ()  # of a map, between its points
    names: tuple[str, ...] = ()  # of the points of a map

    @property
    def metric(self) -> CurvedMetric:
        return conic_metric(self.curvature, *(getattr(self, name) for name in CONIC))

    @property
    def charts(self) -> tuple[str, ...]:
        return (self.chart, *filter(None, [self.second]))

    @property
    def objects_text(self) -> str:
        return ";".join(figure.text for figure in self.objects)

    @property
    def decimals(self) -> int:
        """Decimals of the points in an address."""
        return MAP_DECIMALS if self.edges or self.names else DECIMALS

    @cached_property
    def coordinates(self) -> Floats:
        return np.array([point[:2] for point in self.points], dtype=float).reshape(-1, 2)

    @cached_property
    def labels(self) -> Ints:
        return np.array([point.label for point in self.points], dtype=np.intp)

    @cached_property
    def inside(self) -> Bools:
        x = self.coordinates
        return np.asarray(self.metric.contains(x)) if len(x) else np.zeros(0, dtype=bool)

    def __post_init__(self) -> None:
        most = LIMITS.most_points
        if len(self.points) > most:
            raise InvalidInputError(f"{most} points are the most that the page draws.")
        for figure in self.objects:
            if figure.kind == "point" and figure.value not in range(len(self.points)):
                said = f"There is no point number {figure.value:g} for {figure.name}."
                raise InvalidInputError(said)
        if any(max(edge) >= len(self.points) for edge in self.edges):
            raise InvalidInputError("An edge has a point that is not there.")
        last = max(0, len(self.points) - 1)
        first, second = (min(max(i, 0), last) for i in self.chosen)
        if first == second:
            second = 0 if first else min(1, last)
        object.__setattr__(self, "chosen", (first, second))

    def with_parts(self, parts: Mapping[str, Any]) -> Self:
        known = {field.name for field in fields(self)}
        values = {name: read_part(name, str(part)) for name, part in parts.items() if name in known}
        tiling = values.get("tiling", self.tiling)
        if tiling and "curvature" in values and "tiling" not in values:
            tiling = values["tiling"] = tiling.at_curvature(values["curvature"])
        if tiling:
            values["curvature"] = tiling.curvature
        return replace(self, **values)

    def moved(self, move: Floats) -> Self:
        x = self.coordinates.copy()
        inside = self.inside
        lifted = np.column_stack([x, np.ones(len(x))]) @ move.T
        beyond = inside & (lifted[:, 2] * LARGEST_COORDINATE < np.abs(lifted[:, :2]).max(axis=1))
        if beyond.any():
            number = int(np.argmax(beyond)) + 1
            raise InvalidInputError(f"Point {number} would leave the page; move it by less.")
        x[inside] = lifted[inside, :2] / lifted[inside, 2:]
        pairs = zip(x, self.points, strict=True)
        points = (rounded_point(u, v, p.label, self.decimals) for (u, v), p in pairs)
        tiling = self.tiling and self.tiling.moved(self.metric, move)
        return replace(self, points=tuple(points), tiling=tiling)

    @classmethod
    def of_metric(cls, metric: CurvedMetric, **values: Any) -> Self:
        lengths, axes = np.linalg.eigh(metric.matrix)
        major, minor = 1 / np.sqrt(lengths)
        x, y = axes[:, 0]
        angle = (math.degrees(math.atan2(y, x)) + 90) % 180 - 90
        numbers = (round(float(v), 10) for v in (*metric.center, major, minor, angle))
        conic: dict[str, Any] = dict(zip(CONIC, numbers, strict=True))
        return cls(curvature=float(metric.curvature), **conic, **values)

    @classmethod
    def of_rows(cls, metric: CurvedMetric, rows: Floats, labels: Ints) -> tuple[Self, bool]:
        """Return a state with rows of a table, scaled to the window, and whether its conic fits."""
        scale = RowScale.of(metric, rows)
        points = zip(scale.to_page(rows), labels.tolist(), strict=True)
        state = cls.of_metric(
            scale.metric_of_page(metric),
            points=tuple(rounded_point(x[0], x[1], label) for x, label in points),
            shown=frozenset({"regions"}),
        )
        found = {name: getattr(state, name) for name in CONIC}
        parts = {name: float(np.clip(value, *RANGES[name])) for name, value in found.items()}
        return state.with_parts(parts), parts == found

    @cached_property
    def query(self) -> str:
        numbers = ((name, f"{getattr(self, name):.{DECIMALS}f}") for name in RANGES)
        n = self.decimals
        points = (f"{p.x:.{n}f},{p.y:.{n}f},{p.label}" for p in self.points)
        shown = ",".join(name for name in LAYERS if name in self.shown)
        parts = {name: number.rstrip("0").rstrip(".") for name, number in numbers}
        parts |= {"chart": self.chart, "second": self.second, "shown": shown}
        parts |= {"chosen": "{},{}".format(*self.chosen), "points": ";".join(points)}
        if self.objects:
            parts["objects"] = self.objects_text
        if self.tiling:
            parts["tiling"] = self.tiling.text
        if self.edges:
            parts["edges"] = ";".join(f"{a},{b}" for a, b in self.edges)
        if self.names:
            parts["names"] = ";".join(quote(name, safe=" ") for name in self.names)
        return urlencode(parts, safe=",;")

    @classmethod
    def from_query(cls, query: str) -> Self:
        """Return the state of an address; without one, the first picture."""
        if not query:
            return cls().with_parts(first_picture())
        return cls(points=scatter(28, seed=3)).with_parts(
            dict(parse_qsl(query, keep_blank_values=True))
        )


def _in_range(name: str, text: str) -> float | int:
    low, high = RANGES[name]
    (number,) = read_numbers(text, name, 1)
    if not low <= number <= high:
        raise InvalidInputError(f"{name} must be between {low:g} and {high:g}; got {number:g}.")
    if name == "order":
        if number != int(number):
            raise InvalidInputError(f"order must be a whole number; got {number:g}.")
        return int(number)
    return round(number, CURVATURE_DECIMALS if name == "curvature" else DECIMALS) + 0.0


def rounded_point(x: float, y: float, label: float, decimals: int = DECIMALS) -> Generator:
    if not max(abs(x), abs(y)) <= LARGEST_COORDINATE:
        raise InvalidInputError(f"Points lie within ±{LARGEST_COORDINATE:g}; got ({x:g}, {y:g}).")
    if not (0 <= label < len(LETTERS) and label == int(label)):
        raise InvalidInputError(f"A point's class must be 0 to {len(LETTERS) - 1}; got {label:g}.")
    x, y = (round(float(c), decimals) + 0.0 for c in (x, y))
    return Generator(x, y, int(label))


def scatter(n: int, seed: int) -> tuple[Generator, ...]:
    # the golden angle spreads points evenly, and the noise hides the pattern
    rng = np.random.default_rng(seed)
    rows = np.arange(n) + 0.5
    radius = 0.86 * np.sqrt(rows / n)
    turn = rows * math.pi * (3 - math.sqrt(5)) + rng.uniform(0, 2 * math.pi)
    spot = np.stack([radius * np.cos(turn), 0.8 * radius * np.sin(turn)], axis=1)
    spot += rng.normal(scale=0.35 / math.sqrt(n), size=spot.shape)
    side = np.where(spot[:, 1] > 0.35 * np.sin(3 * spot[:, 0]), 0, 1)
    label = np.where(np.hypot(spot[:, 0] - 0.45, spot[:, 1] + 0.1) < 0.3, 2, side)
    return tuple(rounded_point(x, y, c) for (x, y), c in zip(spot.tolist(), label, strict=True))


def first_picture() -> dict[str, Any]:
    """Return the parts of the first picture: a rose window of cells, and a triangle in it.

    Each ring has as many points, every other one turned by half a step; at K = -1 the rings are
    equally far from each other. The corners are every third point of a ring.
    """
    n = 12
    points = [(0.0, 0.0, 3)]
    for ring, label in enumerate((3, 0, 5, 1, 6, 2)):
        radius = math.tanh(0.3 * (ring + 1))
        for i in range(n):
            turn = 2 * math.pi * (i + ring % 2 / 2) / n
            points.append((radius * math.sin(turn), radius * math.cos(turn), label))
    corners = (1 + 4 * n + i * n // 3 for i in range(3))  # of the fifth ring
    named = [f"point,{name},,ink,0,{i}" for name, i in zip("ABC", corners, strict=True)]
    return {
        "curvature": -0.9,
        "major": 1,
        "minor": 1,
        "angle": 0,
        "chart": "poincare",
        "second": "klein",
        "shown": "regions",
        "points": ";".join(f"{x:.4f},{y:.4f},{label}" for x, y, label in points),
        "objects": ";".join([*named, "polygon,ABC,A.B.C,elliptic,2,0"]),
    }


def read_part(name: str, text: str) -> Any:
    """Return a part of a state from its text in an address."""
    if name in RANGES:
        return _in_range(name, text)
    if name == "chart":
        return as_choice(text[:20], name, tuple(CHART_NAMES))
    if name == "second":
        return as_choice(text[:20], name, ("", *CHART_NAMES))
    if name == "shown":
        layers = filter(None, text.split(","))
        return frozenset(as_choice(layer[:20], name, tuple(LAYERS)) for layer in layers)
    if name == "chosen":
        return tuple(int(number) for number in read_numbers(text, name, 2))
    if name == "points":
        rows = filter(None, text.split(";"))
        found = (read_numbers(row, name, 3) for row in rows)
        return tuple(rounded_point(x, y, label, MAP_DECIMALS) for x, y, label in found)
    if name == "edges":
        pairs = [read_numbers(row, name, 2) for row in filter(None, text.split(";"))]
        whole = all(a >= 0 <= b and a == int(a) and b == int(b) for a, b in pairs)
        if not whole or len(pairs) > LIMITS.most_points:
            said = f"up to {LIMITS.most_points:,} pairs of numbers of points"
            raise InvalidInputError(f"edges must be {said}; got {text[:30]!r}.")
        return tuple((int(a), int(b)) for a, b in pairs)
    if name == "names":
        given = [unquote(item)[: LIMITS.name_letters] for item in text.split(";")]
        return tuple(given[: LIMITS.most_points])
    if name == "tiling":
        return read_tiling(text) if text else None
    return read_figures(text)
