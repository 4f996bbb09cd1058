"""The exact search: fitted rows, and an engine that proposes candidates among them.

An engine answers a query with some rows and a *floor*, a distance that no other row is nearer
than. When k of these rows, measured exactly, are below the floor, they are the k nearest, whatever
the engine rounded. Where they are not, it is asked for more, and in the end all rows are measured.

An index may be all rows, or one shard of rows that are spread over workers (`dask_shards`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cayleyklein._distributed import check_columns
from cayleyklein._estimators import as_jobs, is_dask
from cayleyklein._typing import AnyFloats, Bools, Complexes, Floats, Ints
from cayleyklein._validation import check_memory
from cayleyklein.columns import entrance
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, Metric
from cayleyklein.neighbors.algorithms import Algorithm, build_engine
from cayleyklein.neighbors.bounds import ChordBounds, OutsideRuler, PairwiseRuler, ProductRuler
from cayleyklein.neighbors.space import (
    EXTEND,
    ChordRows,
    ChordSpace,
    Pool,
    Threads,
    refuse_outside,
)
from cayleyklein.neighbors.vantage import VantageSearch

if TYPE_CHECKING:
    from cayleyklein.neighbors.dask_shards import Blocks, Shards

CHUNK = 4096  # queries at a time
BLOCK_ROWS, BLOCK_COLUMNS = 128, 16384  # of queries and fitted rows with bounds: 8 or 16 MB
GROUP = 16  # rows of which the nearest is looked at for a first bound
FIRST = (1, 4, 16)  # rows to be measured first, over k, until they bound the others
CROWD = 32  # rows to be measured, over k, from which a closer ruler is taken
PAIR_BYTES = 16  # of a row's number and its distance
NO_ROW = complex(np.inf, -1)  # value + i·row where there are no more rows

Ruler = ProductRuler | PairwiseRuler | OutsideRuler


class Ranked(NamedTuple):
    """The nearest rows of m queries, in order.

    Values (m, k) are distances, or for queries outside the domain the ranking value -f. Rows are
    -1, with the value inf, where there are no more. `inside` (m,): queries that have distances.
    """

    values: Floats
    rows: Ints
    inside: Bools

    @property
    def distances(self) -> Floats:
        return np.where(self.inside[:, None], self.values, np.inf)


# (found, table, first) → arrays: what is made of the nearest rows of some queries; `first` is the
# number of the first query where queries are the indexed rows, and None elsewhere.
Finish = Callable[..., tuple[Any, ...]]
Kind = tuple[tuple[int, ...], Any]  # shape, without the length, and dtype of an answer


class RowIndex:
    """Rows that are searched by some metric.

    `first_row` is where this shard begins among all rows; `name` is the algorithm.
    """

    name: str

    def __init__(self, X: Floats, first_row: int = 0) -> None:
        self.X, self.first_row = np.ascontiguousarray(X), first_row
        self._sent: Shards | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __sizeof__(self) -> int:
        """Count the rows: a scheduler must know that moving them costs."""
        return int(self.X.nbytes)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_sent": None}

    def nearest(self, Q: Floats, k: int, n_jobs: int | None, own: int | None = None) -> Ranked:
        """Return the k nearest rows, or all where there are fewer."""
        raise NotImplementedError

    def within(
        self, Q: Floats, radius: float, n_jobs: int | None, own: bool
    ) -> tuple[Ints, Ints, Floats]:
        """Return all pairs (query, row) within a radius, in this order, and their distances."""
        raise NotImplementedError

    def answer(
        self,
        queries: "Floats | Blocks | None",
        k: int,
        finish: Finish,
        table: Any,
        kinds: tuple[Kind, ...],
        n_jobs: int | None,
    ) -> tuple[Any, ...]:
        """Return arrays that `finish` makes of the k nearest rows of queries.

        The queries are the fitted rows when None, and none is then its own neighbour. Dask queries
        are answered on the cluster, to which this index is sent once.
        """
        if not (queries is None or isinstance(queries, np.ndarray)):
            from cayleyklein.neighbors.dask_shards import Shards

            if self._sent is None or not self._sent.reachable:
                self._sent = Shards.of_index(self)
            return self._sent.answer(queries, k, finish, table, kinds, n_jobs)
        Q = self.X if queries is None else queries
        parts = []
        for at in range(0, len(Q), CHUNK):
            first = at if queries is None else None
            parts.append(finish(self.nearest(Q[at : at + CHUNK], k, n_jobs, first), table, first))
        return tuple([np.concatenate(arrays) for arrays in zip(*parts, strict=True)])


class MeasuredRows(RowIndex):
    """Few rows of a metric without a boundary: all distances are measured, and none is bounded.

    The distances are those of `pairwise`, as exact as any, but for their last digits.
    """

    name = "brute"

    def __init__(self, X: Floats, metric: Metric) -> None:
        super().__init__(X)
        self.metric = metric

    def nearest(self, Q: Floats, k: int, n_jobs: int | None, own: int | None = None) -> Ranked:
        """Return the k nearest rows, or all where there are fewer."""
        each = np.arange(len(Q))
        if own is None:
            table = self.metric.pairwise_of_checked(Q, self.X)
        else:
            table = self.metric.pairwise_of_checked(self.X)[own + each]
            table[each, own + each] = np.inf
        k = min(k, len(self))
        rows = np.argpartition(table, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(table, rows, axis=1)
        order = np.lexsort((rows, values))
        rows = np.take_along_axis(rows, order, axis=1)
        return Ranked(np.take_along_axis(table, rows, axis=1), rows, np.ones(len(Q), dtype=bool))


class SearchIndex(RowIndex):
    """Fitted rows in a chord space, and the engine on them."""

    def __init__(
        self, X: Floats, metric: Metric, algorithm: Algorithm = "auto", first_row: int = 0
    ) -> None:
        super().__init__(X, first_row)
        self.metric = metric
        self.space = ChordSpace(metric)
        self.rows = self.space.place(self.X)
        refuse_outside(self.rows.inside, first_row)
        self.engine, self.name = build_engine(algorithm, self.space, self.rows)
        self._bounds: ChordBounds | None = None

    def __sizeof__(self) -> int:
        return super().__sizeof__() + int(self.rows.v.nbytes)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_bounds": None}

    def nearest(self, Q: Floats, k: int, n_jobs: int | None, own: int | None = None) -> Ranked:
        """Return the k nearest rows, or all where there are fewer."""
        # with `own`, queries are the fitted rows from it on, and none is its own neighbour
        k = min(k, len(self))
        queries = self.space.place(Q) if own is None else self._fitted(own, len(Q))
        values = np.full((len(Q), k), np.inf)
        rows = np.full(values.shape, -1, dtype=np.intp)
        doubtful, engine = np.arange(len(Q)), self.engine
        with thread_pool(n_jobs) as pool:
            if self.space.ranks_outside and not queries.inside.all():
                outside, doubtful = np.flatnonzero(~queries.inside), np.flatnonzero(queries.inside)
                values[outside], rows[outside] = self._scanned(queries.take(outside), k, pool)
            wanted = k + (own is not None)
            for factor in engine.factors if engine else ():
                # more than k, so that rounding seldom leaves a query in doubt
                width = factor * (wanted + 4)
                if not (engine and len(doubtful) and width < len(self)):
                    break
                some = queries.take(doubtful)
                candidates, floor = engine.candidates(some, width, wanted, pool)
                best, found = self._best_of(some, candidates, k, pool)
                values[doubtful], rows[doubtful] = best, found
                doubtful = doubtful[~(best[:, -1] < floor)]
            if len(doubtful):
                some = queries if len(doubtful) == len(Q) else queries.take(doubtful)
                values[doubtful], rows[doubtful] = self._scanned(some, k, pool)
        if self.first_row:
            rows = np.where(rows < 0, -1, rows + self.first_row)
        return Ranked(values, rows, queries.inside)

    def within(
        self, Q: Floats, radius: float, n_jobs: int | None, own: bool
    ) -> tuple[Ints, Ints, Floats]:
        """Return all pairs (query, row) within a radius, in this order, and their distances."""
        queries = self._fitted(0, len(Q)) if own else self.space.place(Q)
        inside, count = np.flatnonzero(queries.inside), 0
        pairs = [(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))]
        some = queries.take(inside)
        with thread_pool(n_jobs) as pool:
            for block in slices(len(inside), BLOCK_ROWS):
                for which, rows in self._near(some, block, radius, pool):
                    values = self.space.measure(some, which, self.rows, rows, pool)
                    kept = values <= radius
                    if some.own is not None:
                        kept &= rows != some.own[which]
                    pairs.append((inside[which[kept]], rows[kept], values[kept]))
                    count += len(pairs[-1][0])
                each = count / block.stop
                check_memory(
                    PAIR_BYTES * each * len(Q),
                    f"The neighbours within {radius:g}, about {each:,.0f} of each of {len(Q):,} "
                    f"rows,",
                    "Take a smaller radius, or some rows at a time.",
                )
        which, rows, values = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        order = np.lexsort((rows, which))
        return which[order], rows[order], values[order]

    def _near(
        self, queries: ChordRows, block: slice, radius: float, pool: Pool
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield pairs (query, row) of a block of queries, all within a radius among them."""
        if isinstance(self.engine, VantageSearch):
            found = self.engine.within(queries.take(block), radius, pool)
            if found is not None:
                yield found[0] + block.start, found[1]
                return
        ruler = self._rulers(queries)[-1]
        limit = ruler.limit(block, np.full(block.stop - block.start, radius))
        for columns in slices(len(self), BLOCK_COLUMNS):
            near = ruler.values(block, columns) <= limit[:, None]
            which, rows = np.nonzero(near)
            yield which + block.start, rows + columns.start

    def _fitted(self, first: int, n: int) -> ChordRows:
        """Return n fitted rows as queries."""
        return self.rows._replace(own=np.arange(len(self))).take(slice(first, first + n))

    def _best_of(
        self, queries: ChordRows, candidates: Ints, k: int, pool: Pool
    ) -> tuple[Floats, Ints]:
        if queries.own is not None:
            candidates = np.where(candidates == queries.own[:, None], -1, candidates)
        values = np.full(candidates.shape, np.inf)
        which, at = np.nonzero(candidates >= 0)
        values[which, at] = self.space.measure(
            queries, which, self.rows, candidates[which, at], pool
        )
        order = np.lexsort((candidates, values))[:, :k]
        return np.take_along_axis(values, order, 1), np.take_along_axis(candidates, order, 1)

    def _rulers(self, queries: ChordRows) -> Sequence[Ruler]:
        """Return what bounds distances from below, coarse first; all queries inside, or none."""
        if self.space.ranks_outside and not queries.inside.all():
            return [OutsideRuler(self.space.terms[0].K, queries, self.rows)]
        found: list[Ruler] = []
        if len(self.space.terms) == 1 and len(queries.v):
            if self._bounds is None:
                self._bounds = ChordBounds(self.space, self.rows)
            found.extend(self._bounds.rulers(queries))
        return found or [PairwiseRuler(self.space, queries, self.rows)]

    def _scanned(self, queries: ChordRows, k: int, pool: Pool) -> tuple[Floats, Ints]:
        """Return the k nearest of all rows by bounds, all queries inside or all outside."""
        rulers, own = self._rulers(queries), queries.own
        best = np.full((len(queries.v), k), NO_ROW)

        def merge(block: slice, which: Ints, rows: Ints, values: AnyFloats) -> None:
            if not isinstance(rulers[0], OutsideRuler):
                values = self.space.measure(queries, which + block.start, self.rows, rows, pool)
            merge_hits(best[block], which, rows, values)

        for columns in slices(len(self), BLOCK_COLUMNS):
            for block in slices(len(best), BLOCK_ROWS):
                for ruler in rulers:
                    rough = ruler.values(block, columns)
                    if own is not None:
                        mine = own[block] - columns.start
                        its = np.flatnonzero((mine >= 0) & (mine < rough.shape[1]))
                        rough[its, mine[its]] = np.inf
                    if columns.start == 0 and ruler is not rulers[0]:  # some are measured already
                        np.put_along_axis(rough, best[block].imag.astype(np.intp), np.inf, 1)
                    few = CROWD * k * len(rough)
                    for more in FIRST if columns.start == 0 else (0,):
                        if more:  # measure some, for a bound
                            hits = rows_below(rough, kth_bound(rough, more * k))
                            merge(block, *hits, rough[hits])
                            rough[hits] = np.inf
                        hits = rows_below(rough, ruler.limit(block, best[block, -1].real))
                        if len(hits[0]) <= few:
                            break
                    if len(hits[0]) <= few:
                        break
                if len(hits[0]):
                    merge(block, hits[0], hits[1] + columns.start, rough[hits])
        best.sort(axis=1)
        return best.real, best.imag.astype(np.intp)


