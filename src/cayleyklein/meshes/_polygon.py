"""Checks of polygons with holes: simple rings, none crossing another, all inside the domain."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import as_points, list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric

ROUNDING = 1e-14
"""|u × v| of this part of |u||v| counts as 0: the vectors are parallel."""

LARGEST_EXTENT = 1e70
"""Largest extent of a polygon (its inverse is the smallest): products of four are finite."""

BLOCK = 2**20
"""Pairs of points and edges that are compared at once."""


class Rings(NamedTuple):
    """The corners of a polygon and its holes, and the edges between them, inside on the left."""

    corners: Floats
    edges: Ints
    """Indices of corners (m, 2); edge i starts at corner i, or ends there in a turned ring."""
    names: list[str]
    """Name of the argument of each corner, with its index."""

    def contains(self, x: Floats) -> Bools:
        """Return whether points are strictly inside: a ray from them crosses an odd number."""
        return np.concatenate([self._contains(part) for part in self._blocks(x)])

    def _blocks(self, x: Floats) -> list[Floats]:
        return np.array_split(x, 1 + len(x) * len(self.edges) // BLOCK)

    def _contains(self, x: Floats) -> Bools:
        a, b = self.corners[self.edges.T][:, None]
        u, v = a - x[:, None], b - x[:, None]
        cross, flat = _cross(u, v)
        between = (u * v).sum(axis=-1) <= 0
        above = (u[..., 1] > 0) != (v[..., 1] > 0)
        right = (cross > 0) == (v[..., 1] > u[..., 1])
        return np.asarray(((above & right).sum(axis=1) % 2 == 1) & ~(flat & between).any(axis=1))


def as_plane(metric: Any) -> CurvedMetric:
    """Check a metric of the plane, of full rank."""
    if not isinstance(metric, CurvedMetric):
        raise InvalidInputError(f"metric must be a CurvedMetric; got {type(metric).__name__}.")
    if metric.dimension != 2:
        raise InvalidInputError(
            f"metric must be of the plane; it has {metric.dimension} dimensions."
        )
    metric.inverse_factor  # noqa: B018 - raises for a lower rank
    return metric


def as_rings(polygon: ArrayLike, holes: Any, metric: CurvedMetric) -> Rings:
    """Check a polygon and its holes; raise with edges that cross, or corners that repeat."""
    rings = [_as_ring(polygon, "polygon", metric)]
    if holes is not None:
        if not isinstance(holes, Iterable) or isinstance(holes, str | bytes | dict):
            raise InvalidInputError(
                f"holes must be a list of polygons (n, 2); got {type(holes).__name__}."
            )
        rings += [_as_ring(hole, f"holes[{i}]", metric) for i, hole in enumerate(holes)]
    labels = ["polygon", *(f"holes[{i}]" for i in range(len(rings) - 1))]
    names = [
        f"{label}[{k}]" for label, ring in zip(labels, rings, strict=True) for k in range(len(ring))
    ]
    corners = np.concatenate(rings)
    _refuse_repeats(corners, names)
    starts = np.cumsum([0, *map(len, rings)])
    turned = [
        _edges(ring, start, i > 0, metric)
        for i, (ring, start) in enumerate(zip(rings, starts, strict=False))
    ]
    found = Rings(corners, np.concatenate(turned), names)
    _refuse_crossings(found)
    outer = found._replace(edges=turned[0])
    for ring, label in zip(rings[1:], labels[1:], strict=True):
        if not outer.contains(ring[:1])[0]:
            raise InvalidInputError(f"{label} lies outside polygon.")
        for other, edges in zip(labels[1:], turned[1:], strict=True):
            if other != label and found._replace(edges=edges).contains(ring[:1])[0]:
                raise InvalidInputError(f"{label} lies inside {other}.")
    return found


def as_inner_points(points: ArrayLike, name: str, rings: Rings, metric: CurvedMetric) -> Floats:
    """Check points (n, 2) strictly inside a polygon; raise with the indices of others."""
    x = as_points(points, name, 2, ndim=2)
    metric._inside(x, name)
    outside = ~rings.contains(x)
    if outside.any():
        raise InvalidInputError(
            f"{name} at index {list_indices(np.flatnonzero(outside))} not inside polygon: outside "
            f"it, on its edges or in a hole; move or drop such points."
        )
    _refuse_repeats(x, [f"{name}[{i}]" for i in range(len(x))])
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
    again = np.flatnonzero(first[like.reshape(-1)] != np.arange(len(x)))
    if len(again):
        i = int(again[0])
        raise InvalidInputError(
            f"{names[int(first[like.reshape(-1)[i]])]} and {names[i]} are the same point"
            f"{f', and {len(again) - 1} more are repeated' if len(again) > 1 else ''}; drop one."
        )


def _edges(ring: Floats, start: int, hole: bool, metric: CurvedMetric) -> Ints:
    """Return the edges of a ring, turned so that the inside is on the left in z."""
    z = (ring - ring.mean(axis=0)) @ metric.factor.T
    after = np.roll(z, -1, axis=0)
    area = float((z[:, 0] * after[:, 1] - z[:, 1] * after[:, 0]).sum())
    k = np.arange(len(ring))
    edges = start + np.stack([k, np.roll(k, -1)], axis=1)
    return edges if (area > 0) != hole else edges[:, ::-1]


def _cross(u: Floats, v: Floats) -> tuple[Floats, Bools]:
    """Return u × v, and where it is 0 to rounding."""
    cross = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    scale = np.sqrt((u * u).sum(axis=-1) * (v * v).sum(axis=-1))
    return cross, np.abs(cross) <= ROUNDING * scale


def _refuse_crossings(rings: Rings) -> None:
    """Raise for edges that cross, touch or fold back, and name them."""
    edges = rings.edges
    pairs = _crossings(rings)
    if not len(pairs):
        return
    shown = "; ".join(
        " and ".join(f"{rings.names[a]}–{rings.names[b]}" for a, b in np.sort(edges[pair]))
        for pair in pairs[:3]
    )
    more = f", and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    raise InvalidInputError(
        f"polygon must be simple, but edges cross or touch: {shown}{more}. Reorder or move its "
        f"corners, or mesh the parts one by one."
    )


def _crossings(rings: Rings) -> Ints:
    """Return pairs (k, 2) of edges with a common point other than a common corner."""
    edges, x = rings.edges, rings.corners
    ends = x[edges]
    pairs = _close_pairs(ends.min(axis=1), ends.max(axis=1))
    (a, b), (c, d) = (np.moveaxis(ends[side], 1, 0) for side in pairs.T)
    ab, cd = b - a, d - c
    sides = [_cross(ab, c - a), _cross(ab, d - a), _cross(cd, a - c), _cross(cd, b - c)]
    signs = [np.where(flat, 0.0, np.sign(cross)) for cross, flat in sides]
    meets = (signs[0] * signs[1] <= 0) & (signs[2] * signs[3] <= 0)
    # edges with a common corner cross only when one folds back onto the other
    first, second = edges[pairs.T]
    joined = (first[:, 1] == second[:, 0]) | (first[:, 0] == second[:, 1])
    line = (signs[0] == 0) & (signs[1] == 0)
    return np.asarray(pairs[meets & (~joined | (line & ((ab * cd).sum(axis=1) < 0)))])


def _close_pairs(low: Floats, high: Floats) -> Ints:
    """Return pairs i < j (k, 2) of boxes with a common point, found along the better axis."""
    orders = [np.argsort(low[:, k]) for k in range(2)]
    counts = [
        np.searchsorted(low[order, k], high[order, k], side="right") - np.arange(1, len(low) + 1)
        for k, order in enumerate(orders)
    ]
    k = int(counts[1].sum() < counts[0].sum())
    order, count = orders[k], counts[k]
    i = np.repeat(np.arange(len(low)), count)
    j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    pairs = np.sort(np.stack([order[i], order[j]], axis=1), axis=1)
    i, j = pairs.T
    across = (low[i, 1 - k] <= high[j, 1 - k]) & (low[j, 1 - k] <= high[i, 1 - k])
    found = pairs[across]
    return np.asarray(found[np.lexsort(found.T[::-1])])
