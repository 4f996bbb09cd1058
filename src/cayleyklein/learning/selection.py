"""What was tried on held-out rows, and what was chosen."""

from dataclasses import dataclass

from cayleyklein.learning.samples import Stage


@dataclass(frozen=True)
class Trial:
    """Scores of one candidate on held-out rows.

    Attributes
    ----------
    name : str
        Name of the candidate.
    n_neighbors : int
        The number of voting neighbours with the least loss; 0 where none vote.
    scores : dict of float
        Means over held-out rows: "log loss" and "accuracy" for labels, "R²" for numbers.

    Examples
    --------
    >>> print(Trial("product", n_neighbors=15, scores={"log loss": 0.41, "accuracy": 0.86}))
    log loss 0.410, accuracy 0.860
    """

    name: str
    n_neighbors: int
    scores: dict[str, float]

    def __str__(self) -> str:
        return ", ".join(f"{name} {score:.3f}" for name, score in self.scores.items())


@dataclass(frozen=True)
class Selection:
    """What was tried on held-out rows, what was chosen, and why.

    Attributes
    ----------
    chosen : str
        Name of the candidate that was chosen.
    reason : str
        Why it was chosen.
    n_neighbors : int
        Number of voting neighbours for the chosen metric.
    trials : tuple of Trial
        Empty where nothing was compared.
    stages : tuple of Stage
        Sizes of the sample that the metric was learned from, with their loss on held-out rows: the
        least of them was kept. Empty for up to 2,500 rows, all of which teach.

    Examples
    --------
    >>> from cayleyklein import CurvedKNeighborsClassifier
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> selection = CurvedKNeighborsClassifier(random_state=0).fit(X, y).selection_
    >>> [trial.name for trial in selection.trials]
    ['product', 'standardised k-NN', 'unscaled k-NN']
    """

    chosen: str
    reason: str
    n_neighbors: int
    trials: tuple[Trial, ...] = ()
    stages: tuple[Stage, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the stage that was kept, or 0 where there are none."""
        return min(self.stages, key=lambda stage: stage.loss).n_rows if self.stages else 0

    def __repr__(self) -> str:
        lines = [f"Selection: {self.chosen}{_voters(self.n_neighbors)} ({self.reason})"]
        width = max((len(trial.name) for trial in self.trials), default=0)
        lines += [f"  {t.name:{width}}  {t}{_voters(t.n_neighbors)}" for t in self.trials]
        if self.stages:
            measure = "log loss" if "log loss" in self.trials[0].scores else "1 - R²"
            sizes = ", ".join(f"{n:,} rows {loss:.3f}" for n, loss in self.stages)
            lines.append(f"  learned from {sizes} ({measure})")
        return "\n".join(lines)


def _voters(k: int) -> str:
    return f", {k} neighbours" if k else ""
