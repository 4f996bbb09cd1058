"""Numbers and dates in the cells of one column, as people write them.

A column is numbers or dates if nine tenths of its cells are, or the others are words for a missing
value. One format is chosen for the whole column, and kept for the rows of a later table: a cell
that does not fit it is missing or an error, never another number.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError

__all__ = ["CellFormat", "Found", "as_series", "as_timestamps", "as_words", "find_format"]

Floats = NDArray[np.float64]

ENOUGH = 0.9
"""Share of numbers, or dates, from which the other cells are taken as missing."""

ENOUGH_BESIDE_PLACEHOLDERS = 0.5

PLACEHOLDER = re.compile(
    r"unknown|unk|n\.?/?a\.?|none|null|nil|nan|-?inf|missing|undefined|unspecified|tbd|tba|error"
    r"|[-–—.?*]+|#(value|ref|div/0|num)!|#name\?|#n/a|no data|keine angabe|k\.a\."
    r"|not (available|applicable|known|recorded|given)",
    re.IGNORECASE,
)
"""Words for a missing value."""

PLAIN = {
    **{ord(space): " " for space in "\u00a0\u2007\u2009\u202f"},
    **{ord(dash): "-" for dash in "\u2212\u2012\u2013"},
    ord("\u2019"): "'",
}
"""What typographers write for a space, a minus and an apostrophe."""

CURRENCY = (
    r"[A-Z]{0,2}[$€£¥₹₽₩₺₴₫₦฿¢]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL"
    r"|MXN|ZAR|RUB|KRW|TRY"
)
DIGITS = {
    ".": r"(?:\d+|[1-9]\d{0,2}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*|[1-9]\d?(?:,\d\d)+,\d{3})"
    r"(?:\.\d*)?|\.\d+",
    ",": r"(?:\d+|[1-9]\d{0,2}(?P<group>[. '])\d{3}(?:(?P=group)\d{3})*)(?:,\d*)?|,\d+",
}
"""Digits by decimal mark. Groups are of three, or in India of two and then three."""

NUMBERS = {
    mark: re.compile(
        rf"(?P<sign>[-+]?) ?(?P<before>{CURRENCY})? ?(?P<inner>[-+]?)(?P<digits>{digits})"
        rf"(?P<power>[eE][-+]?\d+)? ?(?P<after>%|{CURRENCY}|[^\W\d_°][\w/]{{0,4}}[²³]?|°[CF]?)?"
    )
    for mark, digits in DIGITS.items()
}
OTHER = {".": ",", ",": "."}
DATES = {
    r"(19|20)\d{6}": "%Y%m%d",
    r"\d?\d/\d?\d/\d\d": "%m/%d/%y",
    r"\d?\d\.\d?\d\.\d\d": "%d.%m.%y",
    r"\d?\d-\d?\d-\d\d": "%m-%d-%y",
    r"[A-Za-z]{3} \d{4}": "%b %Y",
    r"\d?\d:\d\d": "%H:%M",
    r"\d?\d:\d\d:\d\d": "%H:%M:%S",
}
"""Formats that pandas does not guess."""

WHOLE_WITH_POINTS = r"^[-+]?(\d+|[1-9]\d{0,2}(\.\d{3})+)$"
"""Numbers with a point that may group thousands."""

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True)
class CellFormat:
    """How the cells of one column are written.

    Attributes
    ----------
    kind : {"number", "date", "words"}
    decimal : {".", ","}
        The decimal mark; the other one groups thousands.
    unit : str
        "%", a currency or a unit that stands beside the numbers.
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
        if is_numeric(values):
            floats = values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        elif values.dtype.kind == "m" or is_timestamp(values):
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
        floats = [p[0] if p and p[1] in ("", self.unit) else np.nan for p in parsed]
        return np.asarray(np.array([*floats, np.nan])[codes])  # a missing cell has the code -1

    def _refuse(self, values: Any, row: int) -> None:
        index = values.index[row]
        number = (int(index) if isinstance(index, int | np.integer) else row) + 1
        expected = f"a date like {self.date}" if self.kind == "date" else "a number"
        if self.kind == "number" and parse_number(str(values.iloc[row]), OTHER[self.decimal]):
            expected += f" with a decimal {'point' if self.decimal == '.' else 'comma'}"
        raise InvalidInputError(
            f"Column {values.name!r} should hold {expected}, but row {number} has "
            f"{str(values.iloc[row])[:40]!r}; correct the cell, or leave it empty if it is missing."
        )


