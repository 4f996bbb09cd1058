"""What is done to one column of a table, in plain values that a file can hold.

scikit-learn's imputers and encoders do the same, but hold the whole table several times over on the
way, and a file of them would tie a model to one version of scikit-learn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError

__all__ = [
    "CategoryColumn",
    "NumberColumn",
    "as_codes",
    "is_number",
    "missing_in",
    "numbers_of",
]


@dataclass(frozen=True)
class NumberColumn:
    """Missing numbers become the median, and all are standardised."""

    name: str
    median: float
    mean: float
    scale: float

    width = 1

    @classmethod
    def of(cls, name: str, values: Any) -> NumberColumn:
        """Look at a column of which two values differ."""
        numbers = as_floats(values)
        # By a power of two, so that no square overflows or vanishes.
        exponent = np.frexp(np.nanmax(np.abs(numbers)))[1]
        numbers = np.ldexp(numbers, -exponent)
        median = np.nanmedian(numbers)
        numbers[np.isnan(numbers)] = median
        return cls(
            name,
            median=float(np.ldexp(median, exponent)),
            mean=float(np.ldexp(numbers.mean(), exponent)),
            scale=float(np.ldexp(numbers.std(), exponent)),
        )

    def encode(self, values: Any, out: NDArray[np.float64]) -> None:
        """Write the numbers to one column."""
        numbers = as_floats(values)
        numbers[np.isnan(numbers)] = self.median
        exponent = -np.frexp(self.scale)[1]
        away = np.ldexp(numbers, exponent) - np.ldexp(self.mean, exponent)
        np.divide(away, np.ldexp(self.scale, exponent), out=out[:, 0])


@dataclass(frozen=True)
class CategoryColumn:
    """Missing texts become the most frequent, and each has a column; the rarest share the last."""

    name: str
    frequent: str
    shown: list[str]
    rare: list[str]

    @classmethod
    def of(cls, name: str, values: Any, most: int) -> CategoryColumn:
        """Look at a column; `most` columns may come of it."""
        counts = counted(values)
        ordered = sorted(counts, key=lambda text: (-counts[text], text))
        kept = most if len(ordered) <= most else most - 1
        return cls(name, ordered[0], sorted(ordered[:kept]), sorted(ordered[kept:]))

    @property
    def width(self) -> int:
        """The number of columns that come of it."""
        return len(self.shown) + bool(self.rare)

    def encode(self, values: Any, out: NDArray[np.float64]) -> None:
        """Write a one to the column of each value, and zeros beside it."""
        places = {text: place for place, text in enumerate(self.shown)}
        places |= dict.fromkeys(self.rare, len(self.shown))
        codes, distinct = as_codes(values)
        missing = places[self.frequent]  # has the code -1, and so the last place
        chosen = np.array([*(places.get(text, -1) for text in distinct), missing])[codes]
        known = np.flatnonzero(chosen >= 0)
        out[:] = 0
        out[known, chosen[known]] = 1

    def count_unseen(self, values: Any) -> int:
        """Return the number of rows whose value was not there when this was made."""
        known = {*self.shown, *self.rare}
        return sum(count for text, count in counted(values).items() if text not in known)


def is_number(values: Any) -> bool:
    """Say whether a column holds numbers; booleans are categories."""
    pandas = require("pandas", "cli")
    types = pandas.api.types
    return bool(types.is_numeric_dtype(values) and not types.is_bool_dtype(values))


def missing_in(values: Any) -> NDArray[np.bool_]:
    """Say which values are missing; an infinite number is no value either."""
    missing = values.isna().to_numpy()
    if is_number(values):
        missing = missing | np.isinf(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(missing)


def numbers_of(table: Any) -> NDArray[np.int64]:
    """Return the numbers of the rows: an index of whole numbers, or else their positions."""
    index = np.asarray(table.index)
    return index.astype(np.int64) if index.dtype.kind in "iu" else np.arange(len(table))


def as_floats(values: Any) -> NDArray[np.float64]:
    """Return a column of numbers as floats of its own, or say which row has none."""
    pandas = require("pandas", "cli")
    if not is_number(values):
        numbers = pandas.to_numeric(values.astype("str"), errors="coerce")
        wrong = numbers.isna() & values.notna() & (values.astype("str").str.lower() != "nan")
        if wrong.any():
            row = int(np.flatnonzero(wrong.to_numpy())[0])
            raise InvalidInputError(
                f"Column {values.name!r} should hold numbers, but row {numbers_of(values)[row] + 1}"
                f" has {str(values.iloc[row])!r}."
            )
        values = numbers
    floats = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
    floats[np.isinf(floats)] = np.nan
    return floats


def as_codes(values: Any) -> tuple[NDArray[Any], list[str]]:
    """Return which of its distinct texts each value is, -1 where it is missing, and the texts."""
    pandas = require("pandas", "cli")
    if not isinstance(values.dtype, pandas.CategoricalDtype):
        values = values.astype("str").where(values.notna()).astype("category")
    return values.cat.codes.to_numpy(), [str(text) for text in values.cat.categories]


def counted(values: Any) -> Counter[str]:
    """Return how often each text occurs."""
    codes, distinct = as_codes(values)
    counts: Counter[str] = Counter()
    for text, count in zip(distinct, np.bincount(codes[codes >= 0]).tolist(), strict=False):
        if count:
            counts[text] += count
    return counts
