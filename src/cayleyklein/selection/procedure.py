"""Choosing a metric, its α and the number of neighbours on held-out rows.

Up to `FOLDS_UP_TO` points, folds choose and all rows teach. Of more rows some are held out
once, and the metric is learned from a growing sample of the others (`grow`).
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning import descent, starts
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows, distinct_rows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors import space
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.selection.scores import NEIGHBORS, TIE, Scorer, best_losses, gain_of

PLAIN = {"standardised k-NN": "std", "unscaled k-NN": "identity"}  # not learned, by their start
SCALE_POINTS = 2000  # points, evenly spaced, among which those of a mixed metric have their scales
FIRST_SAMPLE = 8000  # rows, where their columns are few
LEAST_GROWTH = 1.5  # factor by which a sample must be able to grow to be worth another pass
NEIGHBOR_ROWS = 10_000  # rows among which held-out rows have their neighbours
# Anchors · rows · columns of an evaluation of the loss, in the first sample and in the last.
FIRST_WORK, MOST_WORK = 4e9, 2e10
SELECT_FROM = 60  # distinct rows from which held-out ones can tell candidates apart
# Folds, and the points beyond which one held-out part is enough: the metric learned from the other
# rows is then the one that is kept.
N_FOLDS, FOLDS_UP_TO = 3, 2500
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 2000


@dataclass(frozen=True)
class Trial:
    """How one candidate did on rows it was not trained on.

    Attributes
    ----------
    name : str
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


class Stage(NamedTuple):
    """One size of a sample, and its loss on held-out rows: log loss for labels, else 1 - R².

    >>> Stage(n_rows=8000, loss=0.31).n_rows
    8000
    """

    n_rows: int
    loss: float


