"""``cayleyklein predict``, ``neighbors`` and ``evaluate``: a model on the rows of a table."""

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, columns_of_text, counted, with_console
from cayleyklein.exceptions import InvalidInputError

TRUTH_HELP = "The column of true classes or numbers."
EXPLAIN_HELP = "Say why: columns and fitted rows for and against, or those that voted."
INTERVAL_HELP = "Add the ends of 95 % intervals of numbers, where the model has them."
EXPLAINED = 5
MOST_REASONS = 50  # columns and rows that --explain names; rows in JSON
MOST_GAPS = 20  # columns whose missing cells are noted one by one
WIDEST_MATRIX = 15  # most classes of a printed confusion matrix; JSON always has it
OUTPUT_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
OUTPUT_ENDINGS = (*OUTPUT_DELIMITERS, ".jsonl", ".xlsx", ".parquet")


@with_console(
    "predict flowers.ckm new.csv",
    "predict flowers.ckm new.parquet --proba -o answers.csv",
    "predict flowers.ckm new.csv --explain",
    reads=True,
)
def predict(
    console: Console,
    model: _console.ModelArgument,
    table: _console.TableArgument,
    output: _console.RowsOption = None,
    proba: Annotated[bool, Option("--proba", help="Add the shares of the votes.")] = False,
    interval: Annotated[bool, Option("--interval", help=INTERVAL_HELP)] = False,
    explain: Annotated[bool, Option("--explain", help=EXPLAIN_HELP)] = False,
) -> None:
    """Predict the class or the number of each row of a table.

    Columns are found by their names, in any order; other columns are ignored, with a note. The
    table is read in pieces, and may be of any size.
    """
    if explain and (proba or interval):
        raise InvalidInputError("Give --proba, --interval or --explain, not two of them.")

    def answers(fitted: Any, piece: Any) -> Any:
        if explain:
            return reasons_of(fitted, piece, whole=console.json and output is None)
        if proba and fitted.task == "number":
            raise InvalidInputError("--proba is for classes, and this model predicts numbers.")
        if interval and fitted.task == "class":
            raise InvalidInputError("--interval is for numbers; --proba adds shares of classes.")
        columns: dict[str, Any] = {"row": piece.index + 1}
        if fitted.task == "number":
            columns |= {"prediction": fitted.predict(piece)}
            ends = fitted.predict_interval(piece) if interval else ()
            return columns | dict(zip(("low", "high"), ends, strict=False))
        shares = fitted.predict_proba(piece)
        columns |= {"prediction": fitted.classes_[shares.argmax(axis=1)]}
        names = fitted.classes_ if proba else ()
        return columns | {f"share_{name}": shares[:, i] for i, name in enumerate(names)}

    answer(console, answers, "reasons" if explain else "predictions", model, table, output)


def reasons_of(fitted: Any, piece: Any, whole: bool) -> list[dict[str, Any]]:
    """Return the columns and the fitted rows that speak most for or against each prediction.

    Of neighbours these are their votes, and the shares of the columns in the distances to them.
    """
    from cayleyklein.columns.cells import as_words

    names = [column.name for column in fitted.encoder_.used_columns]
    cells = piece[names].apply(as_words).to_numpy(dtype=object, copy=True)
    lines = []
    cells[fitted.encoder_.is_missing(piece)] = None
    n_columns, n_rows = (len(names), MOST_REASONS) if whole else (EXPLAINED, EXPLAINED)
    for at, (row, why) in enumerate(zip(piece.index + 1, fitted.explain(piece), strict=True)):
        shares = why.columns
        effects = getattr(why, "effects", None)
        if effects is None:
            shares = why.votes @ why.columns
            effects = why.votes
        columns = list(zip(names, cells[at], shares.tolist(), strict=True))
        columns.sort(key=lambda column: -abs(column[2]))
        numbers = map(str, why.rows + 1)
        labels = map(str, why.labels)
        rows = zip(numbers, labels, effects.tolist(), strict=True)
        said = [("column", *one) for one in columns[:n_columns]]
        said += [("row", *one) for one in itertools.islice(rows, n_rows)]
        for kind, name, value, effect in said:
            lines.append(
                {
                    "row": row,
                    "prediction": why.prediction,
                    "because": kind,
                    "name": name,
                    "value": value,
                    "effect": effect if whole else float(f"{effect:.4g}"),
                }
            )
    return lines


