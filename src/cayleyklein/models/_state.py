"""Models as plain values, and back by the public constructors, which check them.

A file holds numbers, texts and arrays. Search indexes are not kept: they are built anew from the
rows.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier
from cayleyklein.metrics import CurvedMetric, Metric, MixedMetric, terms_of
from cayleyklein.models._columns import CategoryColumn, NumberColumn
from cayleyklein.models._encoder import ColumnUse, TableEncoder
from cayleyklein.models._table import LabelledRows, LearnedMetric, TableClassifier

__all__ = ["model_of", "state_of"]

State = dict[str, Any]

BLOCK = 50_000
"""Rows that are saved as one array."""

# Not the threads nor the algorithm of the search, which are the machine's and decide no answer.
NEIGHBOR_PARAMETERS = ("n_neighbors", "weights", "outside")
TABLE_PARAMETERS = (
    "n_neighbors",
    "geometry",
    "weights",
    "max_categories",
    "learn_rows",
    "random_state",
)


def state_of(model: Any) -> State:
    """Return a fitted model as plain values."""
    if callable(getattr(model, "weights", None)):
        raise InvalidInputError(
            'weights is a function, which no file can hold safely; use "uniform" or "distance".'
        )
    if isinstance(model, TableClassifier):
        return {"kind": "TableClassifier", **table_state(model)}
    if isinstance(model, CurvedKNeighborsClassifier):
        return {"kind": "CurvedKNeighborsClassifier", **neighbors_state(model)}
    raise InvalidInputError(
        f"A {type(model).__name__} cannot be saved as a model; expected a fitted TableClassifier "
        f"or CurvedKNeighborsClassifier."
    )


def model_of(state: State) -> Any:
    """Return the model whose state this is."""
    build = {"TableClassifier": table_of, "CurvedKNeighborsClassifier": neighbors_of}
    kind = state["kind"]
    if kind not in build:
        raise InvalidInputError(f"holds a model of the unknown kind {kind!r}")
    return build[kind](state)


def parameters_of(model: Any, names: tuple[str, ...]) -> State:
    """Return parameters as plain values: a number of NumPy's, as a grid has it, is Python's."""
    given = {name: getattr(model, name) for name in names}
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
    }
    for name, value in plain.items():
        if not isinstance(value, int | float | str | None):
            raise InvalidInputError(
                f"{name} is a {type(value).__name__}, which no file can hold safely; set it to a "
                f"number, a text or None before saving."
            )
    return plain


def metric_state(metric: Metric) -> list[State]:
    """Return the parts of a metric."""
    return [
        {
            "weight": weight,
            "factor": np.array(part.factor),
            "shape": None if part.frame.given_matrix is None else np.array(part.frame.given_matrix),
            "center": np.array(part.center),
            "curvature": float(part.curvature),
        }
        for part, weight in terms_of(metric)
    ]


def metric_of(parts: list[State], mixed: bool) -> Metric:
    """Return the metric of these parts; one that was given by its shape is again."""
    metrics = [
        CurvedMetric(
            factor=part["factor"] if part["shape"] is None else None,
            matrix=part["shape"],
            center=part["center"],
            curvature=part["curvature"],
        )
        for part in parts
    ]
    return MixedMetric(metrics, [part["weight"] for part in parts]) if mixed else metrics[0]


def neighbors_state(model: CurvedKNeighborsClassifier) -> State:
    """Return a fitted classifier as plain values."""
    if not hasattr(model, "classes_"):
        raise InvalidInputError("The model is not fitted: there is nothing to save.")
    names = getattr(model, "feature_names_in_", None)
    labelled = LabelledRows(
        model.metric_, model._in_memory().references.X, model._labels(), model.classes_
    )
    return {
        "parameters": parameters_of(model, NEIGHBOR_PARAMETERS),
        "feature_names": None if names is None else names.tolist(),
        **labelled_state(labelled),
    }


def labelled_state(labelled: LabelledRows) -> State:
    """Return rows as plain values; in blocks, of which skops holds one at a time twice."""
    metric, rows, labels, classes = labelled
    return {
        "mixed": isinstance(metric, MixedMetric),
        "metric": metric_state(metric),
        "rows": [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)],
        "labels": np.asarray(labels, dtype=np.int64),
        "classes": classes.tolist(),
    }


def neighbors_of(state: State) -> CurvedKNeighborsClassifier:
    """Return the classifier."""
    parameters = {name: state["parameters"][name] for name in NEIGHBOR_PARAMETERS}
    model = indexed(state, parameters)
    if state["feature_names"] is not None:
        model.feature_names_in_ = np.asarray(state["feature_names"], dtype=object)
    return model


def indexed(state: State, parameters: dict[str, Any]) -> CurvedKNeighborsClassifier:
    """Return the classifier of labelled rows; its search index is built from them."""
    classes = np.asarray(state["classes"])
    labels, rows = state["labels"], np.concatenate(state.pop("rows"))
    if (
        labels.ndim != 1
        or labels.dtype.kind != "i"
        or not ((labels >= 0) & (labels < len(classes))).all()
    ):
        raise InvalidInputError("labels are not positions among the classes")
    metric = metric_of(state["metric"], state["mixed"])
    model = CurvedKNeighborsClassifier(metric=metric, **parameters)
    return model.partial_fit(rows, classes[labels], classes=classes)


def table_state(model: TableClassifier) -> State:
    """Return a fitted table classifier as plain values."""
    if not hasattr(model, "_labelled"):
        raise InvalidInputError("The model is not fitted: there is nothing to save.")
    encoder = model.encoder_
    return {
        "parameters": parameters_of(model, TABLE_PARAMETERS),
        "neighbors": labelled_state(model._labelled),
        "columns": [asdict(column) for column in encoder.columns_],
        "uses": [asdict(use) for use in encoder.uses_],
        "learned": asdict(model.learned_),
        "row_numbers": np.asarray(model.row_numbers_),
        "target": getattr(model, "target_", None),
    }


def table_of(state: State) -> TableClassifier:
    """Return the table classifier."""
    model = TableClassifier(**{name: state["parameters"][name] for name in TABLE_PARAMETERS})
    encoder = TableEncoder(max_categories=model.max_categories)
    encoder.columns_ = [column_of(values) for values in state["columns"]]
    encoder.uses_ = [ColumnUse(**use) for use in state["uses"]]
    found = indexed(
        state["neighbors"], {"n_neighbors": model.n_neighbors, "weights": model.weights}
    )
    model._neighbors = found
    model._labelled = LabelledRows(
        found.metric_, found._in_memory().references.X, found._labels(), found.classes_
    )
    if encoder.n_features_out_ != found.n_features_in_:
        raise InvalidInputError("the columns do not make the rows of the neighbours")
    model.encoder_ = encoder
    model.learned_ = LearnedMetric(**state["learned"])
    model.learned_.describe()  # raises for what are no numbers
    model.row_numbers_ = state["row_numbers"]
    if (
        model.row_numbers_.dtype.kind != "i"
        or model.row_numbers_.shape != state["neighbors"]["labels"].shape
    ):
        raise InvalidInputError("the row numbers are not one for each row")
    if state["target"] is not None:
        model.target_ = str(state["target"])
    return model


def column_of(values: State) -> NumberColumn | CategoryColumn:
    """Return what is done to a column."""
    if "shown" not in values:
        numbers = {name: float(values[name]) for name in ("median", "mean", "scale")}
        if not np.isfinite(list(numbers.values())).all() or numbers["scale"] <= 0:
            raise InvalidInputError("a column of numbers is scaled by none")
        return NumberColumn(str(values["name"]), **numbers)
    column = CategoryColumn(**values)
    known = [column.name, *column.shown, *column.rare]
    if not all(isinstance(text, str) for text in known) or column.frequent not in known[1:]:
        raise InvalidInputError("a column of categories has none")
    return column
