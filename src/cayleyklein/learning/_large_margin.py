"""The large-margin objective (paper §4): pull targets, push away the nearest impostors.

With targets j of anchor i, its m nearest impostors l (rows of another class, nearest **under the
metric at which the loss is evaluated**), margin γ and weights w,

    ε(L, μ, K) = Σ_i w_i { (1-π) Σ_j φ(d_ij) + π Σ_j Σ_l [γ + φ(d_ij) - φ(d_il)]₊ },

φ(d) = d² in flat space and φ(d) = d in curved space. Impostors are found in every evaluation, so
ε is a function of the metric alone and a line search sees the truth. With m = None all impostors
count, which is the paper's loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cayleyklein._jit import vectorised
from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import slopes_from_sqchord, sqchord_from
from cayleyklein.learning._placed import Gradient, Parameters, Placed

__all__ = ["Evaluation", "LargeMargin", "nearest_of_class"]


BLOCK_ENTRIES = 2_000_000
"""Entries of a block of squared chords: 16 MB."""


ROUNDING = 1e-9
"""Room for the rounding of a matrix product, a million times what it can be."""


class Evaluation(NamedTuple):
    """Loss, its gradient (None outside the domain), and the number of violated triplets."""

    loss: float
    gradient: Gradient | None
    n_active: int


@dataclass(frozen=True)
class LargeMargin:
    """The objective for given rows, targets and anchors.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Sorted by label.
    labels : ndarray of shape (n,)
        0, 1, …
    weights : ndarray of shape (n,)
    anchors : ndarray of shape (a,)
        Rows that have a term in the loss. All rows may be impostors or targets.
    targets : ndarray of shape (a, k)
        Rows of the anchor's class, -1 for none.
    margin, push : float
        γ, in the unit of φ, and π in [0, 1].
    n_impostors : int or None
        m.
    squared : bool
        φ(d) = d² rather than d.
    """

    X: Floats
    labels: Ints
    weights: Floats
    anchors: Ints
    targets: Ints
    margin: float
    push: float
    n_impostors: int | None
    squared: bool

    @cached_property
    def _room(self) -> Floats:
        """Memory for a block of products: asking the system for it anew costs as much as them."""
        size = min(len(self.anchors), max(1, BLOCK_ENTRIES // len(self.X)))
        return np.empty((size, len(self.X)))

    @cached_property
    def _last(self) -> dict[int, Ints]:
        """Impostors that the last evaluation found, by the first anchor of their block."""
        return {}

    def __call__(self, metric: Parameters) -> Evaluation:
        """Return the loss and its gradient; inf where a row leaves a hyperbolic domain."""
        placed = Placed(self.X, metric)
        if not placed.inside:
            return Evaluation(np.inf, None, 0)
        loss, n_active = self.evaluate(placed)
        return Evaluation(loss, placed.gradient(), n_active)

    def evaluate(self, placed: Placed, impostors: Ints | None = None) -> tuple[float, int]:
        """Return the loss and the number of violated triplets, and tell `placed` the forces.

        The loss is over the given `impostors` (a, w), -1 for none, or those found now.
        """
        loss, n_active = 0.0, 0
        for block, reach in self._blocks(placed):
            anchors = self.anchors[block]
            if impostors is None:
                found = self._impostors(placed, block, reach)
            else:
                found = impostors[block]
            more, active = self._add_block(placed, anchors, self.targets[block], found)
            loss, n_active = loss + more, n_active + active
        return loss, n_active

    def impostors(self, placed: Placed) -> Ints:
        """Return the impostors (a, w) of all anchors, -1 for none."""
        blocks = [self._impostors(placed, block, reach) for block, reach in self._blocks(placed)]
        found = np.full((len(self.anchors), max(block.shape[1] for block in blocks)), -1)
        start = 0
        for block in blocks:
            found[start : start + len(block), : block.shape[1]] = block
            start += len(block)
        return found

    def _blocks(self, placed: Placed) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of anchors, and c² within which an impostor violates a margin."""
        K = placed.metric.curvature
        size = max(1, BLOCK_ENTRIES // len(self.X))
        for start in range(0, len(self.anchors), size):
            block = slice(start, start + size)
            targets = self.targets[block]
            sqchord = placed.sqchords(self.anchors[block], np.maximum(targets, 0))
            farthest = np.where(targets >= 0, sqchord, -1.0).max(axis=1)
            value, *_ = self._phi(np.maximum(farthest, 0.0), K)
            distance = np.sqrt(self.margin + value) if self.squared else self.margin + value
            yield block, np.where(farthest >= 0, sqchord_from(distance, K), -np.inf)

    def _impostors(self, placed: Placed, block: slice, reach: Floats) -> Ints:
        """Return the nearest impostors (b, w) within reach of each anchor, -1 for none."""
        lift, anchors = placed.lift, self.anchors[block]
        sqnorm = np.einsum("ij,ij,j->i", lift, lift, placed.signature)
        room = self._room[: len(anchors)]
        product = np.matmul(lift[anchors] * placed.signature, lift.T, out=room)
        first, last = self._own_class(anchors)
        if self.n_impostors is not None:
            reach = self._within(placed, block, reach)
            found = nearest_outside(
                product, sqnorm, sqnorm[anchors], first, last, reach, self.n_impostors
            )
            self._last[block.start] = found
            return found
        near = sqnorm[anchors, None] + sqnorm - 2 * product < reach[:, None]
        near &= self.labels != self.labels[anchors, None]
        rows, columns = np.nonzero(near)
        count = near.sum(axis=1)
        found = np.full((len(anchors), max(1, int(count.max()))), -1)
        found[rows, np.arange(len(rows)) - (np.cumsum(count) - count)[rows]] = columns
        return found

    def _within(self, placed: Placed, block: slice, reach: Floats) -> Floats:
        """Return a smaller reach that holds the m nearest impostors all the same.

        m rows of other classes are known, those of the last evaluation, and the m nearest are no
        farther than the farthest of them. Where to look is all that changes; what is found is not.
        """
        last = self._last.get(block.start)
        if last is None:
            return reach
        anchors = self.anchors[block]
        far = placed.sqchords(anchors, np.where(last >= 0, last, anchors[:, None])).max(axis=1)
        rounding = ROUNDING * (far + float(np.square(placed.lift).max()))
        return np.where((last >= 0).all(axis=1), np.minimum(reach, far + rounding), reach)

    def _own_class(self, anchors: Ints) -> tuple[Ints, Ints]:
        """Return where the rows of each anchor's class begin and end."""
        own = self.labels[anchors]
        return np.searchsorted(self.labels, own), np.searchsorted(self.labels, own, side="right")

    def _add_block(
        self, placed: Placed, anchors: Ints, targets: Ints, impostors: Ints
    ) -> tuple[float, int]:
        """Return the loss and violated triplets of some anchors; tell `placed` the forces."""
        K = placed.metric.curvature
        k = targets.shape[1]
        columns = np.hstack([targets, impostors])
        there = columns >= 0
        columns = np.where(there, columns, anchors[:, None])
        value, slope, by_K = self._phi(placed.sqchords(anchors, columns), K)
        near, far = value[:, :k], np.where(there[:, k:], value[:, k:], np.inf)
        hinge = self.margin + near[:, :, None] - far[:, None, :]
        active = (hinge > 0) & there[:, :k, None]
        weights = self.weights[anchors]
        pull = (near * there[:, :k]).sum(axis=1)
        push = np.where(active, hinge, 0.0).sum(axis=(1, 2))
        loss = float(weights @ ((1 - self.push) * pull + self.push * push))
        by_value = np.hstack(
            [(1 - self.push) * there[:, :k] + self.push * active.sum(axis=2),
             -self.push * active.sum(axis=1)]
        ) * weights[:, None]  # fmt: skip
        placed.push_apart(anchors, columns, by_value * slope, float((by_value * by_K).sum()))
        return loss, int(active.sum())

    def _phi(self, sqchord: Floats, K: float) -> tuple[Floats, Floats, Floats]:
        """Return φ(d), ∂φ/∂c² and ∂φ/∂K of squared chords."""
        if self.squared and K == 0:
            return sqchord, np.ones_like(sqchord), sqchord * sqchord / 12
        d, by_sqchord, by_K = slopes_from_sqchord(sqchord, K)
        if not self.squared:
            return d, by_sqchord, by_K
        return d * d, 2 * d * by_sqchord, 2 * d * by_K


def nearest_of_class(
    X: Floats, labels: Ints, anchors: Ints, n_targets: int, metric: Parameters
) -> Ints:
    """Return the nearest rows (a, k) of each anchor's class under a metric, -1 for none.

    Equally near rows come in their order. k is `n_targets`, or fewer where no class has so many.
    """
    placed = Placed(X, metric)
    n_targets = max(1, min(n_targets, int(np.bincount(labels).max()) - 1))
    found = np.full((len(anchors), n_targets), -1)
    for label in np.unique(labels[anchors]):
        rows = np.flatnonzero(labels == label)
        mine = np.flatnonzero(labels[anchors] == label)
        k = min(n_targets, len(rows) - 1)
        if k < 1:
            continue
        lift = placed.lift[rows]
        half = np.einsum("ij,ij,j->i", lift, lift, placed.signature) / 2
        size = max(1, BLOCK_ENTRIES // len(rows))
        for start in range(0, len(mine), size):
            some = mine[start : start + size]
            rank = half - (placed.lift[anchors[some]] * placed.signature) @ lift.T
            rank[np.arange(len(some)), np.searchsorted(rows, anchors[some])] = np.inf
            nearest = np.sort(np.argpartition(rank, k - 1, axis=1)[:, :k], axis=1)
            order = np.argsort(np.take_along_axis(rank, nearest, axis=1), axis=1, kind="stable")
            found[some, :k] = rows[np.take_along_axis(nearest, order, axis=1)]
    return found


def nearest_outside(
    product: Floats, sqnorm: Floats, own: Floats, first: Ints, last: Ints, reach: Floats, m: int
) -> Ints:
    """Return the m nearest columns (b, m) outside a range, within reach of each row; -1 for none.

    The squared chord of row i and column j is own_i + sqnorm_j - 2 product_ij. Columns from
    first_i to last_i, the row's own class, are left out.
    """
    found = np.full((len(product), m), -1)
    _scan(product, sqnorm, own, first, last, reach, found)
    return found


@vectorised
def _scan(product, sqnorm, own, first, last, reach, found):  # type: ignore[no-untyped-def]
    """Write the columns, nearest first. The minimum of a chunk decides whether to look at it."""
    chunk, n, m = 16, product.shape[1], found.shape[1]
    value = np.empty(m)
    for i in range(product.shape[0]):
        count, bound = 0, reach[i] - own[i]
        for side in range(2):
            start, end = (0, first[i]) if side == 0 else (last[i], n)
            for s in range(start, end, chunk):
                e = min(s + chunk, end)
                least = np.inf
                for j in range(s, e):
                    least = min(least, sqnorm[j] - 2 * product[i, j])
                if not least < bound:
                    continue
                for j in range(s, e):
                    v = sqnorm[j] - 2 * product[i, j]
                    if v < bound:
                        p = min(count, m - 1)
                        while p > 0 and value[p - 1] > v:
                            value[p], found[i, p] = value[p - 1], found[i, p - 1]
                            p -= 1
                        value[p], found[i, p] = v, j
                        count = min(count + 1, m)
                        if count == m:
                            bound = value[m - 1]
