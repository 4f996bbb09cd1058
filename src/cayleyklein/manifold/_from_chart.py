"""Curved embeddings as coordinates of a metric."""

import math
from contextlib import nullcontext
from dataclasses import replace
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
from cayleyklein.geometry import charts, sphere
from cayleyklein.metrics import CurvedMetric, Metric, SphereMetric


class FromChart(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, estimators.TakesSparse, BaseEstimator
):
    """Convert an embedding in a chart of curved space to coordinates of a metric.

    Vectors of Poincaré's ball, of the hyperboloid (Lorentz model), of the half-space or of a sphere
    become coordinates of `metric_`, in which geodesics and hyperplanes are straight: for
    classifiers and searches with ``metric=``, for diagrams, linear machines, trees and forests.

    Parameters
    ----------
    chart : str, default="poincare"
        "poincare", "hyperboloid", "half_space", "hemisphere" (K < 0), "sphere" (K > 0), "conformal"
        (stereographic for K > 0) or "klein": see :func:`cayleyklein.geometry.to_chart`. On the
        whole sphere (K > 0) "lonlat", longitude and latitude in degrees, and "unit", unit vectors
        all around: their coordinates are unit vectors, and `metric_` a SphereMetric.
    curvature : float, default=-1.0
        Curvature K of the embedding, of a sign that has this chart.
    radius : float, optional
        Radius of the given ball, hyperboloid or sphere. By default 1/√abs(K), as in geoopt and
        HypLL; geomstats and manify take 1 for every K. The half-space has none.
    axis : int, default=-1
        Column of the time coordinate of the hyperboloid, the pole of the sphere or the height in
        the half-space. geoopt, geomstats and manify have time first: 0.

    Attributes
    ----------
    metric_ : CurvedMetric or SphereMetric
        Metric of the result, ``CurvedMetric.euclidean(d, curvature=K)``; on the whole sphere a
        SphereMetric.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Notes
    -----
    The result is in double precision, also for float32. It fixes a point at the distance r from the
    centre to 3e-17 exp(2r√-K)/√-K. Where this, or what float32 left of the given coordinates,
    exceeds 1e-4, a warning gives the number; beyond 16.8/√-K rows are refused. :meth:`pairwise` and
    :func:`cayleyklein.geometry.chart_distance` are exact at any radius.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric, FromChart
    >>> X, y = [[0.0, 0.0], [0.9, 0.0], [0.9, 0.1], [0.0, 0.8], [0.1, 0.8]], list("abbcc")
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> votes = CurvedKNeighborsClassifier(metric=disc, n_neighbors=2)
    >>> make_pipeline(FromChart("poincare"), votes).fit(X, y).predict([[0.8, 0.0], [0.0, 0.7]])
    array(['b', 'c'], dtype='<U1')
    >>> globe = FromChart("lonlat", curvature=1 / 6371**2)  # km
    >>> globe.fit([[13.4, 52.5], [-77.0, -12.0]]).transform([[90.0, 0.0]]).round(12) + 0.0
    array([[0., 1., 0.]])
    >>> chart = FromChart("poincare").fit(X)
    >>> chart.inverse_transform(chart.transform(X))[1], chart.pairwise(X)[0, 1].round(3)
    (array([0.9, 0. ]), np.float64(2.944))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "chart": [StrOptions({*charts.CHARTS, *sphere.WHOLE})],
        "curvature": [Interval(Real, None, None, closed="neither")],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "axis": [Interval(Integral, None, None, closed="neither")],
    }

    def __init__(
        self,
        chart: str = "poincare",
        *,
        curvature: float = -1.0,
        radius: float | None = None,
        axis: int = -1,
    ) -> None:
        self.chart = chart
        self.curvature = curvature
        self.radius = radius
        self.axis = axis

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's checks fit random rows, which these charts refuse
        takes_all_rows = self.chart in ("klein", "conformal") and self.curvature >= 0
        return replace(tags, _skip_test=not takes_all_rows)

    @estimators.restore_on_error
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check that rows (n, d), or (n, d + 1) of embedded charts, are in the chart."""
        rows = self._in_chart(estimators.check_data(self, X), "X")
        if self.chart in sphere.WHOLE:
            self._n_features_out = rows.shape[1]
            self.metric_: Metric = SphereMetric(rows.shape[1], self.curvature)
            return self
        self._n_features_out = rows.shape[1] - (self.chart in charts.EMBEDDED)
        self.metric_ = CurvedMetric.euclidean(self._n_features_out, curvature=self.curvature)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates (n, d) of `metric_` of rows of the chart, in double precision."""
        check_is_fitted(self, "metric_")
        given = estimators.check_data(self, X, reset=False, dtype=[np.float64, np.float32])
        if not isinstance(self.metric_, CurvedMetric):
            return self._in_chart(given, "X")
        found = self.metric_.from_chart(self._in_chart(given, "X", given.dtype), self.chart)
        lost = np.finfo(float).eps / 2 / self.metric_.form_values(found)
        what = "Klein coordinates in double precision"
        self._warn_where(lost, what, "by pairwise they are exact")
        return found

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return coordinates of the chart of rows (n, d) in the domain of `metric_`."""
        check_is_fitted(self, "metric_")
        if self.chart in sphere.WHOLE:
            points = sphere.unit_vectors(X, "X", self._n_features_out)
            return sphere.to_lonlat(points) if self.chart == "lonlat" else points
        metric: Any = self.metric_
        Y = np.asarray(metric.to_chart(X, self.chart), dtype=np.float64) * self._radius
        return np.asarray(Y[:, np.argsort(self._order(Y.shape[1]))])

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None) -> Floats:
        """Return all distances between rows of the chart, X and Y or X and X; needs no fit.

        They are taken from the given coordinates, and so exact at any distance from the centre.
        """
        rows, *others = (
            self._in_chart(checks.as_points(given, name, ndim=2), name, checks.float_dtype(given))
            for name, given in (("X", X), ("Y", Y))
            if given is not None
        )
        if self.chart in sphere.WHOLE:
            whole = SphereMetric(rows.shape[1], self.curvature)
            return np.asarray(whole.pairwise(rows, *others), dtype=np.float64)
        ends = rows[:, None], (others or [rows])[0]
        return np.asarray(charts.chart_distance(*ends, self.chart, curvature=self.curvature))

    @property
    def _radius(self) -> float:
        if self.chart in sphere.WHOLE:  # unit vectors are of length 1, whatever K
            return self.radius or 1.0
        return self.radius or 1 / (math.sqrt(abs(self.curvature)) or 1.0)

    def _order(self, n_columns: int) -> list[int]:
        return order_of_columns(n_columns, self.chart, self.axis)

    def _in_chart(self, given: AnyArray, name: str, dtype: Any = np.float64) -> Floats:
        """Return rows in units of the radius, `axis` last; warn of what their dtype has lost."""
        estimators.check_parameters(self)
        rows = rows_in_chart(given, name, self.chart, self.curvature, self._radius, self.axis)
        if dtype == np.float32:
            sign = int(np.sign(self.curvature))
            lost = charts.position_error(rows, self.chart, sign, np.finfo(dtype).eps / 2)
            self._warn_where(lost, "Coordinates in float32", "compute them in float64")
        return rows

    def _warn_where(self, lost: Floats, what: str, remedy: str) -> None:
        """Warn of rows that rounding may have moved by over 1e-4/√|K|."""
        known_to = 1e-4
        unit = math.sqrt(abs(self.curvature)) or 1.0
        count = np.count_nonzero(lost > known_to)
        if count:
            checks.warn_caller(
                f"{what} fix the distance of row {lost.argmax()} only to ±{lost.max() / unit:.2g}, "
                f"and those of {count} of {len(lost)} rows to worse than ±{known_to / unit:.2g}; "
                f"{remedy}."
            )


