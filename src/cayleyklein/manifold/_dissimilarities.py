"""Dissimilarities and weights of pairs as given; errors name the rows."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from cayleyklein._typing import Bools, Floats
from cayleyklein._validation import as_finite_array, list_indices
from cayleyklein.exceptions import InvalidInputError

ASYMMETRY = 1e-10  # largest |δ_ij - δ_ji|, relative to the largest δ, that counts as rounding
LARGEST = 1e100  # bound, with its inverse, of the largest δ: squares and cubes must not overflow


def check_dissimilarities(values: Floats, name: str = "X") -> float:
    """Check that dissimilarities are not negative or huge; return the largest. NaN is missing."""
    negative = np.argwhere(values < 0)
    if len(negative):
        raise InvalidInputError(
            f"Negative values in data: {name} is negative at {list_indices(negative)}; "
            f"dissimilarities are 0 or more."
        )
    longest = float(np.nanmax(values, initial=0.0))
    if longest and not 1 / LARGEST <= longest <= LARGEST:
        raise InvalidInputError(
            f"{name} has a largest dissimilarity of {longest:g}, whose powers overflow or "
            f"underflow; divide {name} by it."
        )
    return longest


def symmetric_dissimilarities(values: Floats, name: str = "X") -> Floats:
    """Check that dissimilarities are symmetric; fill in those missing in one triangle only."""
    if values.shape[0] != values.shape[1]:
        raise InvalidInputError(
            f'{name} must be a square matrix with metric="precomputed"; got shape {values.shape}.'
        )
    longest = check_dissimilarities(values, name)
    values = np.where(np.isnan(values), values.T, values)
    refuse_asymmetric(values, name, longest)
    own = np.flatnonzero(np.nan_to_num(np.diagonal(values)) > ASYMMETRY * longest)
    if len(own):
        raise InvalidInputError(
            f"{name} must be 0 on the diagonal, but is not in rows {list_indices(own)}; convert "
            f"similarities to dissimilarities first."
        )
    symmetric = (values + values.T) / 2
    np.fill_diagonal(symmetric, 0.0)
    return np.asarray(symmetric)


def refuse_asymmetric(values: Floats, name: str, largest: float) -> None:
    apart = np.argwhere(np.abs(values - values.T) > ASYMMETRY * largest)
    if len(apart):
        i, j = apart[0].tolist()
        raise InvalidInputError(
            f"{name} must be symmetric, but the entries ({i}, {j}) and ({j}, {i}) are "
            f"{values[i, j]:g} and {values[j, i]:g}; pass ({name} + {name}.T) / 2 if that is meant."
        )


def pair_weights(weights: ArrayLike | None, missing: Bools) -> Floats | None:
    """Return weights (n, n) that are 0 for missing pairs and on the diagonal; None for all 1."""
    if weights is None and not missing.any():
        return None
    found = np.ones(missing.shape)
    if weights is not None:
        given = as_finite_array(weights, "weights")
        expected = f"shape {missing.shape}, one for each pair of rows"
        if given.shape != missing.shape:
            raise InvalidInputError(f"weights must have {expected}; got {given.shape}.")
        if (given < 0).any():
            where = list_indices(np.argwhere(given < 0))
            raise InvalidInputError(f"weights is negative at {where}; a weight is 0 or more.")
        refuse_asymmetric(given, "weights", float(given.max()))
        found = (given + given.T) / 2
    found[missing] = 0.0
    np.fill_diagonal(found, 0.0)
    parts, group = connected_components(found > 0, directed=False)
    if parts > 1:
        raise InvalidInputError(
            f"No dissimilarity of positive weight connects rows "
            f"{list_indices(np.flatnonzero(group != group[0]))} with row 0, so that their places "
            f"are undetermined; drop them, or fit them by themselves."
        )
    return np.asarray(found)
