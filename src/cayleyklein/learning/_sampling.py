"""Samples of rows, in memory or in Dask blocks: the same rows of either."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from cayleyklein._distributed import RowBlocks, compute, read_columns, row_blocks, task
from cayleyklein._estimators import check_columns, refuse_missing
from cayleyklein._typing import AnyArray, Floats, Ints


def class_shares(counts: Ints, size: int | float | None, fewest: int) -> Ints:
    """Return how many rows of each class a sample has: its share, but `fewest` if there are.

    `size` is the rows in all, or their share, or None for all.

    >>> class_shares(np.array([5000, 900, 2]), 500, 4)
    array([424,  76,   2])
    """
    if size is None:
        return counts
    share = size if isinstance(size, float) else size / max(1, int(counts.sum()))
    wanted = np.maximum(np.rint(min(1.0, share) * counts), fewest)
    return np.asarray(np.minimum(counts, wanted), dtype=np.int64)


def stratified_sample(counts: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
    """Draw rows from each class by its share, at least one; return their sorted ordinals."""
    return [
        np.sort(rng.choice(count, some, replace=False, shuffle=False))
        for count, some in zip(counts, class_shares(counts, size, 1), strict=True)
    ]


def draw_rows(
    labels: Ints, weights: Floats, size: int | float | None, fewest: int, rng: np.random.Generator
) -> Ints:
    """Draw rows of positive weight from each class by its share; return their sorted numbers.

    Each class gives its rows with the smallest random keys. Keys come from a child of the
    generator, which itself is left as it is.
    """
    keys = np.random.default_rng(int(rng.spawn(1)[0].integers(2**63))).random(len(labels))
    rows = np.flatnonzero(weights > 0)
    counts = np.bincount(labels[rows])
    wanted = class_shares(counts, size, fewest)
    if np.array_equal(wanted, counts):
        return np.arange(len(labels))
    rows = rows[np.lexsort((keys[rows], labels[rows]))]
    own = labels[rows]
    ranks = np.arange(len(rows)) - np.searchsorted(own, own)
    return np.sort(rows[ranks < wanted[own]])


def read_targets(
    estimator: Any, X: Any, y: Any, sample_weight: Any, least_rows: int = 1
) -> tuple[RowBlocks, AnyArray, AnyArray | None]:
    """Check the columns of Dask rows; return their blocks, and targets and weights in memory."""
    check_columns(estimator, X, y, reset=True)
    refuse_missing(y, "y")
    lengths, (target, weights) = read_columns(X, y=y, sample_weight=sample_weight)
    return row_blocks(X, lengths, least_rows=least_rows), cast(AnyArray, target), weights


def rows_at(blocks: RowBlocks, numbers: Ints) -> Floats:
    """Return the rows of given numbers, ascending, of Dask blocks; check all rows."""
    tasks = [
        task(_rows_of, rows, numbers[(numbers >= start) & (numbers < start + n)] - start)
        for rows, start, n in zip(blocks.blocks, blocks.starts, blocks.lengths, strict=True)
    ]
    return np.concatenate(compute(*tasks, doing="reading rows"))


def _rows_of(rows: Any, numbers: Ints) -> Floats:
    return np.asarray(rows, dtype=np.float64)[numbers]
