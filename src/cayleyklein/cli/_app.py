"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from cayleyklein._version import __version__
from cayleyklein.cli import (
    _compare,
    _datasets,
    _evaluate,
    _explore,
    _figures,
    _fit,
    _info,
    _neighbors,
    _predict,
    _reproduce,
    _voronoi,
)

__all__ = ["app"]

HELP = """Learn curved metrics from tables, and use them.

Begin with your own table, whose first line names the columns:

\b
    cayleyklein fit flowers.csv --target species -o flowers.ckm
    cayleyklein evaluate flowers.ckm more-flowers.csv
    cayleyklein predict flowers.ckm new-flowers.csv -o answers.csv

or see what geometry does on the data sets of the paper:

\b
    cayleyklein compare wine balance

Every command explains itself: cayleyklein fit --help
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        print(f"cayleyklein {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """Stand before the commands."""


for name, module in {
    "fit": _fit,
    "predict": _predict,
    "evaluate": _evaluate,
    "info": _info,
    "neighbors": _neighbors,
    "voronoi": _voronoi,
    "figures": _figures,
    "datasets": _datasets,
    "compare": _compare,
    "reproduce": _reproduce,
}.items():
    app.command(name, help=module.HELP)(module.command)

app.command("explore")(_explore.command)
