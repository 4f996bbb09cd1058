"""``cayleyklein fit``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from cayleyklein._validation import require
from cayleyklein.cli._console import Console, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Geometry, Table, not_zero
from cayleyklein.cli._tables import refuse_overwriting
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import TableClassifier, check_writable, iter_table, save_model, split_target

__all__ = ["HELP", "command"]

HELP = """Learn a classifier from a table, and save it.

Columns are read as people write them: numbers with thousands separators, units and gaps, dates,
categories, text. Identifiers are left out. What becomes of each column is printed, and --drop and
--as correct it.

Examples:

\b
    cayleyklein fit flowers.csv --target species -o flowers.ckm
    cayleyklein fit people.tsv.gz -t group --drop name --as zip=category -k 5 -o people.ckm
"""

MOST_PLAIN = 30
"""Plain columns of numbers that are listed one by one."""


@with_console
def command(
    console: Console,
    table: Table,
    target: Annotated[
        str, typer.Option("-t", "--target", metavar="COLUMN", help="The column of classes.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="MODEL", help="The file to write.")
    ],
    geometry: Annotated[
        Geometry, typer.Option("-g", "--geometry", help="Of the metric to learn.")
    ] = Geometry.auto,
    neighbors: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--neighbors",
            min=1,
            help="Neighbours that vote; chosen on held-out rows by default.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave a column out; may be given again."),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="COLUMN=KIND",
            help="Read a column as number, category, date or text; a date also with its format, as "
            "in day=date:%d/%m/%Y. May be given again.",
        ),
    ] = None,
    learn_rows: Annotated[
        int,
        typer.Option(min=2, help="Rows to learn the metric from; all rows are neighbours."),
    ] = 10_000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of what is drawn at random.")
    ] = 0,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", help="Threads; -1 for all cores.", callback=not_zero),
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Fit and save."""
    pandas = require("pandas", "cli")
    refuse_overwriting(output, table)
    check_writable(output)
    with console.progress(f"reading {table.name}") as show:
        pieces = iter_table(table, encoding=encoding, delimiter=delimiter, progress=show)
        rows = pandas.concat(list(pieces))
    rows, classes, n_unlabelled = split_target(rows, target)
    if n_unlabelled:
        console.note(f"{n_unlabelled} rows without a class in {target!r} are left out")
    if len(rows) < 2:
        raise InvalidInputError(f"{table} has one labelled row; learning needs many.")
    console.detail(f"{len(rows):,} rows, {rows.shape[1]} columns")
    with console.progress("learning") as show:
        model = TableClassifier(
            neighbors or "auto",
            geometry=geometry.value,
            learn_rows=learn_rows,
            kinds=as_kinds(kinds or []),
            drop=drop or [],
            random_state=seed,
            n_jobs=jobs,
            callback=lambda progress: show(progress.iteration, None),
        )
        with warnings.catch_warnings():  # the report says the same of the columns
            warnings.filterwarnings("ignore", message="Column '")
            model.fit(rows, classes)
    del rows, classes  # the model has its own, and saving needs room
    model.target_ = target
    save_model(model, output)
    report(console, model, output)


def as_kinds(given: list[str]) -> dict[str, str]:
    """Split COLUMN=KIND; a name may hold an equals sign."""
    for text in given:
        if "=" not in text:
            raise InvalidInputError(
                f"Got --as {text}; expected COLUMN=KIND, as in --as zip=category."
            )
    return {name: kind for name, _, kind in (text.rpartition("=") for text in given)}


def report(console: Console, model: TableClassifier, output: Path) -> None:
    """Say what became of each column, and what was learned."""
    columns = model.encoder_.columns_
    plain = [column.name for column in columns if column.is_plain]
    brief = len(plain) > MOST_PLAIN and not console.verbose
    for column in columns:
        if column.kind == "unused" or column.cells.guess:
            console.note(str(column))
        elif not (brief and column.is_plain):
            console.say(f"  {column}")
    if brief:
        console.say(f"  {len(plain)} other columns: numbers")
    if any(column.kind == "unused" or column.cells.guess for column in columns):
        console.note("--drop and --as change what becomes of a column")
    learned = model.learned_
    if learned.n_rows < len(model.row_numbers_) + learned.n_outside:
        console.note(
            f"the metric was learned from {learned.n_rows:,} rows drawn at random (--learn-rows)"
        )
    if learned.n_outside:
        console.note(
            f"{learned.n_outside} rows lie outside the learned hyperbolic domain, and are no "
            f"neighbours"
        )
    console.detail(learned.selection)
    values = {
        "model": str(output),
        "target": model.target_,
        "classes": model.classes_.tolist(),
        "rows": len(model.row_numbers_),
        "columns": [column.to_dict() for column in columns],
        "learned": vars(learned),
    }
    summary = (
        f"{output}: {len(model.row_numbers_):,} rows, {len(model.classes_)} classes of "
        f"{model.target_!r}, metric {learned.describe()}"
    )
    console.result(values, "" if console.quiet else summary)
