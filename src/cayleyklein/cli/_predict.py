"""Commands that ask a model about a table: predict, counterfactual, neighbors and evaluate."""

import itertools
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from cayleyklein.cli import _console
from cayleyklein.cli._console import Console, columns_of_text, counted, with_console
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, UnreadableCellsWarning


@with_console(
    "predict flowers.ckm new.csv",
    "predict flowers.ckm new.parquet --proba -o answers.csv",
    "predict flowers.ckm new.csv --set 0.95",
    "predict flowers.ckm new.csv --explain",
    reads=True,
)
def predict(
    console: Console,
    model: _console.ModelArgument,
    table: _console.TableArgument,
    output: _console.RowsOption = None,
    proba: Annotated[bool, Option("--proba", help="Add the shares of the votes.")] = False,
    interval: Annotated[
        bool,
        Option(
            "--interval",
            help="Add the ends of 95 % intervals of numbers, where the model has them.",
        ),
    ] = False,
    level: Annotated[
        float | None,
        Option(
            "--set",
            metavar="LEVEL",
            help="Add the set of classes that holds the class with this probability, as 0.95.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        Option(
            "--explain",
            help="Say why: columns and fitted rows for and against, or those that voted.",
        ),
    ] = False,
    errors: Annotated[
        Literal["warn", "raise"],
        Option(
            help="Cells that cannot be read count as missing, with a note (warn), or are an error."
        ),
    ] = "warn",
) -> None:
    """Predict the class or the number of each row of a table.

    Columns are found by their names, in any order; other columns are ignored, with a note. The
    table is read in pieces, and may be of any size.
    """
    from cayleyklein.prediction import conformal

    if explain and (proba or interval or level is not None):
        raise InvalidInputError("Give --explain without --proba, --interval and --set.")
    if level is not None:
        conformal.as_level(level)

    def answers(fitted: Any, piece: Any) -> Any:
        fitted.encoder_.errors = errors
        if explain:
            return reasons_of(fitted, piece, whole=console.json and output is None)
        if proba and fitted.task == "number":
            raise InvalidInputError("--proba is for classes, and this model predicts numbers.")
        if interval and fitted.task == "class":
            said = "--proba adds shares of classes, --set sets of them."
            raise InvalidInputError(f"--interval is for numbers; {said}")
        if level is not None and fitted.task == "number":
            raise InvalidInputError("--set is for classes; --interval adds ends of intervals.")
        columns: dict[str, Any] = {"row": piece.index + 1}
        if fitted.task == "number":
            columns["prediction"] = fitted.predict(piece)
            if interval:
                columns["low"], columns["high"] = fitted.predict_interval(piece)
            return columns
        shares = fitted.predict_proba(piece)
        columns["prediction"] = fitted.classes_[shares.argmax(axis=1)]
        if level is not None:
            sets = [fitted.classes_[held].tolist() for held in fitted.predict_set(piece, level)]
            as_lists = console.json and output is None
            columns["set"] = sets if as_lists else [" | ".join(map(str, one)) for one in sets]
        if proba:
            for name, share in zip(fitted.classes_, shares.T, strict=True):
                columns[f"share_{name}"] = share
        return columns

    write_answers(console, answers, "reasons" if explain else "predictions", model, table, output)


