"""``cayleyklein fit``, ``info`` and ``curvature``."""

import warnings
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, counted, not_zero, with_console
from cayleyklein.exceptions import InvalidInputError

GeometryChoice = Literal["auto", "product", "flat", "elliptic", "hyperbolic", "learned", "mixed"]


@with_console(
    "fit flowers.csv --target species -o flowers.ckm",
    "fit people.tsv.gz -t group --drop name --as zip=category -k 5 -o people.ckm",
    "fit houses.xlsx -t price --task number -o houses.ckm",
    reads=True,
)
def fit(
    console: Console,
    table: _console.TableArgument,
    target: Annotated[str, Option("-t", "--target", metavar="COLUMN", help="What to predict.")],
    output: Annotated[Path, Option("-o", "--output", metavar="MODEL", help="The file to write.")],
    task: _console.TaskOption = "auto",
    model: Annotated[
        Literal["auto", "neighbors", "kernel"],
        Option(help="What predicts; auto is kernel up to a million rows."),
    ] = "auto",
    geometry: Annotated[
        GeometryChoice, Option("-g", "--geometry", help="Geometry of the metric.")
    ] = "auto",
    neighbors: Annotated[
        int | None,
        Option(
            "-k",
            "--neighbors",
            min=1,
            help="Neighbours that vote (--model neighbors); chosen by default.",
        ),
    ] = None,
    weights: Annotated[
        Literal["auto", "local", "linear", "uniform", "distance"],
        Option(
            help="How much a vote counts by its distance (--model neighbors); uniform: all the "
            "same. Numbers have no local weights."
        ),
    ] = "auto",
    parts: Annotated[
        list[str] | None,
        Option(
            "--part",
            metavar="NAME",
            help="A part of the sum that predicts (--model kernel): metric, columns, ranks, "
            "neighbors, plain or rules. May be repeated.",
        ),
    ] = None,
    drop: _console.DropOption = None,
    kinds: Annotated[
        list[str] | None,
        Option(
            "--as",
            metavar="COLUMN=KIND",
            help="number, category, date, text, a date format (day=date:%d/%m/%Y), or an order "
            "(size=order:small<large). May be repeated.",
        ),
    ] = None,
    subsample: Annotated[
        int | None, Option(min=2, help="Rows to learn from.", show_default="as many as help")
    ] = None,
    seed: _console.SeedOption = 0,
    jobs: Annotated[
        int | None, Option("-j", "--jobs", help="Threads; -1 for all cores.", callback=not_zero)
    ] = None,
) -> None:
    """Learn to predict a column of a table from the others, and save the model.

    The target is a class or a number (--task). Columns may hold numbers with thousands separators
    and units, dates, categories, text, and missing cells. Identifiers are left out. The use of each
    column is printed; --drop and --as change it.
    """
    import pandas as pd

    from cayleyklein import tables
    from cayleyklein.parts import registry
    from cayleyklein.tables import atomic, targets

    _console.refuse_overwriting(output, table)
    atomic.check_writable(output)
    for text in kinds or ():
        if "=" not in text:
            said = f"Got --as {text}; expected COLUMN=KIND, as in --as zip=category."
            raise InvalidInputError(said)
    by_column = [text.rsplit("=", maxsplit=1) for text in kinds or ()]
    for part in parts or ():
        if part not in registry.PARTS:
            known = ", ".join(registry.PARTS)
            raise InvalidInputError(f"Got --part {part}; expected one of {known}.")
    rows = pd.concat(list(console.pieces(table)))
    predicted = targets.TargetColumn.find(rows, target, task)
    what = predicted.task
    rows, answers, n_without = predicted.split(rows)
    console.left_out(n_without, f"without a {what} in {target!r}")
    if predicted.cells.guess:
        console.note(f"{target}: {predicted.cells.guess}")
    if len(rows) < 2:
        raise InvalidInputError(f"{table} has one row with a {what}; learning needs many.")
    if task == "auto" and what == "number":
        holds = f"{target} holds {len(set(answers.tolist())):,} different numbers"
        console.note(f"{holds}, and is predicted as one (--task class predicts classes)")
    console.detail(f"{counted(len(rows), 'row')}, {counted(rows.shape[1], 'column')}")
    with console.progress("learning") as show:
        kind: Any = tables.TableClassifier if what == "class" else tables.TableRegressor
        fitted = kind(
            neighbors or "auto",
            model=model,
            geometry=geometry,
            weights=weights,
            parts=tuple(dict.fromkeys(parts)) if parts else "auto",
            subsample=subsample or "auto",
            kinds=dict(by_column),
            drop=drop or [],
            random_state=seed,
            n_jobs=jobs,
            callback=lambda progress: show(progress.iteration, None),
        )
        with warnings.catch_warnings():  # the report lists the columns
            warnings.filterwarnings("ignore", message="Column ['\"]|Classes \\[")
            fitted.fit(rows, answers)
    del rows, answers  # frees memory: the model has its own copy
    fitted.target_ = target
    fitted.target_cells_ = predicted.cells
    tables.save_model(fitted, output)
    report(console, fitted, output)


