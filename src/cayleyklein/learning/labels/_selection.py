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
from cayleyklein.learning._rows import TrainingRows, principal_axes
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
from cayleyklein.learning._trials import DEFAULT_NEIGHBORS, NEIGHBORS, Selection
from cayleyklein.learning.objectives import LargeMarginRecipe
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.neighbors import (
    NEAR,
    LocalScales,
    as_scales,
    cast_votes,
    class_shares,
    fifth_nearest,
    local_votes,
)

PRODUCT = (("elliptic", 0.3), ("elliptic", 1.0), ("flat", 1.0))
"""Geometries and margins of the parts. A margin m at K = 1 is a margin of 1 at K = m²."""

FOLD_PASSES = 2
"""Passes of the fits that only serve the choice."""

COLUMNS_PER_ROW = 2
"""More columns than so many times the rows are wide; below it weights did not help."""

ROWS_PER_COMPONENT, FEWEST_COMPONENTS = 4, 10

ALPHAS = (0.5, 0.25, 0.75, 0.1, 0.9)
"""Shares of the elliptic metric in a mixed one that are tried; the first wins ties."""


def learn_auto(
    rows: TrainingRows, base: LargeMarginRecipe, rng: np.random.Generator,
    report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows."""
    parts = tuple(replace(base, geometry=g, margin=m) for g, m in PRODUCT)
    if len(rows) >= SELECT_FROM:
        task = Task(parts, FOLD_PASSES, label_scores, named, partial(focus, base.init))
        return learn_product(rows, task, rng, report)
    (learn,) = focus(base.init, rows)
    fits = fit_parts(learn, parts, rng, report)
    reason = f"too few distinct rows, {len(rows)}, to hold some out"
    k = int(np.clip(len(rows) // 10, 3, DEFAULT_NEIGHBORS))
    return Learned(product_of(learn, fits), fits, Selection("product", reason, k))


def learn_mixed(
    rows: TrainingRows, recipes: tuple[LargeMarginRecipe, LargeMarginRecipe],
    rng: np.random.Generator, report: Report | None = None,
) -> Learned:  # fmt: skip
    """Learn α d_E + (1 - α) d_H, each part in its own unit, α chosen on held-out rows."""
    init = recipes[0].init

    def fit(some: TrainingRows, report: Report | None = None) -> tuple[Fit, ...]:
        return tuple(descend(some, recipe, rng, report=report) for recipe in recipes)

    reason = f"too few distinct rows, {len(rows)}, to hold some out"
    selection = Selection(f"α = {ALPHAS[0]:g}", reason)
    if len(rows) >= SELECT_FROM:
        scores: dict[str, list[Floats]] = {}
        folds = split_rows(rows, rng)
        for train, held_out in folds:
            learn, test = focus(init, train, held_out)
            points = learn.X[train.points.rows]
            tables = [
                CurvedMetric(factor=found.factor, center=found.center, curvature=found.curvature)
                .pairwise(test.X, points, outside="inf") / part_unit(learn, found)
                for found in (part.found for part in fit(learn))
            ]  # fmt: skip
            for alpha in ALPHAS:
                nearest = _smallest(alpha * tables[0] + (1 - alpha) * tables[1])
                found = vote_scores(train, held_out, *nearest)
                scores.setdefault(f"α = {alpha:g}", []).append(found)
        selection = choose(
            scores, [held_out.weights for _, held_out in folds], named, tie_to_first=True
        )
    alpha = float(selection.chosen.removeprefix("α = "))
    (rows,) = focus(init, rows)
    fits = fit(rows, report)
    weights = [s / part_unit(rows, f.found) for s, f in zip((alpha, 1 - alpha), fits, strict=True)]
    metric = MixedMetric([rows.to_metric(part.found) for part in fits], weights)
    return Learned(metric, fits, selection)


# -- held-out rows ------------------------------------------------------------------


def named(scores: Floats) -> dict[str, float]:
    """Return the names of a mean log loss and accuracy."""
    return {"log loss": float(scores[0]), "accuracy": float(scores[1])}


def label_scores(train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats) -> Floats:
    """Return −log p and correctness (2, n_votes, m) of rows Q among rows Z."""
    return vote_scores(train, held_out, *_nearest(Z[train.points.rows], Q))


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
    """Return −log p(true class) and correctness (2, n_votes, m) for each number of neighbours.

    `columns` are the nearest points of training rows, at `distances` and with `scales`.
    """
    n_classes = int(max(train.labels.max(), held_out.labels.max())) + 1
    prior = np.bincount(train.labels, weights=train.shares, minlength=n_classes).astype(float)
    unknown = np.bincount(held_out.labels, weights=held_out.shares, minlength=n_classes)
    prior = np.where(prior > 0, prior, unknown)  # classes of one row, which are held out
    each = np.arange(len(held_out))
    found = []
    for k in NEIGHBORS:
        k = max(1, min(k, distances.shape[1] - 1))
        some = slice(0, 2 * k + 1)
        chosen, votes = local_votes(distances[:, some], scales[columns[:, some]], k)
        known = train.points.votes[np.take_along_axis(columns, chosen, axis=1)]
        labels, votes = cast_votes(votes, known)
        shares = class_shares(votes, labels, prior)
        losses = -np.log(np.maximum(shares[each, held_out.labels], np.finfo(float).tiny))
        found.append((losses, shares.argmax(axis=1) == held_out.labels))
    return np.moveaxis(np.array(found, dtype=float), 1, 0)


# -- tables with many more columns than rows ----------------------------------------


def focus(init: str, rows: TrainingRows, *others: TrainingRows) -> tuple[TrainingRows, ...]:
    """Return rows, and others in the same coordinates, on components of weighted columns.

    As they are where they do not have many more columns than rows, or where the start `init` is not
    the default one. Most columns of a wide table, such as gene expression, are noise, and equal
    weights drown the others. So columns are weighted by how much they tell of the classes, and the
    metric is learned on the leading principal components, one for each four rows.
    """
    wide = rows.basis is not None and len(rows.mean) > COLUMNS_PER_ROW * len(rows)
    if not wide or init != "std":
        return rows, *others
    assert rows.basis is not None
    columns = rows.X @ rows.basis
    weights = column_weights(columns, rows)
    most = max(FEWEST_COMPONENTS, len(rows) // ROWS_PER_COMPONENT)
    axes = principal_axes(columns * weights, most)
    map_ = (rows.basis * weights) @ axes.T
    with np.errstate(divide="ignore"):
        scale = rows.scale / weights
    return tuple(
        replace(some, X=some.X @ map_, scale=scale, basis=axes) for some in (rows, *others)
    )


def column_weights(columns: Floats, rows: TrainingRows) -> Floats:
    """Return √(η²/(1 - η²)) of standardised columns (n, d); their squares are 1 on average.

    η² is the share of a column's variance that lies between class means.
    """
    shares = rows.shares
    mass = np.bincount(rows.labels, weights=shares)
    means = np.zeros((len(mass), columns.shape[1]))
    np.add.at(means, rows.labels, shares[:, None] * columns)
    middle = means.sum(axis=0)
    means /= np.where(mass > 0, mass, 1.0)[:, None]
    total = shares @ (columns - middle) ** 2
    between = mass @ (means - middle) ** 2
    within = np.maximum(total - between, total / len(rows))
    ratio = np.divide(between, within, out=np.zeros_like(total), where=total > 0)
    average = ratio.mean()
    return np.sqrt(ratio / average) if average > 0 else np.ones_like(ratio)
