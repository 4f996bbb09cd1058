"""What held-out rows choose: the metric, the size of its sample, and how many neighbours vote.

One mechanism for labels and for targets: a :class:`Task` says what the parts of the product are,
and how held-out rows score a candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import euclidean_coordinates
from cayleyklein.learning._descent import Fit, Report, descend, n_anchors
from cayleyklein.learning._rows import TrainingRows
from cayleyklein.learning._starts import identity, starting_factor
from cayleyklein.learning._trials import NEIGHBORS, TIE, Selection, Stage, Trial, gain_of
from cayleyklein.learning.objectives import Parameters, Recipe
from cayleyklein.metrics import CurvedMetric, Metric, ProductMetric

SELECT_FROM = 60
"""Distinct rows from which held-out ones can tell candidates apart."""

N_FOLDS, FOLDS_UP_TO = 3, 2500
"""Folds, and the rows beyond which one held-out part is enough.

The metric learned from the other rows is then the one that is kept.
"""

HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 2000

LEARN_FROM = 10_000
"""Rows that one geometry is learned from by default: d² numbers need no more."""

POOL_ROWS, POOL_ENTRIES = 50_000, 20_000_000
"""Rows, and their entries, among which a sample may grow."""

FIRST_SAMPLE = 8000
"""Rows of the first sample, where their columns are few."""

LEAST_GROWTH = 1.5
"""Factor by which a sample must be able to grow to be worth another pass."""

NEIGHBOR_ROWS = 10_000
"""Rows among which held-out rows have their neighbours."""

FIRST_WORK, MOST_WORK = 4e9, 2e10
"""Anchors · rows · columns of an evaluation of the loss, in the first sample and in the last."""

UNIT_ROWS, UNIT_NEIGHBORS = 2000, 3


@dataclass(frozen=True)
class Learned:
    """A metric for rows as they were given, the fits behind it, and how it was chosen."""

    metric: Metric
    fits: tuple[Fit, ...]
    selection: Selection


@dataclass(frozen=True)
class Task:
    """What a product is learned for.

    Fits that only serve the choice have `fold_passes`. `score` is (train, held_out, Z, Q) → scores
    (n_scores, n_votes, m) of held-out rows with coordinates Q among rows with coordinates Z, for
    each number of neighbours; the first is the loss. `named` gives mean scores their names, and
    `focus` puts (train, held_out) in the coordinates to learn in.
    """

    parts: tuple[Recipe, ...]
    fold_passes: int
    score: Callable[[Any, Any, Floats, Floats], Floats]
    named: Callable[[Floats], dict[str, float]]
    focus: Callable[..., tuple[TrainingRows, ...]] = lambda *rows: rows


def rows_to_draw(subsample: int | float | str | None, geometry: str, d: int) -> int | float | None:
    """Return how many rows of d columns to learn from, or their share; None for all."""
    if not isinstance(subsample, str):
        return subsample
    if geometry != "auto":
        return LEARN_FROM
    return max(LEARN_FROM, min(POOL_ROWS, POOL_ENTRIES // max(d, 1)))  # among which it grows


# -- products -----------------------------------------------------------------------


def learn_product(
    rows: TrainingRows, task: Task, rng: np.random.Generator, report: Report | None = None
) -> Learned:
    """Learn the product, and keep it unless plain neighbours do as well on held-out rows.

    Up to `FOLDS_UP_TO` rows, folds choose and all rows teach. Of more rows some are held out once,
    and the metric is learned from a sample of the others that doubles as long as that helps.
    """
    n_components = task.parts[0].n_components
    plain = {"standardised k-NN": standardised(rows, n_components)}
    if n_components is None:
        plain["unscaled k-NN"] = identity(rows, rows.n_columns)
    scores: dict[str, list[Floats]] = {}
    stages: tuple[Stage, ...] = ()
    folds = split_rows(rows, rng)
    for train, held_out in folds:
        learn, test = task.focus(train, held_out)
        if len(folds) == 1:
            order = train.nested_order(rng)
            fits, product, stages = grow(learn, test, order, task, rng, report)
            train = train.take(order[:NEIGHBOR_ROWS])
        else:
            few = min(task.parts[0].n_passes, task.fold_passes)
            fits = fit_parts(learn, task.parts, rng, n_passes=few)
            product = score_product(learn, test, learn, fits, task)
        scores.setdefault("product", []).append(product)
        for name, factor in plain.items():
            found = task.score(train, held_out, train.X @ factor.T, held_out.X @ factor.T)
            scores.setdefault(name, []).append(found)
    selection = choose(scores, [held_out.weights for _, held_out in folds], task.named)
    selection = replace(selection, stages=stages)
    if selection.chosen != "product":
        return Learned(plain_metric(rows, plain[selection.chosen]), (), selection)
    if len(folds) > 1:
        (learn,) = task.focus(rows)
        fits = fit_parts(learn, task.parts, rng, report)
    return Learned(product_of(learn, fits), fits, selection)


def standardised(rows: TrainingRows, n_components: int | None) -> Floats:
    """Return the factor of standardised columns, or of their principal components."""
    r = rows.n_columns
    return starting_factor("std", rows, min(n_components or r, r))


def plain_metric(rows: TrainingRows, factor: Floats) -> CurvedMetric:
    """Return the flat metric of a factor, around the mean."""
    return rows.to_metric(Parameters(factor, np.zeros(rows.n_columns), 0.0))


def fit_parts(
    rows: TrainingRows, parts: tuple[Recipe, ...], rng: np.random.Generator,
    report: Report | None = None, before: tuple[Fit, ...] = (), n_passes: int | None = None,
) -> tuple[Fit, ...]:  # fmt: skip
    """Learn the parts of the product, or go on from fits of them."""
    fits: list[Fit] = []
    for at, part in enumerate(parts):
        recipe = part if n_passes is None else replace(part, n_passes=n_passes)
        last = before[at] if before else None
        fit = descend(rows, recipe, rng, None if last is None else last.found, report)
        fits.append(fit if last is None else fit._replace(losses=last.losses + fit.losses))
        if fit.stopped:
            break
    return tuple(fits)


def grow(
    rows: TrainingRows, held_out: TrainingRows, order: Ints, task: Task,
    rng: np.random.Generator, report: Report | None,
) -> tuple[tuple[Fit, ...], Floats, tuple[Stage, ...]]:  # fmt: skip
    """Learn from a sample that doubles, one more pass each time, until held-out rows gain nothing.

    Samples are beginnings of an `order`. The first `NEIGHBOR_ROWS` of it are the neighbours of
    the held-out rows each time, so that the metrics alone differ. Returns the fits, their scores
    and the stages.
    """
    size = min(FIRST_SAMPLE, most_rows(rows.n_columns, FIRST_WORK))
    most = min(len(rows), most_rows(rows.n_columns, MOST_WORK))
    size = size if most > LEAST_GROWTH * size else most
    near = rows.take(order[:NEIGHBOR_ROWS])
    weights = held_out.weights / held_out.weights.sum()
    some = rows.take(order[:size])
    fits = fit_parts(some, task.parts, rng, report)
    scores = score_product(near, held_out, some, fits, task)
    loss = best_losses(scores, weights)[1]
    stages = [Stage(len(some), float(loss @ weights))]
    while most > LEAST_GROWTH * size and not fits[-1].stopped:
        size = min(2 * size, most)
        some = rows.take(order[:size])
        more = fit_parts(some, task.parts, rng, report, fits, n_passes=1)
        if len(more) < len(task.parts):
            break
        found = score_product(near, held_out, some, more, task)
        lower = best_losses(found, weights)[1]
        stages.append(Stage(len(some), float(lower @ weights)))
        gain, error = gain_of(loss, lower, weights)
        if gain > 0:
            fits, scores, loss = more, found, lower
        if gain <= TIE * error:
            break
    return fits, scores, tuple(stages)


def score_product(
    rows: TrainingRows, held_out: TrainingRows, some: TrainingRows, fits: tuple[Fit, ...],
    task: Task,
) -> Floats:  # fmt: skip
    """Return the scores of held-out rows among given rows, by a product learned from some."""
    embed = product_map(some, fits)
    return task.score(rows, held_out, embed(rows.X), embed(held_out.X))


def most_rows(r: int, work: float) -> int:
    """Return how many rows of r coordinates cost so many multiplications in each evaluation."""
    return int(max(np.sqrt(work / r), work / (r * n_anchors(r))))


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
    distances, _ = nearest_rows(Z, Z[some], k + 1)
    return float(np.median(distances[:, 1:])) or 1.0


def _embed(X: Floats, found: Parameters) -> Floats:
    return euclidean_coordinates((X - found.center) @ found.factor.T, found.curvature)


# -- held-out rows ------------------------------------------------------------------


def split_rows(
    rows: TrainingRows, rng: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Return pairs of training and held-out rows, every class spread evenly.

    Points are held out with all their rows: none predicts its copy, and none finds only the other
    classes where it is.
    """
    _, point, votes = rows.points
    classes, weights = votes[:, 0::2], votes[:, 1::2]
    labels = classes[np.arange(len(classes)), weights.argmax(axis=1)]
    n = len(labels)
    few = n <= FOLDS_UP_TO
    n_parts = N_FOLDS if few else max(round(1 / HELD_OUT_SHARE), -(-n // MOST_HELD_OUT))
    part = np.empty(n, dtype=np.int64)
    shift = 0
    for label in np.unique(labels):
        some = rng.permutation(np.flatnonzero(labels == label))
        part[some] = (np.arange(len(some)) + shift) % n_parts
        shift += len(some)
    return [
        (rows.take(np.flatnonzero(part[point] != p)), rows.take(np.flatnonzero(part[point] == p)))
        for p in range(N_FOLDS if few else 1)
    ]


def nearest_rows(Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    """Return Euclidean distances and positions of the k rows of Z nearest to each of Q."""
    found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z).kneighbors(Q)
    return found[0], found[1]


def choose(
    scores: dict[str, list[Floats]], weights: list[Floats],
    named: Callable[[Floats], dict[str, float]], *, tie_to_first: bool = False,
) -> Selection:  # fmt: skip
    """Choose between the first candidate and the best of the others, by their loss.

    `scores` and `weights` of held-out rows come fold by fold. With `tie_to_first` the first wins
    where the difference is less than `TIE` standard errors.
    """
    share = np.concatenate(weights)
    share = share / share.sum()
    trials, losses = {}, {}
    for name, folds in scores.items():
        joined = np.concatenate(folds, axis=2)
        best, losses[name] = best_losses(joined, share)
        means = np.array([values @ share for values in joined[:, best]])
        trials[name] = Trial(name, NEIGHBORS[best], named(means))
    first, *others = losses
    rival = min(others, key=lambda name: float(losses[name] @ share))
    gain, error = gain_of(losses[rival], losses[first], share)
    enough = gain > (-TIE if tie_to_first else TIE) * error
    chosen, other = (trials[name] for name in ((first, rival) if enough else (rival, first)))
    score = next(iter(chosen.scores))
    reason = (
        f"{score} {chosen.scores[score]:.3f} on {len(share)} held-out rows, {other.name} "
        f"{other.scores[score]:.3f}"
    )
    return Selection(chosen.name, reason, chosen.n_neighbors, tuple(trials.values()))


def best_losses(scores: Floats, share: Floats) -> tuple[int, Floats]:
    """Return the best number of neighbours, as its place in the grid, and the losses with it."""
    best = int(np.argmin(scores[0] @ share))
    return best, scores[0, best]
