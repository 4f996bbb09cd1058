"""``cayleyklein neighbors``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cayleyklein.cli._console import Console, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Model, Rows, Table
from cayleyklein.cli._tables import answer
from cayleyklein.tables import TableClassifier

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
    output: Rows = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Search row by row."""
    found = Neighbors(neighbors)
    answer(console, found, model, table, output, encoding=encoding, delimiter=delimiter)


@dataclass(frozen=True)
class Neighbors:
    """The k nearest fitted rows of each row, nearest first."""

    k: int

    def names(self, model: TableClassifier) -> tuple[str, ...]:
        """Name the columns."""
        return NAMES

    def rows(self, model: TableClassifier, piece: Any) -> list[list[Any]]:
        """Return a line for each row and each of its neighbours."""
        distances, rows = model.kneighbors(piece, self.k)
        classes = model.classes_[model.labels_[rows]]
        numbers = model.row_numbers_[rows] + 1
        return [
            [int(row) + 1, rank + 1, int(numbers[i, rank]), classes[i, rank],
             float(distances[i, rank])]
            for i, row in enumerate(piece.index)
            for rank in range(self.k)
        ]  # fmt: skip

    def values(self, model: TableClassifier, rows: list[list[Any]]) -> dict[str, Any]:
        """Return the answers by name."""
        return {"neighbors": [dict(zip(NAMES, row, strict=True)) for row in rows]}
