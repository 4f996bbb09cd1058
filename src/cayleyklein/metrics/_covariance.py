"""Metrics from the spread of rows: precision matrix and standard deviations."""

from __future__ import annotations

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import LARGEST_SQUARED, refuse_huge
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError


def mean_and_precision(X: Floats) -> tuple[Floats, Floats]:
    """Return the mean of rows and the inverse of their covariance (normalised by n)."""
    refuse_huge(X, "X")
    mean = X.mean(axis=0)
    rows = X - mean
    extent = np.abs(rows).max(axis=0)
    if ((extent > 0) & (extent < 1 / LARGEST_SQUARED)).any():
        raise InvalidInputError(
            f"X has columns that vary by {extent[extent > 0].min():g}, the square of which "
            f"underflows; rescale them."
        )
    spread = np.sqrt((rows * rows).mean(axis=0))
    constant = spread <= 8 * np.finfo(float).eps * np.abs(X).max(axis=0)
    rows = np.where(constant, 0.0, rows / np.where(constant, 1.0, spread))
    correlation = rows.T @ rows / len(X)  # the rank must not depend on the units of columns
    rank = np.linalg.matrix_rank(correlation, hermitian=True)
    if rank < X.shape[1]:
        raise NotRepresentableError(
            f"The covariance of X ({X.shape[0]} rows, {X.shape[1]} columns) has rank {rank}, "
            f"and so no inverse; drop constant or dependent columns, or take more rows."
        )
    return mean, np.linalg.inv(correlation) / spread / spread[:, None]


def standard_factor(X: Floats) -> Floats:
    """Return the diagonal factor that standardises columns; constant columns get 1."""
    deviation = X.std(axis=0)
    return np.diag(1 / np.where(deviation > 0, deviation, 1.0))
