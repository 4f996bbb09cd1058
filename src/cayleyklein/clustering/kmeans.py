"""k-means in a curved metric: Lloyd's steps with Fréchet means, from k-means++ starts."""

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from cayleyklein import _estimators as estimators
from cayleyklein import _validation as checks
from cayleyklein._typing import Floats, Ints
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry.space import refuse_at
from cayleyklein.metrics import CurvedMetric


class Clusters(NamedTuple):
    """Centres (k, d), the cluster of each row, Σ w d², and how the descent went."""

    centers: Floats
    labels: Ints
    inertia: float
    n_iter: int
    converged: bool


class CurvedKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    estimators.TakesSparse,
    BaseEstimator,
):
    """Cluster rows by k-means in a space of constant curvature.

    Rows belong to the nearest centre, and each centre is the Fréchet mean of its rows, the point
    with the least weighted sum of squared distances, for every sign of the curvature. The cells of
    the centres are their Voronoi diagram: :meth:`voronoi`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : CurvedMetric, optional
        Metric of the rows, for example that of :class:`cayleyklein.FromChart` or of a learner; the
        Euclidean one when None.
    n_init : int, default=4
        Number of starts by k-means++; the one with the least sum of squares wins.
    max_iter : int, default=300
        Maximum number of steps of each start.
    tol : float, default=1e-6
        Relative decrease of the sum of squares at which a start ends.
    random_state : int, RandomState or None, default=None
        Seed of the starts. The clusters do not depend on the order of the rows.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, d)
        Centres.
    labels_ : ndarray of shape (n,)
        Cluster of each row.
    inertia_ : float
        Sum of squared distances of rows to their centres, times their weights.
    metric_ : CurvedMetric
        Metric of the rows.
    n_iter_ : int
        Number of steps of the best start.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Notes
    -----
    A cluster that loses all its rows takes the row that adds most to the sum of squares.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> X = [[0.9, 0.0], [0.9, 0.05], [0.0, 0.0], [0.1, 0.0], [0.0, 0.9], [0.05, 0.9]]
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> model = CurvedKMeans(3, metric=disc, random_state=0).fit(X)
    >>> model.labels_, model.predict([[0.8, 0.1]])
    (array([1, 1, 0, 0, 2, 2]), array([1]))
    >>> model.cluster_centers_.round(3)[0], model.transform(X).shape
    (array([0.05, 0.  ]), (6, 3))
    >>> model.fit_predict(X), round(model.score(X), 3)
    (array([1, 1, 0, 0, 2, 2]), -0.018)
    >>> model.voronoi().areas().round(2)
    array([2.37, 0.37, 0.4 ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = None,
        n_init: int = 4,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @estimators.restore_on_error
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the clusters of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows in the domain of the metric.
        y : None
            Not used.
        sample_weight : array-like of shape (n,), optional
            Weight of each row, 0 or more; a row of weight 2 is two rows.
        """
        estimators.check_parameters(self)
        rows = estimators.check_data(self, X)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        refuse_at(weights < 0, "sample_weight is negative", "; a weight is 0 or more.")
        metric = CurvedMetric.euclidean(rows.shape[1]) if self.metric is None else self.metric
        known = hasattr(metric, "frechet_mean")
        kind = type(metric).__name__
        checks.expect(known, "metric", kind, "a metric with Fréchet means, such as a CurvedMetric")
        if len(rows) < self.n_clusters:
            raise InvalidInputError(
                f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}."
            )
        # copies are one place, and places have an order of their own
        places, place = np.unique(rows, axis=0, return_inverse=True)
        shares = np.asarray(np.bincount(place.ravel(), weights, minlength=len(places)), float)
        given = shares > 0
        rng = check_random_state(self.random_state)
        places, shares = places[given], shares[given]
        fits = [self._descend(places, shares, metric, rng) for _ in range(self.n_init)]
        best = min(fits, key=lambda fit: fit.inertia)
        if not best.converged:
            said = f"The clusters were still moving after max_iter={self.max_iter} steps."
            checks.warn_caller(said, ConvergenceWarning)
        self.metric_ = metric
        self.cluster_centers_ = best.centers
        self.n_iter_ = best.n_iter
        self.labels_, _ = nearest_centers(rows, best.centers, metric)
        self.inertia_ = best.inertia
        return self

    def fit_predict(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Ints:
        """Find the clusters of rows and return `labels_`, see :meth:`fit`."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: ArrayLike) -> Ints:
        """Return the cluster (m,) of each row X (m, d), that of the nearest centre."""
        return nearest_centers(self._queries(X), self.cluster_centers_, self.metric_)[0]

    def transform(self, X: ArrayLike) -> Floats:
        """Return the distances (m, n_clusters) of rows X (m, d) to the centres."""
        return np.asarray(self.metric_.pairwise(self._queries(X), self.cluster_centers_), float)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the negative sum of squared distances to the nearest centres.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows in the domain of the metric.
        y : None
            Not used.
        sample_weight : array-like of shape (m,), optional
            Weight of each row.
        """
        rows = self._queries(X)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        distances = nearest_centers(rows, self.cluster_centers_, self.metric_)[1]
        return -float(weights @ np.square(distances))

    def voronoi(self, **options: Any) -> CayleyKleinVoronoi:
        """Return the Voronoi diagram of the centres, whose cells are the clusters.

        Parameters
        ----------
        **options : keyword arguments
            Options of :class:`cayleyklein.CayleyKleinVoronoi`.
        """
        check_is_fitted(self, "cluster_centers_")
        return CayleyKleinVoronoi(self.cluster_centers_, self.metric_, **options)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _queries(self, X: ArrayLike) -> Floats:
        check_is_fitted(self, "cluster_centers_")
        return np.asarray(estimators.check_data(self, X, reset=False), dtype=np.float64)

    def _descend(
        self, rows: Floats, weights: Floats, metric: Any, rng: np.random.RandomState
    ) -> Clusters:
        """Return clusters by Lloyd's steps from a start by k-means++."""
        centers = drawn_centers(rows, weights, metric, self.n_clusters, rng)
        last, labels = np.inf, np.full(len(rows), -1)
        for step in range(1, self.max_iter + 1):
            found, distances = nearest_centers(rows, centers, metric)
            fill_empty(found, distances, weights, len(centers))
            inertia = float(weights @ np.square(distances))
            if (found == labels).all() or last - inertia <= self.tol * inertia:
                return Clusters(centers, found, inertia, step, True)
            last, labels = inertia, found
            centers = centers.copy()
            for cluster in np.unique(labels):
                mine = labels == cluster
                centers[cluster] = metric.frechet_mean(rows[mine], weights[mine])
        found, distances = nearest_centers(rows, centers, metric)
        inertia = float(weights @ np.square(distances))
        return Clusters(centers, found, inertia, self.max_iter, False)


def nearest_centers(rows: Floats, centers: Floats, metric: Any) -> tuple[Ints, Floats]:
    """Return the nearest centre of each row, and its distance."""
    step = max(1, 2**20 // len(centers))
    labels, distances = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        between = metric.pairwise(rows[some], centers)
        labels[some] = between.argmin(axis=1)
        distances[some] = between[np.arange(len(between)), labels[some]]
    return labels, distances


def drawn_centers(
    rows: Floats, weights: Floats, metric: Any, k: int, rng: np.random.RandomState
) -> Floats:
    """Return k rows by k-means++: each drawn by weight · d², the best one of a few.

    Arthur and Vassilvitskii (2007). Where fewer places than k have rows, the others are copies.
    """
    trials = 2 + int(np.log(k))
    first = rows[np.searchsorted(np.cumsum(weights), rng.uniform() * weights.sum(), side="right")]
    centers = [first]
    square = np.square(metric.pairwise(rows, first[None])[:, 0])
    for _ in range(k - 1):
        share = np.cumsum(weights * square)
        at = np.searchsorted(share, rng.uniform(size=trials) * share[-1], side="right")
        drawn = np.unique(np.minimum(at, len(rows) - 1))
        tried = np.minimum(square[:, None], np.square(metric.pairwise(rows, rows[drawn])))
        best = int(np.argmin(weights @ tried))
        centers.append(rows[drawn[best]])
        square = tried[:, best]
    return np.array(centers)


def fill_empty(labels: Ints, distances: Floats, weights: Floats, k: int) -> None:
    """Give each empty cluster the row that adds most to the sum of squares, in place."""
    for cluster in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        cost = weights * np.square(distances)
        alone = np.bincount(labels, minlength=k)[labels] == 1
        cost[alone] = -1.0
        farthest = int(np.argmax(cost))
        if cost[farthest] <= 0:  # fewer places than clusters
            return
        labels[farthest] = cluster
        distances[farthest] = 0.0