@with_console(
    "counterfactual loans.ckm refused.csv --to granted --fixed age",
    "counterfactual loans.ckm refused.csv --bound income=0:90000 -o changes.csv",
    "counterfactual loans.ckm refused.csv --bound day=2024-01-01: --bound job=clerk:nurse",
    reads=True,
)
def counterfactual(
    console: Console,
    model: _console.ModelArgument,
    table: _console.TableArgument,
    to: Annotated[
        str | None, Option(metavar="CLASS", help="The class to reach.", show_default="any other")
    ] = None,
    fixed: Annotated[
        list[str] | None,
        Option(metavar="COLUMN", help="A column that may not change; may be repeated."),
    ] = None,
    bound: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN=LOW:HIGH",
            help="The range of a column, whose ends may be left out, or the categories that it may "
            "change to; may be repeated.",
        ),
    ] = None,
    integer: Annotated[
        list[str] | None,
        Option(metavar="COLUMN", help="A column of whole numbers; may be repeated."),
    ] = None,
    output: _console.RowsOption = None,
) -> None:
    """Say what would have to change for each row of a table to have another class.

    The smallest change is sought, in standard deviations of the columns; a category that changes
    counts as one. Text and missing cells stay as they are. A line for each column that changes: the
    number of the row, what it is predicted and what it becomes, the size of the whole change,
    whether it is exact (no smaller one exists) or the best that was found, and the column with its
    cell before and after. It is exact for models of one curved metric and equal votes: fit with
    --geometry learned --neighbors 3 --weights uniform. Rows that have the class already, and rows
    without an allowed change, are left out.
    """
    import pandas as pd

    left_out = Counter[str]()

    def answers(fitted: Any, piece: Any) -> Any:
        if fitted.task == "number":
            raise InvalidInputError("counterfactual is for classes; this model predicts numbers.")
        names = {str(name): name for name in fitted.classes_}
        if to is not None and to not in names:
            raise InvalidInputError(f"--to {to} is no class of the model: {', '.join(names)}.")
        wanted = None if to is None else names[to]
        bounds = ranges_of(bound or (), fitted.encoder_.used_columns)
        predictions = fitted.predict(piece)
        lines: list[dict[str, Any]] = []
        for at, (number, prediction) in enumerate(zip(piece.index + 1, predictions, strict=True)):
            if to is not None and prediction == wanted:
                left_out[f"of class {to} already"] += 1
                continue
            try:
                found = fitted.counterfactual(
                    piece[at : at + 1],
                    wanted,
                    fixed=fixed or (),
                    bounds=bounds,
                    integers=integer or (),
                )
            except NotRepresentableError:
                left_out["for which no allowed change was found"] += 1
                continue
            about = {
                "row": number,
                "prediction": prediction,
                "becomes": found.prediction,
                "size": found.size,
                "exact": found.is_exact,
            }
            lines.extend(
                about | {"column": column, "before": before, "after": after}
                for column, (before, after) in found.changes.items()
            )
        head = ["row", "prediction", "becomes", "size", "exact", "column", "before", "after"]
        return pd.DataFrame(lines, columns=head)

    write_answers(console, answers, "changes", model, table, output)
    for why, n in left_out.items():
        console.left_out(n, why)


def ranges_of(texts: Iterable[str], columns: Iterable[Any]) -> dict[str, Any]:
    """Read "income=0:90000" and "job=clerk:nurse"; an end that is left out is no end."""
    kinds = {column.name: column.kind for column in columns}
    found: dict[str, Any] = {}
    for text in texts:
        name, _, ends = text.rpartition("=")
        said = ends.split(":")
        if kinds.get(name) == "category":
            found[name] = said
            continue
        middle = len(said) // 2  # times have colons, too
        low, high = ":".join(said[:middle]), ":".join(said[middle:])
        if not name or len(said) % 2 or not (low or high):
            expected = "should be COLUMN=LOW:HIGH, such as income=0:90000"
            raise InvalidInputError(f"--bound {text} {expected}.")
        found[name] = low or None, high or None
    return found


def reasons_of(fitted: Any, piece: Any, whole: bool) -> list[dict[str, Any]]:
    """Return the columns and the fitted rows that speak most for or against each prediction.

    Of neighbours these are their votes, and the shares of the columns in the distances to them.
    The whole answer has all columns and fifty rows; the short one has five of each.
    """
    from cayleyklein.columns.parsing import as_words

    names = [column.name for column in fitted.encoder_.used_columns]
    cells = piece[names].apply(as_words).to_numpy(dtype=object, copy=True)
    cells[fitted.encoder_.is_missing(piece)] = None
    n_columns = len(names) if whole else 5
    n_rows = 50 if whole else 5
    lines = []
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
                    "strangeness": round(float(why.strangeness), 4),
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
        distances, nearest = fitted.kneighbors(piece, k)
        return {
            "row": np.repeat(piece.index + 1, k),
            "rank": np.tile(np.arange(1, k + 1), len(piece)),
            "neighbor": fitted.row_numbers_[nearest].ravel() + 1,
            "class" if fitted.task == "class" else "value": known[nearest].ravel(),
            "distance": distances.ravel(),
        }

    write_answers(console, answers, "neighbors", model, table, output)


