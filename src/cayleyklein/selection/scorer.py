"""What judges a candidate: a predictor's answers for held-out rows, and the gain in loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows

Predict = Callable[[TrainingRows, TrainingRows, Floats, Floats | None], Floats]
"""(train, held_out, Z, Q) → predictions (n_numbers, m, …), one for each number of neighbours.

Z and Q are coordinates of the rows in which distances are Euclidean; with Q None, Z holds the
distances (m, p) of held-out rows to the points of the training rows.
"""

TIE = 0.5
"""Standard errors of the gain under which the simpler model wins."""


@dataclass(frozen=True)
class Scorer(ABC):
    """A predictor, and how its predictions for held-out rows are scored.

    The first score is the loss. `few_passes` are the passes of fits that only serve the choice. A
    predictor that `learns_from_few` learns a metric even where rows are too few to compare it with
    plain neighbours.
    """

    predict: Predict
    few_passes: ClassVar[int]
    learns_from_few: ClassVar[bool]

    @abstractmethod
    def default_neighbors(self, n: int) -> int:
        """Return the number of neighbours where n rows are too few to hold some out."""

    @abstractmethod
    def single_neighbors(self, rows: TrainingRows, found: Parameters) -> int:
        """Return the number of neighbours for one geometry, learned from all rows."""

    @abstractmethod
    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return the scores (n_scores, n_numbers, m) of predictions."""

    @abstractmethod
    def named(self, means: Floats) -> dict[str, float]:
        """Give the mean scores their names."""


def gain_of(before: Floats, after: Floats, share: Floats) -> tuple[float, float]:
    """Return the mean fall of a loss, and its standard error."""
    gain = before - after
    mean = float(gain @ share)
    return mean, float(np.sqrt(share**2 @ (gain - mean) ** 2))