@with_console("neighbors flowers.ckm new.csv -k 5", reads=True)
def neighbors(
    console: Console,
    model: _console.ModelArgument,
    table: _console.TableArgument,
    k: Annotated[int, Option("-k", "--neighbors", min=1, help="Neighbours of each row.")] = 5,
    output: _console.RowsOption = None,
) -> None:
    """List the nearest fitted rows of each row of a table, in the learned metric.

    Rows are counted from 1, in both tables.
    """
    import numpy as np

    def answers(fitted: Any, piece: Any) -> dict[str, Any]:
        known = fitted.targets_
        (distances, nearest) = fitted.kneighbors(piece, k)
        return {
            "row": np.repeat(piece.index + 1, k),
            "rank": np.tile(np.arange(1, k + 1), len(piece)),
            "neighbor": fitted.row_numbers_[nearest].ravel() + 1,
            "class" if fitted.task == "class" else "value": known[nearest].ravel(),
            "distance": distances.ravel(),
        }

    answer(console, answers, "neighbors", model, table, output)


def answer(
    console: Console,
    answers: Callable[[Any, Any], Any],
    name: str,
    model: Path,
    table: Path,
    output: Path | None,
) -> None:
    import pandas as pd

    from cayleyklein.tables import load_model

    _console.refuse_overwriting(output, model, table)
    fitted = load_model(model)
    pieces = pieces_of(console, fitted, table)
    frames = (pd.DataFrame(answers(fitted, piece)) for piece in pieces)
    if console.json and output is None:
        lines = pd.concat(list(frames)).astype(object)
        console.result({name: lines.where(lines.notna(), None).to_dict("records")}, "")
        return
    n = write_rows(frames, output)
    if output is not None:
        said = "" if console.quiet else f"{output}: {counted(n, 'row')}"
        console.result({"output": str(output), "rows": n}, said)


def pieces_of(console: Console, model: Any, table: Path, target: Any = None) -> Iterator[Any]:
    """Yield a table in pieces with the columns of a model, and note at the end what is unknown."""
    unseen = Counter[str]()
    missing = Counter[str]()
    known = {target, getattr(model, "target_", None), *(c.name for c in model.encoder_.columns_)}
    ignored: list[str] = []
    for piece in console.pieces(table):
        try:
            unseen.update(model.encoder_.unseen(piece))
        except InvalidInputError as error:
            said = f"{error} It has: {', '.join(map(repr, piece.columns[:20]))}."
            raise InvalidInputError(f"{table} does not fit the model. {said}") from error
        missing.update(model.encoder_.missing(piece))
        ignored = [repr(name) for name in piece.columns if name not in known]
        yield piece
    if ignored:
        console.note(f"ignored columns that the model does not know: {', '.join(ignored)}")

    def rows_have(count: int) -> str:
        return f"{counted(count, 'row')} {'has' if count == 1 else 'have'}"

    for name, count in unseen.items():
        console.note(f"{rows_have(count)} a value in {name!r} that the model has not seen")
    filling = {column.name: column.filling for column in model.encoder_.columns_}
    filled = [(name, count) for name, count in missing.most_common() if filling[name]]
    for name, count in filled[:MOST_GAPS]:
        console.note(f"{rows_have(count)} no value in {name!r}; it becomes {filling[name]}")
    if len(filled) > MOST_GAPS:
        console.note(f"missing cells in {counted(len(filled) - MOST_GAPS, 'other column')}, too")