def number_of_neighbors(estimator: Any, k: Any = None, *, own: bool = False) -> int:
    """Check a number of neighbours, by default the estimator's, against the fitted rows."""
    check_is_fitted(estimator, "metric_")
    if k is None:
        auto = isinstance(estimator.n_neighbors, str) and estimator.n_neighbors == "auto"
        k = estimator.n_neighbors_ if auto else estimator.n_neighbors
    if type(k) is bool or not isinstance(k, Integral) or k < 1:
        raise InvalidInputError(f"Got n_neighbors={k!r}, but expected a whole number, at least 1.")
    n = estimator.n_samples_fit_
    if k > n - own:
        other = " other than the query itself" if own else ""
        raise InvalidInputError(
            f"Expected n_neighbors <= {n - own}, the number of fitted rows{other}, but "
            f"n_neighbors = {k}, n_samples_fit = {n}."
        )
    return int(k)


def checked_queries(estimator: Any, X: Any) -> "Floats | Blocks | None":
    """Check queries of a fitted estimator: rows, a Dask collection, or None for the fitted rows."""
    if X is None:
        return None
    if is_dask(X):
        from cayleyklein.neighbors.dask_shards import Blocks

        if getattr(estimator, "encoder_", None) is not None:
            raise InvalidInputError(
                "X is a Dask collection, but the columns of the fitted rows were encoded, which "
                "is done in memory; pass X.compute()."
            )
        check_columns(estimator, X, reset=False)  # rows are checked lazily
        refuse = estimator.metric_ if estimator.outside == "raise" else None
        return Blocks.of_dask(X, estimator.n_features_in_, refuse)
    rows = entrance.query_rows(estimator, X)
    if estimator.outside == "raise":
        refuse_outside(estimator.metric_.contains(rows), advice=EXTEND)
    return rows


