"""A tree of vantage points: exact by the triangle inequality alone, and so for every metric."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.neighbors._kernels import build_tree, search_nearest, search_within
from cayleyklein.neighbors._lift import KERNEL_SLACK
from cayleyklein.neighbors._origin import Origin
from cayleyklein.neighbors._rows import (
    EPS,
    STRIP,
    TINY,
    Place,
    Queries,
    References,
    compiled_view,
    in_tasks,
    units,
)

__all__ = ["ChordSpace", "VantagePointTree"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

QUERIES_PER_TASK = 64
"""Queries a thread answers at a time; it decides nothing but the speed."""

ANTIPODAL = 0.995
"""√K c/2 past which an elliptic distance magnifies the rounding of its chord more than tenfold."""


class ChordSpace:
    """The coordinates in which compiled code measures the distances of a metric.

    Rows are the lifts v of all frames side by side, and then 1/σ in each (1 for K ≥ 0).
    """

    def __init__(self, references: References) -> None:
        self.parts = references.parts
        self.origins = [
            Origin.in_the_middle(references.X, s, part.metric)
            for part, s in zip(self.parts, references.s, strict=True)
        ]
        self.cuts = np.cumsum([0, *(origin.width for origin in self.origins)])
        self.curvatures = np.array([part.metric.curvature for part in self.parts])
        self.units = np.array(
            [part.weight / (math.sqrt(abs(part.metric.curvature)) or 1) for part in self.parts]
        )
        n = len(references)
        self.v = np.empty((n, self.cuts[-1] + len(self.parts)))
        blurs, lengths = [], []
        for start in range(0, n, STRIP):
            rows = slice(start, min(start + STRIP, n))
            places = [
                Place.of(references.X[rows], part.metric)._replace(s=s[rows])
                for part, s in zip(self.parts, references.s, strict=True)
            ]
            self.v[rows], blur, length = self.place(places)
            blurs.append(blur.max(axis=0))
            lengths.append(length.max(axis=0))
        self.blur, self.reach = np.max(blurs, axis=0), np.max(lengths, axis=0)
        self.highest = self.v[:, self.cuts[-1] :].max(axis=0)

    def place(self, places: list[Place]) -> tuple[Array, Array, Array]:
        """Return rows, and for each part how far its v may be off and how long it is."""
        columns, scales, blurs, lengths = [], [], [], []
        for origin, place in zip(self.origins, places, strict=True):
            steps = origin.steps(*place)
            columns.append(steps.v)
            scales.append(
                1 / np.sqrt(place.s) if origin.metric.curvature < 0 else np.ones(len(place.s))
            )
            rounding, K = units(origin.width), origin.metric.curvature
            faint = math.sqrt(rounding * TINY) * (1 + (2 / math.sqrt(abs(K)) if K else 0))
            blurs.append(steps.v_blur + rounding * np.sqrt(steps.v_square) + faint)
            lengths.append(np.sqrt(steps.v_square))
        return np.column_stack(columns + scales), np.stack(blurs, 1), np.stack(lengths, 1)

    def slack(self, scale: Array, blur: Array, length: Array) -> Array:
        """Return by how much the distances of queries to fitted rows may be off.

        A chord is off by the blur of both ends, times 1/√(σ_p σ_q) for K < 0, and a distance by
        at most 1/cosh(√-K d/2) of that, which together is ≤ 2/max(σ_p, σ_q) times the blur.
        """
        total = np.zeros(len(blur))
        for p, part in enumerate(self.parts):
            K, k = part.metric.curvature, math.sqrt(abs(part.metric.curvature))
            off = blur[:, p] + self.blur[p]
            largest = length[:, p] + self.reach[p]
            if K < 0:
                off = 2 * off * scale[:, p]
                largest = (
                    2 / k * np.arcsinh(k / 2 * largest * np.sqrt(scale[:, p] * self.highest[p]))
                )
            elif K > 0:
                # 1/cos of half the angle; at the antipode only the root of the digits is left
                wide = k * largest / 2 > ANTIPODAL
                off = np.where(wide, 2 / k * np.sqrt(2 * k * off + 16 * EPS), 11 * off)
                largest = np.full_like(off, math.pi / k)
            total += part.weight * (off + 16 * EPS * largest)
        return total


class VantagePointTree:
    """Candidates by a tree of vantage points."""

    def __init__(self, references: References) -> None:
        space = ChordSpace(references)
        self.space = space
        self.order, self.runs, self.shells, self.to_vantage = build_tree(
            space.v, space.cuts, space.curvatures, space.units
        )
        highest, blur, reach = space.highest[None], space.blur[None], space.reach[None]
        self.own_slack = float(space.slack(highest, blur, reach)[0])
        for column in space.v.T:  # one at a time: no second copy of the rows
            column[:] = column[self.order]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The rows and the tree, as compiled code takes them."""
        space = self.space
        metric = space.v, space.cuts, space.curvatures, space.units
        return tuple(map(compiled_view, (*metric, self.runs, self.shells, self.to_vantage)))

    def placed(self, queries: Queries) -> tuple[Array, Array]:
        """Return queries as rows, and how far their distances may be off."""
        q, blur, length = self.space.place(queries.placed)
        scale = q[:, self.space.cuts[-1] :]
        return q, self.space.slack(scale, blur, length) + self.own_slack

    def search(
        self, queries: Queries, k: int, pool: Threads | None
    ) -> tuple[Array, Index, Array, Index]:
        """Return distances to rounding, rows, slack, and the number of distances measured."""
        m = len(queries)
        q, slack = self.placed(queries)
        values, rows = np.empty((m, k)), np.empty((m, k), dtype=np.intp)
        evaluated = np.empty(m, dtype=np.intp)
        doubt, tree = 2 * slack, self.arrays

        def run(begin: int, end: int) -> None:
            search_nearest(begin, end, values, rows, evaluated, q, doubt, *tree)

        in_tasks(run, m, QUERIES_PER_TASK, pool)
        return values, np.where(rows < 0, -1, self.order[rows]), slack, evaluated

    def candidates(
        self, queries: Queries, k: int, pool: Threads | None = None
    ) -> tuple[Index, Array]:
        """Return k rows for each query, and what no other row ranks below."""
        index = np.full((len(queries), k), -1, dtype=np.intp)
        floor = np.full(len(queries), -np.inf)
        metric = np.flatnonzero(~queries.by_affine_rank)  # f obeys no triangle inequality
        if len(metric):
            values, index[metric], slack, _ = self.search(queries.take(metric), k, pool)
            floor[metric] = (values.max(axis=1) - 3 * slack) * (1 - KERNEL_SLACK)
        return index, floor

    def precise(self) -> "VantagePointTree":
        """Return the engine for queries in doubt."""
        return self

    def within(
        self, queries: Queries, radius: float, pool: Threads | None
    ) -> tuple[Index, Index] | None:
        """Return the pairs within a radius, and perhaps a few more; None where squares overflow."""
        inside = np.flatnonzero(queries.inside)
        q, slack = self.placed(queries.take(inside))
        limit = radius * (1 + KERNEL_SLACK) + 3 * slack
        if not np.isfinite(limit).all():
            return None
        none = np.empty(0, dtype=np.intp)
        pairs: dict[int, tuple[Index, Index]] = {-1: (none, none)}
        doubt, tree = 2 * slack, self.arrays

        def run(begin: int, end: int) -> None:
            pairs[begin] = search_within(begin, end, limit, q, doubt, *tree)

        in_tasks(run, len(inside), QUERIES_PER_TASK, pool)
        rows, columns = (np.concatenate(arrays) for arrays in zip(*pairs.values(), strict=True))
        return inside[rows], self.order[columns]

    def appended(self, references: References) -> None:
        """Say that the tree does not grow."""
