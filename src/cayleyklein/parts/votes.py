"""Votes of the nearest rows, in a metric that is learned or in standardised columns.

How much each vote counts, class probabilities and mean numbers, and the part that asks for them.
The classifier and the regressor by neighbours are made of these votes alone; the kernel estimators
add them to their machines.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, cast

import numpy as np

from cayleyklein._distributed import RowBlocks
from cayleyklein._estimators import refuse_no_numbers
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric, combined
from cayleyklein.neighbors import search
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.curved_neighbors import distances_and_rows
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.search import MeasuredRows, Ranked, RowIndex, SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.parts import distances
from cayleyklein.parts.base import Answer, FitRows, FittedPart, Queries
from cayleyklein.parts.places import LeftOut, LocalScales, Places

Weights = str | Callable[[Floats], Any]

VOTE_KINDS = ("linear", "uniform", "distance")
# Voters where held-out rows were not asked: of none of six small tables.
LABEL_NEIGHBORS, NUMBER_NEIGHBORS = 15, 9
# Numbers of voting neighbours that are tried. Half of them all raise log loss, or 1 - R², of
# neighbours by 0.004 ± 0.005 on six small tables, and double by 0.013 ± 0.007
# (docs/evidence/constants.txt).
NEIGHBORS = (3, 5, 9, 15, 25, 40, 60, 100)
MEASURED_ROWS = 2000  # places up to which all distances are measured: a search is no quicker


def candidates_of(weights: Weights, k: int) -> int:
    """Return how many nearest places are looked at, so that k of them vote."""
    return {"linear": k + 1, "local": 2 * k + 1}.get(weights, k) if isinstance(weights, str) else k


def few_neighbors(n: int, *, numeric: bool) -> int:
    """Return the number of neighbours where n rows are too few to hold some out."""
    if numeric:
        return int(np.clip(n // 3, 1, NUMBER_NEIGHBORS))
    return int(np.clip(n // 10, 3, LABEL_NEIGHBORS))


def nearest_by_number(
    found: Ranked, weights: Weights, numbers: tuple[int, ...], n_places: int
) -> Iterator[tuple[int, Ranked]]:
    """Yield, for each number of neighbours, how many vote and the places that are looked at.

    At most all places but one vote.
    """
    for number in numbers:
        k = max(1, min(number, n_places - 1))
        n = candidates_of(weights, k)
        yield k, Ranked(found.values[:, :n], found.rows[:, :n], found.inside)


def neighbor_weights(
    distances: Floats, k: int, weights: Weights, present: Bools | None = None
) -> Floats:
    """Return the weights of the k nearest neighbours at ascending distances.

    "linear": 1 - d_i/d_{k+1}, or d_k where there are no more rows. "distance": 1/d in units of the
    nearest; where some neighbours are at distance 0, only these count. Where no neighbour would
    count, all count the same: all are infinitely far, as for a query outside a hyperbolic domain,
    or all are equally near. Neighbours that are not `present`, which come last, count 0.
    """
    if present is not None and not present.all():
        last = np.maximum(present.sum(axis=1) - 1, 0)[:, None]
        distances = np.where(present, distances, np.take_along_axis(distances, last, axis=1))
    near = distances[:, :k]
    there = np.ones_like(near) if present is None else present[:, :k].astype(float)
    if callable(weights):
        return _checked(weights(near), near) * there
    if weights == "uniform":
        return there
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if weights == "linear":
            found = 1 - near / distances[:, : k + 1][:, -1:]
        else:
            found = np.where(near > 0, near[:, :1] / near, 1.0)
    found = np.where(np.isnan(found), 0.0, found) * there
    return np.where(found.any(axis=1, keepdims=True), found, there)


def _checked(given: Any, distances: Floats) -> Floats:
    refuse_no_numbers(given, "weights")
    found = np.asarray(given, dtype=np.float64)
    if found.shape != distances.shape:
        raise InvalidInputError(
            f"weights made an array of shape {found.shape} of distances of shape "
            f"{distances.shape}; expected one weight for each."
        )
    valid = (np.isfinite(found) & (found >= 0)).all(axis=1) & found.any(axis=1)
    if not valid.all():
        row = int(np.argmin(valid))
        raise InvalidInputError(
            f"weights made {found[row].tolist()} of the distances {distances[row].tolist()} of "
            f"query {row}; expected finite numbers ≥ 0, not all 0."
        )
    return found


class Ballots(NamedTuple):
    """A list of votes: for which query, by which of its nearest places, for which class."""

    queries: Ints
    positions: Ints  # among the nearest places of the query, from 0
    labels: AnyArray  # or mean targets
    votes: Floats
    rows: Ints  # the first fitted row of that class at the place


@dataclass(frozen=True)
class LabelVotes:
    """Labelled rows at places, and the votes that places cast.

    `labels` are 0 to `width` - 1. With the weights "local", `scales` are those of the places.
    """

    places: Places
    labels: Ints
    row_weights: Floats
    width: int  # C, the number of classes
    weights: Weights
    scales: LocalScales | None = None

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Floats, Ints]:
        """First entry of each place (p + 1,), and label, weight and first row of each entry.

        The rows of one label at a place are one entry.
        """
        kept = np.flatnonzero(self.places.of_rows >= 0)
        pairs = self.places.of_rows[kept] * self.width + self.labels[kept]
        keys, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        at, label = np.divmod(keys, self.width)
        starts = np.searchsorted(at, np.arange(len(self.places.rows) + 1))
        weight: Floats = np.bincount(inverse, weights=self.row_weights[kept]).astype(float)
        return starts, np.asarray(label), weight, kept[first]

    @cached_property
    def mass(self) -> Floats:
        found = np.bincount(self.labels, weights=self.row_weights, minlength=self.width)
        return found.astype(float)

    @property
    def prior(self) -> Floats:
        return np.asarray(self.mass / self.mass.sum())

    def answers(
        self, found: Ranked, k: int, left_out: LeftOut | None = None, prior: Floats | None = None
    ) -> Floats:
        """Return the probability of each class (m, C) by the k nearest places.

        (votes for c + s p_c) / (all votes + s), with p the class shares, or the `prior` instead,
        and s a tenth of the mean weight of a place; as in a fit without the row that each query
        leaves out. Of several classes with the most votes, the one with the nearest vote gets s
        more, and so has the largest probability; of equally near ones the most frequent, and then
        the first.
        """
        queries, positions, labels, each, _ = self.ballots(found, k, left_out)
        m, C = len(found.rows), self.width
        cell = queries * C + labels
        votes: Floats = np.bincount(cell, weights=each, minlength=m * C).reshape(m, C).astype(float)
        mass = self.mass
        n_places = len(self.places.rows) * np.ones(m)
        if left_out is not None:
            own = left_out.places >= 0
            mass = np.tile(mass, (m, 1))
            mass[own, self.labels[left_out.rows[own]]] -= self.row_weights[left_out.rows[own]]
            n_places -= left_out.vanish
        whole = np.maximum(mass, 0.0).sum(axis=-1)
        if prior is None:
            prior = np.maximum(mass, 0.0) / np.expand_dims(whole, -1)
        # in units of the mean weight of a place: a common factor of all weights changes nothing
        strength = 0.1 * (whole / n_places)[:, None]
        total = votes + strength * prior
        rounding = 1e-9  # votes are sums, in any order
        tied = votes >= votes.max(axis=1, keepdims=True) * (1 - rounding)
        several = np.flatnonzero(tied.sum(axis=1) > 1)
        if len(several):
            shares, nearest = np.broadcast_to(prior, votes.shape)[several], np.full(m * C, np.inf)
            some = np.flatnonzero(np.isin(queries, several) & (each > 0))
            far = found.distances[queries[some], positions[some]]
            np.minimum.at(nearest, cell[some], far)
            near = np.where(tied[several], nearest.reshape(m, C)[several], np.inf)
            first = tied[several] & (near <= near.min(axis=1, keepdims=True) * (1 + rounding))
            winner = np.where(first, shares, -1.0).argmax(axis=1)
            total[several, winner] += strength[several, 0]
        return np.asarray(total / total.sum(axis=1, keepdims=True))

    def ballots(self, found: Ranked, k: int, left_out: LeftOut | None = None) -> Ballots:
        """Return the votes of the k nearest places, of which more may have been found.

        With "local" weights those with the least d/√s, where s is the place's distance to its fifth
        nearest one (Zelnik-Manor and Perona 2004), by linear weights of d/√s. Rows in dense regions
        are near to many queries, and would outvote the others (Schnitzer et al. 2012).
        """
        present, distances, near = found.rows >= 0, found.distances, found.rows
        if self.scales is None:
            votes = neighbor_weights(distances, k, self.weights, present)
            positions = np.broadcast_to(np.arange(votes.shape[1]), votes.shape)
        else:
            scales = self.scales.scales[near]
            if left_out is not None and left_out.vanish.any():
                gone = np.flatnonzero(left_out.vanish)
                without = self.scales.without(left_out.places[gone])
                scales[gone] = np.take_along_axis(without, near[gone], axis=1)
            scaled = np.where(present, distances / np.sqrt(scales), np.inf)
            order = np.argsort(scaled, axis=1, kind="stable")[:, : k + 1]
            scaled = np.take_along_axis(scaled, order, axis=1)
            present = np.take_along_axis(present, order, axis=1)
            positions, votes = order[:, :k], neighbor_weights(scaled, k, "linear", present)
        chosen = np.take_along_axis(near, positions, axis=1)
        starts, labels, weights, rows = self._entries
        query, at = np.nonzero(votes > 0)
        entry = starts[chosen[query, at]]
        if len(labels) > len(starts) - 1:  # places with rows of several labels have several votes
            length = starts[chosen[query, at] + 1] - entry
            again = np.repeat(np.arange(len(entry)), length)
            entry = np.arange(len(again)) + (entry - (np.cumsum(length) - length))[again]
            query, at = query[again], at[again]
        position, label, weight = positions[query, at], labels[entry], weights[entry]
        if left_out is not None:
            own = left_out.rows[query]
            mine = found.rows[query, position] == left_out.places[query]
            mine &= label == self.labels[own]
            weight = np.where(mine, weight - self.row_weights[own], weight)
        return Ballots(query, position, label, votes[query, at] * weight, rows[entry])


@dataclass(frozen=True)
class NumberMeans:
    """Rows with targets (n, t) at places: each place has their total weight and mean."""

    places: Places
    targets: Floats
    row_weights: Floats
    weights: Weights

    @cached_property
    def pooled(self) -> tuple[Floats, Floats]:
        """Weight (p,) and mean target (p, t) of each place."""
        return self.places.means(self.targets, self.row_weights)

    @property
    def width(self) -> int:
        return int(self.targets.shape[1])

    def ballots(self, found: Ranked, k: int) -> Ballots:
        """Return what the k nearest places count in the mean, by their first row."""
        total, mean = self.pooled
        votes = neighbor_weights(found.distances, k, self.weights, found.rows >= 0)
        votes = votes * total[found.rows[:, :k]]
        query, place = np.nonzero(votes)
        at = found.rows[query, place]
        return Ballots(query, place, mean[at], votes[query, place], self.places.rows[at])

    def answers(self, found: Ranked, k: int, left_out: LeftOut | None = None) -> Floats:
        """Return the mean targets (m, t) of the k nearest places, as without a row left out.

        Places of weight 0, as rows on a cluster may be, count where all k weigh nothing.
        """
        total, mean = self.pooled
        votes = neighbor_weights(found.distances, k, self.weights, found.rows >= 0)
        weight, target = total[found.rows[:, :k]], mean[found.rows[:, :k]]
        if left_out is not None:
            query, place = np.nonzero(found.rows[:, :k] == left_out.places[:, None])
            own = left_out.rows[query]
            left = weight[query, place] - self.row_weights[own]
            share = np.divide(self.row_weights[own], left, np.zeros_like(left), where=left > 0)
            target[query, place] += share[:, None] * (target[query, place] - self.targets[own])
            weight[query, place] = left
        weighed = votes * weight
        votes = np.where(weighed.sum(axis=1, keepdims=True) > 0, weighed, votes)
        votes /= votes.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("mk,mkt->mt", votes, target))


@dataclass(frozen=True)
class FittedVotes(FittedPart):
    """Fitted rows, which vote.

    Attributes
    ----------
    index : RowIndex or Shards
        Of the places of the rows, or of all rows on a cluster.
    table : LabelVotes or NumberMeans
    metric : Metric
    n_neighbors : int
    n_jobs : int or None
    algorithm : str
    all_rows : ndarray of shape (n, d), or None
        The fitted rows in memory.
    answer : Answer or None
        Makes scores of what the votes say.
    numbers : tuple of int
        Numbers of neighbours that held-out rows choose between.
    """

    index: RowIndex | Shards
    table: LabelVotes | NumberMeans
    metric: Metric
    n_neighbors: int
    n_jobs: int | None
    algorithm: Algorithm
    all_rows: Floats | None
    answer: Answer | None = None
    numbers: tuple[int, ...] = ()

    @property
    def settings(self) -> int:
        """The number of neighbours that vote."""
        return self.n_neighbors

    def with_settings(self, settings: int) -> Self:
        """Return the votes of another number of neighbours, at most those that there are."""
        n = len(self.table.places.of_rows)
        return replace(self, n_neighbors=max(1, min(settings, n - 1)))

    def scores(self, X: Queries) -> Any:
        """Return the scores (m, t) of rows X."""
        answers = self.answers(X, self.n_neighbors)
        return cast(Answer, self.answer).of_votes(answers)

    def trials(self, X: Floats) -> dict[int, Floats]:
        """Return the scores (m, t) of rows X by each number of neighbours that is tried."""
        weights = self.table.weights
        index = cast(RowIndex, self.index)
        found = index.nearest(X, candidates_of(weights, max(self.numbers)), self.n_jobs)
        answers = []
        for k, near in nearest_by_number(found, weights, self.numbers, len(index)):
            answers.append(cast(Answer, self.answer).of_votes(self.table.answers(near, k)))
        return dict(zip(self.numbers, answers, strict=True))

    def answers(self, X: Queries | None, k: int) -> Any:
        """Return class probabilities or mean targets (m, t) by the votes of the k nearest places.

        With X None, those of the fitted rows, each left out of its own.
        """
        wanted = candidates_of(self.table.weights, k)
        finish = partial(finish_votes, k=k)
        if X is None and isinstance(self.index, RowIndex):
            rows = cast(Floats, self.all_rows)
            answered = []
            for block in search.slices(len(rows), search.CHUNK):
                # one place more than wanted, as a row's own may be dropped
                found = self.index.nearest(rows[block], wanted + 1, self.n_jobs)
                answered.append(finish(found, self.table, block.start)[0])
            return np.concatenate(answered)
        kind = (self.table.width,), np.float64
        return self.index.answer(X, wanted, finish, self.table, (kind,), self.n_jobs)[0]

    @cached_property
    def row_index(self) -> SearchIndex | Shards:
        """The index of all fitted rows, of which equal ones have one place only."""
        if isinstance(self.index, Shards):
            return self.index
        rows = cast(Floats, self.all_rows)
        if self.index.X is rows:
            return cast(SearchIndex, self.index)
        return SearchIndex(rows, self.metric, self.algorithm)

    def neighbors_of(self, X: Queries, k: int) -> tuple[Floats, Ints]:
        """Return the distances and numbers of the k nearest fitted rows (m, k)."""
        kinds = ((k,), np.float64), ((k,), np.intp)
        found = self.row_index.answer(X, k, distances_and_rows, None, kinds, self.n_jobs)
        return cast(tuple[Floats, Ints], found)


def fit_votes(
    given: GivenRows,
    metric: Metric,
    weights: Weights,
    n_neighbors: int,
    *,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    measures: bool = False,
) -> FittedVotes:
    """Index rows, equal ones in memory as one place; Dask rows where they are.

    With `measures`, all distances to few rows are measured, and places have an order of their own.
    """
    n = len(given.target)
    scales = None
    local = isinstance(weights, str) and weights == "local"
    index: RowIndex | Shards
    if isinstance(given.X, RowBlocks):
        each = np.arange(n)
        places, rows = Places(each, each), None
        index = Shards.build(given.X, metric, algorithm)
        if local:
            scales = LocalScales.on_cluster(given.X, metric, n_jobs)
    else:
        rows = cast(Floats, given.places)
        ends = combined.has_boundary(metric)
        if ends:
            refuse_outside(metric.contains(rows))
        places = Places.pooled(rows, given.weights, ordered=measures)
        distinct = rows[places.rows] if measures or len(places.rows) < len(rows) else rows
        if measures and not ends and len(distinct) <= MEASURED_ROWS:
            index = MeasuredRows(distinct, metric)
        else:
            index = SearchIndex(distinct, metric, algorithm)
        if local:
            scales = LocalScales.among(index, n_jobs)
    table: LabelVotes | NumberMeans
    if given.classes is None:
        table = NumberMeans(places, given.target.reshape(n, -1), given.weights, weights)
    else:
        n_classes = len(given.classes)
        table = LabelVotes(places, given.target, given.weights, n_classes, weights, scales)
    return FittedVotes(index, table, metric, n_neighbors, n_jobs, algorithm, rows)


def finish_votes(
    found: Ranked, table: LabelVotes | NumberMeans, first: int | None, *, k: int
) -> tuple[Any]:
    """Return a table's answers; queries are the fitted rows from `first` on, or others."""
    left_out = None
    if first is not None:
        left_out = LeftOut.of(table.places, first + np.arange(len(found.rows)))
        found = left_out.drop_from(found, candidates_of(table.weights, k))
    return (table.answers(found, k, left_out),)


@dataclass(frozen=True)
class VotesPart:
    """The part that asks the nearest rows: those in the learned metric, or in plain columns."""

    name: str
    needs_metric: bool
    numbers: tuple[int, ...]  # of neighbours, between which held-out rows choose
    n_jobs: int | None = None
    leads: bool = False
    fits_last: bool = False
    searches: bool = True

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> FittedVotes:
        """Index the rows. Held-out rows choose the number of neighbours, or else their number."""
        given = rows.given
        known = metric if self.needs_metric else distances.standard_metric(given)
        weights = "linear" if given.classes is None else "local"
        fitted = fit_votes(
            given, cast(Metric, known), weights, 1, n_jobs=self.n_jobs, measures=True
        )
        fitted = replace(fitted, answer=rows.answer, numbers=self.numbers)
        if settings is None:
            settings = self.numbers[0]
            if len(self.numbers) > 1:
                n_places = len(fitted.table.places.rows)
                settings = few_neighbors(n_places, numeric=given.classes is None)
        return fitted.with_settings(settings)