def as_metric(metric: object, n_features: int) -> Metric:
    """Check the metric of a search against the number of columns."""
    if metric is None:
        return CurvedMetric.euclidean(n_features)
    if not isinstance(metric, Metric):
        raise InvalidInputError(
            f"metric must be a CurvedMetric, a FormMetric, a MixedMetric, a ProductMetric or None; "
            f"got {type(metric).__name__}."
        )
    if metric.dimension != n_features:
        raise InvalidInputError(
            f"X has {n_features} columns, but the metric is for {metric.dimension}."
        )
    return metric


@contextmanager
def thread_pool(n_jobs: int | None) -> Iterator[Pool]:
    threads = as_jobs(n_jobs)
    with Threads(threads) if threads > 1 else nullcontext() as pool:
        yield pool


def slices(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def kth_bound(rough: AnyFloats, k: int) -> AnyFloats:
    """Return numbers (m,) that k values of each row do not exceed, and few others."""
    n = rough.shape[1]
    if n >= 2 * GROUP * k:  # the smallest of each group: a tenth of the time
        rough = rough[:, : n - n % GROUP].reshape(len(rough), GROUP, -1).min(axis=1)
    k = min(k, n)
    return np.asarray(np.partition(rough, k - 1, axis=1)[:, k - 1])


def rows_below(rough: AnyFloats, limit: AnyFloats) -> tuple[Ints, Ints]:
    """Return the places of all finite values up to a limit for each row."""
    limit = np.minimum(limit, np.finfo(rough.dtype).max)
    return np.divmod(np.flatnonzero(rough <= limit[:, None]), rough.shape[1])


def merge_hits(best: Complexes, which: Ints, rows: Ints, values: AnyFloats) -> None:
    """Merge hits, in the order of queries, into the k nearest of each, and put the k-th last.

    Pairs are value + i·row: NumPy orders by the real part, then by the imaginary part. Queries with
    many more hits than others take more rounds; a table has at most 3 cells a hit and 2k a query.
    """
    k, hits = best.shape[1], np.empty(len(rows), dtype=complex)
    hits.real, hits.imag = values, rows
    width = k + 2 * len(hits) // len(best)
    while len(hits):
        some, first, at = np.unique(which, return_index=True, return_inverse=True)
        place = np.arange(len(hits)) - first[at]
        now = place < width
        table = np.full((len(some), k + min(width, place.max() + 1)), NO_ROW)
        table[:, :k] = best[some]
        table[at[now], k + place[now]] = hits[now]
        table.partition(k - 1, axis=1)
        best[some] = table[:, :k]
        which, hits, width = which[~now], hits[~now], 2 * width


def merge(found: list[Ranked], k: int) -> Ranked:
    """Return the k nearest of the answers of several shards, equally near ones in row order.

    >>> one, two = np.array([[0.5, 2.0]]), np.array([[0.5, np.inf]])
    >>> yes = np.array([True])
    >>> shards = [Ranked(one, np.array([[7, 9]]), yes), Ranked(two, np.array([[3, -1]]), yes)]
    >>> merge(shards, 3).rows
    array([[3, 7, 9]])
    """
    if len(found) == 1:
        return found[0]
    values = np.concatenate([some.values for some in found], axis=1)
    rows = np.concatenate([some.rows for some in found], axis=1)
    order = np.lexsort((rows, rows < 0, values))[:, :k]
    values, rows = (np.take_along_axis(array, order, 1) for array in (values, rows))
    return Ranked(values, rows, found[0].inside)
