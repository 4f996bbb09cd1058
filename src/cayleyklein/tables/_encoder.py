"""One estimator from the columns of a table to rows of numbers.

scikit-learn imputes and one-hot encodes, and skrub encodes long text. Its `TableVectorizer` is not
used: it makes 32-bit floats of numbers, which has two timestamps of one minute coincide, and
unreadable cells missing without a word.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from cayleyklein._validation import as_count, as_texts, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._cells import as_words
from cayleyklein.tables._columns import Column, as_table, infer_columns
from cayleyklein.tables._dates import as_timestamps

__all__ = ["TableEncoder"]

TEXT_COMPONENTS = 10
"""Numbers that a column of long text becomes."""


class TableEncoder(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn a table into rows of numbers.

    Numbers keep their values, and dates become days since 1970; missing ones become the median.
    Categories are one-hot encoded, rare ones together, and a missing one becomes the most
    frequent. Long text becomes its leading components (skrub's ``StringEncoder``). Columns without
    information are left out: constants, empty columns, and identifiers.

    Parameters
    ----------
    max_categories : int, default=20
        Most numbers that a column of categories becomes.
    kinds : mapping of str to str, optional
        What columns are where the guess is wrong: "number", "category", "date" or "text"; "date"
        also with a format, such as "date:%d/%m/%Y".
    drop : collection of str, default=()
        Columns to leave out.

    Attributes
    ----------
    columns_ : list of Column
        What became of each column of the table.
    n_features_out_ : int

    Warns
    -----
    UserWarning
        For cells that are no numbers in a column of numbers, and for dates and numbers that can be
        read in two ways.

    Examples
    --------
    >>> import pandas as pd
    >>> from cayleyklein.tables import TableEncoder
    >>> table = pd.DataFrame(
    ...     {
    ...         "price": ["$1,200.50", None, "$80"],
    ...         "colour": ["red", "blue", "red"],
    ...         "sold": ["2024-02-28", "2024-03-01", "2024-03-02"],
    ...     }
    ... )
    >>> encoder = TableEncoder().fit(table)
    >>> for column in encoder.columns_:
    ...     print(column)
    price: number in $; 1 missing cell becomes the median, 640.25
    colour: 2 categories, one number for each of blue, red
    sold: date as days, 2024-02-28 to 2024-03-02
    >>> encoder.transform(table)
    array([[1.2005e+03, 1.9781e+04, 0.0000e+00, 1.0000e+00],
           [6.4025e+02, 1.9783e+04, 1.0000e+00, 0.0000e+00],
           [8.0000e+01, 1.9784e+04, 0.0000e+00, 1.0000e+00]])

    Columns are found by their names, and a cell that cannot be read is refused:

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

    def fit(self, table: Any, y: Any = None) -> TableEncoder:
        """Decide what becomes of each column, and fit its encoding.

        Parameters
        ----------
        table : pandas.DataFrame
        y : ignored
        """
        table = as_table(table)
        most = as_count(self.max_categories, "max_categories")
        if not len(table.columns):
            raise InvalidInputError("The table has no column to learn from.")
        columns = infer_columns(table, self.kinds, self.drop)
        texts = {c.name: fitted_text(table[c.name]) for c in columns if c.kind == "text"}
        columns = [
            replace(c, kind="unused", text="not used: text without words")
            if c.kind == "text" and texts[c.name] is None
            else c
            for c in columns
        ]
        if all(column.kind == "unused" for column in columns):
            reasons = "; ".join(str(c).replace("not used: ", "") for c in columns)
            raise InvalidInputError(f"No column of the table can be used ({reasons}).")
        numbers = [c for c in columns if c.kind in ("number", "date")]
        categories = [c for c in columns if c.kind == "category"]
        imputer = SimpleImputer(strategy="median")
        one_hot = make_pipeline(
            SimpleImputer(strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore", max_categories=most, sparse_output=False),
        )
        fitted = copy(self)
        fitted.imputer_ = imputer.fit(floats_of(table, numbers)) if numbers else None
        fitted.one_hot_ = one_hot.fit(words_of(table, categories)) if categories else None
        fitted.texts_ = {name: encoder for name, encoder in texts.items() if encoder is not None}
        fitted.columns_ = columns
        fitted.columns_ = [fitted._described(column, table) for column in columns]
        self.__dict__.update(fitted.__dict__)  # at once: an interrupted fit changes nothing
        return self

    def transform(self, table: Any) -> NDArray[np.float64]:
        """Return rows of numbers: numbers and dates, then categories, then text.

        Parameters
        ----------
        table : pandas.DataFrame
            With at least the columns that are used, in any order.

        Returns
        -------
        ndarray of shape (n, ``n_features_out_``)

        Raises
        ------
        InvalidInputError
            For a missing column, and for a cell that is no number, or date, where one should be.
        """
        check_is_fitted(self, "columns_")
        table = as_table(table)
        self.check_columns(list(table.columns))
        blocks = []
        if self.imputer_ is not None:
            blocks.append(self.imputer_.transform(floats_of(table, self._used("number", "date"))))
        if self.one_hot_ is not None:
            with warnings.catch_warnings():  # unseen categories are counted by `unseen`
                warnings.filterwarnings("ignore", message="Found unknown categories")
                blocks.append(self.one_hot_.transform(words_of(table, self._used("category"))))
        for name, encoder in self.texts_.items():
            blocks.append(encoder.transform(filled(table[name])).to_numpy(dtype=np.float64))
        return np.hstack(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the numbers of a row.

        Parameters
        ----------
        input_features : None
            Ignored.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"colour": ["red", "blue", "red"], "length": [1.0, 2.5, 3.0]})
        >>> TableEncoder().fit(table).get_feature_names_out()
        array(['length', 'colour=blue', 'colour=red'], dtype=object)
        """
        check_is_fitted(self, "columns_")
        names = [column.name for column in self._used("number", "date")]
        for column, known, rare in self._categories():
            names += [f"{column.name}={value}" for value in known if value not in rare]
            names += [f"{column.name}=(rare)"] * bool(rare)
        for name, encoder in self.texts_.items():
            names += [f"{name}[{i}]" for i in range(encoder.n_components_)]
        return np.array(names, dtype=object)

    @property
    def n_features_out_(self) -> int:
        """The number of columns of the encoded rows."""
        return len(self.get_feature_names_out())

    def check_columns(self, names: Sequence[str]) -> list[str]:
        """Raise for missing columns; return the names that were not in the fitted table.

        Parameters
        ----------
        names : sequence of str

        Examples
        --------
        >>> import pandas as pd
        >>> encoder = TableEncoder().fit(pd.DataFrame({"length": [1.0, 2.5]}))
        >>> encoder.check_columns(["width"])
        Traceback (most recent call last):
        cayleyklein.exceptions.InvalidInputError: The table lacks 1 column: 'length'.
        """
        check_is_fitted(self, "columns_")
        names = as_texts(names, "names")
        missing = [c.name for c in self.columns_ if c.kind != "unused" and c.name not in names]
        if missing:
            raise InvalidInputError(
                f"The table lacks {len(missing)} column{'s' * (len(missing) > 1)}: "
                f"{', '.join(map(repr, missing))}."
            )
        known = {column.name for column in self.columns_}
        return [name for name in names if name not in known]

    def unseen(self, table: Any) -> dict[str, int]:
        """Count the rows whose category was not in the fitted table, by column.

        Such a category is encoded as zeros.

        Parameters
        ----------
        table : pandas.DataFrame

        Examples
        --------
        >>> import pandas as pd
        >>> encoder = TableEncoder().fit(pd.DataFrame({"colour": ["red", "blue", "red"]}))
        >>> encoder.unseen(pd.DataFrame({"colour": ["green", "red"]}))
        {'colour': 1}
        """
        table = as_table(table)
        self.check_columns(list(table.columns))
        counts = {}
        for column, known, _ in self._categories():
            words = as_words(table[column.name]).dropna()
            counts[column.name] = int((~words.isin(known)).sum())
        return {name: count for name, count in counts.items() if count}

    def _used(self, *kinds: str) -> list[Column]:
        return [column for column in self.columns_ if column.kind in kinds]

    def _categories(self) -> list[tuple[Column, list[str], list[str]]]:
        """Return the columns of categories, with their values and the rare ones among them."""
        if self.one_hot_ is None:
            return []
        encoder = self.one_hot_[-1]
        rare = encoder.infrequent_categories_
        return [
            (column, known.tolist(), [] if few is None else few.tolist())
            for column, known, few in zip(
                self._used("category"), encoder.categories_, rare, strict=True
            )
        ]

    def _described(self, column: Column, table: Any) -> Column:
        """Say in words what is done to a column."""
        if column.kind == "number":
            unit = f" in {column.cells.unit}" if column.cells.unit else ""
            median = self.imputer_.statistics_[self._used("number", "date").index(column)]
            text = f"number{unit}{imputed(column, f'the median, {median:.6g}')}"
        elif column.kind == "date":
            days = column.cells.floats(table[column.name])
            first, last, median = as_timestamps(
                np.array([np.nanmin(days), np.nanmax(days), np.nanmedian(days)])
            ).astype("M8[D]")
            if np.nanmin(days) >= 0 and np.nanmax(days) < 1:
                text = f"time as part of a day{imputed(column, 'the median')}"
            else:
                text = f"date as days, {first} to {last}{imputed(column, f'the median, {median}')}"
        elif column.kind == "category":
            place = self._used("category").index(column)
            _, known, rare = self._categories()[place]
            shown = [value for value in known if value not in rare]
            listed = ", ".join(shown[:20]) + ", …" * (len(shown) > 20)
            together = f", and one for the {len(rare)} rarest" if rare else ""
            frequent = self.one_hot_[0].statistics_[place]
            text = f"{len(known)} categories, one number for each of {listed}{together}"
            text += imputed(column, f"the most frequent, {frequent}")
        elif column.kind == "text":
            text = f"text as {self.texts_[column.name].n_components_} numbers"
        else:
            return column
        return replace(column, text=text + f"; {column.cells.guess}" * bool(column.cells.guess))


