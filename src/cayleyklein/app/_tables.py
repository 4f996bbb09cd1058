"""Tables to learn from: the bundled data sets, and uploads, which are read as data only."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein import datasets
from cayleyklein._validation import as_choice, require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableEncoder, iter_table, split_target

__all__ = ["BUNDLED", "MOST_BYTES", "Table", "bundled_table", "read_table"]

BUNDLED = ("wine", "balance", "vowel", "pima", "sonar")

MOST_BYTES = 1_000_000
MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 3000, 100, 20

LABEL_NAMES = ("class", "label", "target", "species", "y")
"""A column of such a name holds the classes; without one it is the last."""

LARGEST = 1e100
"""Of a number's size; the squares of larger ones may overflow."""

SHOWN, MOST_NAME = 30, 255
"""Characters of a cell that an error quotes, and of a file's name."""


class Table(NamedTuple):
    """Labelled rows: X of shape (n, d), the position of each row's class, and the names."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.intp]
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    code: str = ""
    notes: tuple[str, ...] = ()


def bundled_table(name: str) -> Table:
    """Return a data set of the library.

    >>> bundled_table("wine").X.shape
    (178, 13)
    """
    loaded: Any = getattr(datasets, f"load_{as_choice(name, 'data', BUNDLED)}")()
    return Table(
        name,
        loaded.data,
        loaded.target.astype(np.intp),
        tuple(loaded.feature_names),
        tuple(str(label) for label in loaded.target_names),
    )


def read_table(text: str, name: str) -> Table:
    r"""Read an upload as `cayleyklein fit` reads a file.

    Parameters
    ----------
    text : str
        A table in text, see :func:`cayleyklein.tables.read_table`; without a line of names the
        columns are x1, x2, … The classes are in the column called class, label, target, species or
        y, or else in the last one.
    name : str
        The name of the file, for messages.

    Examples
    --------
    >>> table = read_table("a,b,kind\n1,2,x\n3,4,y\n5,6,x\n0,1,y\n", "small.csv")
    >>> table.X.shape, table.classes, table.columns
    ((4, 2), ('x', 'y'), ('a', 'b'))
    """
    pandas = require("pandas", "cli")
    full_name, name = name[:MOST_NAME], name[:SHOWN]
    file = io.BytesIO(text.encode("utf-8", "replace"))
    if file.getbuffer().nbytes > MOST_BYTES:
        raise InvalidInputError(f"{name} is larger than {MOST_BYTES:,} bytes, the most read here.")
    file.name = name
    header = _has_header(text)
    table = pandas.concat(list(iter_table(file, header=header)))
    label = _label_column(list(table.columns))
    if len(table.columns) > MOST_COLUMNS or len(table) > MOST_ROWS:
        raise InvalidInputError(
            f"{name} has {len(table):,} rows and {len(table.columns)} columns; {MOST_ROWS:,} rows "
            f"and {MOST_COLUMNS} columns are the most. Take a sample."
        )
    rows, labels, n_unlabelled = split_target(table, label)
    classes, y = np.unique(labels, return_inverse=True)
    _check_classes(classes, y, label)
    with warnings.catch_warnings():  # the columns say what was guessed
        warnings.simplefilter("ignore")
        encoder = TableEncoder().fit(rows)
    X = encoder.transform(rows)
    notes = [str(column) for column in encoder.columns_ if not column.is_plain]
    if X.shape[1] < 2:
        said = f" ({'; '.join(notes)})" if notes else ""
        raise InvalidInputError(f"{name} has one column that can be used{said}; two are needed.")
    if np.abs(X).max() > LARGEST:
        raise InvalidInputError(f"{name} has numbers beyond ±{LARGEST:g}; rescale them.")
    if n_unlabelled:
        notes.append(f"{n_unlabelled} rows without a class in {label!r} are left out")
    options = f"text=[{label!r}]" + ("" if header else ", header=False")
    code = f"rows, y, _ = split_target(read_table({full_name!r}, {options}), {label!r})"
    columns = tuple(map(str, encoder.get_feature_names_out()))
    return Table(full_name, X, y, columns, tuple(map(str, classes)), code, tuple(notes))


def _has_header(text: str) -> bool:
    """Say whether the first line holds names: its cells, but for a class, are not all numbers."""
    first = text.lstrip("\ufeff \r\n").splitlines()[:1]
    cells = re.split("[,;\t]", first[0]) if first else []
    return sum(map(_is_number, cells)) < max(len(cells) - 1, 1)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _label_column(names: list[str]) -> str:
    lowered = [name.lower() for name in names]
    return next((names[lowered.index(n)] for n in LABEL_NAMES if n in lowered), names[-1])


def _check_classes(classes: NDArray[Any], y: NDArray[Any], name: str) -> None:
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise InvalidInputError(
            f"Column {name[:SHOWN]!r} has {len(classes)} classes; expected 2 to {MOST_CLASSES}."
        )
    counts = np.bincount(y)
    if counts.min() < 2:
        raise InvalidInputError(
            f"Class {str(classes[counts.argmin()])[:SHOWN]!r} has a single row; each needs two, "
            f"one to learn from and one to be tested on."
        )
