"""Training rows on a cluster: sorted into shards, each a task's result that stays on a worker.

The client holds what is small: counts, sums, the factor. See `_shards` for what a task does.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._distributed import (
    active_client,
    clear_cluster_errors,
    compute,
    futures_in,
    held,
    large_graphs,
    persist,
    task,
)
from cayleyklein._threads import Threads
from cayleyklein._validation import require
from cayleyklein.geometry import Frame
from cayleyklein.learning import _shards
from cayleyklein.learning._data import Rows, Scaling, TrainingRows
from cayleyklein.learning._loss import Gradient
from cayleyklein.learning._posed import Loss

__all__ = ["ShardedRows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

SHARD_BYTES = 2**26
"""Memory of a shard's columns at the most: a worker's temporary tables are a few times as large."""

LEAST_ROWS = 64
"""Rows below which another shard is not worth its tasks."""

PIVOTS = 64
"""Rows a shard from which the cuts between shards are taken: they end up within a fifth."""

GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, less their whole parts, are spread evenly from 0 to 1, however many they are."""

SENT_WITH_EACH = 2**16
"""Bytes of arguments up to which every call brings its own."""

FITTING = "the fit"


def call(function: Callable[..., Any], block: Any, args: Sequence[Any]) -> Any:
    """Call a function; its other arguments come as one."""
    return function(block, *args)


