"""The large-margin objective (paper §4): pull targets, push away the nearest impostors.

With targets j of anchor i, its m nearest impostors l (rows of another class, nearest **under the
metric at which the loss is evaluated**), margin γ and weights w,

    ε(L, μ, K) = Σ_i w_i { (1-π) Σ_j φ(d_ij) + π Σ_j Σ_l [γ + φ(d_ij) - φ(d_il)]₊ },

φ(d) = d² in flat space and φ(d) = d in curved space. Impostors are found in every evaluation, so
ε is a function of the metric alone and a line search sees the truth. With m = None all impostors
count, which is the paper's loss.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.learning.descent import Recipe
from cayleyklein.learning.objectives import lifted
from cayleyklein.learning.objectives.lifted import Evaluation, LiftedRows, Parameters
from cayleyklein.learning.objectives.search import NearestRows, blocks_of
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
            rows.X, rows.labels, rows.weights, anchors, targets, self.margin, self.push,
            self.n_impostors, squared=self.geometry == "flat",
        )  # fmt: skip


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

    def __call__(self, metric: Parameters) -> Evaluation:
        placed = LiftedRows(self.X, metric)
        if not placed.inside:
            return Evaluation(np.inf, None)
        loss, n_active = self.evaluate(placed)
        return Evaluation(loss, placed.gradient(), n_active)

    def evaluate(self, placed: LiftedRows, impostors: Ints | None = None) -> tuple[float, int]:
        """Return the loss over `impostors` (a, w), or those found now, and violated triplets."""
        loss, n_active = 0.0, 0
        for block, reach in self._blocks(placed):
            if impostors is None:
                found = self._impostors(placed, block, reach)
            else:
                found = impostors[block]
            more, active = self._add_block(placed, self.anchors[block], self.targets[block], found)
            loss, n_active = loss + more, n_active + active
        return loss, n_active

    def impostors(self, placed: LiftedRows) -> Ints:
        blocks = [self._impostors(placed, block, reach) for block, reach in self._blocks(placed)]
        found = np.full((len(self.anchors), max(block.shape[1] for block in blocks)), -1)
        start = 0
        for block in blocks:
            found[start : start + len(block), : block.shape[1]] = block
            start += len(block)
        return found

    def _blocks(self, placed: LiftedRows) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of anchors, and c² within which an impostor violates a margin."""
        K = placed.metric.curvature
        for block in blocks_of(len(self.anchors), len(self.X)):
            targets = self.targets[block]
            sqchord = placed.sqchords(self.anchors[block], np.maximum(targets, 0))
            farthest = np.where(targets >= 0, sqchord, -1.0).max(axis=1)
            value, *_ = lifted.distance_power(np.maximum(farthest, 0.0), K, squared=self.squared)
            distance = np.sqrt(self.margin + value) if self.squared else self.margin + value
            yield block, np.where(farthest >= 0, lifts.sqchord_from(distance, K), -np.inf)

    def _impostors(self, placed: LiftedRows, block: slice, reach: Floats) -> Ints:
        """Return the nearest impostors (b, w) within reach of each anchor, -1 for none."""
        if self.n_impostors is not None:
            return self._search.find(placed, block, self.n_impostors, reach)
        anchors = self.anchors[block]
        product, sqnorm = self._search.products(placed, block), placed.sqnorm
        near = sqnorm[anchors, None] + sqnorm - 2 * product < reach[:, None]
        near &= self.labels != self.labels[anchors, None]
        rows, columns = np.nonzero(near)
        count = near.sum(axis=1)
        found = np.full((len(anchors), max(1, int(count.max()))), -1)
        found[rows, np.arange(len(rows)) - (np.cumsum(count) - count)[rows]] = columns
        return found

    def _add_block(
        self, placed: LiftedRows, anchors: Ints, targets: Ints, impostors: Ints
    ) -> tuple[float, int]:
        K = placed.metric.curvature
        k = targets.shape[1]
        columns = np.hstack([targets, impostors])
        there = columns >= 0
        columns = np.where(there, columns, anchors[:, None])
        value, slope, by_K = lifted.distance_power(
            placed.sqchords(anchors, columns), K, squared=self.squared
        )
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


def nearest_of_class(
    X: Floats, labels: Ints, anchors: Ints, n_targets: int, metric: Parameters
) -> Ints:
    """Return the n_targets nearest rows, or fewer, of each anchor's class; -1 for none."""
    n_targets = max(1, min(n_targets, int(np.bincount(labels).max()) - 1))
    found = np.full((len(anchors), n_targets), -1)
    for label in np.unique(labels[anchors]):
        rows = np.flatnonzero(labels == label)
        mine = np.flatnonzero(labels[anchors] == label)
        place = np.searchsorted(rows, anchors[mine])
        search = NearestRows(len(rows), place, place, place + 1)
        placed = LiftedRows(X[rows], metric)
        for block in blocks_of(len(mine), len(rows)):
            near = search.find(placed, block, n_targets)
            found[mine[block]] = np.where(near >= 0, rows[near], -1)
    return found
