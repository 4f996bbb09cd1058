"""Tables to learn from: bundled data sets, points of the plane, and uploads, read as data only."""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cayleyklein import datasets
from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import require
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._state import LETTERS, PlaneState, in_figures, plural
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import problems
from cayleyklein.tables import TableEncoder, read_table
from cayleyklein.tables.targets import TargetColumn

CHOSEN_KINDS = ("number", "category", "date", "text")  # that a visitor can choose
SHOWN = 40  # characters of a name or a cell that are shown


class TableSource(NamedTuple):
    name: str
    frame: Any
    target: str  # at first
    kind: str  # "bundled", "points" or "upload"
    content: bytes = b""
    header: bool = True
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def targets(self) -> list[str]:
        return self.columns if self.kind == "upload" else [self.target]


class PreparedTable(NamedTuple):
    source: TableSource
    target: str
    dropped: list[str]
    problem: problems.Problem
    encoder: TableEncoder
    X: Floats
    columns: tuple[str, ...]
    labels: AnyArray  # or numbers
    classes: tuple[str, ...]  # their names, or those of the ranges that numbers are in
    edges: Floats | None = None  # between the ranges; None for classes
    kinds: Mapping[str, str] = MappingProxyType({})  # of columns, where the visitor knows better
    notes: tuple[str, ...] = ()

    @property
    def is_regression(self) -> bool:
        return self.edges is not None

    @property
    def y(self) -> Ints:
        return self.codes_of(self.labels)

    def codes_of(self, found: AnyArray) -> Ints:
        """Return the positions of classes, or of the ranges of numbers, in `classes`."""
        if self.edges is not None:
            return np.searchsorted(self.edges, np.asarray(found, dtype=float)).astype(np.intp)
        position = {name: i for i, name in enumerate(self.classes)}
        return np.array([position[str(one)] for one in found], dtype=np.intp)


def bundled_source(name: str) -> TableSource:
    loaded: Any = getattr(datasets, f"load_{name}")(as_frame=True)
    classes = np.array(loaded.target_names, dtype=str)[np.asarray(loaded.target)]
    return TableSource(name, loaded.data.assign(**{"class": classes}), "class", "bundled")


def points_source(points: str) -> TableSource:
    state = PlaneState().with_parts({"points": points})
    frame = require("pandas", "cli").DataFrame(state.coordinates, columns=["x", "y"])
    frame["class"] = [LETTERS[label] for label in state.labels]
    return TableSource("points.csv", frame, "class", "points")


def read_source(content: bytes, name: str) -> TableSource:
    full_name = name[:255]
    name = name[:SHOWN]
    if len(content) > LIMITS.table_bytes:
        most = f"{LIMITS.table_bytes:,} bytes"
        raise InvalidInputError(f"{name} is larger than {most}, the most read here.")
    cells = _first_cells(
        content
    )  # a line of names, unless all cells, or all but a class, are numbers
    header = sum(map(_is_number, cells)) < max(len(cells) - 1, 1)
    frame, notes = _read(content, name, header)
    if len(frame.columns) > LIMITS.table_columns or len(frame) > LIMITS.table_rows:
        size = f"{len(frame):,} rows and {len(frame.columns)} columns"
        most = f"{LIMITS.table_rows:,} rows and {LIMITS.table_columns} columns are the most"
        raise InvalidInputError(f"{name} has {size}; {most}. Take a sample.")
    named = {str(column).lower(): str(column) for column in reversed(frame.columns)}
    usual = ("class", "label", "target", "species", "y")
    target = next((named[n] for n in usual if n in named), str(frame.columns[-1]))
    encoding = tuple(note for note in notes if "is read as" in note)
    return TableSource(full_name, frame, target, "upload", content, header, encoding)


def _read(content: bytes, name: str, header: bool, **options: Any) -> tuple[Any, tuple[str, ...]]:
    file = io.BytesIO(content)
    file.name = name
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_table(file, header=header, **options)
    return frame, tuple(str(one.message) for one in caught)


def prepare(
    source: TableSource,
    target: str,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> PreparedTable:
    name = source.name[:SHOWN]
    dropped = [c for c in drop if c != target]
    frame = source.frame
    task = "class"
    if source.kind == "upload":
        as_text = [target, *(c for c, kind in kinds.items() if kind != "number")]
        frame = _read(source.content, name, source.header, text=as_text)[0]
        task = "auto"
    if len(frame.columns) <= 1 + len(dropped):
        raise InvalidInputError("No column is left to learn from; choose two or more.")
    with warnings.catch_warnings():  # the notes say what was guessed
        warnings.simplefilter("ignore")
        column = TargetColumn.find(frame, target, task)
        made = problems.table_problem(frame, name, column, dropped)
        kinds = {c: kind for c, kind in kinds.items() if c in made.X.columns}
        encoder = TableEncoder(kinds=kinds or None).fit(made.X)
    notes = [note for note in made.notes if note.partition(": ")[0] not in kinds]
    notes += [f"{column}." for column in encoder.columns_ if column.name in kinds]
    X = encoder.transform(made.X)
    edges = None
    if X.shape[1] < 2:
        said = f" ({' '.join(made.notes)})" if made.notes else ""
        raise InvalidInputError(f"{name} has one column that can be used{said}; two are needed.")
    if np.abs(X).max() > 1e100:  # whose squares may overflow
        raise InvalidInputError(f"{name} has numbers beyond ±1e+100; rescale them.")
    labels = made.y
    columns = tuple(map(str, encoder.get_feature_names_out()))
    if made.task == "number":
        edges = np.unique(np.quantile(made.y, np.arange(1, 5) / 5))  # of five ranges
        ends = [in_figures(edge, 3) for edge in edges]
        between = (f"{low} to {high}" for low, high in pairwise(ends))
        classes = [f"up to {ends[0]}", *between, f"above {ends[-1]}"]
    else:  # numbers in their order, then texts
        labels = made.classes[made.y]
        names = sorted(made.classes.tolist())
        numbers = [name for name in names if _is_number(name)]
        classes = sorted(numbers, key=float) + [name for name in names if not _is_number(name)]
    if len(classes) > len(LETTERS):
        said = f"Column {target[:SHOWN]!r} has {len(classes)} classes"
        raise InvalidInputError(f"{said}; {len(LETTERS)} are the most.")
    return PreparedTable(
        source,
        target,
        dropped,
        made,
        encoder,
        X,
        columns,
        labels,
        tuple(classes),
        edges,
        kinds,
        tuple(notes),
    )


def read_rows(content: bytes, table: PreparedTable) -> Any:
    """Read rows to predict: with a line of names, or in the order of the table's columns."""
    names = [c for c in table.source.columns if c != table.target]
    header = bool(set(_first_cells(content)) & set(names))
    frame, _ = _read(content, "the rows", header)
    if not header:
        order = names if len(frame.columns) == len(names) else table.source.columns
        if len(frame.columns) != len(order):
            said = f"{plural(len(names), 'cell')}, one for each of {', '.join(names)[:200]}"
            raise InvalidInputError(f"A row has {len(frame.columns)} cells; expected {said}.")
        frame.columns = order
    missing = [c for c in table.problem.X.columns if c not in frame.columns]
    if missing:
        raise InvalidInputError(f"The rows have no column {', '.join(map(repr, missing[:5]))}.")
    return frame[list(table.problem.X.columns)]


def _first_cells(content: bytes) -> list[str]:
    lines = content[:100_000].lstrip(b"\xef\xbb\xbf \r\n").splitlines() or [b""]
    cells = re.split("[,;\t]", lines[0].decode("utf-8", "replace"))
    return [cell.strip() for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
