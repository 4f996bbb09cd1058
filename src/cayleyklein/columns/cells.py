"""Cells as people write them: numbers with marks and units, dates, and words.

A `CellFormat` is found for a whole column and kept for later tables: a cell that does not fit it is
missing or an error, never another number. A missing cell is NaN here; `Column.encode` fills it.
"""

import re
import shlex
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError

PLACEHOLDER = re.compile(  # words for a missing value
    r"unknown|unk|n\.?/?a\.?|none|null|nil|nan|-?inf|missing|undefined|unspecified|tbd|tba|error"
    r"|[-–—.?*]+|#(value|ref|div/0|num)!|#name\?|#n/a|no data|keine angabe|k\.a\."
    r"|not (available|applicable|known|recorded|given)",
    re.IGNORECASE,
)
# Dashes are missing in a column of words too, unless it has a plus or only one other word.
DASHES = ("-", "–", "—")
# Typographic spaces, minus signs and apostrophe.
PLAIN_MARKS = str.maketrans("\u00a0\u2007\u2009\u202f\u2212\u2012\u2013\u2019", "    ---'")
CURRENCY = (
    r"[A-Z]{0,2}[$€£¥₹₽₩₺₴₫₦฿¢]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL"
    r"|MXN|ZAR|RUB|KRW|TRY"
)
DIGITS = {  # by decimal mark; groups are of three, or in India of two and then three
    ".": r"(?:\d+|[1-9]\d{0,2}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*|[1-9]\d?(?:,\d\d)+,\d{3})"
    r"(?:\.\d*)?|\.\d+",
    ",": r"(?:\d+|[1-9]\d{0,2}(?P<group>[. '])\d{3}(?:(?P=group)\d{3})*)(?:,\d*)?|,\d+",
}
NUMBERS = {
    mark: re.compile(
        rf"(?:(?P<limit>[<>≤≥]=?) ?)?"
        rf"(?P<sign>[-+]?) ?(?P<before>{CURRENCY})? ?(?P<inner>[-+]?)(?P<digits>{digits})"
        rf"(?P<power>[eE][-+]?\d+)? ?(?P<after>%|{CURRENCY}|[^\W\d_°][\w/]{{0,4}}[²³]?|°[CF]?)?"
    )
    for mark, digits in DIGITS.items()
}
OTHER = {".": ",", ",": "."}  # the other decimal mark
DATES = {  # formats that pandas does not guess
    r"(19|20)\d{6}": "%Y%m%d",
    r"\d?\d/\d?\d/\d\d": "%m/%d/%y",
    r"\d?\d\.\d?\d\.\d\d": "%d.%m.%y",
    r"\d?\d-\d?\d-\d\d": "%m-%d-%y",
    r"[A-Za-z]{3} \d{4}": "%b %Y",
    r"\d?\d:\d\d": "%H:%M",
    r"\d?\d:\d\d:\d\d": "%H:%M:%S",
}
DAY_AND_MONTH = str.maketrans("md", "dm")  # exchanges day and month in a format
DAY = 86_400_000_000  # microseconds
OFFSET = re.compile(r"(:\d\d(?:\.\d+)?) ?(?:Z|[-+]\d\d(?::?\d\d)?)\Z")  # of a zone, after a time
# Cells of text that are missing in any column.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")


@dataclass(frozen=True)
class CellFormat:
    """How the cells of one column are written."""

    kind: str = "words"  # or "number", or "date"
    decimal: str = "."  # or ","
    unit: str = ""  # "%", a currency or a unit next to the numbers
    date: str = ""  # formats of `strptime` or "ISO8601", with | between them
    bare: bool = True  # whether the unit may be left out; not where all numbers were percentages
    grouped: bool = False  # whether the other mark groups thousands; else 1,234 may be 1.234
    absent: tuple[str, ...] = ()  # cells that are neither number nor date, and missing
    guess: str = ""  # what could be meant otherwise, for a warning

    def floats(self, values: Any) -> Floats:
        """Return numbers, or days since 1970, NaN where missing; raise for any other cell."""
        values = as_series(values)
        if self.bare and self.kind == kind_of_type(values):
            floats = in_days(values)
        else:
            words = as_words(values)
            floats = self._parsed(words)
            wrong = np.isnan(floats) & (words.notna() & ~words.isin(self.absent)).to_numpy()
            for row in np.flatnonzero(wrong).tolist():
                if not PLACEHOLDER.fullmatch(words.iloc[row]):
                    self._refuse(values, row)
        floats[np.isinf(floats)] = np.nan
        return np.asarray(floats)

    def _parsed(self, words: Any) -> Floats:
        if self.kind == "date":
            return parsed_dates(words, self.date)
        plain = plain_floats(words) if self.decimal == "." and not self.unit else None
        if plain is not None:
            return plain
        codes, distinct = require("pandas", "cli").factorize(words)
        units, floats = ("", self.unit) if self.bare else (self.unit,), []
        for number in (parse_number(text, self.decimal) for text in distinct):
            fits = number and number.unit in units and (self.grouped or not number.grouped)
            floats.append(number.value if number and fits else np.nan)
        return np.asarray(np.array([*floats, np.nan])[codes])  # a missing cell has the code -1

    def _refuse(self, values: Any, row: int) -> None:
        index, cell = values.index[row], str(values.iloc[row])
        number = (int(index) if isinstance(index, int | np.integer) else row) + 1  # from 1
        dates = self.date.replace("|", " or ")
        expected = f"a date like {dates}" if self.kind == "date" else "a number"
        found = parse_number(cell, self.decimal) if self.kind == "number" else None
        if self.kind == "number" and found is None and parse_number(cell, OTHER[self.decimal]):
            expected += f" with a decimal {'point' if self.decimal == '.' else 'comma'}"
        elif found and found.grouped and not self.grouped:
            expected += " without thousands separators"
        elif not self.bare:
            expected += f" in {self.unit}"
        remedy = "correct the cell, or leave it empty if it is missing."
        other = self.date.translate(DAY_AND_MONTH)
        if other != self.date and not np.isnan(parsed_dates(as_words(values), other)[row]):
            said = shlex.quote(f"{values.name}=date:{other}")
            remedy = f"if that is how dates are written, fit again with --as {said} "
            remedy += f"(kinds={{{values.name!r}: 'date:{other}'}} in Python)."
        given = f"Column {values.name!r} should hold {expected}, but row {number} has"
        raise InvalidInputError(f"{given} {cell[:40]!r}; {remedy}")


