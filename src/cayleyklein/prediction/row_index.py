"""The rows that a predictor searches: distinct points in memory, or rows on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.estimator import NeighborMethods
from cayleyklein.neighbors.search import Ranked, SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.prediction.pooled_points import Points
from cayleyklein.prediction.vote_weights import candidates_of


class PooledRows(NeighborMethods):
    """Base of the predictors: points vote, and `kneighbors` finds rows."""

    _given: GivenRows
    _all_rows: SearchIndex | None = None
    """Index of all rows, made when it is asked for; None where rows are points."""

    def _by_number(
        self, X: Floats, numbers: tuple[int, ...], answer: Callable[[Ranked, int], Floats]
    ) -> Floats:
        """Return answers (n_numbers, m, t) for checked rows by so many neighbours each."""
        index, weights = cast(SearchIndex, self._searcher), cast(Any, self).weights
        found = index.nearest(X, candidates_of(weights, max(numbers)), self.n_jobs)
        answers = []
        for number in numbers:
            k = max(1, min(number, found.rows.shape[1] - 1))
            wanted = candidates_of(weights, k)
            near = Ranked(found.values[:, :wanted], found.rows[:, :wanted], found.inside)
            answers.append(answer(near, k))
        return np.array(answers)

    def _row_index(self) -> SearchIndex | Shards:
        check_is_fitted(self, "metric_")
        if isinstance(self._searcher, Shards) or len(self._searcher) == self.n_samples_fit_:
            return self._searcher
        if self._all_rows is None:
            X = cast(Floats, self._given.X)
            self._all_rows = SearchIndex(X, self.metric_, self.algorithm)
        return self._all_rows


def index_points(
    given: GivenRows, metric: Metric, algorithm: Algorithm
) -> tuple[Points, SearchIndex | Shards]:
    """Pool equal rows in memory, and index the points. Dask rows are indexed where they are."""
    if isinstance(given.X, RowBlocks):
        return Points.separate(len(given.target)), Shards.build(given.X, metric, algorithm)
    if metric.domain:
        refuse_outside(metric.contains(given.X))
    points = Points.pooled(given.X, given.weights)
    distinct = given.X if len(points.rows) == len(given.X) else given.X[points.rows]
    return points, SearchIndex(distinct, metric, algorithm)
