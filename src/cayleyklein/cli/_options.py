"""Arguments and options that several commands share, and the cluster of ``--dask``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from joblib import parallel_config

from cayleyklein._distributed import clear_cluster_errors
from cayleyklein._validation import require
from cayleyklein.exceptions import ClusterError

__all__ = [
    "Dask",
    "Delimiter",
    "Encoding",
    "Geometry",
    "Model",
    "Processes",
    "Rows",
    "Table",
    "cluster_at",
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

PATIENCE = "10 s"
"""How long a scheduler may take to answer."""


@contextmanager
def cluster_at(address: str | None) -> Iterator[None]:
    """Let joblib use the cluster of a scheduler; without an address, processes as ever."""
    if address is None:
        yield
        return
    distributed = require("distributed", "scale")
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {address}; start one by `dask scheduler`, and "
            f"`dask worker ADDRESS` on every machine, or leave --dask out."
        ) from error
    with client, clear_cluster_errors("the cells"), parallel_config("dask", client=client):
        yield
