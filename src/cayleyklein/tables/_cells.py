"""The cells of one column, read in the format that was found for all of them.

The format is kept for the rows of a later table: a cell that does not fit it is missing or an
error, never another number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._dates import in_days, parsed_dates
from cayleyklein.tables._numbers import OTHER, Number, parse_number, plain_floats

__all__ = ["PLACEHOLDER", "CellFormat", "as_series", "as_words", "is_numeric", "is_timestamp"]

Floats = NDArray[np.float64]

PLACEHOLDER = re.compile(
    r"unknown|unk|n\.?/?a\.?|none|null|nil|nan|-?inf|missing|undefined|unspecified|tbd|tba|error"
    r"|[-–—.?*]+|#(value|ref|div/0|num)!|#name\?|#n/a|no data|keine angabe|k\.a\."
    r"|not (available|applicable|known|recorded|given)",
    re.IGNORECASE,
)
"""Words for a missing value."""


@dataclass(frozen=True)
class CellFormat:
    """How the cells of one column are written.

    Attributes
    ----------
    kind : {"number", "date", "words"}
    decimal : {".", ","}
        The decimal mark.
    unit : str
        "%", a currency or a unit that stands beside the numbers.
    bare : bool
        Whether the unit may be left out; not where each number was a percentage.
    grouped : bool
        Whether the other decimal mark groups thousands; where it did not, 1,234 may be 1.234.
    date : str
        A format of `strptime`, or "ISO8601".
    absent : tuple of str
        Cells that are neither number nor date, and missing.
    guess : str
        What could be meant otherwise, for a warning.
    """

    kind: str = "words"
    decimal: str = "."
    unit: str = ""
    date: str = ""
    bare: bool = True
    grouped: bool = False
    absent: tuple[str, ...] = ()
    guess: str = ""

    def floats(self, values: Any) -> Floats:
        """Return numbers, or days since 1970; NaN where missing.

        Raises
        ------
        InvalidInputError
            For a cell that is neither, with its row, counted from 1.
        """
        values = as_series(values)
        if self.kind == "number" and self.bare and is_numeric(values):
            floats = values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        elif is_timestamp(values) if self.kind == "date" else values.dtype.kind == "m":
            floats = in_days(values)
        else:
            words = as_words(values)
            floats = self._parsed(words)
            wrong = np.isnan(floats) & words.notna().to_numpy()
            wrong &= ~words.isin(self.absent).to_numpy()
            for row in np.flatnonzero(wrong).tolist():
                if not PLACEHOLDER.fullmatch(words.iloc[row]):
                    self._refuse(values, row)
        floats[np.isinf(floats)] = np.nan
        return np.asarray(floats)

    def _parsed(self, words: Any) -> Floats:
        """Parse text cells; NaN where that fails."""
        if self.kind == "date":
            return parsed_dates(words, self.date)
        if self.decimal == "." and not self.unit:
            plain = plain_floats(words)
            if plain is not None:
                return plain
        codes, distinct = require("pandas", "cli").factorize(words)
        parsed = [parse_number(text, self.decimal) for text in distinct]
        floats = [p.value if p and self._takes(p) else np.nan for p in parsed]
        return np.asarray(np.array([*floats, np.nan])[codes])  # a missing cell has the code -1

    def _takes(self, number: Number) -> bool:
        """Say whether a number is written as the fitted ones were."""
        unit = number.unit == self.unit or (self.bare and not number.unit)
        return unit and (self.grouped or not number.grouped)

    def _refuse(self, values: Any, row: int) -> None:
        index, cell = values.index[row], str(values.iloc[row])
        number = (int(index) if isinstance(index, int | np.integer) else row) + 1
        expected = f"a date like {self.date}" if self.kind == "date" else "a number"
        found = parse_number(cell, self.decimal) if self.kind == "number" else None
        if self.kind == "number" and found is None and parse_number(cell, OTHER[self.decimal]):
            expected += f" with a decimal {'point' if self.decimal == '.' else 'comma'}"
        elif found and found.grouped and not self.grouped:
            expected += " without thousands separators"
        elif not self.bare:
            expected += f" in {self.unit}"
        raise InvalidInputError(
            f"Column {values.name!r} should hold {expected}, but row {number} has "
            f"{cell[:40]!r}; correct the cell, or leave it empty if it is missing."
        )


def is_numeric(values: Any) -> bool:
    """Say whether a column has a type of numbers; booleans are words."""
    types = require("pandas", "cli").api.types
    return bool(types.is_numeric_dtype(values) and not types.is_bool_dtype(values))


def is_timestamp(values: Any) -> bool:
    """Say whether a column has a type of timestamps, with or without a time zone."""
    return bool(require("pandas", "cli").api.types.is_datetime64_any_dtype(values))


def as_series(values: Any) -> Any:
    """Return a column as numbers, timestamps, booleans or text, whatever type held them."""
    pandas = require("pandas", "cli")
    if isinstance(values.dtype, pandas.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if values.dtype.kind == "c":
        raise InvalidInputError(
            f"Column {values.name!r} holds complex numbers; give its parts as columns of their own."
        )
    if values.dtype != object:
        return values
    values = values.infer_objects()
    kind = pandas.api.types.infer_dtype(values, skipna=True)
    if kind in ("date", "datetime", "datetime64"):
        return pandas.to_datetime(values)
    if kind in ("decimal", "integer", "floating", "mixed-integer-float"):
        return pandas.to_numeric(values)
    for value in values:
        if isinstance(value, list | dict | set | tuple | np.ndarray):
            raise InvalidInputError(
                f"Column {values.name!r} holds a {type(value).__name__} in a cell, which is "
                f"neither a number nor text."
            )
    return values


def as_words(values: Any) -> Any:
    """Return a column as text; a whole number has no decimals."""
    values = as_series(values)
    if is_numeric(values) and values.dtype.kind == "f":
        texts = [repr(value).removesuffix(".0") for value in values.tolist()]
        return (
            require("pandas", "cli").Series(texts, values.index, dtype="str").where(values.notna())
        )
    return values.astype("str").where(values.notna())
