"""The learners, the classifier and the regressor raise a clear error for bad input."""

import numpy as np
import pytest
from tests.bad_input import (
    Call,
    calls,
    check,
    choice,
    count,
    jobs,
    labels,
    points,
    real,
    rows,
    seed,
    targets,
    thing,
    weights,
)
from tests.neighbors.test_bad_input import fitting, method, search_methods
from tests.small import QUERIES, TARGETS, WEIGHTS, X, Y

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMLKR,
)

PAIRS = np.stack([X[:4], X[8:12]], axis=1)
NONE = ("None",)

training = {"X": rows(X, "one column more"), "y": labels(Y)}
numbered = {"X": rows(X, inside=True), "y": targets(TARGETS)}
labelled = {"X": rows(X, inside=True), "y": labels(Y)}


def learner_methods(kind, name):
    return {
        f"{kind}.fit": method(name, "fit", {**training, "sample_weight": weights(WEIGHTS)}),
        f"{kind}.fit_transform": method(name, "fit_transform", training),
        f"{kind}.transform": method(name, "transform", {"X": rows(QUERIES)}),
        f"{kind}.pair_distance": method(name, "pair_distance", {"pairs": points(PAIRS)}),
        f"{kind}.pair_score": method(name, "pair_score", {"pairs": points(PAIRS)}),
    }


CALLS = {
    "CurvedLMNN": Call(fitting(CurvedLMNN, X, Y), {
        "geometry": choice("elliptic"), "n_targets": count(2),
        "n_impostors": count(5, accepted=NONE), "push": real(0.5, -0.1, 1.1),
        "init": choice("identity"), "solver": choice("lbfgs"), "max_iter": count(3),
        "n_passes": count(1), "n_components": count(2, 3, accepted=NONE),
        "subsample": count(8, 1, accepted=NONE), "random_state": seed(),
        "callback": thing(lambda progress: None, "None"),
    }),
    "MMC": Call(fitting(MMC, X, Y), {
        "max_iter": count(100), "tol": real(1e-2, -1.0),
        "n_components": count(2, 3, accepted=NONE),
    }),
    **learner_methods("CurvedLMNN", "lmnn"),
    **learner_methods("MMC", "mmc"),
    "CurvedKNeighborsClassifier": Call(fitting(CurvedKNeighborsClassifier, X, Y), {
        "n_neighbors": count(3), "geometry": choice("elliptic"), "learner": thing(None, "None"),
        "metric": thing(None, "None"), "weights": choice("distance"),
        "algorithm": choice("brute"), "outside": choice("extend"), "random_state": seed(),
        "callback": thing(None, "None"), "n_jobs": jobs(),
    }),
    **search_methods("CurvedKNeighborsClassifier", "classifier"),
    "CurvedKNeighborsClassifier.fit": method("classifier", "fit", labelled),
    "CurvedKNeighborsClassifier.partial_fit": method(
        "classifier", "partial_fit", labelled | {"classes": labels(np.unique(Y), "None")}
    ),
    "CurvedKNeighborsClassifier.predict": method("classifier", "predict", {"X": rows(QUERIES)}),
    "CurvedKNeighborsClassifier.predict_proba": method(
        "classifier", "predict_proba", {"X": rows(QUERIES)}
    ),
    "CurvedKNeighborsClassifier.score": method("classifier", "score", {
        "X": rows(X), "y": labels(Y), "sample_weight": weights(WEIGHTS),
    }),
    "CurvedMLKR": Call(fitting(CurvedMLKR, X, TARGETS), {
        "geometry": choice("elliptic"), "kernel": choice("gaussian"), "n_neighbors": count(5),
        "init": choice("identity"), "max_iter": count(3), "n_passes": count(1),
        "n_components": count(2, 3, accepted=NONE), "subsample": count(8, 1, accepted=NONE),
        "random_state": seed(), "callback": thing(lambda progress: None, "None"),
    }),
    "CurvedMLKR.fit": method("mlkr", "fit", {
        "X": rows(X, "one column more"), "y": targets(TARGETS), "sample_weight": weights(WEIGHTS),
    }),
    "CurvedKNeighborsRegressor": Call(fitting(CurvedKNeighborsRegressor, X, TARGETS), {
        "n_neighbors": count(3), "geometry": choice("elliptic"), "learner": thing(None, "None"),
        "metric": thing(None, "None"), "weights": choice("distance"),
        "algorithm": choice("brute"), "outside": choice("extend"), "random_state": seed(),
        "callback": thing(None, "None"), "n_jobs": jobs(),
    }),
    **search_methods("CurvedKNeighborsRegressor", "regressor"),
    "CurvedKNeighborsRegressor.fit": method("regressor", "fit", {
        **numbered, "sample_weight": weights(WEIGHTS),
    }),
    "CurvedKNeighborsRegressor.partial_fit": method("regressor", "partial_fit", numbered),
    "CurvedKNeighborsRegressor.predict": method("regressor", "predict", {"X": rows(QUERIES)}),
    "CurvedKNeighborsRegressor.score": method("regressor", "score", {
        "X": rows(X), "y": targets(TARGETS), "sample_weight": weights(WEIGHTS),
    }),
}  # fmt: skip

SAMPLE = """
CurvedKNeighborsClassifier n_neighbors: a bool
CurvedKNeighborsClassifier.fit y: two columns
CurvedKNeighborsClassifier.kneighbors n_neighbors: out of range: 17
CurvedKNeighborsClassifier.kneighbors_graph n_neighbors: zero
CurvedKNeighborsClassifier.partial_fit classes: int64 near 2^63
CurvedKNeighborsClassifier.predict X: masked entry
CurvedKNeighborsClassifier.predict_proba X: one column more
CurvedKNeighborsClassifier.radius_neighbors X: three axes
CurvedKNeighborsClassifier.radius_neighbors_graph radius: complex
CurvedKNeighborsClassifier.score y: missing
CurvedKNeighborsRegressor n_neighbors: negative
CurvedKNeighborsRegressor.fit y: one number more
CurvedKNeighborsRegressor.kneighbors n_neighbors: out of range: 17
CurvedKNeighborsRegressor.kneighbors_graph n_neighbors: zero
CurvedKNeighborsRegressor.partial_fit y: one number more
CurvedKNeighborsRegressor.predict X: one column less
CurvedKNeighborsRegressor.radius_neighbors X: one number
CurvedKNeighborsRegressor.radius_neighbors_graph X: object of strings
CurvedKNeighborsRegressor.score sample_weight: all zero
CurvedLMNN subsample: out of range: 1
CurvedLMNN.fit sample_weight: all zero
CurvedLMNN.fit_transform y: one label more
CurvedLMNN.pair_distance pairs: wrong type
CurvedLMNN.pair_score pairs: empty
CurvedLMNN.transform X: dates
MMC n_components: out of range: 3
MMC.fit y: mixed types
MMC.fit_transform y: missing
MMC.pair_distance pairs: NaN
MMC.pair_score pairs: None
MMC.transform X: one axis
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
