"""Why a row of a table is predicted as it is, for the learning page."""

from typing import Any

import numpy as np

from cayleyklein.app import _fitting, _tables
from cayleyklein.prediction import KernelExplanation

COLUMNS_TOLD = 8  # that are told
ROWS_TOLD = 5  # for a prediction, and against it


def explain_row(model: Any, table: _tables.PreparedTable, row: int) -> dict[str, Any]:
    """Return what counts for and against a prediction: parts, columns, and rows of the table."""
    train = _fitting.train_and_test(table)[0]
    why = model.explain(table.X[row])
    by_column = np.atleast_2d(np.nan_to_num(why.columns)).mean(axis=0)  # of votes, of each voter
    largest = np.argsort(-np.abs(by_column), kind="stable")[:COLUMNS_TOLD]
    kernel = isinstance(why, KernelExplanation)
    effects = why.effects if kernel else why.votes
    rows = zip(train[why.rows].tolist(), effects.tolist(), map(str, why.labels), strict=True)
    found = [[number, value, label] for number, value, label in rows]
    same = str(why.prediction)
    if kernel:
        pros = [one for one in found if one[1] > 0]
        cons = [one for one in found if one[1] < 0]
    else:
        pros = [one for one in found if table.is_regression or one[2] == same]
        cons = [one for one in found if not table.is_regression and one[2] != same]
    parts = why.parts.items() if kernel else ()
    return {
        "row": row,
        "prediction": f"{float(np.ravel(why.prediction)[0]):.4g}" if table.is_regression else same,
        "true": f"{table.labels[row]:.4g}" if table.is_regression else str(table.labels[row]),
        "unit": why.unit if kernel else "share of the votes",
        "parts": [[_fitting.PART_WORDS.get(name, name), float(v)] for name, v in parts],
        "columns": [[table.columns[i], float(by_column[i])] for i in largest],
        "for": pros[:ROWS_TOLD],
        "against": cons[:ROWS_TOLD],
    }
