"""What held-out rows choose: the metric, the size of its sample, and how many neighbours vote.

geometry="auto" learns a product of an elliptic metric of curvature 0.09, one of curvature 1 and a
flat one (in units of the margin), and keeps it where held-out rows show that it is better than
plain neighbours. geometry="mixed" is the paper's α d_E + (1 - α) d_H, α chosen on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.neighbors import NearestNeighbors

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import euclidean_coordinates
from cayleyklein.learning._descent import Fit, Report, descend, n_anchors
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._starts import identity
from cayleyklein.learning._trials import (
    DEFAULT_NEIGHBORS,
    NEIGHBORS,
    TIE,
    Selection,
    Stage,
    Trial,
    compare,
    gain_of,
)
from cayleyklein.learning._wide import focus
from cayleyklein.learning.objectives import LargeMarginRecipe, Parameters
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import (
    NEAR,
    LocalScales,
    as_scales,
    class_shares,
    fifth_nearest,
    local_votes,
)

Metric = CurvedMetric | MixedMetric | ProductMetric

PRODUCT = (("elliptic", 0.3), ("elliptic", 1.0), ("flat", 1.0))
"""Geometries and margins of the parts. A margin m at K = 1 is a margin of 1 at K = m²."""

SELECT_FROM = 60
"""Rows from which held-out rows can tell candidates apart."""

N_FOLDS, FOLDS_UP_TO = 3, 2500
"""Folds, and the rows beyond which one held-out part is enough.

