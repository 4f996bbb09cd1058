"""The parts of a sum of scores, fitted to some rows: kernel machines, and neighbours' votes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from cayleyklein._typing import AnyArray, Floats
from cayleyklein.kernels.columns import NormalScores
from cayleyklein.kernels.machine import (
    GAMMAS,
    RIDGES,
    Distance,
    KernelMachine,
    MetricDistance,
    TargetPoints,
    standard_weights,
    weigh_columns,
)
from cayleyklein.kernels.sums import VOTING, LabelSum, ScoreSum
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.metrics.combined import Metric
from cayleyklein.prediction.points import Points
from cayleyklein.selection.scores import NEIGHBORS, gain_of
from cayleyklein.selection.trials import Selection, Trial

MOST_COPIES = 100  # mean number of rows that weights may stand for
PLAIN_ROWS = 100_000  # rows whose standard deviations are the units of columns for plain neighbours

Learn = Callable[[GivenRows, str], tuple[Metric, Any]]
"""(rows, purpose) → metric, learner; the purpose is "fold", "all" or "sample"."""


def pool_rows(given: GivenRows, targets: Floats, counted: bool) -> TargetPoints:
    """Pool equal rows of positive weight in memory; if `counted`, weights are numbers of rows."""
    X = cast(Floats, given.X)
    points = Points.pooled(X, given.weights, ordered=True)
    mass, mean = points.means(targets, given.weights)
    if not counted:
        ones, weights = np.ones(len(mass)), mass * (len(mass) / mass.sum())
        return TargetPoints(X[points.rows], mean, weights, ones, 0 * ones, points.rows)
    kept = points.of_rows >= 0
    place = points.of_rows[kept]
    away = ((targets[kept] - mean[place]) ** 2).sum(axis=1) * given.weights[kept]
    spreads: Floats = np.bincount(place, weights=away) / mass
    return TargetPoints(X[points.rows], mean, mass, mass, spreads, points.rows)


def counted_rows(given: GivenRows) -> tuple[GivenRows, bool]:
    """Return rows whose weights are numbers of rows, if the given ones can be.

    They can where each is a multiple of the least, at most `MOST_COPIES` times as large on average:
    then a weight of 2 is two rows, and a common factor changes nothing. Other weights say how much
    a row counts, not how often it was seen.
    """
    kept = given.weights > 0
    counts = given.weights / given.weights[kept].min()
    whole = np.rint(counts)
    if not np.allclose(counts, whole, rtol=1e-9, atol=0) or whole.sum() > MOST_COPIES * kept.sum():
        return given, False
    return replace(given, weights=whole), True


@dataclass(frozen=True)
class PartFitter:
    """What is fitted: the parts, what they are fitted to, and what is tried."""

    task: ScoreSum
    names: tuple[str, ...]
    learn: Learn
    make_neighbors: Callable[[GivenRows, Metric], Any]
    default_neighbors: Callable[[int], int]
    seed: int
    gammas: tuple[float, ...] = GAMMAS
    ridges: tuple[float, ...] = RIDGES
    numbers: tuple[int, ...] = NEIGHBORS  # of neighbours

    def distances(self, points: TargetPoints, metric: Metric | None) -> dict[str, Distance]:
        """Return the distance of each machine."""
        return {
            name: weigh_columns(points)
            if name == "columns"
            else MetricDistance(cast(Metric, metric))
            for name in self.names
            if name not in VOTING
        }

    def voters(self, given: GivenRows, metric: Metric | None) -> dict[str, Any]:
        """Fit the neighbours' estimators to rows, in memory or on a cluster."""
        return {
            name: self.make_neighbors(
                given, standard_metric(given) if name == "plain" else cast(Metric, metric)
            )
            for name in self.names
            if name in VOTING
        }


