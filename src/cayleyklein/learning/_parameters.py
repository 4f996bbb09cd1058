"""Checks of the learners' parameters."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from cayleyklein._validation import check_memory
from cayleyklein.exceptions import InvalidInputError

__all__ = [
    "COUNT",
    "NUMBER",
    "POSITIVE",
    "check_factor_size",
    "check_number",
    "check_optional",
    "check_subsample",
]

COUNT, NUMBER = Integral, Real
POSITIVE = float(np.finfo(float).tiny)

SOLVER_COPIES, SQUARES = 24, 3
"""What L-BFGS keeps of the size of a factor, and arrays of the size of a covariance."""


def check_number(name: str, value: Any, kind: type, low: float, high: float = np.inf) -> None:
    """Check that a parameter is a finite number (or integer) in a range."""
    right = isinstance(value, kind) and not isinstance(value, bool)
    if not right or not np.isfinite(value) or not low <= value <= high:
        what = "an integer" if kind is COUNT else "a finite number"
        span = f"of at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise InvalidInputError(f"Got {name}={value!r}, but expected {what} {span}.")


def check_optional(
    name: str, value: Any, otherwise: tuple[Any, ...], kind: type, low: float, high: float = np.inf
) -> None:
    """Check a parameter that may also be one of a few words, or None."""
    if not any(value is word or (isinstance(value, str) and value == word) for word in otherwise):
        check_number(name, value, kind, low, high)


def check_subsample(value: Any) -> None:
    """Check a number of rows, 2 or more, or a share of them, at most all."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is None or (whole and value >= 2) or (isinstance(value, float) and 0 < value <= 1):
        return
    raise InvalidInputError(
        f"Got subsample={value!r}, but expected a number of rows, at least 2, a share of them such "
        f"as 0.1, or None for all."
    )


def check_factor_size(r: int, d: int) -> None:
    """Refuse a factor (r, d) that, with what the solver remembers of it, memory does not hold."""
    check_memory(
        8.0 * (SOLVER_COPIES * r * d + SQUARES * d * d),
        f"Learning a metric of {d:,} columns",
        "Reduce the columns first, by PCA for example.",
    )
