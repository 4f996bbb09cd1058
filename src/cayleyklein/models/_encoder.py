"""From the columns of a table to numbers: imputed, scaled, one-hot encoded, and said out loud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from cayleyklein._validation import as_count, require
from cayleyklein.exceptions import InvalidInputError

__all__ = ["ColumnUse", "TableEncoder"]

IDENTIFIER_FROM = 10
"""Rows from which a text column that never repeats a value is taken for an identifier."""

STRIP = 16384
"""Rows encoded at a time, so that what is needed on the way stays small."""


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
    """

    name: str
    kind: str
    n_missing: int
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class TableEncoder(TransformerMixin, BaseEstimator):
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
    transformer_ : ColumnTransformer
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
        kinds = {str(name): kind_of(table[name]) for name in table.columns}
        numbers = [name for name, (kind, _) in kinds.items() if kind == "number"]
        categories = [name for name, (kind, _) in kinds.items() if kind == "category"]
        if not numbers and not categories:
            reasons = "; ".join(f"{name}: {why}" for name, (_, why) in kinds.items())
            raise InvalidInputError(f"No column of the table can be used ({reasons}).")
        self.numbers_, self.categories_ = numbers, categories
        self.transformer_ = new_transformer(numbers, categories, most)
        self.transformer_.fit(prepared(table, numbers, categories))
        self.n_features_out_ = self._strip(table.iloc[:1]).shape[1]
        self.uses_ = [self._use(name, *kinds[name], table[name]) for name in kinds]
        return self

    def transform(self, table: Any) -> NDArray[np.float64]:
        """Return rows of numbers.

        Parameters
        ----------
        table : pandas.DataFrame
            With at least the columns that are used, in any order.

        Returns
        -------
        ndarray of shape (n, n_features_out_)
        """
        check_is_fitted(self, "transformer_")
        table = as_table(table)
        self.check_columns(list(table.columns))
        encoded = np.empty((len(table), self.n_features_out_))
        for start in range(0, len(table), STRIP):
            strip = slice(start, start + STRIP)
            encoded[strip] = self._strip(table.iloc[strip])
        return encoded

    def _strip(self, table: Any) -> Any:
        return self.transformer_.transform(prepared(table, self.numbers_, self.categories_))

    @property
    def used_(self) -> list[str]:
        """The names of the columns that are used."""
        check_is_fitted(self, "transformer_")
        return [*self.numbers_, *self.categories_]

    def check_columns(self, names: list[str]) -> list[str]:
        """Raise for names that are missing; return those that are not used.

        Those that were there and left out when this was fitted are not among them.
        """
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
        """
        check_is_fitted(self, "transformer_")
        table = as_table(table)
        ready = prepared(table, [], self.categories_)
        counts = {
            name: int((~ready[name].isin(known) & ready[name].notna()).sum())
            for name, known in self._known_categories().items()
        }
        return {name: count for name, count in counts.items() if count}

    def _known_categories(self) -> dict[str, list[str]]:
        if not self.categories_:
            return {}
        encoder = self.transformer_.named_transformers_["categories"].named_steps["encode"]
        return dict(zip(self.categories_, map(list, encoder.categories_), strict=True))

    def _use(self, name: str, kind: str, why: str, values: Any) -> ColumnUse:
        n_missing = int(missing_in(values).sum())
        if kind == "unused":
            return ColumnUse(name, kind, n_missing, f"not used: {why}")
        place = (self.numbers_ if kind == "number" else self.categories_).index(name)
        group = "numbers" if kind == "number" else "categories"
        steps = self.transformer_.named_transformers_[group].named_steps
        fill = steps["impute"].statistics_[place]
        if kind == "number":
            filled = imputed(n_missing, f"the median, {fill:.6g}")
            return ColumnUse(name, kind, n_missing, f"number; {filled}standardised")
        known = self._known_categories()[name]
        rare = steps["encode"].infrequent_categories_[place]
        shown = ", ".join(v for v in known if rare is None or v not in rare)
        together = "" if rare is None else f", and one for the {len(rare)} rarest"
        filled = imputed(n_missing, f"the most frequent, {fill}")
        text = f"{len(known)} categories; {filled}one column for each of {shown}{together}"
        return ColumnUse(name, kind, n_missing, text)


def imputed(n_missing: int, fill: str) -> str:
    """Write what becomes of missing values, if there are any."""
    if not n_missing:
        return ""
    return f"{n_missing} missing value{'s become' if n_missing > 1 else ' becomes'} {fill}; "


def new_transformer(numbers: list[str], categories: list[str], most: int) -> ColumnTransformer:
    """Return the steps for both kinds of columns."""
    number_steps = Pipeline(
        [
            ("impute", SimpleImputer(strategy="median", copy=False)),
            ("scale", StandardScaler(copy=False)),
        ]
    )
    category_steps = Pipeline(
        [
            ("impute", SimpleImputer(strategy="most_frequent")),
            (
                "encode",
                OneHotEncoder(handle_unknown="ignore", max_categories=most, sparse_output=False),
            ),
        ]
    )
    parts = [("numbers", number_steps, numbers), ("categories", category_steps, categories)]
    return ColumnTransformer([part for part in parts if part[2]])


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
    return table.rename(columns=str)


def is_number(values: Any) -> bool:
    """Say whether a column holds numbers; booleans are categories."""
    pandas = require("pandas", "cli")
    types = pandas.api.types
    return bool(types.is_numeric_dtype(values) and not types.is_bool_dtype(values))


def missing_in(values: Any) -> NDArray[np.bool_]:
    """Say which values are missing; an infinite number is no value either."""
    missing = values.isna().to_numpy()
    if is_number(values):
        missing = missing | np.isinf(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(missing)


def kind_of(values: Any) -> tuple[str, str]:
    """Return the kind of a column, and why it is not used if it is not."""
    known = values[~missing_in(values)]
    distinct = known.nunique()
    if distinct == 0:
        return "unused", "every value is missing"
    if distinct == 1:
        return "unused", f"every value is {known.iloc[0]}"
    if is_number(values):
        return "number", ""
    if distinct == len(known) and len(known) >= IDENTIFIER_FROM:
        return "unused", "text that never repeats, an identifier"
    return "category", ""


def prepared(table: Any, numbers: list[str], categories: list[str]) -> Any:
    """Return the columns that are used: floats and strings, with NaN where missing."""
    pandas = require("pandas", "cli")
    ready = {}
    for name in numbers:
        ready[name] = as_floats(table[name])
    for name in categories:
        values = table[name]
        texts = values.astype("str").to_numpy(dtype=object)
        texts[values.isna().to_numpy()] = np.nan
        ready[name] = pandas.Series(texts, dtype=object)
    return pandas.DataFrame(ready, copy=False)


def as_floats(values: Any) -> NDArray[np.float64]:
    """Return a column of numbers as floats, or say which row has none."""
    pandas = require("pandas", "cli")
    if not is_number(values):
        numbers = pandas.to_numeric(values.astype("str"), errors="coerce")
        wrong = numbers.isna() & values.notna() & (values.astype("str").str.lower() != "nan")
        if wrong.any():
            row = int(np.flatnonzero(wrong.to_numpy())[0])
            raise InvalidInputError(
                f"Column {values.name!r} should hold numbers, but row {row + 1} has "
                f"{str(values.iloc[row])!r}."
            )
        values = numbers
    floats = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
    floats[np.isinf(floats)] = np.nan
    return floats