def report(console: Console, model: Any, output: Path) -> None:
    columns = model.encoder_.columns_
    learned = model.learned_
    n_rows = len(model.row_numbers_)
    n_plain = sum(column.is_plain for column in columns)
    brief = n_plain > 30 and not console.verbose
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
    few = sum(n < 4 for n in Counter(model.targets_.tolist()).values())
    if few and model.task == "class":
        some = f"{few:,} of {len(model.classes_):,} classes have fewer than 4 rows"
        console.note(f"{some}, which teach a metric little")
    plain = f" ({plain_text(model)})" if plain_text(model) else ""
    what = f"{len(model.classes_)} classes" if model.task == "class" else "numbers"
    k = model.estimator_.n_neighbors_
    by = "kernel machines" if model.is_kernel else counted(k, "neighbour")
    said = f"{output}: {n_rows:,} rows, {what} of {model.target_!r} by {by}"
    console.result(facts_of(model, output), f"{said}, metric {metric_text(model)}{plain}")


def facts_of(model: Any, path: Path) -> dict[str, Any]:
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


def target_text(values: dict[str, Any]) -> str:
    if values["task"] == "number":
        low, middle, high = (f"{value:.6g}" for value in values["numbers"].values())
        return f"{values['target'] or 'numbers'}: {low} to {high}, median {middle}"
    counts = values["classes"]
    n_listed = 20
    shown: Any = counts.items()
    more = ""
    if len(counts) > n_listed:
        shown = Counter(counts).most_common(n_listed)
        more = f" and {len(counts) - n_listed} others"
    listed = ", ".join(f"{name} ({count:,})" for name, count in shown)
    return f"{values['target'] or 'classes'}: {listed}{more}"


def metric_text(model: Any) -> str:
    if model.metric_ is None:
        return "not needed"
    curvatures = ", ".join(f"{K:.4g}" for K in model.learned_["curvatures"])
    return f"{model.learned_['geometry']}, K = {curvatures}"


def plain_text(model: Any) -> str:
    """Say which plain neighbours held-out rows preferred to a learned metric, if they did."""
    names = {
        "standardised k-NN": "plain k-NN on standardised columns",
        "unscaled k-NN": "plain k-NN on the columns as they are",
    }
    plain = names.get(model.learned_.get("chosen", ""))
    return f"{plain} was as good as what was learned" if plain else ""


@with_console("info flowers.ckm")
def info(console: Console, model: _console.ModelArgument) -> None:
    """Describe a model: what it predicts, the use and weight of each column, and the metric."""
    from cayleyklein.tables import load_model

    fitted = load_model(model)
    learned = fitted.learned_
    columns = fitted.encoder_.columns_
    values = facts_of(fitted, model)
    weights = values["feature_weights"]
    n_listed = 8
    largest = [f"{name} {share:.2f}" for name, share in weights.items()][:n_listed]
    more = ", …" if len(weights) > n_listed else ""
    by = counted(values["rows"], "row")
    machine = fitted.estimator_
    if fitted.is_kernel:
        parts = (f"{name} {weight:.2f}" for name, weight in machine.part_weights_.items())
        by = f"a sum of parts, each from {by}: {', '.join(parts)}"
    else:
        by = f"{values['neighbors']} nearest of {by}"
    learning = f"{counted(learned['n_rows'], 'row')} in {counted(learned['n_iter'], 'iteration')}"
    n_used = sum(column.kind != "unused" for column in columns)
    facts = [
        ["predicts", target_text(values)],
        ["by", by],
        ["metric", f"{metric_text(fitted)} (asked for: {fitted.geometry})"],
        ["learned from", plain_text(fitted) or learning],
        ["columns", f"{n_used}, as {fitted.encoder_.n_features_out_} numbers"],
        ["weights", f"{', '.join(largest)}{more}{' (not learned)' if plain_text(fitted) else ''}"],
    ]
    lines = [f"{title:14}{text}" for title, text in facts]
    lines += [f"  {column}" for column in columns]
    if learned["selection"]:
        lines += ["", learned["selection"]]
    console.result(values, "\n".join(lines))


