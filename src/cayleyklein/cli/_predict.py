"""``cayleyklein predict``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cayleyklein.cli._console import Console, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Model, Rows, Table
from cayleyklein.cli._tables import answer
from cayleyklein.tables import TableClassifier

__all__ = ["HELP", "command"]

HELP = """Say the class of each row of a table.

Columns are found by their names, in any order; others are ignored, and said to be. The table is
worked through in pieces, and may be of any size.

Examples:

\b
    cayleyklein predict flowers.ckm new.csv
    cayleyklein predict flowers.ckm new.parquet --proba -o answers.csv
"""


@with_console
def command(
    console: Console,
    model: Model,
    table: Table,
    output: Rows = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the share of the votes of each class.")
    ] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Predict row by row."""
    predictions = Predictions(proba)
    answer(console, predictions, model, table, output, encoding=encoding, delimiter=delimiter)


@dataclass(frozen=True)
class Predictions:
    """The class of each row, and with `proba` the shares of the votes."""

    proba: bool

    def names(self, model: TableClassifier) -> list[str]:
        """Name the columns."""
        shares = [f"share_{name}" for name in model.classes_] if self.proba else []
        return ["row", "prediction", *shares]

    def rows(self, model: TableClassifier, piece: Any) -> list[list[Any]]:
        """Return for each row its number, from 1, its class, and the shares of the votes."""
        shares = model.predict_proba(piece)
        classes = model.classes_[shares.argmax(axis=1)].tolist()
        numbers = (piece.index + 1).tolist()
        extra = shares.tolist() if self.proba else [[]] * len(classes)
        return [
            [number, name, *votes]
            for number, name, votes in zip(numbers, classes, extra, strict=True)
        ]

    def values(self, model: TableClassifier, rows: list[list[Any]]) -> dict[str, Any]:
        """Return the answers by name."""
        values: dict[str, Any] = {
            "classes": model.classes_.tolist(),
            "predictions": [row[1] for row in rows],
        }
        if self.proba:
            values["shares"] = [row[2:] for row in rows]
        return values
