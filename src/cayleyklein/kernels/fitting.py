"""How a sum of kernel machines and votes is fitted to few rows: folds, and the choice of columns.

Up to `folds.FOLDS_UP_TO` points, three folds judge: metric, column weights and machines of a fold
are learned without its held-out rows; γ and λ are those that predict rows left out, one at a time.
More rows are fitted by `many_rows`.
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import cast

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.kernels.columns import NormalScores
from cayleyklein.kernels.machine import EXACT_POINTS, Tuning, fit_machine
from cayleyklein.kernels.parts import (
    FittedSum,
    HeldOut,
    PartFitter,
    counted_rows,
    pool_rows,
    spread_of,
)
from cayleyklein.kernels.sums import LEARNED
from cayleyklein.learning.rows import GivenRows
from cayleyklein.selection import folds
from cayleyklein.selection.scores import TIE
from cayleyklein.selection.trials import Selection

# Standard errors by which ranked columns must win by themselves to be tried with all parts.
CLEARLY = 2.0

TAIL = 5.0  # standard deviations from the mean that a value of a heavy-tailed column reaches


def fit_by_folds(fitter: PartFitter, given: GivenRows, columns: str) -> FittedSum:
    """Fit the sum to rows in memory; `columns` are "standardised", "ranks", or chosen ("auto")."""
    if columns != "auto":
        return fit_candidate(fitter, given, columns == "ranks")
    plain = fit_candidate(fitter, given)
    if plain.held_out is None or not ranks_may_help(fitter, given, plain):
        return plain
    ranked = fit_candidate(fitter, given, ranked=True)
    assert ranked.held_out is not None
    gain, error = plain.held_out.gain_by(ranked.held_out, fitter.names)
    chosen, other = (ranked, plain) if gain > TIE * error else (plain, ranked)
    trials = other.selection.trials[-1:] + chosen.selection.trials
    return replace(chosen, selection=replace(chosen.selection, trials=trials))


def ranks_may_help(fitter: PartFitter, given: GivenRows, plain: FittedSum | None = None) -> bool:
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
        X, target, weights = given.draw(EXACT_POINTS, 1, np.random.default_rng(fitter.seed))
        given = replace(given, X=X, target=target, weights=weights, searched=None)
        plain = None
    if plain is None or plain.held_out is None or "columns" not in plain.held_out.scores:
        plain = fit_candidate(fitter, given)
    ranked = fit_candidate(fitter, given, ranked=True)
    if plain.held_out is None or ranked.held_out is None:
        return False
    gain, error = plain.held_out.gain_by(ranked.held_out, fitter.names)
    return gain > CLEARLY * error


def fit_candidate(fitter: PartFitter, given: GivenRows, ranked: bool = False) -> FittedSum:
    """Fit the parts to columns as they are, or to their ranks, and weigh them by folds."""
    ranks = NormalScores.of(cast(Floats, given.X), given.weights) if ranked else None
    if ranks is not None:
        given = given.mapped(ranks.transform)
    task, names = fitter.task, fitter.names
    metric, learner = fitter.learn(given, "all") if LEARNED & set(names) else (None, None)
    counts, counted = counted_rows(given)
    points = pool_rows(counts, task.targets(given.target), counted)
    machines = {
        name: fit_machine(distance, points, None, fitter.gammas, fitter.ridges)
        for name, distance in fitter.distances(points, metric).items()
    }
    voters = fitter.voters(given, metric)
    tunings = {name: machine.tuning for name, machine in machines.items()}
    held_out = predict_folds(fitter, counts, counted, tunings)
    if held_out is not None:
        return FittedSum.weighed(names, held_out, machines, voters, metric, learner, ranks)
    n = len(points.X)
    numbers = {name: fitter.default_neighbors(n) for name in voters}
    reason = f"too few distinct rows, {n}, to hold some out"
    selection = Selection(" + ".join(names), reason, max(numbers.values(), default=0))
    weights = dict(zip(names, task.start(names).tolist(), strict=True))
    return FittedSum(machines, voters, metric, learner, ranks, weights, numbers, selection)


def predict_folds(
    fitter: PartFitter, given: GivenRows, counted: bool, tunings: dict[str, Tuning]
) -> HeldOut | None:
    """Predict held-out rows, fold by fold; None where no fold has what it needs to learn."""
    task = fitter.task
    scores: dict[str, list[Floats]] = {name: [] for name in fitter.names}
    held, spreads = [], []
    for train, rows in split_given(given, counted, fitter.seed):
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
                metric, _ = fitter.learn(train, "fold")
        X, machines = cast(Floats, rows.X), {}
        for name, distance in fitter.distances(points, metric).items():
            machines[name] = fit_machine(distance, points, tunings[name])
            scores[name].append(machines[name].scores(X))
        for name, voters in fitter.voters(train, metric).items():
            scores[name].append(task.of_votes(voters._by_number(X, fitter.numbers)))
        spreads.append(spread_of(task, machines, X))
        held.append(rows)
    if not held:
        return None
    joined = {name: np.concatenate(each, axis=-2) for name, each in scores.items()}
    whole = reduce(GivenRows.joined, held)
    n = whole.weights.sum() if counted else len(np.unique(cast(Floats, whole.X), axis=0))
    return HeldOut.judged(fitter, joined, whole, float(n), np.concatenate(spreads))


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
    unit = np.arange(len(first))
    if counted:  # one unit for each copy of a point
        mass: Floats = np.bincount(group, weights=given.weights).astype(float)
        given = replace(given.take(first), weights=mass)
        unit, group = np.repeat(unit, mass.astype(np.intp)), unit
        first = group
    part, n_folds = folds.spread_points(given.labels[first][unit], np.random.default_rng(seed))
    for fold in range(n_folds):
        if counted:
            out: Floats = np.bincount(unit[part == fold], minlength=len(first)).astype(float)
        else:
            out = np.where(part[group] == fold, given.weights, 0.0)
        pair = (replace(given, weights=weights) for weights in (given.weights - out, out))
        train, rows = (each.take(np.flatnonzero(each.weights > 0)) for each in pair)
        yield train, rows
