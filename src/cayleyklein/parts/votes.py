"""Votes of the nearest rows, in a metric that is learned or in standardised columns.

The classifier and the regressor by neighbours are made of these votes alone; the kernel estimators
add them to their machines.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, cast

import numpy as np

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import Metric, combined
from cayleyklein.neighbors import search
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.estimator import distances_and_rows
from cayleyklein.neighbors.search import Ranked, SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.parts import distances
from cayleyklein.parts.ballots import (
    LabelVotes,
    NumberMeans,
    Weights,
    candidates_of,
    few_neighbors,
    nearest_of,
)
from cayleyklein.parts.base import Answer, FitRows, FittedPart, Queries
from cayleyklein.parts.places import LeftOut, Places
from cayleyklein.parts.scales import LocalScales

MOST_MEASURED = 4  # rows over those wanted, up to which measuring all is quicker than a search


@dataclass(frozen=True)
class FittedVotes(FittedPart):
    """Fitted rows, which vote.

    Attributes
    ----------
    index : SearchIndex or Shards
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

    index: SearchIndex | Shards
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
        answer = cast(Answer, self.answer)
        return {k: answer.of_votes(said) for k, said in self._by_number(X)}

    def answers(self, X: Queries | None, k: int, *, best: bool = False) -> Any:
        """Return class probabilities or mean targets (m, t) by the votes of the k nearest places.

        With X None, those of the fitted rows, each left out of its own. With `best`, return the
        numbers (m,) of the most probable classes, made by blocks of queries without all m × C
        probabilities.
        """
        wanted = candidates_of(self.table.weights, k)
        finish = partial(finish_votes, k=k, best=best)
        if X is None and isinstance(self.index, SearchIndex):
            rows = cast(Floats, self.all_rows)
            answered = []
            for block in search.slices(len(rows), search.CHUNK):
                # one place more than wanted, as a row's own may be dropped
                found = self.index.nearest(rows[block], wanted + 1, self.n_jobs)
                answered.append(finish(found, self.table, block.start)[0])
            return np.concatenate(answered)
        kind: search.Kind = ((), np.intp) if best else ((self.table.width,), np.float64)
        return self.index.answer(X, wanted, finish, self.table, (kind,), self.n_jobs)[0]

    def _by_number(self, X: Floats) -> Iterator[tuple[int, Floats]]:
        """Yield each number of neighbours and the answers (m, t) for rows in memory."""
        index = cast(SearchIndex, self.index)
        wanted = candidates_of(self.table.weights, max(self.numbers))
        if combined.has_boundary(self.metric) or len(index) > MOST_MEASURED * wanted:
            found = index.nearest(X, wanted, self.n_jobs)
        else:
            table = cast(Floats, self.metric.pairwise(X, index.X))
            rows = np.argsort(table, axis=1, kind="stable")[:, :wanted]
            values = np.take_along_axis(table, rows, axis=1)
            found = Ranked(values, rows, np.ones(len(X), dtype=bool))
        for number in self.numbers:
            k = max(1, min(number, found.rows.shape[1] - 1))
            near = nearest_of(found, candidates_of(self.table.weights, k))
            yield number, self.table.answers(near, k)

    @cached_property
    def row_index(self) -> SearchIndex | Shards:
        """The index of all fitted rows, of which equal ones have one place only."""
        if isinstance(self.index, Shards) or len(self.index) == len(self.table.places.of_rows):
            return self.index
        return SearchIndex(cast(Floats, self.all_rows), self.metric, self.algorithm)

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
) -> FittedVotes:
    """Index rows, equal ones in memory as one place; Dask rows where they are."""
    n = len(given.target)
    scales = None
    local = isinstance(weights, str) and weights == "local"
    index: SearchIndex | Shards
    if isinstance(given.X, RowBlocks):
        each = np.arange(n)
        places, rows = Places(each, each), None
        index = Shards.build(given.X, metric, algorithm)
        if local:
            scales = LocalScales.on_cluster(given.X, metric, n_jobs)
    else:
        rows = cast(Floats, given.places)
        if combined.has_boundary(metric):
            refuse_outside(metric.contains(rows))
        places = Places.pooled(rows, given.weights)
        distinct = rows if len(places.rows) == len(rows) else rows[places.rows]
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
    found: Ranked, table: LabelVotes | NumberMeans, first: int | None, *, k: int, best: bool
) -> tuple[Any]:
    """Return a table's answers; queries are the fitted rows from `first` on, or others."""
    left_out = None
    if first is not None:
        left_out = LeftOut.of(table.places, first + np.arange(len(found.rows)))
        found = left_out.drop_from(found, candidates_of(table.weights, k))
    made = table.answers(found, k, left_out)
    return (made.argmax(axis=1) if best else made,)


@dataclass(frozen=True)
class VotesPart:
    """The part that asks the nearest rows: those in the learned metric, or in plain columns."""

    name: str
    needs_metric: bool
    numbers: tuple[int, ...]  # of neighbours, between which held-out rows choose
    n_jobs: int | None = None
    leads: bool = False

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> FittedVotes:
        """Index the rows. Held-out rows choose the number of neighbours, or else their number."""
        given = rows.given
        known = metric if self.needs_metric else distances.standard_metric(given)
        weights = "linear" if given.classes is None else "local"
        fitted = fit_votes(given, cast(Metric, known), weights, 1, n_jobs=self.n_jobs)
        fitted = replace(fitted, answer=rows.answer, numbers=self.numbers)
        if settings is None:
            settings = self.numbers[0]
            if len(self.numbers) > 1:
                n_places = len(fitted.table.places.rows)
                settings = few_neighbors(n_places, numeric=given.classes is None)
        return fitted.with_settings(settings)
