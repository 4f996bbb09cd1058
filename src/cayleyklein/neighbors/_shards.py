"""The search spread over a Dask cluster: every shard is an index that stays on its worker.

A block of queries visits every shard; what the shards find is merged as a tree, by what ranks the
rows and then by their numbers, so that the answer is the one that a single index gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._distributed import (
    RowBlocks,
    active_client,
    checked_rows,
    compute,
    futures_in,
    held,
    known_lengths,
    persist,
    raw_blocks,
    task,
)
from cayleyklein._validation import require
from cayleyklein.exceptions import ClusterError
from cayleyklein.metrics import ProductMetric
from cayleyklein.neighbors._embedded import EmbeddedIndex
from cayleyklein.neighbors._engines import Algorithm
from cayleyklein.neighbors._index import CHUNK, Ranked, SearchIndex, merge
from cayleyklein.neighbors._outside import refuse_outside
from cayleyklein.neighbors._rows import Metric, form_values, parts_of

__all__ = [
    "LEAST_ROWS",
    "Answers",
    "AnyIndex",
    "Kind",
    "QueryBlocks",
    "Shards",
    "build_index",
    "refuse_queries",
]

Floats = NDArray[np.float64]
Finish = Callable[[Ranked], tuple[Any, ...]]
Kind = tuple[tuple[int, ...], Any]

AnyIndex = SearchIndex | EmbeddedIndex

LEAST_ROWS = 2**14
"""Rows of a shard at least: smaller chunks are joined, as each costs every query a little."""

FAN_IN = 8
"""Answers of shards merged at a time."""


def build_index(
    X: Floats,
    metric: Metric,
    algorithm: Algorithm,
    n_jobs: int | None,
    first_row: int = 0,
    payload: NDArray[Any] | None = None,
) -> AnyIndex:
    """Index rows in memory, by their Euclidean coordinates where the metric is a product."""
    if isinstance(metric, ProductMetric):
        return EmbeddedIndex(X, metric, algorithm, first_row, payload)
    return SearchIndex.build(X, metric, algorithm, n_jobs, first_row, payload)


class QueryBlocks(NamedTuple):
    """Queries as tasks that yield checked rows, and how many each has, NaN where not known."""

    tasks: list[Any]
    lengths: Sequence[float]

    @classmethod
    def of_dask(cls, X: Any, n_columns: int, refuse: Metric | None) -> QueryBlocks:
        """Take the chunks as they are; with a metric to `refuse` by, those outside are an error."""
        raw, known = raw_blocks(X), known_lengths(X)
        starts = [None] * len(raw) if known is None else [0, *accumulate(known)][:-1]
        tasks = [
            task(checked_queries, block, n_columns, start, refuse)
            for block, start in zip(raw, starts, strict=True)
        ]
        return cls(tasks, [math.nan] * len(raw) if known is None else known)

    @classmethod
    def of_array(cls, Q: Floats) -> QueryBlocks:
        """Cut checked rows into blocks."""
        blocks = [Q[start : start + CHUNK] for start in range(0, len(Q), CHUNK)]
        return cls([held(block) for block in blocks], [len(block) for block in blocks])


class Answers(NamedTuple):
    """Tasks that yield tuples of arrays, and the length of these."""

    tasks: list[Any]
    lengths: Sequence[float]

    def lazy(self, *kinds: Kind) -> tuple[Any, ...]:
        """Return Dask arrays, one for each shape (without the length) and dtype."""
        da = require("dask.array", "scale")
        blocks = list(zip(self.tasks, self.lengths, strict=True))
        return tuple(
            da.concatenate(
                [da.from_delayed(each[at], (m, *tail), dtype) for each, m in blocks],
                allow_unknown_chunksizes=True,
            )
            for at, (tail, dtype) in enumerate(kinds)
        )

    def in_memory(self) -> tuple[NDArray[Any], ...]:
        """Compute and join them."""
        answers = compute(*self.tasks, doing="the search")
        return tuple(np.concatenate(arrays) for arrays in zip(*answers, strict=True))


class Shards:
    """Indexes on the workers of a cluster.

    Parameters
    ----------
    indexes : list of Delayed
        Persisted tasks that yield an index.
    lengths : list of int
    n_jobs : int or None
        Threads of a task.
    name, recall : str, float
        Of the algorithms of the shards.
    payload_shape : tuple of int
        Of what is known of each row.
    """

    def __init__(
        self,
        indexes: list[Any],
        lengths: list[int],
        n_jobs: int | None,
        name: str,
        recall: float,
        payload_shape: tuple[int, ...] = (),
    ) -> None:
        self.indexes, self.lengths, self.n_jobs = indexes, lengths, n_jobs
        self.name, self.recall, self.payload_shape = name, recall, payload_shape
        self.client = active_client()

    @classmethod
    def build(
        cls,
        rows: RowBlocks,
        metric: Metric,
        algorithm: Algorithm,
        n_jobs: int | None,
        payloads: Sequence[Any] | None = None,
    ) -> Shards:
        """Index blocks of rows where they are."""
        known = payloads or [None] * len(rows.blocks)
        parts = zip(rows.blocks, rows.starts, known, strict=True)
        doing = "indexing the rows of X"
        indexes = persist(
            *(task(build_index, block, metric, algorithm, n_jobs, *rest) for block, *rest in parts),
            doing=doing,
        )
        names, recalls, shapes = zip(
            *compute(*[task(built_as, index) for index in indexes], doing=doing), strict=True
        )
        recall = float(np.average(recalls, weights=rows.lengths))
        name = ", ".join(sorted(set(names)))
        return cls(list(indexes), rows.lengths, n_jobs, name, recall, shapes[0])

    @classmethod
    def of_index(cls, index: AnyIndex, n_jobs: int | None) -> Shards:
        """Send one index in memory to the workers."""
        (sent,) = persist(held(index), doing="sending the fitted rows to the workers")
        return cls([sent], [len(index)], n_jobs, index.name, index.recall, index.payload_shape)

    def __len__(self) -> int:
        return sum(self.lengths)

    def own_queries(self) -> QueryBlocks:
        """Return the indexed rows themselves."""
        return QueryBlocks([task(rows_of, index) for index in self.indexes], self.lengths)

    def _check_there(self) -> None:
        """Raise an error where the indexes went with their client, or in a restart."""
        closed = self.client is not None and self.client.status == "closed"
        if closed or any(future.cancelled() for future in futures_in(self.indexes)):
            raise ClusterError(
                "The fitted rows were on a Dask cluster whose client is closed or restarted; make "
                "a distributed.Client and fit again."
            )

    def nearest(
        self, queries: QueryBlocks, k: int, finish: Finish, *, own: bool = False
    ) -> Answers:
        """Return a task for each block of queries: what `finish` makes of the k nearest rows.

        Parameters
        ----------
        queries : QueryBlocks
        k : int
        finish : callable
        own : bool
            Whether the queries are `own_queries`.
        """
        self._check_there()
        answers = []
        for at, Q in enumerate(queries.tasks):
            found = [
                task(searched, index, Q, k, self.n_jobs, own and at == shard)
                for shard, index in enumerate(self.indexes)
            ]
            while len(found) > 1:
                groups = [found[i : i + FAN_IN] for i in range(0, len(found), FAN_IN)]
                found = [task(merge, group, k) for group in groups]
            answers.append(task(finish, found[0]))
        return Answers(answers, queries.lengths)


def searched(index: AnyIndex, Q: Floats, k: int, n_jobs: int | None, own: bool) -> Ranked:
    """Return the k nearest rows of a shard."""
    return index.nearest(Q, k, n_jobs, own)


def built_as(index: AnyIndex) -> tuple[str, float, tuple[int, ...]]:
    """Return the algorithm of a shard, its recall and the shape of what is known of a row."""
    return index.name, index.recall, index.payload_shape


def rows_of(index: AnyIndex) -> Floats:
    """Return the rows of a shard."""
    return index.X


def checked_queries(block: Any, n_columns: int, start: int | None, refuse: Metric | None) -> Floats:
    """Check a block of queries."""
    Q = checked_rows([block], "X", n_columns, start)
    if refuse is not None:
        refuse_queries(Q, refuse, start)
    return Q


def refuse_queries(Q: Floats, metric: Metric, start: int | None = 0) -> None:
    """Raise an error for queries outside the domain; without a start, counted in their block."""
    if len(Q):
        inside = np.all([s > 0 for s in form_values(Q, parts_of(metric))], axis=0)
        name = "X" if start is not None else "A block of X"
        advice = 'drop them, or rank their neighbours by outside="extend"'
        refuse_outside(inside, name, advice, start or 0)
