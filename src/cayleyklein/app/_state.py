"""The state of the plane page: one value that fits into an address."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, urlencode

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_choice
from cayleyklein.app._figures import Figure, read_figures, read_numbers
from cayleyklein.app._tiling import Tiling, read_tiling
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric

CHART_NAMES = {
    "klein": "Klein", "poincare": "Poincaré", "half-plane": "Half-plane",
    "hemisphere": "Hemisphere", "hyperboloid": "Hyperboloid",
}  # fmt: skip
LAYERS = {  # and their names in a description
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
MAX_POINTS = 2000
LETTERS = "ABCDEFGHIJKLMNOPQRST"  # names of the classes, on the page and in tables
RANGES = {  # lowest and highest value of every number; turn and tilt are of the camera
    "curvature": (-1.0, 1.0), "radius": (0.02, 1.5), "center_x": (-4.0, 4.0),
    "center_y": (-4.0, 4.0), "major": (0.1, 6.0), "minor": (0.1, 6.0), "angle": (-90.0, 90.0),
    "turn": (-180.0, 180.0), "tilt": (5.0, 90.0), "order": (1, 5),
}  # fmt: skip
LARGEST_COORDINATE = 20.0  # largest coordinate of a point
DECIMALS = 6  # decimals of numbers in an address: what is moved stays congruent, as far as it shows
CURVATURE_DECIMALS = 2  # K moves in steps of 0.01; the conic of a smaller K is too far to be drawn
CONIC = ("center_x", "center_y", "major", "minor", "angle")


def plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


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

    @cached_property
    def metric(self) -> CurvedMetric:
        c, s = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        axes = np.array([[c, s], [-s, c]])
        factor = axes.T @ np.diag([1 / self.major, 1 / self.minor]) @ axes
        center = [self.center_x, self.center_y]
        return CurvedMetric(factor=factor, center=center, curvature=self.curvature)

    @property
    def charts(self) -> tuple[str, ...]:
        return (self.chart, *filter(None, [self.second]))

    @property
    def objects_text(self) -> str:
        return ";".join(figure.text for figure in self.objects)

    @cached_property
    def coordinates(self) -> Floats:
        return np.array([point[:2] for point in self.points], dtype=float).reshape(-1, 2)

    @cached_property
    def labels(self) -> Ints:
        return np.array([point.label for point in self.points], dtype=np.intp)

    def __post_init__(self) -> None:
        if len(self.points) > MAX_POINTS:
            raise InvalidInputError(f"{MAX_POINTS} points are the most that the page draws.")
        for kind, name, *_, value in self.objects:
            if kind == "point" and value not in range(len(self.points)):
                raise InvalidInputError(f"There is no point number {value:g} for {name}.")
        last = max(0, len(self.points) - 1)
        first, second = (min(max(i, 0), last) for i in self.chosen)
        if first == second:
            second = 0 if first else min(1, last)
        object.__setattr__(self, "chosen", (first, second))

    def with_parts(self, parts: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {n: PARSERS[n](v) for n, v in parts.items() if n in PARSERS}
        tiling = values.get("tiling", self.tiling)
        if tiling and "curvature" in values and "tiling" not in values:
            tiling = values["tiling"] = tiling.at_curvature(values["curvature"])
        if tiling:
            values["curvature"] = tiling.curvature
        return replace(self, **values)

    @classmethod
    def of_metric(cls, metric: CurvedMetric, **values: Any) -> Self:
        lengths, axes = np.linalg.eigh(metric.matrix)
        (major, minor), (x, y) = 1 / np.sqrt(lengths), axes[:, 0]
        angle = (math.degrees(math.atan2(y, x)) + 90) % 180 - 90
        numbers = (round(float(v), 10) for v in (*metric.center, major, minor, angle))
        conic: dict[str, Any] = dict(zip(CONIC, numbers, strict=True))
        return cls(curvature=float(metric.curvature), **conic, **values)

    @classmethod
    def of_rows(cls, metric: CurvedMetric, rows: Floats, labels: Ints) -> tuple[Self, bool]:
        """Return a state with rows of a table, scaled to the window, and whether its conic fits.

        (Σ/c, cK) have the same geometry for c > 0; c is such that K and axes are in their ranges.
        """
        low, high = rows.min(axis=0), rows.max(axis=0)
        middle, size = (low + high) / 2, np.where(high > low, high - low, 2.4) / 2.4
        factor, K = metric.factor * size, 0.0
        c = abs(float(np.linalg.det(factor)))
        if metric.curvature:
            bent = abs(metric.curvature)
            K = min(max(round(bent * c, CURVATURE_DECIMALS), 0.01), 1.0)
            c, K = K / bent, math.copysign(K, metric.curvature)
        center = (metric.center - middle) / size
        points = zip((rows - middle) / size, labels.tolist(), strict=True)
        state = cls.of_metric(
            CurvedMetric(factor=factor / math.sqrt(c), center=center, curvature=K),
            points=tuple(rounded_point(x[0], x[1], label) for x, label in points),
            shown=frozenset({"regions"}),
        )
        found = {name: getattr(state, name) for name in CONIC}
        parts = {name: float(np.clip(value, *RANGES[name])) for name, value in found.items()}
        return state.with_parts(parts), parts == found

    @cached_property
    def query(self) -> str:
        numbers = ((name, f"{getattr(self, name):.{DECIMALS}f}") for name in RANGES)
        points = (f"{p.x:.{DECIMALS}f},{p.y:.{DECIMALS}f},{p.label}" for p in self.points)
        parts = {name: number.rstrip("0").rstrip(".") for name, number in numbers} | {
            "chart": self.chart,
            "second": self.second,
            "shown": ",".join(name for name in LAYERS if name in self.shown),
            "chosen": "{},{}".format(*self.chosen),
            "points": ";".join(points),
        }
        if self.objects:
            parts["objects"] = self.objects_text
        if self.tiling:
            parts["tiling"] = self.tiling.text
        return urlencode(parts, safe=",;")

    @classmethod
    def from_query(cls, query: str) -> Self:
        return cls(points=DEFAULT_POINTS).with_parts(dict(parse_qsl(query, keep_blank_values=True)))


def _in_range(name: str, value: Any) -> float | int:
    low, high = RANGES[name]
    (number,) = read_numbers(str(value), name, 1)
    if not low <= number <= high:
        raise InvalidInputError(f"{name} must be between {low:g} and {high:g}; got {number:g}.")
    if name == "order":
        if number != int(number):
            raise InvalidInputError(f"order must be a whole number; got {number:g}.")
        return int(number)
    return round(number, CURVATURE_DECIMALS if name == "curvature" else DECIMALS) + 0.0


def rounded_point(x: float, y: float, label: float) -> Generator:
    if not max(abs(x), abs(y)) <= LARGEST_COORDINATE:
        said = f"Points must have coordinates within ±{LARGEST_COORDINATE:g}"
        raise InvalidInputError(f"{said}; got ({x:g}, {y:g}).")
    if not (0 <= label < len(LETTERS) and label == int(label)):
        raise InvalidInputError(f"A point's class must be 0 to {len(LETTERS) - 1}; got {label:g}.")
    x, y = (round(float(c), DECIMALS) + 0.0 for c in (x, y))
    return Generator(x, y, int(label))


def scatter(n: int, seed: int) -> tuple[Generator, ...]:
    # the golden angle spreads points evenly, and the noise takes the pattern away
    rng, rows = np.random.default_rng(seed), np.arange(n) + 0.5
    radius = 0.86 * np.sqrt(rows / n)
    turn = rows * math.pi * (3 - math.sqrt(5)) + rng.uniform(0, 2 * math.pi)
    spot = np.stack([radius * np.cos(turn), 0.8 * radius * np.sin(turn)], axis=1)
    spot += rng.normal(scale=0.35 / math.sqrt(n), size=spot.shape)
    side = np.where(spot[:, 1] > 0.35 * np.sin(3 * spot[:, 0]), 0, 1)
    label = np.where(np.hypot(spot[:, 0] - 0.45, spot[:, 1] + 0.1) < 0.3, 2, side)
    return tuple(rounded_point(x, y, c) for (x, y), c in zip(spot.tolist(), label, strict=True))


def _choices(name: str, known: Collection[str]) -> Callable[[Any], Any]:
    return lambda value: as_choice(str(value)[:20], name, tuple(known))


PARSERS: dict[str, Callable[[Any], Any]] = {  # parts of a state from the texts of an address
    "chart": _choices("chart", CHART_NAMES),
    "second": _choices("second", ("", *CHART_NAMES)),
    "shown": lambda text: frozenset(
        map(_choices("shown", LAYERS), filter(None, str(text).split(",")))
    ),
    "chosen": lambda text: tuple(int(i) for i in read_numbers(str(text), "chosen", 2)),
    "points": lambda text: tuple(
        rounded_point(*read_numbers(row, "points", 3)) for row in filter(None, str(text).split(";"))
    ),
    "tiling": lambda text: read_tiling(str(text)),
    "objects": lambda text: read_figures(str(text)),
}
PARSERS |= {name: partial(_in_range, name) for name in RANGES}
DEFAULT_POINTS = scatter(28, seed=3)
