"""Stratified samples of labelled rows, in memory or in Dask blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._distributed import (
    RowBlocks,
    aligned_blocks,
    checked_rows,
    compute,
    meta_of,
    task,
)
from cayleyklein._estimators import (
    as_weights,
    check_columns,
    classes_of,
    common_classes,
    refuse_missing,
)
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.exceptions import InvalidInputError

FAN_IN = 8
"""Samples of blocks merged at a time."""


def class_shares(counts: Ints, size: int | float | None, fewest: int) -> Ints:
    """Return how many rows of each class a sample has: its share, but `fewest` if there are.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Rows of each class.
    size : int, float or None
        Rows in all, or their share, or None for all.
    fewest : int

    Examples
    --------
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


class Draw(NamedTuple):
    """How to draw a stratified sample: the rows with the smallest random keys of each class.

    A row's key depends on the seed and the row's number alone. So rows in memory and in Dask
    blocks, however cut and wherever computed, make the same sample.

    Parameters
    ----------
    size : int, float or None
        Rows, their share, or None for all.
    fewest : int
        Rows of a class at least, where it has them.
    seed : int
    """

    size: int | float | None
    fewest: int
    seed: int

    @classmethod
    def of(cls, size: int | float | None, fewest: int, rng: np.random.Generator) -> Draw:
        """Take the seed from a child of a generator, which itself is left as it is."""
        return cls(size, fewest, int(rng.spawn(1)[0].integers(2**63)))

    def keys(self, first_row: int, n: int) -> Floats:
        """Return the keys of n rows."""
        generator = np.random.Generator(np.random.PCG64(self.seed).advance(first_row))
        return generator.random(n)

    def enough(self, counts: Ints, n_rows: int) -> Ints:
        """Return how many rows of each class to keep of a part of a table of n_rows or more.

        The sample has at most the share size / n_rows of a class, and a part of it differs from
        its expectation by eight standard deviations with a probability below 1e-14.
        """
        if self.size is None or isinstance(self.size, float):
            share = 1.0 if self.size is None else self.size
        else:
            share = self.size / max(n_rows, int(counts.sum()), 1)
        expected = min(1.0, share) * counts
        most = np.ceil(np.maximum(expected + 8 * np.sqrt(expected) + 8, self.fewest))
        return np.asarray(np.minimum(counts, most), dtype=np.int64)


def sample_rows(
    X: Floats, labels: Ints, weights: Floats, draw: Draw
) -> tuple[Floats, Ints, Floats]:
    """Return a stratified sample of the rows of positive weight, in their order."""
    counts = np.bincount(labels[weights > 0])
    wanted = class_shares(counts, draw.size, draw.fewest)
    if np.array_equal(wanted, counts):
        return X, labels, weights
    rows = np.flatnonzero(weights > 0)
    rows = rows[smallest_of_class(labels[rows], draw.keys(0, len(X))[rows], wanted)]
    return X[rows], labels[rows], weights[rows]


def smallest_of_class(labels: Ints, keys: Floats, wanted: Ints) -> Ints:
    """Return the sorted positions of the smallest keys, so many of each class as wanted."""
    # Sort only the keys that can be among them, as long as there are enough of these.
    counts = np.bincount(labels, minlength=len(wanted))
    bound = (wanted + 8 * np.sqrt(wanted) + 8) / np.maximum(counts, 1)
    likely = np.flatnonzero(keys < bound[labels])
    if (np.bincount(labels[likely], minlength=len(wanted)) < np.minimum(wanted, counts)).any():
        likely = np.arange(len(labels))
    order = likely[np.lexsort((keys[likely], labels[likely]))]
    ranks = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])
    return np.sort(np.asarray(order[ranks < wanted[labels[order]]]))


class Drawn(NamedTuple):
    """Rows drawn from a part of a table, with their keys, and the class counts of that part."""

    n_rows: int
    classes: AnyArray
    counts: Ints
    X: Floats
    labels: Ints
    weights: Floats
    keys: Floats

    def thinned(self, wanted: Ints) -> Drawn:
        """Keep the smallest keys, so many of each class as wanted."""
        rows = smallest_of_class(self.labels, self.keys, wanted)
        return self._replace(
            X=self.X[rows], labels=self.labels[rows], weights=self.weights[rows],
            keys=self.keys[rows],
        )  # fmt: skip


