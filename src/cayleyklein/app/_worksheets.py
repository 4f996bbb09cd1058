"""Checks of the worksheets: which answer of a sheet fits what a visitor has made, and its numbers.

Questions, scenes and answers are in ``static/worksheets.json``, in the order of `CHECKS`.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cayleyklein.app._figures import LINE_KINDS, Construction, Figure, polygon_measures
from cayleyklein.geometry import constructions

SHEETS = json.loads((Path(__file__).parent / "static" / "worksheets.json").read_text("utf-8"))
WANTED_SUM, WANTED_RATIO = 150.0, 1.5  # of the angles of the triangle; of circumference to 2πr
Found = tuple[str, dict[str, Any]]


def check_sheet(index: int, made: Construction, answer: str) -> tuple[bool, str]:
    """Return whether a worksheet is solved, and what is said to it."""
    key, numbers = CHECKS[index](made, answer)
    said = SHEETS[index]["answers"][key].format(K=made.metric.curvature, **numbers)
    return key == "right", said.replace("= -", "= \N{MINUS SIGN}")


def _angle_sum(made: Construction, answer: str) -> Found:
    found = _polygons(made, 3)
    if not found:
        return "none", {}
    total, missing = (math.degrees(found[0][name]) for name in ("angle_sum", "curved_area"))
    numbers = {"total": total, "missing": missing}
    if abs(total - WANTED_SUM) <= 1:
        return "right", numbers
    return "larger" if (total > WANTED_SUM) == (made.metric.curvature < 0) else "smaller", numbers


def _parallels(made: Construction, answer: str) -> Found:
    lines, K = dict(_placed(made, *LINE_KINDS)), made.metric.curvature
    if not lines or "P" not in made.by_name:
        return "gone", {}
    first, *others = lines
    others = [figure for figure in others if "P" in figure.parents]
    meets = {f.name: constructions.meet(lines[first], lines[f], made.metric) for f in others}
    missing = [name for name, place in meets.items() if np.isnan(place).all()]
    if not missing:
        return ("elliptic" if K > 0 else "meets") if others else "none", {}
    if K == 0:
        return "flat", {}
    return "right" if len(missing) > 1 else "one", {"names": " and ".join(missing[:2])}


def _circles(made: Construction, answer: str) -> Found:
    radii, K = [radius for _, radius in _placed(made, "circle", "ball")], made.metric.curvature
    if not radii:
        return "none", {}
    ratios = [constructions.circle_measures(r, K)[0] / (math.tau * r) for r in radii]
    best = min(ratios, key=lambda ratio: abs(ratio - WANTED_RATIO))
    if abs(best - WANTED_RATIO) <= 0.02:
        return "right", {"ratio": best}
    grows = "larger" if best < WANTED_RATIO else "smaller"
    return grows if K < 0 else "flat", {"ratio": best}


def _squares(made: Construction, answer: str) -> Found:
    found = _polygons(made, 4)
    if not found:
        return "gone", {}
    angle = math.degrees(found[0].get("angle_sum", math.nan)) / 4
    if not abs(angle - 90) < 0.5:
        return "wrong", {"angle": angle}
    return "right" if abs(made.metric.curvature) <= 0.02 else "small", {}


def _placed(made: Construction, *kinds: str) -> list[tuple[Figure, Any]]:
    found = ((figure, made.places[figure.name]) for figure in made.figures if figure.kind in kinds)
    return [(figure, place) for figure, place in found if place is not None]


def _polygons(made: Construction, n: int) -> list[dict[str, float]]:
    found = (corners for _, corners in _placed(made, "polygon") if len(corners) == n)
    return [polygon_measures(corners, made.metric) for corners in found]


CHECKS: tuple[Callable[[Construction, str], Found], ...] = (
    _angle_sum, _parallels, _circles, _squares,
    lambda made, answer: ("right" if answer == "voronoi" else "wrong", {}),
)  # fmt: skip
