"""Scores of predicted numbers for held-out rows: squared error and R²."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.selection.n_neighbors import NUMBER_NEIGHBORS
from cayleyklein.selection.scorer import Scorer


@dataclass(frozen=True)
class NumberScores(Scorer):
    """Judge predicted targets (n_numbers, m, t) of held-out rows by their squared error."""

    left_out: Callable[[TrainingRows, Parameters], int]
    few_passes = 1
    learns_from_few = False

    def default_neighbors(self, n: int) -> int:
        return int(np.clip(n // 3, 1, NUMBER_NEIGHBORS))

    def single_neighbors(self, rows: TrainingRows, found: Parameters) -> int:
        return self.left_out(rows, found)

    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return squared errors (1, n_numbers, m), in units of the targets' variance."""
        assert held_out.targets is not None
        error = predictions - held_out.targets
        return np.asarray(np.einsum("kmt,kmt->km", error, error)[None])

    def named(self, means: Floats) -> dict[str, float]:
        return {"R²": 1 - float(means[0])}
