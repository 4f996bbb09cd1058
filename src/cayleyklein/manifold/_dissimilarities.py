"""Checks of dissimilarities and weights: errors that name the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from cayleyklein._typing import Bools, Floats
from cayleyklein._validation import as_finite_array, list_indices
from cayleyklein.exceptions import InvalidInputError

TOLERANCE = 1e-10
"""Largest difference of δ_ij and δ_ji, relative to the largest, that counts as rounding."""

LARGEST, SMALLEST = 1e100, 1e-100
"""Bounds of the largest dissimilarity: squares and cubes must not overflow."""


def check_dissimilarities(values: Floats, name: str = "X") -> Floats:
    """Check a square symmetric matrix with a zero diagonal, NaN where missing; symmetrise it.

    An entry that is missing on one side of the diagonal only is taken from the other.
    """
    if values.shape[0] != values.shape[1]:
        raise InvalidInputError(
            f'{name} must be a square matrix with metric="precomputed"; got shape {values.shape}.'
        )
    check_sign(values, name)
    values = np.where(np.isnan(values), values.T, values)
    longest = float(np.nanmax(values, initial=0.0))
    with np.errstate(invalid="ignore"):
        apart = np.abs(values - values.T) > TOLERANCE * longest
    if apart.any():
        i, j = np.argwhere(apart)[0].tolist()
        raise InvalidInputError(
            f"{name} must be symmetric, but the dissimilarities ({i}, {j}) and ({j}, {i}) are "
            f"{values[i, j]:g} and {values[j, i]:g}; pass ({name} + {name}.T) / 2 if that is meant."
        )
    own = np.nan_to_num(np.diagonal(values)) > TOLERANCE * longest
    if own.any():
        rows = list_indices(np.flatnonzero(own))
        raise InvalidInputError(
            f"{name} must be 0 on the diagonal, but is not in rows {rows}; convert similarities to "
            f"dissimilarities first."
        )
    symmetric = (values + values.T) / 2
    np.fill_diagonal(symmetric, 0.0)
    return np.asarray(symmetric)


def check_sign(values: Floats, name: str) -> None:
    """Refuse negative dissimilarities, and those whose squares would overflow."""
    with np.errstate(invalid="ignore"):
        _refuse(
            values < 0,
            f"Negative values in data: {name} is negative",
            "; dissimilarities are 0 or more",
        )
    longest = float(np.nanmax(values, initial=0.0))
    if longest and not SMALLEST <= longest <= LARGEST:
        raise InvalidInputError(
            f"{name} has a largest dissimilarity of {longest:g}, whose powers overflow or "
            f"underflow; divide {name} by it."
        )


def check_weights(weights: ArrayLike | None, missing: Bools) -> Floats | None:
    """Return weights (n, n) that are 0 for missing pairs and on the diagonal; None for all 1."""
    n = len(missing)
    if weights is None and not missing.any():
        return None
    if weights is None:
        found = np.ones((n, n))
    else:
        found = as_finite_array(weights, "weights").copy()
        if found.shape != (n, n):
            raise InvalidInputError(
                f"weights must have shape {(n, n)}, one for each pair of rows; got {found.shape}."
            )
        _refuse(found < 0, "weights is negative", "; a weight is 0 or more")
        apart = np.abs(found - found.T) > TOLERANCE * np.abs(found).max()
        _refuse(apart, "weights must be symmetric, and differs", "from its transpose")
        found = (found + found.T) / 2
    found[missing] = 0.0
    np.fill_diagonal(found, 0.0)
    parts, group = connected_components(found > 0, directed=False)
    if parts > 1:
        rest = list_indices(np.flatnonzero(group != group[0]))
        raise InvalidInputError(
            f"No dissimilarity of positive weight connects rows {rest} with row 0, so that their "
            f"places are undetermined; drop them, or fit them by themselves."
        )
    return np.asarray(found)


def _refuse(bad: Bools, what: str, why: str) -> None:
    if bad.any():
        comma = "" if why.startswith(";") else " "
        raise InvalidInputError(f"{what} at {list_indices(np.argwhere(bad))}{comma}{why}.")


def looks_precomputed(X: Any) -> bool:
    """Say whether rows look like a matrix of dissimilarities: square, symmetric, 0 diagonal."""
    return X.shape[0] == X.shape[1] and not np.diagonal(X).any() and np.array_equal(X, X.T)
