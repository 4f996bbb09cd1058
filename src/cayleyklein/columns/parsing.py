"""Cells as people write them: numbers with marks and units, dates, and words.

A `CellFormat` is found for a whole column and kept for later tables: a cell that does not fit it
cannot be read, and is never another number. Missing and unreadable cells are NaN here.
"""

import functools
import re
import shlex
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats
from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError

PLACEHOLDER = re.compile(  # words for a missing value
    r"unknown|unk|n\.?/?a\.?|none|null|nil|nan|missing|undefined|unspecified|tbd|tba|error"
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
DAY = 86_400_000_000  # microseconds
OFFSET = re.compile(r"(:\d\d(?:\.\d+)?) ?(Z|[-+]\d\d(?::?\d\d)?)\Z")  # of a zone, after a time
HALF_DAY = re.compile(r"(\d) ?([AaPp])\.?[Mm]\.?\Z")  # am or pm, after a time
NUMBERED = {  # dates as numbers: days of one, and the day, counted from 1970, of 0
    "excel": (1.0, -25569.0),
    "days": (1.0, 0.0),
    "unix": (1 / 86_400, 0.0),
    "unix-ms": (1 / 86_400_000, 0.0),
    "unix-us": (1 / 86_400_000_000, 0.0),
}
# Units that are converted to one another, if a column has several of one kind.
UNITS = {
    "mg": ("mass", 1e-3),
    "g": ("mass", 1.0),
    "kg": ("mass", 1e3),
    "mm": ("length", 1),
    "cm": ("length", 10),
    "m": ("length", 1e3),
    "km": ("length", 1e6),
    "ml": ("volume", 1),
    "mL": ("volume", 1),
    "cl": ("volume", 10),
    "l": ("volume", 1e3),
    "L": ("volume", 1e3),
    "ms": ("time", 1e-3),
    "s": ("time", 1),
    "min": ("time", 60),
    "h": ("time", 3600),
    "kB": ("bytes", 1),
    "KB": ("bytes", 1),
    "MB": ("bytes", 1e3),
    "GB": ("bytes", 1e6),
    "TB": ("bytes", 1e9),
    "oz": ("weight", 1),
    "lb": ("weight", 16),
    "lbs": ("weight", 16),
}
# Cells of text that are missing in any column.
INFINITE = ("inf", "infinity")
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
    utc: bool = False  # whether times have offsets of several zones, and are those of UTC
    guess: str = ""  # what could be meant otherwise, for a warning

    def read(self, values: Any) -> tuple[Floats, Bools]:
        """Return numbers, or days since 1970, and which cells cannot be read; NaN for others.

        Infinite numbers cannot be read, unless the fitted column has them.
        """
        values = as_series(values)
        if self.bare and self.kind == kind_of_type(values):
            floats, odd = in_days(values), np.zeros(len(values), dtype=bool)
            infinite = np.isinf(floats)
            known = infinite.any() and as_words(values).isin(self.absent).to_numpy()
        else:
            words = as_words(values)
            known = words.isin(self.absent).to_numpy()
            floats = self.parsed(words)
            infinite = np.isinf(floats)
            odd = np.isnan(floats) & words.notna().to_numpy() & ~known
            for row in np.flatnonzero(odd).tolist():
                odd[row] = not PLACEHOLDER.fullmatch(words.iloc[row])
        floats[infinite] = np.nan
        return np.asarray(floats), np.asarray(odd | (infinite & ~known))

    def floats(self, values: Any) -> Floats:
        """Return numbers, or days since 1970, NaN where missing or not readable."""
        return self.read(values)[0]

    def parsed(self, words: Any) -> Floats:
        if self.kind == "date":
            return parsed_dates(words, self.date, self.utc)
        plain = plain_floats(words) if self.decimal == "." and not self.unit else None
        if plain is not None:
            return plain
        codes, distinct = require("pandas", "cli").factorize(words)
        floats = [self._parsed_number(text) for text in distinct]
        return np.asarray(np.array([*floats, np.nan])[codes])  # a missing cell has the code -1

    def _parsed_number(self, text: str) -> float:
        found = parse_number(text, self.decimal)
        if found is None or (found.grouped and not self.grouped):
            return np.nan
        if found.unit == self.unit or (self.bare and not found.unit):
            return found.value
        return found.value * unit_ratio(found.unit, self.unit)

    def written(self, value: float) -> str:
        """Write a number, or days since 1970, as the cells are written."""
        if self.kind != "date":
            text = repr(value * 100 if self.unit == "%" else value).removesuffix(".0")
            return f"{text.replace('.', self.decimal)} {self.unit}".strip()
        date = self.date.split("|")[0]
        if date in NUMBERED:
            size, start = NUMBERED[date]
            return repr((value - start) / size).removesuffix(".0")
        moment = timestamps(np.array([value]))[0]
        iso = date == "ISO8601"
        return str(moment.isoformat() if iso else moment.strftime(date.replace("%z", "+0000")))

    def expected(self, cell: str) -> str:
        """Say what a cell that cannot be read should be."""
        if self.kind == "date":
            return f"a date like {self.date.replace('|', ' or ')}"
        found = parse_number(cell, self.decimal)
        if found is None and parse_number(cell, other_mark(self.decimal)):
            return f"a number with a decimal {'point' if self.decimal == '.' else 'comma'}"
        if found and found.grouped and not self.grouped:
            return "a number without thousands separators"
        if not self.bare:
            return f"a number in {self.unit}"
        return "a number" if cell.lower().strip("+-") not in INFINITE else "a finite number"

    def remedy(self, name: str, cell: str) -> str:
        """Say how to read a date whose day and month are exchanged; empty for other cells."""
        other = exchanged(self.date)
        if other == self.date or np.isnan(parsed_dates([cell], other)[0]):
            return ""
        said = shlex.quote(f"{name}=date:{other}")
        python = f"kinds={{{name!r}: 'date:{other}'}} in Python"
        return f"if that is how dates are written, fit again with --as {said} ({python})."


def exchanged(date: str) -> str:
    """Exchange day and month in a format, if it has both."""
    both = "%m" in date and "%d" in date
    return date.translate(str.maketrans("md", "dm")) if both else date


def unit_ratio(unit: str, other: str) -> float:
    """Return how many of the other unit one is; NaN if they do not measure the same."""
    (kind, size), (other_kind, other_size) = (UNITS.get(one, ("", 1.0)) for one in (unit, other))
    return size / other_size if kind and kind == other_kind else np.nan


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
        try:
            return pandas.to_datetime(values)
        except ValueError:  # of several zones
            return pandas.to_datetime(values, utc=True)
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


def other_mark(decimal: str) -> str:
    """Return the decimal mark that is not this one: it may group thousands."""
    return "," if decimal == "." else "."


@functools.cache
def number_pattern(decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number with its limit, sign, currency or unit."""
    # Groups are of three digits, or in India of two and then three.
    digits = (
        r"(?:\d+|[1-9]\d{0,2}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*|[1-9]\d?(?:,\d\d)+,\d{3})"
        r"(?:\.\d*)?|\.\d+"
    )
    if decimal == ",":
        digits = r"(?:\d+|[1-9]\d{0,2}(?P<group>[. '])\d{3}(?:(?P=group)\d{3})*)(?:,\d*)?|,\d+"
    return re.compile(
        rf"(?:(?P<limit>[<>≤≥]=?) ?)?"
        rf"(?P<sign>[-+]?) ?(?P<before>{CURRENCY})? ?(?P<inner>[-+]?)(?P<digits>{digits})"
        rf"(?P<power>[eE][-+]?\d+)? ?(?P<after>%|{CURRENCY}|[^\W\d_°][\w/]{{0,4}}[²³]?|°[CF]?)?"
    )


def parse_number(text: str, decimal: str = ".") -> Number | None:
    text = text.translate(PLAIN_MARKS).strip()
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found = number_pattern(decimal).fullmatch(inner)
    if found is None or (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    separator = other_mark(decimal)
    digits = re.sub(rf"[ '{separator}]", "", found["digits"]).replace(decimal, ".")
    value = float(digits + (found["power"] or ""))
    unit = found["before"] or found["after"] or ""
    if unit == "%":
        value /= 100
    negative = "-" in (found["sign"], found["inner"]) or inner is not text
    grouped, limited = separator in found["digits"], found["limit"] is not None
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


def parsed_dates(words: Any, date: str, utc: bool = False) -> Floats:
    """Return text cells of a format as days since 1970, or parts of a day; NaN for other cells.

    Days and times are those that are written, whatever the zone, or with `utc` those of UTC.
    """
    pandas, days = require("pandas", "cli"), np.full(len(words), np.nan)
    words = pandas.Series(np.asarray(words, dtype=object), dtype="str")
    offsets = offsets_in_days(words) if utc else 0.0
    words = words.str.replace(OFFSET, r"\1", regex=True)
    for one in date.split("|"):
        if one in NUMBERED:
            size, start = NUMBERED[one]
            found = pandas.to_numeric(words, errors="coerce").to_numpy() * size + start
        else:
            form = one.replace("%z", "").strip()
            some = words.str.replace(HALF_DAY, r"\1 \2m", regex=True) if "%p" in one else words
            found = in_days(pandas.to_datetime(some, format=form, errors="coerce"))
            found = found if re.search("%[Yy]|ISO", one) else found % 1
        days = np.where(np.isnan(days), found, days)
    return np.asarray(days - offsets)


def offsets_in_days(words: Any) -> Floats:
    """Return the offsets from UTC that times are written with; 0 for none."""
    found = words.str.extract(OFFSET)[1].fillna("Z").to_numpy()
    known = {}
    for text in set(found.tolist()):
        digits = text[1:].replace(":", "").ljust(4, "0")
        size = 0.0 if text == "Z" else (int(digits[:2]) + int(digits[2:]) / 60) / 24
        known[text] = -size if text.startswith("-") else size
    return np.array([known[text] for text in found.tolist()])


def guessed_date(text: str) -> str | None:
    text = OFFSET.sub(r"\1", text)
    half = HALF_DAY.search(text)
    if half:
        time = text[: half.end(1)]
        date = guessed_date(time if ":" in time else f"{time}:00")
        if date is None or "%H" not in date:
            return None
        date = date if ":" in time else date.replace(":%M", "")
        return f"{date.replace('%H', '%I')} %p"
    formats_that_pandas_does_not_guess = {
        r"(19|20)\d{6}": "%Y%m%d",
        r"\d?\d/\d?\d/\d\d": "%m/%d/%y",
        r"\d?\d\.\d?\d\.\d\d": "%d.%m.%y",
        r"\d?\d-\d?\d-\d\d": "%m-%d-%y",
        r"[A-Za-z]{3} \d{4}": "%b %Y",
        r"[A-Za-z]{4,} \d{4}": "%B %Y",
        r"\d?\d/(19|20)\d\d": "%m/%Y",
        r"\d?\d-(19|20)\d\d": "%m-%Y",
        r"(19|20)\d\d/\d?\d": "%Y/%m",
        r"\d?\d:\d\d": "%H:%M",
        r"\d?\d:\d\d:\d\d": "%H:%M:%S",
    }
    for pattern, known in formats_that_pandas_does_not_guess.items():
        if re.fullmatch(pattern, text):
            return known
    if sum(map(str.isdigit, text)) < 3:
        return None
    with warnings.catch_warnings():  # of days that come first
        warnings.simplefilter("ignore")
        found = require("pandas.tseries.api", "cli").guess_datetime_format(text)
    return found if found and re.search("%[YyH]", found) else None
