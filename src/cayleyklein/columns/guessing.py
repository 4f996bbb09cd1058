"""How the cells of each column are written: as numbers or dates if nine tenths are, or as words."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import require, warn_caller
from cayleyklein.columns import parsing
from cayleyklein.columns.parsing import CellFormat, as_series, as_words, parse_number, parsed_dates
from cayleyklein.exceptions import InvalidInputError

FormatFit = tuple[CellFormat, float]  # a format, and the share of the cells that fit it


def find_formats(table: Any, kinds: Mapping[str, str]) -> dict[str, CellFormat]:
    """Return how the cells of each column are written; one decimal mark serves the whole table."""
    found = {name: _find(table[name], kinds.get(name, "")) for name in table.columns}
    marks = {c.decimal for c, *others in found.values() if c.kind == "number" and not others}
    formats = {}
    for name, (cells, *others) in found.items():
        guesses = [cells.guess]
        if others and marks == {","}:
            cells = others[0]
        elif len(marks) != 1 and any(one.grouped for one in (cells, *others) if others):
            read = "its numbers are read with a decimal point"
            guesses.append(f"{read}, but could have a decimal comma")
        if cells.absent:
            n_absent = int(as_words(table[name]).isin(cells.absent).sum())
            shown = [*map(repr, cells.absent[:3]), *(["…"] if len(cells.absent) > 3 else [])]
            are = f"1 cell is not a {cells.kind}, and counts"
            if n_absent > 1:
                are = f"{n_absent} cells are not {cells.kind}s, and count"
            guesses.append(f"{are} among the missing ({', '.join(shown)})")
        formats[name] = replace(cells, guess="; ".join(filter(None, guesses)))
        if formats[name].guess:
            warn_caller(f"Column {name!r}: {formats[name].guess}.")
    return formats


def typed(table: Any, text: Collection[str]) -> Any:
    columns = {}
    for name, cells in find_formats(table, dict.fromkeys(text, "category")).items():
        values: Any = as_words(table[name]) if cells.kind == "words" else cells.floats(table[name])
        columns[name] = parsing.timestamps(values) if cells.kind == "date" else values
    return require("pandas", "cli").DataFrame(columns, table.index, copy=False)


def quantities(words: Any) -> tuple[str, Floats]:
    counts = words.value_counts()
    cells = _find_in_text(counts, "", "")[0]
    if cells.kind == "words":
        return "words", np.empty(0)
    floats = cells.parsed(counts.index)
    return cells.kind, np.unique(floats[~np.isnan(floats)])


def _find(values: Any, kind: str) -> list[CellFormat]:
    """Return how the cells of one column are written; also with a decimal comma where both fit."""
    kind, _, given = kind.partition(":")
    values = as_series(values)
    if kind in ("category", "text", "order") or values.dtype.kind == "b":
        return [CellFormat()]
    held = parsing.kind_of_type(values)
    if held == "date":
        return [CellFormat("date", date="ISO8601")]
    if held == "number" and kind != "date":  # cells of a later table may be text
        infinite = np.isinf(parsing.in_days(values))
        absent = tuple(as_words(values[infinite]).unique()) if infinite.any() else ()
        return [CellFormat("number", mark, absent=absent) for mark in ".,"]
    counts = as_words(values).value_counts()
    found = _find_in_text(counts, kind, given) if len(counts) else [CellFormat()]
    if kind == "date" and not given and found[0].kind == "words":
        found = numbered_date(counts) or found
    if kind and (found[0].kind == "words" or len(found[0].absent) == len(counts)):
        example = f", such as {counts.index[0]!r}" if len(counts) else ""
        said = f"Column {values.name!r} was said to be a {kind}"
        raise InvalidInputError(f"{said}, but none of its cells is{example}.")
    return found


def _find_in_text(counts: Any, kind: str, given: str) -> list[CellFormat]:
    if given:
        absent = tuple(counts.index[np.isnan(parsed_dates(counts.index, given))])
        return [CellFormat("date", date=given, absent=absent)]
    is_day = not kind and counts.index.str.fullmatch(r"(19|20)\d{6}").all()
    if kind == "date" or (is_day and _is_enough(*date_format(counts))):
        return [date_format(counts)[0]]
    if not kind and are_codes(counts):
        return [CellFormat()]
    point, comma = number_formats(counts)
    cells, share = max(point, comma, key=lambda fit: fit[1])  # the point, of equals
    if kind or _is_enough(cells, share):
        return [point[0], comma[0]] if point[1] == comma[1] else [cells]
    cells, share = date_format(counts)
    return [cells if _is_enough(cells, share) else CellFormat()]


def _is_enough(cells: CellFormat, share: float) -> bool:
    """Say whether a column is numbers, or dates, though some of its cells are not."""
    return share >= (0.5 if all(map(parsing.PLACEHOLDER.fullmatch, cells.absent)) else 0.9)


def numbered_date(counts: Any) -> list[CellFormat]:
    """Return how numbers are dates, such as the serial numbers of Excel, if they can be."""
    floats = require("pandas", "cli").to_numeric(counts.index, errors="coerce").to_numpy()
    known = ~np.isnan(floats)
    ranges = {  # the 20th and the 21st century
        "%Y": (1000, 2999),
        "excel": (10_000, 75_000),
        "%Y%m%d": (19_000_101, 21_001_231),
        "unix": (1e8, 5e9),
        "unix-ms": (1e11, 5e12),
        "unix-us": (1e14, 5e15),
    }
    for date, (low, high) in ranges.items():
        if known.any() and ((floats[known] >= low) & (floats[known] <= high)).all():
            said = f"its numbers are read as dates, date:{date}; days since 1970 are date:days"
            guess = said if date in parsing.NUMBERED else ""
            absent = tuple(counts.index[~known])
            return [CellFormat("date", date=date, absent=absent, guess=guess)]
    return []


def are_codes(counts: Any) -> bool:
    """Say whether digits are names: some, or one in ten of unequal length, start as 007 does."""
    index, weights = counts.index, counts.to_numpy()
    zeros = index.str.fullmatch(r"0\d{2,}")
    if not zeros.any():
        return False
    digits = index.str.fullmatch(r"\d+")
    others = index[~index.str.fullmatch(r"\w*")]  # 2A004 is another code
    if any(parse_number(text, mark) for text in others for mark in ".,"):
        return False  # 0.5, -1 or 12 kg
    return bool(index[digits].str.len().nunique() == 1 or zeros @ weights >= 0.1 * weights.sum())


def number_formats(counts: Any) -> tuple[FormatFit, FormatFit]:
    index = counts.index
    if parsing.plain_floats(index) is None:
        return number_format(counts, "."), number_format(counts, ",")
    with_points_that_may_group = r"[-+]?(\d+|[1-9]\d{0,2}(\.\d{3})+)"
    fits = index.str.fullmatch(with_points_that_may_group).all()
    grouped = bool(fits and index.str.contains(".", regex=False).any())
    with_comma = CellFormat("number", ",", grouped=grouped)
    absent = tuple(index[index.str.lower().str.lstrip("+-").isin(parsing.INFINITE)])
    point = CellFormat("number", absent=absent, guess=names_like_numbers(index))
    return (point, 1.0 if len(absent) < len(index) else 0.0), (with_comma, float(fits))


def names_like_numbers(index: Any) -> str:
    """Say that numbers may be codes such as 1E5, or versions such as 1.10 after 1.9."""
    powers = index[index.str.fullmatch(r"\d+[eE]\d+")]
    others = index[~index.isin(powers)]
    said = "are read as a number; if they are names, fit again with the kind category"
    if len(powers) and others.str.fullmatch(r"\d+").all():
        return f"codes such as {powers[0]!r} {said}"
    tenths = index[index.str.fullmatch(r"\d{1,3}\.10")]
    ninths = index[index.str.fullmatch(r"\d{1,3}\.9")].str.removesuffix("9") + "10"
    versions = tenths[tenths.isin(ninths)]  # 1.9 and 1.10, but not 2.32 and 2.320
    if len(versions):
        return f"versions such as {versions[0]!r} {said}"
    return ""


def number_format(counts: Any, decimal: str) -> FormatFit:
    index, weights = counts.index, counts.to_numpy()
    parsed = [parse_number(text, decimal) for text in index]
    units = Counter[str]()
    for found, weight in zip(parsed, weights, strict=True):
        if found:
            units[found.unit] += int(weight)
    unit = next((unit for unit, _ in units.most_common() if unit), "")
    if units[""] and unit != "%" and not re.fullmatch(parsing.CURRENCY, unit):
        unit = ""  # "12" next to "12b" is not a unit of measure
    several = [one for one in units if one and not np.isnan(parsing.unit_ratio(one, unit))]
    fits_unit = {unit, *several, *([""] if len(several) < 2 else [])}
    fitting = [found if found and found.unit in fits_unit else None for found in parsed]
    limits = np.array([found is not None and found.limited for found in fitting])
    if 2 * weights[limits].sum() > weights.sum():  # ages <18 and >65 are categories
        fitting = [None if limited else f for f, limited in zip(fitting, limits, strict=True)]
        limits[:] = False
    fits = np.array([found is not None for found in fitting])
    guesses = [f"{', '.join(sorted(several))} are converted to {unit}"] if len(several) > 1 else []
    n_limits, shown = int(weights[limits].sum()), ", ".join(map(repr, index[limits][:3]))
    if n_limits:
        guesses.append(f"bounds count as numbers ({n_limits}: {shown})")
    bare = len(several) < 2 and (unit != "%" or bool(units[""]))
    cells = CellFormat(
        "number",
        decimal,
        unit,
        bare=bare,
        absent=tuple(index[~fits]),
        grouped=any(found.grouped for found in fitting if found),
        guess="; ".join(guesses),
    )
    return cells, float(weights[fits].sum() / weights.sum())


def date_format(counts: Any) -> FormatFit:
    weights = counts.to_numpy()
    formats = Counter(filter(None, map(parsing.guessed_date, counts.index[:50])))
    for date in list(formats):  # 03/04/2024 has two
        if date.startswith(("%m", "%d")):
            formats[parsing.exchanged(date)] += 0
    found = [date for date, _ in formats.most_common(8)]
    iso = [date.startswith("%Y-%m-%d") and "%p" not in date for date in found]
    found = ["ISO8601" if is_iso else date for is_iso, date in zip(iso, found, strict=True)]
    tried = {date: parsed_dates(counts.index, date) for date in found}
    if not tried:
        return CellFormat(), 0.0

    def share(days: Floats) -> float:
        return float(weights[~np.isnan(days)].sum() / weights.sum())

    # Of equally good formats, the day comes before the month only where points part them.
    best = max(tried, key=lambda one: (share(tried[one]), one.startswith("%d") == ("." in one)))
    days = tried[best]
    equal = [date for date in tried if share(tried[date]) == share(days)]
    others = [one for one in equal if not np.array_equal(tried[one], days, equal_nan=True)]
    said = f"its dates are read as {best}, but could be {others[0]}" if others else ""
    while True:  # other formats for the cells that are left, but not with day and month exchanged
        swapped = [parsing.exchanged(one) for one in best.split("|")]
        joined = [(np.where(np.isnan(days), tried[d], days), d) for d in tried if d not in swapped]
        more, date = max(joined, key=lambda pair: share(pair[0]), default=(days, ""))
        if share(more) <= share(days):
            break
        days, best = more, f"{best}|{date}"
    if "|" in best:
        mixed = f"its dates are written in several ways, {best.replace('|', ', ')}"
        said = "; ".join(filter(None, [said, mixed]))
    offsets = parsing.offsets_in_days(counts.index.to_series())
    utc = bool(np.ptp(offsets) > 1.5 / 24)  # more than summer time changes
    if utc:
        said = "; ".join(
            filter(None, [said, "its times have offsets of several zones, and are UTC"])
        )
    absent = tuple(counts.index[np.isnan(days)])
    return CellFormat("date", date=best, absent=absent, utc=utc, guess=said), share(days)
