"""Training rows in the form that learners work on: standardised, distinct, in a fixed order.

A learner asks for sums over rows, for a few of them, and for the loss of all; it does not see
whether they are in this process (`TrainingRows`) or on a cluster (`_sharded.ShardedRows`), where a
block of them is a `TrainingRows` again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame
from cayleyklein.learning._loss import Problem
from cayleyklein.learning._posed import Posed, PosedRows
from cayleyklein.learning._search import find_targets

__all__ = ["Distinct", "Rows", "Scaling", "TrainingRows", "weighted_mean"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

LARGEST = 1e151
"""Of the entries of a column, and its inverse the smallest that the largest may be."""


class Rows(ABC):
    """Standardised rows, wherever they are.

    Attributes
    ----------
    mean, scale : ndarray of shape (d,)
        The raw rows are mean + scale · X. A constant column has scale inf: it weighs nothing.
    """

    mean: Array
    scale: Array

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def n_columns(self) -> int:
        """The columns of a row."""
        return len(self.mean)

    @property
    @abstractmethod
    def class_sizes(self) -> Index:
        """How many rows each label has."""

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """The weights of all rows together."""

    @abstractmethod
    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return function(block, *args) of every block, a `TrainingRows`, in their order."""

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(block, *args) over the blocks, in their order."""
        return sum(self.each(function, *args))

    @abstractmethod
    def take(self, rows: Index) -> TrainingRows:
        """Return some of the rows, numbers ascending, in the same coordinates."""

    @abstractmethod
    def locate(self, ordinals: list[Index]) -> list[Index]:
        """Return, class by class, the numbers of its rows from their ordinals in the class."""

    @abstractmethod
    def pose(
        self, n_targets: int, frame: Frame, margin: float, push: float, squared: bool
    ) -> Posed:
        """Choose target neighbours under a frame, and return the loss to be."""

    def to_raw(self, frame: Frame) -> Frame:
        """Return the frame for raw rows of a frame for standardised ones."""
        finite = np.where(np.isfinite(self.scale), self.scale, 0.0)
        return Frame(
            frame.factor / self.scale,
            center=self.mean + finite * frame.center,
            curvature=frame.curvature,
        )

    def from_raw_frame(self, frame: Frame) -> Frame:
        """Return the frame for standardised rows of a frame for raw ones.

        A constant column is dropped; what it adds to every row's coordinates moves the centre, as
        far as the other columns reach.
        """
        varies = np.isfinite(self.scale)
        factor = frame.factor * np.where(varies, self.scale, 0.0)
        center = np.where(
            varies, (frame.center - self.mean) / np.where(varies, self.scale, 1.0), 0.0
        )
        if not varies.all():
            constant = frame.factor[:, ~varies] @ (self.mean - frame.center)[~varies]
            center -= np.linalg.lstsq(factor, constant, rcond=None)[0]
        return Frame(factor, center=center, curvature=frame.curvature)


class Distinct(NamedTuple):
    """Rows, none twice in a class, sorted by their columns and then their class."""

    X: Array
    labels: Index
    weights: Array

    @classmethod
    def of(cls, X: Array, labels: Index, weights: Array) -> Distinct:
        """Merge and sort rows of positive weight."""
        keyed = np.column_stack([X, labels])[weights > 0]
        rows, inverse = np.unique(keyed, axis=0, return_inverse=True)
        total: Array = np.bincount(
            inverse.ravel(), weights=weights[weights > 0], minlength=len(rows)
        ).astype(float)
        return cls(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int64), total)


class Extent(NamedTuple):
    """The largest weight, and the range of the columns, of a block of rows."""

    weight: float
    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Distinct) -> Extent:
        """Take them from rows."""
        return cls(float(rows.weights.max()), rows.X.min(axis=0), rows.X.max(axis=0))


class Scaling(NamedTuple):
    """How raw rows become standardised ones: ((X / unit) - mean) / deviation.

    Units are powers of two, which move no digit: columns of 1e±150 are standardised like any other,
    and no weight is too large to be summed.
    """

    weight_unit: float
    unit: Array
    total_weight: float
    mean: Array
    deviation: Array

    @classmethod
    def of(cls, each: Callable[..., list[Any]]) -> Scaling:
        """Take it from blocks, over each of which `each` calls a function."""
        extents = each(Extent.of)
        low, high = (
            function([getattr(extent, name) for extent in extents], axis=0)
            for name, function in (("low", np.min), ("high", np.max))
        )
        weight = np.exp2(-np.round(np.log2(max(extent.weight for extent in extents))))
        span = np.maximum(np.abs(low), np.abs(high))
        extreme = (span > LARGEST) | ((span > 0) & (span < 1 / LARGEST))
        if extreme.any():
            raise InvalidInputError(
                f"X has columns whose largest entries are beyond {LARGEST:g} or below "
                f"{1 / LARGEST:g}: {list_indices(np.flatnonzero(extreme))}; rescale them."
            )
        unit = np.exp2(np.floor(np.log2(np.where(span > 0, span, 1.0))))
        constant = high / unit - low / unit <= 4 * np.finfo(float).eps * (span / unit)
        total = sum(each(_weight, weight))
        mean = sum(each(_mean, weight, total, unit))
        deviation = np.sqrt(sum(each(_variance, weight, total, unit, mean)))
        return cls(weight, unit, total, mean, np.where(constant, np.inf, deviation))

    def standardise(self, rows: Distinct, first: int = 0) -> TrainingRows:
        """Return rows in standard coordinates."""
        return TrainingRows(
            (rows.X / self.unit - self.mean) / self.deviation,
            rows.labels,
            rows.weights * self.weight_unit,
            self.mean * self.unit,
            self.deviation * self.unit,
            first,
        )


def _weight(rows: Distinct, weight_unit: float) -> float:
    return float((rows.weights * weight_unit).sum())


def _mean(rows: Distinct, weight_unit: float, total: float, unit: Array) -> Array:
    return np.asarray((rows.weights * weight_unit / total) @ (rows.X / unit))


def _variance(rows: Distinct, weight_unit: float, total: float, unit: Array, mean: Array) -> Array:
    return np.asarray((rows.weights * weight_unit / total) @ (rows.X / unit - mean) ** 2)


@dataclass(frozen=True)
class TrainingRows(Rows):
    """Rows in memory, standardised column by column.

    Equal rows of one class are one row that weighs as much as all of them, and rows are sorted:
    so neither the order of the rows nor how their weight was written changes a model.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised.
    labels : ndarray of shape (n,)
        0, 1, …
    weights : ndarray of shape (n,)
    mean, scale : ndarray of shape (d,)
        The raw rows are mean + scale · X. A constant column has scale inf: it weighs nothing.
    first : int, default=0
        Number of the first row, for a block of more.
    """

    X: Array
    labels: Index
    weights: Array
    mean: Array
    scale: Array
    first: int = 0

    @classmethod
    def from_raw(cls, X: Array, labels: Index, weights: Array) -> TrainingRows:
        """Standardise, merge and sort rows of positive weight."""
        rows = Distinct.of(X, labels, weights)
        return Scaling.of(lambda function, *args: [function(rows, *args)]).standardise(rows)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def class_sizes(self) -> Index:
        """How many rows each label has."""
        return np.bincount(self.labels)

    @property
    def total_weight(self) -> float:
        """The weights of all rows together."""
        return float(self.weights.sum())

    def places(self, numbers: Index) -> Index:
        """Return where rows of given numbers are in this block, -1 for those that are not."""
        places = np.asarray(numbers) - self.first
        return np.where((places >= 0) & (places < len(self)), places, -1)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return function(rows, *args), of this only block."""
        return [function(self, *args)]

    def take(self, rows: Index) -> TrainingRows:
        """Return some of the rows, in the same coordinates."""
        return TrainingRows(
            self.X[rows], self.labels[rows], self.weights[rows], self.mean, self.scale
        )

    def locate(self, ordinals: list[Index]) -> list[Index]:
        """Return, class by class, the numbers of its rows from their ordinals in the class."""
        return [np.flatnonzero(self.labels == label)[some] for label, some in enumerate(ordinals)]

    def pose(
        self, n_targets: int, frame: Frame, margin: float, push: float, squared: bool
    ) -> PosedRows:
        """Choose target neighbours under a frame, and return the loss to be."""
        targets = find_targets(self.X, self.labels, n_targets, frame)
        return PosedRows(Problem(self.X, targets, self.weights, margin, push, squared), self.labels)


def weighted_mean(data: Rows) -> Array:
    """Return the mean of standardised rows, which only rounding keeps from 0."""
    return np.asarray(data.total(_share_of_mean, data.total_weight))


def _share_of_mean(rows: TrainingRows, total: float) -> Array:
    return np.asarray((rows.weights / total) @ rows.X)
