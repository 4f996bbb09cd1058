"""The column to predict: classes or numbers."""

import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import AnyArray
from cayleyklein._validation import as_choice, as_text, require
from cayleyklein.columns import guessing, uses
from cayleyklein.columns.parsing import CellFormat, as_words
from cayleyklein.columns.unreadable import odd_cells, told
from cayleyklein.exceptions import InvalidInputError, UnreadableCellsWarning


class TargetColumn(NamedTuple):
    """The name of a column to predict, its task, and how its numbers are written."""

    name: str
    task: str
    cells: CellFormat = CellFormat()

    @classmethod
    def find(cls, table: Any, name: str, task: str = "auto") -> "TargetColumn":
        """Recognise the task: numbers to predict, unless they are few or number the classes."""
        uses.check_name(as_text(name, "target"), table)
        words = as_words(table[name].dropna())
        if as_choice(task, "task", ("auto", "class", "number")) == "auto":
            task = "number" if _is_quantity(words, name) else "class"
        if not len(words):
            what = "classes" if task == "class" else "numbers"
            raise InvalidInputError(f"Column {name!r} has no {what}: every value is missing.")
        if task == "class":
            return cls(name, task)
        with warnings.catch_warnings():  # the format says what was guessed
            warnings.simplefilter("ignore")
            cells = guessing.find_formats(table[[name]], {name: "number"})[name]
            if "decimal comma" in cells.guess:  # the other columns may show which it is
                cells = guessing.find_formats(table, {name: "number"})[name]
        return cls(name, task, cells)

    def split(self, table: Any) -> tuple[Any, AnyArray, int]:
        """Return the rows that have a target, their targets, and the number of rows without."""
        uses.check_name(self.name, table)
        target: AnyArray
        if self.task == "number":
            values = table[self.name]
            target, odd = self.cells.read(values)
            if odd.any():
                said = told({self.name: odd_cells(values, self.cells, odd)})
                warnings.warn(said, UnreadableCellsWarning, stacklevel=2)
            known = ~np.isnan(target)
            target = target[known]
        else:
            known = table[self.name].notna().to_numpy()
            words = as_words(table[self.name][known])
            codes, distinct = require("pandas", "cli").factorize(words)
            names = [re.sub(r"^([-+]?\d+)\.0\Z", r"\1", text) for text in distinct]
            target = np.array(names, dtype=object)[codes]
        rows = table.drop(columns=self.name)
        return (rows if known.all() else rows[known]), target, int((~known).sum())


def _is_quantity(words: Any, name: str) -> bool:
    """Say whether a column holds quantities, rather than the numbers of classes.

    Quantities have more than ten different values, which do not just count from 0 or 1 with five
    rows each.
    """
    kind, numbers = guessing.quantities(words)
    if len(numbers) <= 10:
        return False
    if kind == "date":
        said = f"Column {name!r} holds {len(numbers)} distinct dates, neither classes nor numbers"
        remedy = "choose another column, or take each date as a class (--task class)."
        raise InvalidInputError(f"{said}; {remedy}")
    counts_up = np.array_equal(numbers - numbers[0], np.arange(len(numbers)))
    if counts_up and numbers[0] in (0, 1):
        return bool(words.value_counts().min() < 5)
    return True


def split_target(table: Any, target: str, *, task: str = "class") -> tuple[Any, AnyArray, int]:
    """Take the column to predict out of a table.

    Parameters
    ----------
    table : pandas or polars DataFrame
        Table with the column to predict.
    target : str
        The column of classes or numbers.
    task : {"class", "number", "auto"}, default="class"
        What it holds. "auto" takes numbers as classes if there are at most ten, or if they count
        from 0 or 1 with five rows each.

    Returns
    -------
    rows : pandas.DataFrame
        The other columns of the rows that have a target.
    targets : ndarray of str or float
        Classes as text, a whole number without its ".0"; or numbers.
    n_dropped : int
        Rows without a target.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "kind": [1.0, 2.0, None]})
    >>> split_target(table, "kind")[1:], split_target(table, "kind", task="number")[1:]
    ((array(['1', '2'], dtype=object), 1), (array([1., 2.]), 1))
    """
    table = uses.as_table(table)
    return TargetColumn.find(table, target, task).split(table)
