"""Dates as people write them, as days since 1970."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import require

__all__ = ["as_timestamps", "guessed_date", "in_days", "parsed_dates"]

Floats = NDArray[np.float64]

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

DAY = 86_400_000_000
"""Microseconds."""


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
