"""Scores of class probabilities for held-out rows: log loss and accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.selection.n_neighbors import LABEL_NEIGHBORS
from cayleyklein.selection.scorer import Scorer


@dataclass(frozen=True)
class LabelScores(Scorer):
    """Judge probabilities (n_numbers, m, C) of held-out rows by their log loss."""

    few_passes = 2
    learns_from_few = True

    def default_neighbors(self, n: int) -> int:
        return int(np.clip(n // 10, 3, LABEL_NEIGHBORS))

    def single_neighbors(self, rows: TrainingRows, found: Parameters) -> int:
        return LABEL_NEIGHBORS

    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return −log p(true class) and correctness (2, n_numbers, m)."""
        own = predictions[:, np.arange(len(held_out)), held_out.labels]
        losses = -np.log(np.maximum(own, np.finfo(float).tiny))
        return np.stack([losses, predictions.argmax(axis=2) == held_out.labels])

    def named(self, means: Floats) -> dict[str, float]:
        return {"log loss": float(means[0]), "accuracy": float(means[1])}
