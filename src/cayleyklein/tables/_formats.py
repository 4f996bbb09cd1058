"""How the cells of a column are written: as numbers, as dates, or as words.

A column is numbers or dates if nine tenths of its cells are, or the others are words for a missing
value.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._cells import (
    PLACEHOLDER,
    CellFormat,
    as_series,
    as_words,
    is_numeric,
    is_timestamp,
)
from cayleyklein.tables._dates import guessed_date, parsed_dates
from cayleyklein.tables._numbers import CURRENCY, NUMBERS, parse_number, plain_floats

__all__ = ["Found", "find_format"]

ENOUGH = 0.9
"""Share of numbers, or dates, from which the other cells are taken as missing."""

ENOUGH_BESIDE_PLACEHOLDERS = 0.5

WHOLE_WITH_POINTS = r"^[-+]?(\d+|[1-9]\d{0,2}(\.\d{3})+)$"
"""Numbers with a point that may group thousands."""


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
            grouped = bool(texts.str.contains(".", regex=False).any())
            formats[","] = (CellFormat("number", ",", grouped=grouped), 1.0)
        return formats
    return {mark: number_format(counts, mark) for mark in NUMBERS}


def number_format(counts: Any, decimal: str) -> tuple[CellFormat, float]:
    """Return the format of distinct texts with a decimal mark, and the share that fits it."""
    texts, weights = list(counts.index), counts.to_numpy()
    parsed = [parse_number(text, decimal) for text in texts]
    units: Counter[str] = Counter()
    for found, weight in zip(parsed, weights, strict=True):
        if found:
            units[found.unit] += int(weight)
    unit = next((unit for unit, _ in units.most_common() if unit), "")
    if units[""] and unit != "%" and not re.fullmatch(CURRENCY, unit):
        unit = ""  # "12" beside "12b": no unit of measure
    fits = np.array([found is not None and found.unit in ("", unit) for found in parsed])
    share = float(weights[fits].sum() / weights.sum())
    absent = tuple(text for text, fit in zip(texts, fits, strict=True) if not fit)
    bare = unit != "%" or bool(units[""])
    grouped = any(found.grouped for found, fit in zip(parsed, fits, strict=True) if found and fit)
    cells = CellFormat("number", decimal, unit, bare=bare, grouped=grouped, absent=absent)
    return cells, share


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
