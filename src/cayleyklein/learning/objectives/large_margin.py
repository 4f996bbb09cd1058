"""The large-margin objective (paper §4): pull targets, push away the nearest impostors.

With targets j of anchor i, its m nearest impostors l (rows of another class, nearest **under the
metric at which the loss is evaluated**), margin γ and weights w,

    ε(L, μ, K) = Σ_i w_i { (1-π) Σ_j φ(d_ij) + π Σ_j Σ_l [γ + φ(d_ij) - φ(d_il)]₊ },

φ(d) = d² in flat space and φ(d) = d in curved space. Impostors are found in every evaluation, so
ε is a function of the metric alone and a line search sees the truth. With m = None all impostors
count, which is the paper's loss.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.learning.descent import Recipe
from cayleyklein.learning.objectives.lifted import (
    Evaluation,
    LiftedPairs,
    LiftedRows,
    NearestRows,
    Parameters,
    blocks_of,
)
from cayleyklein.learning.rows import TrainingRows


@dataclass(frozen=True)
class LargeMarginRecipe(Recipe):
    """A descent of the large-margin objective, with new target neighbours in each pass."""

    margin: float = 1.0
    push: float = 0.5
    n_targets: int = 3
    n_impostors: int | None = 10

    @property
    def unit(self) -> float:
        return 1.0 if self.geometry == "flat" else self.margin

    @property
    def name(self) -> str:
        return f"{self.geometry}, margin {self.margin:g}"

    def pose(self, rows: TrainingRows, anchors: Ints, found: Parameters) -> "LargeMargin":
        targets = nearest_of_class(rows.X, rows.labels, anchors, self.n_targets, found)
        return LargeMargin(
            rows.X,
            rows.labels,
            rows.weights,
            anchors,
            targets,
            self.margin,
            self.push,
            self.n_impostors,
            squared=self.geometry == "flat",
        )


@dataclass(frozen=True)
class LargeMargin:
    """The objective for rows sorted by label, of which some, the anchors, have a term in it."""

    X: Floats
    labels: Ints
    weights: Floats
    anchors: Ints  # (a,)
    targets: Ints  # (a, k) rows of the anchor's class, -1 for none
    margin: float
    push: float
    n_impostors: int | None
    squared: bool

    @cached_property
    def _search(self) -> NearestRows:
        own = self.labels[self.anchors]
        first = np.searchsorted(self.labels, own)
        last = np.searchsorted(self.labels, own, side="right")
        return NearestRows(len(self.X), self.anchors, first, last)

    def __call__(self, metric: Parameters, bends: bool = True) -> Evaluation:
        placed = LiftedRows(self.X, metric, bends)
        if not placed.inside:
            return Evaluation(np.inf, None)
        loss, n_active = self.evaluate(placed)
        return Evaluation(loss, placed.gradient(), n_active)

    def evaluate(self, placed: LiftedRows, impostors: Ints | None = None) -> tuple[float, int]:
        """Return the loss over `impostors` (a, w), or those found now, and violated triplets."""
        loss, n_active = 0.0, 0
        for block in blocks_of(len(self.anchors), len(self.X)):
            near, last = self._near(placed, block)
            found = self._found(placed, block, last) if impostors is None else impostors[block]
            more, active = self._add_block(placed, near, found)
            loss, n_active = loss + more, n_active + active
        return loss, n_active

    def impostors(self, placed: LiftedRows) -> Ints:
        blocks = [
            self._found(placed, block, self._near(placed, block)[1])
            for block in blocks_of(len(self.anchors), len(self.X))
        ]
        width = max(block.shape[1] for block in blocks)
        fill = [np.full((len(block), width - block.shape[1]), -1) for block in blocks]
        return np.vstack([np.hstack(both) for both in zip(blocks, fill, strict=True)])

    def _near(self, placed: LiftedRows, block: slice) -> tuple[LiftedPairs, Floats]:
        """Return the pairs with targets, an anchor with itself for none, and φ of the farthest."""
        anchors, targets = self.anchors[block], self.targets[block]
        there = targets >= 0
        columns = np.where(there, targets, anchors[:, None])
        near = placed.pairs(anchors, columns, squared=self.squared)
        return near, np.where(there.any(axis=1), near.value.max(axis=1), -np.inf)

    def _found(self, placed: LiftedRows, block: slice, last: Floats) -> Ints:
        """Return the nearest impostors (b, w) that violate a margin, -1 for none."""
        edge = self.margin + np.maximum(last, 0.0)
        reach = lifts.sqchord_from(np.sqrt(edge) if self.squared else edge, placed.metric.curvature)
        reach = np.where(last >= 0, reach, -np.inf)
        if self.n_impostors is not None:
            return self._search.find(placed, block, self.n_impostors, reach)
        anchors = self.anchors[block]
        product = (placed.lift[anchors] * placed.signature) @ placed.lift.T
        near = placed.sqnorm[anchors, None] + placed.sqnorm - 2 * product < reach[:, None]
        near &= self.labels != self.labels[anchors, None]
        rows, columns = np.nonzero(near)
        count = near.sum(axis=1)
        found = np.full((len(anchors), max(1, int(count.max()))), -1)
        found[rows, np.arange(len(rows)) - (np.cumsum(count) - count)[rows]] = columns
        return found

    def _add_block(
        self, placed: LiftedRows, near: LiftedPairs, impostors: Ints
    ) -> tuple[float, int]:
        anchors, there = near.rows, impostors >= 0
        columns = np.where(there, impostors, anchors[:, None])
        far = placed.pairs(anchors, columns, squared=self.squared)
        value = np.where(near.columns == anchors[:, None], -np.inf, near.value)
        edge, beyond = (self.margin + value).T[:, :, None], np.where(there, far.value, np.inf)
        hinge = np.subtract(edge, beyond, order="C")  # which sums along the first axis quickly
        active = (hinge > 0).astype(float)  # (k, b, w)
        np.maximum(hinge, 0.0, out=hinge)
        weights, by_target = self.weights[anchors], (active @ np.ones(active.shape[2])).T
        pull, push = float((weights @ near.value).sum()), float((weights @ hinge.sum(axis=0)).sum())
        placed.push(near, (1 - self.push + self.push * by_target) * weights[:, None])
        placed.push(far, active.sum(axis=0) * (-self.push * weights)[:, None])
        return (1 - self.push) * pull + self.push * push, int(by_target.sum())


def nearest_of_class(
    X: Floats, labels: Ints, anchors: Ints, n_targets: int, metric: Parameters
) -> Ints:
    """Return the n_targets nearest rows, or fewer, of each anchor's class; -1 for none."""
    n_targets = max(1, min(n_targets, int(np.bincount(labels).max()) - 1))
    found = np.full((len(anchors), n_targets), -1)
    placed, search = LiftedRows(X, metric), NearestRows(len(X), anchors, anchors, anchors + 1)
    for label in np.unique(labels[anchors]):
        rows = slice(*np.searchsorted(labels, [label, label + 1]))
        mine = slice(*np.searchsorted(labels[anchors], [label, label + 1]))
        for block in blocks_of(mine.stop, len(X), mine.start):
            found[block] = search.find(placed, block, n_targets, among=rows)
    return found
