"""Learning a metric for regression: rows with targets, the product, and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning._descent import Report
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._selection import (
    SELECT_FROM,
    Learned,
    Task,
    learn_product,
    nearest_rows,
    plain_metric,
    standardised,
)
from cayleyklein.learning._trials import NEIGHBORS, Selection
from cayleyklein.learning.objectives import (
    KernelRecipe,
    LiftedRows,
    NearestRows,
    Parameters,
    blocks_of,
    distance_power,
)
from cayleyklein.neighbors import neighbor_weights, weighted_mean

PRODUCT = (("flat", 1.0), ("elliptic", 0.3), ("elliptic", 1.0))
"""Geometries and spreads of the parts of "auto": flat space, and spheres of curvature 0.09 and 1
where a standardised column has the unit 1."""

DEFAULT_NEIGHBORS = 9
"""Voting neighbours of a metric that was not learned here."""

FOLD_PASSES = 1
"""Passes of the fits that only serve the choice."""

LEFT_OUT = 2000
"""Rows that are left out, one at a time, to choose the number of neighbours of one geometry."""


@dataclass(frozen=True, kw_only=True)
class RegressionRows(TrainingRows):
    """Standardised rows with standardised targets (n, t), each divided by √t.

    Equal rows are one row, whose weight is the sum of theirs and whose target is their mean.
    """

    targets: Floats

    @classmethod
    def from_targets(cls, X: Floats, Y: Floats, weights: Floats) -> RegressionRows:
        """Merge, sort and standardise the rows of positive weight and their targets."""
        some = weights > 0
        X, Y, weights = X[some], Y[some], weights[some]
        rows, inverse = np.unique(X, axis=0, return_inverse=True)
        total: Floats = np.bincount(inverse.ravel(), weights=weights).astype(float)
        share = (weights / total[inverse.ravel()])[:, None]
        mean = np.zeros((len(rows), Y.shape[1]))
        unit = np.abs(Y).max(axis=0)
        np.add.at(mean, inverse.ravel(), share * (Y / np.where(unit > 0, unit, 1.0)))
        base = TrainingRows.from_raw(rows, np.zeros(len(rows), dtype=np.int64), total)
        mean -= base.shares @ mean
        deviation = np.sqrt(base.shares @ mean**2)
        constant = deviation <= 4 * np.finfo(float).eps
        targets = np.where(constant, 0.0, mean / np.where(constant, 1.0, deviation))
        return cls._of(base, targets / np.sqrt(Y.shape[1]))

    @classmethod
    def _of(cls, base: TrainingRows, targets: Floats) -> RegressionRows:
        shared = {field.name: getattr(base, field.name) for field in fields(TrainingRows)}
        return cls(**shared, targets=targets)

    def take(self, rows: Ints) -> RegressionRows:
        """Return some of the rows, in the same coordinates."""
        return self._of(super().take(rows), self.targets[np.sort(rows)])

    def nested_order(self, rng: np.random.Generator) -> Ints:
        """Return a random order, by a child of a generator, which itself is left as it is."""
        return rng.spawn(1)[0].permutation(len(self))

    @property
    def weight_unit(self) -> float:
        """1: the loss is a weighted mean."""
        return 1.0


def default_neighbors(n: int) -> int:
    """Return the number of voting neighbours where held-out rows were not asked."""
    return int(np.clip(n // 3, 1, DEFAULT_NEIGHBORS))


def plain(rows: RegressionRows, n_components: int | None, reason: str) -> Learned:
    """Return the metric of standardised columns."""
    selection = Selection("standardised k-NN", reason, default_neighbors(len(rows)))
    return Learned(plain_metric(rows, standardised(rows, n_components)), (), selection)


def learn_auto(
    rows: RegressionRows, base: KernelRecipe, rng: np.random.Generator,
    report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows."""
    if len(rows) < SELECT_FROM:
        return plain(rows, base.n_components, f"too few rows, {len(rows)}, to learn from")
    parts = tuple(replace(base, geometry=g, spread=s) for g, s in PRODUCT)
    return learn_product(rows, Task(parts, FOLD_PASSES, target_scores, named), rng, report)


def named(scores: Floats) -> dict[str, float]:
    """Return the name of R², from a mean squared error."""
    return {"R²": 1 - float(scores[0])}


def target_scores(train: RegressionRows, held_out: RegressionRows, Z: Floats, Q: Floats) -> Floats:
    """Return the squared errors (1, n_votes, m) of rows Q among rows Z."""
    nearest = nearest_rows(Z, Q, min(len(Z), max(NEIGHBORS) + 1))
    return squared_errors(train, *nearest, held_out.targets)[None]


def left_out_neighbors(rows: RegressionRows, found: Parameters) -> int:
    """Return the number of neighbours that predicts rows best, each left out in turn."""
    some = np.unique(np.linspace(0, len(rows) - 1, LEFT_OUT).astype(int))
    placed = LiftedRows(rows.X, found)
    search = NearestRows(len(rows), some, some, some + 1)
    m = min(len(rows) - 1, max(NEIGHBORS) + 1)
    columns = np.vstack(
        [search.find(placed, block, m) for block in blocks_of(len(some), len(rows))]
    )
    sqchord = placed.sqchords(some, columns)
    distances = distance_power(sqchord, found.curvature, squared=False)[0]
    order = np.argsort(distances, axis=1)  # the search rounds more, and may swap close rows
    distances = np.take_along_axis(distances, order, axis=1)
    columns = np.take_along_axis(columns, order, axis=1)
    errors = squared_errors(rows, distances, columns, rows.targets[some])
    return min(NEIGHBORS[int(np.argmin(errors @ rows.weights[some]))], len(rows) - 1)


def squared_errors(
    train: RegressionRows, distances: Floats, columns: Ints, truth: Floats
) -> Floats:
    """Return squared errors (n_votes, m) from the nearest rows of m queries, nearest first."""
    found = []
    for k in NEIGHBORS:
        k = max(1, min(k, columns.shape[1] - 1))
        votes = neighbor_weights(distances, k, "linear") * train.weights[columns[:, :k]]
        error = weighted_mean(votes, train.targets[columns[:, :k]]) - truth
        found.append(np.einsum("mt,mt->m", error, error))
    return np.array(found)
