"""Checks of polygons with holes: simple rings, none crossing another, all inside the domain."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_points, list_indices, require
from cayleyklein.diagrams import as_curved
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric

ROUNDING = 1e-14
"""A point this close to an edge, as a part of the coordinates, is on it."""

LARGEST_EXTENT = 1e70
"""Largest extent of a polygon (its inverse is the smallest): products of four are finite."""


class Region(NamedTuple):
    """A polygon with holes: its corners (n, 2), edges (n, 2) between them, and shapely shape."""

    corners: Floats
    edges: Ints
    """Edge i starts at corner i, or ends there; the inside is on the left in the chart z."""
    shape: Any


def as_plane(metric: Any) -> CurvedMetric:
    """Check a metric of the plane, of full rank."""
    if as_curved(metric).dimension != 2:
        raise InvalidInputError(
            f"metric must be of the plane; it has {metric.dimension} dimensions."
        )
    metric.inverse_factor  # noqa: B018 - raises for a lower rank
    return as_curved(metric)


def as_region(polygon: ArrayLike, holes: Any, metric: CurvedMetric) -> Region:
    """Check a polygon and its holes; raise where edges cross, or corners repeat."""
    shapely = require("shapely", "mesh")
    rings = {"polygon": _as_ring(polygon, "polygon", metric)}
    if holes is not None:
        if not isinstance(holes, Iterable) or isinstance(holes, str | bytes | dict):
            raise InvalidInputError(
                f"holes must be a list of polygons (n, 2); got {type(holes).__name__}."
            )
        for i, hole in enumerate(holes):
            rings[f"holes[{i}]"] = _as_ring(hole, f"holes[{i}]", metric)
    corners = np.concatenate(list(rings.values()))
    _refuse_repeats(corners, [f"{name}[{k}]" for name in rings for k in range(len(rings[name]))])
    shells = {name: shapely.Polygon(ring) for name, ring in rings.items()}
    for name, shell in shells.items():
        if not shell.is_valid:
            raise InvalidInputError(
                f"{name} must be simple, but edges cross or touch: "
                f"{shapely.is_valid_reason(shell)}. Reorder or move its corners, or mesh the "
                f"parts one by one."
            )
        if not shells["polygon"].contains(shell):
            raise InvalidInputError(f"{name} lies outside polygon, or crosses it.")
    for one, other in combinations(shells, 2):
        if shells[one].exterior.intersects(shells[other].exterior):
            raise InvalidInputError(f"{one} and {other} cross or touch; move them apart.")
        if one != "polygon" and shells[one].intersects(shells[other]):
            raise InvalidInputError(f"One of {one} and {other} lies inside the other; drop it.")
    starts = np.cumsum([0, *map(len, rings.values())])
    edges = [
        _edges(ring, start, name != "polygon", metric)
        for (name, ring), start in zip(rings.items(), starts, strict=False)
    ]
    first, *others = rings.values()
    return Region(corners, np.concatenate(edges), shapely.Polygon(first, others))


def as_inner_points(points: ArrayLike, shape: Any, metric: CurvedMetric) -> Floats:
    """Check points (n, 2) strictly inside a shape; raise with the indices of others."""
    x = as_points(points, "points", 2, ndim=2)
    metric._inside(x, "points")
    shapely = require("shapely", "mesh")
    places, rounding = shapely.points(x), ROUNDING * np.abs(x).max()
    on_edge = shapely.distance(shape.boundary, places) <= rounding
    outside = on_edge | ~shapely.contains(shape, places)
    if outside.any():
        raise InvalidInputError(
            f"points at index {list_indices(np.flatnonzero(outside))} not inside polygon: outside "
            f"it, on its edges or in a hole; move or drop such points."
        )
    _refuse_repeats(x, [f"points[{i}]" for i in range(len(x))])
    return x


def _as_ring(values: ArrayLike, name: str, metric: CurvedMetric) -> Floats:
    x = as_points(values, name, 2, ndim=2)
    if len(x) > 1 and (x[0] == x[-1]).all():  # closed, as shapely gives it
        x = x[:-1]
    if len(x) < 3:
        raise InvalidInputError(f"{name} needs at least 3 different corners; got {len(x)}.")
    z, _ = metric._inside(x, name)
    extent = float(max(np.ptp(x, axis=0).max(), np.ptp(z, axis=0).max(), np.abs(z).max()))
    if not 1 / LARGEST_EXTENT < extent < LARGEST_EXTENT:
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


def _edges(ring: Floats, start: int, hole: bool, metric: CurvedMetric) -> Ints:
    """Return the edges of a ring, turned so that the inside is on the left in z."""
    z = (ring - ring.mean(axis=0)) @ metric.factor.T
    after = np.roll(z, -1, axis=0)
    area = float((z[:, 0] * after[:, 1] - z[:, 1] * after[:, 0]).sum())
    k = np.arange(len(ring))
    edges = start + np.stack([k, np.roll(k, -1)], axis=1)
    return edges if (area > 0) != hole else edges[:, ::-1]