def write_rows(frames: Iterable[Any], path: Path | None) -> int:
    import pandas as pd

    from cayleyklein._validation import require
    from cayleyklein.tables import atomic

    ending = ".csv" if path is None else path.suffix.lower()
    n_rows = 0
    writer = None
    if ending not in OUTPUT_ENDINGS:
        raise InvalidInputError(f"{path} should end in {', '.join(OUTPUT_ENDINGS)}.")
    if ending == ".xlsx":
        require("openpyxl", "excel")
        frames = [pd.concat(list(frames))]
    with ExitStack() as stack:
        file: Any = sys.stdout if path is None else stack.enter_context(atomic.writing(path))
        for frame in frames:
            if ending == ".parquet":
                arrow = require("pyarrow", "cli")
                parquet = require("pyarrow.parquet", "cli")
                rows = arrow.Table.from_pandas(frame, preserve_index=False)
                if writer is None:
                    writer = stack.enter_context(parquet.ParquetWriter(file, rows.schema))
                writer.write_table(rows)
            elif ending == ".xlsx":
                frame.to_excel(file, index=False)
            elif ending == ".jsonl":
                frame.to_json(file, orient="records", lines=True, double_precision=15, mode="a")
            else:
                options = {"sep": OUTPUT_DELIMITERS[ending], "lineterminator": "\n", "index": False}
                frame.to_csv(file, header=n_rows == 0, mode="a", **options)
            n_rows += frame["row"].nunique()
    return n_rows


@with_console(
    "evaluate flowers.ckm more-flowers.csv",
    "evaluate flowers.ckm more-flowers.csv --target kind --json",
    reads=True,
)
def evaluate(
    console: Console,
    model: _console.ModelArgument,
    table: _console.TableArgument,
    target: Annotated[
        str | None,
        Option("-t", "--target", metavar="COLUMN", help=TRUTH_HELP, show_default="that of `fit`"),
    ] = None,
    picture: _console.PictureOption = None,
) -> None:
    """Measure how well a model predicts the known classes or numbers of a table.

    Of classes: accuracy, balanced accuracy (the mean recall of the classes), log loss, the
    precision and recall of each class, the confusion matrix, and how often predictions are right
    by the probability that the model gives them. Of numbers: R², the root of the mean squared
    error (RMSE) and the mean absolute error (MAE), beside those of always predicting the mean of
    the fitted rows. Use rows that the model was not fitted on. The picture shows the confusion
    matrix, or predicted against true numbers and the residuals.
    """
    import numpy as np

    from cayleyklein.experiments import scores
    from cayleyklein.tables import load_model, targets

    _console.check_picture(picture, table, model)
    fitted: Any = load_model(model)
    column = target or getattr(fitted, "target_", None)
    what = fitted.task
    if column is None:
        raise InvalidInputError("The model does not say which column to predict; give --target.")
    if any(c.name == column and c.kind != "unused" for c in fitted.encoder_.columns_):
        said = f"Column {column!r} is one that the model predicts from"
        raise InvalidInputError(f"{said}; it predicts {getattr(fitted, 'target_', 'another')!r}.")
    known = []
    predicted = []
    n_without = 0
    n_fitted = 0
    total_loss = 0.0
    groups = np.zeros((1, 3))
    cells = {"cells": fitted.target_cells_} if hasattr(fitted, "target_cells_") else {}
    reader = targets.TargetColumn(column, what, **cells)
    for piece in pieces_of(console, fitted, table, column):
        rows, truth, dropped = reader.split(piece)
        n_without += dropped
        if len(rows):
            known.append(truth)
            n_fitted += fitted.count_seen(rows)
            if what == "number":
                predicted.append(fitted.predict(rows))
                continue
            shares = fitted.predict_proba(rows)
            predicted.append(fitted.classes_[shares.argmax(axis=1)])
            total_loss += len(rows) * scores.log_loss(shares, fitted.classes_, truth)
            groups = groups + scores.calibration(shares, fitted.classes_, truth)
    console.left_out(n_without, f"without a {what} in {column!r}")
    if not known:
        raise InvalidInputError(f"No row of {table} has a {what} in {column!r}.")
    truth = np.concatenate(known)
    found = np.concatenate(predicted)
    if n_fitted:
        console.note(
            f"{n_fitted:,} of {counted(len(truth), 'row')} have the same values as rows that the "
            f"model was fitted on; if they are the same rows, expect larger errors on new ones"
        )
    if what == "number":
        values = {"rows": len(truth), **scores.number_errors(truth, found)}
        values["mean"] = scores.number_errors(truth, float(fitted.targets_.mean()))
    else:
        unknown = sorted(set(truth) - set(fitted.classes_))
        if unknown:
            names = ", ".join(map(repr, unknown[:10]))
            console.note(f"the model does not know the classes {names}; their rows count as wrong")
        values = score_classes(truth, found) | {
            "log_loss": total_loss / len(truth),
            "calibration": [
                {"rows": int(n), "confidence": confidence / n, "accuracy": right / n}
                for n, confidence, right in filter(np.any, groups.tolist())
            ],
        }
    if picture is not None:
        draw_scores(picture, truth, found, what)
    values |= {"task": what, "fitted_rows": n_fitted}
    console.result(values, number_text(values) if what == "number" else scores_text(values))


