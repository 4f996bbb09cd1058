"""One estimator from the columns of a table to rows of numbers.

A format is found for each column, then a use for it, and then encodings that have to earn their
place are tried on rows that are left out: see `formats`, `uses` and `choices`.
"""

from collections.abc import Collection, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from cayleyklein._estimators import TakesTables, as_weights, check_lengths, naming, restore_on_error
from cayleyklein._typing import Bools, Floats, Texts
from cayleyklein._validation import as_choice, as_count, warn_caller
from cayleyklein.columns import means
from cayleyklein.columns.choices import choose_encodings
from cayleyklein.columns.column import Column
from cayleyklein.columns.gaps import Gaps
from cayleyklein.columns.unreadable import OddCell, odd_cells, told
from cayleyklein.columns.uses import as_table, fit_columns
from cayleyklein.exceptions import InvalidInputError, UnreadableCellsWarning


class TableEncoder(TakesTables, TransformerMixin, BaseEstimator):
    r"""Turn a table into rows of numbers.

    Numbers keep their values, dates become days since 1970, and ordered categories their positions;
    missing ones are imputed by their conditional mean, and gaps that carry information about the
    target are flagged in a column of their own. Up to eight other categories (four for neighbours)
    are one-hot encoded. Of more, each is encoded by its mean target if `fit` gets targets and that
    takes fewer columns; otherwise rare categories share a column. Missing categories are a category
    of their own. Constants without gaps, empty columns, copies and identifiers are left out. All
    columns of an array of numbers are numbers. Cells that are no numbers in a column of numbers,
    and columns that can be read in two ways, give warnings.

    With targets, some encodings are tried, and kept where a small kernel ridge regression predicts
    up to 400 rows better that are left out one by one, by two standard errors: dates by their hour,
    weekday and day of the year, and whole numbers such as hours, also as points of a circle; nine
    categories and more with one number for each; text that hardly ever repeats as ten components of
    its character n-grams. Such text is left out otherwise. Without targets, or with fewer than 60
    different rows, text of four words and more is encoded, and nothing else is tried.

    Parameters
    ----------
    max_categories : int, default=50
        Maximum number of encoded columns for one column of categories.
    kinds : mapping of str to str, optional
        Kinds of columns where the guess is wrong: "number", "category", "text", "date", a date with
        its format, such as "date:%d/%m/%Y", or an order, such as "order:low<middle<high".
    drop : collection of str, default=()
        Columns to leave out.
    errors : {"warn", "raise"}, default="warn"
        What becomes of a cell that cannot be read as those of the fitted column: "warn" takes it
        for a missing one, with one :class:`~cayleyklein.exceptions.UnreadableCellsWarning` that
        counts and shows all; "raise" makes it an error.

    Attributes
    ----------
    columns_ : list of Column
        The encoding of each column of the table.
    gaps_ : object
        How missing numbers are filled.
    n_features_in_, n_features_out_ : int
        Numbers of columns of X and of encoded columns.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of X, if it has names.

    Examples
    --------
    >>> import pandas as pd
    >>> from cayleyklein.tables import TableEncoder
    >>> table = pd.DataFrame({"price": ["$12.50", None, "$8"], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> TableEncoder().fit_transform(table).shape
    (3, 3)
    >>> print(*encoder.columns_, sep="\n")
    price: number in $; 1 missing cell becomes an estimate, about the median, 10.25
    colour: 2 categories, one number for each of blue, red
    >>> encoder.transform(table[:2]).tolist()
    [[12.5, 0.0, 1.0], [10.25, 1.0, 0.0]]
    >>> encoder.encode(encoder.checked_table(table[:1])).tolist()
    [[12.5, 0.0, 1.0]]
    >>> TableEncoder().fit_rows(table, [1.0, 2.0, 3.0], None)[0].tolist()
    [[12.5, 0.0, 1.0], [10.25, 1.0, 0.0], [8.0, 0.0, 1.0]]
    >>> encoder.get_feature_names_out()
    array(['price', 'colour=blue', 'colour=red'], dtype=object)
    >>> other = table.assign(price=["$1", "unknown", None], colour=["green", "red", "red"])
    >>> encoder.missing(other), encoder.unseen(other)
    ({'price': 2}, {'colour': 1})
    >>> [column.name for column in encoder.used_columns], encoder.is_missing(other).tolist()
    (['price', 'colour'], [[False, False], [True, False], [True, False]])
    >>> encoder.by_column(np.array([0.5, 0.2, 0.3]))
    (array(['price', 'colour'], dtype=object), array([0.5, 0.5]))
    >>> encoder.unreadable(table.assign(price="cheap"))["price"][0].text
    'cheap'
    >>> encoder.set_params(errors="raise").transform(table.assign(price="cheap"))
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: Column 'price' should hold a number, but row 1 has
    'cheap'; correct the cell, or leave it empty if it is missing.
    """

    def __init__(
        self,
        *,
        max_categories: int = 50,
        kinds: Mapping[str, str] | None = None,
        drop: Collection[str] = (),
        errors: str = "warn",
    ) -> None:
        self.max_categories = max_categories
        self.kinds = kinds
        self.drop = drop
        self.errors = errors

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Decide how each column is encoded, and fit the encoding.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like
            Table. All columns of an array of numbers are numbers.
        y : array-like of shape (n,), optional
            Classes, or floats for numbers: the targets that many categories are encoded by.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows: a weight of 2 counts as two rows in medians and mean targets.
        """
        self.fit_rows(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
        """Fit, and return the encoded rows, with mean targets of other rows.

        Mean targets in each of five folds come from the other four, so that a row does not reveal
        its own target. `transform` takes the means of all rows.
        """
        return self.fit_rows(X, y, sample_weight)[0]

    def fit_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        typed: bool = False,
        few_levels: int = 8,
    ) -> tuple[Floats, Floats | None]:
        """Fit; return rows to learn from, and to search in where they are others.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like
            Table.
        y : array-like of shape (n,) or None
            Targets, as in :meth:`fit`.
        sample_weight : array-like of shape (n,) or None
            Weights of the rows.
        typed : bool, default=False
            Whether columns of numbers are quantities, and categorical ones categories.
        few_levels : int, default=8
            Number of categories up to which each has a number; of more, each becomes its mean
            target.
        """
        table, targets, weights = self._fit(X, y, sample_weight, typed, few_levels)
        parts = [column.encode(table[column.name]) for column in self.used_columns]
        rows = np.hstack(parts)
        self.gaps_ = Gaps.of(rows, weights, targets)
        if targets is None or not any(column.levels for column in self.used_columns):
            return self.gaps_.fill(rows), None
        folds = means.folds_of(table, targets, weights)
        for at, column in enumerate(self.used_columns):
            if column.levels:
                codes, n_levels = column.places(table[column.name]), len(column.categories)
                parts[at] = means.means_of_others(codes, targets, weights, n_levels, folds)
        return self.gaps_.fill(np.hstack(parts)), self.gaps_.fill(rows)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, typed: bool, few_levels: int
    ) -> tuple[Any, Floats | None, Floats]:
        """Fit; return the table, the targets (n, t) and the weights."""
        as_choice(self.errors, "errors", ("warn", "raise"))
        most, table = as_count(self.max_categories, "max_categories"), as_table(X)
        if not len(table.columns):
            raise InvalidInputError("The table has no column to learn from.")
        if len(table) == 1:
            raise InvalidInputError("The table has one row (n_samples=1); learning needs more.")
        types, implied = dict(table.dtypes), {}  # not of tables, whose numbers may be identifiers
        if typed or (not has_names(X) and all(t.kind in "iuf" for t in types.values())):
            implied = {name: "number" for name, t in types.items() if t.kind in "iuf"}
        implied |= {
            name: "category" for name, t in types.items() if t == "category" and not t.ordered
        }
        if has_names(X):
            self.feature_names_in_ = np.array(table.columns, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)
        targets, weights = None, as_weights(sample_weight, table)
        if y is not None:
            targets = means.as_numbers(np.asarray(check_lengths(self, table, y)))
        if len(table):
            exact = means.row_hashes(table, weights)[0]
            weights = means.observations(exact, targets, weights).weights
        kept = weights > 0
        some = table if kept.all() else table[kept]
        known = None if targets is None else targets[kept]
        numbers = (most, few_levels)
        columns = fit_columns(some, self.kinds, implied, self.drop, numbers, known, weights[kept])
        if targets is not None:
            columns = choose_encodings(columns, table, targets, weights, most)
        if all(column.kind == "unused" for column in columns):
            reasons = "; ".join(str(c).replace("not used: ", "") for c in columns)
            raise InvalidInputError(f"No column of the table can be used ({reasons}).")
        self.columns_, self.n_features_in_ = columns, len(columns)
        return table, targets, weights

    def transform(self, X: Any) -> Floats:
        """Return rows (n, ``n_features_out_``): numbers and dates, then categories, then text.

        A table has at least the columns that are used, in any order; an array has those of the
        fitted one. A missing column is an error. A cell that should be a number or a date and is
        not is missing, with a warning, or an error: see `errors`.
        """
        return self.encode(self.checked_table(X))

    def encode(self, table: Any) -> Floats:
        """Return the rows of a table that :meth:`checked_table` returned."""
        parts = []
        found = {}
        for column in self.used_columns:
            values = table[column.name]
            numbers, odd = column.read(values)
            parts.append(numbers)
            if odd.any():
                found[column.name] = odd_cells(values, column.cells, odd)
        if found and self.errors == "raise":
            name, cells = next(iter(found.items()))
            raise InvalidInputError(cells[0].refusal(name))
        if found:
            warn_caller(told(found), UnreadableCellsWarning)
        return self.gaps_.fill(np.hstack(parts))

    def get_feature_names_out(self, input_features: Any = None) -> Texts:
        """Return the names of the encoded columns.

        `input_features`, if given, must be those of the fit.
        """
        check_is_fitted(self, "columns_")
        with naming("input_features"):
            _check_feature_names_in(self, input_features)
        names = [name for column in self.used_columns for name in column.feature_names]
        names += [f"{names[at]} missing" for at in self.gaps_.telling]
        return np.array(names, dtype=object)

    def by_column(self, values: Floats) -> tuple[Texts, Floats]:
        """Add up values, one for each number of an encoded row, by the columns that are used."""
        used = self.used_columns
        starts = np.cumsum([0, *(len(column.feature_names) for column in used)])[:-1]
        names = np.array([column.name for column in used], dtype=object)
        return names, np.add.reduceat(self.gaps_.add_up(values), starts, axis=-1)

    @property
    def n_features_out_(self) -> int:
        """The number of columns of the encoded rows."""
        return len(self.get_feature_names_out())

    def checked_table(self, X: Any, said: str = "TableEncoder") -> Any:
        """Return X as a table with the columns that are used, or raise.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like
            Table.
        said : str, default="TableEncoder"
            Name of the estimator in messages.
        """
        check_is_fitted(self, "columns_")
        table = as_table(X)
        known = hasattr(self, "feature_names_in_")
        if not has_names(X) or not known:
            if table.shape[1] != self.n_features_in_:
                expected = f"{said} is expecting {self.n_features_in_} features as input"
                raise InvalidInputError(f"X has {table.shape[1]} features, but {expected}.")
            if known != has_names(X):
                has, fitted = ("does not have valid", "with") if known else ("has", "without")
                text = f"X {has} feature names, but {said} was fitted {fitted} feature names"
                warn_caller(text)
            table = table.set_axis([column.name for column in self.columns_], axis=1)
        missing = [repr(column.name) for column in self.used_columns if column.name not in table]
        if missing:
            lacks = f"{len(missing)} column{'s' * (len(missing) > 1)}: {', '.join(missing)}"
            raise InvalidInputError(f"The table lacks {lacks}.")
        return table

    def unseen(self, X: Any) -> dict[str, int]:
        """Count the rows whose category is unknown, encoded as zeros or a median, by column."""
        table = self.checked_table(X)
        named = [column for column in self.used_columns if column.kind in ("category", "ordered")]
        counts = {c.name: int((c.places(table[c.name]) < 0).sum()) for c in named}
        return {name: count for name, count in counts.items() if count}

    def missing(self, X: Any) -> dict[str, int]:
        """Count the rows whose cell is missing, by column."""
        counts = self.is_missing(X).sum(axis=0).tolist()
        names = (column.name for column in self.used_columns)
        return {name: count for name, count in zip(names, counts, strict=True) if count}

    def is_missing(self, X: Any) -> Bools:
        """Return whether each cell (n, `used_columns`) of a table is missing."""
        table = self.checked_table(X)
        return np.column_stack(
            [column.is_missing(table[column.name]) for column in self.used_columns]
        )

    def unreadable(self, X: Any) -> dict[str, list[OddCell]]:
        """Return the cells that cannot be read, with their rows counted from 1, by column."""
        table = self.checked_table(X)
        found = {}
        for column in self.used_columns:
            values = table[column.name]
            odd = column.read(values)[1]
            if odd.any():
                found[column.name] = odd_cells(values, column.cells, odd)
        return found

    @property
    def used_columns(self) -> list[Column]:
        """The columns that are encoded, in the order of their numbers in a row."""
        used = [column for column in self.columns_ if column.kind != "unused"]
        order = {"number": 0, "date": 0, "ordered": 0, "category": 1, "text": 2}
        return sorted(used, key=lambda column: order[column.kind])


def has_names(X: Any) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")
