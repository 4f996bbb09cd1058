"""What votes say of held-out rows, for each number of neighbours, and how good that is.

Held-out rows choose between metrics by this, see `learning/choice.py`. Rows are `TrainingRows`, as
learning has them: standardised, and distinct within a class.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.choice import Trials
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors.euclidean import even_rows, nearest_rows
from cayleyklein.neighbors.search import Ranked, SearchIndex
from cayleyklein.parts.places import (
    NEAR,
    LeftOut,
    LocalScales,
    Places,
    fifth_nearest,
    floored_scales,
)
from cayleyklein.parts.votes import (
    LABEL_NEIGHBORS,
    NEIGHBORS,
    NUMBER_NEIGHBORS,
    LabelVotes,
    NumberMeans,
    Weights,
    candidates_of,
    few_neighbors,
    nearest_by_number,
)

LEFT_OUT_ROWS = 2000  # rows, each left out in turn, that choose the number of neighbours


@dataclass(frozen=True)
class ClassTrials(Trials):
    """Judge probabilities (n_numbers, m, C) of held-out rows by their log loss."""

    few_passes = 2
    learns_from_few = True
    tried = NEIGHBORS
    usual_neighbors: ClassVar[int] = LABEL_NEIGHBORS  # where held-out rows were not asked

    numbers: tuple[int, ...] = NEIGHBORS
    weights: Weights = "local"

    @property
    def are_local(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "local"

    def default_neighbors(self, n: int) -> int:
        return few_neighbors(n, numeric=False)

    def single_neighbors(self, rows: TrainingRows, fits: Any) -> int:
        return LABEL_NEIGHBORS

    def predict(self, train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats) -> Floats:
        """Return class probabilities (n_tried, m, C) by locally scaled votes."""
        first, _ = train.points
        scales = LocalScales.euclidean(Z[first])
        distances, rows = nearest_rows(Z[first], Q, min(len(first), 2 * max(self.tried) + 1))
        found = Ranked(distances, rows, np.ones(len(rows), dtype=bool))
        return class_shares(train, held_out, found, scales, "local", self.tried)

    def predict_by_distance(
        self, train: TrainingRows, held_out: TrainingRows, table: Floats, among: Floats | None
    ) -> Floats:
        most = min(table.shape[1], candidates_of(self.weights, max(self.numbers)))
        rows = np.argsort(table, axis=1, kind="stable")[:, :most]
        distances = np.take_along_axis(table, rows, axis=1)
        scales = None
        if among is not None:
            nearest = np.sort(among, axis=1)[:, : NEAR + 1]
            itself = np.isin(np.arange(len(among)), even_rows(len(among), among.shape[1]))
            scales = LocalScales(floored_scales(fifth_nearest(nearest, itself)))
        found = Ranked(distances, rows, np.ones(len(rows), dtype=bool))
        return class_shares(train, held_out, found, scales, self.weights, self.numbers)

    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return −log p(true class) and correctness (2, n_numbers, m)."""
        own = predictions[:, np.arange(len(held_out)), held_out.labels]
        losses = -np.log(np.maximum(own, np.finfo(float).tiny))
        return np.stack([losses, predictions.argmax(axis=2) == held_out.labels])

    def named(self, means: Floats) -> dict[str, float]:
        return {"log loss": float(means[0]), "accuracy": float(means[1])}


@dataclass(frozen=True)
class NumberTrials(Trials):
    """Judge predicted targets (n_numbers, m, t) of held-out rows by their squared error."""

    few_passes = 1
    learns_from_few = False
    tried = NEIGHBORS
    usual_neighbors: ClassVar[int] = NUMBER_NEIGHBORS

    numbers: tuple[int, ...] = NEIGHBORS
    weights: Weights = "linear"

    def default_neighbors(self, n: int) -> int:
        return few_neighbors(n, numeric=True)

    def single_neighbors(self, rows: TrainingRows, fits: Any) -> int:
        return best_left_out(rows, fits[0].found)

    def predict(self, train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats) -> Floats:
        """Return mean targets (n_tried, m, t) with linear weights."""
        distances, rows = nearest_rows(Z, Q, min(len(Z), max(self.tried) + 1))
        return means_by_number(train, Ranked(distances, rows, np.ones(len(rows), dtype=bool)))

    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return squared errors (1, n_numbers, m), in units of the targets' variance."""
        assert held_out.targets is not None
        error = predictions - held_out.targets
        return np.asarray(np.einsum("kmt,kmt->km", error, error)[None])

    def named(self, means: Floats) -> dict[str, float]:
        return {"R²": 1 - float(means[0])}


def class_shares(
    train: TrainingRows,
    held_out: TrainingRows,
    found: Ranked,
    scales: LocalScales | None,
    weights: Weights,
    numbers: tuple[int, ...],
) -> Floats:
    """Return class probabilities (n_numbers, m, C) from the nearest places of held-out rows."""
    n_classes = int(max(train.labels.max(), held_out.labels.max())) + 1
    votes = LabelVotes(
        Places(*train.points), train.labels, train.weights, n_classes, weights, scales
    )
    unknown = np.bincount(held_out.labels, weights=held_out.shares, minlength=n_classes)
    prior = np.where(votes.prior > 0, votes.prior, unknown)  # classes of one row, held out
    by_number = nearest_by_number(found, weights, numbers, len(votes.places.rows))
    return np.array([votes.answers(near, k, prior=prior) for k, near in by_number])


def means_by_number(rows: TrainingRows, found: Ranked) -> Floats:
    """Return mean targets (n_numbers, m, t); one more row than vote must be found."""
    assert rows.targets is not None
    each = np.arange(len(rows))
    means = NumberMeans(Places(each, each), rows.targets, rows.weights, "linear")
    by_number = nearest_by_number(found, "linear", NEIGHBORS, found.rows.shape[1])
    return np.array([means.answers(near, k) for k, near in by_number])


def best_left_out(rows: TrainingRows, found: Parameters) -> int:
    """Return the number of neighbours that predicts rows best, each left out in turn."""
    factor, center, K = found
    index = SearchIndex(rows.X, CurvedMetric(factor=factor, center=center, curvature=K))
    some = rows.order[even_rows(len(rows), LEFT_OUT_ROWS)]
    nearest = index.nearest(rows.X[some], max(NEIGHBORS) + 2, None)
    left_out = LeftOut(some, some, np.ones(len(some), dtype=bool))
    nearest = left_out.drop_from(nearest, nearest.rows.shape[1] - 1)
    errors = means_by_number(rows, nearest) - cast(Floats, rows.targets)[some]
    losses = (errors**2).sum(axis=2) @ rows.weights[some]
    return min(NEIGHBORS[int(np.argmin(losses))], len(rows) - 1)
