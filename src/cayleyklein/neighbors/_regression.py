"""Regression on the neighbours by a given metric."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import in_memory, is_dask, row_blocks, task
from cayleyklein._estimators import (
    check_columns,
    check_data,
    check_truth,
    restore_on_error,
)
from cayleyklein._validation import as_finite_array
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors._engines import Algorithm, as_metric
from cayleyklein.neighbors._index import Ranked
from cayleyklein.neighbors._nearest import CurvedNeighbors
from cayleyklein.neighbors._shards import LEAST_ROWS
from cayleyklein.neighbors._votes import Weights, check_weights, votes_of, weighted_mean

__all__ = ["CurvedKNeighborsRegressor"]

Floats = NDArray[np.float64]


class CurvedKNeighborsRegressor(RegressorMixin, CurvedNeighbors):
    """Predict the mean target of the nearest neighbours by a curved, product or mixed metric.

    Parameters
    ----------
    n_neighbors : int, default=5
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        The Euclidean metric when None.
    weights : {"uniform", "linear", "distance"} or callable, default="uniform"
        What each neighbour counts in the mean: as much as the others, 1 - d_i/d_{k+1}, 1/d_i, or
        what a function makes of the distances. All neighbours of a query outside a hyperbolic
        domain are infinitely far, and count alike.
    radius, algorithm, outside, n_jobs : see :class:`CurvedNeighbors`

    Attributes
    ----------
    metric_, algorithm_used_, n_samples_fit_, n_features_in_ : see CurvedNeighbors

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(1, curvature=-1.0)
    >>> model = CurvedKNeighborsRegressor(2, metric=disc, weights="distance")
    >>> model.fit([[0.0], [0.5], [0.9]], [0.0, 1.0, 2.0]).predict([[0.0], [0.25]]).round(3)
    array([0.   , 0.465])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        metric: Metric | None = None,
        weights: Weights = "uniform",
        radius: float = 1.0,
        algorithm: Algorithm = "auto",
        outside: Literal["extend", "raise"] = "extend",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            metric=metric,
            radius=radius,
            algorithm=algorithm,
            outside=outside,
            n_jobs=n_jobs,
        )
        self.weights = weights

    @restore_on_error
    def fit(self, X: ArrayLike, y: Any = None) -> CurvedKNeighborsRegressor:
        """Take rows and their targets.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
        y : array-like or Dask collection of shape (n,) or (n, outputs)
        """
        self._check_parameters()
        check_weights(self.weights)
        self._fit_targets(X, y)
        return self

    def _fit_targets(self, X: ArrayLike, y: Any) -> None:
        if is_dask(X):
            check_columns(self, X, y, reset=True)
            rows = row_blocks(X, y, least_rows=LEAST_ROWS)
            metric = as_metric(self.metric, rows.n_columns)
            outputs = tuple(y.shape[1:]) if is_dask(y) else np.shape(y)[1:]
            blocks = zip(rows.targets or (), rows.starts, strict=True)
            self._spread(rows, metric, [task(checked_targets, *block, outputs) for block in blocks])
            return
        targets = self._targets_of(X, y, reset=True)
        checked = self._rows(X, reset=True)
        self._index(checked, as_metric(self.metric, checked.shape[1]), targets)

    @restore_on_error
    def partial_fit(self, X: ArrayLike, y: Any = None) -> CurvedKNeighborsRegressor:
        """Add rows and their targets.

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
        targets = self._targets_of(X, y, reset=False)
        before = self._in_memory().payload_shape
        if targets.shape[1:] != before:
            raise InvalidInputError(
                f"y has shape {targets.shape}, but expected {(len(targets), *before)}, like "
                f"the targets of the rows before."
            )
        self._append(X, targets)
        return self

    def predict(self, X: ArrayLike | None) -> NDArray[np.float64]:
        """Return the mean targets of the neighbours; with None, of the fitted rows, each left out.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), or None

        Returns
        -------
        ndarray of shape (m,) or (m, outputs)
            A lazy Dask array if the queries are a Dask collection.
        """
        check_is_fitted(self, "metric_")
        kind = (self._searcher.payload_shape, np.float64)
        k, more = self._voters(X, self.n_neighbors, self.weights)
        finish = partial(mean_of, k=k, weights=self.weights)
        return cast(Floats, self._answers(X, k + more, finish, kind)[0])

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
        from sklearn.metrics import r2_score

        predicted = in_memory(self.predict(X), "predictions")
        truth, weights = check_truth(y, predicted, sample_weight)
        return float(r2_score(truth, predicted, sample_weight=weights))

    def _targets_of(self, X: ArrayLike, y: ArrayLike | None, *, reset: bool) -> NDArray[np.float64]:
        _, y = check_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True,
            reset=reset,
        )  # fmt: skip
        return np.asarray(y, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def mean_of(found: Ranked, k: int, weights: Weights) -> tuple[Floats]:
    """Return the mean target of the k nearest neighbours."""
    assert found.payload is not None
    return (weighted_mean(votes_of(found, k, weights), found.payload[:, :k]),)


def checked_targets(targets: NDArray[Any], start: int, outputs: tuple[int, ...]) -> Floats:
    """Check a block of targets, whose first is that of the row `start`."""
    return as_finite_array(targets, "y", start).reshape(-1, *outputs)
