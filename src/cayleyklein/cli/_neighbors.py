"""``cayleyklein neighbors``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cayleyklein.cli._console import Console, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Model, Table
from cayleyklein.cli._tables import (
    Matched,
    load_table_model,
    matched_pieces,
    refuse_overwriting,
    row_writer,
)
from cayleyklein.models import TableClassifier

__all__ = ["HELP", "command"]

HELP = """List the nearest fitted rows.

Those that decide on each row of a table: the nearest in the learned metric.

Rows are counted from 1, in both tables.

Example:

\b
    cayleyklein neighbors flowers.ckm new.csv -k 5
"""

NAMES = ("row", "rank", "neighbor", "class", "distance")


@with_console
def command(
    console: Console,
    model: Model,
    table: Table,
    neighbors: Annotated[int, typer.Option("-k", "--neighbors", min=1, help="How many.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="CSV, TSV or Parquet.", show_default="print"
        ),
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Search row by row."""
    refuse_overwriting(output, model, table)
    fitted = load_table_model(model)
    matched = Matched()
    pieces = matched_pieces(
        console, fitted, table, encoding=encoding, delimiter=delimiter, matched=matched
    )
    if console.json and output is None:
        found = [row for piece in pieces for row in nearest(fitted, piece, neighbors)]
        matched.report(console)
        console.result({"neighbors": [dict(zip(NAMES, row, strict=True)) for row in found]}, "")
        return
    with row_writer(output, NAMES) as writer:
        for piece in pieces:
            writer.write(nearest(fitted, piece, neighbors))
    matched.report(console)
    if output is not None:
        values = {"output": str(output), "rows": matched.n_rows}
        console.result(values, "" if console.quiet else f"{output}: {matched.n_rows:,} rows")


def nearest(model: TableClassifier, piece: Any, k: int) -> list[list[Any]]:
    """Return the neighbours of each row, nearest first."""
    distances, rows = model.kneighbors(piece, k)
    classes = model.classes_[model.neighbors_._labels[rows]]
    numbers = model.row_numbers_[rows] + 1
    return [
        [int(row) + 1, rank + 1, int(numbers[i, rank]), classes[i, rank], float(distances[i, rank])]
        for i, row in enumerate(piece.index)
        for rank in range(k)
    ]
