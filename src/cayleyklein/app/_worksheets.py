"""Checks of the worksheets: which answer of a sheet fits what a visitor has made, and its numbers.

Questions, scenes and answers are in ``static/worksheets.json``, in the order of `CHECKS`.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cayleyklein.app._construct import Construction, polygon_measures
from cayleyklein.app._figures import LINE_KINDS, Figure
from cayleyklein.geometry import constructions

SHEETS = json.loads((Path(__file__).parent / "static" / "worksheets.json").read_text("utf-8"))
WANTED_SUM, WANTED_RATIO = 150.0, 1.5  # of the angles of the triangle; of circumference to 2πr
Found = tuple[str, dict[str, Any]]


def check_sheet(index: int, made: Construction, answer: str) -> tuple[bool, str]:
    """Return whether a worksheet is solved, and what is said to it."""
    key, numbers = CHECKS[index](made, answer)
    text: str = SHEETS[index]["answers"][key]
    said = text.format(K=made.metric.curvature, **numbers)
    return key == "right", said.replace("= -", "= \N{MINUS SIGN}")


def _angle_sum(made: Construction, answer: str) -> Found:
    found = [corners for _, corners in _placed(made, "polygon") if len(corners) == 3]
    if not found:
        return "none", {}
    measured = polygon_measures(found[0], made.metric)
    total = math.degrees(measured["angle_sum"])
    numbers = {"total": total, "missing": math.degrees(measured["curved_area"])}
    if abs(total - WANTED_SUM) <= 1:
        return "right", numbers
    return "larger" if (total > WANTED_SUM) == (made.metric.curvature < 0) else "smaller", numbers


def _parallels(made: Construction, answer: str) -> Found:
    lines = dict(_placed(made, *LINE_KINDS))
    first, K = next(iter(lines), None), made.metric.curvature
    if first is None or "P" not in made.by_name:
        return "gone", {}
    others = [figure for figure in lines if "P" in figure.parents and figure != first]
    missing = [
        figure.name for figure in others
        if np.isnan(constructions.meet(lines[first], lines[figure], made.metric)).all()
    ]  # fmt: skip
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
    found = [corners for _, corners in _placed(made, "polygon") if len(corners) == 4]
    if not found:
        return "gone", {}
    total = polygon_measures(found[0], made.metric).get("angle_sum", math.nan)
    angle = math.degrees(total) / 4
    if not abs(angle - 90) < 0.5:
        return "wrong", {"angle": angle}
    return "right" if abs(made.metric.curvature) <= 0.02 else "small", {}


def _which(made: Construction, answer: str) -> Found:
    return "right" if answer == "voronoi" else "wrong", {}


def _placed(made: Construction, *kinds: str) -> list[tuple[Figure, Any]]:
    found = ((figure, made.places[figure.name]) for figure in made.figures if figure.kind in kinds)
    return [(figure, place) for figure, place in found if place is not None]


CHECKS: tuple[Callable[[Construction, str], Found], ...] = (
    _angle_sum, _parallels, _circles, _squares, _which,
)  # fmt: skip
