"""The α of the paper's mixed metric α d_E + (1 - α) d_H, chosen on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning import descent, product, wide
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.selection import folds
from cayleyklein.selection.choice import Chosen, choose_candidate
from cayleyklein.selection.scorer import Scorer

ALPHAS = (0.5, 0.25, 0.75, 0.1, 0.9)
"""Shares of the elliptic metric that are tried where none is given; the first wins ties."""


def choose_alpha(
    learner: Any, rows: TrainingRows, scorer: Scorer, rng: np.random.Generator
) -> Chosen:
    """Learn an elliptic and a hyperbolic metric, each in its own unit, and choose α."""
    recipes = learner._recipes()
    alphas = ALPHAS if isinstance(learner.alpha, str) else (learner.alpha,)
    scores: dict[str, list[Floats]] = {}
    split = folds.split_rows(rows, rng)
    for train, held_out in split:
        learn, test = wide.focus(recipes[0].init, train, held_out)
        points = learn.X[train.points[0]]
        tables = []
        for fit in descent.descend_parts(learn, recipes, rng):
            factor, center, K = fit.found
            metric = CurvedMetric(factor=factor, center=center, curvature=K)
            unit = product.part_unit(learn, fit.found)
            tables.append(metric.pairwise(test.X, points, outside="inf") / unit)
        for alpha in alphas:
            table = alpha * tables[0] + (1 - alpha) * tables[1]
            found = scorer.scores(scorer.predict(train, held_out, table, None), held_out)
            scores.setdefault(f"α = {alpha:g}", []).append(found)
    weights = [held_out.weights for _, held_out in split]
    selection = choose_candidate(scores, weights, scorer, tie_to_first=True)
    alpha = float(selection.chosen.removeprefix("α = "))
    (rows,) = wide.focus(recipes[0].init, rows)
    fits = descent.descend_parts(rows, recipes, rng, learner._report(), keep_all=True)
    return Chosen(product.mixed_of(rows, fits, alpha), fits, selection, len(rows))
