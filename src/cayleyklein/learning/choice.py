"""Where the metric of a prediction comes from: it is given, learned, or chosen on held-out rows.

`geometry=`, `learner=` and `metric=` mean the same in every estimator that predicts.

Up to `folds.FOLDS_UP_TO` places, folds choose a metric, its α and the number of neighbours, and all
rows teach. Of more rows some are held out once, and the metric is learned from a growing sample of
the others (`samples.grow`).
"""

import sys
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from cayleyklein import _estimators
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import descent, folds, samples
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.learner import RowLearner
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import GivenRows, TrainingRows
from cayleyklein.learning.samples import Stage, best_losses, gain_of
from cayleyklein.metrics import CurvedMetric, Metric, combined
from cayleyklein.neighbors import search, space
from cayleyklein.neighbors.euclidean import even_rows

NEIGHBOR_ROWS = 10_000  # among which held-out rows have their neighbours

PLAIN = {"standardised k-NN": "std", "unscaled k-NN": "identity"}  # not learned, by their start


@dataclass(frozen=True)
class Trial:
    """Scores of one candidate on held-out rows.

    Attributes
    ----------
    name : str
        Name of the candidate.
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


@dataclass(frozen=True)
class Selection:
    """What was tried on held-out rows, what was chosen, and why.

    Attributes
    ----------
    chosen : str
        Name of the candidate that was chosen.
    reason : str
        Why it was chosen.
    n_neighbors : int
        Number of voting neighbours for the chosen metric.
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


class Trials(Protocol):
    """How held-out rows judge a metric, by the votes that were asked for.

    `few_passes` are those of fits that only serve the choice. `tried` are the numbers of neighbours
    of `predict`, `numbers` those that were asked for.
    """

    few_passes: ClassVar[int]
    learns_from_few: ClassVar[bool]  # where rows are too few for a comparison with plain neighbours
    tried: ClassVar[tuple[int, ...]]

    @property
    def numbers(self) -> tuple[int, ...]: ...

    @property
    def are_local(self) -> bool:
        """Whether votes depend on how dense rows are."""
        return False

    @abstractmethod
    def default_neighbors(self, n: int) -> int:
        """Return the number of neighbours where n rows are too few to hold some out."""

    @abstractmethod
    def single_neighbors(self, rows: TrainingRows, fits: descent.Fits) -> int:
        """Return the number of neighbours for one geometry, learned from all rows."""

    @abstractmethod
    def predict(self, train: TrainingRows, held_out: TrainingRows, Z: Floats, Q: Floats) -> Floats:
        """Return what neighbours say (n_tried, m, t) of held-out rows.

        Z and Q are coordinates of the rows in which distances are Euclidean.
        """

    def predict_by_distance(
        self, train: TrainingRows, held_out: TrainingRows, table: Floats, among: Floats | None
    ) -> Floats:
        """Return what neighbours say (n_numbers, m, t), from distances to places.

        Parameters
        ----------
        table : ndarray of shape (m, p)
            Distances of the held-out rows to the places of the training rows.
        among : ndarray of shape (p, s), or None
            Distances of these places to some of them, which give the scales of local votes.
        """
        raise NotImplementedError

    @abstractmethod
    def scores(self, predictions: Floats, held_out: TrainingRows) -> Floats:
        """Return the scores (n_scores, n_numbers, m) of predictions, the loss first."""

    @abstractmethod
    def named(self, means: Floats) -> dict[str, float]:
        """Return mean scores by name."""


@dataclass(frozen=True)
class MetricRequest:
    """What was asked of a metric, by the parameters of an estimator.

    Attributes
    ----------
    metric : Metric or None
        A ready-made one.
    learner : estimator or None
        Learns the metric, or has learned it if frozen. When None, one of the kind `learner_kind`
        with the parameters below; its geometry is "product" where `geometry` is "auto".
    learner_kind : type
    geometry, subsample, random_state, callback, verbose
    column_names : ndarray or None
        Names of the columns of the rows, where they have names.
    said : str
        Name of the estimator in the lines that `verbose` writes.
    quick : bool
        Whether one pass is enough: the metric of a fold only judges, and is not kept.
    """

    metric: Metric | None
    learner: Any
    learner_kind: type[RowLearner]
    geometry: str
    subsample: int | float | str | None
    random_state: Any
    callback: Callable[[Progress], bool | None] | None
    verbose: bool
    column_names: AnyArray | None
    said: str
    quick: bool = False


