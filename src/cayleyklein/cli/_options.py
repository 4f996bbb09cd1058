"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Dask",
    "Delimiter",
    "Encoding",
    "Geometry",
    "Model",
    "Processes",
    "Rows",
    "Table",
    "not_zero",
]


class Geometry(StrEnum):
    """What kind of metric to learn."""

    auto = "auto"
    flat = "flat"
    elliptic = "elliptic"
    hyperbolic = "hyperbolic"
    learned = "learned"
    mixed = "mixed"


Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV or Parquet with a line of column names; may be packed (gz, bz2, xz, zip).",
        show_default=False,
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that `fit` wrote.", show_default=False)
]
Rows = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="OUT", help="CSV, TSV or Parquet.", show_default="print"
    ),
]


def not_zero(jobs: int | None) -> int | None:
    """Refuse 0 jobs, which joblib does in words of its own."""
    if jobs == 0:
        raise typer.BadParameter("0 would do nothing; give 1 or more, or -1 for one a core.")
    return jobs


Processes = Annotated[
    int, typer.Option("-j", "--jobs", help="Processes; -1 for one a core.", callback=not_zero)
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Spread the work over the Dask cluster of this scheduler, such as "
        "tcp://127.0.0.1:8786, rather than over processes. Its workers need cayleyklein too.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Of the text of the table, such as cp1252.", show_default="utf-8"),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Between cells.", show_default="by the first line")
]