def over(blocks: Sequence[Any], function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the results of a function on every one of some persisted blocks, in their order.

    On a cluster the calls are sent as they are: building a graph of them would take as long as an
    iteration on a few thousand rows.
    """
    with clear_cluster_errors(FITTING), large_graphs():
        futures = futures_in(blocks)
        if not futures:
            return list(compute(*[task(call, function, b, args) for b in blocks], doing=FITTING))
        client, shared = futures[0].client, args
        if len(pickle.dumps(args)) > SENT_WITH_EACH:
            shared = client.submit(tuple, args, pure=False)  # workers hand it on to each other
        calls = [client.submit(call, function, b, shared, pure=False) for b in futures]
        return list(client.gather(calls))


def shard_count(n_rows: int, n_columns: int) -> int:
    """Return into how many shards to cut: one for each thread, or more for memory's sake."""
    client = active_client()
    threads = sum(client.ncores().values()) if client else os.cpu_count() or 1
    by_memory = -(-8 * n_rows * n_columns // SHARD_BYTES)
    return int(max(1, min(max(threads, by_memory), n_rows // LEAST_ROWS)))


def sort(blocks: list[Any], n_rows: int, n_shards: int) -> list[Any]:
    """Return blocks of distinct rows as shards, each of which ends where the next begins.

    A sample of the rows gives the cuts between shards; every block is cut there, and the parts
    of a shard are merged.
    """
    step = max(1, n_rows // (PIVOTS * n_shards))
    # A block may be shorter than a step: each begins elsewhere, for any row to be as likely taken.
    begins = [int(step * (number * GOLDEN % 1)) for number in range(1, len(blocks) + 1)]
    parts = [task(_shards.pivots, *each, step) for each in zip(blocks, begins, strict=True)]
    some = np.concatenate(compute(*parts, doing=FITTING))
    ranks = np.arange(1, n_shards) * len(some) // n_shards
    cuts = held(some[np.argsort(_shards.keys_of(some), kind="stable")[ranks]])
    shards = []
    for number, where in enumerate(spread(n_shards)):
        parts = [task(_shards.part_between, block, cuts, number) for block in blocks]
        with require("dask", "scale").annotate(**where):
            shards.append(task(_shards.merge, parts))
    return shards


def spread(n_shards: int) -> list[dict[str, Any]]:
    """Return where each shard should be, for every thread to have as much to do."""
    client = active_client()
    cores = sorted(client.ncores().items()) if client else []
    workers = [worker for worker, threads in cores for _ in range(threads)]
    if not workers:
        return [{} for _ in range(n_shards)]
    places = [workers[i * len(workers) // n_shards] for i in range(n_shards)]
    return [{"workers": [worker], "allow_other_workers": True} for worker in places]


class ShardedRows(Rows):
    """Rows in shards, sorted and numbered as they would be in memory.

    Parameters
    ----------
    shards : list of tasks
        Each yields a `TrainingRows`.
    table : ndarray of shape (n_shards, n_classes)
        How many rows of each class a shard has.
    scaling : Scaling
    """

    def __init__(self, shards: list[Any], table: Index, scaling: Scaling) -> None:
        self.shards, self.table = shards, table
        self.starts = np.concatenate([[0], np.cumsum(table.sum(axis=1))])
        self.mean, self.scale = scaling.mean * scaling.unit, scaling.deviation * scaling.unit
        self._total_weight = scaling.total_weight

    @classmethod
    def from_blocks(
        cls, blocks: list[Any], n_rows: int, n_columns: int, n_classes: int
    ) -> ShardedRows:
        """Sort, merge and standardise rows.

        Parameters
        ----------
        blocks : list of tasks
            Each yields `Distinct` rows.
        n_rows, n_columns, n_classes : int
            Of all of them.
        """
        blocks = list(persist(*blocks, doing=FITTING))
        lengths = over(blocks, _length)
        blocks = [block for block, length in zip(blocks, lengths, strict=True) if length]
        n_shards = shard_count(n_rows, n_columns)
        shards = list(persist(*sort(blocks, sum(lengths), n_shards), doing=FITTING))
        del blocks
        table = np.stack(over(shards, _shards.sizes, n_classes))
        full = np.flatnonzero(table.sum(axis=1))
        shards, table = [shards[i] for i in full], table[full]
        scaling = Scaling.of(lambda function, *args: over(shards, function, *args))
        shared = held(scaling)
        starts = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).tolist()
        standard = [
            task(_standardise, shard, shared, first)
            for shard, first in zip(shards, starts, strict=False)
        ]
        return cls(list(persist(*standard, doing=FITTING)), table, scaling)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def class_sizes(self) -> Index:
        """How many rows each label has."""
        return np.asarray(self.table.sum(axis=0))

    @property
    def total_weight(self) -> float:
        """The weights of all rows together."""
        return self._total_weight

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return function(shard, *args) of every shard, in their order."""
        return over(self.shards, function, *args)

    def take(self, rows: Index) -> TrainingRows:
        """Return some of the rows, numbers ascending, in this process."""
        rows = np.asarray(rows)
        edges = np.searchsorted(rows, self.starts)
        parts = compute(
            *[
                task(TrainingRows.take, shard, rows[edges[i] : edges[i + 1]] - self.starts[i])
                for i, shard in enumerate(self.shards)
            ],
            doing=FITTING,
        )
        X, labels, weights = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("X", "labels", "weights")
        )
        return TrainingRows(X, labels, weights, self.mean, self.scale)

    def locate(self, ordinals: list[Index]) -> list[Index]:
        """Return, class by class, the numbers of its rows from their ordinals in the class."""
        before = np.cumsum(self.table, axis=0) - self.table
        local = [
            [
                some[(some >= begin) & (some < begin + count)] - begin
                for some, begin, count in zip(ordinals, before[i], self.table[i], strict=True)
            ]
            for i in range(len(self.shards))
        ]
        found = compute(
            *[
                task(_shards.local_rows, shard, held(some))
                for shard, some in zip(self.shards, local, strict=True)
            ],
            doing=FITTING,
        )
        return [np.concatenate(numbers) for numbers in zip(*found, strict=True)]

    def pose(
        self, n_targets: int, frame: Frame, margin: float, push: float, squared: bool
    ) -> ShardedPosed:
        """Choose target neighbours under a frame, and return the loss to be."""
        under = held(frame)
        targets = [
            go_round(
                _shards.meet_targets, self.shards, i, lambda j: (self.shards[j], n_targets, under)
            )
            for i in range(len(self.shards))
        ]
        targets = list(persist(*targets, doing=FITTING))
        return ShardedPosed(self.shards, targets, margin, push, squared)


def go_round(
    meet: Callable[..., Any],
    shards: list[Any],
    number: int,
    args: Callable[[int], tuple[Any, ...]],
) -> Any:
    """Return what a shard has kept when it has met all, beginning with itself.

    Each meeting waits for the last, so that no worker holds all the shards at once.
    """
    state: Any = None
    for turn in range(len(shards)):
        state = task(meet, state, shards[number], *args((number + turn) % len(shards)))
    return state


@dataclass(frozen=True)
class ShardedPosed:
    """Shards with their target neighbours."""

    shards: list[Any]
    targets: list[Any]
    margin: float
    push: float
    squared: bool

    def link(self, frame: Frame, per_row: int, pool: Threads | None) -> tuple[Loss, bool]:
        """Return the loss over the impostors under a frame, and whether a row has too many."""
        under = held(frame)
        linked = []
        for i, (shard, targets) in enumerate(zip(self.shards, self.targets, strict=True)):
            constants = (targets, under, per_row, self.margin, self.squared)
            impostors = go_round(
                _shards.meet_impostors,
                self.shards,
                i,
                lambda j, constants=constants: (self.shards[j], *constants),  # type: ignore[misc]
            )
            linked.append(
                task(_shards.link, shard, targets, impostors, self.margin, self.push, self.squared)
            )
        linked = list(persist(*linked, doing=FITTING))
        crowded = any(over(linked, attrgetter("crowded")))

        def loss(factor: Array, center: Array, curvature: float, *, bends: bool) -> Gradient:
            return add(over(linked, _shards.evaluate, factor, center, curvature, bends))

        return loss, crowded


def add(found: list[Gradient]) -> Gradient:
    """Return the sum of the losses of shards and of their gradients, in their order."""
    loss, factor, center, curvature, rows, n_active = zip(*found, strict=True)
    return Gradient(sum(loss), sum(factor), sum(center), sum(curvature), rows[0], sum(n_active))


def _length(rows: Any) -> int:
    return len(rows.X)


def _standardise(rows: Any, scaling: Scaling, first: int) -> TrainingRows:
    return scaling.standardise(rows, first)
