"""From the columns of a table to numbers: imputed, scaled, one-hot encoded, and said out loud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._estimators import at_one_moment, whole_or_not_at_all
from cayleyklein._validation import as_count, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.models._columns import CategoryColumn, NumberColumn, is_number, missing_in

__all__ = ["ColumnUse", "TableEncoder"]

IDENTIFIER_FROM = 10
"""Rows from which a text column that never repeats a value is taken for an identifier."""

MOSTLY = 0.5
"""Share of distinct texts that are numbers from which it is said that the others spoil them."""


@dataclass(frozen=True)
class ColumnUse:
    """What becomes of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "unused"}
    n_missing : int
        Values that were missing when it was fitted.
    text : str
        What is done to it, in words.

    Examples
    --------
    >>> from cayleyklein.models import ColumnUse
    >>> print(ColumnUse("row", "unused", 0, "text that never repeats; not used"))
    row: text that never repeats; not used
    """

    name: str
    kind: str
    n_missing: int
    text: str

    @property
    def is_plain(self) -> bool:
        """Whether nothing is done to it but standardising its numbers."""
        return self.kind == "number" and not self.n_missing

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class TableEncoder(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn a table into rows of numbers.

    Numbers: missing ones become the median, and columns are standardised. Text: missing values
    become the most frequent one, and columns are one-hot encoded, rare values together. Columns
    that tell nothing (constant, empty, text that never repeats) are left out.

    Parameters
    ----------
    max_categories : int, default=20
        Columns that a column of text becomes at the most.

    Attributes
    ----------
    uses_ : list of ColumnUse
        What was done to which column.
    columns_ : list of NumberColumn and CategoryColumn
        Those that are used, numbers first.
    n_features_out_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"length": [1.0, None, 3.0], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> for use in encoder.uses_:
    ...     print(use)
    length: number; 1 missing value becomes the median, 2; standardised
    colour: 2 categories; one column for each of blue, red
    >>> encoder.transform(table).shape
    (3, 3)

    Columns are found by their names:

    >>> encoder.transform(table[["colour"]])
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: The table lacks 1 column: 'length'.
    """

    columns_: list[NumberColumn | CategoryColumn]
    uses_: list[ColumnUse]

    def __init__(self, *, max_categories: int = 20) -> None:
        self.max_categories = max_categories

    def fit(self, table: Any, y: Any = None) -> TableEncoder:
        """Look at the columns and decide what becomes of each.

        Parameters
        ----------
        table : pandas.DataFrame
        y : ignored
        """
        table = as_table(table)
        most = as_count(self.max_categories, "max_categories")
        if not len(table.columns):
            raise InvalidInputError("The table has no column to learn from.")
        kinds = {name: kind_of(table[name]) for name in table.columns}
        numbers = [name for name, (kind, _) in kinds.items() if kind == "number"]
        categories = [name for name, (kind, _) in kinds.items() if kind == "category"]
        if not numbers and not categories:
            reasons = "; ".join(f"{name}: {why}" for name, (_, why) in kinds.items())
            raise InvalidInputError(f"No column of the table can be used ({reasons}).")
        columns: list[NumberColumn | CategoryColumn] = [
            *(NumberColumn.of(name, table[name]) for name in numbers),
            *(CategoryColumn.of(name, table[name], most) for name in categories),
        ]
        used = {column.name: column for column in columns}
        uses = [use_of(name, table[name], used.get(name), why) for name, (_, why) in kinds.items()]
        with whole_or_not_at_all(self) as worker:
            worker.columns_, worker.uses_ = columns, uses
        return self

    @at_one_moment
    def transform(self, table: Any) -> NDArray[np.float64]:
        """Return rows of numbers.

        Parameters
        ----------
        table : pandas.DataFrame
            With at least the columns that are used, in any order.

        Returns
        -------
        ndarray of shape (n, columns)
        """
        check_is_fitted(self, "columns_")
        table = as_table(table)
        self.check_columns(list(table.columns))
        encoded = np.empty((len(table), self.n_features_out_))
        start = 0
        for column in self.columns_:
            end = start + column.width
            column.encode(table[column.name], encoded[:, start:end])
            start = end
        return encoded

    @property
    def n_features_out_(self) -> int:
        """The number of columns that come out."""
        check_is_fitted(self, "columns_")
        return sum(column.width for column in self.columns_)

    @property
    def used_(self) -> list[str]:
        """The names of the columns that are used."""
        check_is_fitted(self, "columns_")
        return [column.name for column in self.columns_]

    @property
    def categories_(self) -> list[CategoryColumn]:
        """The columns of text that are used."""
        check_is_fitted(self, "columns_")
        return [column for column in self.columns_ if isinstance(column, CategoryColumn)]

    def check_columns(self, names: Sequence[str]) -> list[str]:
        """Raise for names that are missing; return those that are not used.

        Those that were there and left out when this was fitted are not among them.

        Parameters
        ----------
        names : sequence of str

        Examples
        --------
        >>> import pandas as pd
        >>> encoder = TableEncoder().fit(pd.DataFrame({"length": [1.0, 2.0]}))
        >>> encoder.check_columns(["width"])
        Traceback (most recent call last):
        cayleyklein.exceptions.InvalidInputError: The table lacks 1 column: 'length'.
        """
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InvalidInputError(
                f"names must be a sequence of column names; got {type(names).__name__}."
            )
        missing = [name for name in self.used_ if name not in names]
        if missing:
            raise InvalidInputError(
                f"The table lacks {len(missing)} column{'s' * (len(missing) > 1)}: "
                f"{', '.join(map(repr, missing))}."
            )
        known = {use.name for use in self.uses_}
        return [name for name in names if name not in known]

    def unseen(self, table: Any) -> dict[str, int]:
        """Return in how many rows a category is one that was not fitted, by column.

        Such a value has a zero in each of its column's numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> encoder = TableEncoder().fit(pd.DataFrame({"colour": ["red", "blue", "red"]}))
        >>> encoder.unseen(pd.DataFrame({"colour": ["green", "red"]}))
        {'colour': 1}
        """
        table = as_table(table)
        self.check_columns(list(table.columns))
        counts = {
            column.name: column.count_unseen(table[column.name]) for column in self.categories_
        }
        return {name: count for name, count in counts.items() if count}


