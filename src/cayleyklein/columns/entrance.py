"""The entrance of predictors: X becomes rows of floats, whatever it holds.

Numbers without gaps pass as they are. An array or a table of numbers with gaps is filled by `Gaps`;
a table with text, categories or dates is encoded by `TableEncoder`.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from cayleyklein._estimators import TakesTables, check_data, check_lengths, naming
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import list_indices, warn_caller
from cayleyklein.columns import gaps, means, uses
from cayleyklein.columns.encoder import TableEncoder
from cayleyklein.columns.unreadable import OddCell, told
from cayleyklein.exceptions import InvalidInputError, UnreadableCellsWarning


class TableInput(TakesTables):
    """Base of estimators that take NaN, text, categories and dates, before BaseEstimator."""

    metric: Any
    encoder_: TableEncoder | gaps.Gaps | None = None
    """How columns became numbers; None where X held numbers without gaps."""
    encoding: TableEncoder | None = None  # how to encode any X
    called: str = ""  # another name in messages
    _given: Any
    few_levels = 4  # categories of a column that have a number each, see `TableEncoder`

    @property
    def fitted_rows(self) -> Any:
        """The rows that were fitted, with their targets and weights."""
        return self._given


def by_column(estimator: TableInput, values: Floats) -> tuple[AnyArray, Floats]:
    """Add up values (…, d), one for each number of a row, by columns of X; with their names."""
    if isinstance(estimator.encoder_, TableEncoder):
        return estimator.encoder_.by_column(values)
    if isinstance(estimator.encoder_, gaps.Gaps):
        values = estimator.encoder_.add_up(values)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = np.array([f"x{j}" for j in range(values.shape[-1])])
    return names, values


def column_shares(estimator: Any, values: Floats) -> Floats:
    """Add up values (d,), one for each number of a row, by columns of X; 0 for unused columns."""
    if not isinstance(estimator, TableInput):
        return values
    names, found = by_column(estimator, values)
    if not isinstance(estimator.encoder_, TableEncoder):
        return found
    shares = dict(zip(names, found, strict=True))
    return np.array([shares.get(column.name, 0.0) for column in estimator.encoder_.columns_])


def wrap(estimator: TableInput, name: str, encoder: TableEncoder | None = None) -> None:
    """Let messages call an estimator by the name of its wrapper, and encode every X as given."""
    estimator.called = name
    estimator.encoding = encoder


def rows_to_fit(estimator: Any, X: Any, y: Any, least_rows: int, reset: bool) -> tuple[Any, Any]:
    """Return checked rows, perhaps with NaN, or a table to encode; and y, whose length is right."""
    takes = isinstance(estimator, TableInput)
    if takes and not reset:
        rows = query_rows(estimator, X)
    elif takes and (estimator.encoding or (estimator.metric is None and holds_words(X))):
        rows = uses.as_table(X)
        with naming("X"):
            validate_data(estimator, X, skip_check_array=True)
    else:
        options: Any = {"ensure_min_samples": least_rows, "reset": reset}
        rows = numbers_with_gaps(estimator, X, **options)
    return rows, check_lengths(estimator, rows, y)


def encoded_rows(
    estimator: Any, X: Any, rows: Any, target: AnyArray, weights: Floats
) -> tuple[Floats, Floats | None]:
    """Fit the encoder of an estimator, if its rows need one; return rows of floats.

    Also rows to search in, where categories became mean targets: the rows to learn from have the
    means of other rows, so that none tells its own target, the rows to search those of all rows, as
    queries have.
    """
    if not isinstance(estimator, TableInput):
        return rows, None
    estimator.encoder_ = None
    if isinstance(rows, np.ndarray):
        if not np.isnan(rows).any():
            return rows, None
        adds = estimator.metric is None  # a metric that is given has its number of columns
        targets = means.as_numbers(target)
        known = means.observations(means.hashes_of_rows(rows), targets, weights)
        estimator.encoder_ = gaps.Gaps.of(rows, known.weights, targets if adds else None)
        return estimator.encoder_.fill(rows), None
    encoder = estimator.encoding
    if encoder is None:
        encoder = TableEncoder()
    typed = estimator.encoding is None
    found = encoder.fit_rows(X, target, weights, typed=typed, few_levels=estimator.few_levels)
    for column in encoder.columns_ if typed else ():
        if column.kind == "unused" and "every cell" not in column.text:
            warn_caller(f"Column {column}.")
    estimator.encoder_ = encoder
    return found


def query_rows(estimator: Any, X: Any) -> Floats:
    """Return rows of a fitted estimator: checked, encoded and without gaps."""
    encoder = getattr(estimator, "encoder_", None)
    if isinstance(encoder, TableEncoder):
        return encoder.encode(query_table(estimator, X))
    takes = isinstance(estimator, TableInput)
    rows = numbers_with_gaps(estimator, X, reset=False)
    if isinstance(encoder, gaps.Gaps):
        return encoder.fill(rows)
    if takes and np.isnan(rows).any():
        given = estimator.fitted_rows
        if not isinstance(getattr(given, "X", None), np.ndarray):
            places = list_indices(np.argwhere(np.isnan(rows)))
            raise InvalidInputError(
                f"X has NaN at (row, column) {places}, which fitted rows in memory would fill, but "
                f"they are on a cluster; fill them first, as sklearn.impute.SimpleImputer does."
            )
        known = means.observations(means.hashes_of_rows(given.X), None, given.weights)
        return gaps.Gaps.of(given.X, known.weights).fill(rows)
    return rows


def query_table(estimator: Any, X: Any) -> Any:
    """Return X as a table with the columns that the encoder of a fitted estimator uses."""
    return estimator.encoder_.checked_table(X, estimator.called or type(estimator).__name__)


def numbers_with_gaps(estimator: Any, X: Any, **options: Any) -> Floats:
    """Return checked rows; where NaN are taken, infinite numbers are NaN, with a warning."""
    takes = isinstance(estimator, TableInput)
    rows: Floats = check_data(estimator, X, order="C", ensure_all_finite=not takes, **options)
    infinite = np.isinf(rows) if takes else np.zeros(0, dtype=bool)
    if not infinite.any():
        return rows
    has_names = hasattr(X, "columns")
    found = {}
    for j in np.flatnonzero(infinite.any(axis=0)).tolist():
        name = str(X.columns[j]) if has_names else f"x{j}"
        places = np.flatnonzero(infinite[:, j]).tolist()
        found[name] = [OddCell(i + 1, str(rows[i, j]), "a finite number", "") for i in places]
    warn_caller(told(found), UnreadableCellsWarning)
    return np.where(infinite, np.nan, rows)


def holds_words(X: Any) -> bool:
    """Say whether X is a table, or a 2-d array, with other things than numbers."""
    if hasattr(X, "toarray") or isinstance(X, np.ma.MaskedArray):
        return False
    if hasattr(X, "column_names"):  # of PyArrow
        X = X.to_pandas()
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return not all(  # polars, or pandas
            dtype.is_numeric() or str(dtype) == "Boolean"
            if hasattr(dtype, "is_numeric")
            else dtype.kind in "iufbc"
            for dtype in X.dtypes
        )
    try:
        array = np.asarray(X)
    except ValueError:  # unequal lengths
        return False
    if array.ndim != 2 or array.dtype.kind not in "OUSM":
        return False
    try:
        array.astype(np.float64)
    except (TypeError, ValueError):
        return True
    return array.dtype.kind != "O"