def write_answers(
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
    """Yield a table in pieces; note at the end unknown columns, unseen values and missing cells."""
    from cayleyklein.columns import unreadable

    warnings.simplefilter("ignore", UnreadableCellsWarning)  # one note for all pieces
    unseen = Counter[str]()
    missing = Counter[str]()
    odd: dict[str, list[unreadable.OddCell]] = {}
    known = {target, getattr(model, "target_", None), *(c.name for c in model.encoder_.columns_)}
    ignored: list[str] = []
    for piece in console.pieces(table):
        try:
            unseen.update(model.encoder_.unseen(piece))
        except InvalidInputError as error:
            said = f"{error} It has: {', '.join(map(repr, piece.columns[:20]))}."
            raise InvalidInputError(f"{table} does not fit the model. {said}") from error
        missing.update(model.encoder_.missing(piece))
        for name, cells in model.encoder_.unreadable(piece).items():
            odd.setdefault(name, []).extend(cells)
        ignored = [repr(name) for name in piece.columns if name not in known]
        yield piece
    if ignored:
        console.note(f"ignored columns that the model does not know: {', '.join(ignored)}")

    if odd:
        console.note(unreadable.told(odd).removesuffix("."))

    def rows_have(count: int) -> str:
        return f"{counted(count, 'row')} {'has' if count == 1 else 'have'}"

    for name, count in unseen.items():
        console.note(f"{rows_have(count)} a value in {name!r} that the model has not seen")
    filling = {column.name: column.filling for column in model.encoder_.columns_}
    filled = [(name, count) for name, count in missing.most_common() if filling[name]]
    n_noted = 20
    for name, count in filled[:n_noted]:
        console.note(f"{rows_have(count)} no value in {name!r}; it becomes {filling[name]}")
    if len(filled) > n_noted:
        console.note(f"missing cells in {counted(len(filled) - n_noted, 'other column')}, too")


def write_rows(frames: Iterable[Any], path: Path | None) -> int:
    import pandas as pd

    from cayleyklein._validation import require
    from cayleyklein.tables import atomic

    ending = ".csv" if path is None else path.suffix.lower()
    n_rows = 0
    writer = None
    delimiters = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
    endings = (*delimiters, ".jsonl", ".xlsx", ".parquet")
    if ending not in endings:
        raise InvalidInputError(f"{path} should end in {', '.join(endings)}.")
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
                frame.to_csv(
                    file,
                    sep=delimiters[ending],
                    header=n_rows == 0,
                    index=False,
                    mode="a",
                    lineterminator="\n",
                )
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
        Option(
            "-t",
            "--target",
            metavar="COLUMN",
            help="The column of true classes or numbers.",
            show_default="that of `fit`",
        ),
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
    reader = targets.TargetColumn(column, what)
    if hasattr(fitted, "target_cells_"):
        reader = reader._replace(cells=fitted.target_cells_)
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
    text = number_text(values) if what == "number" else scores_text(values)
    console.result(values, text)


def number_text(values: dict[str, Any]) -> str:
    names = {"r2": "R²", "rmse": "RMSE", "mae": "MAE"}
    rows = []
    for key, name in names.items():
        rows.append([name, f"{values[key]:.6g}", f"{values['mean'][key]:.6g}"])
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
        ConfusionMatrixDisplay.from_predictions(
            truth, found, ax=figure.add_subplot(), cmap="Blues", xticks_rotation="vertical"
        )
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
    if len(names) <= 15:  # JSON always has the matrix
        rows = [[name, *row] for name, row in zip(names, values["confusion"], strict=True)]
        matrix = columns_of_text(rows, columns=["true \\ predicted", *names])
        lines.append(f"\n{matrix}")
    lines.append(f"\n{columns_of_text(values['calibration'])}")
    return "\n".join(lines)
