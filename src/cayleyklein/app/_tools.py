"""The tools of the page: what each needs, and how it places a figure.

A tool needs one figure for each letter of `needs`: a point (P), a line (L), a circle (C), a line or
circle (O), whatever a point can be put on (W), a slider's number (N), what moves along a locus (G);
after * more of the same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.geometry import Hyperplane, circles, constructions
from cayleyklein.metrics import CurvedMetric

POINT_KINDS = ("point", "on", "midpoint", "meet", "reflection", "reach")
LINE_KINDS = ("segment", "line", "perpendicular", "mediator", "bisector", "tangent")
CIRCLE_KINDS = ("circle", "ball", "compass")


class Need(NamedTuple):
    """What a letter of `Tool.needs` stands for."""

    kinds: tuple[str, ...]  # of figures that fit
    prompt: str  # what the page asks for
    place: str = ""  # what was not there, where nothing new can be made of empty ground


NEEDS = {
    "P": Need(POINT_KINDS, "a point, or empty ground for a new one"),
    "L": Need(LINE_KINDS, "a line or a segment", "line"),
    "C": Need(CIRCLE_KINDS, "a circle", "circle"),
    "O": Need(LINE_KINDS + CIRCLE_KINDS, "a line or a circle", "line or circle"),
    "W": Need(
        (*LINE_KINDS, *CIRCLE_KINDS, "polygon"),
        "a line, a circle or a polygon",
        "line, circle or polygon",
    ),
    "N": Need(("number",), "a slider, or empty ground for a new one"),
    "G": Need(("on", "number"), "a point on an object, or a slider, that moves"),
}
MOVES = {  # tools that construct nothing: title, key, and what they do
    "hand": ("Drag", "D", "Moves points, and on empty ground the picture."),
    "move": ("Move space", "M", "Moves everything along an isometry: distances stay as they are."),
    "turn": ("Turn space", "T", "Turns everything around the chosen point: distances stay."),
}


class Tool(NamedTuple):
    """What constructs a figure: `place` takes the places of what it needs, and the metric."""

    title: str
    needs: str
    place: Callable[..., Any]
    help: str
    key: str = ""
    group: str = "construct"


class Circle(NamedTuple):
    center: Floats
    radius: float


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


def _circle(center: Floats, p: Floats, metric: CurvedMetric) -> Any:
    return Circle(center, float(metric.distance(center, p)))


def _ball(center: Floats, radius: float, metric: CurvedMetric) -> Any:
    return Circle(center, radius)


def _compass(p: Floats, q: Floats, center: Floats, metric: CurvedMetric) -> Any:
    return Circle(center, float(metric.distance(p, q)))


def _midpoint(p: Floats, q: Floats, metric: CurvedMetric) -> Any:
    return metric.midpoint(p, q)


def _mediator(p: Floats, q: Floats, metric: CurvedMetric) -> Any:
    return metric.bisector(p, q)


def _reach(p: Floats, q: Floats, length: float, metric: CurvedMetric) -> Any:
    return circles.point_at(p, length, circles.angle_at(p, q, metric), metric)


def _meet(first: Any, second: Any, metric: CurvedMetric) -> Floats:
    """Return the points where two lines or circles meet, NaN for those that are missing."""
    if isinstance(first, Circle) and isinstance(second, Circle):
        return circles.circles_meet(*first, *second, metric)
    if isinstance(first, Circle):
        first, second = second, first
    if isinstance(second, Circle):
        return circles.line_and_circle(first, *second, metric)
    return constructions.meet(first, second, metric)[None]


def _tangents(p: Floats, circle: Circle, metric: CurvedMetric) -> Any:
    return circles.tangents(p, *circle, metric)


def _equidistant(line: Hyperplane, p: Floats, metric: CurvedMetric) -> Any:
    return constructions.equidistant(p, line, metric)


def _nothing(*given: Any) -> Any:
    return given[0]


TOOLS = {
    "point": Tool("Point", "P", _corners, "A point where you click.", "O"),
    "on": Tool("Point on object", "W", _nothing, "A point that stays on a line or circle.", "J"),
    "segment": Tool("Segment", "PP", _line, "The shortest path between two points.", "S"),
    "line": Tool("Line", "PP", _line, "The whole line through two points.", "L"),
    "polygon": Tool("Polygon", "P*", _corners, "Corners, and the first one again to end.", "Y"),
    "circle": Tool("Circle", "PP", _circle, "A centre, and a point on the circle.", "C"),
    "ball": Tool("Circle, radius", "PN", _ball, "A centre, and a slider for the radius.", "R"),
    "compass": Tool("Compass", "PPP", _compass, "Two points for the radius, then the centre.", "U"),
    "meet": Tool("Intersect", "OO", _meet, "Where lines and circles meet.", "X"),
    "midpoint": Tool("Midpoint", "PP", _midpoint, "Half-way between two points.", "I"),
    "mediator": Tool("Perp. bisector", "PP", _mediator, "All places as far from both points."),
    "perpendicular": Tool(
        "Perpendicular",
        "LP",
        constructions.perpendicular,
        "The line through a point at right angles to a line.",
        "H",
    ),
    "bisector": Tool(
        "Angle bisector",
        "PPP",
        constructions.angle_bisector,
        "Halves an angle; the corner is the second point.",
    ),
    "tangent": Tool("Tangents", "PC", _tangents, "The lines through a point that touch a circle."),
    "reflection": Tool("Mirror image", "PL", constructions.reflect, "A point mirrored in a line."),
    "reach": Tool("Point at length", "PPN", _reach, "From a point towards another, a slider far."),
    "parallels": Tool(
        "Limit parallels", "LP", _parallels, "The two first lines that miss a line (K < 0)."
    ),
    "horocycle": Tool(
        "Horocycle",
        "PP",
        constructions.horocycle,
        "Through the first point, its centre infinitely far behind the second (K < 0).",
    ),
    "equidistant": Tool(
        "Equidistant", "LP", _equidistant, "All places as far from a line as a point."
    ),
    "locus": Tool(
        "Locus", "GP", _nothing, "All places of a point while another, or a slider, moves."
    ),
    "angle": Tool(
        "Angle", "PPP", _corners, "The corner is the second point.", "G", group="measure"
    ),
    "distance": Tool("Distance", "PP", _line, "Between two points.", "W", group="measure"),
    "number": Tool("Slider", "", _nothing, "A number for radii and lengths.", group="measure"),
    "note": Tool("Note", "P", _nothing, "A text that stays with a point.", group="measure"),
}
