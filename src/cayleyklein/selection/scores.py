"""How predictions for held-out rows are judged, and which numbers of neighbours are tried."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows

# (train, held_out, Z, Q) → predictions (n_numbers, m, …), one for each number of neighbours. Z and
# Q are coordinates of the rows in which distances are Euclidean.
Predict = Callable[[TrainingRows, TrainingRows, Floats, Floats], Floats]

NEIGHBORS = (3, 5, 9, 15, 25, 40, 60, 100)  # numbers of voting neighbours that are tried
LABEL_NEIGHBORS, NUMBER_NEIGHBORS = 15, 9  # voters where held-out rows were not asked
TIE = 0.5  # standard errors of the gain under which the simpler model wins


@dataclass(frozen=True)
class LabelScores:
    """Judge probabilities (n_numbers, m, C) of held-out rows by their log loss."""

    predict: Predict
    few_passes = 2  # of fits that only serve the choice
    learns_from_few = True  # where rows are too few for a comparison with plain neighbours

    def default_neighbors(self, n: int) -> int:
        """Return the number of neighbours where n rows are too few to hold some out."""
        return int(np.clip(n // 10, 3, LABEL_NEIGHBORS))

    def single_neighbors(self, rows: TrainingRows, fits: Any) -> int:
        """Return the number of neighbours for one geometry, learned from all rows."""
        return LABEL_NEIGHBORS

    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return −log p(true class) and correctness (2, n_numbers, m)."""
        own = predictions[:, np.arange(len(held_out)), held_out.labels]
        losses = -np.log(np.maximum(own, np.finfo(float).tiny))
        return np.stack([losses, predictions.argmax(axis=2) == held_out.labels])

    def named(self, means: Floats) -> dict[str, float]:
        return {"log loss": float(means[0]), "accuracy": float(means[1])}


@dataclass(frozen=True)
class NumberScores:
    """Judge predicted targets (n_numbers, m, t) of held-out rows by their squared error."""

    predict: Predict
    left_out: Callable[[TrainingRows, Parameters], int]
    few_passes = 1
    learns_from_few = False

    def default_neighbors(self, n: int) -> int:
        return int(np.clip(n // 3, 1, NUMBER_NEIGHBORS))

    def single_neighbors(self, rows: TrainingRows, fits: Any) -> int:
        return self.left_out(rows, fits[0].found)

    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return squared errors (1, n_numbers, m), in units of the targets' variance."""
        assert held_out.targets is not None
        error = predictions - held_out.targets
        return np.asarray(np.einsum("kmt,kmt->km", error, error)[None])

    def named(self, means: Floats) -> dict[str, float]:
        return {"R²": 1 - float(means[0])}


Scorer = LabelScores | NumberScores


def grid_for(n_found: int) -> tuple[int, ...]:
    """Return the numbers to try where `n_found` neighbours are known, one more than vote."""
    return tuple(max(1, min(k, n_found - 1)) for k in NEIGHBORS)


def best_losses(scores: Floats, share: Floats) -> tuple[int, Floats]:
    """Return the place in the grid of the best number, and the losses (m,) with it.

    `scores` are (n_scores, n_numbers, m), the first of them the loss; `share` (m,) are weights.
    """
    best = int(np.argmin(scores[0] @ share))
    return best, scores[0, best]


def gain_of(before: Floats, after: Floats, share: Floats) -> tuple[float, float]:
    """Return the mean fall of a loss, and its standard error."""
    gain = before - after
    mean = float(gain @ share)
    return mean, float(np.sqrt(share**2 @ (gain - mean) ** 2))
