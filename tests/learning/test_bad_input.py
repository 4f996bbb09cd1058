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
    one_of,
    points,
    real,
    rows,
    seed,
    targets,
    thing,
    weights,
)
from tests.neighbors.test_bad_input import fitting, method, search_methods
from tests.small import QUERIES, SIGNS, TARGETS, TUPLES, WEIGHTS, X, Y, fitted

from cayleyklein import (
    MMC,
    CayleyKleinLMNN,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMLKR,
    CurvedPairs,
    CurvedQuadruplets,
    CurvedTriplets,
)

PAIRS = np.stack([X[:4], X[8:12]], axis=1)
NONE = ("None",)

gappy = {"X": rows(QUERIES, "NaN", "inf")}
training = {"X": rows(X, "one column more"), "y": labels(Y)}
numbered = {"X": rows(X, "NaN", "inf", inside=True), "y": targets(TARGETS)}
labelled = {"X": rows(X, "NaN", "inf", inside=True), "y": labels(Y)}


descent = {
    "init": choice("identity"), "max_iter": count(3), "n_components": count(2, 3, accepted=NONE),
    "random_state": seed(), "callback": thing(lambda progress: None, "None"),
}  # fmt: skip
not_rows = {"a_number": 3.0, "a_text": "rows", "too_few": X[:5], "with_NaN": X * np.nan}
signs = one_of(SIGNS, zero_and_one=(SIGNS + 1) / 2, nothing=None, too_few=SIGNS[1:], a_text="ab")
indices = one_of(
    [[0, 1], [0, 8]], fractions=[[0.5, 1]], negative=[[-1, 0]], too_large=[[0, 16]],
    beyond_int64=[[0, 1e300]], three=[[0, 1, 2]], empty=np.empty((0, 2)), strings=[["a", "b"]],
)  # fmt: skip


def metric_methods(kind, name):
    return {
        f"{kind}.transform": method(name, "transform", {"X": rows(QUERIES)}),
        f"{kind}.pair_distance": method(name, "pair_distance", {"pairs": points(PAIRS)}),
        f"{kind}.pair_score": method(name, "pair_score", {"pairs": points(PAIRS)}),
    }


def learner_methods(kind, name, training=training):
    return {
        f"{kind}.fit": method(name, "fit", {**training, "sample_weight": weights(WEIGHTS)}),
        f"{kind}.fit_transform": method(name, "fit_transform", training),
        **metric_methods(kind, name),
    }


