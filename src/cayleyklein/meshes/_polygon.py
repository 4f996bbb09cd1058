"""Checks of polygons with holes: simple rings, none crossing another, all inside the domain."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_points, list_indices, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import space
from cayleyklein.metrics import CurvedMetric

ON_EDGE = 1e-14  # distance from an edge, relative to the coordinates, that counts as none
LARGEST_POLYGON = 1e70  # largest extent (its inverse is the smallest): products of four are finite


class Region(NamedTuple):
    metric: CurvedMetric
    corners: Floats
    edges: Ints  # (n, 2): edge i starts or ends at corner i, with the inside on its left in z
    shape: Any  # of shapely

    def with_inside(self, points: ArrayLike) -> Floats:
        x = as_points(points, "points", 2, ndim=2)
        self.metric._inside(x, "points")
        shapely = require("shapely", "mesh")
        places = shapely.points(x)
        on_edge = shapely.distance(self.shape.boundary, places) <= ON_EDGE * np.abs(x).max()
        outside = on_edge | ~shapely.contains(self.shape, places)
        if outside.any():
            raise InvalidInputError(
                f"points at index {list_indices(np.flatnonzero(outside))} not inside polygon: "
                f"outside it, on its edges or in a hole; move or drop such points."
            )
        _refuse_repeats(x, [f"points[{i}]" for i in range(len(x))])
        return x


def read_region(polygon: ArrayLike, holes: Any, metric: CurvedMetric) -> Region:
    if space.as_space(metric).dimension != 2:
        raise InvalidInputError(
            f"metric must be of the plane; it has {metric.dimension} dimensions."
        )
    metric.inverse_factor  # noqa: B018 - raises for a lower rank
    shapely = require("shapely", "mesh")
    rings = {"polygon": _read_ring(polygon, "polygon", metric)}
    if holes is not None:
        if not isinstance(holes, Iterable) or isinstance(holes, str | bytes | dict):
            raise InvalidInputError(
                f"holes must be a list of polygons (n, 2); got {type(holes).__name__}."
            )
        for i, hole in enumerate(holes):
            rings[f"holes[{i}]"] = _read_ring(hole, f"holes[{i}]", metric)
    corners = np.concatenate(list(rings.values()))
    names = [f"{name}[{k}]" for name in rings for k in range(len(rings[name]))]
    _refuse_repeats(corners, names)
    parts: list[Ints] = []
    for name, ring in rings.items():  # turned so that the inside is on the left in z
        z = (ring - ring.mean(axis=0)) @ metric.factor.T
        area = np.linalg.det(np.stack([z, np.roll(z, -1, axis=0)], axis=1)).sum()
        k = sum(map(len, parts)) + np.arange(len(ring))
        sides = np.stack([k, np.roll(k, -1)], axis=1)
        parts.append(sides if (area > 0) == (name == "polygon") else sides[:, ::-1])
    edges = np.concatenate(parts)
    _refuse_crossings(corners, edges, names)
    outer, *inner = shapes = {name: shapely.Polygon(ring) for name, ring in rings.items()}
    for hole in inner:
        if not shapes[outer].contains(shapes[hole]):
            raise InvalidInputError(f"{hole} lies outside polygon.")
        for other in inner:
            if hole != other and shapes[other].contains(shapes[hole]):
                raise InvalidInputError(f"{hole} lies inside {other}; drop it.")
    first, *others = rings.values()
    return Region(metric, corners, edges, shapely.Polygon(first, others))


def _read_ring(values: ArrayLike, name: str, metric: CurvedMetric) -> Floats:
    x = as_points(values, name, 2, ndim=2)
    if len(x) > 1 and (x[0] == x[-1]).all():  # closed, as shapely gives it
        x = x[:-1]
    if len(x) < 3:
        raise InvalidInputError(f"{name} needs at least 3 different corners; got {len(x)}.")
    z, _ = metric._inside(x, name)
    extent = float(max(np.ptp(x, axis=0).max(), np.ptp(z, axis=0).max(), np.abs(z).max()))
    if not 1 / LARGEST_POLYGON < extent < LARGEST_POLYGON:
        raise InvalidInputError(
            f"{name} has an extent of {extent:.3g}, and products of such coordinates overflow or "
            f"underflow; rescale it."
        )
    return x


def _refuse_repeats(x: Floats, names: list[str]) -> None:
    _, first, like = np.unique(x, axis=0, return_index=True, return_inverse=True)
    original = first[like.reshape(-1)]
    again = np.flatnonzero(original != np.arange(len(x)))
    if len(again):
        more = f", and {len(again) - 1} more are repeated" if len(again) > 1 else ""
        raise InvalidInputError(
            f"{names[original[again[0]]]} and {names[again[0]]} are the same point{more}; drop one."
        )


def _refuse_crossings(corners: Floats, edges: Ints, names: list[str]) -> None:
    shapely = require("shapely", "mesh")
    lines = shapely.linestrings(corners[edges])
    first, second = shapely.STRtree(lines).query(lines, predicate="intersects")
    first, second = first[first < second], second[first < second]
    # edges with a common corner cross only when one folds back onto the other
    joined = (edges[first][:, :, None] == edges[second][:, None]).any(axis=(1, 2))
    folded = shapely.length(shapely.intersection(lines[first], lines[second])) > 0
    pairs = np.stack([first, second], axis=1)[~joined | folded]
    if not len(pairs):
        return
    shown = "; ".join(
        " and ".join(f"{names[a]}–{names[b]}" for a, b in np.sort(edges[pair]))
        for pair in pairs[np.lexsort(pairs.T[::-1])][:3]
    )
    more = f", and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    raise InvalidInputError(
        f"polygon must be simple, but edges cross or touch: {shown}{more}. Reorder or move its "
        f"corners, or mesh the parts one by one."
    )
