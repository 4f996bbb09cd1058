"""Encodings that have to earn their place: circles, text, and many categories one by one.

All are judged on rows that are left out. Without targets there is no evidence.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.columns import means, uses
from cayleyklein.columns.column import DAY_PERIODS, Column
from cayleyklein.columns.evidence import EncodingJudge
from cayleyklein.columns.parsing import timestamps
from cayleyklein.columns.text import fit_text, is_long


def choose_encodings(
    columns: list[Column], table: Any, targets: Floats, weights: Floats, most: int
) -> list[Column]:
    """Return columns with other encodings where they predict rows that are left out better.

    `most` is the number of categories that may have a number each.
    """
    texts = [column for column in columns if column.kind == "text" and column.encoder is None]
    used = [column for column in columns if column.kind != "unused" and column not in texts]
    many = [column for column in used if column.levels and len(column.categories) <= most]
    numbers = [column for column in used if column.kind in ("number", "date")]
    judge = EncodingJudge.of(table, targets, weights) if texts or many or numbers else None
    found = {column.name: column for column in columns}
    if judge is None:
        for column in texts:
            found[column.name] = settled_text(column, table[column.name])
        return [found[column.name] for column in columns]
    some, parts = table.iloc[judge.rows], {}
    folds = means.folds_of(some, judge.targets, judge.weights)
    for column in used:
        parts[column.name] = column.encode(some[column.name])
        if column.levels:
            # means of the judged rows alone, as the numbers of categories learn from them alone
            codes, n_levels = column.places(some[column.name]), len(column.categories)
            parts[column.name] = means.means_of_others(
                codes, judge.targets, judge.weights, n_levels, folds
            )
    periods = {c.name: offered_periods(c, parts[c.name][:, 0]) for c in numbers}
    for name, circles in chosen_circles(judge, parts, periods).items():
        found[name] = replace(found[name], circles=circles)
    one_by_one = {column.name: replace(column, levels=()) for column in many}
    levels = {name: each.encode(some[name]) for name, each in one_by_one.items()}
    for name in chosen_levels(judge, parts, levels):
        said = f"{len(found[name].categories)} categories, one number for each"
        text = "; ".join([said, *found[name].text.split("; ")[1:]])
        found[name] = replace(one_by_one[name], text=text)
    for column in texts:
        gains = text_gains(judge, parts, column.words(some[column.name]).fillna(""))
        found[column.name] = settled_text(column, table[column.name], gains)
    return [found[column.name] for column in columns]


def chosen_circles(
    judge: EncodingJudge, parts: dict[str, Floats], periods: dict[str, list[float]]
) -> dict[str, tuple[float, ...]]:
    """Return the periods by which a column predicts better than by its number alone.

    Each circle is judged by itself, and then, those that gain most first, beside those before.
    """
    if not any(periods.values()):
        return {}
    usual = judge.kernel(np.hstack(list(parts.values())))
    gains, circles = {}, {}
    for name, offered in periods.items():
        values = parts[name][:, 0]
        for period in offered:
            angles = values * (2 * np.pi / period)
            circle = judge.kernel(np.column_stack([np.cos(angles), np.sin(angles)]))
            alone = usual + judge.kernel(values[:, None])
            circles[name, period] = circle
            gains[name, period] = judge.gain(judge.errors(alone), judge.errors(alone + circle))
    chosen: dict[str, tuple[float, ...]] = {}
    for name, period in sorted(gains, key=lambda at: -gains[at]):
        if not judge.is_clear(gains[name, period]):
            break
        before = usual if name in chosen else usual + judge.kernel(parts[name][:, :1])
        after = before + circles[name, period]
        if judge.is_clear(judge.gain(judge.errors(before), judge.errors(after))):
            usual = after
            chosen[name] = tuple(sorted((*chosen.get(name, ()), period)))
    return chosen


def text_gains(judge: EncodingJudge, parts: dict[str, Floats], texts: Any) -> bool:
    """Say whether text predicts rows that are left out, beside the other columns."""
    encoder = fit_text(texts)
    if encoder is None:
        return False
    n = len(judge.rows)
    usual = judge.kernel(np.hstack(list(parts.values()))) if parts else np.zeros((n, n))
    errors = judge.errors(usual + judge.kernel(encoder.transform(texts)))
    return judge.is_clear(judge.gain(judge.errors(usual), errors))


def settled_text(column: Column, values: Any, gains: bool | None = None) -> Column:
    """Encode text that gains, or is long where no rows can tell; leave out other text."""
    if gains or (gains is None and is_long(column.words(values))):
        return uses.with_text(column, values)
    why = "an identifier" if gains is None else "and does not help to predict other rows"
    return replace(column, kind="unused", text=f"not used: text that hardly ever repeats, {why}")


def chosen_levels(
    judge: EncodingJudge, parts: dict[str, Floats], levels: dict[str, Floats]
) -> list[str]:
    """Return the columns whose categories predict better with a number each.

    Each is judged by itself, and again beside those that were chosen; then all others are judged
    together. Where only pairs of categories tell something, the means of either column tell
    nothing, and no column gains by itself.
    """
    chosen: list[str] = []
    rest = dict(levels)
    more = True
    while more:
        given = parts | {name: levels[name] for name in chosen}
        found = [name for name in rest if levels_predict_better(judge, given, {name: levels[name]})]
        rest = {name: numbers for name, numbers in rest.items() if name not in found}
        chosen += found
        more = bool(found) and bool(rest)
    given = parts | {name: levels[name] for name in chosen}
    if len(rest) < 2 or not levels_predict_better(judge, given, rest):
        return chosen
    for name in list(rest):
        fewer = {other: numbers for other, numbers in rest.items() if other != name}
        errors = errors_by_levels(judge, given, rest)
        if not judge.is_clear(judge.gain(errors_by_levels(judge, given, fewer), errors)):
            rest = fewer
    return chosen + list(rest)


def levels_predict_better(
    judge: EncodingJudge, parts: dict[str, Floats], levels: dict[str, Floats]
) -> bool:
    """Say whether a number for each category predicts better than mean targets, and than none."""
    n = len(judge.rows)
    others = [part for other, part in parts.items() if other not in levels]
    rest = judge.kernel(np.hstack(others)) if others else np.zeros((n, n))
    by_means = judge.kernel(np.hstack([parts[name] for name in levels]))
    found = errors_by_levels(judge, parts, levels)
    with_means = judge.errors(rest + by_means + rest * by_means)
    rivals = [with_means, judge.errors(rest)]
    return all(judge.is_clear(judge.gain(rival, found)) for rival in rivals)


def errors_by_levels(
    judge: EncodingJudge, parts: dict[str, Floats], levels: dict[str, Floats]
) -> Floats:
    """Return the errors of rows left out, if categories of some columns have a number each.

    The kernel of these columns is a product over them, so that pairs of categories can tell
    something. Products with the kernel of the others let categories differ in what the other
    columns mean for them.
    """
    n = len(judge.rows)
    others = [part for other, part in parts.items() if other not in levels]
    rest = judge.kernel(np.hstack(others)) if others else np.zeros((n, n))
    if not levels:
        return judge.errors(rest)
    own = judge.kernel(np.hstack(list(levels.values())), scaled=False)
    return judge.errors(rest + own + rest * own)


def offered_periods(column: Column, values: Floats) -> list[float]:
    """Return the periods of circles that the values of a column can be on."""
    known = values[~np.isnan(values)]
    if not len(known):
        return []
    return periods_of_numbers(known) if column.kind == "number" else periods_of_dates(known)


def periods_of_numbers(values: Floats) -> list[float]:
    """Return the periods that whole numbers from 0 or 1 can have: they reach nine tenths of one."""
    low, high, levels = values.min(), values.max(), np.unique(values)
    year = 365
    if low not in (0, 1) or high > year + 1 or (levels != np.rint(levels)).any():
        return []
    found = []
    for period in (7, 12, 24, 60, 360, year):
        last = period + 1 if period == year else period  # of a leap year
        if 0.9 * period <= high + 1 and high <= last and len(levels) >= min(7, period):
            found.append(float(period))
    return found


def periods_of_dates(days: Floats) -> list[float]:
    """Return the periods of which days since 1970, or parts of a day, have at least three parts."""
    hour, week, year = DAY_PERIODS
    periods = []
    minutes = np.rint(days % 1 * 1440)
    if len(np.unique(minutes)) >= 3:
        periods.append(hour)
    if days.min() >= 0 and days.max() < 1:  # times without a date
        return periods
    dates = np.floor(days)
    stamps, n_weekdays = timestamps(dates), len(np.unique(dates % week))
    # Rows on fewer than five days of the month are monthly, and their weekdays are chance.
    if n_weekdays >= 3 and len(stamps.day.unique()) >= 5:
        periods.append(week)
    half_a_year = 180
    if np.ptp(days) >= half_a_year and len(stamps.month.unique()) >= 3:
        periods.append(year)
    return periods
