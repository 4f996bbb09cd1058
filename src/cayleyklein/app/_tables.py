"""Tables to learn from: the bundled data sets, and uploads, which are read as data only."""

from __future__ import annotations

import csv
import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein import datasets
from cayleyklein._validation import as_choice
from cayleyklein.exceptions import InvalidInputError

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
    """Labelled rows: X of shape (n, d), a class's number for each, and all the names."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.intp]
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    source: Source | None = None


class Source(NamedTuple):
    """How an uploaded file is to be read again: what parts its cells, and where they are.

    ``gaps`` says whether there are rows of empty cells to be left out.
    """

    delimiter: str
    header: bool
    gaps: bool
    features: tuple[int, ...]
    label: int


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
    r"""Read a table of numbers with one column of classes.

    Parameters
    ----------
    text : str
        Cells parted by commas, semicolons or tabs. A first line that is not all numbers names the
        columns. The classes are in the column called class, label, target, species or y, or in
        the last one.
    name : str
        Of the file, for messages.

    Raises
    ------
    InvalidInputError
        Naming the row and the column of what is not a number.

    Examples
    --------
    >>> table = read_table("a,b,kind\n1,2,x\n3,4,y\n5,6,x\n0,1,y\n", "small.csv")
    >>> table.X.shape, table.classes, table.columns
    ((4, 2), ('x', 'y'), ('a', 'b'))
    """
    full_name, name = name[:MOST_NAME], name[:SHOWN]
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise InvalidInputError(f"{name} is larger than {MOST_BYTES:,} bytes, the most read here.")
    if "\0" in text:
        raise InvalidInputError(f"{name} is no text: it holds zero bytes. Give a CSV file.")
    delimiter, lines = _split(text, name)
    rows = [row for row in lines if any(cell.strip() for cell in row)]
    gaps = any(len(row) > 1 and not any(cell.strip() for cell in row) for row in lines)
    if not rows:
        raise InvalidInputError(f"{name} is empty.")
    header = not all(_is_number(cell) for cell in rows[0][:-1]) or (
        len(rows) > 1 and _is_number(rows[1][-1]) and not _is_number(rows[0][-1])
    )
    width = len(rows[0])
    names = rows[0] if header else [f"x{i + 1}" for i in range(width)]
    body = rows[1:] if header else rows
    _check_size(body, width, name, 2 if header else 1)
    label = _label_column(names) if header else width - 1
    features = tuple(i for i in range(width) if i != label)
    X = _numbers(body, features, names, 2 if header else 1)
    labels = [row[label].strip() for row in body]
    classes, y = np.unique(labels, return_inverse=True)
    _check_classes(classes, y, names[label])
    return Table(
        full_name,
        X,
        y.astype(np.intp),
        tuple(names[i].strip() or f"x{i + 1}" for i in features),
        tuple(classes.tolist()),
        Source(delimiter, header, gaps, features, label),
    )


def _split(text: str, name: str) -> tuple[str, list[list[str]]]:
    file = io.StringIO(text.lstrip("\ufeff"), newline=None)  # whatever ends its lines
    delimiter = max(",;\t", key=file.readline().count)
    file.seek(0)
    try:
        return delimiter, list(csv.reader(file, delimiter=delimiter))
    except csv.Error as error:
        raise InvalidInputError(f"{name} cannot be read as CSV: {error}.") from error


def _check_size(body: list[list[str]], width: int, name: str, first: int) -> None:
    if width < 3:
        raise InvalidInputError(
            f"{name} has {width} columns; expected two columns of numbers or more, and one of "
            f"classes."
        )
    if width > MOST_COLUMNS:
        raise InvalidInputError(f"{name} has {width} columns; {MOST_COLUMNS} are the most.")
    if len(body) > MOST_ROWS:
        raise InvalidInputError(
            f"{name} has {len(body):,} rows; {MOST_ROWS:,} are the most. Take a sample."
        )
    for number, row in enumerate(body, start=first):
        if len(row) != width:
            raise InvalidInputError(
                f"Row {number} of {name} has {len(row)} cells, and the first has {width}."
            )


def _label_column(names: list[str]) -> int:
    lowered = [name.strip().lower() for name in names]
    return next((lowered.index(n) for n in LABEL_NAMES if n in lowered), len(names) - 1)


def _numbers(
    body: list[list[str]], features: tuple[int, ...], names: list[str], first: int
) -> NDArray[np.float64]:
    try:
        return np.array([[_number(row[column]) for column in features] for row in body])
    except ValueError:
        i, column = next(
            (i, c) for i, row in enumerate(body) for c in features if not _is_number(row[c])
        )
    raise InvalidInputError(
        f"Row {first + i}, column {names[column][:SHOWN]!r}: {body[i][column][:SHOWN]!r} is not a "
        f"number within ±{LARGEST:g}. Remove or fill such rows."
    )


def _number(cell: str) -> float:
    value = float(cell)
    if not abs(value) <= LARGEST:
        raise ValueError(cell)
    return value


def _is_number(cell: str) -> bool:
    try:
        _number(cell)
    except ValueError:
        return False
    return True


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
