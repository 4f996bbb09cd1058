"""Embeddings that are curved already, as coordinates of a metric."""

import math
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein import _estimators as estimators
from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import charts
from cayleyklein.metrics import CurvedMetric

KNOWN_TO = 1e-4  # shift of a point by rounding, in units of 1/√|K|, above which a warning is given
BLOCK_ENTRIES = 2**20  # coordinates of pairs measured at a time


class FromChart(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turn coordinates of a curved embedding, in whatever chart, into those of a metric.

    Embeddings come as vectors of Poincaré's ball, of the hyperboloid (Lorentz model), of the
    half-space or of a sphere. The result are the coordinates of `metric_`, in which geodesics and
    hyperplanes are straight: for classifiers and searches by ``metric=``, diagrams, hyperplanes,
    and, since they cut along hyperplanes only, scikit-learn's trees and forests.

    Parameters
    ----------
    chart : str, default="poincare"
        "poincare", "hyperboloid", "half_space", "hemisphere" (K < 0), "sphere" (K > 0), "conformal"
        (stereographic for K > 0) or "klein": see :func:`cayleyklein.geometry.to_chart`.
    curvature : float, default=-1.0
        K of the embedding, of a sign that has this chart.
    radius : float, optional
        Radius of the given ball, hyperboloid or sphere. By default 1/√abs(K), as in geoopt and
        HypLL; geomstats and manify take 1 for every K. Lengths in the half-space have no unit.
    axis : int, default=-1
        Which column is 1 at the centre: the time coordinate of the hyperboloid, the pole of the
        sphere, the height in the half-space. The hyperboloid of geoopt, geomstats and manify
        has it first: ``axis=0``.

    Attributes
    ----------
    metric_ : CurvedMetric
        The metric of the result, ``CurvedMetric.euclidean(d, curvature=K)``.
    n_features_in_, feature_names_in_ : int, ndarray

    Notes
    -----
    The result is in double precision, also for float32, since Klein's coordinates need it: at the
    distance r from the centre they fix a point to 6e-17 exp(2r√-K)/√-K. A warning gives the number
    where that, or what float32 left of the given coordinates, exceeds 1e-4, and rows farther away
    than about 16.8/√-K are refused. :meth:`distance` and :meth:`pairwise` are exact at any radius,
    since they measure in the given chart.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric, FromChart
    >>> X, y = [[0.0, 0.0], [0.9, 0.0], [0.9, 0.1], [0.0, 0.8], [0.1, 0.8]], list("abbcc")
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> votes = CurvedKNeighborsClassifier(metric=disc, n_neighbors=2)
    >>> make_pipeline(FromChart("poincare"), votes).fit(X, y).predict([[0.8, 0.0], [0.0, 0.7]])
    array(['b', 'c'], dtype='<U1')
    >>> chart = FromChart("poincare").fit(X)
    >>> chart.inverse_transform(chart.transform(X))[1]
    array([0.9, 0. ])
    >>> chart.pairwise([[0.0, 0.0], [0.5, 0.0]]).round(3)
    array([[0.   , 1.099],
           [1.099, 0.   ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "chart": [StrOptions(set(charts.CHARTS))],
        "curvature": [Interval(Real, None, None, closed="neither")],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "axis": [Interval(Integral, None, None, closed="neither")],
    }

    def __init__(
        self, chart: str = "poincare", *, curvature: float = -1.0, radius: float | None = None,
        axis: int = -1,
    ) -> None:  # fmt: skip
        self.chart = chart
        self.curvature = curvature
        self.radius = radius
        self.axis = axis

    @estimators.restore_on_error
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check that the rows lie in the chart, and make the metric.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, d + 1) for the hyperboloid, sphere and hemisphere
        y : ignored
        """
        estimators.check_parameters(self)
        rows = self._in_chart(estimators.check_data(self, X), "X")
        d = rows.shape[1] - (self.chart in charts.EMBEDDED)
        self.metric_ = CurvedMetric.euclidean(d, curvature=self.curvature)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates (n, d) of `metric_`, in double precision.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, d + 1) for the hyperboloid, sphere and hemisphere
        """
        check_is_fitted(self, "metric_")
        given = estimators.check_data(self, X, reset=False, dtype=[np.float64, np.float32])
        rows = self._in_chart(given, "X")
        self._warn_of_rounding(rows, given.dtype)
        with checks.about("X"):
            w = charts.from_chart(rows, self.chart, self._sign)
        lost = charts.position_error(w, "klein", self._sign, np.finfo(float).eps / 2)
        self._warn_where(
            lost, "Klein coordinates in double precision fix", "such rows are measured exactly by "
            "FromChart.pairwise",
        )  # fmt: skip
        return w / self._unit

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return coordinates of the chart from rows (n, d) in the domain of `metric_`."""
        check_is_fitted(self, "metric_")
        Y = np.asarray(self.metric_.to_chart(X, self.chart), dtype=np.float64) * self._radius
        return np.asarray(Y[:, np.argsort(self._order(Y.shape[1]))])

    def distance(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return distances of rows of the chart, from their own coordinates; needs no fit.

        Parameters
        ----------
        p, q : array-like of shape (..., d), or (..., d + 1)
            Coordinates in the chart; broadcast over leading axes.
        """
        p, q = self._measured(p, "p"), self._measured(q, "q")
        return np.asarray(charts.chart_distance(p, q, self.chart, curvature=self.curvature))[()]

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None) -> Floats:
        """Return all distances between rows of X and of Y, or of X, as :meth:`distance` does.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, d + 1)
        Y : array-like of shape (m, d), or (m, d + 1), optional
        """
        rows = self._measured(X, "X", ndim=2)
        columns = rows if Y is None else self._measured(Y, "Y", ndim=2)
        found = np.empty((len(rows), len(columns)))
        step = max(1, BLOCK_ENTRIES // columns.size)
        for i in range(0, len(rows), step):
            found[i : i + step] = charts.chart_distance(
                rows[i : i + step, None], columns, self.chart, curvature=self.curvature
            )
        if Y is None:
            np.fill_diagonal(found, 0.0)
        return found

    @property
    def _n_features_out(self) -> int:
        return self.metric_.dimension

    @property
    def _sign(self) -> int:
        return int(np.sign(self.curvature))

    @property
    def _unit(self) -> float:
        return math.sqrt(abs(self.curvature)) or 1.0

    @property
    def _radius(self) -> float:
        return self.radius or 1 / self._unit

    def _order(self, n_columns: int) -> list[int]:
        """Return the columns, the one of `axis` last."""
        if not -n_columns <= self.axis < n_columns:
            raise InvalidInputError(
                f"Got axis={self.axis}, but expected a column of X, which has {n_columns}."
            )
        last = self.axis % n_columns
        return [j for j in range(n_columns) if j != last] + [last]

    def _in_chart(self, given: AnyArray, name: str) -> Floats:
        """Return rows of the chart in its own unit, the column of `axis` last."""
        rows = np.asarray(given, dtype=np.float64)[..., self._order(given.shape[-1])]
        charts.refuse_chart(self.chart, self._sign)
        unit = nullcontext() if self._radius == 1 else checks.about(f"Over {self._radius:g}")
        with unit:
            return charts.check_in_chart(rows / self._radius, self.chart, self._sign, name)

    def _measured(self, x: ArrayLike, name: str, ndim: int | None = None) -> Floats:
        estimators.check_parameters(self)
        rows = self._in_chart(checks.as_points(x, name, ndim=ndim), name)
        self._warn_of_rounding(rows, checks.float_dtype(x))
        return rows

    def _warn_of_rounding(self, rows: Floats, dtype: np.dtype[Any]) -> None:
        if dtype == np.float32:
            lost = charts.position_error(rows, self.chart, self._sign, np.finfo(dtype).eps / 2)
            self._warn_where(lost, "Coordinates in float32 fix", "compute them in float64")

    def _warn_where(self, lost: Floats, what: str, remedy: str) -> None:
        if (count := np.count_nonzero(lost > KNOWN_TO)) > 0:
            where = checks.list_indices(np.argwhere(lost == lost.max())[:1])
            checks.warn_caller(
                f"{what} the distance of row {where} to ±{lost.max() / self._unit:.2g} only, and "
                f"of {count} of {lost.size} rows to less than ±{KNOWN_TO / self._unit:.2g}; "
                f"{remedy}."
            )
