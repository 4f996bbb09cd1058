"""Models of tables and their files raise a clear error for bad input."""

import atexit
import shutil
import tempfile
from pathlib import Path

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
    path,
    seed,
    table,
    targets,
    thing,
    weights,
)
from tests.neighbors.test_bad_input import fitting
from tests.small import TABLE, TARGETS, WEIGHTS, Y, fitted

from cayleyklein.tables import (
    TableClassifier,
    TableEncoder,
    TableRegressor,
    iter_table,
    load_model,
    read_table,
    save_model,
    split_target,
)

FOLDER = Path(tempfile.mkdtemp(prefix="cayleyklein-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
CSV = FOLDER / "table.csv"
TABLE.to_csv(CSV, index=False)

reading = {
    "source": path(CSV, to_read=True),
    "delimiter": one_of(",", a_number=3, two_characters=",;", none=""),
    "encoding": one_of("utf-8", a_number=3, no_such="utf-99"),
    "skip_rows": one_of(0, a_text="two", negative=-1),
}
new_table = table(TABLE, "a column less")
asked = {"X": table(TABLE)}


def asking(name, method, args):
    return Call(method, args, lambda: fitted(name), also_named=("table",))


CALLS = {
    "TableEncoder": Call(fitting(TableEncoder, TABLE), {"max_categories": count(20)}),
    "TableEncoder.fit": asking("encoder", "fit", {"X": new_table}),
    "TableEncoder.fit_transform": Call(
        "fit_transform", {"X": new_table}, lambda: fitted("encoder"), also_named=("table",)
    ),
    "TableEncoder.transform": asking("encoder", "transform", asked),
    "TableEncoder.unseen": asking("encoder", "unseen", asked),
    "TableClassifier": Call(
        fitting(TableClassifier, TABLE, Y),
        {
            "n_neighbors": count(3, len(Y)),
            "geometry": choice("elliptic"),
            "weights": choice("distance"),
            "max_categories": count(20),
            "subsample": count(5000, 1, accepted=("None",)),
            "random_state": seed(),
            "n_jobs": jobs(),
            "callback": thing(lambda progress: None, "None"),
        },
        also_named=("neighbours",),
    ),
    "TableClassifier.fit": asking("table", "fit", {"X": new_table, "y": labels(Y)}),
    "TableClassifier.predict": asking("table", "predict", asked),
    "TableClassifier.predict_proba": asking("table", "predict_proba", asked),
    "TableClassifier.explain": asking("table", "explain", asked),
    "TableClassifier.kneighbors": asking(
        "table", "kneighbors", asked | {"n_neighbors": count(2, len(Y) + 1, accepted=("None",))}
    ),
    "TableClassifier.score": asking(
        "table", "score", asked | {"y": labels(Y), "sample_weight": weights(WEIGHTS)}
    ),
    "TableRegressor": Call(
        fitting(TableRegressor, TABLE, TARGETS),
        {
            "n_neighbors": count(3, len(Y)),
            "geometry": choice("elliptic"),
            "model": choice("auto"),
        },
        also_named=("neighbours",),
    ),
    "TableRegressor.fit": asking(
        "table of numbers",
        "fit",
        {"X": new_table, "y": targets(TARGETS), "sample_weight": weights(WEIGHTS)},
    ),
    "TableRegressor.predict": asking("table of numbers", "predict", asked),
    "TableRegressor.explain": asking("table of numbers", "explain", asked),
    "TableRegressor.score": asking("table of numbers", "score", asked | {"y": targets(TARGETS)}),
    "read_table": Call(read_table, reading),
    "iter_table": Call(iter_table, reading | {"progress": one_of(None, a_number=3)}),
    "load_model": Call(load_model, {"path": path("model.ckm", to_read=True)}),
    "save_model": Call(save_model, {"model": thing(fitted("table")), "path": path("new.ckm")}),
    "split_target": Call(
        split_target,
        {
            "table": table(TABLE, "a column less"),
            "task": choice("class"),
            "target": one_of("colour", no_such="size", a_number=3, nothing=None),
        },
        also_named=("column", "X"),
    ),
}

SAMPLE = """
TableClassifier n_neighbors: out of range: 16
TableClassifier.fit y: one class
TableClassifier.kneighbors X: a column twice
TableClassifier.predict X: no columns
TableClassifier.predict_proba X: no rows
TableClassifier.score y: one label less
TableEncoder max_categories: a fraction
TableEncoder.fit X: no columns
TableEncoder.fit_transform X: no rows
TableEncoder.transform X: a column twice
TableEncoder.unseen X: a column less
TableEncoder.unseen X: no columns
iter_table source: a folder
read_table delimiter: two characters
load_model path: no such file
save_model path: in no folder
split_target target: no such
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
