"""Training rows in the form that learners work on: standardised, distinct, sorted by class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.objectives import Parameters
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors import class_votes, distinct_rows

LARGEST = 1e151
"""Largest entry a column may have; its inverse is the smallest that its largest entry may be."""


class Points(NamedTuple):
    """The first row at each point, the point of each row, and the `class_votes` at each point."""

    rows: Ints
    of_rows: Ints
    votes: Floats


@dataclass(frozen=True)
class TrainingRows:
    """Rows standardised column by column.

    Equal rows of one class are one row whose weight is the sum of theirs, and rows are sorted by
    class and then by column. So neither the order of the rows nor whether a row is repeated or
    weighs 2 changes a model.

    Rows of more columns than rows span a space of few dimensions, and a descent from standardised
    columns never leaves it. They are turned into it: each is r coordinates along an orthonormal
    `basis`, with the same distances, and what is learned there is the same metric.

    Standardised columns are (columns - mean)/scale; a constant column has scale inf, and so no
    weight. Labels are 0, 1, …, ascending, and weights positive. The rows of a `basis` (r, d) come
    by falling variance.
    """

    X: Floats
    labels: Ints
    weights: Floats
    mean: Floats
    scale: Floats
    basis: Floats | None = None

    @classmethod
    def from_raw(
        cls, X: Floats, labels: Ints, weights: Floats, *, turn: bool = True, name: str = "X"
    ) -> TrainingRows:
        """Merge, sort and standardise the rows of positive weight.

        `turn` says whether wide rows may be turned into the space that they span, and `name` is
        what errors call the rows.
        """
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
                f"The largest entries of {name} are beyond {LARGEST:g} or below {1 / LARGEST:g} in "
                f"columns {list_indices(np.flatnonzero(extreme))}; rescale them."
            )
        unit = np.exp2(np.floor(np.log2(np.where(span > 0, span, 1.0))))
        constant = high / unit - low / unit <= 4 * np.finfo(float).eps * (span / unit)
        share = total / total.max()
        share /= share.sum()
        X = X / unit
        mean = share @ X
        deviation = np.where(constant, np.inf, np.sqrt(share @ (X - mean) ** 2))
        X = (X - mean) / deviation
        basis = principal_axes(X, len(X)) if turn and X.shape[1] > len(X) else None
        return cls(
            X if basis is None else X @ basis.T, rows[:, 0].astype(np.int64), total, mean * unit,
            deviation * unit, basis,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Coordinates of a row, r."""
        return int(self.X.shape[1])

    @cached_property
    def class_sizes(self) -> Ints:
        """Distinct rows of each label, 0 where there is none."""
        return np.bincount(self.labels)

    @cached_property
    def points(self) -> Points:
        """The distinct points where rows are, of whatever class."""
        first, point = distinct_rows(self.X)
        return Points(first, point, class_votes(point, self.labels, self.weights))

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
        """Coordinates that are not constant."""
        if self.basis is None:
            return np.isfinite(self.scale)
        return np.ones(self.n_columns, dtype=bool)

    @property
    def raw_columns(self) -> Floats:
        """The columns as given, in standardised coordinates: a diagonal matrix, or (d, r)."""
        finite = np.where(np.isfinite(self.scale), self.scale, 0.0)
        return np.diag(finite) if self.basis is None else finite[:, None] * self.basis.T

    def take(self, rows: Ints) -> TrainingRows:
        """Return some of the rows, in the same coordinates."""
        rows = np.sort(rows)
        return TrainingRows(
            self.X[rows], self.labels[rows], self.weights[rows], self.mean, self.scale, self.basis
        )

    def nested_order(self, rng: np.random.Generator) -> Ints:
        """Return an order of the rows in which each beginning has all classes by their shares."""
        place = np.empty(len(self))
        for label in np.unique(self.labels):
            own = np.flatnonzero(self.labels == label)
            place[own] = (rng.permutation(len(own)) + rng.uniform()) / len(own)
        return np.argsort(place, kind="stable")

    def to_metric(self, found: Parameters, unit: float = 1.0) -> CurvedMetric:
        """Return the metric for rows as they were given, its distances divided by a unit."""
        factor, center = found.factor, found.center
        if self.basis is not None:
            factor, center = factor @ self.basis, center @ self.basis
        finite = np.where(np.isfinite(self.scale), self.scale, 0.0)
        return CurvedMetric(
            factor=factor / self.scale / unit,
            center=self.mean + finite * center,
            curvature=found.curvature * unit**2,
        )

    def from_metric(self, metric: CurvedMetric) -> Parameters:
        """Return the parameters for standardised rows of a metric for rows as given.

        A constant column is dropped; what it adds to every row's coordinates moves the centre, as
        far as the other columns reach.
        """
        varies = np.isfinite(self.scale)
        factor = metric.factor * np.where(varies, self.scale, 0.0)
        scale = np.where(varies, self.scale, 1.0)
        center = np.where(varies, (metric.center - self.mean) / scale, 0.0)
        if not varies.all():
            constant = metric.factor[:, ~varies] @ (self.mean - metric.center)[~varies]
            center -= np.linalg.lstsq(factor, constant, rcond=None)[0]
        if self.basis is not None:
            factor, center = factor @ self.basis.T, self.basis @ center
        return Parameters(factor, center, metric.curvature)


def principal_axes(X: Floats, r: int) -> Floats:
    """Return at most r orthonormal rows of length d: the principal axes of rows (n, d), n < d."""
    _, sizes, axes = linalg.svd(X, full_matrices=False)
    kept = sizes > max(X.shape) * np.finfo(float).eps * sizes[0]
    return np.ascontiguousarray(axes[kept][:r]) if kept.any() else np.eye(1, X.shape[1])