def kind_of_type(values: Any) -> str:
    types = require("pandas", "cli").api.types
    if types.is_datetime64_any_dtype(values):
        return "date"
    numeric = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    return "number" if numeric or values.dtype.kind == "m" else "words"


def as_series(values: Any) -> Any:
    pandas = require("pandas", "cli")
    if isinstance(values.dtype, pandas.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if values.dtype.kind == "c":
        said = "holds complex numbers; give each part as a column."
        raise InvalidInputError(f"Column {values.name!r} {said}")
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
            given = f"Column {values.name!r} holds a {type(value).__name__} in a cell"
            raise InvalidInputError(f"{given}, neither a number nor text.")
    return values


def without_blanks(values: Any) -> Any:
    """Trim text cells; blank ones, and words such as NA, are missing."""
    pandas = require("pandas", "cli")
    if isinstance(values.dtype, pandas.CategoricalDtype):
        names = values.cat.categories
        kept = [name for name in names if str(name).strip() not in MISSING]
        return values if len(kept) == len(names) else values.cat.set_categories(kept)
    if isinstance(values.dtype, pandas.StringDtype):
        values = values.str.strip()
        return values.mask(values.isin(MISSING))
    if values.dtype != object:
        return values
    trimmed = [value.strip() if isinstance(value, str) else value for value in values]
    kept = [None if isinstance(value, str) and value in MISSING else value for value in trimmed]
    return pandas.Series(kept, values.index, dtype=object, name=values.name)


def as_words(values: Any) -> Any:
    """Return a column as text; a whole number has no decimals."""
    values = as_series(values)
    words = values.astype("str")
    if kind_of_type(values) == "number" and values.dtype.kind == "f":
        words[:] = [repr(value).removesuffix(".0") for value in values.tolist()]
    return words.where(values.notna())


class Number(NamedTuple):
    value: float
    unit: str
    grouped: bool  # whether the other decimal mark groups its thousands
    limited: bool  # whether it is only a bound, as in <4


def parse_number(text: str, decimal: str = ".") -> Number | None:
    text = text.translate(PLAIN_MARKS).strip()
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found = NUMBERS[decimal].fullmatch(inner)
    if found is None or (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    digits = re.sub(rf"[ '{OTHER[decimal]}]", "", found["digits"]).replace(decimal, ".")
    value = float(digits + (found["power"] or ""))
    unit = found["before"] or found["after"] or ""
    if unit == "%":
        value /= 100
    negative = "-" in (found["sign"], found["inner"]) or inner is not text
    grouped, limited = OTHER[decimal] in found["digits"], found["limit"] is not None
    return Number(-value if negative else value, unit, grouped, limited)


def plain_floats(words: Any) -> Floats | None:
    arrow = require("pyarrow", "cli")
    try:
        cells = arrow.array(words, arrow.string(), from_pandas=True).cast(arrow.float64())
    except arrow.ArrowInvalid:
        return None
    return np.array(cells.to_numpy(zero_copy_only=False))


def in_days(values: Any) -> Floats:
    """Return the days of timestamps since 1970 by the local clock, of durations, or numbers."""
    if values.dtype.kind not in "mM":
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True))
    if isinstance(values.dtype, require("pandas", "cli").DatetimeTZDtype):
        values = values.dt.tz_localize(None)
    floats = values.to_numpy().astype(f"{values.dtype.kind}8[us]").astype(np.int64) / DAY
    floats[values.isna().to_numpy()] = np.nan
    return np.asarray(floats)


def timestamps(days: Floats) -> Any:
    return require("pandas", "cli").to_datetime(np.rint(days * DAY), unit="us").as_unit("us")


def parsed_dates(words: Any, date: str) -> Floats:
    """Return text cells of a format as days since 1970, or parts of a day; NaN for other cells.

    Days and times are those that are written, whatever the zone.
    """
    pandas, days = require("pandas", "cli"), np.full(len(words), np.nan)
    words = pandas.Series(words, dtype="str").str.replace(OFFSET, r"\1", regex=True)
    for one in date.split("|"):
        stamps = pandas.to_datetime(words, format=one.replace("%z", "").strip(), errors="coerce")
        found = in_days(stamps)
        found = found if re.search("%[Yy]|ISO", one) else found % 1
        days = np.where(np.isnan(days), found, days)
    return days


def guessed_date(text: str) -> str | None:
    text = OFFSET.sub(r"\1", text)
    known = next((date for pattern, date in DATES.items() if re.fullmatch(pattern, text)), None)
    if known:
        return known
    if sum(map(str.isdigit, text)) < 3:
        return None
    with warnings.catch_warnings():  # of days that come first
        warnings.simplefilter("ignore")
        found = require("pandas.tseries.api", "cli").guess_datetime_format(text)
    return found if found and re.search("%[YyH]", found) else None
