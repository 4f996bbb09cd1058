"""Why a row of a table is predicted as it is, and how far to trust that, for the learning page."""

import warnings
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.app import _fitting, _state, _tables, _trust
from cayleyklein.exceptions import StrangeRowsWarning
from cayleyklein.prediction import KernelExplanation


def explain_row(
    model: Any,
    table: _tables.PreparedTable,
    x: Floats,
    row: int | None,
    most_columns: int = 8,
    most_rows: int = 5,
) -> dict[str, Any]:
    """Return what counts for and against a prediction: parts, columns, and rows of the table.

    `row` is the number of the row in the table, None for one that is not in it. Of rows there are
    up to `most_rows` for the prediction, and as many against it.
    """
    train = _fitting.train_and_test(table)[0]
    with warnings.catch_warnings():  # a sentence says how strange the row is
        warnings.simplefilter("ignore", StrangeRowsWarning)
        why = model.explain(x)
        held = _trust.likely_words(model, x[None], table.is_regression)[0]
    trust = [
        f"With a probability of {_trust.LEVEL:.0%} it is {held}.",
        _trust.strangeness_words(float(why.strangeness)),
    ]
    if row is not None and row in train:
        trust = ["It is a training row: the model was told what it is."]
    by_column = np.atleast_2d(np.nan_to_num(why.columns)).mean(axis=0)  # of votes, of each voter
    largest = np.argsort(-np.abs(by_column), kind="stable")[:most_columns]
    kernel = isinstance(why, KernelExplanation)
    effects = why.effects if kernel else why.votes
    labels = [_worded(label, table) for label in why.labels]
    rows = zip(train[why.rows].tolist(), effects.tolist(), labels, strict=True)
    found = [[number, value, label] for number, value, label in rows]
    same = _worded(np.ravel(why.prediction)[0], table)
    if kernel:
        pros = [one for one in found if one[1] > 0]
        cons = [one for one in found if one[1] < 0]
    else:
        pros = [one for one in found if table.is_regression or one[2] == same]
        cons = [one for one in found if not table.is_regression and one[2] != same]
    parts = why.parts.items() if kernel else ()
    return {
        "row": row,
        "prediction": same,
        "true": None if row is None else _worded(table.labels[row], table),
        "trust": trust,
        "unit": why.unit if kernel else "share of the votes",
        "parts": [[_fitting.PART_WORDS.get(name, name), float(v)] for name, v in parts],
        "columns": [[table.columns[i], float(by_column[i])] for i in largest],
        "for": pros[:most_rows],
        "against": cons[:most_rows],
    }


def _worded(target: Any, table: _tables.PreparedTable) -> str:
    return _state.in_figures(float(target)) if table.is_regression else str(target)
