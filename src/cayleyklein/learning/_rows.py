"""Training rows in the form that learners work on: standardised, distinct, sorted by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cayleyklein._distributed import RowBlocks, compute, row_blocks, target_blocks, task
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
from cayleyklein.learning.objectives import Parameters
from cayleyklein.metrics import CurvedMetric

__all__ = [
    "TrainingRows",
    "classes_of_blocks",
    "rows_at",
    "sample_dask",
    "sample_rows",
    "stratified_sample",
]


LARGEST = 1e151
"""Largest entry a column may have; its inverse is the smallest that its largest entry may be."""


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


def stratified_sample(
    counts: Ints, size: int | float, fewest: int, rng: np.random.Generator
) -> list[Ints]:
    """Draw rows from each class by its share, but at least `fewest` where it has them.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Rows of each class.
    size : int or float
        Rows in all, or their share.
    fewest : int
    rng : numpy.random.Generator

    Returns
    -------
    list of ndarray
        For each class the sorted ordinals of its rows that are drawn.

    Examples
    --------
    >>> drawn = stratified_sample(np.array([5000, 900, 2]), 500, 4, np.random.default_rng(0))
    >>> [len(some) for some in drawn]
    [424, 76, 2]
    """
    share = min(1.0, size if isinstance(size, float) else size / max(1, int(counts.sum())))
    wanted = np.minimum(counts, np.maximum(np.rint(share * counts), fewest)).astype(int)
    return [
        np.sort(rng.choice(count, some, replace=False, shuffle=False))
        for count, some in zip(counts, wanted, strict=True)
    ]


def takes_all(size: int | float, counts: Ints) -> bool:
    """Say whether a sample, of so many rows or of their share, would be all rows."""
    return bool(size == 1 if isinstance(size, float) else size >= counts.sum())


def sample_rows(
    X: Floats, labels: Ints, weights: Floats, size: int | float | None, fewest: int,
    rng: np.random.Generator,
) -> tuple[Floats, Ints, Floats]:  # fmt: skip
    """Return a stratified sample of the rows of positive weight, or all rows where they are few.

    Parameters
    ----------
    X, labels, weights : ndarray
    size : int, float or None
        Rows, their share, or None for all.
    fewest : int
        Rows of a class at least, where it has them.
    rng : numpy.random.Generator
    """
    labels = np.where(weights > 0, labels, -1)
    counts = np.bincount(labels[labels >= 0])
    if size is None or takes_all(size, counts):
        return X, np.where(labels < 0, 0, labels), weights
    return _pick(X, labels, weights, stratified_sample(counts, size, fewest, rng))


def _pick(
    X: Floats, labels: Ints, weights: Floats, drawn: Sequence[Ints]
) -> tuple[Floats, Ints, Floats]:
    """Return the rows of given ordinals in their class, in their order."""
    rows = np.sort(
        np.concatenate([np.flatnonzero(labels == label)[some] for label, some in enumerate(drawn)])
    )
    return X[rows], labels[rows], weights[rows]


def sample_dask(
    estimator: Any, X: Any, y: Any, sample_weight: Any, size: int | float | None, fewest: int,
    rng: np.random.Generator,
) -> tuple[AnyArray, tuple[Floats, Ints, Floats]]:  # fmt: skip
    """Return the classes of Dask rows, and the sample that `sample_rows` draws of them.

    The rows are counted by class where they are, and only the sample comes here.
    """
    check_columns(estimator, X, y, reset=True)
    refuse_missing(y, "y")
    blocks = row_blocks(X, y)
    targets = blocks.targets or []
    weights: Sequence[Any] = [None] * len(targets)
    if sample_weight is not None:
        weights = target_blocks(sample_weight, blocks.lengths, "sample_weight")
    doing = "drawing a sample of the rows"
    classes, counts, _ = _counted(targets, weights, blocks, doing)
    total = counts.sum(axis=0)
    if size is None or takes_all(size, total):
        drawn = [np.arange(count) for count in total]
    else:
        drawn = stratified_sample(total, size, fewest, rng)
    before = np.cumsum(counts, axis=0) - counts
    tasks = []
    for at, (rows, target, weight) in enumerate(zip(blocks.blocks, targets, weights, strict=True)):
        mine = [
            some[(some >= first) & (some < first + count)] - first
            for some, first, count in zip(drawn, before[at], counts[at], strict=True)
        ]
        tasks.append(task(_picked, rows, target, weight, classes, mine))
    parts = compute(*tasks, doing=doing)
    found, labels, kept = (np.concatenate(column) for column in zip(*parts, strict=True))
    return classes, (found, labels, kept)


def classes_of_blocks(
    targets: Sequence[Any], weights: Sequence[Any], blocks: RowBlocks
) -> tuple[AnyArray, Floats]:
    """Return the classes of Dask rows, and the total weight of each."""
    classes, _, mass = _counted(targets, weights, blocks, "reading y")
    return classes, mass


def _counted(
    targets: Sequence[Any], weights: Sequence[Any], blocks: RowBlocks, doing: str
) -> tuple[AnyArray, Ints, Floats]:
    """Return the classes, the rows of positive weight (n_blocks, n_classes), and their weight."""
    columns = zip(targets, weights, blocks.starts, strict=True)
    tallies = compute(*[task(_tally, *block) for block in columns], doing=doing)
    classes = common_classes([seen for seen, *_ in tallies], blocks.n_rows)
    counts, mass = np.zeros((len(tallies), len(classes)), dtype=np.int64), np.zeros(len(classes))
    for block, (seen, some, weight) in zip(counts, tallies, strict=True):
        block[np.searchsorted(classes, seen)] = some
        mass[np.searchsorted(classes, seen)] += weight
    return classes, counts, mass


def rows_at(blocks: RowBlocks, numbers: Ints) -> Floats:
    """Return the rows of given numbers, ascending, of Dask blocks."""
    tasks = [
        task(_rows_of, rows, numbers[(numbers >= start) & (numbers < start + n)] - start)
        for rows, start, n in zip(blocks.blocks, blocks.starts, blocks.lengths, strict=True)
    ]
    return np.concatenate(compute(*tasks, doing="reading rows"))


def _rows_of(rows: Any, numbers: Ints) -> Floats:
    return np.asarray(rows, dtype=np.float64)[numbers]


def _tally(y: AnyArray, weights: Any, first_row: int) -> tuple[AnyArray, Ints, Floats]:
    """Return the classes of a block, the rows of positive weight of each, and their weight."""
    classes = classes_of(y, first_row)
    checked = np.ones(len(y)) if weights is None else as_weights(weights, y, first_row)
    labels, n = np.searchsorted(classes, y), len(classes)
    counts = np.bincount(labels[checked > 0], minlength=n)
    return classes, counts, np.bincount(labels, weights=checked, minlength=n).astype(float)


def _picked(
    X: Floats, y: AnyArray, weights: Any, classes: AnyArray, drawn: list[Ints]
) -> tuple[Floats, Ints, Floats]:
    kept = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    labels = np.where(kept > 0, np.searchsorted(classes, y), -1)
    return _pick(np.asarray(X, dtype=np.float64), labels, kept, drawn)
