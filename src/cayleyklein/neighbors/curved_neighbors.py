"""The search as a scikit-learn estimator."""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import check_columns, row_blocks
from cayleyklein._estimators import (
    SharedConstraints,
    TakesSparse,
    check_data,
    check_parameters,
    is_dask,
    restore_on_error,
)
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_choice, as_real, check_memory
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors import algorithms, dask_shards, functions, search, space

OutsideQueries = Literal["extend", "raise"]


def searched_rows(estimator: Any) -> Floats | None:
    """Return the fitted rows that an estimator searches; None where it has none in memory."""
    return getattr(getattr(estimator, "_searcher", None), "X", None)


class NeighborMethods(TakesSparse, SharedConstraints, EstimatorCard, BaseEstimator):
    """Methods of every estimator that finds neighbours, on the index that `_row_index` returns."""

    n_neighbors: int | str
    algorithm: algorithms.Algorithm
    outside: OutsideQueries
    n_jobs: int | None
    radius: float = 1.0
    metric_: Metric | functions.FunctionMetric
    n_samples_fit_: int
    _searcher: search.RowIndex | dask_shards.Shards

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "algorithm": [StrOptions(set(algorithms.ALGORITHMS))],
        "outside": [StrOptions(set(get_args(OutsideQueries)))],
    }

    def _row_index(self) -> search.RowIndex | dask_shards.Shards:
        check_is_fitted(self, "metric_")
        return self._searcher

    def _rows_in_memory(self) -> search.RowIndex:
        """Return the index of all fitted rows; raise where they are on a cluster."""
        index = self._row_index()
        if isinstance(index, dask_shards.Shards):
            raise InvalidInputError(
                "This estimator is fitted on a Dask collection, whose rows stay on the cluster; "
                "it offers kneighbors and predictions only. Keep metric_, and fit on rows in "
                "memory for the rest."
            )
        return index

    def __getstate__(self) -> Any:
        if isinstance(getattr(self, "_searcher", None), dask_shards.Shards):
            self._rows_in_memory()  # refuses: shards do not leave their cluster
        return super().__getstate__()

    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Return the distances and the rows of the nearest neighbours, nearest first.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (m, d), optional
            The fitted rows themselves when None; no row is then its own neighbour.
        n_neighbors : int, optional
            Number of neighbours; by default that of the estimator.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray or Dask array of shape (m, n_neighbors)
            Only if `return_distance`; inf for queries outside a hyperbolic domain. A lazy Dask
            array if the queries are a Dask collection.
        rows : ndarray or Dask array of shape (m, n_neighbors)
            Numbers of the neighbours among the fitted rows.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.kneighbors([[0.9]])
        (array([[0.1, 0.9]]), array([[1, 0]]))
        """
        k = search.number_of_neighbors(self, n_neighbors, own=X is None)
        index, queries = self._row_index(), search.checked_queries(self, X)
        if isinstance(queries, np.ndarray):
            check_memory(
                search.PAIR_BYTES * len(queries) * k,
                f"{k:,} neighbours of each of {len(queries):,} rows",
                "Ask for some rows at a time, or for fewer neighbours.",
            )
        kinds = ((k,), np.float64), ((k,), np.intp)
        found = index.answer(queries, k, distances_and_rows, None, kinds, self.n_jobs)
        return found if return_distance else found[1]

    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> tuple[AnyArray, AnyArray] | AnyArray:
        """Return the distances and the rows of all neighbours within a radius, which is included.

        For rows and queries in memory: there may be any number of such neighbours.

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            The fitted rows themselves when None; no row is then its own neighbour.
        radius : float, optional
            Radius; by default that of the estimator.
        return_distance : bool, default=True
            Whether to return the distances too.
        sort_results : bool, default=False
            Whether to sort neighbours by distance, rather than in the order of rows.

        Returns
        -------
        distances : ndarray of shape (m,) of arrays
            Distances of the neighbours; only if `return_distance`.
        rows : ndarray of shape (m,) of arrays
            Numbers of the neighbours among the fitted rows. A query outside the domain has none.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> distances, rows = search.radius_neighbors([[0.5]], radius=1.0)
        >>> rows[0], distances[0]
        (array([0, 1]), array([0.5, 0.5]))
        """
        index = self._rows_in_memory()
        queries = self._queries_in_memory(X)
        radius = self.radius if radius is None else radius
        if not (type(radius) is float and radius == np.inf):
            radius = as_real(radius, "radius", "[0, inf)")
        which, rows, distances = index.within(queries, radius, self.n_jobs, own=X is None)
        if sort_results:
            order = np.lexsort((rows, distances, which))
            rows, distances = rows[order], distances[order]
        cuts = np.searchsorted(which, np.arange(1, len(queries)))
        found = np.empty((2, len(queries)), dtype=object)
        found[0, :], found[1, :] = np.split(distances, cuts), np.split(rows, cuts)
        return (found[0], found[1]) if return_distance else found[1]

    def kneighbors_graph(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the graph of nearest neighbours as a sparse matrix (m, n).

        Parameters
        ----------
        X : array-like of shape (m, d), optional
            The fitted rows themselves when None; no row is then its own neighbour.
        n_neighbors : int, optional
            Number of neighbours; by default that of the estimator.
        mode : {"connectivity", "distance"}, default="connectivity"
            Entries 1, or the distances.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.kneighbors_graph([[0.9]], 2).toarray()
        array([[1., 1., 0.]])
        """
        as_choice(mode, "mode", ("connectivity", "distance"))
        self._rows_in_memory()
        if is_dask(X):
            self._queries_in_memory(X)
        distances, rows = self.kneighbors(X, n_neighbors)
        m, k = rows.shape
        return self._graph(mode, distances.ravel(), rows.ravel(), np.arange(0, m * k + 1, k))

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
        X : array-like of shape (m, d), optional
            The fitted rows themselves when None; no row is then its own neighbour.
        radius : float, optional
            Radius; by default that of the estimator.
        mode : {"connectivity", "distance"}, default="connectivity"
            Entries 1, or the distances.
        sort_results : bool, default=False
            Whether to sort each row by distance, rather than in the order of rows.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.radius_neighbors_graph([[0.9]], 1.0, mode="distance").toarray().round(3)
        array([[0.9, 0.1, 0. ]])
        """
        as_choice(mode, "mode", ("connectivity", "distance"))
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        starts = np.cumsum([0, *map(len, rows)])
        return self._graph(mode, np.concatenate(distances), np.concatenate(rows), starts)

    def _graph(self, mode: str, distances: Floats, rows: Ints, starts: Ints) -> sparse.csr_matrix:
        values = distances if mode == "distance" else np.ones(len(rows))
        shape = (len(starts) - 1, self.n_samples_fit_)
        return sparse.csr_matrix((values, rows, starts), shape=shape)

    def _queries_in_memory(self, X: Any) -> Floats:
        if is_dask(X):
            raise InvalidInputError(
                "X is a Dask collection, which must be in memory here; pass X.compute(), or ask "
                "kneighbors or for predictions, whose answers are lazy."
            )
        queries = search.checked_queries(self, X)
        return queries if isinstance(queries, np.ndarray) else self._rows_in_memory().X


class CurvedNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeighborMethods):
    """Nearest neighbours by a curved, mixed or product metric, about as fast as Euclidean ones.

    As a transformer, like scikit-learn's ``KNeighborsTransformer``, it turns rows into the graph of
    their neighbours, for estimators with ``metric="precomputed"``: DBSCAN, t-SNE, UMAP.

    Answers are exact: the rows with the smallest float64 distances, rows at equal distances in row
    order. A matrix product or a tree bounds all distances from below; rows that may be among the
    nearest are then measured.

    Parameters
    ----------
    n_neighbors : int, default=5
        Default number of neighbours of :meth:`kneighbors`.
    metric : CurvedMetric, MixedMetric, ProductMetric or callable, optional
        The Euclidean metric when None. A function of two rows of shape (d,) that returns their
        distance must be a metric; :meth:`fit` checks on a sample of the rows that it is symmetric,
        0 between a row and itself, and keeps the triangle inequality.
    radius : float, default=1.0
        Default radius of :meth:`radius_neighbors`.
    mode : {"distance", "connectivity", "radius"}, default="distance"
        Graph that :meth:`transform` returns: distances to the nearest neighbours and to the row
        itself, ones, or distances to all within `radius`.
    algorithm : {"auto", "brute", "tree", "vantage"}, default="auto"
        How to search: "auto" (probes the fitted rows), "brute", "tree" (a k-d tree, not for a
        function) or "vantage" (a vantage point tree, which needs only the triangle inequality).
    outside : {"extend", "raise"}, default="extend"
        Queries outside a hyperbolic domain: "extend" gives them neighbours at distance inf, "raise"
        is an error that names them. Fitted rows must lie inside.
    n_jobs : int, optional
        Number of threads; the answer does not depend on it. Matrix products take their number of
        threads from the environment. A function is called in one thread.

    Attributes
    ----------
    algorithm_used_ : str
        The algorithm that ``"auto"`` picked, or "brute" where a tree would not have paid.
    metric_ : CurvedMetric, MixedMetric or ProductMetric
        A function is wrapped, and can still be called with two rows.
    n_samples_fit_ : int
        Number of fitted rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric.euclidean(2, curvature=-1.0)
    >>> search = CurvedNeighbors(2, metric=disc).fit([[0.0, 0.0], [0.5, 0.0], [0.0, 0.9]])
    >>> distances, rows = search.kneighbors([[0.1, 0.0]])
    >>> rows
    array([[0, 1]])
    >>> distances.round(3)
    array([[0.1  , 0.449]])

    A query outside the disc has neighbours, infinitely far:

    >>> search.kneighbors([[0.0, 2.0]])
    (array([[inf, inf]]), array([[2, 0]]))

    Any metric on rows, here Hilbert's in a square:

    >>> from functools import partial
    >>> from cayleyklein.geometry import Polytope, hilbert_distance
    >>> square = Polytope.from_vertices([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    >>> search = CurvedNeighbors(1, metric=partial(hilbert_distance, square))
    >>> distances, rows = search.fit([[0.0, 0.0], [0.5, 0.5]]).kneighbors([[0.9, 0.9]])
    >>> rows, distances.round(3)
    (array([[1]]), array([[0.923]]))

    Clusters by a metric, from the graph of neighbours within a radius:

    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.pipeline import make_pipeline
    >>> X = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.9], [0.05, 0.9], [0.9, 0.0]]
    >>> graph = CurvedNeighbors(metric=disc, radius=0.5, mode="radius")
    >>> graph.fit(X).transform([[0.05, 0.05]]).toarray().round(3)
    array([[0.071, 0.071, 0.   , 0.   , 0.   ]])
    >>> make_pipeline(graph, DBSCAN(0.5, min_samples=2, metric="precomputed")).fit_predict(X)
    array([ 0,  0,  1,  1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, 0, None, closed="both")],
        "mode": [StrOptions({"distance", "connectivity", "radius"})],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        metric: Metric | functions.RowFunction | None = None,
        radius: float = 1.0,
        mode: Literal["distance", "connectivity", "radius"] = "distance",
        algorithm: algorithms.Algorithm = "auto",
        outside: OutsideQueries = "extend",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.mode = mode
        self.algorithm = algorithm
        self.outside = outside
        self.n_jobs = n_jobs

    @restore_on_error
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Index the rows among which neighbours are searched.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Inside the metric's domain.
        y : None
            Not used.
        """
        check_parameters(self)
        if is_dask(X):
            check_columns(self, X, reset=True)
            blocks = row_blocks(X, least_rows=dask_shards.LEAST_ROWS)
            metric = functions.as_any_metric(self.metric, blocks.n_columns)
            return self._take(dask_shards.Shards.build(blocks, metric, self.algorithm), metric)
        rows = check_data(self, X, order="C")
        metric = functions.as_any_metric(self.metric, rows.shape[1])
        return self._take(functions.index_of(rows, metric, self.algorithm), metric)

    @restore_on_error
    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Add rows after the fitted ones, whose row numbers stay.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.partial_fit([[2.9]]).kneighbors([[3.0]], return_distance=False)
        array([[2, 3]])
        """
        check_parameters(self)
        refuse_growth(self, X)
        if not hasattr(self, "metric_"):
            return self.fit(X, y)
        added, before = check_data(self, X, order="C", reset=False), self._rows_in_memory()
        space.refuse_outside(self.metric_.contains(added))
        rows = np.concatenate([before.X, added])
        return self._take(functions.index_of(rows, self.metric_, self.algorithm), self.metric_)

    def transform(self, X: ArrayLike) -> sparse.csr_matrix:
        """Return the graph of neighbours (m, n) of rows X (m, d) among the fitted rows.

        Neighbours come nearest first. A fitted row is its own neighbour, at distance 0, which in
        the mode "distance" comes on top of `n_neighbors`, as scikit-learn's estimators expect.
        """
        check_is_fitted(self, "metric_")
        if self.mode == "radius":
            return self.radius_neighbors_graph(X, mode="distance", sort_results=True)
        k = int(self.n_neighbors) + (self.mode == "distance")
        return self.kneighbors_graph(X, min(k, self.n_samples_fit_), mode=self.mode)

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def _take(
        self,
        index: search.RowIndex | dask_shards.Shards,
        metric: Metric | functions.FunctionMetric,
    ) -> Self:
        self._searcher, self.metric_, self.n_samples_fit_ = index, metric, len(index)
        self.algorithm_used_ = index.name
        return self


def distances_and_rows(found: search.Ranked, table: None, first: int | None) -> tuple[Floats, Ints]:
    return found.distances, found.rows


def refuse_growth(estimator: Any, X: object) -> None:
    if is_dask(X) or isinstance(getattr(estimator, "_searcher", None), dask_shards.Shards):
        raise InvalidInputError(
            "partial_fit adds rows in memory to rows in memory; fit Dask collections again, as one "
            "made by dask.array.concatenate."
        )
