"""What each column of a table holds, whether a model can use it, and the one to predict."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import as_choice, as_text, as_texts, did_you_mean, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._cells import CellFormat, as_series, as_words
from cayleyklein.tables._dates import as_timestamps
from cayleyklein.tables._formats import Found, find_format

__all__ = ["KINDS", "Column", "as_table", "infer_columns", "split_target", "typed"]

KINDS = ("number", "category", "date", "text")

IDENTIFIER_FROM = 10
"""Rows from which a column that hardly repeats a value can be an identifier."""

SURPRISE = 5.0
"""Repetitions to expect among n whole numbers in a range of R, n²/2R, from which having none means
that they were numbered."""

HARDLY_REPEATS = 0.75
"""Share of distinct texts from which they identify rows."""

LONG_TEXT = 4
"""Words in a cell, on average, from which text is encoded rather than taken for a name."""

ID_NAME = re.compile(
    r"(.*[\W_])?(ids?|[ug]uid|key|index|idx|nr|no|row|rowid|record|serial|pk)([\W_].*)?|unnamed.*",
    re.IGNORECASE,
)


FEW_CLASSES, ROWS_PER_CLASS = 10, 5
"""Up to so many distinct numbers are classes; more are if whole, and with so many rows for each."""

WHOLE = re.compile(r"[-+]?\d+\.0")


@dataclass(frozen=True)
class Column:
    """What became of one column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category", "text", "unused"}
    n_missing : int
        Missing cells in the table that it was fitted on.
    text : str
        What is done to it, in words.
    cells : CellFormat
        How its cells are written.

    Examples
    --------
    >>> import pandas as pd
    >>> from cayleyklein.tables import Column, TableEncoder
    >>> encoder = TableEncoder().fit(pd.DataFrame({"length": ["1.5", None, "2.5"]}))
    >>> print(encoder.columns_[0])
    length: number; 1 missing cell becomes the median, 2
    >>> isinstance(encoder.columns_[0], Column)
    True
    """

    name: str
    kind: str
    n_missing: int
    text: str
    cells: CellFormat

    @property
    def is_plain(self) -> bool:
        """Whether it was numbers, and none was missing or guessed."""
        return self.kind == "number" and not (self.n_missing or self.cells.guess)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Examples
        --------
        >>> import pandas as pd
        >>> from cayleyklein.tables import TableEncoder
        >>> TableEncoder().fit(pd.DataFrame({"a": ["1%", "2%"]})).columns_[0].to_dict()["kind"]
        'number'
        """
        return {
            **vars(self),
            "cells": {k: v for k, v in vars(self.cells).items() if v or k == "bare"},
        }

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def as_table(table: Any) -> Any:
    """Check that it is a DataFrame with rows, and make texts of the names of its columns."""
    pandas = require("pandas", "cli")
    if not isinstance(table, pandas.DataFrame):
        raise InvalidInputError(
            f"table must be a pandas DataFrame; got {type(table).__name__}. "
            f"cayleyklein.tables.read_table reads one from a file."
        )
    if not len(table):
        raise InvalidInputError("The table has no rows.")
    table = table.set_axis([str(name) for name in table.columns], axis=1)  # also of several levels
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InvalidInputError(
            f"The table has several columns of the name {twice[0]!r}; rename or drop them."
        )
    return table


def find_formats(table: Any, kinds: Mapping[str, str]) -> dict[str, CellFormat]:
    """Return how the cells of each column are written; one decimal mark serves the whole table."""
    found = {name: find_format(table[name], kinds.get(name, "")) for name in table.columns}
    marks = {
        one.cells.decimal
        for one in found.values()
        if one.cells.kind == "number" and one.marked and one.with_comma is None
    }
    return {name: _decided(table[name], one, marks) for name, one in found.items()}


