"""The search itself, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import as_jobs, at_one_moment, check_data, whole_or_not_at_all
from cayleyklein._validation import as_choice, as_count, as_real, check_memory
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.metrics._html import MetricHtmlMixin
from cayleyklein.neighbors._engines import ALGORITHMS, Algorithm, build
from cayleyklein.neighbors._outside import refuse_outside
from cayleyklein.neighbors._refine import Engine, find_nearest, find_within
from cayleyklein.neighbors._rows import Metric, Queries, References, form_values, thread_pool

__all__ = ["CurvedNeighbors"]

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


CHUNK = 4096
"""Queries at a time."""

PAIR_BYTES = 16
"""A row's number and its distance."""

PROBES = 16
"""Queries whose neighbours within a radius are counted first, where all could be too many."""

PROBED_FROM = 1e9
"""Bytes that all pairs would take from which on that is done."""


class CurvedNeighbors(MetricHtmlMixin, BaseEstimator):
    """Nearest neighbours by a curved or a mixed metric, at the price of Euclidean ones.

    Rows are lifted so that ranking by distance is ranking by a Euclidean one (elliptic, flat) or
    by an inner product (hyperbolic); a mixed metric, which has no lift, is searched by a tree of
    vantage points. Every algorithm but the approximate one returns the neighbours that the exact
    float64 distances have, equally near ones in the order of their rows.

    Parameters
    ----------
    metric : CurvedMetric or MixedMetric, optional
        The Euclidean metric when None.
    n_neighbors : int, default=5
    radius : float, default=1.0
        Of :meth:`radius_neighbors`, in the unit of the metric's distances.
    algorithm : str or callable, default="auto"
        How to search: "auto" (which probes the fitted rows), "brute", "tree", "vptree", "faiss" or
        "faiss-approximate". A callable makes an index of your own from the fitted rows. See the
        user guide.
    outside : {"extend", "raise"}, default="extend"
        What becomes of queries outside a hyperbolic domain: they are infinitely far from every
        row and yet have neighbours, or they are refused. Fitted rows must lie inside.
    n_jobs : int, optional
        Threads; the answer does not depend on it. scikit-learn's own brute search, and faiss,
        take their number of threads from the environment.

    Attributes
    ----------
    algorithm_used_ : str
        What ``"auto"`` picked, or what took over where a tree would not have paid.
    metric_ : CurvedMetric or MixedMetric
    recall_ : float
        With ``"faiss-approximate"``, the share of true neighbours found for a sample of the
        fitted rows; 1 for every exact algorithm.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only where the columns of X have names.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> search = CurvedNeighbors(disc, n_neighbors=2).fit([[0.0, 0.0], [0.5, 0.0], [0.0, 0.9]])
    >>> distances, rows = search.kneighbors([[0.1, 0.0]])
    >>> rows
    array([[0, 1]])
    >>> distances.round(3)
    array([[0.1  , 0.449]])

    A query outside the disc has neighbours, infinitely far:

    >>> search.kneighbors([[0.0, 2.0]])
    (array([[inf, inf]]), array([[2, 0]]))
    """

    _references: References
    _engine: Engine | None

    def __init__(
        self,
        metric: Metric | None = None,
        n_neighbors: int = 5,
        *,
        radius: float = 1.0,
        algorithm: Algorithm = "auto",
        outside: Literal["extend", "raise"] = "extend",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.outside = outside
        self.n_jobs = n_jobs

    # -- fitting --------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: Any = None) -> CurvedNeighbors:
        """Take the rows among which neighbours are sought.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inside the metric's domain.
        y : ignored
        """
        self._check_parameters()
        with whole_or_not_at_all(self) as worker:
            rows = worker._rows(X, reset=True)
            worker.metric_ = as_metric(self.metric, rows.shape[1])
            worker._index(References(rows, worker.metric_))
        return self

    def partial_fit(self, X: ArrayLike, y: Any = None) -> CurvedNeighbors:
        """Add rows to those fitted before, whose indices stay.

        Brute force and faiss add them to what they have; a tree is built anew.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.partial_fit([[2.9]]).kneighbors([[3.0]], return_distance=False)
        array([[2, 3]])
        """
        if not hasattr(self, "metric_"):
            return self.fit(X, y)
        self._check_parameters()
        with whole_or_not_at_all(self) as worker:
            worker._add(X)
        return self

    def _add(self, X: ArrayLike) -> None:
        references = self._references.appended(self._rows(X, reset=False))
        engine = None if self._engine is None else self._engine.appended(references)
        if engine is None:
            self._index(references)
        else:
            self._references, self._engine = references, engine
            self.n_samples_fit_ = len(references)

    def _index(self, references: References) -> None:
        with thread_pool(self.n_jobs) as pool:
            built = build(self.algorithm, references, pool)
        self._references, self._engine = references, built.engine
        self.algorithm_used_, self.recall_ = built.name, built.recall
        self.n_samples_fit_ = len(references)

    def _check_parameters(self) -> None:
        as_count(self.n_neighbors, "n_neighbors")
        if not callable(self.algorithm):
            as_choice(self.algorithm, "algorithm", ALGORITHMS)
        as_choice(self.outside, "outside", ("extend", "raise"))
        as_radius(self.radius)
        as_jobs(self.n_jobs)

    def _rows(self, X: ArrayLike, *, reset: bool) -> Floats:
        X = check_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)
        return np.asarray(X, dtype=np.float64)

    def _query_rows(self, X: ArrayLike | None) -> Floats:
        check_is_fitted(self, "metric_")
        if X is None:
            return self._references.X
        rows = self._rows(X, reset=False)
        if self.outside == "raise":
            inside = np.all([s > 0 for s in form_values(rows, self._references.parts)], axis=0)
            refuse_outside(inside, "X", 'drop them, or rank their neighbours by outside="extend"')
        return rows

    def _chunks(
        self, rows: Floats, own: bool, size: int = CHUNK
    ) -> Iterator[tuple[slice, Queries]]:
        """Cut the queries into chunks; of one at a time more is kept than the rows."""
        for start in range(0, len(rows), size):
            chunk = slice(start, min(start + size, len(rows)))
            mine = np.arange(chunk.start, chunk.stop) if own else None
            yield chunk, Queries(rows[chunk], self._references.parts, mine)

    # -- searching ------------------------------------------------------------------

    @at_one_moment
    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> tuple[Floats, Index] | Index:
        """Return the distances and the rows of the nearest neighbours, nearest first.

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            The fitted rows themselves when None; no row is then its own neighbour.
        n_neighbors : int, optional
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (m, n_neighbors)
            Only if `return_distance`; inf for queries outside a hyperbolic domain.
        rows : ndarray of shape (m, n_neighbors)
        """
        queries = self._query_rows(X)
        k = as_count(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors")
        available = self.n_samples_fit_ - (X is None)
        if k > available:
            raise InvalidInputError(
                f"Expected n_neighbors <= {available}, the number of fitted rows"
                f"{' other than the query itself' if X is None else ''}, but "
                f"n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}, "
                f"n_samples = {len(queries)}."
            )
        check_memory(
            PAIR_BYTES * len(queries) * k,
            f"{k:,} neighbours of each of {len(queries):,} rows",
            "Ask for some rows at a time, or for fewer neighbours.",
        )
        distances = np.empty((len(queries), k))
        rows = np.empty((len(queries), k), dtype=np.intp)
        with thread_pool(self.n_jobs) as pool:
            for at, some in self._chunks(queries, own=X is None):
                found = find_nearest(self._engine, self._references, some, k, pool)
                distances[at] = np.where(some.inside[:, None], found[0], np.inf)
                rows[at] = found[1]
        return (distances, rows) if return_distance else rows

    @at_one_moment
    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> tuple[NDArray[Any], NDArray[Any]] | NDArray[Any]:
        """Return the distances and the rows of all neighbours within a radius, itself included.

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            The fitted rows themselves when None; no row is then its own neighbour.
        radius : float, optional
        return_distance : bool, default=True
        sort_results : bool, default=False
            Nearest first, rather than in the order of rows.

        Returns
        -------
        distances, rows : ndarray of shape (m,) of arrays
            `distances` only if `return_distance`. A query outside the domain has none.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> distances, rows = search.radius_neighbors([[0.5]], radius=1.0)
        >>> rows[0], distances[0]
        (array([0, 1]), array([0.5, 0.5]))
        """
        queries = self._query_rows(X)
        radius = as_radius(self.radius if radius is None else radius)
        chunk = self._check_radius(queries, radius, own=X is None)
        distances = np.empty(len(queries), dtype=object)
        rows = np.empty(len(queries), dtype=object)
        with thread_pool(self.n_jobs) as pool:
            for at, some in self._chunks(queries, own=X is None, size=chunk):
                which, columns, values = find_within(
                    self._engine, self._references, some, radius, pool
                )
                if sort_results:
                    order = np.lexsort((columns, values, which))
                    columns, values = columns[order], values[order]
                cuts = np.searchsorted(which, np.arange(1, len(some)))
                rows[at], distances[at] = (as_ragged(np.split(a, cuts)) for a in (columns, values))
        return (distances, rows) if return_distance else rows

    def _check_radius(self, queries: Floats, radius: float, own: bool) -> int:
        """Refuse a radius with more neighbours than memory holds; return queries at a time.

        What there will be is guessed from a few queries, spread evenly.
        """
        n = self.n_samples_fit_
        if PAIR_BYTES * len(queries) * n < PROBED_FROM:
            return CHUNK
        some = np.unique(np.linspace(0, len(queries) - 1, PROBES).astype(np.intp))
        count = 0
        for row in some:
            mine = np.array([row]) if own else None
            one = Queries(queries[row : row + 1], self._references.parts, mine)
            count += len(find_within(self._engine, self._references, one, radius, None)[0])
        each = count / len(some)
        check_memory(
            PAIR_BYTES * each * len(queries),
            f"The neighbours within {radius:g}, about {each:,.0f} of each of "
            f"{len(queries):,} rows,",
            "Take a smaller radius, or some rows at a time.",
        )
        return int(np.clip(PROBED_FROM / PAIR_BYTES / 8 / max(each, 1.0), 1, CHUNK))

    # -- graphs ---------------------------------------------------------------------

    @at_one_moment
    def kneighbors_graph(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the graph of nearest neighbours as a sparse matrix (m, n).

        Parameters
        ----------
        X, n_neighbors : see :meth:`kneighbors`
        mode : {"connectivity", "distance"}, default="connectivity"
            Entries 1, or the distances.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.kneighbors_graph([[0.9]], 2).toarray()
        array([[1., 1., 0.]])
        """
        as_choice(mode, "mode", ("connectivity", "distance"))
        distances, rows = self.kneighbors(X, n_neighbors)
        m, k = rows.shape
        return self._graph(mode, distances.ravel(), rows.ravel(), np.arange(0, m * k + 1, k))

    @at_one_moment
    def radius_neighbors_graph(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        sort_results: bool = False,
    ) -> sparse.csr_matrix:
        """Return the graph of neighbours within a radius as a sparse matrix (m, n).

        Parameters
        ----------
        X, radius : see :meth:`radius_neighbors`
        mode : {"connectivity", "distance"}, default="connectivity"
        sort_results : see :meth:`radius_neighbors`

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.radius_neighbors_graph([[0.9]], 1.0, mode="distance").toarray().round(3)
        array([[0.9, 0.1, 0. ]])
        """
        as_choice(mode, "mode", ("connectivity", "distance"))
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        return self._graph(mode, np.concatenate(distances), np.concatenate(rows), starts)

    def _graph(self, mode: str, distances: Floats, rows: Index, starts: Index) -> sparse.csr_matrix:
        values = distances if mode == "distance" else np.ones(len(rows))
        shape = (len(starts) - 1, self.n_samples_fit_)
        return sparse.csr_matrix((values, rows, starts), shape=shape)


def as_metric(metric: object, n_features: int) -> Metric:
    """Check the metric of a search against the number of columns."""
    if metric is None:
        return CurvedMetric.euclidean(n_features)
    if not isinstance(metric, CurvedMetric | MixedMetric):
        raise InvalidInputError(
            f"metric must be a CurvedMetric, a MixedMetric or None; got {type(metric).__name__}."
        )
    if metric.dimension != n_features:
        raise InvalidInputError(
            f"X has {n_features} columns, but the metric is for {metric.dimension}."
        )
    return metric


def as_radius(value: object) -> float:
    """Check a radius."""
    infinite = isinstance(value, float) and value == math.inf
    radius = math.inf if infinite else as_real(value, "radius")
    if radius < 0:
        raise InvalidInputError(f"Got radius={radius:g}, but expected a number ≥ 0.")
    return radius


def as_ragged(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Return an array of arrays, also where all have one length."""
    ragged = np.empty(len(arrays), dtype=object)
    ragged[:] = arrays
    return ragged
