"""One estimator from the columns of a table to rows of numbers.

skrub encodes long text. Its `TableVectorizer` is not used: it makes 32-bit floats of numbers, which
has two timestamps of one minute coincide, and unreadable cells missing without a word.
"""

from collections.abc import Collection, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cayleyklein._typing import Bools, Floats, Texts
from cayleyklein._validation import as_count
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._columns import Column, as_table, fit_columns

ORDER = {"number": 0, "date": 0, "category": 1, "text": 2}  # of the kinds in an encoded row


class TableEncoder(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    r"""Turn a table into rows of numbers.

    Numbers keep their values, and dates become days since 1970; missing ones become the median.
    Categories are one-hot encoded, rare ones together, and a missing one becomes the most
    frequent. Long text becomes its leading components (skrub's ``StringEncoder``). Constants,
    empty columns and identifiers are left out.

    Parameters
    ----------
    max_categories : int, default=20
        Most numbers that a column of categories becomes.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong: "number", "category", "text", "date" or a date
        with its format, such as "date:%d/%m/%Y".
    drop : collection of str, default=()
        Columns to leave out.

    Attributes
    ----------
    columns_ : list of Column
        The encoding of each column of the table.
    n_features_out_ : int

    Warns
    -----
    UserWarning
        For cells that are not numbers among numbers, and for what can be read in two ways.

    Examples
    --------
    >>> import pandas as pd
    >>> from cayleyklein.tables import TableEncoder
    >>> table = pd.DataFrame({"price": ["$12.50", None, "$8"], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> print(*encoder.columns_, sep="\n")
    price: number in $; 1 missing cell becomes the median, 10.25
    colour: 2 categories, one number for each of blue, red
    >>> encoder.transform(table[:2]).tolist()
    [[12.5, 0.0, 1.0], [10.25, 1.0, 0.0]]
    >>> encoder.get_feature_names_out()
    array(['price', 'colour=blue', 'colour=red'], dtype=object)
    >>> other = table.assign(price=["$1", "unknown", None], colour=["green", "red", "red"])
    >>> encoder.missing(other), encoder.unseen(other)
    ({'price': 2}, {'colour': 1})
    >>> encoder.transform(table.assign(price="cheap"))
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: Column 'price' should hold a number, but row 1 has
    'cheap'; correct the cell, or leave it empty if it is missing.
    """

    def __init__(
        self,
        *,
        max_categories: int = 20,
        kinds: Mapping[str, str] | None = None,
        drop: Collection[str] = (),
    ) -> None:
        self.max_categories = max_categories
        self.kinds = kinds
        self.drop = drop

    def fit(self, table: Any, y: Any = None) -> Self:
        """Decide how each column of a DataFrame is encoded, and fit the encoding; y is ignored."""
        table = as_table(table)
        most = as_count(self.max_categories, "max_categories")
        if not len(table.columns):
            raise InvalidInputError("The table has no column to learn from.")
        columns = fit_columns(table, self.kinds, self.drop, most)
        if all(column.kind == "unused" for column in columns):
            reasons = "; ".join(str(c).replace("not used: ", "") for c in columns)
            raise InvalidInputError(f"No column of the table can be used ({reasons}).")
        self.columns_ = columns
        return self

    def transform(self, table: Any) -> Floats:
        """Return rows (n, ``n_features_out_``): numbers and dates, then categories, then text.

        The DataFrame has at least the columns that are used, in any order. A missing column, or a
        cell that should be a number or a date and is not, is an error.
        """
        table = self._checked(table)
        return np.hstack([column.encode(table[column.name]) for column in self._used()])

    def get_feature_names_out(self, input_features: Any = None) -> Texts:
        """Name the numbers of a row; `input_features` is ignored."""
        check_is_fitted(self, "columns_")
        names = [name for column in self._used() for name in column.feature_names]
        return np.array(names, dtype=object)

    def _add_up(self, values: Floats) -> tuple[Texts, Floats]:
        """Add up values, one for each number of an encoded row, by their column of the table."""
        used = self._used()
        starts = np.cumsum([0, *(len(column.feature_names) for column in used)])[:-1]
        names = np.array([column.name for column in used], dtype=object)
        return names, np.add.reduceat(values, starts, axis=-1)

    @property
    def n_features_out_(self) -> int:
        """The number of columns of the encoded rows."""
        return len(self.get_feature_names_out())

    def _checked(self, table: Any) -> Any:
        check_is_fitted(self, "columns_")
        table = as_table(table)
        missing = [repr(column.name) for column in self._used() if column.name not in table]
        if missing:
            raise InvalidInputError(
                f"The table lacks {len(missing)} column{'s' * (len(missing) > 1)}: "
                f"{', '.join(missing)}."
            )
        return table

    def unseen(self, table: Any) -> dict[str, int]:
        """Count the rows whose category is unknown and encoded as zeros, by column."""
        table = self._checked(table)
        counts = {}
        for column in self._used():
            if column.kind == "category":
                words = column._words(table[column.name]).dropna()
                new = ~words.isin([*column.categories, *column.rare])
                counts[column.name] = int(new.sum())
        return {name: count for name, count in counts.items() if count}

    def missing(self, table: Any) -> dict[str, int]:
        """Count the rows whose cell is missing, by column."""
        counts = self._is_missing(table).sum(axis=0).tolist()
        names = (column.name for column in self._used())
        return {name: count for name, count in zip(names, counts, strict=True) if count}

    def _is_missing(self, table: Any) -> Bools:
        table = self._checked(table)
        return np.column_stack([column.is_missing(table[column.name]) for column in self._used()])

    def _used(self) -> list[Column]:
        used = [column for column in self.columns_ if column.kind != "unused"]
        return sorted(used, key=lambda column: ORDER[column.kind])