def order_of_columns(n_columns: int, chart: str, axis: int) -> list[int]:
    """Return the columns of a chart, the one of the axis last."""
    expected = f"a column of X, which has {n_columns}"
    checks.expect(-n_columns <= axis < n_columns, "axis", axis, expected)
    has_axis = chart == "half_space" or chart in charts.EMBEDDED
    last = (axis if has_axis else -1) % n_columns
    return [j for j in range(n_columns) if j != last] + [last]


def rows_in_chart(
    given: AnyArray, name: str, chart: str, curvature: float, radius: float, axis: int
) -> Floats:
    """Return rows of a chart in units of the radius, the axis last."""
    if chart in sphere.WHOLE:
        checks.expect(curvature > 0, "curvature", curvature, f'a number > 0 for chart="{chart}"')
        return sphere.whole_sphere(given / radius if chart == "unit" else given, chart, name)
    sign = int(np.sign(curvature))
    with checks.about(f"curvature={curvature:g}"):
        charts.refuse_chart(chart, sign)
    order = order_of_columns(given.shape[-1], chart, axis)
    rows = np.asarray(given, dtype=np.float64)[..., order]
    with nullcontext() if radius == 1 else checks.about(f"Over {radius:g}"):
        return charts.check_in_chart(rows / radius, chart, sign, name)
