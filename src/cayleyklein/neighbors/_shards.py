"""The search spread over a Dask cluster: every shard is an index that stays on its worker.

A block of queries visits every shard; what the shards find is merged as a tree, by what ranks the
rows and then by their numbers, so that the answer is the one that a single index gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._distributed import (
    RowBlocks,
    active_client,
    checked_rows,
    compute,
    first_rows,
    futures_in,
    held,
    known_lengths,
    persist,
    raw_blocks,
    task,
)
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import require
from cayleyklein.exceptions import ClusterError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors._index import CHUNK, Algorithm, Ranked, SearchIndex, merge
from cayleyklein.neighbors._space import refuse_queries

Finish = Callable[[Ranked], tuple[Any, ...]]
Kind = tuple[tuple[int, ...], Any]

LEAST_ROWS = 2**14
"""Rows of a shard at least: smaller chunks are joined, as each costs every query a little."""

FAN_IN = 8
"""Answers of shards merged at a time."""


class Blocks(NamedTuple):
    """Tasks that yield checked queries, or answers to them, and their lengths, NaN if unknown."""

    tasks: list[Any]
    lengths: Sequence[float]

    @classmethod
    def of_dask(cls, X: Any, n_columns: int, refuse: Metric | None = None) -> Blocks:
        """Take the chunks as they are; with a metric to `refuse` by, rows outside are an error."""
        raw, known = raw_blocks(X), known_lengths(X)
        starts = [None] * len(raw) if known is None else first_rows(known)
        tasks = [
            task(checked_queries, block, n_columns, start, refuse)
            for block, start in zip(raw, starts, strict=True)
        ]
        return cls(tasks, [math.nan] * len(raw) if known is None else known)

    @classmethod
    def of_array(cls, Q: Floats) -> Blocks:
        """Cut checked rows into blocks."""
        blocks = [Q[start : start + CHUNK] for start in range(0, len(Q), CHUNK)]
        return cls([held(block) for block in blocks], [len(block) for block in blocks])

    def lazy(self, *kinds: Kind) -> tuple[Any, ...]:
        """Return answers as Dask arrays, one for each shape (without the length) and dtype."""
        da = require("dask.array", "scale")
        blocks = list(zip(self.tasks, self.lengths, strict=True))
        return tuple(
            da.concatenate(
                [da.from_delayed(each[at], (m, *tail), dtype) for each, m in blocks],
                allow_unknown_chunksizes=True,
            )
            for at, (tail, dtype) in enumerate(kinds)
        )

    def in_memory(self) -> tuple[AnyArray, ...]:
        """Compute and join answers."""
        answers = compute(*self.tasks, doing="the search")
        return tuple(np.concatenate(arrays) for arrays in zip(*answers, strict=True))


class Shards:
    """Indexes on the workers of a cluster: persisted tasks, each with a number of rows."""

    def __init__(
        self,
        indexes: list[Any],
        lengths: list[int],
        n_jobs: int | None,
        name: str,
        payload_shape: tuple[int, ...] = (),
    ) -> None:
        self.indexes, self.lengths, self.n_jobs = indexes, lengths, n_jobs
        self.name, self.payload_shape = name, payload_shape
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
            *(task(SearchIndex, block, metric, algorithm, *rest) for block, *rest in parts),
            doing=doing,
        )
        names = [task(getattr, index, "name") for index in indexes]
        *names, shape = compute(*names, task(getattr, indexes[0], "payload_shape"), doing=doing)
        return cls(list(indexes), rows.lengths, n_jobs, ", ".join(sorted(set(names))), shape)

    @classmethod
    def of_index(cls, index: SearchIndex, n_jobs: int | None) -> Shards:
        """Send one index in memory to the workers."""
        (sent,) = persist(held(index), doing="sending the fitted rows to the workers")
        return cls([sent], [len(index)], n_jobs, index.name, index.payload_shape)

    def __len__(self) -> int:
        return sum(self.lengths)

    def own_queries(self) -> Blocks:
        """Return the indexed rows themselves."""
        return Blocks([task(getattr, index, "X") for index in self.indexes], self.lengths)

    def _check_there(self) -> None:
        """Raise an error where the indexes went with their client, or in a restart."""
        closed = self.client is not None and self.client.status == "closed"
        if closed or any(future.cancelled() for future in futures_in(self.indexes)):
            raise ClusterError(
                "The fitted rows were on a Dask cluster whose client is closed or restarted; make "
                "a distributed.Client and fit again."
            )

    def nearest(self, queries: Blocks, k: int, finish: Finish, *, own: bool = False) -> Blocks:
        """Return `finish` of the k nearest rows of queries; with `own`, of `own_queries`."""
        self._check_there()
        answers = []
        for at, Q in enumerate(queries.tasks):
            rows_asked = [0 if own and at == shard else None for shard in range(len(self.indexes))]
            found = [
                task(SearchIndex.nearest, index, Q, k, self.n_jobs, mine)
                for index, mine in zip(self.indexes, rows_asked, strict=True)
            ]
            while len(found) > 1:
                groups = [found[i : i + FAN_IN] for i in range(0, len(found), FAN_IN)]
                found = [task(merge, group, k) for group in groups]
            answers.append(task(finish, found[0]))
        return Blocks(answers, queries.lengths)


def checked_queries(block: Any, n_columns: int, start: int | None, refuse: Metric | None) -> Floats:
    """Check a block of queries."""
    Q = checked_rows([block], "X", n_columns, start)
    if refuse is not None:
        refuse_queries(Q, refuse, start)
    return Q
