"""How a sum of kernel machines and votes is fitted: its parts, folds, and the choice of columns.

Up to `procedure.FOLDS_UP_TO` points, three folds judge: metric, column weights and machines of a
fold are learned without its held-out rows; γ and λ are those that predict rows left out, one at a
time. More rows are fitted by `landmarks`.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self, cast

import numpy as np

from cayleyklein._typing import AnyArray, Floats
from cayleyklein.kernels import machine
from cayleyklein.kernels.machine import Distance, KernelMachine, NormalScores, TargetPoints, Tuning
from cayleyklein.kernels.sums import LEARNED, VOTING, LabelSum, ScoreSum, start_weights
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, Metric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.prediction.points import Points
from cayleyklein.prediction.tasks import obtain_metric
from cayleyklein.selection import procedure
from cayleyklein.selection.scores import TIE, gain_of

CLEARLY = 2.0  # standard errors by which ranked columns must win alone to be tried with all parts
TAIL = 5.0  # standard deviations from the mean that a value of a heavy-tailed column reaches
MOST_COPIES = 100  # mean number of rows that weights may stand for
PLAIN_ROWS = 100_000  # rows whose standard deviations are the units of columns for plain neighbours


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

    estimator: Any
    task: ScoreSum
    names: tuple[str, ...]
    seed: int
    gammas: tuple[float, ...]
    ridges: tuple[float, ...]
    numbers: tuple[int, ...]  # of neighbours

    def learn(self, rows: GivenRows, purpose: str) -> tuple[Metric | None, Any]:
        """Return metric and learner, if a part needs them, for a "fold", "all" or a "sample"."""
        if not LEARNED & set(self.names):
            return None, None
        geometry, how = self.estimator.geometry, dict[str, Any](random_state=self.seed)
        how["geometry"] = "product" if geometry == "auto" else geometry
        how |= {"callback": None, "verbose": False} if purpose == "fold" else {}
        return obtain_metric(self.estimator, rows, purpose == "sample", **how)[:2]

    def distances(self, points: TargetPoints, metric: Metric | None) -> dict[str, Distance]:
        made: dict[str, Callable[[], Distance]] = {
            "metric": lambda: machine.metric_distance(cast(Metric, metric)),
            "columns": lambda: machine.weigh_columns(points),
        }
        return {name: made[name]() for name in self.names if name in made}

    def voters(self, given: GivenRows, metric: Metric | None) -> dict[str, Any]:
        """Fit the neighbours' estimators to rows, in memory or on a cluster."""
        found = {}
        for name in (name for name in self.names if name in VOTING):
            known = standard_metric(given) if name == "plain" else metric
            found[name] = self.estimator._make_voters(given, known)
        return found

    def vote(self, given: GivenRows, metric: Metric | None, X: Floats) -> dict[str, Floats]:
        """Return the scores (n_numbers, m, t) of rows X by their neighbours among given rows."""
        found = self.voters(given, metric).items()
        return {n: self.task.of_votes(each._by_number(X, self.numbers)) for n, each in found}


