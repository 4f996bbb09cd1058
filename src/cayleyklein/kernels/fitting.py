"""How a sum of kernel machines and votes is fitted: folds, weights, and the choice of columns.

Up to `folds.FOLDS_UP_TO` points, three folds judge: metric, column weights and machines of a fold
are learned without its held-out rows; γ and λ are those that predict rows left out, one at a time.
More rows are fitted by `many_rows`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from cayleyklein._typing import AnyArray, Floats
from cayleyklein.kernels.columns import NormalScores
from cayleyklein.kernels.machine import EXACT_POINTS, Tuning
from cayleyklein.kernels.parts import (
    LEARNED,
    VOTING,
    FittedParts,
    PartFitter,
    counted_rows,
    pool_rows,
)
from cayleyklein.kernels.score_weights import ScoreSum
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.combined import Metric
from cayleyklein.selection import folds
from cayleyklein.selection.scorer import TIE, gain_of
from cayleyklein.selection.trials import Selection, Trial

CLEARLY = 2.0
"""Standard errors by which ranked columns must win by themselves to be tried with all parts."""


TAIL = 5.0
"""Standard deviations from the mean that a value of a heavy-tailed column reaches."""


class Task(Protocol):
    """Labels or numbers: what the parts are fitted to, and how their sum is judged."""

    @property
    def summing(self) -> ScoreSum: ...

    def targets(self, target: AnyArray) -> Floats:
        """Return what the machines are fitted to (n, t)."""

    def truth(self, target: AnyArray) -> AnyArray:
        """Return what a sum of scores is compared with, (n,) or (n, t)."""

    def votes(self, voters: Any, X: Floats, numbers: tuple[int, ...]) -> Floats:
        """Return the scores (n_numbers, m, t) by the votes of so many neighbours."""

    def default_neighbors(self, n: int) -> int:
        """Return the number of neighbours where no rows were held out."""


Learn = Callable[[GivenRows, str], tuple[Metric, Any]]
"""(rows, purpose) → metric, learner; the purpose is "fold", "all" or "sample"."""


class HeldOut(NamedTuple):
    """Scores of the parts for held-out rows, and the true targets."""

    scores: dict[str, Floats]  # (m, t)
    truth: AnyArray
    shares: Floats  # (m,), with sum 1
    n_rows: float  # held out: counted rows, or points
    n_neighbors: dict[str, int]  # with the least loss
    spreads: Floats  # (m,): standard deviations of the machines, in units of σ

    @classmethod
    def judged(
        cls, task: Task, fitter: PartFitter, scores: dict[str, Floats], rows: GivenRows,
        n_rows: float, spreads: Floats,
    ) -> HeldOut:  # fmt: skip
        """Choose the numbers of neighbours; scores of votes are (n_numbers, m, t)."""
        truth, shares = task.truth(rows.target), rows.weights / rows.weights.sum()
        scores, numbers = dict(scores), {}
        for name in VOTING & set(scores):
            losses = [task.summing.losses(each, truth) @ shares for each in scores[name]]
            best = int(np.argmin(losses))
            numbers[name], scores[name] = fitter.numbers[best], scores[name][best]
        return cls(scores, truth, shares, n_rows, numbers, spreads)

    def weights(self, task: Task, names: tuple[str, ...]) -> Floats:
        start = task.summing.start(names)
        counts = self.shares * self.n_rows
        return task.summing.weigh(self._of(names), self.truth, counts, start)

    def total(self, task: Task, names: tuple[str, ...]) -> Floats:
        """Return the best weighted sum (m, t) of some parts."""
        return np.asarray(np.tensordot(self.weights(task, names), self._of(names), 1))

    def losses(self, task: Task, names: tuple[str, ...]) -> Floats:
        return task.summing.losses(self.total(task, names), self.truth)

    def _of(self, names: tuple[str, ...]) -> Floats:
        return np.stack([self.scores[name] for name in names])


@dataclass(frozen=True)
class FittedSum:
    """Fitted parts, their weights, and how they were chosen."""

    weights: dict[str, float]
    parts: FittedParts
    metric: Metric | None
    learner: Any
    ranks: NormalScores | None
    selection: Selection
    n_neighbors: dict[str, int]
    held_out: HeldOut | None

    @classmethod
    def of(
        cls, task: Task, names: tuple[str, ...], held_out: HeldOut, parts: FittedParts,
        metric: Metric | None, learner: Any, ranks: NormalScores | None,
    ) -> FittedSum:  # fmt: skip
        """Weigh the parts by how they did on held-out rows."""
        found = dict(zip(names, held_out.weights(task, names).tolist(), strict=True))
        weights = {name: weight for name, weight in found.items() if weight > 0} or found
        selection = told_selection(task, held_out, names, "ranks: " if ranks else "")
        return cls(
            weights, parts, metric, learner, ranks, selection, held_out.n_neighbors, held_out
        )


def fit_by_folds(
    task: Task, fitter: PartFitter, given: GivenRows, learn: Learn, columns: str, seed: int
) -> FittedSum:
    """Fit the sum to rows in memory; `columns` are "standardised", "ranks", or chosen ("auto")."""
    if columns == "standardised":
        return fit_candidate(task, fitter, given, learn, seed, None)
    ranks = NormalScores.of(cast(Floats, given.X), given.weights)
    if columns == "ranks":
        return fit_candidate(task, fitter, given, learn, seed, ranks)
    plain = fit_candidate(task, fitter, given, learn, seed, None)
    if plain.held_out is None or not ranks_may_help(task, fitter, given, learn, seed, plain):
        return plain
    ranked = fit_candidate(task, fitter, given, learn, seed, ranks)
    assert ranked.held_out is not None
    losses = [each.losses(task, fitter.names) for each in (plain.held_out, ranked.held_out)]
    gain, error = gain_of(losses[0], losses[1], plain.held_out.shares)
    chosen, other = (ranked, plain) if gain > TIE * error else (plain, ranked)
    trials = other.selection.trials[-1:] + chosen.selection.trials
    return replace(chosen, selection=replace(chosen.selection, trials=trials))


def ranks_may_help(
    task: Task, fitter: PartFitter, given: GivenRows, learn: Learn, seed: int,
    plain: FittedSum | None = None,
) -> bool:  # fmt: skip
    """Say whether the columns' machine, which needs no metric, is clearly better on ranks.

    Only where a column has a value beyond `TAIL` standard deviations; ranks of other columns are
    much like the columns. At most `EXACT_POINTS` rows are asked.
    """
    X = cast(Floats, given.X)
    away = np.abs(X - X.mean(axis=0)).max(axis=0)
    if (away <= TAIL * X.std(axis=0)).all():
        return False
    fitter = replace(fitter, names=("columns",))
    if len(given.target) > EXACT_POINTS:
        X, target, weights = given.draw(EXACT_POINTS, 1, np.random.default_rng(seed))
        given, plain = replace(given, X=X, target=target, weights=weights), None
    if plain is None or plain.held_out is None or "columns" not in plain.held_out.scores:
        plain = fit_candidate(task, fitter, given, learn, seed, None)
    ranks = NormalScores.of(cast(Floats, given.X), given.weights)
    ranked = fit_candidate(task, fitter, given, learn, seed, ranks)
    if plain.held_out is None or ranked.held_out is None:
        return False
    losses = [each.losses(task, fitter.names) for each in (plain.held_out, ranked.held_out)]
    gain, error = gain_of(losses[0], losses[1], plain.held_out.shares)
    return gain > CLEARLY * error


def fit_candidate(
    task: Task, fitter: PartFitter, given: GivenRows, learn: Learn, seed: int,
    ranks: NormalScores | None,
) -> FittedSum:  # fmt: skip
    """Fit the parts to columns as they are, or to their ranks, and weigh them by folds."""
    if ranks is not None:
        X = ranks.transform(cast(Floats, given.X))
        given = replace(given, X=X, source=X)
    metric = learner = None
    if LEARNED & set(fitter.names):
        metric, learner = learn(given, "all")
    counts, counted = counted_rows(given)
    points = pool_rows(counts, task.targets(given.target), counted)
    parts = fitter.fit(given, points, metric)
    held_out = predict_folds(task, fitter, counts, counted, learn, parts.tunings, seed)
    if held_out is not None:
        return FittedSum.of(task, fitter.names, held_out, parts, metric, learner, ranks)
    names, n = fitter.names, len(points.X)
    numbers = {name: task.default_neighbors(n) for name in names if name in VOTING}
    reason = f"too few distinct rows, {n}, to hold some out"
    selection = Selection(" + ".join(names), reason, max(numbers.values(), default=0))
    weights = dict(zip(names, task.summing.start(names).tolist(), strict=True))
    return FittedSum(weights, parts, metric, learner, ranks, selection, numbers, None)


def predict_folds(
    task: Task, fitter: PartFitter, given: GivenRows, counted: bool, learn: Learn,
    tunings: dict[str, Tuning], seed: int,
) -> HeldOut | None:  # fmt: skip
    """Predict held-out rows, fold by fold; None where no fold has what it needs to learn."""
    scores: dict[str, list[Floats]] = {name: [] for name in fitter.names}
    held, spreads = [], []
    for train, rows in split_given(given, counted, seed):
        if given.classes is not None:  # a row of a class that the others lack judges nothing
            known = np.unique(train.target)
            some = np.isin(rows.target, known) & (len(known) > 1)
            rows = rows.take(np.flatnonzero(some))
        points = pool_rows(train, task.targets(train.target), counted)
        if not len(rows.target) or len(points.X) < 2:
            continue
        metric = None
        if LEARNED & set(fitter.names):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of classes of few rows, told for all rows
                metric, _ = learn(train, "fold")
        fitted = fitter.fit(train, points, metric, tunings)
        X = cast(Floats, rows.X)
        for name, machine in fitted.machines.items():
            scores[name].append(machine.scores(X))
        for name, voters in fitted.voters.items():
            scores[name].append(task.votes(voters, X, fitter.numbers))
        spreads.append(fitter.spread(fitted, X))
        held.append(rows)
    if not held:
        return None
    joined = {name: np.concatenate(each, axis=-2) for name, each in scores.items()}
    whole = reduce(GivenRows.joined, held)
    n = whole.weights.sum() if counted else len(np.unique(cast(Floats, whole.X), axis=0))
    return HeldOut.judged(task, fitter, joined, whole, float(n), np.concatenate(spreads))


def split_given(
    given: GivenRows, counted: bool, seed: int
) -> Iterator[tuple[GivenRows, GivenRows]]:
    """Yield training and held-out rows, every class spread evenly.

    Counted rows are held out one by one, also those of a weight above 1: what a table of a few
    categories repeats, new rows will repeat. Where weights are not counts, points are held out with
    all their rows.
    """
    given = given.take(np.flatnonzero(given.weights > 0))
    X, target = cast(Floats, given.X), given.target.reshape(len(given.target), -1)
    keyed = np.column_stack([X, target]) if counted else X
    _, first, group = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    labels = given.labels[first]
    if not counted:
        part, n_folds = folds.spread_points(labels, np.random.default_rng(seed))
        for fold in range(n_folds):
            mine = part[group] == fold
            yield given.take(np.flatnonzero(~mine)), given.take(np.flatnonzero(mine))
        return
    mass: Floats = np.bincount(group, weights=given.weights).astype(float)
    merged = replace(given.take(first), weights=mass)
    unit = np.repeat(np.arange(len(mass)), mass.astype(np.intp))
    part, n_folds = folds.spread_points(labels[unit], np.random.default_rng(seed))
    for fold in range(n_folds):
        out: Floats = np.bincount(unit[part == fold], minlength=len(mass)).astype(float)
        pair = (replace(merged, weights=weights) for weights in (mass - out, out))
        train, rows = (each.take(np.flatnonzero(each.weights > 0)) for each in pair)
        yield train, rows


def told_selection(task: Task, held_out: HeldOut, names: tuple[str, ...], prefix: str) -> Selection:
    """Say how each part did alone, and all together."""
    trials = {}
    for some in [*((name,) for name in names), names]:
        total = held_out.total(task, some)
        scores = task.summing.named(total, held_out.truth, held_out.shares)
        k = max((held_out.n_neighbors.get(name, 0) for name in some), default=0)
        trials[some] = Trial(prefix + " + ".join(some), k, scores)
    best = trials[names]
    score, value = next(iter(best.scores.items()))
    reason = f"{score} {value:.3f} on {len(held_out.truth)} held-out rows"
    k = held_out.n_neighbors.get("neighbors", best.n_neighbors)
    return Selection(best.name, reason, k, tuple(trials.values()))
