"""The combinatorics of a diagram: cells, vertices and ridges, as lists of indices."""

from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import as_count, as_points, refuse_overflow
from cayleyklein.diagrams._plane_cells import cut_edges
from cayleyklein.diagrams._power import Groups, Locator, exchanges, order_k
from cayleyklein.diagrams.domains import far_walls, in_ball, local_planes, meets_ball
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric


class Diagram:
    """The combinatorial part of :class:`CayleyKleinVoronoi`."""

    def __init__(self, points: ArrayLike, metric: Any, order: int) -> None:
        if not isinstance(metric, CurvedMetric):
            mixed = isinstance(metric, MixedMetric | ProductMetric)
            raise InvalidInputError(
                f"metric must be a CurvedMetric; got {type(metric).__name__}"
                f"{', which has curved bisectors; use one of its metrics' if mixed else ''}."
            )
        self.metric: CurvedMetric = metric
        self.points = as_points(points, "points", metric.dimension, ndim=2) + 0.0
        self.order = as_count(order, "order")
        if 1 < self.order >= len(self.points):
            raise InvalidInputError(
                f"Got order={self.order} for {len(self.points)} points; it must be smaller."
            )
        _, first, like = np.unique(self.points, axis=0, return_index=True, return_inverse=True)
        self._original = first[like.reshape(-1)]  # for each row, the first row equal to it
        self._chart, A, b = local_planes(self.points, metric)
        self._walls = far_walls(self._chart, self._chart.to_local(self.points))
        found = order_k(A, b, self._walls, self.order, self._original)
        self._sets, self._A, self._b, self._power = found

    @cached_property
    def duplicates(self) -> Ints:
        """Pairs (duplicate, first row with the same point), of shape (m, 2)."""
        again = np.flatnonzero(self._original != np.arange(len(self.points)))
        return np.stack([again, self._original[again]], axis=1)

    @cached_property
    def _cells(self) -> Ints:
        used = self._power.used
        if self.order > 1:  # a single generator always has a cell; a set of them may have none
            used = used & (self._power.cells.sizes > self._power.dimension)
            if self._disc_corners is not None:
                used &= meets_ball(self._disc_corners, self._power.cells, used)
        return np.flatnonzero(used)

    @cached_property
    def _cell_number(self) -> Ints:
        return _numbering(self._cells, len(self._A))

    @cached_property
    def _disc_corners(self) -> Floats | None:
        """Corners in coordinates where a hyperbolic domain is the unit ball; None for K ≥ 0."""
        if self.metric.curvature >= 0:
            return None
        o, rho = self._chart.disc
        return np.asarray(o + rho * self._power.corners)

    @cached_property
    def _vertices(self) -> Ints:
        y = self._disc_corners
        return np.flatnonzero(~self._power.on_wall if y is None else in_ball(y))

    @cached_property
    def _vertex_number(self) -> Ints:
        return _numbering(self._vertices, len(self._power.corners))

    @cached_property
    def _ridges(self) -> tuple[Ints, Groups]:
        pairs, corners = self._power.ridges
        keep: Bools = np.asarray((pairs < len(self._A)).all(axis=1))
        if self.order > 1:
            keep[keep] = (self._cell_number[pairs[keep]] >= 0).all(axis=1)
            keep[keep] = exchanges(self._sets[pairs[keep].T], self._original)[1]
        y = self._disc_corners
        if y is not None and self._power.dimension == 2:
            keep &= cut_edges(*y[corners.members.reshape(-1, 2).T])[2]
        elif y is not None:
            keep &= meets_ball(y, corners, keep)
        return pairs[keep], corners.take(np.flatnonzero(keep))

    @cached_property
    def cell_generators(self) -> Ints:
        """Generators of each cell, of shape (n_cells, order)."""
        return self._sets[self._cells]

    @cached_property
    def vertices(self) -> Floats:
        """Vertices in the domain, of shape (n_vertices, d)."""
        return self._chart.to_points(self._power.corners[self._vertices])

    @cached_property
    def regions(self) -> list[list[int]]:
        """Vertices of each cell; -1 is a vertex at infinity, or outside the domain."""
        cells = self._power.cells.take(self._cells)
        return _index_lists(cells, self._vertex_number, cyclic=self._power.dimension == 2)

    @cached_property
    def point_region(self) -> Ints:
        """Cell that contains each point."""
        if self.order > 1:
            return self.locate(self.points)
        own = np.full(len(self.points), -1)
        own[self._sets[:, 0]] = self._cell_number
        if len(self.hidden):
            own[self.hidden] = self.locate(self.points[self.hidden])
        return own[self._original]

    @cached_property
    def ridge_cells(self) -> Ints:
        """The two cells on both sides of each ridge."""
        return self._cell_number[self._ridges[0]]

    @cached_property
    def ridge_points(self) -> Ints:
        """The two points that each ridge bisects."""
        return exchanges(self._sets[self._ridges[0].T], self._original)[0]

    @cached_property
    def ridge_vertices(self) -> list[list[int]]:
        """Vertices of each ridge; -1 as in `regions`."""
        _, corners = self._ridges
        if self._power.dimension == 2:
            ends = self._vertex_number[corners.members.reshape(-1, 2)]
            return cast(list[list[int]], np.sort(ends, axis=1).tolist())
        return _index_lists(corners, self._vertex_number, cyclic=self._power.dimension == 3)

    @cached_property
    def unbounded(self) -> Bools:
        """Whether each cell reaches infinity, which is the absolute when K < 0."""
        cells = self._power.cells
        infinite = self._vertex_number[cells.members] < 0
        return (np.bincount(cells.keys, infinite, len(self._A)) > 0)[self._cells]

    @cached_property
    def _locator(self) -> Locator:
        sites = self._chart.to_local(self.points)[self._sets].mean(axis=1)
        return Locator(self._power, self._A, self._b, self._walls, sites)

    def locate(self, X: ArrayLike) -> Ints:
        """Return the number (m,) of the cell that contains each query.

        Outside a hyperbolic domain the bisectors are continued; there the answer is -1 when the
        order is over 1, since there may be no such cell.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Queries.
        """
        X = as_points(X, "X", self.metric.dimension, ndim=2)
        w = self._chart.to_local(X)
        refuse_overflow(np.isfinite(w).all(axis=1), "L(x - μ)", "X")
        found = self._cell_number[self._locator(w)]
        if self.order > 1 and self.metric.curvature < 0:
            found[~self.metric.contains(X)] = -1
        return found

    @cached_property
    def hidden(self) -> Ints:
        """Points without a cell, because rounding merged them with a neighbour."""
        shown = np.append(self.cell_generators, self.duplicates[:, 0])
        return np.setdiff1d(np.arange(len(self.points)), shown)


def _numbering(chosen: Ints, total: int) -> Ints:
    number = np.full(total, -1)
    number[chosen] = np.arange(len(chosen))
    return number


def _index_lists(groups: Groups, number: Ints, *, cyclic: bool) -> list[list[int]]:
    """Return the numbers of the members of each group; several -1 in a row become one."""
    flat = number[groups.members].tolist()
    lists: list[list[int]] = [flat[a:b] for a, b in pairwise(groups.starts.tolist())]
    for k in np.unique(groups.keys[number[groups.members] < 0]):
        if cyclic:
            pairs = zip(lists[k], [lists[k][-1], *lists[k]], strict=False)
            lists[k] = [i for i, before in pairs if max(i, before) >= 0] or [-1]
        else:
            lists[k] = sorted(set(lists[k]))
    return lists
