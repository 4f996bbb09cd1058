"""Who pulls and who pushes: target neighbours and impostors, by exact search in blocks.

Both compare square chords (a monotone function of the distance, for every K), which are one
matrix product after the lift; no arc function is evaluated for a pair that does not matter, and
nothing of size n × n is held.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame
from cayleyklein.learning._kernels import chords_to, farthest_reach
from cayleyklein.learning._loss import Pairs
from cayleyklein.learning._near_columns import near_columns
from cayleyklein.metrics._pairwise import chord_lift, left_operand, right_operand

__all__ = ["Near", "find_impostors", "find_targets", "near_impostors", "radii", "target_chords"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

BLOCK_ENTRIES = 2**19
"""Square chords in a block: 4 MB, which stay in cache while they are compared."""

EXTRA = 3
"""Candidates beside the k nearest that are ranked again by their exact distances."""


class Near(NamedTuple):
    """Impostor candidates in compressed rows; ``share`` is their square chord over the reach."""

    first: Index
    column: Index
    share: Array


class Lifted:
    """Rows lifted once, from which square chords are matrix products."""

    def __init__(self, X: Array, frame: Frame) -> None:
        self.z, s = frame._inside(X, "X")
        self.sigma = np.sqrt(s)
        self.a = np.einsum("ij,ij->i", self.z, self.z)
        self.curvature = frame.curvature
        v, self.scale = chord_lift(self.z, s, frame.curvature)
        self.v = v - v.mean(axis=0)
        self.sqnorm = np.einsum("ij,ij->i", self.v, self.v)

    def chords_to(self, rows: Index, columns: Index) -> Array:
        """Return square chords from differences, -1 for no column."""
        found = chords_to(self.z, self.a, self.sigma, self.curvature, rows, columns)
        return np.asarray(found)

    def left(self, rows: Index, divisor: Array | float = 1.0) -> Array:
        """Return the left factor of rows."""
        return left_operand(self.v[rows], self.sqnorm[rows], self.scale[rows] / divisor)

    def right(self, rows: Index) -> Array:
        """Return the right factor of rows."""
        return right_operand(self.v[rows], self.sqnorm[rows], self.scale[rows])


def find_targets(X: Array, labels: Index, k: int, frame: Frame, n_rows: int | None = None) -> Index:
    """Return the k nearest rows of the same class of each row, ties by index, -1 for none.

    With ``n_rows``, the nearest to the first so many rows among the others.

    Returns
    -------
    ndarray of shape (n, k)
        Or of fewer columns, where no class is that large.
    """
    if n_rows is None:
        k = max(1, min(k, int(np.bincount(labels).max()) - 1))
    targets = np.full((n_rows or len(X), k), -1, dtype=np.int64)
    lifted = Lifted(X, frame)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        among = members if n_rows is None else members[members >= n_rows]
        members = members if n_rows is None else members[members < n_rows]
        others = len(among) - (n_rows is None)
        count = min(k, others)
        if count == 0 or len(members) == 0:
            continue
        right = lifted.right(among).T
        step = max(1, BLOCK_ENTRIES // len(among))
        for start in range(0, len(members), step):
            rows = members[start : start + step]
            chords = lifted.left(rows) @ right
            if n_rows is None:
                chords[np.arange(len(rows)), start + np.arange(len(rows))] = np.nan
            wide = min(count + EXTRA, others)
            targets[rows, :count] = _nearest(lifted, rows, among, chords, count, wide)
    return targets


def _nearest(
    lifted: Lifted, rows: Index, members: Index, chords: Array, count: int, wide: int
) -> Index:
    """Rank the columns of least chord again, without cancellation, then by index."""
    near, _, _ = near_columns(chords, wide, np.inf)
    candidates = members[near].reshape(-1, wide)
    order = np.argsort(lifted.chords_to(rows, candidates), axis=1, kind="stable")[:, :count]
    return np.take_along_axis(candidates, order, axis=1)


def target_chords(targets: Index, X: Array, frame: Frame) -> Array:
    """Return the square chords of rows to their targets, -1 for none."""
    return Lifted(X, frame).chords_to(np.arange(len(targets)), targets)


def radii(targets: Index, X: Array, frame: Frame, margin: float, squared: bool) -> Array:
    """Return the square chord within which another class violates some target of each row."""
    chords = target_chords(targets, X, frame)
    return np.asarray(farthest_reach(frame.curvature, chords, margin, squared))


def find_impostors(
    X: Array, labels: Index, reach: Array, frame: Frame, per_row: int | None = None
) -> tuple[Pairs, bool]:
    """Return for each row the rows of other classes within a square chord `reach`.

    Where a row has more than ``per_row``, it keeps its nearest ones, and the second value returned
    is True.
    """
    found, crowded = near_impostors(X, labels, reach, frame, per_row)
    return Pairs(found.first, found.column), crowded


def near_impostors(
    X: Array,
    labels: Index,
    reach: Array,
    frame: Frame,
    per_row: int | None = None,
    n_rows: int | None = None,
) -> tuple[Near, bool]:
    """Return the same with how far they are.

    With ``n_rows``, those of the first so many rows among the others.
    """
    n = n_rows or len(X)
    lifted = Lifted(X, frame)
    found: list[tuple[Index, Index, Array]] = []
    crowded = False
    reach = np.minimum(reach, np.finfo(float).max / 4)
    for label in np.unique(labels):
        members = np.flatnonzero((labels[:n] == label) & (reach > 0))
        others = np.flatnonzero(labels != label)
        if n_rows is not None:
            others = others[others >= n_rows]
        if len(others) == 0 or len(members) == 0:
            continue
        right = lifted.right(others).T
        step = max(1, BLOCK_ENTRIES // max(1, len(others)))
        work = np.empty((min(step, len(members)), len(others)))
        for start in range(0, len(members), step):
            rows = members[start : start + step]
            chords = work[: len(rows)]
            np.matmul(lifted.left(rows, reach[rows]), right, out=chords)
            columns, counts, more = near_columns(chords, per_row or len(others), 1.0)
            crowded |= more
            at = np.repeat(np.arange(len(rows)), counts)
            found.append((rows[at], others[columns], chords[at, columns]))
    found.append((np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)))
    row, column, share = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(row, kind="stable")
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n), out=first[1:])
    return Near(first, column[order], share[order]), crowded
