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
    fixed,
    jobs,
    labels,
    one_of,
    path,
    seed,
    table,
    thing,
    weights,
)
from tests.neighbors.test_bad_input import fitting, method
from tests.small import TABLE, WEIGHTS, Y, fitted

from cayleyklein.tables import (
    TableClassifier,
    TableEncoder,
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
}
new_table = table(TABLE, "a column less")
asked = {"table": table(TABLE)}


CALLS = {
    "TableEncoder": Call(fitting(TableEncoder, TABLE), {"max_categories": count(20)}),
    "TableEncoder.fit": method("encoder", "fit", {"table": new_table}),
    "TableEncoder.fit_transform": Call(
        "fit_transform", {"X": new_table}, lambda: fitted("encoder"), also_named=("table",)
    ),
    "TableEncoder.transform": method("encoder", "transform", asked),
    "TableEncoder.unseen": method("encoder", "unseen", asked),
    "TableClassifier": Call(fitting(TableClassifier, TABLE, Y), {
        "n_neighbors": count(3, len(Y)), "geometry": choice("elliptic"),
        "weights": choice("distance"), "max_categories": count(20),
        "subsample": count(5000, 1, accepted=("None",)),
        "random_state": seed(), "n_jobs": jobs(),
        "callback": thing(lambda progress: None, "None"),
    }, also_named=("neighbours",)),
    "TableClassifier.fit": method("table", "fit", {"table": new_table, "y": labels(Y)}),
    "TableClassifier.predict": method("table", "predict", asked),
    "TableClassifier.predict_proba": method("table", "predict_proba", asked),
    "TableClassifier.explain": method("table", "explain", asked),
    "TableClassifier.kneighbors": method(
        "table", "kneighbors", asked | {"n_neighbors": count(2, len(Y) + 1, accepted=("None",))}
    ),
    "TableClassifier.score": method(
        "table", "score", asked | {"y": labels(Y), "sample_weight": weights(WEIGHTS)}
    ),
    "read_table": Call(read_table, reading),
    "iter_table": Call(iter_table, reading | {"progress": one_of(None, a_number=3)}),
    "load_model": Call(load_model, {"path": path("model.ckm", to_read=True)}),
    "save_model": Call(
        save_model, {"model": thing(fitted("table")), "path": path("new.ckm")}
    ),
    "split_target": Call(split_target, {
        "table": table(TABLE, "a column less"), "to_learn": fixed(True),
        "target": one_of("colour", no_such="size", a_number=3, nothing=None),
    }, also_named=("column",)),
}  # fmt: skip

SAMPLE = """
TableClassifier n_neighbors: out of range: 16
TableClassifier.fit y: one class
TableClassifier.kneighbors table: a column twice
TableClassifier.predict table: no columns
TableClassifier.predict_proba table: no rows
TableClassifier.score y: one label less
TableEncoder max_categories: a fraction
TableEncoder.fit table: no columns
TableEncoder.fit_transform X: no rows
TableEncoder.transform table: a column twice
TableEncoder.unseen table: a column less
TableEncoder.unseen table: no columns
iter_table source: a folder
read_table delimiter: two characters
load_model path: no such file
save_model path: in no folder
split_target target: no such
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
