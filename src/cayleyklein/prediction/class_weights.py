"""Weights of classes, as factors of the weights of their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows


def with_class_weights(given: GivenRows, class_weight: Any) -> GivenRows:
    """Multiply the weights of rows by those of their classes: a dict, "balanced", or None.

    "balanced" gives each class the same total weight. Classes that a dict lacks have the weight 1.
    """
    if class_weight is None:
        return given
    assert given.classes is not None
    mass = np.bincount(given.target, weights=given.weights, minlength=len(given.classes))
    if isinstance(class_weight, str):
        factors = np.divide(mass.sum() / len(mass), mass, np.ones_like(mass), where=mass > 0)
    else:
        known = given.classes.tolist()
        if unknown := [name for name in class_weight if name not in known]:
            raise InvalidInputError(
                f"class_weight has classes that are not in y, {unknown}; y has {known}."
            )
        factors = np.array([class_weight.get(name, 1.0) for name in known], dtype=float)
        if not (np.isfinite(factors).all() and (factors >= 0).all() and factors @ mass > 0):
            raise InvalidInputError(
                f"class_weight must hold finite numbers ≥ 0, not all 0; got {class_weight!r}."
            )
    return replace(given, weights=given.weights * factors[given.target])
