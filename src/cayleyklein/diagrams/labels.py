"""Labels of points as the numbers of their classes."""

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyArray, Ints
from cayleyklein._validation import at_index, refuse_containers
from cayleyklein.exceptions import InvalidInputError


def encode_labels(labels: ArrayLike, n: int, name: str = "labels") -> tuple[AnyArray, Ints]:
    """Return the sorted classes, and the index of the class of each of n points."""
    refuse_containers(labels, name)
    values = np.asarray(labels)
    if values.shape != (n,):
        raise InvalidInputError(
            f"{name} must have one entry for each of the {n} points; got shape {values.shape}."
        )
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        raise InvalidInputError(
            f"{name} has NaN or infinite entries{at_index(~np.isfinite(values))}."
        )
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(f"{name} cannot be sorted: {error}.") from error
    return classes, codes.reshape(-1)
