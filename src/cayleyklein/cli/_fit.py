"""``cayleyklein fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cayleyklein.cli._console import Console, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Geometry, Table, not_zero
from cayleyklein.cli._tables import refuse_overwriting
from cayleyklein.datasets import read_table
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.models import TableClassifier, check_writable, save_model, split_target
from cayleyklein.models._target import did_you_mean

__all__ = ["HELP", "command"]

HELP = """Learn a classifier from a table, and save it.

Numbers are standardised, text is one-hot encoded and missing values are imputed, all within the
saved model; what becomes of each column is said.

Examples:

\b
    cayleyklein fit flowers.csv --target species -o flowers.ckm
    cayleyklein fit people.tsv.gz -t group --drop name -g hyperbolic -k 5 -o people.ckm
"""


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
        int, typer.Option("-k", "--neighbors", min=1, help="Neighbours that vote.")
    ] = 3,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave a column out; may be given again."),
    ] = None,
    learn_rows: Annotated[
        int,
        typer.Option(min=2, help="Rows to learn the metric from; all rows are neighbours."),
    ] = 5000,
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
    refuse_overwriting(output, table)
    check_writable(output)
    with console.progress(f"reading {table.name}") as show:
        rows = read_table(
            table, text=[target], encoding=encoding, delimiter=delimiter, progress=show
        )
    rows, classes, n_unlabelled = split_target(rows, target)
    rows = without(rows, drop or [])
    if n_unlabelled:
        console.note(f"{n_unlabelled} rows without a class in {target!r} are left out")
    if len(rows) < 2:
        raise InvalidInputError(f"{table} has one labelled row; learning needs many.")
    console.detail(f"{len(rows):,} rows, {rows.shape[1]} columns")
    with console.progress("learning") as show:
        model = TableClassifier(
            neighbors,
            geometry=geometry.value,
            learn_rows=learn_rows,
            random_state=seed,
            n_jobs=jobs,
            callback=lambda progress: show(progress.iteration, None),
        )
        model.fit(rows, classes)
    del rows, classes  # the model has its own, and saving needs room
    model.target_ = target
    save_model(model, output)
    report(console, model, output)


def without(rows: Any, drop: list[str]) -> Any:
    """Leave columns out."""
    for name in drop:
        if name not in rows.columns:
            known = did_you_mean(name, list(rows.columns))
            raise InvalidInputError(f"There is no column {name!r} to drop.{known}")
    return rows.drop(columns=drop)


def report(console: Console, model: TableClassifier, output: Path) -> None:
    """Say what was done to the columns and what was learned."""
    for use in model.encoder_.uses_:
        if console.verbose or not use.is_plain:
            console.say(f"  {use}")
    n_plain = sum(use.is_plain for use in model.encoder_.uses_)
    if n_plain and not console.verbose:
        columns = "columns of numbers are" if n_plain > 1 else "column of numbers is"
        console.say(f"  {n_plain} {columns} standardised")
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
        "columns": [vars(use) for use in model.encoder_.uses_],
        "learned": vars(learned),
    }
    summary = (
        f"{output}: {len(model.row_numbers_):,} rows, {len(model.classes_)} classes of "
        f"{model.target_!r}, metric {learned.describe()}"
    )
    console.result(values, "" if console.quiet else summary)
