"""The search itself, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import RowBlocks, is_dask, refuse_dask, row_blocks
from cayleyklein._estimators import as_jobs, check_columns, check_data, restore_on_error
from cayleyklein._notebook import EstimatorCard
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_choice, as_count, check_memory
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors._index import (
    ALGORITHMS,
    CHUNK,
    PAIR_BYTES,
    Algorithm,
    Ranked,
    SearchIndex,
    as_metric,
    as_radius,
)
from cayleyklein.neighbors._shards import LEAST_ROWS, Blocks, Kind, Shards
from cayleyklein.neighbors._space import refuse_outside, refuse_queries
from cayleyklein.neighbors._votes import Weights

ASK_KNEIGHBORS = "pass X.compute(), or ask kneighbors or for predictions, whose answers are lazy"


class CurvedNeighbors(EstimatorCard, BaseEstimator):
    """Nearest neighbours by a curved, mixed or product metric, about as fast as Euclidean ones.

    Answers are exact: the rows with the smallest float64 distances, rows at equal distances in row
    order. Flat, elliptic, hyperbolic and product metrics are searched as Euclidean rows by
    scikit-learn; a mixed metric by a tree of vantage points. Candidates are then measured again.

    Parameters
    ----------
    n_neighbors : int, default=5
    metric : CurvedMetric, MixedMetric or ProductMetric, optional
        The Euclidean metric when None.
    radius : float, default=1.0
        Of :meth:`radius_neighbors`, when it is given none.
    algorithm : {"auto", "brute", "tree", "vptree"}, default="auto"
        How to search: "auto" (probes the fitted rows), "brute", "tree" (a k-d tree; flat, elliptic
        and product metrics) or "vptree" (vantage points; all but products).
    outside : {"extend", "raise"}, default="extend"
        Queries outside a hyperbolic domain: "extend" gives them neighbours at distance inf, "raise"
        is an error that names them. Fitted rows must lie inside.
    n_jobs : int, optional
        Number of threads; the answer does not depend on it. scikit-learn's brute search takes its
        number of threads from the environment.

    Attributes
    ----------
    algorithm_used_ : str
        The algorithm that ``"auto"`` picked, or "brute" where a tree would not have paid.
    metric_ : CurvedMetric, MixedMetric or ProductMetric
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only where the columns of X have names.

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
    """

    _searcher: SearchIndex | Shards

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        metric: Metric | None = None,
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

    @restore_on_error
    def fit(self, X: ArrayLike, y: Any = None) -> CurvedNeighbors:
        """Index the rows among which neighbours are searched.

        Parameters
        ----------
        X : array-like, Dask array or Dask dataframe of shape (n, d)
            Inside the metric's domain.
        y : ignored
        """
        self._check_parameters()
        if is_dask(X):
            check_columns(self, X, reset=True)
            rows = row_blocks(X, least_rows=LEAST_ROWS)
            self._spread(rows, as_metric(self.metric, rows.n_columns))
        else:
            checked = self._rows(X, reset=True)
            self._index(checked, as_metric(self.metric, checked.shape[1]))
        return self

    @restore_on_error
    def partial_fit(self, X: ArrayLike, y: Any = None) -> CurvedNeighbors:
        """Add rows after the fitted ones, whose row numbers stay.

        Examples
        --------
        >>> search = CurvedNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
        >>> search.partial_fit([[2.9]]).kneighbors([[3.0]], return_distance=False)
        array([[2, 3]])
        """
        self._check_grows(X)
        if not hasattr(self, "metric_"):
            return self.fit(X, y)
        self._append(X, None)
        return self

    def _check_grows(self, X: object) -> None:
        """Check parameters, and that rows can be added."""
        self._check_parameters()
        if is_dask(X) or isinstance(getattr(self, "_searcher", None), Shards):
            raise InvalidInputError(
                "partial_fit adds rows in memory to rows in memory; fit Dask collections again, "
                "as one made by dask.array.concatenate."
            )

    def _append(self, X: ArrayLike, payload: AnyArray | None) -> None:
        """Index more rows after the fitted ones."""
        added, before = self._rows(X, reset=False), self._in_memory()
        refuse_outside(self.metric_.contains(added))
        if payload is not None and before.payload is not None:
            payload = np.concatenate([before.payload[:, : payload.shape[1]], payload])
        self._index(np.concatenate([before.X, added]), self.metric_, payload)

    def _index(self, X: Floats, metric: Metric, payload: AnyArray | None = None) -> None:
        """Index rows in memory, with a payload for each."""
        self._take(SearchIndex(X, metric, self.algorithm, payload=payload), metric)

    def _spread(self, rows: RowBlocks, metric: Metric, payloads: list[Any] | None = None) -> None:
        """Index row blocks where they are, with a payload for each row."""
        self._take(Shards.build(rows, metric, self.algorithm, self.n_jobs, payloads), metric)

    def _take(self, index: SearchIndex | Shards, metric: Metric) -> None:
        self._searcher, self.metric_, self.n_samples_fit_ = index, metric, len(index)
        self.algorithm_used_ = index.name

    def _check_parameters(self) -> None:
        as_count(self._default_neighbors(), "n_neighbors")
        as_choice(self.algorithm, "algorithm", ALGORITHMS)
        as_choice(self.outside, "outside", ("extend", "raise"))
        as_radius(self.radius)
        as_jobs(self.n_jobs)

    def _default_neighbors(self) -> int:
        """Return the number of neighbours of a query where none is given."""
        return cast(int, self.n_neighbors)

    def _rows(self, X: ArrayLike, *, reset: bool) -> Floats:
        X = check_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)
        return np.asarray(X, dtype=np.float64)

    def _in_memory(self) -> SearchIndex:
        """Return the index; raise where its rows are on a cluster."""
        check_is_fitted(self, "metric_")
        if isinstance(self._searcher, Shards):
            raise InvalidInputError(
                "This estimator is fitted on a Dask collection, whose rows stay on the cluster; "
                "it offers kneighbors and predictions only. Keep metric_, and fit on rows in "
                "memory for the rest."
            )
        return self._searcher

    def __getstate__(self) -> Any:
        if hasattr(self, "_searcher"):
            self._in_memory()  # refuses: shards do not leave their cluster
        return super().__getstate__()

    def _query_rows(self, X: ArrayLike | None) -> Floats:
        check_is_fitted(self, "metric_")
        if X is None:
            return self._in_memory().X
        refuse_dask(X, "X", ASK_KNEIGHBORS)
        rows = self._rows(X, reset=False)
        if self.outside == "raise":
            refuse_queries(rows, self.metric_)
        return rows

    # -- searching ------------------------------------------------------------------

    @overload
    def kneighbors(self, X: Any = ..., n_neighbors: int | None = ...) -> tuple[Floats, Ints]: ...
    @overload
    def kneighbors(
        self, X: Any = ..., n_neighbors: Any = ..., return_distance: bool = ...
    ) -> Any: ...
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
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray or Dask array of shape (m, n_neighbors)
            Only if `return_distance`; inf for queries outside a hyperbolic domain. A lazy Dask
            array if the queries are a Dask collection.
        rows : ndarray or Dask array of shape (m, n_neighbors)
        """
        k = self._default_neighbors() if n_neighbors is None else n_neighbors
        kinds = ((k,), np.float64), ((k,), np.intp)
        found = self._answers(X, k, Ranked.distances_and_rows, *kinds)
        return found if return_distance else found[1]

    def _answers(
        self, X: Any, k: int, finish: Callable[[Ranked], tuple[Any, ...]], *kinds: Kind,
        index: SearchIndex | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return arrays that `finish` makes of the k nearest rows, of those in `index` if given."""
        # kinds are shapes and dtypes; k may have been set after the fit
        check_is_fitted(self, "metric_")
        k, own = as_count(k, "n_neighbors"), X is None
        searcher = index or self._searcher
        available = self.n_samples_fit_ - own
        if k > available:
            raise InvalidInputError(
                f"Expected n_neighbors <= {available}, the number of fitted rows"
                f"{' other than the query itself' if own else ''}, but "
                f"n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}."
            )
        lazy = is_dask(X) or (own and isinstance(searcher, Shards))
        if isinstance(searcher, SearchIndex) and not lazy:
            Q = self._query_rows(X)
            check_memory(
                PAIR_BYTES * len(Q) * k,
                f"{k:,} neighbours of each of {len(Q):,} rows",
                "Ask for some rows at a time, or for fewer neighbours.",
            )
            parts = [
                finish(searcher.nearest(Q[at : at + CHUNK], k, self.n_jobs, at if own else None))
                for at in range(0, len(Q), CHUNK)
            ]
            return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if isinstance(searcher, SearchIndex):
            searcher = Shards.of_index(searcher, self.n_jobs)
        answers = searcher.nearest(self._query_blocks(X, searcher), k, finish, own=own)
        return answers.lazy(*kinds) if lazy else answers.in_memory()

    def _voters(self, X: Any, k: Any, weights: Weights) -> tuple[int, int]:
        """Return how many neighbours vote, and how many more are looked at where there are."""
        k = as_count(k, "n_neighbors")
        check_is_fitted(self, "metric_")
        more = {"linear": 1, "local": k + 1}.get(weights, 0) if isinstance(weights, str) else 0
        return k, max(0, min(more, self.n_samples_fit_ - (X is None) - k))

    def _query_blocks(self, X: Any, shards: Shards) -> Blocks:
        if X is None:
            return shards.own_queries()
        if not is_dask(X):
            return Blocks.of_array(self._query_rows(X))
        check_columns(self, X, reset=False)
        refuse = self.metric_ if self.outside == "raise" else None
        return Blocks.of_dask(X, self.n_features_in_, refuse)

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
        index, queries = self._in_memory(), self._query_rows(X)
        radius = as_radius(self.radius if radius is None else radius)
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
        refuse_dask(X, "X", ASK_KNEIGHBORS)
        self._in_memory()
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
        starts = np.cumsum([0, *map(len, rows)])
        return self._graph(mode, np.concatenate(distances), np.concatenate(rows), starts)

    def _graph(self, mode: str, distances: Floats, rows: Ints, starts: Ints) -> sparse.csr_matrix:
        values = distances if mode == "distance" else np.ones(len(rows))
        shape = (len(starts) - 1, self.n_samples_fit_)
        return sparse.csr_matrix((values, rows, starts), shape=shape)
