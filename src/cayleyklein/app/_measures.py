"""What the page says of a figure: its measures in words, and short ones for the drawing."""

import math
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.app._figures import Construction, Figure
from cayleyklein.app._tools import CIRCLE_KINDS, POINT_KINDS
from cayleyklein.geometry import constructions
from cayleyklein.meshes import conformal
from cayleyklein.metrics import CurvedMetric

MINUS = "\N{MINUS SIGN}"


def measured(made: Construction, figure: Figure) -> str:
    """Return the measures of a figure, or why it has none."""
    place = made.places[figure.name]
    if place is None:
        return _missing(figure, made.metric.curvature)
    given = made.given(figure)
    if figure.kind in POINT_KINDS:
        x, y = np.round(place, 3) + 0.0  # no -0
        return f"({x:.3f}, {y:.3f})".replace("-", MINUS)
    if figure.kind == "number":
        return f"{place:.3f}"
    if figure.kind == "note":
        return figure.note
    if figure.kind in ("segment", "distance"):
        return f"length {length(made, figure):.4f}"
    if figure.kind in CIRCLE_KINDS:
        around, inside = constructions.circle_measures(place.radius, made.metric.curvature)
        r = place.radius
        flat = f"2πr = {2 * math.pi * r:.4f}, πr² = {math.pi * r**2:.4f}"
        return f"r = {r:.4f}, circumference {around:.4f}, area {inside:.4f}; {flat}"
    if figure.kind in ("angle", "bisector"):
        angle = _angle(made, given)
        return f"{angle:.2f}°" if figure.kind == "angle" else f"halves of {angle / 2:.2f}°"
    if figure.kind == "polygon":
        return _polygon(place, made.metric).replace("-", MINUS)
    return _of_curve(made, figure, given)


def _missing(figure: Figure, K: float) -> str:
    if figure.kind == "parallels" and K > 0:
        return "none: for K > 0 all lines meet"
    if figure.kind == "meet":
        return "they do not meet here"
    if figure.kind == "tangent":
        return "no tangent: the point is inside"
    hyperbolic = figure.kind in ("parallels", "horocycle") and K >= 0
    return "only where K < 0" if hyperbolic else "not in the geometry here"


def _of_curve(made: Construction, figure: Figure, given: list[Any]) -> str:
    K = made.metric.curvature
    if figure.kind == "horocycle":
        return "its centre is at infinity"
    if figure.kind == "locus":
        return f"of {figure.parents[1]} as {figure.parents[0]} moves"
    if figure.kind in ("line", "mediator"):
        word = "through" if figure.kind == "line" else "as far from"
        return f"{word} {' and '.join(figure.parents)}"
    if figure.kind == "tangent":
        return f"through {figure.parents[0]}, touches {figure.parents[1]}"
    height = abs(float(constructions.distance_to_line(given[1], given[0], made.metric)))
    if figure.kind != "parallels":
        return f"{figure.parents[1]} is {height:.4f} from {figure.parents[0]}"
    if K == 0:
        return f"one parallel, {height:.4f} away: the two are the same at K = 0"
    angle = 2 * math.degrees(math.atan(math.exp(-math.sqrt(-K) * height)))
    return f"two, at {angle:.2f}° to the perpendicular, which is {height:.4f} long"


def length(made: Construction, figure: Figure) -> float:
    return float(made.metric.distance(*made.given(figure)))


def _angle(made: Construction, given: list[Any]) -> float:
    return math.degrees(made.metric.vertex_angle(given[1], given[0], given[2]))


def short(made: Construction, figure: Figure) -> str:
    """Return the measure of a figure that stands in the drawing, or "" for none."""
    place = made.places[figure.name]
    if place is None:
        return ""
    if figure.kind in ("segment", "distance"):
        return f"{length(made, figure):.3f}"
    if figure.kind == "angle":
        return f"{_angle(made, made.given(figure)):.1f}°"
    if figure.kind == "polygon":
        found = polygon_measures(place, made.metric)
        total = found.get("angle_sum")
        return f"area {found['area']:.3f}" if total is None else f"Σ∠ {math.degrees(total):.1f}°"
    if figure.kind in CIRCLE_KINDS:
        return f"r {place.radius:.3f}"
    if figure.kind == "number":
        return f"{place:.3f}"
    return ""


def _polygon(corners: Floats, metric: CurvedMetric) -> str:
    found = polygon_measures(corners, metric)
    n = len(corners)
    said = f"perimeter {found['perimeter']:.4f}, area {found['area']:.4f}"
    if "angle_sum" not in found:
        return f"{said}; its sides cross, so it has no inner angles"
    total = found["angle_sum"]
    flat = f"{n - 2}·180°" if n > 3 else "180°"
    area = f"K·area = {math.degrees(found['curved_area']):.2f}°"
    less = f"angle sum − {flat} = {math.degrees(total - (n - 2) * math.pi):.2f}°"
    angles = " + ".join(f"{math.degrees(angle):.2f}°" for angle in found["angles"])
    return f"angle sum {angles} = {math.degrees(total):.2f}°; {said}; {area}, {less}"


def polygon_measures(corners: Floats, metric: CurvedMetric) -> dict[str, Any]:
    """Return perimeter and area, and, where no sides cross, the inner angles and their sum.

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
    total = {"angle_sum": float(inner.sum()), "curved_area": K * abs(signed)}
    return found | total | {"angles": inner.tolist()}


def _sides_cross(p: Floats, q: Floats) -> bool:
    along = (q - p)[:, None]
    n = len(p)

    def sides(x: Floats) -> Floats:  # of x[j] seen along side i
        off = x - p[:, None]
        return np.sign(along[..., 0] * off[..., 1] - along[..., 1] * off[..., 0])

    parts = sides(p[None]) * sides(q[None]) <= 0
    gap = (np.arange(n) - np.arange(n)[:, None]) % n
    return bool((parts & parts.T & (gap > 1) & (gap < n - 1)).any())