@dataclass(frozen=True)
class Obtained:
    """A metric if one was needed, the fitted learner if one was asked, and what was chosen."""

    metric: Metric | None
    learner: Any = None
    selection: Selection | None = None


@dataclass(frozen=True)
class Chosen:
    """A metric for rows as they were given, the fits behind it, and how it was chosen."""

    metric: Any
    fits: descent.Fits
    selection: Selection
    n_learned: int


def obtain_metric(
    request: MetricRequest, given: GivenRows, trials: Trials | None = None
) -> Obtained:
    """Return the metric that was asked for.

    With `trials` held-out rows choose what they can, for a learner of this package that is given,
    too; without, what was asked for is learned from all rows.
    """
    if request.metric is not None:
        return Obtained(search.as_metric(request.metric, given.n_columns))
    geometry = request.geometry
    learner = request.learner
    if learner is None:
        learner_kind: Any = request.learner_kind
        learner = learner_kind(
            geometry="product" if geometry == "auto" else geometry,
            subsample=request.subsample,
            random_state=request.random_state,
            callback=request.callback,
            verbose=request.verbose,
        )
    elif isinstance(learner, RowLearner) and learner._numeric == (given.classes is None):
        learner = clone(learner)
        learner._check_parameters()
        geometry = learner.geometry
    else:
        fitted = fitted_learner(learner, given)
        return Obtained(search.as_metric(fitted.metric_, given.n_columns), fitted)
    if request.quick and getattr(learner, "n_passes", None) == "auto":
        learner.set_params(n_passes=1)
    size = learner.subsample
    if isinstance(size, str):
        size = samples.LEARN_FROM
        if trials is not None:
            size = samples.pool_size(learner.geometry, given.n_columns)
    rng = learner._generator()
    rows = learner._training_rows(given, size, rng)
    with _estimators.few_threads(*rows.X.shape):
        if trials is None:
            metric, fits = learner._learn(rows, rng)
            chosen = Chosen(metric, fits, Selection(learner.geometry, "learned", 0), len(rows))
        else:
            chosen = select(geometry, learner, rows, trials, rng)
            if len(trials.numbers) == 1:  # the number that was given votes
                selection = replace(chosen.selection, n_neighbors=trials.numbers[0])
                chosen = replace(chosen, selection=selection)
    if (
        combined.has_boundary(chosen.metric)
        and given.always is None
        and not isinstance(given.X, RowBlocks)
    ):
        beyond = ~chosen.metric.contains(given.X)  # of a metric learned from a sample
        if beyond.any():
            return obtain_metric(request, replace(given, always=beyond), trials)
    if learner.verbose:
        sys.stderr.write(f"[{request.said}] {chosen.selection}\n")
    learner._keep(chosen.metric, chosen.fits)
    learner._keep_given(given, chosen.n_learned)
    learner.n_features_in_ = given.n_columns
    if request.column_names is not None and len(request.column_names) == given.n_columns:
        learner.feature_names_in_ = request.column_names
    return Obtained(chosen.metric, learner, chosen.selection)


def fitted_learner(learner: Any, given: GivenRows) -> Any:
    """Return a clone of a learner, fitted; a frozen one is used as it is."""
    if isinstance(learner, FrozenEstimator):
        fitted = learner.estimator
    else:
        y = given.target if given.classes is None else given.classes[given.target]
        equal = bool((given.weights == given.weights[0]).all())
        weights = {} if equal else {"sample_weight": given.weights}
        fitted = clone(learner).fit(given.source, y, **weights)
    if not isinstance(getattr(fitted, "metric_", None), Metric):
        raise InvalidInputError(
            f"learner must have a metric_ for the columns of X once it is fitted, as CurvedLMNN() "
            f"has; {type(fitted).__name__} has none. What transforms the columns belongs in a "
            f"pipeline before this estimator."
        )
    return fitted