def sample_dask(
    estimator: Any, X: Any, y: Any, sample_weight: Any, draw: Draw
) -> tuple[AnyArray, tuple[Floats, Ints, Floats]]:
    """Return the classes of Dask rows, and the sample that `sample_rows` draws of them.

    Each block is computed once, and keeps what a sample of the whole could need of it; the workers
    merge that, and only the sample comes here.
    """
    check_columns(estimator, X, y, reset=True)
    refuse_missing(y, "y")
    blocks, n_rows = aligned_blocks(X, y=y, sample_weight=sample_weight)
    at_least = 0 if sample_weight is not None else n_rows or 0
    n_columns = meta_of(X, "X").shape[1]
    parts = [task(_drawn_of_block, *block, n_columns, draw, at_least) for block in blocks]
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [task(_merged, group, draw, at_least) for group in groups]
    found = next(iter(compute(*parts, doing="drawing a sample of the rows")), None)
    if found is None or not found.n_rows:
        raise InvalidInputError("X is empty: it has no rows.")
    classes = common_classes([found.classes], found.n_rows)
    found = found.thinned(class_shares(found.counts, draw.size, draw.fewest))
    return classes, (found.X, found.labels, found.weights)


def _drawn_of_block(
    rows: Any, first_row: int, y: AnyArray, sample_weight: Any, n_columns: int, draw: Draw,
    at_least: int,
) -> Drawn:  # fmt: skip
    X = checked_rows([rows], "X", n_columns, first_row)
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if column is not None and len(column) != len(X):
            raise InvalidInputError(
                f"{name} has {len(column)} entries from row {first_row} on, but X has {len(X)} "
                f"rows there; each row needs one, in partitions of the same lengths."
            )
    classes = classes_of(y, first_row)
    weights = np.ones(len(X))
    if sample_weight is not None and len(X):
        weights = as_weights(sample_weight, y, first_row)
    used = weights > 0
    labels = np.searchsorted(classes, y[used])
    counts = np.bincount(labels, minlength=len(classes))
    keys = draw.keys(first_row, len(X))[used]
    found = Drawn(len(X), classes, counts, X[used], labels, weights[used], keys)
    return found.thinned(draw.enough(counts, at_least))


def _merged(parts: list[Drawn], draw: Draw, at_least: int) -> Drawn:
    """Join what was drawn from neighbouring parts of a table."""
    parts = [part for part in parts if part.n_rows] or parts[:1]
    n_rows = sum(part.n_rows for part in parts)
    classes = common_classes([part.classes for part in parts])
    places = [np.searchsorted(classes, part.classes) for part in parts]
    counts = np.zeros(len(classes), dtype=np.int64)
    for part, place in zip(parts, places, strict=True):
        counts[place] += part.counts
    labels = [place[part.labels] for part, place in zip(parts, places, strict=True)]
    joined = Drawn(
        n_rows, classes, counts, np.concatenate([part.X for part in parts]),
        np.concatenate(labels), np.concatenate([part.weights for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )  # fmt: skip
    return joined.thinned(draw.enough(counts, at_least))


def classes_of_blocks(
    targets: Sequence[Any], weights: Sequence[Any], blocks: RowBlocks
) -> tuple[AnyArray, Floats]:
    """Return the classes of Dask rows, and the total weight of each."""
    columns = zip(targets, weights, blocks.starts, strict=True)
    tallies = compute(*[task(_tally, *block) for block in columns], doing="reading y")
    classes = common_classes([seen for seen, _ in tallies], blocks.n_rows)
    mass = np.zeros(len(classes))
    for seen, weight in tallies:
        mass[np.searchsorted(classes, seen)] += weight
    return classes, mass


def _tally(y: AnyArray, weights: Any, first_row: int) -> tuple[AnyArray, Floats]:
    """Return the classes of a block, and the weight of each."""
    classes = classes_of(y, first_row)
    checked = np.ones(len(y)) if weights is None else as_weights(weights, y, first_row)
    labels = np.searchsorted(classes, y)
    return classes, np.bincount(labels, weights=checked, minlength=len(classes)).astype(float)


def rows_at(blocks: RowBlocks, numbers: Ints) -> Floats:
    """Return the rows of given numbers, ascending, of Dask blocks."""
    tasks = [
        task(_rows_of, rows, numbers[(numbers >= start) & (numbers < start + n)] - start)
        for rows, start, n in zip(blocks.blocks, blocks.starts, blocks.lengths, strict=True)
    ]
    return np.concatenate(compute(*tasks, doing="reading rows"))


def _rows_of(rows: Any, numbers: Ints) -> Floats:
    return np.asarray(rows, dtype=np.float64)[numbers]