@dataclass(frozen=True)
class HeldOut:
    """Scores (m, t) of the parts for held-out rows, and the true targets."""

    task: ScoreSum
    scores: dict[str, Floats]
    truth: AnyArray
    shares: Floats  # (m,), with sum 1
    n_rows: float  # held out: counted rows, or points
    n_neighbors: dict[str, int]  # with the least loss
    spreads: Floats  # (m,): standard deviations of the machines, in units of σ

    @classmethod
    def judged(
        cls, fitter: PartFitter, scores: dict[str, Floats], rows: GivenRows, n_rows: float,
        spreads: Floats,
    ) -> Self:  # fmt: skip
        """Choose the numbers of neighbours; scores of votes are (n_numbers, m, t)."""
        task, scores, numbers = fitter.task, dict(scores), {}
        truth, shares = task.truth(rows.target), rows.weights / rows.weights.sum()
        for name in VOTING & set(scores):
            losses = [task.losses(each, truth) @ shares for each in scores[name]]
            best = int(np.argmin(losses))
            numbers[name], scores[name] = fitter.numbers[best], scores[name][best]
        return cls(task, scores, truth, shares, n_rows, numbers, spreads)

    def weigh(self, names: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the best weights (p,) of some parts, and their sum (m, t)."""
        scores = np.stack([self.scores[name] for name in names])
        counts = self.shares * self.n_rows
        weights = self.task.weigh(scores, self.truth, counts, self.task.start(names))
        return weights, np.asarray(np.tensordot(weights, scores, 1))

    def gain_by(self, other: Self, names: tuple[str, ...]) -> tuple[float, float]:
        """Return how much less the loss of the other's sum is, and the standard error of that."""
        losses = [each.task.losses(each.weigh(names)[1], each.truth) for each in (self, other)]
        return gain_of(losses[0], losses[1], self.shares)

    def selection(self, names: tuple[str, ...], prefix: str) -> Selection:
        """Say how each part did alone, and all together."""
        trials = []
        for some in dict.fromkeys([*((name,) for name in names), names]):
            scores = self.task.named(self.weigh(some)[1], self.truth, self.shares)
            k = max((self.n_neighbors.get(name, 0) for name in some), default=0)
            trials.append(Trial(prefix + " + ".join(some), k, scores))
        score, value = next(iter(trials[-1].scores.items()))
        reason = f"{score} {value:.3f} on {len(self.truth)} held-out rows"
        k = self.n_neighbors.get("neighbors", trials[-1].n_neighbors)
        return Selection(trials[-1].name, reason, k, tuple(trials))


@dataclass(frozen=True)
class FittedSum:
    """Machines and neighbours' estimators by their parts, their weights, and what was chosen."""

    machines: dict[str, KernelMachine]
    voters: dict[str, Any]
    metric: Metric | None
    learner: Any
    ranks: NormalScores | None
    weights: dict[str, float]
    n_neighbors: dict[str, int]
    selection: Selection
    held_out: HeldOut | None = None

    @classmethod
    def weighed(
        cls, names: tuple[str, ...], held_out: HeldOut, machines: dict[str, KernelMachine],
        voters: dict[str, Any], metric: Metric | None, learner: Any, ranks: NormalScores | None,
    ) -> Self:  # fmt: skip
        """Weigh the parts by how they did on held-out rows."""
        found = dict(zip(names, held_out.weigh(names)[0].tolist(), strict=True))
        weights = {name: weight for name, weight in found.items() if weight > 0} or found
        selection = held_out.selection(names, "ranks: " if ranks else "")
        return cls(
            machines, voters, metric, learner, ranks, weights, held_out.n_neighbors, selection,
            held_out,
        )  # fmt: skip


def spread_of(task: ScoreSum, machines: dict[str, KernelMachine], X: Floats) -> Floats:
    """Return the standard deviation (m,) of new numbers, in units of σ, by the machines."""
    if not machines or isinstance(task, LabelSum):
        return np.ones(len(X))
    variances = [machine.variances(X) for machine in machines.values()]
    return np.asarray(np.sqrt(np.mean(variances, axis=0)))


def standard_metric(given: GivenRows) -> CurvedMetric:
    """Return the flat metric of standardised columns; of Dask rows by a sample."""
    X, _, weights = given.draw(PLAIN_ROWS, 1, np.random.default_rng(0))
    return CurvedMetric(factor=standard_weights(X, weights))