def _decided(values: Any, found: Found, marks: set[str]) -> CellFormat:
    """Choose the decimal mark of a column that allows both, and say what was guessed."""
    cells, guesses = found.cells, [found.cells.guess]
    if found.with_comma is not None and marks == {","}:
        cells = found.with_comma
    elif found.with_comma is not None and len(marks) != 1:
        guesses.append("its numbers are read with a decimal point, but could have a decimal comma")
    if cells.absent:
        n_absent = int(as_words(values).isin(cells.absent).sum())
        shown = ", ".join(map(repr, cells.absent[:3])) + (", …" if len(cells.absent) > 3 else "")
        are = f"s are no {cells.kind}s" if n_absent > 1 else f" is no {cells.kind}"
        guesses.append(f"{n_absent} cell{are}, and taken as missing ({shown})")
    return replace(cells, guess="; ".join(filter(None, guesses)))


def typed(table: Any, text: Collection[str] = ()) -> Any:
    """Return a table with columns of floats, timestamps and text."""
    pandas = require("pandas", "cli")
    columns = {}
    for name, cells in find_formats(table, dict.fromkeys(text, "category")).items():
        warn_of_guess(name, cells)
        if cells.kind == "words":
            columns[name] = as_words(table[name])
            continue
        floats = cells.floats(table[name])
        if cells.kind == "date":
            columns[name] = pandas.Series(as_timestamps(floats), table.index)
        else:
            columns[name] = pandas.Series(floats, table.index)
    return pandas.DataFrame(columns, copy=False)


def warn_of_guess(name: str, cells: CellFormat) -> None:
    """Warn where the cells of a column can be read in another way."""
    if cells.guess:
        warnings.warn(f"Column {name!r}: {cells.guess}.", stacklevel=4)


def infer_columns(
    table: Any, kinds: Mapping[str, str] | None = None, drop: Collection[str] = ()
) -> list[Column]:
    """Decide what becomes of each column of a table.

    Parameters
    ----------
    table : pandas.DataFrame
    kinds : mapping of str to str, optional
        What columns are, where that should not be guessed.
    drop : collection of str, default=()
        Columns to leave out.
    """
    table = as_table(table)
    kinds = check_kinds({} if kinds is None else kinds, table.columns)
    for name in as_texts(drop, "drop"):
        if name not in table.columns:
            raise InvalidInputError(
                f"There is no column {name!r} to drop.{did_you_mean(name, list(table.columns))}"
            )
    formats = find_formats(table.drop(columns=list(drop)), kinds)
    columns = []
    for name in table.columns:
        if name in drop:
            columns.append(Column(name, "unused", 0, "not used: dropped", CellFormat()))
            continue
        cells = formats[name]
        warn_of_guess(name, cells)
        kind, why, n_missing = _use(table[name], cells, kinds.get(name, "").partition(":")[0])
        text = f"not used: {why}" if kind == "unused" else ""
        columns.append(Column(name, kind, n_missing, text, cells))
    return columns


def check_kinds(kinds: Mapping[str, str], names: Collection[str]) -> Mapping[str, str]:
    """Check what columns are said to be."""
    if not isinstance(kinds, Mapping):
        raise InvalidInputError(
            f"kinds must be a mapping of column names to kinds; got {type(kinds).__name__}."
        )
    for name, kind in kinds.items():
        if as_text(name, "kinds") not in names:
            raise InvalidInputError(f"There is no column {name!r}.{did_you_mean(name, names)}")
        if not as_text(kind, f"kinds[{name!r}]").startswith("date:"):
            as_choice(kind, f"kinds[{name!r}]", KINDS)
    return kinds