@dataclass(frozen=True)
class Selection:
    """What was tried on held-out rows, what was chosen, and why.

    Attributes
    ----------
    chosen : str
    reason : str
    n_neighbors : int
        Voting neighbours for the chosen metric.
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
    scorer: Scorer,
    rng: np.random.Generator,
    asked: Any,
) -> Chosen:
    """Learn the metric of a geometry, and choose what is to be chosen.

    With "auto" the learner's product competes with plain neighbours. With "auto", "product" and
    "mixed" the number of neighbours is chosen, and with "mixed" its α. Other geometries are learned
    from all rows, and nothing is held out. `asked` are the votes (`votes.AskedVotes`) for which α
    is chosen.
    """
    constant = rows.targets is not None and not rows.targets.any()
    chooses = learner.geometry in ("product", "mixed") and not constant
    if chooses and len(rows.X) >= SELECT_FROM:
        if geometry == "mixed":
            return choose_alpha(learner, rows, scorer, asked, rng)
        return choose_metric(learner, rows, scorer, rng, plain=geometry == "auto")
    k = scorer.default_neighbors(len(rows))
    reason = f"too few distinct rows, {len(rows)}, to hold some out"
    if chooses and geometry == "auto" and not scorer.learns_from_few:
        selection = Selection("standardised k-NN", reason, k)
        return Chosen(plain_metric(rows, "std", learner.n_components), (), selection, len(rows))
    metric, fits = learner._learn(rows, rng)
    name = learner.geometry
    if name == "mixed":
        name = f"α = {metric.weights[0]:.3g}"
    if constant:
        name, reason = "standardised k-NN", "y is constant"
    elif not chooses:
        reason, k = "the geometry that was asked for", scorer.single_neighbors(rows, fits)
    return Chosen(metric, fits, Selection(name, reason, k), len(rows))


def choose_metric(
    learner: Any, rows: TrainingRows, scorer: Scorer, rng: np.random.Generator, *, plain: bool
) -> Chosen:
    """Learn a product, and the number of neighbours; with `plain`, keep it only if it is better.

    Plain neighbours, in standardised or unscaled columns, win where they do as well.
    """
    recipes, report = learner._recipes(), learner._report()
    names = list(PLAIN) if learner.n_components is None else list(PLAIN)[:1]
    scores: dict[str, list[Floats]] = {}
    stages: tuple[Stage, ...] = ()
    split = split_rows(rows, rng)
    for train, held_out in split:
        learn, test = train, held_out
        if rows.basis is not None:
            learn, test = starts.focus(recipes[0].init, train, held_out)
        if len(split) == 1:
            order = train.nested_order(rng)
            fits, found, stages = grow(learn, test, order, recipes, scorer, rng, report)
            train = train.take(order[:NEIGHBOR_ROWS])
        else:
            few = min(recipes[0].n_passes, scorer.few_passes)
            fits = descent.descend_parts(learn, recipes, rng, n_passes=few)
            found = product_scores(learn, fits, learn, test, scorer)
        scores.setdefault("product", []).append(found)
        for name in names if plain else ():
            factor = starts.starting_factor(PLAIN[name], train, learner.n_components)
            coordinates = train.X @ factor.T, held_out.X @ factor.T
            found = scorer.scores(scorer.predict(train, held_out, *coordinates), held_out)
            scores.setdefault(name, []).append(found)
    selection = choose_candidate(scores, [held_out.weights for _, held_out in split], scorer)
    selection = replace(selection, stages=stages)
    if selection.chosen != "product":
        metric = plain_metric(rows, PLAIN[selection.chosen], learner.n_components)
        return Chosen(metric, (), selection, len(rows))
    if len(split) > 1:
        (learn,) = starts.focus(recipes[0].init, rows)
        fits = descent.descend_parts(learn, recipes, rng, report)
    return Chosen(descent.product_of(learn, fits), fits, selection, selection.n_rows or len(rows))


def grow(
    rows: TrainingRows, held_out: TrainingRows, order: Ints, parts: tuple[descent.Recipe, ...],
    scorer: Scorer, rng: np.random.Generator, report: descent.Report | None,
) -> tuple[descent.Fits, Floats, tuple[Stage, ...]]:  # fmt: skip
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

    some = rows.take(order[:size])
    fits = descent.descend_parts(some, parts, rng, report)
    scores = product_scores(some, fits, near, held_out, scorer)
    loss = best_losses(scores, weights)[1]
    stages = [Stage(len(some), float(loss @ weights))]
    while most > LEAST_GROWTH * size and not fits[-1].stopped:
        size = min(2 * size, most)
        some = rows.take(order[:size])
        more = descent.descend_parts(some, parts, rng, report, fits, n_passes=1)
        if len(more) < len(parts):
            break
        found = product_scores(some, more, near, held_out, scorer)
        lower = best_losses(found, weights)[1]
        stages.append(Stage(len(some), float(lower @ weights)))
        gain, error = gain_of(loss, lower, weights)
        if gain > 0:
            fits, scores, loss = more, found, lower
        if gain <= TIE * error:
            break
    return fits, scores, tuple(stages)


def product_scores(
    rows: TrainingRows, fits: descent.Fits, near: TrainingRows, held_out: TrainingRows,
    scorer: Scorer,
) -> Floats:  # fmt: skip
    """Return the scores of a product, learned from rows, for held-out rows among those near."""
    embed = descent.product_map(rows, fits)
    predicted = scorer.predict(near, held_out, embed(near.X), embed(held_out.X))
    return scorer.scores(predicted, held_out)


def most_rows(r: int, work: float) -> int:
    return int(max(np.sqrt(work / r), work / (r * descent.n_anchors(r))))


def plain_metric(rows: TrainingRows, start: str, n_components: int | None) -> CurvedMetric:
    factor = starts.starting_factor(start, rows, n_components)
    return rows.to_metric(Parameters(factor, np.zeros(rows.n_columns), 0.0))


def choose_alpha(
    learner: Any, rows: TrainingRows, scorer: Scorer, asked: Any, rng: np.random.Generator
) -> Chosen:
    """Learn an elliptic and a hyperbolic metric, and choose α for the votes that were asked for."""
    choice = learner._mixing_choice()
    scores: dict[str, list[Floats]] = {}
    split = split_rows(rows, rng)
    for train, held_out in split:
        mixing = learner._learn_mixed(train, rng)
        # queries outside the hyperbolic domain are placed just inside, as when predicting
        chords = space.ChordSpace(mixing.metric(0.5))
        points = chords.place(train.as_given[train.points[0]])
        queries = chords.place(held_out.as_given)
        some = points.take(even_rows(len(points.v), SCALE_POINTS))
        to_points = tables_of(chords, queries, points)
        among = tables_of(chords, points, some) if asked.are_local else None
        for share in choice.shares:
            alpha = choice.alpha(share, mixing)
            table = mixed_table(alpha, to_points)
            near = None if among is None else mixed_table(alpha, among)
            found = scorer.scores(asked.by_distance(train, held_out, table, near), held_out)
            scores.setdefault(choice.name(share), []).append(found)
    weights = [held_out.weights for _, held_out in split]
    selection = choose_candidate(scores, weights, scorer, tie=-choice.tie, numbers=asked.numbers)
    mixing = learner._learn_mixed(rows, rng)
    names = [choice.name(share) for share in choice.shares]
    alpha = choice.alpha(choice.shares[names.index(selection.chosen)], mixing)
    selection = replace(selection, chosen=f"α = {alpha:.3g}")
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
    scorer: Scorer,
    *,
    tie: float | None = None,
    numbers: tuple[int, ...] = NEIGHBORS,
) -> Selection:
    """Choose between the first candidate and the best of the others, by their loss.

    `scores` and `weights` of held-out rows come fold by fold. The first wins where its loss is
    less by more than `tie` standard errors, by default `TIE`: with a negative tie it also wins what
    is nearly equal.
    """
    tie = TIE if tie is None else tie
    share = np.concatenate(weights) / np.concatenate(weights).sum()
    trials, losses = {}, {}
    for name, parts in scores.items():
        joined = np.concatenate(parts, axis=2)
        best, losses[name] = best_losses(joined, share)
        means = np.array([values @ share for values in joined[:, best]])
        trials[name] = Trial(name, numbers[best], scorer.named(means))
    first, *others = losses
    chosen, against, score = trials[first], "", next(iter(trials[first].scores))
    if others:
        rival = min(others, key=lambda name: float(losses[name] @ share))
        gain, error = gain_of(losses[rival], losses[first], share)
        enough = gain > tie * error
        chosen, other = (trials[name] for name in ((first, rival) if enough else (rival, first)))
        against = f", {other.name} {other.scores[score]:.3f}"
    reason = f"{score} {chosen.scores[score]:.3f} on {len(share)} held-out rows{against}"
    return Selection(chosen.name, reason, chosen.n_neighbors, tuple(trials.values()))


def split_rows(
    rows: TrainingRows, rng: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Return pairs of training and held-out rows, every class spread evenly.

    Points are held out with all their rows: no row predicts its copy, and none finds only the other
    classes where it is.
    """
    first, point = distinct_rows(rows.X)
    heaviest = np.lexsort((-rows.weights, point))
    labels = rows.labels[heaviest[np.searchsorted(point[heaviest], np.arange(len(first)))]]
    part, n_held_out = spread_points(labels, rng)
    pairs = []
    for p in range(n_held_out):
        mine = part[point] == p
        pairs.append((rows.take(np.flatnonzero(~mine)), rows.take(np.flatnonzero(mine))))
    return pairs


def spread_points(labels: Ints, rng: np.random.Generator) -> tuple[Ints, int]:
    """Return the part of each point, every class spread evenly, and how many parts to hold out."""
    n = len(labels)
    few = n <= FOLDS_UP_TO
    n_parts = N_FOLDS if few else max(round(1 / HELD_OUT_SHARE), -(-n // MOST_HELD_OUT))
    part = np.empty(n, dtype=np.int64)
    shift = 0
    for label in np.unique(labels):
        some = rng.permutation(np.flatnonzero(labels == label))
        part[some] = (np.arange(len(some)) + shift) % n_parts
        shift += len(some)
    return part, N_FOLDS if few else 1