def select(
    geometry: str, learner: Any, rows: TrainingRows, trials: Trials, rng: np.random.Generator
) -> Chosen:
    """Learn the metric of a geometry, and choose what is to be chosen.

    With "auto" the learner's product competes with plain neighbours. With "auto", "product" and
    "mixed" the number of neighbours is chosen, and with "mixed" its α. Other geometries are learned
    from all rows, and nothing is held out.
    """
    constant = rows.targets is not None and not rows.targets.any()
    chooses = learner.geometry in ("product", "mixed") and not constant
    if chooses and len(rows.X) >= 60:  # of fewer, held-out ones cannot tell candidates apart
        if geometry == "mixed":
            return choose_alpha(learner, rows, trials, rng)
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
            learn, test = descent.focus(recipes[0].init, train, held_out)
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
            factor = descent.starting_factor(PLAIN[name], train, learner.n_components)
            coordinates = train.X @ factor.T, held_out.X @ factor.T
            found = trials.scores(trials.predict(train, held_out, *coordinates), held_out)
            scores.setdefault(name, []).append(found)
    weights = [held_out.weights for _, held_out in split]
    selection = choose_candidate(scores, weights, trials, trials.tried)
    selection = replace(selection, stages=stages)
    if selection.chosen != "product":
        metric = plain_metric(rows, PLAIN[selection.chosen], learner.n_components)
        return Chosen(metric, (), selection, len(rows))
    if len(split) > 1:
        (learn,) = descent.focus(recipes[0].init, rows)
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
    factor = descent.starting_factor(start, rows, n_components)
    return rows.to_metric(Parameters(factor, np.zeros(rows.n_columns), 0.0))


def choose_alpha(
    learner: Any, rows: TrainingRows, trials: Trials, rng: np.random.Generator
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
        some = places.take(even_rows(len(places.v), 2000))
        to_places = distances_of_terms(chords, queries, places)
        among = distances_of_terms(chords, places, some) if trials.are_local else None
        for share in choice.shares:
            alpha = choice.alpha(share, mixing)
            table = mixed_distances(alpha, to_places)
            near = None if among is None else mixed_distances(alpha, among)
            predicted = trials.predict_by_distance(train, held_out, table, near)
            scores.setdefault(choice.name(share), []).append(trials.scores(predicted, held_out))
    weights = [held_out.weights for _, held_out in split]
    selection = choose_candidate(scores, weights, trials, trials.numbers, tie=-choice.tie)
    mixing = learner._learn_mixed(rows, rng)
    # the trials by their α, which in units of the parts differs from fold to fold
    alphas = {choice.name(share): choice.alpha(share, mixing) for share in choice.shares}
    alpha = alphas[selection.chosen]
    trials_by_alpha = [
        replace(trial, name=f"α = {alphas[trial.name]:.3g}") for trial in selection.trials
    ]
    selection = replace(selection, chosen=f"α = {alpha:.3g}", trials=tuple(trials_by_alpha))
    return Chosen(mixing.metric(alpha), mixing.fits, selection, len(rows))


def distances_of_terms(
    chords: space.ChordSpace, queries: space.ChordRows, rows: space.ChordRows
) -> list[Floats]:
    """Return the distances of queries to rows in each part of a sum."""
    placed = zip(chords.terms, queries.x, rows.x, strict=True)
    return [np.asarray(term.metric.pairwise(x, y)) for term, x, y in placed]


def mixed_distances(alpha: float, distances: list[Floats]) -> Floats:
    """Return α d_E + (1 - α) d_H."""
    return np.asarray(alpha * distances[0] + (1 - alpha) * distances[1])


def choose_candidate(
    scores: dict[str, list[Floats]],
    weights: list[Floats],
    trials: Trials,
    numbers: tuple[int, ...],
    *,
    tie: float | None = None,
) -> Selection:
    """Choose between the first candidate and the best of the others, by their loss.

    `scores`, for each of the `numbers` of neighbours, and `weights` of held-out rows come fold by
    fold. The first wins where its loss is less by more than `tie` standard errors, by default
    `samples.TIE`: with a negative tie it also wins what is nearly equal.
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
