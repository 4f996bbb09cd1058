"""``cayleyklein fit`` and ``cayleyklein info``."""

import warnings
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, counted, not_zero, with_console
from cayleyklein.exceptions import InvalidInputError

if TYPE_CHECKING:
    from cayleyklein.tables import TableClassifier

MOST_WEIGHTS = 8  # columns whose share of the distances `info` prints
MOST_PLAIN = 30  # plain columns of numbers that are listed one by one
KINDS_HELP = "number, category, date or text, or a date format: day=date:%d/%m/%Y. May be repeated."
GeometryChoice = StrEnum(
    "GeometryChoice", ["auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"]
)


@with_console(
    "fit flowers.csv --target species -o flowers.ckm",
    "fit people.tsv.gz -t group --drop name --as zip=category -k 5 -o people.ckm",
    reads=True,
)
def fit(
    console: Console,
    table: _console.TableArgument,
    target: Annotated[
        str, typer.Option("-t", "--target", metavar="COLUMN", help="The column of classes.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="MODEL", help="The file to write.")
    ],
    geometry: Annotated[
        GeometryChoice, typer.Option("-g", "--geometry", help="Geometry of the metric.")
    ] = GeometryChoice.auto,
    neighbors: Annotated[
        int | None,
        typer.Option("-k", "--neighbors", min=1, help="Neighbours that vote; chosen by default."),
    ] = None,
    drop: _console.DropOption = None,
    kinds: Annotated[
        list[str] | None, typer.Option("--as", metavar="COLUMN=KIND", help=KINDS_HELP)
    ] = None,
    subsample: Annotated[
        int | None, typer.Option(min=2, help="Rows to learn from.", show_default="as many as help")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of random choices.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", help="Threads; -1 for all cores.", callback=not_zero),
    ] = None,
) -> None:
    """Learn a classifier from a table, and save it.

    Columns may hold numbers with thousands separators and units, dates, categories, text, and
    missing cells. Identifiers are left out. The use of each column is printed; --drop and --as
    change it.
    """
    import pandas as pd

    from cayleyklein import tables
    from cayleyklein.tables import atomic

    _console.refuse_overwriting(output, table)
    atomic.check_writable(output)
    with console.progress(f"reading {table.name}") as show:
        pieces = tables.iter_table(table, **console.reading, progress=show)
        rows = pd.concat(list(pieces))
    rows, classes, n_unlabelled = tables.split_target(rows, target)
    if n_unlabelled:
        console.note(f"left out {counted(n_unlabelled, 'row')} without a class in {target!r}")
    if len(rows) < 2:
        raise InvalidInputError(f"{table} has one labelled row; learning needs many.")
    console.detail(f"{counted(len(rows), 'row')}, {counted(rows.shape[1], 'column')}")
    with console.progress("learning") as show:
        model = tables.TableClassifier(
            neighbors or "auto", geometry=geometry.value, subsample=subsample or "auto",
            kinds=kinds_by_column(kinds or []), drop=drop or [], random_state=seed, n_jobs=jobs,
            callback=lambda progress: show(progress.iteration, None),
        )  # fmt: skip
        with warnings.catch_warnings():  # the report on the columns has them
            warnings.filterwarnings("ignore", message="Column ['\"]")
            model.fit(rows, classes)
    del rows, classes  # the model has its own, and saving needs memory
    model.target_ = target
    tables.save_model(model, output)
    report(console, model, output)


def kinds_by_column(given: list[str]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            said = f"Got --as {text}; expected COLUMN=KIND, as in --as zip=category."
            raise InvalidInputError(said)
    return {name: kind for name, _, kind in (text.rpartition("=") for text in given)}


def report(console: Console, model: "TableClassifier", output: Path) -> None:
    columns, learned, n_rows = model.encoder_.columns_, model.learned_, len(model.row_numbers_)
    n_plain = sum(column.is_plain for column in columns)
    brief = n_plain > MOST_PLAIN and not console.verbose
    noted = [column for column in columns if column.kind == "unused" or column.cells.guess]
    for column in columns:
        if column in noted:
            console.note(str(column))
        elif not (brief and column.is_plain):
            console.say(f"  {column}")
    if brief:
        console.say(f"  {n_plain} other columns: numbers")
    if noted:
        console.note("--drop and --as change the use of a column")
    if learned["n_rows"] < n_rows:
        some = f"{learned['n_rows']:,} rows drawn at random"
        console.note(f"the metric was learned from {some} (--subsample)")
    console.detail(learned["selection"])
    plain = plain_text(model)
    console.written(
        facts_of(model, output),
        f"{output}: {n_rows:,} rows, {len(model.classes_)} classes of {model.target_!r}, metric "
        f"{metric_text(model)}{f' ({plain})' if plain else ''}",
    )


def facts_of(model: "TableClassifier", path: Path) -> dict[str, Any]:
    counts = Counter(model.labels_.tolist())
    return {
        "model": str(path),
        "target": getattr(model, "target_", None),
        "rows": len(model.row_numbers_),
        "classes": {name: counts[label] for label, name in enumerate(model.classes_.tolist())},
        "neighbors": model.neighbors_.n_neighbors_,
        "columns": [column.to_dict() for column in model.encoder_.columns_],
        "learned": model.learned_,
        "feature_weights": model.feature_weights(),
    }


def metric_text(model: "TableClassifier") -> str:
    curvatures = ", ".join(f"{K:.4g}" for K in model.learned_["curvatures"])
    return f"{model.learned_['geometry']}, K = {curvatures}"


PLAIN_CHOICES = {  # that held-out rows can prefer to a learned metric
    "standardised k-NN": "plain k-NN on standardised columns",
    "unscaled k-NN": "plain k-NN on the columns as they are",
}


def plain_text(model: "TableClassifier") -> str:
    plain = PLAIN_CHOICES.get(model.learned_.get("chosen", ""))
    return f"{plain} was as good as what was learned" if plain else ""


@with_console("info flowers.ckm")
def info(console: Console, model: _console.ModelArgument) -> None:
    """Describe a model: its classes, the use and weight of each column, and the learned metric."""
    from cayleyklein.tables import load_model

    fitted = load_model(model)
    learned, columns, values = fitted.learned_, fitted.encoder_.columns_, facts_of(fitted, model)
    weights = values["feature_weights"]
    largest = [f"{name} {share:.2f}" for name, share in weights.items()][:MOST_WEIGHTS]
    more = ", …" if len(weights) > MOST_WEIGHTS else ""
    classes = ", ".join(f"{name} ({count:,})" for name, count in values["classes"].items())
    learning = f"{counted(learned['n_rows'], 'row')} in {counted(learned['n_iter'], 'iteration')}"
    n_used = sum(column.kind != "unused" for column in columns)
    facts = [
        ["predicts", f"{values['target'] or 'classes'}: {classes}"],
        ["by", f"{values['neighbors']} nearest of {counted(values['rows'], 'row')}"],
        ["metric", f"{metric_text(fitted)} (asked for: {fitted.geometry})"],
        ["learned from", plain_text(fitted) or learning],
        ["columns", f"{n_used}, as {fitted.encoder_.n_features_out_} numbers"],
        ["weights", f"{', '.join(largest)}{more}"],
    ]
    lines = [f"{title:14}{text}" for title, text in facts]
    lines += [f"  {column}" for column in columns]
    lines += ["", learned["selection"]] if learned["selection"] else []
    console.result(values, "\n".join(lines))
