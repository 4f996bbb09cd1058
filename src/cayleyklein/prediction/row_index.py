"""The rows that a predictor searches: distinct points in memory, or rows on a cluster."""

from __future__ import annotations

from typing import cast

from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.dask_shards import Shards
from cayleyklein.neighbors.estimator import NeighborMethods
from cayleyklein.neighbors.search import SearchIndex
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.prediction.pooled_points import Points


class PooledRows(NeighborMethods):
    """Base of the predictors: points vote, and `kneighbors` finds rows."""

    _given: GivenRows
    _all_rows: SearchIndex | None = None
    """Index of all rows, made when it is asked for; None where rows are points."""

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
