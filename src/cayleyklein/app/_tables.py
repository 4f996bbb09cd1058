"""Tables to learn from: bundled data sets, points of the plane, and uploads, read as data only."""

import io
import re
import warnings
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from cayleyklein import datasets
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import as_choice, require
from cayleyklein.app._draw import counted
from cayleyklein.app._state import LETTERS, PlaneState
from cayleyklein.datasets import loaders
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableEncoder, iter_table, split_target

MOST_BYTES = 1_000_000
TABLE_ROWS, TABLE_COLUMNS, MOST_CLASSES = 3000, 100, len(LETTERS)
TARGET_NAMES = ("class", "label", "target", "species", "y")  # at first; or else the last column
LARGEST_CELL = 1e100  # largest size of a number; the squares of larger ones may overflow
SHOWN, MOST_NAME = 40, 255  # characters of a name or a cell that are shown, and of a file's name


class TableSource(NamedTuple):
    """A table as it was read: a DataFrame, its column of classes at first, options of reading."""

    name: str
    frame: Any
    target: str
    kind: str
    options: str = ""

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def targets(self) -> list[str]:
        return self.columns if self.kind == "upload" else [self.target]


class PreparedTable(NamedTuple):
    """Labelled rows for a learner: X of shape (n, d), the position of each row's class, names."""

    source: TableSource
    target: str
    dropped: tuple[str, ...]
    rows: Any
    labels: AnyArray
    X: Floats
    y: Ints
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    notes: tuple[str, ...]


def bundled_source(name: str) -> TableSource:
    as_choice(name, "data", loaders.BUNDLED)
    loaded: Any = getattr(datasets, f"load_{name}")(as_frame=True)
    classes = np.array(loaded.target_names, dtype=str)[np.asarray(loaded.target)]
    return TableSource(name, loaded.data.assign(**{"class": classes}), "class", "bundled")


def points_source(points: str) -> TableSource:
    state = PlaneState().with_parts({"points": points})
    frame = require("pandas", "cli").DataFrame(state.coordinates, columns=["x", "y"])
    frame["class"] = [LETTERS[label] for label in state.labels]
    return TableSource("points.csv", frame, "class", "points")


def read_source(text: str, name: str) -> TableSource:
    pandas = require("pandas", "cli")
    full_name, name = name[:MOST_NAME], name[:SHOWN]
    file = io.BytesIO(text.encode("utf-8", "replace"))
    if file.getbuffer().nbytes > MOST_BYTES:
        raise InvalidInputError(f"{name} is larger than {MOST_BYTES:,} bytes, the most read here.")
    file.name = name
    header = _has_header(text)
    frame = pandas.concat(list(iter_table(file, header=header)))
    if len(frame.columns) > TABLE_COLUMNS or len(frame) > TABLE_ROWS:
        size = f"{len(frame):,} rows and {len(frame.columns)} columns"
        most = f"{TABLE_ROWS:,} rows and {TABLE_COLUMNS} columns are the most"
        raise InvalidInputError(f"{name} has {size}; {most}. Take a sample.")
    named = {str(column).lower(): str(column) for column in reversed(frame.columns)}
    target = next((named[n] for n in TARGET_NAMES if n in named), str(frame.columns[-1]))
    return TableSource(full_name, frame, target, "upload", "" if header else ", header=False")


def prepare(source: TableSource, target: str, drop: Collection[str] = ()) -> PreparedTable:
    name, dropped = source.name[:SHOWN], tuple(c for c in drop if c != target)
    rows, labels, n_unlabelled = split_target(source.frame, target)
    rows = rows.drop(columns=list(dropped))
    if not rows.shape[1]:
        raise InvalidInputError("No column is left to learn from; choose two or more.")
    labels = np.asarray(labels).astype(str)
    classes, y = _class_codes(labels, target)
    with warnings.catch_warnings():  # the notes say what was guessed
        warnings.simplefilter("ignore")
        encoder = TableEncoder().fit(rows)
    X = encoder.transform(rows)
    notes = [str(column) for column in encoder.columns_ if not column.is_plain]
    if X.shape[1] < 2:
        said = f" ({'; '.join(notes)})" if notes else ""
        raise InvalidInputError(f"{name} has one column that can be used{said}; two are needed.")
    if np.abs(X).max() > LARGEST_CELL:
        raise InvalidInputError(f"{name} has numbers beyond ±{LARGEST_CELL:g}; rescale them.")
    if n_unlabelled:
        said = f"{counted(n_unlabelled, 'row')} without a class in {target!r}"
        notes.append(f"{said} {'is' if n_unlabelled == 1 else 'are'} left out")
    columns = tuple(map(str, encoder.get_feature_names_out()))
    made = (X, y, columns, classes, tuple(notes))
    return PreparedTable(source, target, dropped, rows, labels, *made)


def _class_codes(labels: AnyArray, target: str) -> tuple[tuple[str, ...], Ints]:
    found = np.unique(labels)
    if not 2 <= len(found) <= MOST_CLASSES:
        said = f"Column {target[:SHOWN]!r} has {counted(len(found), 'class')}"
        raise InvalidInputError(f"{said}; expected 2 to {MOST_CLASSES}.")
    # numbers in their order, then texts
    keys = [(0, float(c), c) if _is_number(c) else (1, 0.0, c) for c in found.tolist()]
    classes = [name for _, _, name in sorted(keys)]
    position = {name: i for i, name in enumerate(classes)}
    y = np.array([position[label] for label in labels.tolist()], dtype=np.intp)
    counts = np.bincount(y)
    if counts.min() < 2:
        said = "has a single row; each needs two, one to learn from and one to be tested on."
        raise InvalidInputError(f"Class {classes[int(counts.argmin())][:SHOWN]!r} {said}")
    return tuple(classes), y


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
