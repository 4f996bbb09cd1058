"""Rows that a visitor types or sends, and what the model fitted last says of them."""

import csv
import io
import warnings
from collections.abc import Mapping
from typing import Any

from cayleyklein.app import _tables, _trust
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._state import in_figures, plural
from cayleyklein.exceptions import InvalidInputError


def shown_cells(frame: Any, letters: int = _tables.SHOWN) -> list[list[str]]:
    """Return the cells of a frame as text, cut after some letters; missing ones are empty."""
    columns = [_texts(column, letters) for _, column in frame.items()]
    missing = frame.isna().to_numpy()
    rows = zip(*columns, strict=True)
    return [
        ["" if gone else cell for cell, gone in zip(*row, strict=True)]
        for row in zip(rows, missing, strict=True)
    ]


def _texts(column: Any, letters: int) -> list[str]:
    if column.dtype.kind == "f":
        return [f"{value:.15g}" for value in column]  # 3, not 3.0
    return [str(text)[:letters] for text in column.astype(str)]


def reading_words(table: _tables.PreparedTable) -> str:
    """Say what a table is learned from, and which columns are left out, and why."""
    if table.source.kind == "bundled":
        return ""
    used, unused = [], []
    for column in table.encoder.columns_:
        why = str(column).partition(": ")[2].removeprefix("not used: ")
        if column.kind == "unused":
            unused.append(f"{column.name[: _tables.SHOWN]} ({why})")
        else:
            used.append(column.name)
    unused += [f"{name[: _tables.SHOWN]} (by you)" for name in table.dropped]
    rows = f"{len(table.X):,} rows of {table.source.name[: _tables.SHOWN]}"
    said = f"{rows}: predict {table.target[: _tables.SHOWN]} from {plural(len(used), 'column')}"
    left = f"; left out: {', '.join(unused)}" if unused else ""
    return f"{said}{left}. Press Fit."


def fields_of(table: _tables.PreparedTable) -> list[dict[str, Any]]:
    """Return a field of the form for each column the model reads, with what it may hold."""
    kinds = {column.name: column.kind for column in table.encoder.columns_}
    categories = {name for name, kind in kinds.items() if kind == "category"}
    fields = []
    for name in table.problem.X.columns:
        if kinds.get(name) == "unused":
            continue
        known: list[str] = []
        if name in categories:
            cells = table.problem.X[name].dropna().astype(str)
            known = sorted(set(cells))[:30]  # that the field offers
        fields.append({"name": str(name), "choices": known})
    return fields


def named_cells(row: Any) -> dict[str, str]:
    """Return the cells of a frame of one row by column."""
    (cells,) = shown_cells(row, LIMITS.field_letters)
    return dict(zip(map(str, row.columns), cells, strict=True))


def row_as_text(cells: Mapping[str, Any], table: _tables.PreparedTable) -> bytes:
    """Return the cells of a form as a table of one row, to be read like any other."""
    names = [str(name) for name in table.problem.X.columns]
    unknown = sorted(set(map(str, cells)) - set(names))
    if unknown:
        raise InvalidInputError(f"There is no column {unknown[0][: _tables.SHOWN]!r} to fill in.")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerow([str(cells.get(name, ""))[: LIMITS.field_letters] for name in names])
    return text.getvalue().encode()


def predict_rows(predictor: Any, table: _tables.PreparedTable, rows: Any) -> dict[str, Any]:
    """Return rows with what is predicted, how sure that is, and what holds most of the time."""
    if len(rows) > LIMITS.predicted_rows:
        raise InvalidInputError(f"{LIMITS.predicted_rows:,} rows at a time are the most.")
    encoder, model = predictor
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = encoder.transform(rows)
        predicted = model.predict(X)
        shares = None if table.is_regression else model.predict_proba(X)
        held = _trust.likely_words(model, X, table.is_regression)
    notes = list(dict.fromkeys(str(one.message) for one in caught))
    names = [*map(str, rows.columns), table.target[: _tables.SHOWN]]
    lines = shown_cells(rows)
    for line, value in zip(lines, predicted, strict=True):
        line.append(in_figures(value) if table.is_regression else str(value))
    if shares is not None:
        names.append("sure")
        for line, sure in zip(lines, shares.max(axis=1), strict=True):
            line.append(f"{sure:.0%}")
    names += [f"{_trust.LEVEL:.0%} of the time", "strangeness"]
    for line, likely, strange in zip(lines, held, model.strangeness(X), strict=True):
        line += [likely, f"{strange:.1%}"]
    return {"names": names, "rows": lines, "notes": notes}
