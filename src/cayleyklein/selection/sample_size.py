"""How many rows teach a metric: a sample doubles until held-out rows gain nothing."""

from __future__ import annotations

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning import descent
from cayleyklein.learning.descent import Fit, Recipe, Report, n_anchors
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.selection.scores import TIE, Scorer, best_losses, gain_of
from cayleyklein.selection.trials import Stage

FIRST_SAMPLE = 8000
"""Rows of the first sample, where their columns are few."""

LEAST_GROWTH = 1.5
"""Factor by which a sample must be able to grow to be worth another pass."""

NEIGHBOR_ROWS = 10_000
"""Rows among which held-out rows have their neighbours."""

FIRST_WORK, MOST_WORK = 4e9, 2e10
"""Anchors · rows · columns of an evaluation of the loss, in the first sample and in the last."""


def grow(
    rows: TrainingRows, held_out: TrainingRows, order: Ints, parts: tuple[Recipe, ...],
    scorer: Scorer, rng: np.random.Generator, report: Report | None,
) -> tuple[tuple[Fit, ...], Floats, tuple[Stage, ...]]:  # fmt: skip
    """Learn from a sample that doubles, one more pass each time, until held-out rows gain nothing.

    Samples are beginnings of an `order`. The first `NEIGHBOR_ROWS` of it are the neighbours of
    the held-out rows each time, so that only the metrics differ. Returns the fits, their scores and
    the stages.
    """
    near = rows.take(order[:NEIGHBOR_ROWS])
    weights = held_out.shares
    size = min(FIRST_SAMPLE, most_rows(rows.n_columns, FIRST_WORK))
    most = min(len(rows), most_rows(rows.n_columns, MOST_WORK))
    size = size if most > LEAST_GROWTH * size else most

    def score(some: TrainingRows, fits: tuple[Fit, ...]) -> Floats:
        embed = descent.product_map(some, fits)
        return scorer.scores(
            scorer.predict(near, held_out, embed(near.X), embed(held_out.X)), held_out
        )

    some = rows.take(order[:size])
    fits = descent.descend_parts(some, parts, rng, report)
    scores = score(some, fits)
    loss = best_losses(scores, weights)[1]
    stages = [Stage(len(some), float(loss @ weights))]
    while most > LEAST_GROWTH * size and not fits[-1].stopped:
        size = min(2 * size, most)
        some = rows.take(order[:size])
        more = descent.descend_parts(some, parts, rng, report, fits, n_passes=1)
        if len(more) < len(parts):
            break
        found = score(some, more)
        lower = best_losses(found, weights)[1]
        stages.append(Stage(len(some), float(lower @ weights)))
        gain, error = gain_of(loss, lower, weights)
        if gain > 0:
            fits, scores, loss = more, found, lower
        if gain <= TIE * error:
            break
    return fits, scores, tuple(stages)


def most_rows(r: int, work: float) -> int:
    """Return how many rows of r coordinates cost `work` multiplications in each evaluation."""
    return int(max(np.sqrt(work / r), work / (r * n_anchors(r))))
