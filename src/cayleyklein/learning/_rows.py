"""Training rows in the form that learners work on: standardised, distinct, sorted by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
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
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein._validation import list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning._placed import Parameters
from cayleyklein.metrics import CurvedMetric

__all__ = [
    "Draw",
    "TrainingRows",
    "classes_of_blocks",
    "rows_at",
    "sample_dask",
    "sample_rows",
    "stratified_sample",
]


LARGEST = 1e151
"""Largest entry a column may have; its inverse is the smallest that its largest entry may be."""

FAN_IN = 8
"""Samples of blocks merged at a time."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows standardised column by column.

    Equal rows of one class are one row whose weight is the sum of theirs, and rows are sorted by
    class and then by column. So neither the order of the rows nor whether a row is repeated or
    weighs 2 changes a model.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised.
    labels : ndarray of shape (n,)
        0, 1, …, ascending.
    weights : ndarray of shape (n,)
        Positive.
    mean, scale : ndarray of shape (d,)
        The rows as given are mean + scale · X. A constant column has scale inf: it has no weight.
    """

    X: Floats
    labels: Ints
    weights: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def from_raw(cls, X: Floats, labels: Ints, weights: Floats) -> TrainingRows:
        """Merge, sort and standardise the rows of positive weight."""
        keyed = np.column_stack([labels, X])[weights > 0]
        rows, inverse = np.unique(keyed, axis=0, return_inverse=True)
        total: Floats = np.bincount(
            inverse.ravel(), weights=weights[weights > 0], minlength=len(rows)
        ).astype(float)
        X = np.ascontiguousarray(rows[:, 1:])
        # Units are powers of two, which change no digit: columns of 1e±150 need no special case.
        low, high = X.min(axis=0), X.max(axis=0)
        span = np.maximum(np.abs(low), np.abs(high))
        extreme = (span > LARGEST) | ((span > 0) & (span < 1 / LARGEST))
        if extreme.any():
            raise InvalidInputError(
                f"X has columns whose largest entries are beyond {LARGEST:g} or below "
                f"{1 / LARGEST:g}: {list_indices(np.flatnonzero(extreme))}; rescale them."
            )
        unit = np.exp2(np.floor(np.log2(np.where(span > 0, span, 1.0))))
        constant = high / unit - low / unit <= 4 * np.finfo(float).eps * (span / unit)
        share = total / total.max()
        share /= share.sum()
        X = X / unit
        mean = share @ X
        deviation = np.where(constant, np.inf, np.sqrt(share @ (X - mean) ** 2))
        return cls(
            (X - mean) / deviation, rows[:, 0].astype(np.int64), total, mean * unit,
            deviation * unit,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Columns of a row."""
        return len(self.mean)

    @cached_property
    def class_sizes(self) -> Ints:
        """Distinct rows of each label, 0 where there is none."""
        return np.bincount(self.labels)

    @property
    def shares(self) -> Floats:
        """Share of each row in the total weight."""
        share = self.weights / self.weights.max()
        return np.asarray(share / share.sum())

    @property
    def weight_unit(self) -> float:
        """A power of two near the largest weight, in which losses are minimised."""
        return float(np.exp2(np.round(np.log2(self.weights.max()))))

    @property
    def varies(self) -> Bools:
        """Columns that are not constant."""
        return np.isfinite(self.scale)

    def take(self, rows: Ints) -> TrainingRows:
        """Return some of the rows, in the same coordinates."""
        rows = np.sort(rows)
        return TrainingRows(
            self.X[rows], self.labels[rows], self.weights[rows], self.mean, self.scale
        )

    def to_metric(self, found: Parameters, unit: float = 1.0) -> CurvedMetric:
        """Return the metric for rows as they were given, its distances divided by a unit."""
        finite = np.where(self.varies, self.scale, 0.0)
        return CurvedMetric(
            factor=found.factor / self.scale / unit,
            center=self.mean + finite * found.center,
            curvature=found.curvature * unit**2,
        )

    def from_metric(self, metric: CurvedMetric) -> Parameters:
        """Return the parameters for standardised rows of a metric for rows as given.

        A constant column is dropped; what it adds to every row's coordinates moves the centre, as
        far as the other columns reach.
        """
        factor = metric.factor * np.where(self.varies, self.scale, 0.0)
        scale = np.where(self.varies, self.scale, 1.0)
        center = np.where(self.varies, (metric.center - self.mean) / scale, 0.0)
        if not self.varies.all():
            constant = metric.factor[:, ~self.varies] @ (self.mean - metric.center)[~self.varies]
            center -= np.linalg.lstsq(factor, constant, rcond=None)[0]
        return Parameters(factor, center, metric.curvature)


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
