"""Choosing between candidates on rows that they did not train on.

Choosing is noisy on a few hundred rows, so there is a default, and another candidate takes its
place only on clear evidence: the paired differences over held-out rows must average more than
`CLEAR` standard errors. A candidate that is more than one behind is given up: after its first pass
over the targets, which is a few iterations, and after each fold.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cayleyklein.learning._data import Rows, TrainingRows

__all__ = ["Selection", "Trial", "compare", "folds", "select"]

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Correct = NDArray[np.bool_]

CLEAR = 2.5
"""Standard errors by which a candidate must beat the default."""

LIKELY = 1.0
"""The same, for more passes: they gain much where most columns are noise, and lose little."""

N_FOLDS = 3
FOLDS_UP_TO = 750
"""Rows up to which all folds are used; above, one hold-out of a third tells enough."""

MOST_ROWS = 1500
"""Rows that selection uses at the most, a stratified sample."""


@dataclass(frozen=True)
class Trial:
    """How one candidate did on rows it was not trained on.

    Attributes
    ----------
    name : str
    accuracy : float
    n_rows : int
        Held-out rows it was tried on; fewer than others where it was dropped early.
    advantage : float
        Mean paired difference of accuracy to the default.
    standard_error : float
        Of the advantage.

    Examples
    --------
    >>> from cayleyklein.learning import Trial
    >>> Trial("flat", accuracy=0.90, n_rows=100, advantage=-0.05, standard_error=0.02).is_behind
    True
    """

    name: str
    accuracy: float
    n_rows: int
    advantage: float
    standard_error: float

    @property
    def is_behind(self) -> bool:
        """Whether it is more than one standard error behind the default."""
        return self.advantage < -self.standard_error


@dataclass(frozen=True)
class Selection:
    """What was tried, what was chosen, and why.

    Examples
    --------
    >>> from cayleyklein import CurvedLMNN
    >>> from cayleyklein.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> chosen = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y).selection_
    >>> chosen.chosen, [trial.name for trial in chosen.trials]
    ('default', ['default', 'margin=0.1', 'init=std'])
    """

    trials: tuple[Trial, ...]
    chosen: str
    reason: str

    def __repr__(self) -> str:
        lines = [f"Selection: {self.chosen} ({self.reason})"]
        width = max((len(trial.name) for trial in self.trials), default=0)
        lines += [
            f"  {t.name:{width}} {t.accuracy:.4f} on {t.n_rows} rows, "
            f"{t.advantage:+.4f} ± {t.standard_error:.4f} to the default"
            for t in self.trials
        ]
        return "\n".join(lines)


def stratified(labels: Index, parts: int, rng: np.random.Generator) -> Index:
    """Return a part number for each row, every class spread evenly."""
    part = np.empty(len(labels), dtype=np.int64)
    shift = 0
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        part[rows] = (np.arange(len(rows)) + shift) % parts
        shift += len(rows)
    return part


def sample(data: Rows, size: int, rng: np.random.Generator) -> Index:
    """Return `size` row numbers, of every class its share."""
    ordinals, shares = [], []
    for count in data.class_sizes:
        some = rng.permutation(int(count))[:size]
        order = np.argsort(some)
        ordinals.append(some[order])  # a copy: of one class at a time there is more than `size`
        shares.append((order + 0.5) / count)
    cut = np.partition(np.concatenate(shares), size - 1)[size - 1]
    taken = [some[share <= cut] for some, share in zip(ordinals, shares, strict=True)]
    numbers = np.concatenate(data.locate(taken))
    share = np.concatenate([share[share <= cut] for share in shares])
    # Rows that tie, of classes equally large, are taken in their order.
    return np.sort(numbers[np.lexsort((numbers, share))[:size]])


def folds(data: Rows, rng: np.random.Generator) -> Iterator[tuple[TrainingRows, TrainingRows]]:
    """Yield (training, held-out) rows: three folds, or one for many rows."""
    n = len(data)
    some = data.take(sample(data, MOST_ROWS, rng) if n > MOST_ROWS else np.arange(n))
    part = stratified(some.labels, N_FOLDS, rng)
    for fold in range(n_folds(n)):
        yield some.take(np.flatnonzero(part != fold)), some.take(np.flatnonzero(part == fold))


def n_folds(n_rows: int) -> int:
    """Return how many times rows are held out."""
    return N_FOLDS if n_rows <= FOLDS_UP_TO else 1


def compare(name: str, correct: list[Correct], default: list[Correct]) -> Trial:
    """Compare a candidate with the default over the folds it was tried on."""
    own = np.concatenate(correct).astype(float)
    difference = own - np.concatenate(default[: len(correct)])
    error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else 0.0
    return Trial(name, float(own.mean()), len(own), float(difference.mean()), error)


def select(
    names: list[str],
    judge: Callable[[TrainingRows, TrainingRows, list[str]], Mapping[str, Correct]],
    data: Rows,
    rng: np.random.Generator,
    likely: tuple[str, ...] = (),
) -> Selection:
    """Choose between candidates, the first of which is the default.

    Parameters
    ----------
    names : list of str
    judge : callable
        (training rows, held-out rows, names still in the race) → which held-out rows each got
        right.
    data : Rows
    rng : numpy Generator
    likely : tuple of str
        Candidates for which less evidence is asked.
    """
    correct: dict[str, list[Correct]] = {name: [] for name in names}
    alive = list(names)
    for number, (train, held_out) in enumerate(folds(data, rng), start=1):
        logger.info(
            "Choosing on held-out rows, part %d of %d, between %d candidates",
            number, n_folds(len(data)), len(alive),
        )  # fmt: skip
        for name, right in judge(train, held_out, alive).items():
            correct[name].append(right)
        trials = {name: compare(name, correct[name], correct[names[0]]) for name in alive}
        alive = [name for name in alive if not trials[name].is_behind]
    every = tuple(compare(name, correct[name], correct[names[0]]) for name in names)
    needed = {name: LIKELY if name in likely else CLEAR for name in names}
    clear = [
        t for t in every if t.name in alive and t.advantage > needed[t.name] * t.standard_error
    ]
    if not clear:
        reason = "the default: nothing beat it clearly on held-out rows"
        return Selection(every, names[0], reason)
    best = max(clear, key=lambda trial: trial.advantage)
    reason = f"{best.advantage:+.4f} ± {best.standard_error:.4f} over the default on held-out rows"
    return Selection(every, best.name, reason)