class HeldOut:
    """Scores (m, t) of the parts for held-out rows, and the true targets."""

    def __init__(
        self, fitter: PartFitter, scores: dict[str, Floats], rows: GivenRows, n_rows: float,
        spreads: Floats,
    ) -> None:  # fmt: skip
        """Choose the numbers of neighbours; scores of votes are (n_numbers, m, t)."""
        self.task, self.scores, self.n_rows = fitter.task, dict(scores), n_rows
        self.truth: AnyArray = rows.target
        if not isinstance(self.task, LabelSum):
            self.truth = self.task.targets(rows.target)
        self.shares = rows.weights / rows.weights.sum()
        self.spreads = spreads  # (m,): standard deviations of the machines, in units of σ
        self.n_neighbors = {}  # with the least loss
        for name in VOTING & set(scores):
            losses = [self.task.losses(each, self.truth) @ self.shares for each in scores[name]]
            best = int(np.argmin(losses))
            self.n_neighbors[name], self.scores[name] = fitter.numbers[best], scores[name][best]

    def weigh(self, names: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the best weights (p,) of some parts, and their sum (m, t)."""
        scores = np.stack([self.scores[name] for name in names])
        counts = self.shares * self.n_rows
        weights = self.task.weigh(scores, self.truth, counts, start_weights(self.task, names))
        return weights, np.asarray(np.tensordot(weights, scores, 1))

    def gain_by(self, other: Self, names: tuple[str, ...]) -> tuple[float, float]:
        """Return how much less the loss of the other's sum is, and the standard error of that."""
        losses = [each.task.losses(each.weigh(names)[1], each.truth) for each in (self, other)]
        return gain_of(losses[0], losses[1], self.shares)

    def selection(self, names: tuple[str, ...], prefix: str) -> procedure.Selection:
        """Say how each part did alone, and all together."""
        trials = []
        for some in dict.fromkeys([*((name,) for name in names), names]):
            scores = self.task.named(self.weigh(some)[1], self.truth, self.shares)
            k = max((self.n_neighbors.get(name, 0) for name in some), default=0)
            trials.append(procedure.Trial(prefix + " + ".join(some), k, scores))
        score, value = next(iter(trials[-1].scores.items()))
        reason = f"{score} {value:.3f} on {len(self.truth)} held-out rows"
        k = self.n_neighbors.get("neighbors", trials[-1].n_neighbors)
        return procedure.Selection(trials[-1].name, reason, k, tuple(trials))


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
    selection: procedure.Selection
    held_out: HeldOut | None = None

    @classmethod
    def weighed(
        cls, fitter: PartFitter, given: GivenRows, held_out: HeldOut,
        machines: dict[str, KernelMachine], metric: Metric | None, learner: Any,
        ranks: NormalScores | None,
    ) -> Self:  # fmt: skip
        """Weigh the parts by how they did on held-out rows; fit neighbours to all rows given.

        Plain neighbours without weight are not fitted, those in the metric are for `kneighbors`.
        """
        names = fitter.names
        found = dict(zip(names, held_out.weigh(names)[0].tolist(), strict=True))
        weights = {name: weight for name, weight in found.items() if weight > 0} or found
        used = tuple(name for name in names if name in weights or name != "plain")
        voters = replace(fitter, names=used).voters(given, metric)
        selection = held_out.selection(names, "ranks: " if ranks else "")
        return cls(
            machines, voters, metric, learner, ranks, weights, held_out.n_neighbors, selection,
            held_out,
        )  # fmt: skip


def spread_of(task: ScoreSum, machines: dict[str, KernelMachine], X: Floats) -> Floats:
    """Return the standard deviation (m,) of new numbers, in units of σ, by the machines."""
    if not machines or isinstance(task, LabelSum):
        return np.ones(len(X))
    variances = [each.variances(X) for each in machines.values()]
    return np.asarray(np.sqrt(np.mean(variances, axis=0)))


def standard_metric(given: GivenRows) -> CurvedMetric:
    kept = np.flatnonzero(given.weights > 0)
    some = given.take(kept[even_rows(len(kept), PLAIN_ROWS)])
    return CurvedMetric(factor=machine.standard_weights(cast(Floats, some.X), some.weights))


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
    if len(given.target) > machine.EXACT_POINTS:
        rng = np.random.default_rng(fitter.seed)
        given, plain = given.draw(machine.EXACT_POINTS, 1, rng), None
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
    metric, learner = fitter.learn(given, "all")
    counts, counted = counted_rows(given)
    points = pool_rows(counts, task.targets(given.target), counted)
    machines = {
        name: machine.fit_machine(distance, points, None, fitter.gammas, fitter.ridges)
        for name, distance in fitter.distances(points, metric).items()
    }
    tunings = {name: each.tuning for name, each in machines.items()}
    held_out = predict_folds(fitter, counts, counted, tunings)
    if held_out is not None:
        return FittedSum.weighed(fitter, given, held_out, machines, metric, learner, ranks)
    n, voters = len(points.X), fitter.voters(given, metric)
    numbers = {name: fitter.estimator._scorer.default_neighbors(n) for name in voters}
    reason = f"too few distinct rows, {n}, to hold some out"
    selection = procedure.Selection(" + ".join(names), reason, max(numbers.values(), default=0))
    weights = dict(zip(names, start_weights(task, names).tolist(), strict=True))
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
            rows = rows.take(np.flatnonzero(np.isin(rows.target, known) & (len(known) > 1)))
        points = pool_rows(train, task.targets(train.target), counted)
        if not len(rows.target) or len(points.X) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes of few rows, told for all rows
            metric, _ = fitter.learn(train, "fold")
        X, machines = cast(Floats, rows.X), {}
        for name, distance in fitter.distances(points, metric).items():
            machines[name] = machine.fit_machine(distance, points, tunings[name])
            scores[name].append(machines[name].scores(X))
        for name, found in fitter.vote(train, metric, X).items():
            scores[name].append(found)
        spreads.append(spread_of(task, machines, X))
        held.append(rows)
    if not held:
        return None
    joined = {name: np.concatenate(each, axis=-2) for name, each in scores.items()}
    whole = reduce(GivenRows.joined, held)
    n = whole.weights.sum() if counted else len(np.unique(cast(Floats, whole.X), axis=0))
    return HeldOut(fitter, joined, whole, float(n), np.concatenate(spreads))


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
    part, n_folds = procedure.spread_points(given.labels[first][unit], np.random.default_rng(seed))
    for fold in range(n_folds):
        if counted:
            out: Floats = np.bincount(unit[part == fold], minlength=len(first)).astype(float)
        else:
            out = np.where(part[group] == fold, given.weights, 0.0)
        parts = (replace(given, weights=weights) for weights in (given.weights - out, out))
        train, rows = (each.take(np.flatnonzero(each.weights > 0)) for each in parts)
        yield train, rows