@with_console(
    "curvature flowers.csv --target species",
    "curvature houses.csv -t price --picture curvature.svg",
    reads=True,
)
def curvature(
    console: Console,
    table: _console.TableArgument,
    target: Annotated[str, Option("-t", "--target", metavar="COLUMN", help="Labels or numbers.")],
    task: _console.TaskOption = "auto",
    shape: Annotated[
        Literal["auto", "isotropic", "diagonal"],
        Option(help="Columns: as they fit best, equally wide, or with scales found for every K."),
    ] = "auto",
    rows: Annotated[int, Option(min=2, help="Most rows, drawn at random.")] = 1000,
    drop: _console.DropOption = None,
    picture: _console.PictureOption = None,
    seed: _console.SeedOption = 0,
) -> None:
    """Say whether the rows of a table are curved, as the target sees them.

    Curved means that no flat model predicts the target as well. Columns are encoded as by `fit`,
    and standardised. The interval of K assumes that the target is one kind of random process; the
    verdict does not rest on it. The bend, K times the mean square distance from the mean, has no
    unit.
    """
    from sklearn.preprocessing import StandardScaler

    from cayleyklein import tables
    from cayleyklein.curvature import estimate_curvature

    _console.check_picture(picture, table)
    frame = tables.read_table(table, **console.reading)
    others, y, n_missing = tables.split_target(frame, target, task=task)
    console.left_out(n_missing, f"without {target!r}")
    X = StandardScaler().fit_transform(tables.TableEncoder(drop=drop or []).fit_transform(others))
    X = X[:, X.any(axis=0)]
    found = estimate_curvature(X, y, shape=shape, max_samples=rows, random_state=seed)
    if picture is not None:
        from cayleyklein._validation import require
        from cayleyklein.plotting import CurvatureDisplay

        figure = require("matplotlib.figure", "plot").Figure(
            figsize=(4.8, 4.8), layout="constrained"
        )
        CurvatureDisplay.from_estimate(found).plot(figure.add_subplot())
        _console.save_figure(figure, picture)
    values: dict[str, Any] = {
        "verdict": found.verdict,
        "sentence": found.sentence,
        "geometry": found.geometry,
        "rival": found.rival,
    }
    lines = [found.sentence]
    for name, margin in found.margins._asdict().items():
        values[f"margin_{name}"] = margin._asdict()
        by = f"{margin.nats:+.1f} nats, {margin.density:+.1f} standard errors of held-out density"
        over = "flat models of these columns" if name == "in_place" else "all flat models"
        lines.append(f"the best curved space over {over}: {by}; closest is {margin.rival}")
    for name, value, ends in (
        ("curvature", found.curvature, found.interval),
        ("bend", found.bend, found.bend_interval),
    ):
        known: list[float | None] = []
        texts = []
        for end, is_open in zip(ends, found.open_ends, strict=True):
            known.append(None if is_open else end)
            texts.append("no end" if is_open else f"{end:.3g}")
        values[name] = value
        values[f"{name}_interval"] = known
        reach = f"95 % interval from {texts[0]} to {texts[1]}"
        lines.append(f"{name:10} {value:.3g}, {reach}, if the target is one kind of random process")
    about = f"{counted(found.n_rows, 'row')}, {counted(X.shape[1], 'standardised column')}"
    lines.append(f"{'from':10} {about}, {found.kind} in {target!r}")
    console.result(values | {"rows": found.n_rows, "target": found.kind}, "\n".join(lines))
