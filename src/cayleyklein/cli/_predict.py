"""``cayleyklein predict``."""

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
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="CSV, TSV or Parquet.", show_default="print"
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the share of the votes of each class.")
    ] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Predict row by row."""
    refuse_overwriting(output, model, table)
    fitted = load_table_model(model)
    matched = Matched()
    pieces = matched_pieces(
        console, fitted, table, encoding=encoding, delimiter=delimiter, matched=matched
    )
    if console.json and output is None:
        answers = [row for piece in pieces for row in predicted(fitted, piece, proba)]
        matched.report(console)
        console.result(as_values(fitted, answers, proba), "")
        return
    shares = [f"share_{name}" for name in fitted.classes_] if proba else []
    with row_writer(output, ["row", "prediction", *shares]) as writer:
        for piece in pieces:
            writer.write(predicted(fitted, piece, proba))
    matched.report(console)
    if output is not None:
        values = {"output": str(output), "rows": matched.n_rows}
        console.result(values, "" if console.quiet else f"{output}: {matched.n_rows:,} rows")


def predicted(model: TableClassifier, piece: Any, proba: bool) -> list[list[Any]]:
    """Return for each row its number, from 1, its class, and the shares of the votes."""
    shares = model.predict_proba(piece)
    classes = model.classes_[shares.argmax(axis=1)].tolist()
    numbers = (piece.index + 1).tolist()
    extra = shares.tolist() if proba else [[]] * len(classes)
    return [
        [number, name, *votes] for number, name, votes in zip(numbers, classes, extra, strict=True)
    ]


def as_values(model: TableClassifier, answers: list[list[Any]], proba: bool) -> dict[str, Any]:
    """Return the answers by name."""
    values: dict[str, Any] = {
        "classes": model.classes_.tolist(),
        "predictions": [row[1] for row in answers],
    }
    if proba:
        values["shares"] = [row[2:] for row in answers]
    return values
