"""What every learner does with the metric it learned."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import is_dask, stand_in, task
from cayleyklein._estimators import at_one_moment, check_columns, check_data
from cayleyklein._notebook import EstimatorCard
from cayleyklein._validation import about, as_points, float_dtype
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.neighbors._shards import Answers, QueryBlocks

__all__ = ["MetricLearner"]

Floats = NDArray[np.floating[Any]]

NO_MAP = (
    "A mixed metric is a sum of distances, and no map to Euclidean space keeps their order: there "
    "is no transform. Use metric_ itself, or learn one geometry, such as geometry='elliptic'."
)


class MetricLearner(
    EstimatorCard, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of the learners: maps rows by the metric, and answers for pairs.

    Examples
    --------
    >>> from cayleyklein import MMC
    >>> learner = MMC().fit([[0.0, 0.0], [0.2, 5.0], [1.0, 0.0], [1.2, 5.0]], [0, 0, 1, 1])
    >>> pairs = [[[0.0, 0.0], [0.2, 5.0]], [[0.0, 0.0], [1.0, 0.0]]]
    >>> near, far = learner.pair_distance(pairs)
    >>> bool(near < far), bool((learner.pair_score(pairs) == [-near, -far]).all())
    (True, True)
    >>> learner.get_metric()
    CurvedMetric(flat, d=2, K=0)
    >>> learner.get_mahalanobis_matrix().shape, learner.transform([[0.0, 0.0]]).shape
    ((2, 2), (1, 2))
    """

    metric_: CurvedMetric | MixedMetric

    @at_one_moment
    def transform(self, X: ArrayLike) -> Floats:
        """Map rows to a space where plain Euclidean distance has the order of the metric's.

        Flat: Lx, where it is the metric itself. Elliptic: unit vectors. Hyperbolic: points of the
        hyperboloid, where no finite Euclidean map keeps the order; ⟨X, Y⟩ of Minkowski does.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)

        Returns
        -------
        ndarray or lazy Dask array of shape (n, r) or (n, r + 1)

        Raises
        ------
        OutsideDomainError
            Naming the rows on or outside the boundary of a hyperbolic domain, which have no place
            on the hyperboloid; :class:`CurvedKNeighborsClassifier` classifies these too.
        NotRepresentableError
            For a mixed metric.
        """
        check_is_fitted(self, "metric_")
        metric = self._single_metric()
        if is_dask(X):
            return self._transform_lazily(X, metric)
        given: Floats = check_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return mapped(given.astype(np.float64, copy=False), metric, given.dtype)

    def _transform_lazily(self, X: Any, metric: CurvedMetric) -> Floats:
        check_columns(self, X, reset=False)
        rows = QueryBlocks.of_dask(X, metric.dimension, metric)
        dtype = float_dtype(stand_in(X, "X"))
        tasks = [(task(mapped, some, metric, dtype),) for some in rows.tasks]
        (found,) = Answers(tasks, rows.lengths).lazy(((self._n_features_out,), dtype))
        return cast(Floats, found)

    def _single_metric(self) -> CurvedMetric:
        if not isinstance(self.metric_, CurvedMetric):
            raise NotRepresentableError(NO_MAP)
        return self.metric_

    @property
    def _n_features_out(self) -> int:
        metric = self._single_metric()
        return len(metric.factor) + (metric.geometry != "flat")

    @at_one_moment
    def pair_distance(self, pairs: ArrayLike) -> Floats:
        """Return the distances of pairs of rows; inf where one is outside a hyperbolic domain.

        Parameters
        ----------
        pairs : array-like of shape (n, 2, d)
        """
        check_is_fitted(self, "metric_")
        pairs = as_points(pairs, "pairs", self.metric_.dimension)
        if pairs.ndim != 3 or pairs.shape[1] != 2:
            raise InvalidInputError(f"pairs must have shape (n, 2, d); got {pairs.shape}.")
        with about("pairs"):
            return self.metric_.distance(pairs[:, 0], pairs[:, 1], outside="inf")

    def pair_score(self, pairs: ArrayLike) -> Floats:
        """Return minus the distances of pairs: the larger, the more alike."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> CurvedMetric | MixedMetric:
        """Return the metric, a callable of two points."""
        check_is_fitted(self, "metric_")
        return self.metric_

    def get_mahalanobis_matrix(self) -> NDArray[np.float64]:
        """Return Σ of a flat metric."""
        check_is_fitted(self, "metric_")
        if self.metric_.geometry != "flat" or not isinstance(self.metric_, CurvedMetric):
            raise NotRepresentableError(
                f"A {self.metric_.geometry} metric is no Mahalanobis distance; metric_.form is the "
                f'matrix of a curved one, and geometry="flat" learns a flat one.'
            )
        return self.metric_.matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def mapped(rows: NDArray[np.float64], metric: CurvedMetric, dtype: np.dtype[Any]) -> Floats:
    """Return rows where Euclidean distance has the order of the metric's."""
    if metric.geometry == "flat":
        rows = np.ascontiguousarray(rows)  # BLAS may round differently by the layout
        return (rows @ metric.factor.T).astype(dtype, copy=False)
    chart = "sphere" if metric.geometry == "elliptic" else "hyperboloid"
    return metric.to_chart(rows, chart).astype(dtype, copy=False)
