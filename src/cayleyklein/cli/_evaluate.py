"""``cayleyklein evaluate``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from cayleyklein.cli._console import Console, columns_of_text, with_console
from cayleyklein.cli._options import Delimiter, Encoding, Model, Table
from cayleyklein.cli._tables import Matched, load_table_model, matched_pieces
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.tables import split_target

__all__ = ["HELP", "command"]

HELP = """Say how well a model does on a table whose classes are known.

Accuracy, balanced accuracy (the mean recall of the classes), what is taken for what, and precision
and recall of each class. Use rows that the model was not fitted on.

Examples:

\b
    cayleyklein evaluate flowers.ckm more-flowers.csv
    cayleyklein evaluate flowers.ckm more-flowers.csv --target kind --json
"""

WIDEST_MATRIX = 15
"""Classes up to which the confusion matrix is printed; JSON always has it."""


@with_console
def command(
    console: Console,
    model: Model,
    table: Table,
    target: Annotated[
        str | None,
        typer.Option(
            "-t",
            "--target",
            metavar="COLUMN",
            help="The column of classes.",
            show_default="the one that the model was fitted with",
        ),
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Compare predictions with what is known."""
    fitted = load_table_model(model)
    column = target or getattr(fitted, "target_", None)
    if column is None:
        raise InvalidInputError("The model does not say which column to predict; give --target.")
    if any(c.name == column and c.kind != "unused" for c in fitted.encoder_.columns_):
        raise InvalidInputError(
            f"Column {column!r} is one that the model predicts from; its classes are of "
            f"{getattr(fitted, 'target_', 'another')!r}."
        )
    are_fitted = fitted.recognizer()
    matched, known, predicted, n_unlabelled, n_fitted = Matched(), [], [], 0, 0
    for piece in matched_pieces(
        console, fitted, table, encoding=encoding, delimiter=delimiter, target=column,
        matched=matched,
    ):  # fmt: skip
        rows, classes, dropped = split_target(piece, column, to_learn=False)
        n_unlabelled += dropped
        if len(rows):
            known.append(classes)
            predicted.append(fitted.predict(rows))
            n_fitted += int(are_fitted(rows).sum())
    matched.report(console)
    if n_unlabelled:
        console.note(f"{n_unlabelled} rows without a class in {column!r} are left out")
    if not known:
        raise InvalidInputError(f"No row of {table} has a class in {column!r}.")
    truth, answer = np.concatenate(known), np.concatenate(predicted)
    strangers = sorted(set(truth) - set(fitted.classes_))
    if strangers:
        names = ", ".join(map(repr, strangers[:10]))
        console.note(f"the model does not know the classes {names}; their rows count as wrong")
    if n_fitted:
        console.note(
            f"{n_fitted:,} of {len(truth):,} rows are the same as rows that the model was fitted "
            f"on, and find themselves: expect less accuracy on new ones"
        )
    values = {**scores(truth, answer), "fitted_rows": n_fitted}
    console.result(values, as_text(values))


def scores(truth: NDArray[Any], answer: NDArray[Any]) -> dict[str, Any]:
    """Return all the numbers."""
    names = sorted({*truth.tolist(), *answer.tolist()})
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, answer, labels=names, zero_division=0.0
    )
    present = support > 0
    return {
        "rows": len(truth),
        "accuracy": float((truth == answer).mean()),
        "balanced_accuracy": float(recall[present].mean()),
        "classes": [
            {
                "name": name,
                "rows": int(support[i]),
                "precision": float(precision[i]),
                "recall": float(recall[i]),
                "f1": float(f1[i]),
            }
            for i, name in enumerate(names)
        ],
        "confusion": confusion_matrix(truth, answer, labels=names).tolist(),
    }


def as_text(values: dict[str, Any]) -> str:
    """Return the tables that a person reads."""
    n, accuracy = values["rows"], values["accuracy"]
    error = np.sqrt(accuracy * (1 - accuracy) / n)
    lines = [
        f"accuracy           {accuracy:.4f} ± {error:.4f} (standard error, {n:,} rows)",
        f"balanced accuracy  {values['balanced_accuracy']:.4f}",
        "",
        columns_of_text(
            [["class", "rows", "precision", "recall", "F1"]]
            + [
                [
                    c["name"],
                    f"{c['rows']:,}",
                    *(f"{c[key]:.3f}" for key in ("precision", "recall", "f1")),
                ]
                for c in values["classes"]
            ]
        ),
    ]
    names = [c["name"] for c in values["classes"]]
    if len(names) <= WIDEST_MATRIX:
        rows = zip(names, values["confusion"], strict=True)
        matrix = [["true \\ said", *names], *([name, *map(str, row)] for name, row in rows)]
        lines += ["", columns_of_text(matrix)]
    return "\n".join(lines)