def number_text(values: dict[str, Any]) -> str:
    names = {"r2": "R²", "rmse": "RMSE", "mae": "MAE"}
    both = (values, values["mean"])
    rows = [[name, *(f"{one[key]:.6g}" for one in both)] for key, name in names.items()]
    table = columns_of_text(rows, columns=["", "model", "mean of fitted rows"])
    return f"{counted(values['rows'], 'row')}\n{table}"


def draw_scores(path: Path, truth: Any, found: Any, what: str) -> None:
    from matplotlib.figure import Figure
    from sklearn.metrics import ConfusionMatrixDisplay

    from cayleyklein.plotting import shapes

    if what == "number":
        figure = shapes.residuals_figure(truth, found)
    else:
        figure = Figure(figsize=(6, 5), layout="constrained")
        shown = {"ax": figure.add_subplot(), "cmap": "Blues", "xticks_rotation": "vertical"}
        ConfusionMatrixDisplay.from_predictions(truth, found, **shown)
    _console.save_figure(figure, path)


def score_classes(truth: Any, found: Any) -> dict[str, Any]:
    import pandas as pd
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    names = sorted({*truth.tolist(), *found.tolist()})
    columns = precision_recall_fscore_support(truth, found, labels=names, zero_division=0.0)
    classes = pd.DataFrame([names, *columns], ["name", "precision", "recall", "f1", "rows"]).T
    recalls = columns[1][columns[3] > 0].tolist()
    return {
        "rows": len(truth),
        "accuracy": float((truth == found).mean()),
        "balanced_accuracy": sum(recalls) / len(recalls),
        "classes": classes.to_dict("records"),
        "confusion": confusion_matrix(truth, found, labels=names).tolist(),
    }


def scores_text(values: dict[str, Any]) -> str:
    n = values["rows"]
    accuracy = values["accuracy"]
    names = [c["name"] for c in values["classes"]]
    error = (accuracy * (1 - accuracy) / n) ** 0.5
    how_sure = f"{error:.4f} (standard error, {counted(n, 'row')})"
    lines = [
        f"accuracy           {accuracy:.4f} ± {how_sure}",
        f"balanced accuracy  {values['balanced_accuracy']:.4f}",
        f"log loss           {values['log_loss']:.4f}",
        f"\n{columns_of_text(values['classes'])}",
    ]
    if len(names) <= WIDEST_MATRIX:
        rows = [[name, *row] for name, row in zip(names, values["confusion"], strict=True)]
        matrix = columns_of_text(rows, columns=["true \\ predicted", *names])
        lines.append(f"\n{matrix}")
    lines.append(f"\n{columns_of_text(values['calibration'])}")
    return "\n".join(lines)
