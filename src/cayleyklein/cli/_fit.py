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
    from cayleyklein.tables import TableClassifier, TableRegressor

    TableModel = TableClassifier | TableRegressor

MOST_WEIGHTS = 8  # columns whose share of the distances `info` prints
LISTED_CLASSES = 20  # classes that `info` lists
SMALL_CLASS = 4  # rows of a class below which `fit` notes it
MOST_PLAIN = 30  # plain columns of numbers that are listed one by one
KINDS_HELP = (
    "number, category, date, text, a date format (day=date:%d/%m/%Y), or an order "
    "(size=order:small<large). May be repeated."
)
TaskChoice = StrEnum("TaskChoice", {"auto": "auto", "class_": "class", "number": "number"})
TASK_HELP = "What to predict: a class or a number; by default by the values of the target."
ModelChoice = StrEnum("ModelChoice", ["auto", "neighbors", "kernel"])
GeometryChoice = StrEnum(
    "GeometryChoice", ["auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"]
)


@with_console(
    "fit flowers.csv --target species -o flowers.ckm",
    "fit people.tsv.gz -t group --drop name --as zip=category -k 5 -o people.ckm",
    "fit houses.xlsx -t price --task number -o houses.ckm",
    reads=True,
)
def fit(
    console: Console,
    table: _console.TableArgument,
    target: Annotated[
        str, typer.Option("-t", "--target", metavar="COLUMN", help="The column to predict.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="MODEL", help="The file to write.")
    ],
    task: Annotated[TaskChoice, typer.Option(help=TASK_HELP)] = TaskChoice.auto,
    model: Annotated[ModelChoice, typer.Option(help="What predicts.")] = ModelChoice.auto,
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
    """Learn to predict a column of a table from the others, and save the model.

    The target is a class or a number (--task). Columns may hold numbers with thousands separators
    and units, dates, categories, text, and missing cells. Identifiers are left out. The use of each
    column is printed; --drop and --as change it.
    """
    import pandas as pd

    from cayleyklein import tables
    from cayleyklein.tables import atomic, targets

    _console.refuse_overwriting(output, table)
    atomic.check_writable(output)
    rows = pd.concat(list(console.pieces(table)))
    predicted = targets.TargetColumn.find(rows, target, task.value)
    what = predicted.task
    rows, answers, n_without = predicted.split(rows)
    if n_without:
        console.note(f"left out {counted(n_without, 'row')} without a {what} in {target!r}")
    if predicted.cells.guess:
        console.note(f"{target}: {predicted.cells.guess}")
    if len(rows) < 2:
        raise InvalidInputError(f"{table} has one row with a {what}; learning needs many.")
    if task is TaskChoice.auto and what == "number":
        n_distinct = len(set(answers.tolist()))
        console.note(f"{target} holds {n_distinct:,} different numbers, and is predicted as one "
                     f"(--task class predicts classes)")  # fmt: skip
    console.detail(f"{counted(len(rows), 'row')}, {counted(rows.shape[1], 'column')}")
    with console.progress("learning") as show:
        kind: Any = tables.TableClassifier if what == "class" else tables.TableRegressor
        fitted = kind(
            neighbors or "auto", model=model.value, geometry=geometry.value,
            subsample=subsample or "auto", kinds=kinds_by_column(kinds or []), drop=drop or [],
            random_state=seed, n_jobs=jobs,
            callback=lambda progress: show(progress.iteration, None),
        )  # fmt: skip
        with warnings.catch_warnings():  # the report on the columns has them
            warnings.filterwarnings("ignore", message="Column ['\"]|Classes \\[")
            fitted.fit(rows, answers)
    del rows, answers  # the model has its own, and saving needs memory
    fitted.target_, fitted.target_cells_ = target, predicted.cells
    tables.save_model(fitted, output)
    report(console, fitted, output)


def kinds_by_column(given: list[str]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            said = f"Got --as {text}; expected COLUMN=KIND, as in --as zip=category."
            raise InvalidInputError(said)
    return {name: kind for name, _, kind in (text.rpartition("=") for text in given)}


def report(console: Console, model: "TableModel", output: Path) -> None:
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
    if learned["n_rows"] < learned["n_distinct"]:
        some = f"{learned['n_rows']:,} rows drawn at random"
        console.note(f"the metric was learned from {some} (--subsample)")
    console.detail(learned["selection"])
    few = sum(n < SMALL_CLASS for n in Counter(model.targets_.tolist()).values())
    if few and model.task == "class":
        some = f"{few:,} of {len(model.classes_):,} classes have fewer than {SMALL_CLASS} rows"
        console.note(f"{some}, which teach a metric little")
    plain = plain_text(model)
    what = f"{len(model.classes_)} classes" if model.task == "class" else "numbers"
    console.result(
        facts_of(model, output),
        f"{output}: {n_rows:,} rows, {what} of {model.target_!r}, metric "
        f"{metric_text(model)}{f' ({plain})' if plain else ''}",
    )


def facts_of(model: "TableModel", path: Path) -> dict[str, Any]:
    import numpy as np

    targets = model.targets_
    if model.task == "class":
        known: Any = dict(sorted(Counter(targets.tolist()).items()))
    else:
        known = dict(zip(("min", "median", "max"), np.quantile(targets, (0, 0.5, 1)), strict=True))
    return {
        "model": str(path),
        "target": getattr(model, "target_", None),
        "task": model.task,
        "rows": len(model.row_numbers_),
        "classes" if model.task == "class" else "numbers": known,
        "neighbors": model.estimator_.n_neighbors_,
        "columns": [column.to_dict() for column in model.encoder_.columns_],
        "learned": model.learned_,
        "feature_weights": model.feature_weights(),
    }


def how_text(model: "TableModel", values: dict[str, Any]) -> str:
    rows = counted(values["rows"], "row")
    if hasattr(model.estimator_, "part_weights_"):
        parts = (f"{name} {w:.2f}" for name, w in model.estimator_.part_weights_.items())
        return f"kernel machines and votes of {rows}: {', '.join(parts)}"
    return f"{values['neighbors']} nearest of {rows}"


def target_text(values: dict[str, Any]) -> str:
    if values["task"] == "number":
        low, middle, high = (f"{value:.6g}" for value in values["numbers"].values())
        return f"{values['target'] or 'numbers'}: {low} to {high}, median {middle}"
    counts = values["classes"]
    shown = list(counts.items())
    if len(shown) > LISTED_CLASSES:
        shown = Counter(counts).most_common(LISTED_CLASSES)
    listed = ", ".join(f"{name} ({count:,})" for name, count in shown)
    more = f" and {len(counts) - len(shown)} others" if len(counts) > len(shown) else ""
    return f"{values['target'] or 'classes'}: {listed}{more}"


def metric_text(model: "TableModel") -> str:
    curvatures = ", ".join(f"{K:.4g}" for K in model.learned_["curvatures"])
    return f"{model.learned_['geometry']}, K = {curvatures}"


PLAIN_CHOICES = {  # that held-out rows can prefer to a learned metric
    "standardised k-NN": "plain k-NN on standardised columns",
    "unscaled k-NN": "plain k-NN on the columns as they are",
}


def plain_text(model: "TableModel") -> str:
    plain = PLAIN_CHOICES.get(model.learned_.get("chosen", ""))
    return f"{plain} was as good as what was learned" if plain else ""


@with_console("info flowers.ckm")
def info(console: Console, model: _console.ModelArgument) -> None:
    """Describe a model: what it predicts, the use and weight of each column, and the metric."""
    from cayleyklein.tables import load_model

    fitted = load_model(model)
    learned, columns, values = fitted.learned_, fitted.encoder_.columns_, facts_of(fitted, model)
    weights = values["feature_weights"]
    largest = [f"{name} {share:.2f}" for name, share in weights.items()][:MOST_WEIGHTS]
    more = ", …" if len(weights) > MOST_WEIGHTS else ""
    learning = f"{counted(learned['n_rows'], 'row')} in {counted(learned['n_iter'], 'iteration')}"
    n_used = sum(column.kind != "unused" for column in columns)
    facts = [
        ["predicts", target_text(values)],
        ["by", how_text(fitted, values)],
        ["metric", f"{metric_text(fitted)} (asked for: {fitted.geometry})"],
        ["learned from", plain_text(fitted) or learning],
        ["columns", f"{n_used}, as {fitted.encoder_.n_features_out_} numbers"],
        ["weights", f"{', '.join(largest)}{more}{' (not learned)' if plain_text(fitted) else ''}"],
    ]
    lines = [f"{title:14}{text}" for title, text in facts]
    lines += [f"  {column}" for column in columns]
    lines += ["", learned["selection"]] if learned["selection"] else []
    console.result(values, "\n".join(lines))
