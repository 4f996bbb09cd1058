"""Models as plain values, and back by the public constructors, which check them.

A file holds arrays, texts and the encoder of a table. Search indexes are built anew from the rows.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import require
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning import CurvedKNeighborsClassifier
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import labels_and_weights
from cayleyklein.tables._classifier import LearnedMetric, TableClassifier
from cayleyklein.tables._encoder import TableEncoder

__all__ = ["model_of", "state_of"]

# Parameters to save; not threads nor the way to search, which belong to the machine.
NEIGHBOR_PARAMETERS = ("n_neighbors", "weights", "outside")
TABLE_PARAMETERS = (
    "n_neighbors", "geometry", "weights", "max_categories", "kinds", "drop", "learn_rows",
    "random_state",
)  # fmt: skip

SUMS: dict[str, tuple[Any, str]] = {
    "MixedMetric": (MixedMetric, "weights"),
    "ProductMetric": (ProductMetric, "units"),
}
"""Metrics that are made of several, and the attribute with a number for each."""

BLOCK = 50_000
"""Rows saved as one array: skops holds each array twice."""

State = dict[str, Any]


def state_of(model: Any) -> State:
    """Return a fitted model as plain values, and the encoder of a table as it is."""
    if not isinstance(model, TableClassifier | CurvedKNeighborsClassifier):
        raise InvalidInputError(
            f"A {type(model).__name__} cannot be saved as a model; expected a fitted "
            f"TableClassifier or CurvedKNeighborsClassifier."
        )
    if not hasattr(model, "classes_"):
        raise InvalidInputError("The model is not fitted: there is nothing to save.")
    if isinstance(model, TableClassifier):
        return {"kind": "TableClassifier", **table_state(model)}
    return {"kind": "CurvedKNeighborsClassifier", **neighbors_state(model)}


def model_of(state: State) -> Any:
    """Return the model whose state this is."""
    models = {"TableClassifier": table_of, "CurvedKNeighborsClassifier": neighbors_of}
    if state["kind"] not in models:
        raise InvalidInputError(f"holds a model of the unknown kind {state['kind']!r}")
    return models[state["kind"]](state)


def parameters_of(model: Any, names: tuple[str, ...]) -> State:
    """Return parameters as plain values: a number of NumPy's, as a grid has it, is Python's."""
    plain = {}
    for name in names:
        value = getattr(model, name)
        value = value.item() if isinstance(value, np.generic) else value
        try:
            json.dumps(value)
        except TypeError as error:
            raise InvalidInputError(
                f"{name} is a {type(value).__name__}, which no file can hold safely; set it to a "
                f"number, a text or None before saving."
            ) from error
        plain[name] = value
    return plain


def metric_state(metric: Any) -> State:
    """Return a metric as plain values."""
    for name, (kind, numbers) in SUMS.items():
        if type(metric) is kind:
            parts = [metric_state(part) for part in metric.metrics]
            return {"sum": name, "parts": parts, "numbers": np.array(getattr(metric, numbers))}
    if type(metric) is not CurvedMetric:
        raise InvalidInputError(f"A {type(metric).__name__} cannot be saved in a model.")
    return {
        "factor": np.array(metric.factor),
        "center": np.array(metric.center),
        "curvature": float(metric.curvature),
    }


def metric_of(state: State) -> Any:
    """Return the metric whose state this is."""
    if "sum" in state:
        kind, _ = SUMS[state["sum"]]
        return kind([metric_of(part) for part in state["parts"]], state["numbers"])
    return CurvedMetric(
        factor=state["factor"], center=state["center"], curvature=state["curvature"]
    )


def labelled_state(metric: Any, rows: Any, labels: Any, classes: Any) -> State:
    """Return labelled rows and their metric as plain values."""
    return {
        "metric": metric_state(metric),
        "rows": [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)],
        "labels": np.asarray(labels, dtype=np.int64),
        "classes": classes.tolist(),
    }


def labelled_of(state: State) -> tuple[Any, NDArray[np.float64], NDArray[np.int64], NDArray[Any]]:
    """Return a metric, rows, labels and classes that fit each other."""
    rows, labels = np.concatenate(state.pop("rows")), state["labels"]
    classes = np.asarray(state["classes"])
    if labels.ndim != 1 or labels.dtype.kind != "i" or len(labels) != len(rows):
        raise InvalidInputError("the labels are not one for each row")
    if not ((labels >= 0) & (labels < len(classes))).all():
        raise InvalidInputError("labels are not positions among the classes")
    return metric_of(state["metric"]), rows, labels, classes


def neighbors_state(model: CurvedKNeighborsClassifier) -> State:
    """Return a fitted classifier of arrays as plain values."""
    names = getattr(model, "feature_names_in_", None)
    rows, labels, weights = fitted_rows(model)
    return {
        "parameters": parameters_of(model, NEIGHBOR_PARAMETERS)
        | {"n_neighbors": model.n_neighbors_},
        "weights": weights,
        "feature_names": None if names is None else names.tolist(),
        **labelled_state(model.metric_, rows, labels, model.classes_),
    }


def fitted_rows(model: CurvedKNeighborsClassifier) -> tuple[Any, Any, Any]:
    """Return the rows that a classifier was fitted on, their classes' positions and weights."""
    labels, weights = labels_and_weights(np.asarray(model._in_memory().payload))
    return model._in_memory().X, labels, weights


def neighbors_of(state: State) -> CurvedKNeighborsClassifier:
    """Return the classifier of arrays whose state this is."""
    parameters = {name: state["parameters"][name] for name in NEIGHBOR_PARAMETERS}
    metric, rows, labels, classes = labelled_of(state)
    model = CurvedKNeighborsClassifier(metric=metric, **parameters)
    model._fit(rows, classes[labels], state["weights"], classes)
    if state["feature_names"] is not None:
        model.feature_names_in_ = np.asarray(state["feature_names"], dtype=object)
    return model


def table_state(model: TableClassifier) -> State:
    """Return a fitted classifier of tables as plain values."""
    return {
        "parameters": parameters_of(model, TABLE_PARAMETERS),
        "encoder": model.encoder_,
        "learned": asdict(model.learned_),
        "row_numbers": np.asarray(model.row_numbers_),
        "voters": int(model.neighbors_.n_neighbors_),
        "target": getattr(model, "target_", None),
        **labelled_state(model.metric_, model._rows, model.labels_, model.classes_),
    }


def table_of(state: State) -> TableClassifier:
    """Return the classifier of tables whose state this is."""
    model = TableClassifier(**{name: state["parameters"][name] for name in TABLE_PARAMETERS})
    metric, rows, labels, classes = labelled_of(state)
    encoder, numbers = state["encoder"], state["row_numbers"]
    learned = LearnedMetric(**state["learned"])
    learned.describe()  # raises for anything but numbers
    if not isinstance(encoder, TableEncoder):
        raise InvalidInputError("it has no encoder of columns")
    blank = require("pandas", "cli").DataFrame({c.name: [None] for c in encoder.columns_})
    if not encoder.transform(blank).shape[1] == encoder.n_features_out_ == rows.shape[1]:
        raise InvalidInputError("the columns do not make the rows of the neighbours")
    if numbers.dtype.kind != "i" or numbers.shape != labels.shape:
        raise InvalidInputError("the row numbers are not one for each row")
    model._take(encoder, metric, rows, labels, classes, learned, numbers, state["voters"])
    if state["target"] is not None:
        model.target_ = str(state["target"])
    return model