def imputed(column: Column, fill: str) -> str:
    """Write what becomes of missing cells, if there are any."""
    n = column.n_missing
    return f"; {n} missing cell{'s become' if n > 1 else ' becomes'} {fill}" if n else ""


def floats_of(table: Any, columns: Sequence[Column]) -> NDArray[np.float64]:
    """Return the cells of columns of numbers and dates."""
    return np.column_stack([column.cells.floats(table[column.name]) for column in columns])


def words_of(table: Any, columns: Sequence[Column]) -> NDArray[np.object_]:
    """Return the cells of columns of categories; NaN where missing."""
    words = [as_words(table[column.name]).astype(object) for column in columns]
    return np.column_stack([values.where(values.notna(), np.nan).to_numpy() for values in words])


def filled(values: Any) -> Any:
    """Return a column of text without missing cells."""
    return as_words(values).fillna("")


def fitted_text(values: Any) -> Any:
    """Return an encoder of long text, or None where it finds no words."""
    encoder = require("skrub", "cli").StringEncoder(TEXT_COMPONENTS, random_state=0)
    with warnings.catch_warnings():  # few rows have fewer components
        warnings.filterwarnings("ignore", message="The matrix shape is")
        try:
            encoder.fit_transform(filled(values))
        except ValueError:  # an empty vocabulary
            return None
    return encoder