The metric learned from the other rows is then the one that is kept.
"""

FOLD_PASSES = 2
"""Passes of the fits that only serve the choice."""

HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 2000

FIRST_SAMPLE = 8000
"""Rows of the first sample, where their columns are few."""

LEAST_GROWTH = 1.5
"""Factor by which a sample must be able to grow to be worth another pass."""

NEIGHBOR_ROWS = 10_000
"""Rows among which held-out rows have their neighbours."""

FIRST_WORK, MOST_WORK = 4e9, 2e10
"""Anchors · rows · columns of an evaluation of the loss, in the first sample and in the last."""

ALPHAS = (0.5, 0.25, 0.75, 0.1, 0.9)
"""Shares of the elliptic metric in a mixed one that are tried; the first wins ties."""

UNIT_ROWS, UNIT_NEIGHBORS = 2000, 3


@dataclass(frozen=True)
class Learned:
    """A metric for rows as they were given, the fits behind it, and how it was chosen."""

    metric: Metric
    fits: tuple[Fit, ...]
    selection: Selection


# -- products -----------------------------------------------------------------------


def learn_product(
    rows: TrainingRows,
    base: LargeMarginRecipe,
    rng: np.random.Generator,
    report: Report | None = None,
) -> Learned:
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows.

    Up to `FOLDS_UP_TO` rows, folds choose and all rows teach. Of more rows some are held out once,
    and the metric is learned from a sample of the others that doubles as long as that helps.

    Parameters
    ----------
    rows : TrainingRows
    base : LargeMarginRecipe
        What its parts share; their geometry and margin are their own.
    rng : numpy.random.Generator
    report : callable, optional
    """
    few = min(base.n_passes, FOLD_PASSES)
    if len(rows) < SELECT_FROM:
        (learn,) = focus(base.init, rows)
        fits = fit_parts(learn, base, rng, report)
        reason = f"too few rows, {len(rows)}, to hold some out"
        k = int(np.clip(len(rows) // 10, 3, DEFAULT_NEIGHBORS))
        return Learned(product_of(learn, fits), fits, Selection("product", reason, k))

    plain = {"standardised k-NN": np.eye(rows.n_columns)}
    if base.n_components is None:
        plain["Euclidean k-NN"] = identity(rows, rows.n_columns)
    scores: dict[str, list[Floats]] = {}
    stages: tuple[Stage, ...] = ()
    folds = split_rows(rows, rng)
    for train, held_out in folds:
        learn, test = focus(base.init, train, held_out)
        if len(folds) == 1:
            order = nested_order(train, rng)
            fits, product, stages = grow(learn, test, order, base, rng, report)
            train = train.take(order[:NEIGHBOR_ROWS])
        else:
            fits = fit_parts(learn, replace(base, n_passes=few), rng)
            product = score_product(learn, test, learn, fits)
        scores.setdefault("product", []).append(product)
        for name, factor in plain.items():
            nearest = _nearest(train.X @ factor.T, held_out.X @ factor.T)
            scores.setdefault(name, []).append(held_out_scores(train, held_out, *nearest))
    selection = choose(scores, [held_out.weights for _, held_out in folds])
    selection = replace(selection, stages=stages)
    if selection.chosen != "product":
        factor = plain[selection.chosen]
        found = Parameters(factor, np.zeros(rows.n_columns), 0.0)
        return Learned(rows.to_metric(found), (), selection)
    if len(folds) > 1:
        (learn,) = focus(base.init, rows)
        fits = fit_parts(learn, base, rng, report)
    return Learned(product_of(learn, fits), fits, selection)


def fit_parts(
    rows: TrainingRows, base: LargeMarginRecipe, rng: np.random.Generator,
    report: Report | None = None, before: tuple[Fit, ...] = (),
) -> tuple[Fit, ...]:  # fmt: skip
    """Learn the parts of the product, or go on from fits of them."""
    fits: list[Fit] = []
    for at, (geometry, margin) in enumerate(PRODUCT):
        recipe = replace(base, geometry=geometry, margin=margin)
        last = before[at] if before else None
        fit = descend(rows, recipe, rng, None if last is None else last.found, report)
        fits.append(fit if last is None else fit._replace(losses=last.losses + fit.losses))
        if fit.stopped:
            break
    return tuple(fits)


def grow(
    rows: TrainingRows, held_out: TrainingRows, order: Ints, base: LargeMarginRecipe,
    rng: np.random.Generator, report: Report | None,
) -> tuple[tuple[Fit, ...], Floats, tuple[Stage, ...]]:  # fmt: skip
    """Learn from a sample that doubles, one more pass each time, until held-out rows gain nothing.

    Samples are beginnings of an `order`. The first `NEIGHBOR_ROWS` of it are the neighbours of
    the held-out rows each time, so that the metrics alone differ.

    Returns
    -------
    fits : tuple of Fit
    scores : ndarray
        What `held_out_scores` returns for them.
    stages : tuple of Stage
    """
    size = min(FIRST_SAMPLE, most_rows(rows.n_columns, FIRST_WORK))
    most = min(len(rows), most_rows(rows.n_columns, MOST_WORK))
    size = size if most > LEAST_GROWTH * size else most
    near = rows.take(order[:NEIGHBOR_ROWS])
    weights = held_out.weights / held_out.weights.sum()
    some = rows.take(order[:size])
    fits = fit_parts(some, base, rng, report)
    scores = score_product(near, held_out, some, fits)
    loss = _log_losses(scores, weights)[1]
    stages = [Stage(len(some), float(loss @ weights))]
    while most > LEAST_GROWTH * size and not fits[-1].stopped:
        size = min(2 * size, most)
        some = rows.take(order[:size])
        more = fit_parts(some, replace(base, n_passes=1), rng, report, fits)
        if len(more) < len(PRODUCT):
            break
        found = score_product(near, held_out, some, more)
        lower = _log_losses(found, weights)[1]
        stages.append(Stage(len(some), float(lower @ weights)))
        gain, error = gain_of(loss, lower, weights)
        if gain > 0:
            fits, scores, loss = more, found, lower
        if gain <= TIE * error:
            break
    return fits, scores, tuple(stages)


def score_product(
    rows: TrainingRows, held_out: TrainingRows, some: TrainingRows, fits: tuple[Fit, ...]
) -> Floats:
    """Return the scores of held-out rows among given rows, by a product learned from some."""
    embed = product_map(some, fits)
    return held_out_scores(rows, held_out, *_nearest(embed(rows.X), embed(held_out.X)))


def most_rows(r: int, work: float) -> int:
    """Return how many rows of r coordinates cost so many multiplications in each evaluation."""
    return int(max(np.sqrt(work / r), work / (r * n_anchors(r))))


def nested_order(rows: TrainingRows, rng: np.random.Generator) -> Ints:
    """Return an order of the rows in which each beginning has all classes by their shares."""
    place = np.empty(len(rows))
    for label in np.unique(rows.labels):
        own = np.flatnonzero(rows.labels == label)
        place[own] = (rng.permutation(len(own)) + rng.uniform()) / len(own)
    return np.argsort(place, kind="stable")


def product_map(rows: TrainingRows, fits: tuple[Fit, ...]) -> Callable[[Floats], Floats]:
    """Return the Euclidean map of a product, for standardised rows."""
    parts = [fit.found for fit in fits]
    units = [part_unit(rows, found) for found in parts]

    def embed(X: Floats) -> Floats:
        return np.hstack([_embed(X, p) / u for p, u in zip(parts, units, strict=True)])

    return embed


def product_of(rows: TrainingRows, fits: tuple[Fit, ...]) -> ProductMetric:
    """Return the product for rows as they were given, each part in its own unit."""
    metrics = [rows.to_metric(fit.found, fit.recipe.unit) for fit in fits]
    units = [part_unit(rows, fit.found) / fit.recipe.unit for fit in fits]
    return ProductMetric(metrics, units)


def part_unit(rows: TrainingRows, found: Parameters) -> float:
    """Return the median distance (chord) of a row to its nearest few."""
    Z = _embed(rows.X, found)
    some = np.unique(np.linspace(0, len(Z) - 1, UNIT_ROWS).astype(int))
    k = min(UNIT_NEIGHBORS, len(Z) - 1)
    distances, _ = _search(Z, Z[some], k + 1)
    return float(np.median(distances[:, 1:])) or 1.0


def _embed(X: Floats, found: Parameters) -> Floats:
    return euclidean_coordinates((X - found.center) @ found.factor.T, found.curvature)


# -- the paper's mixed distance -----------------------------------------------------


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
                found = held_out_scores(train, held_out, *nearest)
                scores.setdefault(f"α = {alpha:g}", []).append(found)
        selection = choose(scores, [held_out.weights for _, held_out in folds], tie_to_first=True)
    alpha = float(selection.chosen.removeprefix("α = "))
    (rows,) = focus(base.init, rows)
    fits = fit(rows, report)
    weights = [s / part_unit(rows, f.found) for s, f in zip((alpha, 1 - alpha), fits, strict=True)]
    metric = MixedMetric([rows.to_metric(part.found) for part in fits], weights)
    return Learned(metric, fits, selection)


# -- held-out rows ------------------------------------------------------------------


def split_rows(
    rows: TrainingRows, rng: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Return pairs of training and held-out rows, every class spread evenly."""
    n = len(rows)
    few = n <= FOLDS_UP_TO
    n_parts = N_FOLDS if few else max(round(1 / HELD_OUT_SHARE), -(-n // MOST_HELD_OUT))
    part = np.empty(n, dtype=np.int64)
    shift = 0
    for label in np.unique(rows.labels):
        some = rng.permutation(np.flatnonzero(rows.labels == label))
        part[some] = (np.arange(len(some)) + shift) % n_parts
        shift += len(some)
    return [
        (rows.take(np.flatnonzero(part != p)), rows.take(np.flatnonzero(part == p)))
        for p in range(N_FOLDS if few else 1)
    ]


def _search(Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z).kneighbors(Q)
    return found[0], found[1]


def _nearest(Z: Floats, Q: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the neighbours that the largest vote needs, and the scales of all rows."""
    some = LocalScales.numbers_of(len(Z))
    near, _ = _search(Z[some], Z, min(len(some), NEAR + 1))
    fifth = fifth_nearest(near, np.isin(np.arange(len(Z)), some))
    scales = as_scales(fifth, float(np.median(fifth[some])))
    return *_search(Z, Q, min(len(Z), 2 * max(NEIGHBORS) + 1)), scales


def _smallest(table: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the same from a table of distances, the scales alike."""
    order = np.argsort(table, axis=1, kind="stable")[:, : 2 * max(NEIGHBORS) + 1]
    return np.take_along_axis(table, order, axis=1), order, np.ones(table.shape[1])


def held_out_scores(
    train: TrainingRows, held_out: TrainingRows, distances: Floats, columns: Ints, scales: Floats
) -> Floats:
    """Return p(true class) and correctness (2, n_votes, m) for each number of neighbours."""
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
        found.append((shares[each, held_out.labels], shares.argmax(axis=1) == held_out.labels))
    return np.moveaxis(np.array(found, dtype=float), 1, 0)


def choose(
    scores: dict[str, list[Floats]], weights: list[Floats], *, tie_to_first: bool = False
) -> Selection:
    """Choose between the first candidate and the best of the others, by log loss.

    Parameters
    ----------
    scores : dict
        Candidate → what `held_out_scores` returned, fold by fold.
    weights : list of ndarray
        Weights of the held-out rows, fold by fold.
    tie_to_first : bool
        Whether the first wins where the difference is less than `TIE` standard errors.
    """
    share = np.concatenate(weights)
    share = share / share.sum()
    trials, losses = [], {}
    for name, folds in scores.items():
        joined = np.concatenate(folds, axis=2)
        best, losses[name] = _log_losses(joined, share)
        loss, accuracy = float(losses[name] @ share), float(joined[1, best] @ share)
        trials.append(Trial(name, NEIGHBORS[best], loss, accuracy))
    first, rival, enough = compare(losses, share, -TIE if tie_to_first else TIE)
    by_name = {trial.name: trial for trial in trials}
    names = (first, rival) if enough else (rival, first)
    chosen, other = (by_name[name] for name in names)
    reason = (
        f"log loss {chosen.log_loss:.3f} on {len(share)} held-out rows, "
        f"{other.name} {other.log_loss:.3f}"
    )
    return Selection(chosen.name, reason, chosen.n_neighbors, tuple(trials))


def _log_losses(scores: Floats, share: Floats) -> tuple[int, Floats]:
    """Return the best number of neighbours, as its place in the grid, and the losses with it."""
    with np.errstate(divide="ignore"):
        losses = -np.log(np.maximum(scores[0], np.finfo(float).tiny))
    best = int(np.argmin(losses @ share))
    return best, losses[best]
