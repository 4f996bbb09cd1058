"""Training rows in the form that learners work on: standardised, distinct, in a fixed order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import list_indices
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import Frame

__all__ = ["TrainingRows"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

LARGEST = 1e150
"""Of the entries of a column, and its inverse the smallest that the largest may be."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows, standardised column by column.

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
    """

    X: Array
    labels: Index
    weights: Array
    mean: Array
    scale: Array

    @classmethod
    def from_raw(cls, X: Array, labels: Index, weights: Array) -> "TrainingRows":
        """Standardise, merge and sort rows of positive weight."""
        keyed = np.column_stack([X, labels])[weights > 0]
        rows, inverse = np.unique(keyed, axis=0, return_inverse=True)
        total: Array = np.bincount(inverse.ravel(), weights=weights[weights > 0]).astype(float)
        X, labels = rows[:, :-1], rows[:, -1].astype(np.int64)
        total *= np.exp2(-np.round(np.log2(total.max())))  # no weight is too large to be summed
        share = total / total.sum()
        # Powers of two move no digit: columns of 1e±150 are standardised like any other.
        span = np.abs(X).max(axis=0)
        extreme = (span > LARGEST) | ((span > 0) & (span < 1 / LARGEST))
        if extreme.any():
            columns = list_indices(np.flatnonzero(extreme))
            raise InvalidInputError(
                f"X has columns whose largest entries are beyond 1e±150: {columns}; rescale them."
            )
        unit = np.exp2(np.floor(np.log2(np.where(span > 0, span, 1.0))))
        scaled = X / unit
        mean = share @ scaled
        deviation = np.sqrt(share @ (scaled - mean) ** 2)
        constant = np.ptp(scaled, axis=0) <= 4 * np.finfo(float).eps * np.abs(scaled).max(axis=0)
        scale = np.where(constant, np.inf, deviation)
        return cls((scaled - mean) / scale, labels, total, mean * unit, scale * unit)

    def subset(self, rows: Index) -> "TrainingRows":
        """Return some of the rows, in the same coordinates."""
        return TrainingRows(
            self.X[rows], self.labels[rows], self.weights[rows], self.mean, self.scale
        )

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
