"""The column to predict: found by its name, and checked to hold classes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import as_text, did_you_mean, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables._cells import as_words
from cayleyklein.tables._columns import as_table

__all__ = ["split_target"]

FEW_CLASSES, ROWS_PER_CLASS = 10, 5
"""Up to so many distinct numbers are classes; more are if whole, and with so many rows for each."""

WHOLE = re.compile(r"[-+]?\d+\.0")


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
