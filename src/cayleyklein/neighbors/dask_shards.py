"""The search spread over a Dask cluster: every shard is an index that stays on its worker.

A block of queries visits every shard; what the shards find is merged as a tree, by what ranks the
rows and then by their numbers, so that the answer is the one that a single index gives.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks, block_starts, compute, held, persist, task
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import require
from cayleyklein.exceptions import ClusterError
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.algorithms import Algorithm
from cayleyklein.neighbors.functions import FunctionMetric, index_of
from cayleyklein.neighbors.search import CHUNK, Finish, Kind, Ranked, RowIndex, merge
from cayleyklein.neighbors.space import EXTEND, refuse_outside

LEAST_ROWS = 2**14  # of a shard: smaller chunks are joined, as each costs every query a little


class Blocks(NamedTuple):
    """Tasks that yield checked queries, or answers to them, and their lengths, NaN if unknown."""

    tasks: list[Any]
    lengths: Sequence[float]

    @classmethod
    def of_dask(cls, X: Any, n_columns: int, refuse: Metric | FunctionMetric | None = None) -> Self:
        """Take the chunks as they are; with a metric to `refuse` by, rows outside are an error."""
        raw, known = _distributed.raw_blocks(X), _distributed.known_lengths(X)
        starts = [None] * len(raw) if known is None else block_starts(known)
        tasks = [
            task(checked_block, block, n_columns, start, refuse)
            for block, start in zip(raw, starts, strict=True)
        ]
        return cls(tasks, [math.nan] * len(raw) if known is None else known)

    @classmethod
    def of_array(cls, Q: Floats) -> Self:
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
        answers = compute(*self.tasks, doing="the search")
        return tuple(np.concatenate(arrays) for arrays in zip(*answers, strict=True))


class Shards:
    """Indexes on the workers of a cluster: persisted tasks, each with a number of rows."""

    def __init__(self, indexes: list[Any], lengths: list[int], name: str) -> None:
        self.indexes, self.lengths, self.name = indexes, lengths, name
        self.client = _distributed.active_client()
        self._table: tuple[Any, Any] = (None, None)

    @classmethod
    def build(cls, rows: RowBlocks, metric: Metric | FunctionMetric, algorithm: Algorithm) -> Self:
        """Index blocks of rows where they are."""
        doing = "indexing the rows of X"
        parts = zip(rows.blocks, rows.starts, strict=True)
        indexes = persist(
            *(task(index_of, block, metric, algorithm, start) for block, start in parts),
            doing=doing,
        )
        names = compute(*(task(getattr, index, "name") for index in indexes), doing=doing)
        return cls(list(indexes), rows.lengths, ", ".join(sorted(set(names))))

    @classmethod
    def of_index(cls, index: RowIndex) -> Self:
        (sent,) = persist(held(index), doing="sending the fitted rows to the workers")
        return cls([sent], [len(index)], index.name)

    def __len__(self) -> int:
        return sum(self.lengths)

    @property
    def reachable(self) -> bool:
        """Whether the indexes are still on the cluster of the active client."""
        if self.client is not _distributed.active_client():
            return False
        return not any(future.cancelled() for future in _distributed.futures_in(self.indexes))

    def _sent(self, table: Any) -> Any:
        """Send a table of labels or targets to the workers, unless it is there already."""
        if self._table[0] is not table:
            (sent,) = persist(held(table), doing="sending the targets to the workers")
            self._table = table, sent
        return self._table[1]

    def answer(
        self,
        queries: Floats | Blocks | None,
        k: int,
        finish: Finish,
        table: Any,
        kinds: tuple[Kind, ...],
        n_jobs: int | None,
    ) -> tuple[Any, ...]:
        """Answer as :meth:`RowIndex.answer` does, lazily unless the queries are in memory."""
        if not self.reachable:
            raise ClusterError(
                "The fitted rows were on a Dask cluster whose client is closed or restarted; make "
                "a distributed.Client and fit again."
            )
        own, table = queries is None, None if table is None else self._sent(table)
        starts = block_starts(self.lengths)
        if queries is None:
            blocks = Blocks([task(getattr, index, "X") for index in self.indexes], self.lengths)
        else:
            blocks = Blocks.of_array(queries) if isinstance(queries, np.ndarray) else queries
        answers = []
        for at, Q in enumerate(blocks.tasks):
            found = [
                task(nearest_in, index, Q, k, n_jobs, 0 if own and at == shard else None)
                for shard, index in enumerate(self.indexes)
            ]
            while len(found) > 1:
                groups = [found[at : at + 8] for at in range(0, len(found), 8)]
                found = [task(merge, group, k) for group in groups]
            answers.append(task(finish, found[0], table, starts[at] if own else None))
        answered = Blocks(answers, blocks.lengths)
        return answered.in_memory() if isinstance(queries, np.ndarray) else answered.lazy(*kinds)


def nearest_in(index: RowIndex, Q: Floats, k: int, n_jobs: int | None, own: int | None) -> Ranked:
    return index.nearest(Q, k, n_jobs, own)


def checked_block(
    block: Any, n_columns: int, start: int | None, refuse: Metric | FunctionMetric | None
) -> Floats:
    Q = _distributed.checked_rows([block], "X", n_columns, start)
    if refuse is not None and len(Q):
        name = "A block of X" if start is None else "X"
        refuse_outside(refuse.contains(Q), start or 0, name, EXTEND)
    return Q
