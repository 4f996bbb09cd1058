"""How many rows teach a metric: a sample that doubles until held-out rows gain nothing."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning import descent
from cayleyklein.learning.rows import TrainingRows

LEARN_FROM = 10_000  # rows that teach one metric by default: d² numbers need no more
# Rows that teach a metric that is one part among others. A sample that grows to 32,000 rows while
# held-out rows gain takes a half to twice more time; it changes log loss by 0.0015 at most on
# letter, magic, two generated tables of up to 100,000 rows and one of 45,000 mixed ones, and R² by
# 0.0002 on two of 40,000 numbers. Half lowers R² there by 0.0004 at most, and raises the log loss
# of the mixed rows by 0.002; double changes log loss by 0.0012 at most.
LEARN_FROM_BESIDE_OTHERS = 4000
# Limits of memory: rows of a table that are read at most, and their entries, among which the sample
# of a product grows.
POOL_ROWS, POOL_ENTRIES = 50_000, 20_000_000
FIRST_SAMPLE = 8000  # rows, where their columns are few
# Anchors · rows · columns of an evaluation of the loss, in the first sample and in the last.
FIRST_WORK, MOST_WORK = 4e9, 2e10
# Standard errors of the gain under which the simpler model wins; half or double change none of six
# small tables (docs/evidence/constants.txt).
TIE = 0.5

# (rows that were learned from, fits) → scores (n_scores, n_settings, m) of held-out rows, the first
# of them the loss
Judge = Callable[[TrainingRows, descent.Fits], Floats]


class Stage(NamedTuple):
    """Size of a sample that a metric was learned from, and its held-out loss.

    >>> Stage(n_rows=8000, loss=0.31).n_rows
    8000
    """

    n_rows: int  #: Number of rows of the sample.
    loss: float  #: Loss on held-out rows: log loss for labels, 1 - R² for numbers.


class Grown(NamedTuple):
    """The fits of the best sample, their scores of held-out rows, and all samples."""

    fits: descent.Fits
    scores: Floats
    stages: tuple[Stage, ...]


def pool_size(geometry: str, n_columns: int) -> int:
    """Return how many rows of a large table are read by default, to learn a metric from."""
    if geometry != "product":
        return LEARN_FROM
    return max(LEARN_FROM, min(POOL_ROWS, POOL_ENTRIES // n_columns))


def grow(
    rows: TrainingRows,
    order: Ints,
    recipes: tuple[descent.Recipe, ...],
    judge: Judge,
    weights: Floats,
    rng: np.random.Generator,
    report: descent.Report | None,
) -> Grown:
    """Learn from a sample that doubles, one more pass each time, until held-out rows gain nothing.

    Samples are beginnings of an `order` of the rows; `weights` are those of the held-out rows.
    """
    size = min(FIRST_SAMPLE, most_rows(rows.n_columns, FIRST_WORK))
    most = min(len(rows), most_rows(rows.n_columns, MOST_WORK))
    # less growth is not worth another pass
    size = size if most > 1.5 * size else most

    some = rows.take(order[:size])
    fits = descent.descend_parts(some, recipes, rng, report)
    scores = judge(some, fits)
    loss = best_losses(scores, weights)[1]
    stages = [Stage(len(some), float(loss @ weights))]
    while most > 1.5 * size and not fits[-1].stopped:
        size = min(2 * size, most)
        some = rows.take(order[:size])
        more = descent.descend_parts(some, recipes, rng, report, fits, n_passes=1)
        if len(more) < len(recipes):
            break
        found = judge(some, more)
        lower = best_losses(found, weights)[1]
        stages.append(Stage(len(some), float(lower @ weights)))
        gain, error = gain_of(loss, lower, weights)
        if gain > 0:
            fits, scores, loss = more, found, lower
        if gain <= TIE * error:
            break
    return Grown(fits, scores, tuple(stages))


def most_rows(r: int, work: float) -> int:
    return int(max(np.sqrt(work / r), work / (r * descent.n_anchors(r))))


def best_losses(scores: Floats, share: Floats) -> tuple[int, Floats]:
    """Return the number of the best setting, and the losses (m,) with it.

    `scores` are (n_scores, n_settings, m), the first of them the loss; `share` (m,) are weights.
    """
    best = int(np.argmin(scores[0] @ share))
    return best, scores[0, best]


def gain_of(before: Floats, after: Floats, share: Floats) -> tuple[float, float]:
    """Return the mean fall of a loss, and its standard error."""
    gain = before - after
    mean = float(gain @ share)
    return mean, float(np.sqrt(share**2 @ (gain - mean) ** 2))
