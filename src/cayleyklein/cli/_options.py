"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cayleyklein.exceptions import InvalidInputError

TABLE_HELP = "CSV, TSV or Parquet with a line of column names; may be packed (gz, bz2, xz, zip)."

Table = Annotated[Path, typer.Argument(metavar="TABLE", help=TABLE_HELP)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `fit`.")]
Rows = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="OUT", help="CSV, TSV or Parquet.", show_default="print"
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding, such as cp1252.", show_default="utf-8")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Character between cells.", show_default="by the first line")
]


def not_zero(jobs: int | None) -> int | None:
    """Raise for 0 jobs, with a clearer message than joblib's."""
    if jobs == 0:
        raise typer.BadParameter("0 would do nothing; give 1 or more, or -1 for one a core.")
    return jobs


def refuse_overwriting(output: Path | None, *inputs: Path) -> None:
    """Raise if a result would overwrite an input."""
    for given in inputs:
        if output is not None and output.exists() and given.exists() and output.samefile(given):
            raise InvalidInputError(f"{output} is an input; give the output another name.")
