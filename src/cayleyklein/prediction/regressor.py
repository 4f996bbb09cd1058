"""The regressor: learn a metric, then take the mean target of the nearest neighbours by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks, in_memory
from cayleyklein._estimators import (
    check_parameters,
    check_truth,
    few_threads,
    restore_on_error,
)
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.descent import Progress
from cayleyklein.learning.mlkr import NUMBER_GEOMETRIES, CurvedMLKR
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.metrics.combined import Metric
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.dask_shards import LEAST_ROWS
from cayleyklein.neighbors.estimator import OutsideQueries, refuse_growth
from cayleyklein.neighbors.search import Ranked, SearchIndex, checked_queries, number_of_neighbors
from cayleyklein.neighbors.space import refuse_outside
from cayleyklein.prediction.held_out import best_left_out, held_out_means
from cayleyklein.prediction.metric_choice import SOURCE_CONSTRAINTS, check_source, obtain_metric
from cayleyklein.prediction.number_means import NumberMeans
from cayleyklein.prediction.pooled_points import LeftOut, leaving_out
from cayleyklein.prediction.row_index import PooledRows, index_points
from cayleyklein.prediction.vote_weights import VOTE_KINDS, Weights, candidates_of
from cayleyklein.selection.n_neighbors import NUMBER_NEIGHBORS
from cayleyklein.selection.number_scores import NumberScores


class CurvedKNeighborsRegressor(RegressorMixin, PooledRows):
    """Learn a curved metric from rows with targets, and predict by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that are averaged; equal rows in memory are one neighbour with their mean target
        and the weight of all of them. "auto" is the number with the least squared error on held-out
        rows, or of leaving one row out with a single geometry; 9 with a metric or a frozen learner.
    geometry : {"auto", "product", "flat", "elliptic", "hyperbolic", "learned"}, default="auto"
        Of the metric to learn, see :class:`CurvedMLKR`. "auto" learns the product, and keeps it
        unless plain neighbours, in standardised or unscaled columns, do as well on held-out rows.
    learner : estimator, optional
        Learns the metric, such as ``CurvedMLKR(geometry="elliptic")``. It is cloned and fitted. One
        that is fitted already is used as it is inside scikit-learn's ``FrozenEstimator``.
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"linear", "uniform", "distance"} or callable, default="linear"
        What each neighbour counts in the mean: 1 - d_i/d_{k+1}, 1, 1/d_i, or what a function makes
        of the distances (m, k). All neighbours of a query outside a hyperbolic domain are
        infinitely far, and count the same.
    subsample : int, float, "auto" or None, default="auto"
        Rows to learn the metric from, or their share; all rows vote. "auto" takes at most 10,000
        for a single geometry; for "auto" and "product" the sample doubles from 8,000 rows on until
        held-out rows show no gain (``selection_.stages``). None takes all rows.
    algorithm : {"auto", "brute", "tree", "vptree"}, default="auto"
        How neighbours are searched: "auto" (probes the fitted rows), "brute", "tree" (a k-d tree;
        flat, elliptic and product metrics) or "vptree" (vantage points; all but products).
    outside : {"extend", "raise"}, default="extend"
        Queries outside a hyperbolic domain: "extend" ranks the fitted rows for them, all infinitely
        far; "raise" is an error that names them.
    random_state : int, RandomState or None, default=None
        Draws held-out rows, and what learning draws.
    callback : callable or None, default=None
        Called with a :class:`Progress` after each iteration of the fits that make the metric; a
        true answer stops them, and leaves a usable metric.
    verbose : bool, default=False
        Write a line for each iteration to standard error.
    n_jobs : int, optional
        Number of threads of a search; the answer does not depend on it.

    Attributes
    ----------
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    n_neighbors_ : int
        Neighbours that are averaged.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    selection_ : Selection or None
        What was tried on held-out rows, what was chosen and why; None with a learner or a metric of
        one's own.
    algorithm_used_ : str
        The search that was taken.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only where the columns of X have names.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = CurvedKNeighborsRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.7)
    True
    >>> model.metric_.geometry
    'product'

    With a metric that is known:

    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsRegressor(2, metric=disc, weights="distance")
    >>> model.fit([[0.0], [0.5], [0.9]], [0.0, 1.0, 2.0]).predict([[0.0], [0.25]]).round(3)
    array([0.   , 0.465])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PooledRows._search_constraints,
        **SOURCE_CONSTRAINTS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "geometry": [StrOptions({"auto", *NUMBER_GEOMETRIES})],
        "weights": [StrOptions(set(VOTE_KINDS)), callable],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        weights: Weights = "linear",
        subsample: int | float | str | None = "auto",
        algorithm: Algorithm = "auto",
        outside: OutsideQueries = "extend",
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.geometry = geometry
        self.learner = learner
        self.metric = metric
        self.weights = weights
        self.subsample = subsample
        self.algorithm = algorithm
        self.outside = outside
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.n_jobs = n_jobs

    # -- fitting --------------------------------------------------------------------

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> CurvedKNeighborsRegressor:
        """Learn the metric from rows and their targets, which are then the neighbours of queries.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,) or (n, n_targets)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and in the means. Only their ratios count.

        Returns
        -------
        self
        """
        check_source(self)
        return self._fit(
            GivenRows.read(self, X, y, sample_weight, numeric=True, block_rows=LEAST_ROWS)
        )

    def _fit(self, given: GivenRows) -> CurvedKNeighborsRegressor:
        learner = CurvedMLKR(
            geometry="product" if self.geometry == "auto" else self.geometry,
            subsample=self.subsample, random_state=self.random_state, callback=self.callback,
            verbose=self.verbose,
        )  # fmt: skip
        metric: Metric = CurvedMetric.euclidean(given.n_columns)
        self.learner_ = self.selection_ = None
        if self.metric is not None or self.learner is not None or varies(given):
            scorer = NumberScores(held_out_means, best_left_out)
            metric, self.learner_, self.selection_ = obtain_metric(self, learner, given, scorer)
        self._take(given, metric)
        k: Any = self.n_neighbors
        if k == "auto":
            k = self.selection_.n_neighbors if self.selection_ else NUMBER_NEIGHBORS
            k = max(1, min(k, self.n_samples_fit_ - 1))
        self.n_neighbors_ = k
        return self

    def _take(self, given: GivenRows, metric: Metric) -> None:
        with few_threads(len(given.target), given.n_columns):
            points, self._searcher = index_points(given, metric, self.algorithm)
        self._given = replace(given, source=None, always=None)
        self.metric_, self._all_rows = metric, None
        targets = given.target.reshape(len(given.target), -1)
        self._means = NumberMeans(points, targets, given.weights, self.weights)
        self.n_samples_fit_, self.algorithm_used_ = len(given.target), self._searcher.name

    @restore_on_error
    def partial_fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> CurvedKNeighborsRegressor:
        """Add rows and their targets; the metric stays. The first call is a fit.

        Examples
        --------
        >>> model = CurvedKNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.partial_fit([[2.0]], [4.0]).predict([[1.9]])
        array([4.])
        """
        check_source(self)
        refuse_growth(self, X)
        if not hasattr(self, "metric_"):
            return self.fit(X, y, sample_weight)
        added = GivenRows.read(self, X, y, sample_weight, numeric=True, reset=False)
        outputs = self._given.target.shape[1:]
        if added.target.shape[1:] != outputs:
            raise InvalidInputError(
                f"y has shape {added.target.shape}, but expected {(len(added.target), *outputs)}, "
                f"like the targets of the rows before."
            )
        refuse_outside(self.metric_.contains(added.X))
        self._take(self._given.joined(added), self.metric_)
        return self

    # -- predicting -----------------------------------------------------------------

    def predict(self, X: ArrayLike | None) -> Floats:
        """Return the mean targets of the neighbours; with None, of the fitted rows, each left out.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None

        Returns
        -------
        ndarray of shape (m,) or (m, n_targets)
            A lazy Dask array if the queries are a Dask collection.
        """
        check_is_fitted(self, "metric_")
        k, outputs = number_of_neighbors(self, own=X is None), self._given.target.shape[1:]
        queries, n_wanted = checked_queries(self, X), candidates_of(self.weights, k)
        if self.weights != self._means.weights:  # set after the fit
            check_parameters(self)
            self._means = replace(self._means, weights=self.weights)
        finish = partial(mean_targets, k=k, outputs=outputs)
        if queries is None and isinstance(self._searcher, SearchIndex):
            X = cast(Floats, self._given.X)
            return leaving_out(self._searcher, X, self._means, n_wanted, finish, self.n_jobs)
        kind = (outputs, np.float64)
        return cast(
            Floats,
            self._searcher.answer(queries, n_wanted, finish, self._means, (kind,), self.n_jobs)[0],
        )

    def score(
        self, X: ArrayLike | None, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R²; with X None, of leaving one fitted row out at a time.

        Examples
        --------
        >>> model = CurvedKNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.score([[0.1], [0.9]], [0.0, 1.0])
        1.0
        """
        predicted = in_memory(self.predict(X), "predictions")
        y, weights = in_memory(y, "y"), in_memory(sample_weight, "sample_weight")
        truth, weights = check_truth(y, predicted, weights)
        return float(r2_score(truth, predicted, sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def mean_targets(
    found: Ranked, means: NumberMeans, first: int | None, *, k: int, outputs: tuple[int, ...]
) -> tuple[Floats]:
    """Return mean targets; queries are the fitted rows from `first` on, or others."""
    left_out = None
    if first is not None:
        left_out = LeftOut.of(means.points, first + np.arange(len(found.rows)))
        found = left_out.drop_from(found, candidates_of(means.weights, k))
    return (means.means(found, k, left_out).reshape(-1, *outputs),)


def varies(given: GivenRows) -> bool:
    return isinstance(given.X, RowBlocks) or bool((given.X[0] != given.X).any())
