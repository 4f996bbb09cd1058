"""Learning from labels: the product and the mixed metric, chosen on held-out rows by log loss.

geometry="auto" learns a product of an elliptic metric of curvature 0.09, one of curvature 1 and a
flat one (in units of the margin), and keeps it where held-out rows show that it is better than
plain neighbours. geometry="mixed" is the paper's α d_E + (1 - α) d_H, α chosen on held-out rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning._descent import Fit, Report, descend
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._selection import (
    SELECT_FROM,
    Learned,
    Task,
    choose,
    fit_parts,
    learn_product,
    nearest_rows,
    part_unit,
    product_of,
    split_rows,
)
from cayleyklein.learning._trials import DEFAULT_NEIGHBORS, NEIGHBORS, Selection, Trial
from cayleyklein.learning.labels._wide import focus
from cayleyklein.learning.objectives import LargeMarginRecipe
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.neighbors import (
    NEAR,
    LocalScales,
    as_scales,
    class_shares,
    fifth_nearest,
    local_votes,
)

PRODUCT = (("elliptic", 0.3), ("elliptic", 1.0), ("flat", 1.0))
"""Geometries and margins of the parts. A margin m at K = 1 is a margin of 1 at K = m²."""

FOLD_PASSES = 2
"""Passes of the fits that only serve the choice."""

ALPHAS = (0.5, 0.25, 0.75, 0.1, 0.9)
"""Shares of the elliptic metric in a mixed one that are tried; the first wins ties."""


def learn_auto(
    rows: TrainingRows, base: LargeMarginRecipe, rng: np.random.Generator,
    report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows."""
    parts = tuple(replace(base, geometry=g, margin=m) for g, m in PRODUCT)
    if len(rows) >= SELECT_FROM:
        task = Task(parts, FOLD_PASSES, label_scores, as_trial, partial(focus, base.init))
        return learn_product(rows, task, rng, report)
    (learn,) = focus(base.init, rows)
    fits = fit_parts(learn, parts, rng, report)
    reason = f"too few rows, {len(rows)}, to hold some out"
    k = int(np.clip(len(rows) // 10, 3, DEFAULT_NEIGHBORS))
    return Learned(product_of(learn, fits), fits, Selection("product", reason, k))


def learn_mixed(
    rows: TrainingRows, base: LargeMarginRecipe, margins: tuple[float, float],
    rng: np.random.Generator, report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn α d_E + (1 - α) d_H, each part in its own unit, α chosen on held-out rows."""
    names = ("elliptic", "hyperbolic")
    recipes = [replace(base, geometry=g, margin=m) for g, m in zip(names, margins, strict=True)]

    def fit(some: TrainingRows, report: Report | None = None) -> tuple[Fit, ...]:
        return tuple(descend(some, recipe, rng, report=report) for recipe in recipes)

    selection = Selection(f"α = {ALPHAS[0]:g}", f"too few rows, {len(rows)}, to hold some out")
    if len(rows) >= SELECT_FROM:
        scores: dict[str, list[Floats]] = {}
        folds = split_rows(rows, rng)
        for train, held_out in folds:
            learn, test = focus(base.init, train, held_out)
            tables = [
                CurvedMetric(factor=found.factor, center=found.center, curvature=found.curvature)
                .pairwise(test.X, learn.X, outside="inf") / part_unit(learn, found)
                for found in (part.found for part in fit(learn))
            ]  # fmt: skip
            for alpha in ALPHAS:
                nearest = _smallest(alpha * tables[0] + (1 - alpha) * tables[1])
                found = vote_scores(train, held_out, *nearest)
                scores.setdefault(f"α = {alpha:g}", []).append(found)
        selection = choose(
            scores, [held_out.weights for _, held_out in folds], as_trial, tie_to_first=True
        )
    alpha = float(selection.chosen.removeprefix("α = "))
    (rows,) = focus(base.init, rows)
    fits = fit(rows, report)
    weights = [s / part_unit(rows, f.found) for s, f in zip((alpha, 1 - alpha), fits, strict=True)]
    metric = MixedMetric([rows.to_metric(part.found) for part in fits], weights)
    return Learned(metric, fits, selection)


# -- held-out rows ------------------------------------------------------------------


def as_trial(name: str, n_neighbors: int, scores: Floats) -> Trial:
    """Return a trial from its mean log loss and accuracy."""
    return Trial(name, n_neighbors, float(scores[0]), float(scores[1]))


def label_scores(train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats) -> Floats:
    """Return −log p and correctness (2, n_votes, m) of rows Q among rows Z."""
    return vote_scores(train, held_out, *_nearest(Z, Q))


def _nearest(Z: Floats, Q: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the neighbours that the largest vote needs, and the scales of all rows."""
    some = LocalScales.numbers_of(len(Z))
    near, _ = nearest_rows(Z[some], Z, min(len(some), NEAR + 1))
    fifth = fifth_nearest(near, np.isin(np.arange(len(Z)), some))
    scales = as_scales(fifth, float(np.median(fifth[some])))
    return *nearest_rows(Z, Q, min(len(Z), 2 * max(NEIGHBORS) + 1)), scales


def _smallest(table: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the same from a table of distances, the scales alike."""
    order = np.argsort(table, axis=1, kind="stable")[:, : 2 * max(NEIGHBORS) + 1]
    return np.take_along_axis(table, order, axis=1), order, np.ones(table.shape[1])


def vote_scores(
    train: TrainingRows, held_out: TrainingRows, distances: Floats, columns: Ints, scales: Floats
) -> Floats:
    """Return −log p(true class) and correctness (2, n_votes, m) for each number of neighbours."""
    n_classes = int(held_out.labels.max()) + 1
    prior = np.bincount(train.labels, weights=train.shares, minlength=n_classes).astype(float)
    each = np.arange(len(held_out))
    found = []
    for k in NEIGHBORS:
        k = min(k, distances.shape[1] - 1)
        some = slice(0, 2 * k + 1)
        chosen, votes = local_votes(distances[:, some], scales[columns[:, some]], k)
        labels = train.labels[np.take_along_axis(columns, chosen, axis=1)]
        shares = class_shares(votes, labels, prior)
        losses = -np.log(np.maximum(shares[each, held_out.labels], np.finfo(float).tiny))
        found.append((losses, shares.argmax(axis=1) == held_out.labels))
    return np.moveaxis(np.array(found, dtype=float), 1, 0)
