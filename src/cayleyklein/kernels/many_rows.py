"""The sum of machines and votes for many rows, in memory or on a cluster.

Some rows are held out once. The metric and the weights of columns are learned from a sample of the
others, the machines are fitted to all others by landmarks, and the held-out rows choose γ, λ, the
number of landmarks and the weights of the parts. At the end the held-out rows are added.
"""

from dataclasses import replace
from typing import cast

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.kernels import landmarks
from cayleyklein.kernels.columns import NormalScores
from cayleyklein.kernels.fitting import ranks_may_help
from cayleyklein.kernels.machine import (
    EXACT_POINTS,
    Distance,
    KernelMachine,
    TargetPoints,
    Tuning,
    fit_machine,
)
from cayleyklein.kernels.parts import FittedSum, HeldOut, PartFitter, pool_rows, spread_of
from cayleyklein.kernels.sums import LEARNED
from cayleyklein.learning import sampling
from cayleyklein.learning.rows import GivenRows, distinct_rows
from cayleyklein.selection import folds

# Rows and landmarks of the fits that choose between two γ.
TRIAL_ROWS, TRIAL_LANDMARKS = 20_000, 500

# Rows among which held-out rows have their neighbours while the parts are weighed.
VOTING_ROWS = 50_000

# Factor of the γ that a sample chose, tried too: with more rows, nearer ones can decide.
NARROWER = 3.0

RANK_ROWS = 10_000  # rows whose ranks are the scores of columns


def fit_many(fitter: PartFitter, given: GivenRows, columns: str, wanted: int | None) -> FittedSum:
    """Fit the sum; with `wanted` landmarks, or as many as earn it."""
    rng, task = np.random.default_rng(fitter.seed), fitter.task
    given = replace(given, weights=given.weights / given.weights[given.weights > 0].mean())
    ranks = None
    if columns != "standardised":
        sample = drawn(given, EXACT_POINTS, rng)
        if columns == "ranks" or ranks_may_help(fitter, sample):
            some = drawn(given, RANK_ROWS, rng)
            ranks = NormalScores.of(cast(Floats, some.X), some.weights)
            given = ranked_rows(given, ranks)
    kept = np.flatnonzero(given.weights > 0)
    size = min(folds.MOST_HELD_OUT, int(folds.HELD_OUT_SHARE * len(kept)))
    held = kept[sampling.draw(given.labels[kept], size, 0, rng)]
    weights = given.weights.copy()
    weights[held] = 0.0
    rest, held_out = replace(given, weights=weights), rows_in_memory(given, held)
    learned = bool(LEARNED & set(fitter.names))
    metric, learner = fitter.learn(rest, "sample") if learned else (None, None)
    sample = drawn(rest, EXACT_POINTS, rng)
    points = pool_rows(sample, task.targets(sample.target), False)
    X, some = cast(Floats, held_out.X), drawn(rest, VOTING_ROWS, rng)
    scores: dict[str, Floats] = {
        name: task.of_votes(voters._by_number(X, fitter.numbers))
        for name, voters in fitter.voters(some, metric).items()
    }
    machines: dict[str, KernelMachine] = {}
    for name, distance in fitter.distances(points, metric).items():
        machines[name], scores[name] = fit_part(
            fitter, distance, points, rest, held_out, wanted, rng
        )
    spreads = spread_of(task, machines, X)
    judged = HeldOut.judged(fitter, scores, held_out, len(held), spreads)
    voters = fitter.voters(given, metric)
    return FittedSum.weighed(fitter.names, judged, machines, voters, metric, learner, ranks)


def fit_part(
    fitter: PartFitter, distance: Distance, points: TargetPoints, rest: GivenRows,
    held_out: GivenRows, wanted: int | None, rng: np.random.Generator,
) -> tuple[KernelMachine, Floats]:  # fmt: skip
    """Fit one machine by landmarks.

    γ is the sample's or a narrower one, by a small trial, and λ is about the best of the trial.
    """
    gammas, ridges, targets = fitter.gammas, fitter.ridges, fitter.task.targets
    tunings = [Tuning(gamma, ridge) for gamma in gammas for ridge in ridges]
    held_targets = targets(held_out.target)
    if len(tunings) > 1:
        start = fit_machine(distance, points, None, gammas, ridges).tuning.gamma
        tried = {start, NARROWER * start} if len(gammas) > 1 else {start}
        tunings = [Tuning(gamma, ridge) for gamma in sorted(tried) for ridge in ridges]
        trial = drawn(rest, TRIAL_ROWS, rng)
        machine, _ = landmarks.fit_landmarks(
            distance, *drawn_landmarks(rest, TRIAL_LANDMARKS, rng), trial, held_out,
            targets(trial.target), held_targets, tunings,
        )  # fmt: skip
        gamma, at = machine.tuning.gamma, ridges.index(machine.tuning.ridge)
        tunings = [Tuning(gamma, ridge) for ridge in ridges[max(0, at - 1) : at + 2]]
    m = landmarks.n_landmarks(int((rest.weights > 0).sum()), wanted)
    return landmarks.fit_landmarks(
        distance, *drawn_landmarks(rest, m, rng), rest, held_out, targets(rest.target),
        held_targets, tunings,
    )  # fmt: skip


def drawn(given: GivenRows, size: int, rng: np.random.Generator) -> GivenRows:
    """Return a sample of rows of positive weight, by class, in memory."""
    X, target, weights = given.draw(size, 1, rng)
    return replace(given, X=X, target=target, weights=weights, source=X, always=None, searched=None)


def drawn_landmarks(given: GivenRows, size: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return distinct rows in a random order, drawn by class, and their numbers."""
    kept = np.flatnonzero(given.weights > 0)
    numbers = kept[sampling.draw(given.labels[kept], size, 1, rng)]
    X = cast(Floats, rows_in_memory(given, numbers).X)
    first, _ = distinct_rows(X)
    order = rng.permutation(first)[:size]
    return np.ascontiguousarray(X[order]), numbers[order]


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
    return given.mapped(ranks.transform)