# -- columns of any type -----------------------------------------------------------------


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


def in_days(values: Any) -> Floats:
    """Return the days of timestamps since 1970 in UTC, or the days of durations."""
    pandas = require("pandas", "cli")
    if isinstance(values.dtype, pandas.DatetimeTZDtype):
        values = values.dt.tz_convert(None)
    floats = values.to_numpy().astype(f"{values.dtype.kind}8[us]").astype(np.int64) / DAY
    floats[values.isna().to_numpy()] = np.nan
    return np.asarray(floats)


def as_timestamps(days: Floats) -> NDArray[np.datetime64]:
    """Return days since 1970 as timestamps, to the microsecond."""
    missing = np.isnan(days)
    stamps = np.rint(np.where(missing, 0, days) * DAY).astype(np.int64).astype("M8[us]")
    stamps[missing] = np.datetime64("NaT")
    return np.asarray(stamps)


# -- numbers -----------------------------------------------------------------------------


def parse_number(text: str, decimal: str = ".") -> tuple[float, str] | None:
    """Return a number and its unit, or None for any other text.

    >>> parse_number("51,234.10"), parse_number("1.250,5 €", ","), parse_number("(12%)")
    ((51234.1, ''), (1250.5, '€'), (-0.12, '%'))
    >>> parse_number("1,5"), parse_number("12-13")
    (None, None)
    """
    text = text.translate(PLAIN).strip()
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found = NUMBERS[decimal].fullmatch(inner)
    if found is None or (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    digits = found["digits"]
    if found["group"]:
        digits = digits.replace(found["group"], "")
    elif decimal == "." and "," in digits:
        digits = digits.replace(",", "")
    value = float(digits.replace(decimal, ".") + (found["power"] or ""))
    unit = found["before"] or found["after"] or ""
    if unit == "%":
        value /= 100
    negative = "-" in (found["sign"], found["inner"]) or inner is not text
    return (-value if negative else value), unit


def plain_floats(words: Any) -> Floats | None:
    """Return text cells as floats if each is one as Python writes it, or None."""
    arrow, compute = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    try:
        cells = compute.cast(arrow.array(words, arrow.string(), from_pandas=True), arrow.float64())
    except arrow.ArrowInvalid:
        return None
    return np.array(cells.to_numpy(zero_copy_only=False))


def number_formats(counts: Any) -> dict[str, tuple[CellFormat, float]]:
    """Return, by decimal mark, the format of distinct texts and the share of cells that fit it.

    Digits of one length with leading zeros are a code, such as 00501, and no number.
    """
    texts = counts.index
    if (
        texts.str.fullmatch(r"0\d{3,}").any()
        and texts.str.fullmatch(rf"\d{{{len(texts[0])}}}").all()
    ):
        return {".": (CellFormat(), 0.0)}
    if plain_floats(counts.index) is not None:
        formats = {".": (CellFormat("number"), 1.0)}
        if counts.index.str.fullmatch(WHOLE_WITH_POINTS).all():
            formats[","] = (CellFormat("number", ","), 1.0)
        return formats
    return {mark: number_format(counts, mark) for mark in NUMBERS}


def number_format(counts: Any, decimal: str) -> tuple[CellFormat, float]:
    """Return the format of distinct texts with a decimal mark, and the share that fits it."""
    texts, weights = list(counts.index), counts.to_numpy()
    parsed = [parse_number(text, decimal) for text in texts]
    units: Counter[str] = Counter()
    for found, weight in zip(parsed, weights, strict=True):
        if found:
            units[found[1]] += int(weight)
    unit = next((unit for unit, _ in units.most_common() if unit), "")
    if units[""] and unit != "%" and not re.fullmatch(CURRENCY, unit):
        unit = ""  # "12" beside "12b": no unit of measure
    fits = np.array([found is not None and found[1] in ("", unit) for found in parsed])
    share = float(weights[fits].sum() / weights.sum())
    absent = tuple(text for text, fit in zip(texts, fits, strict=True) if not fit)
    return CellFormat("number", decimal, unit, absent=absent), share


# -- dates -------------------------------------------------------------------------------


def parsed_dates(words: Any, date: str) -> Floats:
    """Return text cells as days since 1970, or as parts of a day where they have no date.

    NaN where they do not have the format.
    """
    pandas = require("pandas", "cli")
    zoned = date == "ISO8601" or "%z" in date
    stamps = pandas.to_datetime(words, format=date, errors="coerce", utc=zoned)
    days = in_days(pandas.Series(stamps))
    return days if re.search("%[Yy]|ISO", date) else days % 1


def guessed_date(text: str) -> str | None:
    """Return the format of a date, or None for a text without year or hour."""
    for pattern, date in DATES.items():
        if re.fullmatch(pattern, text):
            return date
    if sum(map(str.isdigit, text)) < 3:
        return None
    with warnings.catch_warnings():  # of days that come first
        warnings.simplefilter("ignore")
        found = require("pandas.tseries.api", "cli").guess_datetime_format(text)
    return found if found and re.search("%[YyH]", found) else None


def date_format(counts: Any) -> tuple[CellFormat, float]:
    """Return the date format of distinct texts with their counts, and the share that fits it."""
    texts, weights = list(counts.index), counts.to_numpy()
    formats = Counter(filter(None, map(guessed_date, texts[:50])))
    for date in list(formats):  # 03/04/2024 has two
        if date.startswith(("%m", "%d")):
            formats[date.translate(str.maketrans("md", "dm"))] += 0
    tried = []
    for date, _ in formats.most_common(6):
        date = "ISO8601" if date.startswith("%Y-%m-%d") else date
        days = parsed_dates(counts.index, date)
        tried.append((float(weights[~np.isnan(days)].sum() / weights.sum()), date, days))
    if not tried:
        return CellFormat(), 0.0
    # Of equally good formats, the day comes before the month only where points part them.
    share, date, days = max(
        tried, key=lambda one: (one[0], one[1].startswith("%d") == ("." in one[1]))
    )
    others = [
        other
        for part, other, given in tried
        if part == share and not np.array_equal(given, days, equal_nan=True)
    ]
    said = f"its dates are read as {date}, but could be {others[0]}" if others else ""
    absent = tuple(text for text, day in zip(texts, days, strict=True) if np.isnan(day))
    return CellFormat("date", date=date, absent=absent, guess=said), share


# -- which of them -----------------------------------------------------------------------


class Found(NamedTuple):
    """The format of a column, and the one with a decimal comma where both fit."""

    cells: CellFormat
    with_comma: CellFormat | None = None
    marked: bool = False


def find_format(values: Any, kind: str = "") -> Found:
    """Return how the cells of a column are written.

    Parameters
    ----------
    values : Series
    kind : {"", "number", "date", "category", "text"}
        What the column is said to be, "date" also with a format as in "date:%d/%m/%Y".
    """
    kind, _, given = kind.partition(":")
    values = as_series(values)
    if kind in ("category", "text") or values.dtype.kind == "b":
        return Found(CellFormat())
    if is_numeric(values) or values.dtype.kind == "m":
        return Found(CellFormat("number"))
    if is_timestamp(values):
        return Found(CellFormat("date"))
    counts = as_words(values).value_counts()
    found = _find(counts, kind, given) if len(counts) else Found(CellFormat())
    cells = found.cells
    if kind and (cells.kind == "words" or len(cells.absent) == len(counts)):
        example = f", such as {counts.index[0]!r}" if len(counts) else ""
        raise InvalidInputError(
            f"Column {values.name!r} was said to be a {kind}, but none of its cells is{example}."
        )
    return found


def _find(counts: Any, kind: str, given: str) -> Found:
    if given:
        absent = tuple(counts.index[np.isnan(parsed_dates(counts.index, given))])
        return Found(CellFormat("date", date=given, absent=absent))
    if kind == "date":
        return Found(date_format(counts)[0])
    if not kind and counts.index.str.fullmatch(r"(19|20)\d{6}").all():
        cells, share = date_format(counts)
        if share >= ENOUGH:
            return Found(cells)
    formats = number_formats(counts)
    best = max(formats, key=lambda mark: formats[mark][1])  # the point, of equals
    cells, share = formats[best]
    if kind or _is_enough(cells, share):
        comma, equal = formats.get(",", (cells, 0.0))
        marked = bool(counts.index.str.contains("[.,]").any())
        return Found(cells, comma if equal == share and best == "." and marked else None, marked)
    cells, share = date_format(counts)
    return Found(cells if _is_enough(cells, share) else CellFormat())


def _is_enough(cells: CellFormat, share: float) -> bool:
    """Say whether a column is numbers, or dates, though some of its cells are not."""
    only_words = all(map(PLACEHOLDER.fullmatch, cells.absent))
    return share >= (ENOUGH_BESIDE_PLACEHOLDERS if only_words else ENOUGH)