def comparison_calls(kind, name, *targets):
    """Calls of a learner from tuples, which its messages call by its name."""
    given, data = ("pairs" if targets else "tuples"), TUPLES[name]
    path, y = kind.__name__, {"y": signs} if targets else {}

    def asking(what, **more):
        return Call(what, {given: points(data), **more}, lambda: fitted(name), also_named=(name,))

    training = {given: points(data, "one column more"), **y}
    training["sample_weight"] = weights(np.tile([1.0, 2.0], len(data) // 2))
    return {
        path: Call(fitting(kind, data, *targets), {
            "geometry": choice("elliptic"), "margin": real(0.5, 0.0, 1.0), **descent,
        }),
        f"{path}.fit": Call("fit", training, lambda: fitted(name), also_named=(name,)),
        f"{path}.decision_function": asking("decision_function"),
        f"{path}.predict": asking("predict"),
        f"{path}.score": asking("score", **y),
        **metric_methods(path, name),
    }  # fmt: skip


def started(kind, *data):
    """A learner that starts from an array."""
    fit = lambda init: kind(geometry="flat", init=init, max_iter=3).fit(*data)  # noqa: E731
    return {f"{kind.__name__}.init": Call(fit, {"init": rows(np.eye(2) / 2)})}


CALLS = {
    "CurvedLMNN": Call(fitting(CurvedLMNN, X, Y), {
        "geometry": choice("elliptic"), "n_targets": count(2),
        "n_impostors": count(5, accepted=NONE), "push": real(0.5, -0.1, 1.1),
        **descent, "n_passes": count(1),
        "subsample": count(8, 1, accepted=NONE),
    }),
    "CayleyKleinLMNN": Call(fitting(CayleyKleinLMNN, X, Y), {
        "geometry": choice("elliptic"), "alpha": real(0.5, -0.1, 1.1), "n_targets": count(2),
        "margin": real(0.5, 0.0), "push": real(0.5, -0.1, 1.1), "init": choice("precision"),
        "kappa": real(0.5, 0.0), "learning_rate": real(1e-3, 0.0), "impostor_interval": count(5),
        "max_iter": count(5), "tol": real(1e-3, -1.0), "domain": choice("rows"),
        "random_state": seed(), "subsample": count(8, 1, accepted=NONE),
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
    **search_methods("CurvedKNeighborsClassifier", "classifier", "NaN", "inf"),
    "CurvedKNeighborsClassifier.fit": method("classifier", "fit", labelled),
    "CurvedKNeighborsClassifier.partial_fit": method(
        "classifier", "partial_fit", labelled | {"classes": labels(np.unique(Y), "None")}
    ),
    "CurvedKNeighborsClassifier.predict": method("classifier", "predict", gappy),
    "CurvedKNeighborsClassifier.predict_proba": method(
        "classifier", "predict_proba", gappy
    ),
    "CurvedKNeighborsClassifier.explain": method("classifier", "explain", {
        "X": rows(QUERIES, "huge", "tiny", "NaN", "inf"),
    }),
    "CurvedKNeighborsClassifier.score": method("classifier", "score", {
        "X": rows(X, "NaN", "inf"), "y": labels(Y), "sample_weight": weights(WEIGHTS),
    }),
    "CurvedMLKR": Call(fitting(CurvedMLKR, X, TARGETS), {
        "geometry": choice("elliptic"), "kernel": choice("gaussian"), "n_neighbors": count(5),
        "spread": real(0.3, 0.0, -1.0), **descent, "n_passes": count(1),
        "subsample": count(8, 1, accepted=NONE),
    }),
    **learner_methods("CurvedMLKR", "mlkr", {
        "X": rows(X, "one column more"), "y": targets(TARGETS),
    }),
    **comparison_calls(CurvedPairs, "pairs", SIGNS),
    **comparison_calls(CurvedTriplets, "triplets"),
    **comparison_calls(CurvedQuadruplets, "quadruplets"),
    "CurvedPairs.preprocessor": Call(
        lambda preprocessor: CurvedPairs(preprocessor=preprocessor).fit([[0, 1], [0, 8]], [1, -1]),
        {"preprocessor": one_of(X, **not_rows)},
    ),
    "CurvedPairs.predict of indices": method("indexed", "predict", {"pairs": indices}),
    **started(CurvedLMNN, X, Y),
    **started(CurvedMLKR, X, TARGETS),
    **started(CurvedTriplets, TUPLES["triplets"]),
    "CurvedKNeighborsRegressor": Call(fitting(CurvedKNeighborsRegressor, X, TARGETS), {
        "n_neighbors": count(3), "geometry": choice("elliptic"), "learner": thing(None, "None"),
        "metric": thing(None, "None"), "weights": choice("distance"),
        "algorithm": choice("brute"), "outside": choice("extend"), "random_state": seed(),
        "callback": thing(None, "None"), "n_jobs": jobs(),
    }),
    **search_methods("CurvedKNeighborsRegressor", "regressor", "NaN", "inf"),
    "CurvedKNeighborsRegressor.fit": method("regressor", "fit", {
        **numbered, "sample_weight": weights(WEIGHTS),
    }),
    "CurvedKNeighborsRegressor.partial_fit": method("regressor", "partial_fit", numbered),
    "CurvedKNeighborsRegressor.predict": method("regressor", "predict", gappy),
    "CurvedKNeighborsRegressor.score": method("regressor", "score", {
        "X": rows(X, "NaN", "inf"), "y": targets(TARGETS), "sample_weight": weights(WEIGHTS),
    }),
}  # fmt: skip

SAMPLE = """
CurvedKNeighborsClassifier n_neighbors: a bool
CurvedKNeighborsClassifier.explain X: ragged
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
CurvedMLKR.fit y: masked entry
CurvedMLKR.fit_transform X: ragged
CurvedMLKR.pair_distance pairs: dates
CurvedMLKR.transform X: object of strings
CurvedPairs geometry: a list
CurvedPairs.fit pairs: ragged
CurvedPairs.decision_function pairs: masked entry
CurvedPairs.score pairs: None
CurvedTriplets margin: complex
CurvedTriplets.fit sample_weight: sparse
CurvedTriplets.predict tuples: a text
CurvedQuadruplets.fit tuples: object of strings
CurvedQuadruplets.score tuples: one column less
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


@pytest.mark.parametrize("kind", [CurvedLMNN, CurvedMLKR])
def test_missing_cells_are_named(kind):
    gaps = X.copy()
    gaps[3, 1], gaps[5, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"at \(row, column\) \(3, 1\), \(5, 0\)\. Drop these"):
        kind().fit(gaps, Y)


def test_text_needs_a_metric_that_is_learned():
    """A metric that is given measures numbers, in their columns."""
    words = np.where(X > 0, "a", "b").astype(object)
    with pytest.raises(ValueError, match="X"):
        CurvedKNeighborsClassifier(metric=fitted("classifier").metric).fit(words, Y)
