"""k-means in a curved metric: Lloyd's steps with Fréchet means, from k-means++ starts.

All starts take their steps together, each towards the Fréchet means of its clusters; only the best
one is given the exact means.
"""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
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
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import means
from cayleyklein.geometry.space import refuse_at
from cayleyklein.metrics import CurvedMetric


class Clusters(NamedTuple):
    """What the steps of several starts led to."""

    centers: Floats  # (s, k, d)
    inertia: Floats  # (s,), Σ w d²
    n_iter: Ints  # (s,)
    settled: Bools  # (s,)


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
    tol : float, default=1e-4
        Relative decrease of the sum of squares at which a start ends. The best start goes on from
        there with exact means.
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
    (array([0, 0, 2, 2, 1, 1]), array([0]))
    >>> model.cluster_centers_.round(3)[2], model.transform(X).shape
    (array([0.05, 0.  ]), (6, 3))
    >>> model.fit_predict(X), round(model.score(X), 3)
    (array([0, 0, 2, 2, 1, 1]), -0.018)
    >>> model.voronoi().areas().round(2)
    array([0.37, 0.4 , 2.37])
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
        tol: float = 1e-4,
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
        n_clusters, steps = self.n_clusters, self.max_iter
        starts = drawn_centers(places, shares, metric, n_clusters, self.n_init, rng)
        found = move_until_still(places, shares, metric, starts, moved_centers, self.tol, steps)
        best = int(np.argmin(found.inertia))
        before = int(found.n_iter[best])
        first = found.centers[best : best + 1]
        last = move_until_still(
            places, shares, metric, first, exact_means, self.tol, steps - before
        )
        if not last.settled[0]:
            said = f"The clusters were still moving after max_iter={steps} steps."
            checks.warn_caller(said, ConvergenceWarning)
        self.metric_ = metric
        self.cluster_centers_ = last.centers[0]
        self.n_iter_ = before + int(last.n_iter[0])
        self.labels_, _ = self._nearest(rows)
        self.inertia_ = float(last.inertia[0])
        return self

    def fit_predict(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Ints:
        """Find the clusters of rows and return `labels_`, see :meth:`fit`."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: ArrayLike) -> Ints:
        """Return the cluster (m,) of each row X (m, d), that of the nearest centre."""
        return self._nearest(self._queries(X))[0]

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
        return -float(weights @ np.square(self._nearest(rows)[1]))

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

    def _nearest(self, rows: Floats) -> tuple[Ints, Floats]:
        """Return the nearest centre of each row, and its distance."""
        (labels,), (distances,) = nearest_centers(rows, self.cluster_centers_[None], self.metric_)
        return labels, distances

    def _queries(self, X: ArrayLike) -> Floats:
        check_is_fitted(self, "cluster_centers_")
        return np.asarray(estimators.check_data(self, X, reset=False), dtype=np.float64)


def move_until_still(
    rows: Floats,
    weights: Floats,
    metric: Any,
    centers: Floats,
    move: Callable[..., Floats],
    tol: float,
    max_iter: int,
) -> Clusters:
    """Return the clusters of starts (s, k, d), which take their Lloyd's steps together.

    `move` is `moved_centers` or `exact_means`. A start is settled when its sum of squares decreases
    by no more than `tol`.
    """
    centers = centers.copy()
    sums = np.full(len(centers), np.inf)
    steps = np.zeros(len(centers), dtype=np.intp)
    moving = np.arange(len(centers))
    for step in range(max_iter + 1):
        labels, distances = nearest_centers(rows, centers[moving], metric)
        for at, own, away in zip(moving, labels, distances, strict=True):
            fill_empty(own, away, centers[at], rows, weights)
        found = np.square(distances) @ weights
        still = sums[moving] - found > tol * found
        sums[moving] = found
        steps[moving] = step
        moving = moving[still]
        if step == max_iter or not len(moving):
            break
        nearest = labels[still], distances[still]
        centers[moving] = move(centers[moving], *nearest, rows, weights, metric)
    return Clusters(centers, sums, steps, ~np.isin(np.arange(len(centers)), moving))


def nearest_centers(rows: Floats, centers: Floats, metric: Any) -> tuple[Ints, Floats]:
    """Return the nearest of the centres (s, k, d) of each start, and its distance, (s, n)."""
    s, k, d = centers.shape
    step = max(1, 2**20 // (s * k))
    labels = np.empty((s, len(rows)), dtype=np.intp)
    distances = np.empty((s, len(rows)))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        between = metric.pairwise(rows[some], centers.reshape(s * k, d)).reshape(-1, s, k)
        labels[:, some] = between.argmin(axis=2).T
        distances[:, some] = between.min(axis=2).T
    return labels, distances


def moved_centers(
    centers: Floats, labels: Ints, distances: Floats, rows: Floats, weights: Floats, metric: Any
) -> Floats:
    """Return the centres (s, k, d) after a step towards the Fréchet means of their rows.

    The step is the mean of the logarithms v over c = max(1, √-K d coth(√-K d)), averaged too. The
    Hessian of Σ w d²/2 is at most Σ w c at its start, and for K < 0 at most 2 Σ w c on its way, for
    no row's √-K d grows by more than 1 and c by no more than that; so no step raises the sum of
    squares. For K = 0 it ends at the mean.
    """
    s, k, d = centers.shape
    group = (labels + k * np.arange(s)[:, None]).ravel()
    flat = centers.reshape(s * k, d)
    at = flat[group]
    apart = distances.ravel()
    unit = math.sqrt(abs(metric.curvature))
    ends = np.tile(rows, (s, 1))
    if metric.curvature > 0:  # rows opposite to a centre pull nowhere
        opposite = unit * apart > math.pi - 1e-9
        ends[opposite] = at[opposite]
    shares = np.tile(weights, s)
    sums = coo_array((shares, (group, np.arange(len(group)))), shape=(s * k, len(group))).tocsr()
    bend = np.maximum(means.bend(apart, metric.curvature), 1.0)
    whole = sums @ bend
    pull = (sums @ metric.log(at, ends)) / np.where(whole > 0, whole, 1.0)[:, None]
    return np.asarray(metric.exp(flat, pull)).reshape(s, k, d)


def exact_means(
    centers: Floats, labels: Ints, distances: Floats, rows: Floats, weights: Floats, metric: Any
) -> Floats:
    """Return the Fréchet means (s, k, d) of the rows of each centre."""
    found = centers.copy()
    for start, own in enumerate(labels):
        for cluster in np.unique(own):
            mine = own == cluster
            found[start, cluster] = metric.frechet_mean(rows[mine], weights[mine])
    return found


def drawn_centers(
    rows: Floats, weights: Floats, metric: Any, k: int, starts: int, rng: np.random.RandomState
) -> Floats:
    """Return centres (starts, k, d) by k-means++: rows drawn by weight · d², the best of a few.

    Arthur and Vassilvitskii (2007). Where fewer places than k have rows, the others are copies.
    """
    trials = 2 + int(np.log(k))
    n = len(rows)

    def draw(shares: Floats, count: int) -> Ints:
        """Draw rows (starts, count) by their shares (starts, n)."""
        upto = np.cumsum(shares, axis=1)
        at = rng.uniform(size=(starts, count)) * upto[:, -1:]
        found = [np.searchsorted(*pair, side="right") for pair in zip(upto, at, strict=True)]
        return np.minimum(found, n - 1)

    each = np.arange(starts)
    drawn = draw(np.tile(weights, (starts, 1)), 1)
    square = np.square(metric.pairwise(rows, rows[drawn[:, 0]])).T
    chosen = [drawn[:, 0]]
    for _ in range(k - 1):
        drawn = draw(weights * square, trials)
        between = metric.pairwise(rows, rows[drawn.ravel()]).T.reshape(starts, trials, n)
        tried = np.minimum(square[:, None], np.square(between))
        best = (tried @ weights).argmin(axis=1)
        chosen.append(drawn[each, best])
        square = tried[each, best]
    return np.asarray(rows[np.stack(chosen, axis=1)])


def fill_empty(
    labels: Ints, distances: Floats, centers: Floats, rows: Floats, weights: Floats
) -> None:
    """Move the centre of each empty cluster to the row that adds most to the sum of squares.

    Labels, distances and centres change in place.
    """
    k = len(centers)
    for cluster in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        cost = weights * np.square(distances)
        cost[np.bincount(labels, minlength=k)[labels] == 1] = -1.0
        farthest = int(np.argmax(cost))
        if cost[farthest] <= 0:  # fewer places than clusters
            return
        labels[farthest] = cluster
        distances[farthest] = 0.0
        centers[cluster] = rows[farthest]
