"""Checks of the worksheets: whether what a visitor has made answers the question, and what to do.

The questions and their scenes are in ``static/worksheets.json``, in the same order.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cayleyklein.app._construct import Construction, polygon_measures
from cayleyklein.app._figures import Figure
from cayleyklein.app._state import PlaneState
from cayleyklein.geometry import constructions

WANTED_SUM, WANTED_RATIO = 150.0, 1.5  # of the angles of the triangle; of circumference to 2πr


class CheckResult(NamedTuple):
    right: bool
    text: str


def _angle_sum(state: PlaneState, made: Construction, answer: str) -> CheckResult:
    found = [corners for _, corners in _placed(made, "polygon") if len(corners) == 3]
    if not found:
        return CheckResult(False, "There is no triangle: choose the tool Polygon and three points.")
    measured = polygon_measures(found[0], state.metric)
    total = math.degrees(measured["angle_sum"])
    if abs(total - WANTED_SUM) > 1:
        far = "larger" if (total > WANTED_SUM) == (state.curvature < 0) else "smaller"
        return CheckResult(False, f"The angles add up to {total:.1f}°. Try a {far} triangle.")
    missing = math.degrees(measured["curved_area"])
    said = f"Right: {total:.1f}°. What is missing to 180° is K·area = {missing:.1f}°"
    return CheckResult(True, f"{said}: the larger the triangle, the smaller the sum.")


def _parallels(state: PlaneState, made: Construction, answer: str) -> CheckResult:
    lines = dict(_placed(made, "line", "segment", "perpendicular", "bisector"))
    first, others = next(iter(lines), None), [f for f in lines if "P" in f.parents]
    if first is None or "P" not in made.by_name:
        return CheckResult(False, "The line a or the point P is gone; press Undo.")
    missing = [f for f in others if f != first and _misses(made, lines[first], lines[f])]
    if not any(f != first for f in others):
        return CheckResult(
            False, "Choose the tool Line, click P, and then a place on empty ground."
        )
    if not missing:
        said = "at this K every line through P meets it" if state.curvature > 0 else "try another"
        return CheckResult(False, f"No line through P misses a yet; {said}.")
    if state.curvature == 0:
        return CheckResult(False, "At K = 0 there is one, as Euclid asks. Turn K below 0 for more.")
    if len(missing) < 2:
        return CheckResult(False, f"{missing[0].name} misses a. Now draw another one through P.")
    names = " and ".join(f.name for f in missing[:2])
    said = f"Right: {names} both go through P and never meet a"
    return CheckResult(True, f"{said}. For K < 0 there are infinitely many, between two limits.")


def _misses(made: Construction, a: Any, b: Any) -> bool:
    return bool(np.isnan(constructions.meet(a, b, made.metric)).all())


def _circles(state: PlaneState, made: Construction, answer: str) -> CheckResult:
    radii = [radius for _, radius in _placed(made, "circle", "ball")]
    if not radii:
        return CheckResult(
            False, "There is no circle: choose the tool Circle, a centre and a point."
        )
    ratios = [constructions.circle_measures(r, state.curvature)[0] / (math.tau * r) for r in radii]
    best = min(ratios, key=lambda ratio: abs(ratio - WANTED_RATIO))
    if abs(best - WANTED_RATIO) > 0.02:
        way = "a larger circle" if best < WANTED_RATIO else "a smaller circle"
        way = way if state.curvature < 0 else "K < 0, where circles grow faster"
        return CheckResult(False, f"Yours is {best:.2f} times 2πr. Try {way}.")
    said = f"Right: {best:.2f} times 2πr"
    return CheckResult(
        True, f"{said}. The circumference is 2π sinh(√−K r)/√−K: it grows as eʳ does."
    )


def _squares(state: PlaneState, made: Construction, answer: str) -> CheckResult:
    found = [corners for _, corners in _placed(made, "polygon") if len(corners) == 4]
    if not found:
        return CheckResult(False, "The quadrilateral is gone; press Undo.")
    measured = polygon_measures(found[0], state.metric)
    angle = math.degrees(measured.get("angle_sum", math.nan)) / 4
    if not abs(angle - 90) < 0.5:
        said = f"Its angles have {angle:.1f}° on average, and K = {state.curvature:g}"
        return CheckResult(False, f"{said}. Four right angles need an angle sum of 360°.")
    if abs(state.curvature) > 0.02:
        return CheckResult(
            False, "It has become so small that it looks flat; make it larger again."
        )
    said = "Right: only at K = 0. Elsewhere K·area = angle sum − 360° is not 0"
    return CheckResult(True, f"{said}, so four equal sides never come with four right angles.")


def _which(state: PlaneState, made: Construction, answer: str) -> CheckResult:
    if answer != "voronoi":
        told = "Show the Voronoi cells and the Delaunay triangulation, and compare."
        return CheckResult(False, f"Not this one. {told}")
    said = "Right: the circles alone give the Voronoi diagram of the curved distance"
    return CheckResult(True, f"{said}. Show the Voronoi cells: the edges lie on each other.")


def _placed(made: Construction, *kinds: str) -> list[tuple[Figure, Any]]:
    found = ((figure, made.places[figure.name]) for figure in made.figures if figure.kind in kinds)
    return [(figure, place) for figure, place in found if place is not None]


CHECKS: tuple[Callable[[PlaneState, Construction, str], CheckResult], ...] = (
    _angle_sum, _parallels, _circles, _squares, _which,
)  # fmt: skip