def _use(values: Any, cells: CellFormat, wanted: str) -> tuple[str, str, int]:
    """Return the kind of a column, why it is not used if it is not, and its missing cells."""
    if cells.kind == "words":
        known = as_words(values).dropna()
        distinct = known.nunique()
    else:
        floats = cells.floats(values)
        known = floats[~np.isnan(floats)]
        distinct = len(np.unique(known))
    n_missing = len(values) - len(known)
    if distinct == 0:
        return "unused", "every cell is missing", n_missing
    if distinct == 1:
        first = as_series(values).dropna().iloc[0]
        return "unused", f"every cell is {first}", n_missing
    if wanted:
        return wanted, "", n_missing
    if cells.kind == "number" and is_identifier(str(values.name), known):
        return "unused", "whole numbers that never repeat, an identifier", n_missing
    if cells.kind != "words":
        return cells.kind, "", n_missing
    if len(known) >= IDENTIFIER_FROM and distinct > HARDLY_REPEATS * len(known):
        if known.str.count(r"\S+").mean() >= LONG_TEXT:
            return "text", "", n_missing
        return "unused", "text that hardly ever repeats, an identifier", n_missing
    return "category", "", n_missing


def is_identifier(name: str, numbers: NDArray[np.float64]) -> bool:
    """Say whether numbers only tell rows apart.

    >>> is_identifier("x", np.arange(1000.0, 1100.0)), is_identifier("x", np.arange(100.0) ** 2)
    (True, False)
    >>> is_identifier("customerId", np.arange(100.0) ** 2)
    True
    """
    n = len(numbers)
    if n < IDENTIFIER_FROM or (numbers != np.rint(numbers)).any() or len(np.unique(numbers)) < n:
        return False
    named = ID_NAME.fullmatch(re.sub("([a-z])([A-Z])", r"\1_\2", name))
    return bool(named or n * n >= 2 * SURPRISE * (np.ptp(numbers) + 1))


# -- the column to predict -----------------------------------------------------------------


def split_target(
    table: Any, target: str, *, to_learn: bool = True
) -> tuple[Any, NDArray[np.object_], int]:
    """Take the classes out of a table.

    Parameters
    ----------
    table : pandas.DataFrame
    target : str
        The name of the column of classes.
    to_learn : bool, default=True
        Whether to refuse a column of quantities, from which no classes can be learned.

    Returns
    -------
    rows : pandas.DataFrame
        The other columns, without the rows that have no class.
    classes : ndarray of str
        The class of each row, as text; a whole number without its ".0".
    n_dropped : int
        Rows that had none.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "kind": [1.0, 2.0, None]})
    >>> rows, classes, dropped = split_target(table, "kind")
    >>> classes, dropped
    (array(['1', '2'], dtype=object), 1)
    >>> split_target(table, "Kind")
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: There is no column 'Kind'. Did you mean 'kind'?
    """
    table = as_table(table)
    if as_text(target, "target") not in table.columns:
        raise InvalidInputError(
            f"There is no column {target!r}.{did_you_mean(target, list(table.columns))}"
        )
    known = table[target].notna().to_numpy()
    distinct, codes = as_classes(table[target][known])
    if to_learn:
        if not len(distinct):
            raise InvalidInputError(f"Column {target!r} has no classes: every value is missing.")
        refuse_quantities(distinct, len(codes), target)
    rows = table.drop(columns=target)
    return (rows if known.all() else rows[known]), distinct[codes], int((~known).sum())


def as_classes(values: Any) -> tuple[NDArray[np.object_], NDArray[np.intp]]:
    """Return the distinct classes as text, sorted, and the position of each value among them."""
    codes, distinct = require("pandas", "cli").factorize(as_words(values), sort=True)
    names = [text[:-2] if WHOLE.fullmatch(text) else text for text in distinct]
    return np.array(names, dtype=object), codes


def refuse_quantities(classes: NDArray[np.object_], n_rows: int, target: str) -> None:
    """Raise for numbers that are not class labels: fractions, or hardly a number twice."""
    try:
        numbers = classes.astype(np.float64)
    except ValueError:
        return
    fractions = not (numbers == np.rint(numbers)).all()
    scattered = n_rows < ROWS_PER_CLASS * len(numbers)
    if len(numbers) > FEW_CLASSES and (fractions or scattered):
        raise InvalidInputError(
            f"Column {target!r} holds {len(numbers)} distinct numbers in {n_rows} rows: a quantity,"
            f" not classes. This is a classifier; choose a column of classes, or cut the quantity "
            f"into ranges first."
        )
