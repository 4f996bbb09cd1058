"""Base of the learners: what each does with the metric it learned."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import is_dask, meta_of, task
from cayleyklein._estimators import check_columns, check_data
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein._validation import about, as_points, float_dtype
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import Blocks

Metric = CurvedMetric | MixedMetric | ProductMetric


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

    metric_: Metric

    def transform(self, X: ArrayLike) -> AnyFloats:
        """Map rows to coordinates for methods that know Euclidean distances only.

        Flat, elliptic and product metrics: Euclidean distance has exactly the metric's order.
        Hyperbolic and mixed metrics: tangent coordinates at the centre, parts side by side, which
        keep the order approximately (docs/learning.md says how well); rows outside the domain are
        put just inside its boundary.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)

        Returns
        -------
        ndarray or lazy Dask array of shape (n, n_coordinates)
        """
        check_is_fitted(self, "metric_")
        if is_dask(X):
            return self._transform_lazily(X)
        given: AnyFloats = check_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return embedded(given, self.metric_, given.dtype)

    def _transform_lazily(self, X: Any) -> AnyFloats:
        check_columns(self, X, reset=False)
        rows = Blocks.of_dask(X, self.metric_.dimension)
        dtype = float_dtype(meta_of(X, "X"))
        tasks = [(task(embedded, some, self.metric_, dtype),) for some in rows.tasks]
        (found,) = Blocks(tasks, rows.lengths).lazy(((self._n_features_out,), dtype))
        return cast(AnyFloats, found)

    @property
    def _n_features_out(self) -> int:
        return int(self.metric_.embed(np.zeros((1, self.metric_.dimension))).shape[1])

    def pair_distance(self, pairs: ArrayLike) -> AnyFloats:
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

    def pair_score(self, pairs: ArrayLike) -> AnyFloats:
        """Return minus the distances of pairs: the larger, the more alike."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> Metric:
        """Return the metric, a callable of two points."""
        check_is_fitted(self, "metric_")
        return self.metric_

    def get_mahalanobis_matrix(self) -> Floats:
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


def embedded(rows: AnyFloats, metric: Metric, dtype: Any) -> AnyFloats:
    """Return the Euclidean coordinates of rows, computed in float64."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)  # BLAS may round differently by layout
    return metric.embed(rows).astype(dtype, copy=False)
