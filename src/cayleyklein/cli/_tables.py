"""Tables in and out of the commands."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from cayleyklein._validation import require
from cayleyklein.cli._console import Console
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableClassifier, iter_table, load_model, writing

__all__ = [
    "Matched",
    "answer",
    "load_table_model",
    "matched_pieces",
    "refuse_overwriting",
    "row_writer",
]

Rows = Sequence[Sequence[Any]]
Write = Callable[[Rows], None]

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
ENDINGS = (*DELIMITERS, ".parquet")


def load_table_model(path: Path) -> TableClassifier:
    """Load a model that takes tables."""
    model = load_model(path)
    if not isinstance(model, TableClassifier):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which takes arrays; `cayleyklein fit` makes "
            f"models that take tables."
        )
    return model


class Matched:
    """Pieces of a table whose columns a model has found, and what is to be said about them."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.ignored: list[str] = []
        self.n_unseen: dict[str, int] = {}

    def report(self, console: Console) -> None:
        """Say what was ignored."""
        if self.ignored:
            names = ", ".join(map(repr, self.ignored))
            console.note(f"ignored columns that the model does not know: {names}")
        for name, count in self.n_unseen.items():
            console.note(f"{count} rows have a value in {name!r} that the model has not seen")


def matched_pieces(
    console: Console,
    model: TableClassifier,
    table: Path,
    *,
    encoding: str | None,
    delimiter: str | None,
    target: str | None = None,
    matched: Matched,
) -> Iterator[Any]:
    """Yield a table in pieces, with a bar, and check its columns against the model's."""
    with console.progress(f"reading {table.name}") as show:
        pieces = iter_table(table, encoding=encoding, delimiter=delimiter, progress=show)
        for piece in pieces:
            if not matched.n_rows:
                matched.ignored = unknown_columns(model, table, list(piece.columns), target)
            for name, count in model.encoder_.unseen(piece).items():
                matched.n_unseen[name] = matched.n_unseen.get(name, 0) + count
            matched.n_rows += len(piece)
            yield piece


def unknown_columns(
    model: TableClassifier, table: Path, names: list[str], target: str | None
) -> list[str]:
    """Return the columns that a model does not know, or raise for those that it misses."""
    try:
        unknown = model.encoder_.check_columns(names)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{table} does not fit the model. {error} It has: {', '.join(map(repr, names[:20]))}."
        ) from error
    return [name for name in unknown if name not in (target, getattr(model, "target_", None))]


def refuse_overwriting(output: Path | None, *inputs: Path) -> None:
    """Raise where a result would take the place of what it is made from."""
    for given in inputs:
        if output is not None and output.exists() and given.exists() and output.samefile(given):
            raise InvalidInputError(f"{output} is to be read; give what is written another name.")


class Answers(Protocol):
    """What a command answers to each row of a table, by a model."""

    def names(self, model: TableClassifier) -> Sequence[str]:
        """Name the columns of the answers."""

    def rows(self, model: TableClassifier, piece: Any) -> list[list[Any]]:
        """Return the answers to a piece of the table."""

    def values(self, model: TableClassifier, rows: list[list[Any]]) -> dict[str, Any]:
        """Return the answers to the whole table, for machines."""


def answer(
    console: Console,
    answers: Answers,
    model: Path,
    table: Path,
    output: Path | None,
    *,
    encoding: str | None,
    delimiter: str | None,
) -> None:
    """Work through a table, and write or print what is answered to its rows."""
    refuse_overwriting(output, model, table)
    fitted = load_table_model(model)
    matched = Matched()
    pieces = matched_pieces(
        console, fitted, table, encoding=encoding, delimiter=delimiter, matched=matched
    )
    if console.json and output is None:
        found = [row for piece in pieces for row in answers.rows(fitted, piece)]
        matched.report(console)
        console.result(answers.values(fitted, found), "")
        return
    with row_writer(output, answers.names(fitted)) as write:
        for piece in pieces:
            write(answers.rows(fitted, piece))
    matched.report(console)
    if output is not None:
        values = {"output": str(output), "rows": matched.n_rows}
        console.result(values, "" if console.quiet else f"{output}: {matched.n_rows:,} rows")


@contextmanager
def row_writer(path: Path | None, names: Sequence[str]) -> Iterator[Write]:
    """Yield a function that writes rows: to a file, renamed at the end, or to the terminal."""
    if path is None:
        yield csv_writer(sys.stdout, ",", names)
        return
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{path} should end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, to say how to write "
            f"it."
        )
    with writing(path) as temporary, ExitStack() as stack:
        if ending == ".parquet":
            yield parquet_writer(temporary, names, stack)
        else:
            file = stack.enter_context(temporary.open("w", encoding="utf-8", newline=""))
            yield csv_writer(file, DELIMITERS[ending], names)


def csv_writer(file: Any, delimiter: str, names: Sequence[str]) -> Write:
    """Return a function that writes rows as text."""
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    header = [names]

    def write(rows: Rows) -> None:
        writer.writerows(header)  # with the first rows: an error leaves no header
        header.clear()
        writer.writerows(rows)

    return write


def parquet_writer(path: Path, names: Sequence[str], stack: ExitStack) -> Write:
    """Return a function that writes rows by columns, a piece at a time."""
    arrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    writers: list[Any] = []

    def write(rows: Rows) -> None:
        columns = map(list, zip(*rows, strict=True))
        table = arrow.table(dict(zip(names, columns, strict=True)))
        if not writers:
            writers.append(stack.enter_context(parquet.ParquetWriter(path, table.schema)))
        writers[0].write_table(table)

    return write
