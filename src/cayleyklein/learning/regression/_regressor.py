"""The regressor: learn a metric, then take the mean target of the nearest neighbours by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks, in_memory, is_dask
from cayleyklein._estimators import as_weights, check_data, check_truth, restore_on_error
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_finite_array
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._descent import Progress
from cayleyklein.learning._voters import LearningNeighbors
from cayleyklein.learning.regression._mlkr import CurvedMLKR
from cayleyklein.learning.regression._selection import DEFAULT_NEIGHBORS
from cayleyklein.metrics import CurvedMetric, Metric, MixedMetric, ProductMetric
from cayleyklein.neighbors import (
    Algorithm,
    Ranked,
    Weights,
    as_metric,
    check_weights,
    votes_of,
    weighted_mean,
)


class CurvedKNeighborsRegressor(RegressorMixin, LearningNeighbors):
    """Learn a curved metric from rows with targets, and predict by the nearest ones.

    Columns need no scaling: the learner standardises them by itself.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours that are averaged; equal rows in memory are one neighbour with their mean target
        and the weight of all of them. "auto" is the number with the least squared error on held-out
        rows, or of leaving one row out with a single geometry; 9 with a ready-made metric.
    geometry : str, default="auto"
        Of the metric to learn, see :class:`CurvedMLKR`.
    learner : estimator, optional
        Learns the metric, such as ``CurvedMLKR(geometry="elliptic")``. One that has been fitted is
        used as it is, not fitted again; note that scikit-learn's `clone`, and so a
        cross-validation, forgets that it was: put it in a ``FrozenEstimator``, or give its
        ``metric_``.
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        A ready-made metric; nothing is learned then.
    weights : {"linear", "uniform", "distance"} or callable, default="linear"
        What each neighbour counts in the mean: 1 - d_i/d_{k+1}, as much as the others, 1/d_i, or
        what a function makes of the distances. All neighbours of a query outside a hyperbolic
        domain are infinitely far, and count alike.
    algorithm, outside : see :class:`CurvedNeighbors`
    random_state, callback, verbose : see :class:`CurvedMLKR`
    n_jobs : see :class:`CurvedNeighbors`

    Attributes
    ----------
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    n_neighbors_ : int
        Neighbours that are averaged.
    learner_ : estimator or None
        The fitted learner; None with a ready-made metric.
    algorithm_used_, n_samples_fit_, n_features_in_, feature_names_in_ : see CurvedNeighbors

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

    default_learner = CurvedMLKR
    default_neighbors = DEFAULT_NEIGHBORS

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        geometry: str = "auto",
        learner: BaseEstimator | None = None,
        metric: CurvedMetric | MixedMetric | ProductMetric | None = None,
        weights: Weights = "linear",
        algorithm: Algorithm = "auto",
        outside: Literal["extend", "raise"] = "extend",
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors, metric=metric, algorithm=algorithm, outside=outside, n_jobs=n_jobs
        )
        self.geometry = geometry
        self.learner = learner
        self.weights = weights
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    # -- fitting --------------------------------------------------------------------

    @restore_on_error
    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> CurvedKNeighborsRegressor:
        """Learn the metric from rows and their targets, and keep them as the neighbours to come.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,) or (n, n_targets)
        sample_weight : array-like or Dask array of shape (n,), optional
            Weights of the rows in the learner's loss, and in the means.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_weights(self.weights)
        blocks: RowBlocks | None = None
        if is_dask(X):
            X, blocks, y, sample_weight = self._read_spread(X, y, sample_weight)
            targets, d = as_finite_array(y, "y"), blocks.n_columns
        else:
            rows, targets = self._checked(X, y, reset=True)
            d = rows.shape[1]
        weights = as_weights(sample_weight, targets)
        self._outputs: tuple[int, ...] = targets.shape[1:]
        learner = None
        if blocks is not None or self.learner is not None or (rows != rows[0]).any():
            learner = self._fitted_learner(X, targets, None if sample_weight is None else weights)
        metric = as_metric(self._metric_of(learner), d)
        payload = np.column_stack([weights, targets])
        if blocks is None:
            self._index(rows, metric, payload)
        else:
            self._spread(blocks, metric, np.split(payload, blocks.starts[1:]))
        self._keep_learner(learner)
        return self

    @restore_on_error
    def partial_fit(self, X: ArrayLike, y: Any = None) -> CurvedKNeighborsRegressor:
        """Add rows and their targets; the metric stays. The first call is a fit.

        Examples
        --------
        >>> model = CurvedKNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.partial_fit([[2.0]], [4.0]).predict([[1.9]])
        array([4.])
        """
        self._check_grows(X)
        if not hasattr(self, "metric_"):
            return self.fit(X, y)
        check_weights(self.weights)
        _, targets = self._checked(X, y, reset=False)
        if targets.shape[1:] != self._outputs:
            raise InvalidInputError(
                f"y has shape {targets.shape}, but expected {(len(targets), *self._outputs)}, like "
                f"the targets of the rows before."
            )
        self._append(X, np.column_stack([np.ones(len(targets)), targets]))
        return self

    # The payload of a row is its weight and targets, that of a point their sum and mean.

    def _weights_in(self, payload: Floats) -> Floats:
        return payload[:, 0]

    def _at_points(self, X: Floats, metric: Metric, points: Ints, payload: Floats) -> Floats:
        total = np.bincount(points, weights=payload[:, 0])
        mean = np.zeros((len(X), payload.shape[1] - 1))
        np.add.at(mean, points, (payload[:, :1] / total[points, None]) * payload[:, 1:])
        return np.column_stack([total, mean])

    def _without(self, known: Floats, payload: Floats) -> Floats:
        left = known[:, :1] - payload[:, :1]  # a sum of one weight is that weight: 0 is exact
        share = np.divide(payload[:, :1], left, np.zeros_like(left), where=left > 0)
        return np.hstack([left, known[:, 1:] + share * (known[:, 1:] - payload[:, 1:])])

    def _checked(self, X: ArrayLike, y: Any, *, reset: bool) -> tuple[Floats, Floats]:
        if y is not None and not is_dask(y):
            refuse_missing_targets(y)
        rows, targets = check_data(
            self, X, y, dtype=[np.float64, np.float32], order="C", multi_output=True,
            y_numeric=True, reset=reset,
        )  # fmt: skip
        return np.asarray(rows, dtype=np.float64), np.asarray(targets, dtype=np.float64)

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
        check_weights(self.weights)
        k, more = self._voters(X, self._default_neighbors(), self.weights)
        finish = partial(mean_of, k=k, weights=self.weights, outputs=self._outputs)
        return cast(Floats, self._polled(X, k + more, finish, (self._outputs, np.float64))[0])

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
        truth, weights = check_truth(y, predicted, sample_weight)
        return float(r2_score(truth, predicted, sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def mean_of(found: Ranked, k: int, weights: Weights, outputs: tuple[int, ...]) -> tuple[Floats]:
    """Return the mean target of the k nearest neighbours; unweighted where all weigh nothing."""
    assert found.payload is not None
    payload = found.payload[:, :k]
    votes = votes_of(found, k, weights)
    weighed = votes * payload[:, :, 0]
    votes = np.where(weighed.sum(axis=1, keepdims=True) > 0, weighed, votes)
    return (weighted_mean(votes, payload[:, :, 1:]).reshape(-1, *outputs),)


def refuse_missing_targets(y: Any) -> None:
    """Refuse targets that are NaN or infinite, by row; other checks are scikit-learn's."""
    try:
        numbers = np.asarray(y)
    except ValueError:
        return
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        as_finite_array(numbers, "y")
