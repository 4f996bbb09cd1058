"""Choosing a metric for votes, its α and the number of neighbours, on held-out rows.

Up to `folds.FOLDS_UP_TO` places, folds choose and all rows teach. Of more rows some are held out
once, and the metric is learned from a growing sample of the others (`samples.grow`).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.learning import descent, samples, starts
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.learning.samples import Stage, best_losses, gain_of
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors import space
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.parts.votes import NEIGHBORS
from cayleyklein.prediction import folds
from cayleyklein.prediction.rehearsal import AskedVotes, Trials
from cayleyklein.prediction.selection import Selection, Trial

PLAIN = {"standardised k-NN": "std", "unscaled k-NN": "identity"}  # not learned, by their start
SCALE_PLACES = 2000  # places, evenly spaced, among which those of a mixed metric have their scales
NEIGHBOR_ROWS = 10_000  # rows among which held-out rows have their neighbours
SELECT_FROM = 60  # distinct rows from which held-out ones can tell candidates apart


@dataclass(frozen=True)
class Chosen:
    """A metric for rows as they were given, the fits behind it, and how it was chosen."""

    metric: Any
    fits: descent.Fits
    selection: Selection
    n_learned: int


def select(
    geometry: str,
    learner: Any,
    rows: TrainingRows,
    trials: Trials,
    rng: np.random.Generator,
    asked: AskedVotes,
) -> Chosen:
    """Learn the metric of a geometry, and choose what is to be chosen.

    With "auto" the learner's product competes with plain neighbours. With "auto", "product" and
    "mixed" the number of neighbours is chosen, and with "mixed" its α. Other geometries are learned
    from all rows, and nothing is held out. `asked` are the votes for which α is chosen.
    """
    constant = rows.targets is not None and not rows.targets.any()
    chooses = learner.geometry in ("product", "mixed") and not constant
    if chooses and len(rows.X) >= SELECT_FROM:
        if geometry == "mixed":
            return choose_alpha(learner, rows, trials, asked, rng)
        return choose_metric(learner, rows, trials, rng, plain=geometry == "auto")
    k = trials.default_neighbors(len(rows))
    reason = f"too few distinct rows, {len(rows)}, to hold some out"
    if chooses and geometry == "auto" and not trials.learns_from_few:
        selection = Selection("standardised k-NN", reason, k)
        return Chosen(plain_metric(rows, "std", learner.n_components), (), selection, len(rows))
    metric, fits = learner._learn(rows, rng)
    name = learner.geometry
    if name == "mixed":
        name = f"α = {metric.weights[0]:.3g}"
    if constant:
        name, reason = "standardised k-NN", "y is constant"
    elif not chooses:
        reason, k = "the geometry that was asked for", trials.single_neighbors(rows, fits)
    return Chosen(metric, fits, Selection(name, reason, k), len(rows))


def choose_metric(
    learner: Any, rows: TrainingRows, trials: Trials, rng: np.random.Generator, *, plain: bool
) -> Chosen:
    """Learn a product, and the number of neighbours; with `plain`, keep it only if it is better.

    Plain neighbours, in standardised or unscaled columns, win where they do as well.
    """
    recipes = learner._recipes()
    report = learner._report()
    names = list(PLAIN) if learner.n_components is None else list(PLAIN)[:1]
    scores: dict[str, list[Floats]] = {}
    stages: tuple[Stage, ...] = ()
    split = folds.split_training(rows, rng)
    for train, held_out in split:
        learn, test = train, held_out
        if rows.basis is not None:
            learn, test = starts.focus(recipes[0].init, train, held_out)
        if len(split) == 1:
            order = train.nested_order(rng)
            # the same neighbours of the held-out rows each time, so that only metrics differ
            judge = partial(product_scores, learn.take(order[:NEIGHBOR_ROWS]), test, trials)
            fits, found, stages = samples.grow(
                learn, order, recipes, judge, held_out.shares, rng, report
            )
            train = train.take(order[:NEIGHBOR_ROWS])
        else:
            few = min(recipes[0].n_passes, trials.few_passes)
            fits = descent.descend_parts(learn, recipes, rng, n_passes=few)
            found = product_scores(learn, test, trials, learn, fits)
        scores.setdefault("product", []).append(found)
        for name in names if plain else ():
            factor = starts.starting_factor(PLAIN[name], train, learner.n_components)
            coordinates = train.X @ factor.T, held_out.X @ factor.T
            found = trials.scores(trials.predict(train, held_out, *coordinates), held_out)
            scores.setdefault(name, []).append(found)
    selection = choose_candidate(scores, [held_out.weights for _, held_out in split], trials)
    selection = replace(selection, stages=stages)
    if selection.chosen != "product":
        metric = plain_metric(rows, PLAIN[selection.chosen], learner.n_components)
        return Chosen(metric, (), selection, len(rows))
    if len(split) > 1:
        (learn,) = starts.focus(recipes[0].init, rows)
        fits = descent.descend_parts(learn, recipes, rng, report)
    return Chosen(descent.product_of(learn, fits), fits, selection, selection.n_rows or len(rows))


def product_scores(
    near: TrainingRows,
    held_out: TrainingRows,
    trials: Trials,
    rows: TrainingRows,
    fits: descent.Fits,
) -> Floats:
    """Return the scores of held-out rows among those near, by the product learned from rows."""
    embed = descent.product_map(rows, fits)
    predicted = trials.predict(near, held_out, embed(near.X), embed(held_out.X))
    return trials.scores(predicted, held_out)


def plain_metric(rows: TrainingRows, start: str, n_components: int | None) -> CurvedMetric:
    factor = starts.starting_factor(start, rows, n_components)
    return rows.to_metric(Parameters(factor, np.zeros(rows.n_columns), 0.0))


def choose_alpha(
    learner: Any, rows: TrainingRows, trials: Trials, asked: AskedVotes, rng: np.random.Generator
) -> Chosen:
    """Learn an elliptic and a hyperbolic metric, and choose α for the votes that were asked for."""
    choice = learner._mixing_choice()
    scores: dict[str, list[Floats]] = {}
    split = folds.split_training(rows, rng)
    for train, held_out in split:
        mixing = learner._learn_mixed(train, rng)
        # queries outside the hyperbolic domain are placed just inside, as when predicting
        chords = space.ChordSpace(mixing.metric(0.5))
        places = chords.place(train.as_given[train.points[0]])
        queries = chords.place(held_out.as_given)
        some = places.take(even_rows(len(places.v), SCALE_PLACES))
        to_places = tables_of(chords, queries, places)
        among = tables_of(chords, places, some) if asked.are_local else None
        for share in choice.shares:
            alpha = choice.alpha(share, mixing)
            table = mixed_table(alpha, to_places)
            near = None if among is None else mixed_table(alpha, among)
            found = trials.scores(asked.by_distance(train, held_out, table, near), held_out)
            scores.setdefault(choice.name(share), []).append(found)
    weights = [held_out.weights for _, held_out in split]
    selection = choose_candidate(scores, weights, trials, tie=-choice.tie, numbers=asked.numbers)
    mixing = learner._learn_mixed(rows, rng)
    # the trials by their α, which in units of the parts differs from fold to fold
    alphas = {choice.name(share): choice.alpha(share, mixing) for share in choice.shares}
    alpha = alphas[selection.chosen]
    trials_by_alpha = [
        replace(trial, name=f"α = {alphas[trial.name]:.3g}") for trial in selection.trials
    ]
    selection = replace(selection, chosen=f"α = {alpha:.3g}", trials=tuple(trials_by_alpha))
    return Chosen(mixing.metric(alpha), mixing.fits, selection, len(rows))


def tables_of(
    chords: space.ChordSpace, queries: space.ChordRows, rows: space.ChordRows
) -> list[Floats]:
    """Return the distances of queries to rows in each part of a sum."""
    placed = zip(chords.terms, queries.x, rows.x, strict=True)
    return [np.asarray(term.metric.pairwise(x, y)) for term, x, y in placed]


def mixed_table(alpha: float, tables: list[Floats]) -> Floats:
    """Return α d_E + (1 - α) d_H."""
    return np.asarray(alpha * tables[0] + (1 - alpha) * tables[1])


def choose_candidate(
    scores: dict[str, list[Floats]],
    weights: list[Floats],
    trials: Trials,
    *,
    tie: float | None = None,
    numbers: tuple[int, ...] = NEIGHBORS,
) -> Selection:
    """Choose between the first candidate and the best of the others, by their loss.

    `scores` and `weights` of held-out rows come fold by fold. The first wins where its loss is
    less by more than `tie` standard errors, by default `samples.TIE`: with a negative tie it also
    wins what is nearly equal.
    """
    tie = samples.TIE if tie is None else tie
    share = np.concatenate(weights) / np.concatenate(weights).sum()
    tried = {}
    losses = {}
    for name, parts in scores.items():
        joined = np.concatenate(parts, axis=2)
        best, losses[name] = best_losses(joined, share)
        means = np.array([values @ share for values in joined[:, best]])
        tried[name] = Trial(name, numbers[best], trials.named(means))
    first, *others = losses
    chosen = tried[first]
    score = next(iter(chosen.scores))
    against = ""
    if others:
        rival = min(others, key=lambda name: float(losses[name] @ share))
        gain, error = gain_of(losses[rival], losses[first], share)
        chosen, other = tried[first], tried[rival]
        if gain <= tie * error:
            chosen, other = other, chosen
        against = f", {other.name} {other.scores[score]:.3f}"
    reason = f"{score} {chosen.scores[score]:.3f} on {len(share)} held-out rows{against}"
    return Selection(chosen.name, reason, chosen.n_neighbors, tuple(tried.values()))
