"""The sum of machines and votes for many rows, in memory or on a cluster.

Some rows are held out once. The metric and the weights of columns are learned from a sample of the
others, the machines are fitted to all others by landmarks, and the held-out rows choose γ, λ, the
number of landmarks and the weights of the parts. At the end the held-out rows are added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.kernels.columns import NormalScores
from cayleyklein.kernels.fitting import FittedSum, HeldOut, Learn, Task, ranks_may_help
from cayleyklein.kernels.landmarks import fit_landmarks, n_landmarks
from cayleyklein.kernels.machine import (
    EXACT_POINTS,
    Distance,
    KernelMachine,
    MetricDistance,
    TargetPoints,
    Tuning,
    fit_machine,
    weigh_columns,
)
from cayleyklein.kernels.parts import LEARNED, VOTING, FittedParts, PartFitter, pool_rows
from cayleyklein.learning import sampling
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.metrics.combined import Metric
from cayleyklein.selection import folds

TRIAL_ROWS, TRIAL_LANDMARKS = 20_000, 500
"""Rows and landmarks of the fits that choose between two γ."""

VOTING_ROWS = 50_000
"""Rows among which held-out rows have their neighbours while the parts are weighed."""

NARROWER = 3.0
"""Factor of the γ that a sample chose, tried too: with more rows, nearer ones can decide."""

RANK_ROWS = 10_000
"""Rows whose ranks are the scores of columns."""


def fit_many(
    task: Task, fitter: PartFitter, given: GivenRows, learn: Learn, columns: str, seed: int,
    wanted: int | None,
) -> FittedSum:  # fmt: skip
    """Fit the sum; with `wanted` landmarks, or as many as earn it."""
    rng = np.random.default_rng(seed)
    given = replace(given, weights=given.weights / given.weights[given.weights > 0].mean())
    ranks = None
    if columns != "standardised":
        sample = drawn(given, EXACT_POINTS, rng)
        if columns == "ranks" or ranks_may_help(task, fitter, sample, learn, seed):
            some = drawn(given, RANK_ROWS, rng)
            ranks = NormalScores.of(cast(Floats, some.X), some.weights)
            given = ranked_rows(given, ranks)
    held = held_out_rows(given, rng)
    weights = given.weights.copy()
    weights[held] = 0.0
    rest = replace(given, weights=weights)
    held_out = rows_in_memory(given, held)
    metric = learner = None
    if LEARNED & set(fitter.names):
        metric, learner = learn(rest, "sample")
    sample = drawn(rest, EXACT_POINTS, rng)
    points = pool_rows(sample, task.targets(sample.target), False)
    X = cast(Floats, held_out.X)
    some = drawn(rest, VOTING_ROWS, rng)
    scores: dict[str, Floats] = {
        name: task.votes(voters, X, fitter.numbers)
        for name, voters in fitter.voters(some, metric).items()
    }
    machines: dict[str, KernelMachine] = {}
    for name in fitter.names:
        if name in VOTING:
            continue
        distance: Distance = MetricDistance(cast(Metric, metric))
        if name == "columns":
            distance = weigh_columns(points)
        machines[name], scores[name] = fit_part(
            task, fitter, distance, points, rest, held_out, wanted, rng
        )
    voters = fitter.voters(given, metric)
    parts = FittedParts(machines, voters)
    spreads = fitter.spread(parts, X)
    judged = HeldOut.judged(task, fitter, scores, held_out, len(held), spreads)
    return FittedSum.of(task, fitter.names, judged, parts, metric, learner, ranks)


def fit_part(
    task: Task, fitter: PartFitter, distance: Distance, points: TargetPoints, rest: GivenRows,
    held_out: GivenRows, wanted: int | None, rng: np.random.Generator,
) -> tuple[KernelMachine, Floats]:  # fmt: skip
    """Fit one machine by landmarks.

    γ is the sample's or a narrower one, by a small trial, and λ is about the best of the trial.
    """
    held_targets = task.targets(held_out.target)
    tunings = [Tuning(gamma, ridge) for gamma in fitter.gammas for ridge in fitter.ridges]
    if len(tunings) > 1:
        start = fit_machine(distance, points, None, fitter.gammas, fitter.ridges).tuning
        gammas = {start.gamma, NARROWER * start.gamma} if len(fitter.gammas) > 1 else {start.gamma}
        tunings = [Tuning(gamma, ridge) for gamma in sorted(gammas) for ridge in fitter.ridges]
        trial = drawn(rest, TRIAL_ROWS, rng)
        machine, _ = fit_landmarks(
            distance, *drawn_landmarks(rest, TRIAL_LANDMARKS, rng), trial, held_out,
            task.targets(trial.target), held_targets, tunings,
        )  # fmt: skip
        at = fitter.ridges.index(machine.tuning.ridge)
        tunings = [
            Tuning(machine.tuning.gamma, ridge) for ridge in fitter.ridges[max(0, at - 1) : at + 2]
        ]
    m = n_landmarks(int((rest.weights > 0).sum()), wanted)
    return fit_landmarks(
        distance, *drawn_landmarks(rest, m, rng), rest, held_out, task.targets(rest.target),
        held_targets, tunings,
    )  # fmt: skip


def drawn(given: GivenRows, size: int, rng: np.random.Generator) -> GivenRows:
    """Return a sample of rows of positive weight, by class, in memory."""
    X, target, weights = given.draw(size, 1, rng)
    return replace(given, X=X, target=target, weights=weights, source=X, always=None)


def drawn_landmarks(given: GivenRows, size: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return distinct rows in a random order, drawn by class, and their numbers."""
    kept = np.flatnonzero(given.weights > 0)
    numbers = kept[sampling.draw(given.labels[kept], size, 1, rng)]
    X = cast(Floats, rows_in_memory(given, numbers).X)
    first, _ = distinct_rows(X)
    order = rng.permutation(first)[:size]
    return np.ascontiguousarray(X[order]), numbers[order]


def held_out_rows(given: GivenRows, rng: np.random.Generator) -> Ints:
    """Return the numbers of rows to hold out, from each class by its share."""
    kept = np.flatnonzero(given.weights > 0)
    size = min(folds.MOST_HELD_OUT, int(folds.HELD_OUT_SHARE * len(kept)))
    return np.asarray(kept[sampling.draw(given.labels[kept], size, 0, rng)])


def rows_in_memory(given: GivenRows, numbers: Ints) -> GivenRows:
    if not isinstance(given.X, RowBlocks):
        return given.take(numbers)
    X = _distributed.rows_at(given.X, numbers)
    return replace(
        given, X=X, target=given.target[numbers], weights=given.weights[numbers], source=X
    )


def ranked_rows(given: GivenRows, ranks: NormalScores) -> GivenRows:
    """Return the rows with their columns as scores of ranks; Dask rows where they are."""
    if isinstance(given.X, RowBlocks):
        blocks = [_distributed.task(ranks.transform, block) for block in given.X.blocks]
        return replace(given, X=given.X._replace(blocks=blocks))
    X = ranks.transform(given.X)
    return replace(given, X=X, source=X)
