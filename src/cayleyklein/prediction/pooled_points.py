"""Equal rows as one point that has the votes of all of them.

In a table of a few categories many rows are equal, and the k nearest rows are an arbitrary choice
among equally near ones. The k nearest distinct points are not. Rows of weight 0 are at no point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.learning.rows import distinct_rows
from cayleyklein.neighbors.search import CHUNK, Ranked, SearchIndex


class Points(NamedTuple):
    """The first row at each point (p,), and the point of each row (n,), -1 for none."""

    rows: Ints
    of_rows: Ints

    @classmethod
    def pooled(cls, X: Floats, weights: Floats) -> Points:
        """Pool equal rows of positive weight."""
        kept = weights > 0
        if kept.all():
            return cls(*distinct_rows(X))
        first, point = distinct_rows(X[kept])
        of_rows = np.full(len(X), -1)
        of_rows[kept] = point
        return cls(np.flatnonzero(kept)[first], of_rows)

    @classmethod
    def separate(cls, n: int) -> Points:
        return cls(np.arange(n), np.arange(n))


class LeftOut(NamedTuple):
    """The rows (m,) that queries leave out: their numbers, points, and whether these vanish."""

    rows: Ints
    points: Ints
    vanish: Bools

    @classmethod
    def of(cls, points: Points, rows: Ints) -> LeftOut:
        """Leave out given rows; a point vanishes with its only row."""
        count = np.bincount(points.of_rows[points.of_rows >= 0], minlength=len(points.rows))
        at = points.of_rows[rows]
        return cls(rows, at, (at >= 0) & (count[at] == 1))

    def drop_from(self, found: Ranked, n_wanted: int) -> Ranked:
        """Drop points that vanish from those that were found, and keep `n_wanted` of the rest."""
        gone = (found.rows == self.points[:, None]) & self.vanish[:, None]
        order = np.argsort(gone, axis=1, kind="stable")[:, :n_wanted]
        values = np.take_along_axis(np.where(gone, np.inf, found.values), order, axis=1)
        rows = np.take_along_axis(np.where(gone, -1, found.rows), order, axis=1)
        return Ranked(values, rows, found.inside)


def leaving_out(
    index: SearchIndex, X: Floats, table: Any, n_wanted: int,
    finish: Callable[[Ranked, Any, int], tuple[AnyArray]], n_jobs: int | None,
) -> AnyArray:  # fmt: skip
    """Return what `finish` makes of the nearest points of all fitted rows X.

    One point more than wanted is found, as a row's own point may be dropped.
    """
    parts = []
    for at in range(0, len(X), CHUNK):
        found = index.nearest(X[at : at + CHUNK], n_wanted + 1, n_jobs)
        parts.append(finish(found, table, at)[0])
    return np.concatenate(parts)
