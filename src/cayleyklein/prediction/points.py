"""Equal rows as one point that has the votes of all of them.

In a table of a few categories many rows are equal, and the k nearest rows are an arbitrary choice
among equally near ones. The k nearest distinct points are not. Rows of weight 0 are at no point.
"""

from typing import NamedTuple, Self

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.learning.rows import distinct_rows
from cayleyklein.neighbors.search import Ranked


class Points(NamedTuple):
    """The first row at each point (p,), and the point of each row (n,), -1 for none."""

    rows: Ints
    of_rows: Ints

    @classmethod
    def pooled(cls, X: Floats, weights: Floats, *, ordered: bool = False) -> Self:
        """Pool equal rows of positive weight; points are `ordered` by columns, or by rows."""
        kept = weights > 0
        some = X if kept.all() else X[kept]
        first, point = distinct_rows(some)
        if ordered:
            order = np.lexsort(some[first].T[::-1])
            first, point = first[order], np.argsort(order)[point]
        of_rows = np.full(len(X), -1)
        of_rows[kept] = point
        return cls(np.flatnonzero(kept)[first], of_rows)

    def means(self, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weight (p,) and the mean target (p, t) of each point."""
        kept = self.of_rows >= 0
        at, weights = self.of_rows[kept], weights[kept]
        total: Floats = np.bincount(at, weights=weights, minlength=len(self.rows)).astype(float)
        share = np.divide(weights, total[at], out=np.ones_like(weights), where=total[at] > 0)
        mean = np.zeros((len(total), targets.shape[1]))
        np.add.at(mean, at, share[:, None] * targets[kept])
        return total, mean

    @classmethod
    def separate(cls, n: int) -> Self:
        return cls(np.arange(n), np.arange(n))


class LeftOut(NamedTuple):
    """The rows (m,) that queries leave out: their numbers, points, and whether these vanish."""

    rows: Ints
    points: Ints
    vanish: Bools

    @classmethod
    def of(cls, points: Points, rows: Ints) -> Self:
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