def use_of(
    name: str, values: Any, column: NumberColumn | CategoryColumn | None, why: str
) -> ColumnUse:
    """Say what is done to a column."""
    n_missing = int(missing_in(values).sum())
    spoiled = spoiled_numbers(values)
    if column is None:
        return ColumnUse(name, "unused", n_missing, f"not used: {why}{spoiled}")
    if isinstance(column, NumberColumn):
        filled = imputed(n_missing, f"the median, {column.median:.6g}")
        return ColumnUse(name, "number", n_missing, f"number; {filled}standardised")
    n_known = len(column.shown) + len(column.rare)
    filled = imputed(n_missing, f"the most frequent, {column.frequent}")
    together = f", and one for the {len(column.rare)} rarest" if column.rare else ""
    text = f"{n_known} categories; {filled}one column for each of {', '.join(column.shown)}"
    return ColumnUse(name, "category", n_missing, f"{text}{together}{spoiled}")


def imputed(n_missing: int, fill: str) -> str:
    """Write what becomes of missing values, if there are any."""
    if not n_missing:
        return ""
    return f"{n_missing} missing value{'s become' if n_missing > 1 else ' becomes'} {fill}; "


def as_table(table: Any) -> Any:
    """Check that it is a DataFrame with rows, whose columns have names."""
    pandas = require("pandas", "cli")
    if not isinstance(table, pandas.DataFrame):
        raise InvalidInputError(
            f"table must be a pandas DataFrame; got {type(table).__name__}. "
            f"cayleyklein.datasets.read_table reads one from a file."
        )
    if not len(table):
        raise InvalidInputError("The table has no rows.")
    table = table.set_axis([str(name) for name in table.columns], axis=1)  # also of several levels
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InvalidInputError(
            f"The table has several columns of the name {twice[0]!r}; rename or drop them."
        )
    for name in table.columns:
        if table[name].dtype.kind == "c":
            raise InvalidInputError(
                f"Column {name!r} holds complex numbers; give its parts as columns of their own."
            )
    objects = [name for name in table.columns if table[name].dtype == object]
    return table.assign(**{name: table[name].infer_objects() for name in objects})


def kind_of(values: Any) -> tuple[str, str]:
    """Return the kind of a column, and why it is not used if it is not."""
    known = values[~missing_in(values)]
    try:
        distinct = known.nunique()
    except TypeError as error:
        raise InvalidInputError(
            f"Column {values.name!r} holds a {type(known.iloc[0]).__name__} in a cell, which is "
            f"neither a number nor text."
        ) from error
    if distinct == 0:
        return "unused", "every value is missing"
    if distinct == 1:
        return "unused", f"every value is {known.iloc[0]}"
    if is_number(values):
        return "number", ""
    if distinct == len(known) and len(known) >= IDENTIFIER_FROM:
        return "unused", "text that never repeats, an identifier"
    return "category", ""


def spoiled_numbers(values: Any) -> str:
    """Say which text made categories of a column that would be of numbers without it, if any."""
    if is_number(values):
        return ""
    pandas = require("pandas", "cli")
    distinct = pandas.Series(values.dropna().astype("str").unique(), dtype=object)
    others = distinct[pandas.to_numeric(distinct, errors="coerce").isna()]
    with_points = pandas.to_numeric(distinct.str.replace(",", "."), errors="coerce")
    if len(others) and with_points.notna().all():
        return "; its values look like numbers with commas: write them with points, or without"
    if len(others) >= MOSTLY * len(distinct):
        return ""
    if not len(others):
        return "; its numbers are taken for text"
    return (
        f"; {len(distinct) - len(others)} of its values are numbers, but not {others.iloc[0]!r} "
        f"(a missing value is an empty cell or NA)"
    )
