"""Trials on held-out rows: how candidates did, what was chosen, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cayleyklein._typing import Floats

NEIGHBORS = (3, 5, 9, 15, 25, 40, 60, 100)
"""Numbers of voting neighbours that are tried."""

DEFAULT_NEIGHBORS = 15
"""Where held-out rows were not asked."""

TIE = 0.5
"""Standard errors of the gain under which the simpler model wins."""


@dataclass(frozen=True)
class Trial:
    """How one candidate did on rows it was not trained on.

    Attributes
    ----------
    name : str
    n_neighbors : int
        The number of voting neighbours (weights="local") with the least log loss.
    log_loss, accuracy : float
        Means over the held-out rows, with that number.

    Examples
    --------
    >>> Trial("product", n_neighbors=15, log_loss=0.41, accuracy=0.86).n_neighbors
    15
    """

    name: str
    n_neighbors: int
    log_loss: float
    accuracy: float

    loss_name: ClassVar[str] = "log loss"

    @property
    def main_score(self) -> float:
        """The score that decides."""
        return self.log_loss

    @property
    def headline(self) -> str:
        """The score that decides, in words."""
        return f"log loss {self.log_loss:.3f}"

    @property
    def scores(self) -> str:
        """All scores in words."""
        return f"{self.headline}, accuracy {self.accuracy:.3f}"


@dataclass(frozen=True)
class RegressionTrial:
    """How one candidate did on rows it was not trained on.

    Attributes
    ----------
    name : str
    n_neighbors : int
        The number of voting neighbours (weights="linear") with the least squared error.
    r2 : float
        R² over the held-out rows with that number, the mean over targets.

    Examples
    --------
    >>> RegressionTrial("product", n_neighbors=9, r2=0.81).r2
    0.81
    """

    name: str
    n_neighbors: int
    r2: float

    loss_name: ClassVar[str] = "1 - R²"

    @property
    def main_score(self) -> float:
        """The score that decides."""
        return self.r2

    @property
    def headline(self) -> str:
        """The score that decides, in words."""
        return f"R² {self.r2:.3f}"

    @property
    def scores(self) -> str:
        """All scores in words."""
        return self.headline


class Stage(NamedTuple):
    """One size of the sample that a metric was learned from, and its loss on held-out rows.

    The loss is log loss for labels, and 1 - R² for targets.

    Examples
    --------
    >>> Stage(n_rows=8000, loss=0.31).n_rows
    8000
    """

    n_rows: int
    loss: float


@dataclass(frozen=True)
class Selection:
    """What was tried on held-out rows, what was chosen, and why.

    Attributes
    ----------
    chosen : str
    reason : str
    n_neighbors : int
        Voting neighbours for the chosen metric.
    trials : tuple of Trial or RegressionTrial
        Empty where nothing was to be chosen.
    stages : tuple of Stage
        Sizes of the sample that the metric was learned from, with their loss on held-out rows: the
        least of them was kept. Empty for up to 2,500 rows, all of which teach.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> selection = CurvedLMNN(random_state=0).fit(X, y).selection_
    >>> [trial.name for trial in selection.trials]
    ['product', 'standardised k-NN', 'Euclidean k-NN']
    """

    chosen: str
    reason: str
    n_neighbors: int = DEFAULT_NEIGHBORS
    trials: tuple[Any, ...] = ()
    stages: tuple[Stage, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the stage that was kept, or 0 where there are none."""
        return min(self.stages, key=lambda stage: stage.loss).n_rows if self.stages else 0

    def __repr__(self) -> str:
        lines = [f"Selection: {self.chosen}, {self.n_neighbors} neighbours ({self.reason})"]
        width = max((len(trial.name) for trial in self.trials), default=0)
        lines += [
            f"  {t.name:{width}}  {t.scores}, {t.n_neighbors} neighbours" for t in self.trials
        ]
        if self.stages:
            sizes = ", ".join(f"{n:,} rows {loss:.3f}" for n, loss in self.stages)
            lines.append(f"  learned from {sizes} ({self.trials[0].loss_name})")
        return "\n".join(lines)


def compare(losses: dict[str, Floats], share: Floats, least: float) -> tuple[str, str, bool]:
    """Return the first candidate, the best of the others, and whether the first is better.

    It must have the lower mean loss over held-out rows, by `least` standard errors.
    """
    first, *others = losses
    rival = min(others, key=lambda name: float(losses[name] @ share))
    gain, error = gain_of(losses[rival], losses[first], share)
    return first, rival, gain > least * error


def gain_of(before: Floats, after: Floats, share: Floats) -> tuple[float, float]:
    """Return the mean fall of a loss, and its standard error."""
    gain = before - after
    mean = float(gain @ share)
    return mean, float(np.sqrt(share**2 @ (gain - mean) ** 2))
