"""The entrances of data sets, files, experiments, pictures and the two front doors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import bokeh.server.server  # noqa: F401 - sets filters of warnings of its own, once
import numpy as np
from tests.trust.entrances import Entrance
from tests.trust.kinds import (
    REFUSED,
    SAME,
    WORKS,
    choice,
    count,
    flag,
    ignored,
    jobs,
    one_of,
    path,
    real,
    rows,
    seed,
    table,
    thing,
    vector,
)
from tests.trust.values import TABLE, Y, fitted

from cayleyklein.experiments import FULL, QUICK, Reproduction, compare
from cayleyklein.experiments._provenance import provenance
from cayleyklein.tables import save_model, writing

FOLDER = Path(tempfile.mkdtemp(prefix="cayleyklein-trust-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
CSV = FOLDER / "table.csv"
MODEL = FOLDER / "model.ckm"


def prepare_files() -> None:
    """Write the files that entrances read."""
    TABLE.assign(kind=Y).to_csv(CSV, index=False)
    save_model(fitted("classifier"), MODEL)


prepare_files()

text = partial(one_of, base=())
callback = partial(thing, None, NONE=SAME)
words = {"another word": "no such", "a number": 3, "wrong type": object(), "NaN": np.nan}
reading = {
    "text": text(["colour"], {"a text": "colour", "a number": 3, "None": None}),
}
loading = {"return_X_y": flag(), "as_frame": flag()}
format_of = {
    "delimiter": text(",", {"a number": 3, "two characters": ",;", "none": "", "a list": [","]}),
    "encoding": text("utf-8", {"a number": 3, "no such": "utf-99", "a list": ["utf-8"]}),
}
methods = text(["knn"], {"a number": 3, "a text": "knn", "no such": ["no such"], "None": None})
no_pair = {"one": (1,), "three": (1, 1, 1), "a number": 1, "a text": "ab", "None": None}

DATASETS = [
    *(Entrance(f"datasets.load_{name}", loading) for name in ("balance", "pima", "sonar", "wine")),
    Entrance("datasets.load_vowel", loading | {"speakers": choice("train")}),
    Entrance("datasets.make_elliptic_blobs", {
        "n_samples": count(12), "n_features": count(2), "centers": count(3),
        "cluster_std": real(0.1, -1.0), "reach": real(1.0, 0.0, -1.0, 2.0),
        "curvature": real(1.0, 0.0, -1.0), "random_state": seed(), "return_metric": flag(),
    }),
    Entrance("datasets.make_hyperbolic_tree", {
        "n_samples": count(12), "n_features": count(2, 1), "depth": count(2, 50),
        "branching": count(2), "edge": real(1.0, 0.0, -1.0, 100.0),
        "cluster_std": real(0.1, -1.0), "curvature": real(-1.0, 0.0, 1.0),
        "random_state": seed(), "return_metric": flag(),
    }),
    Entrance("datasets.make_mixed", {
        "n_samples": count(12),
        "n_features": text((2, 2), {**no_pair, "zero": (0, 2), "half": (2.5, 2)}),
        "centers": count(2),
        "cluster_std": text((0.1, 0.3), {**no_pair, "NaN": (np.nan, 0.1), "negative": (-1.0, 0.1)}),
        "reach": real(1.0, 0.0, -1.0, 2.0), "radius": real(4.0, 0.0, -1.0, 100.0),
        "curvatures": text((1.0, -1.0), {
            **no_pair, "NaN": (np.nan, -1.0), "wrong signs": (-1.0, 1.0), "zero": (0.0, -1.0),
        }),
        "random_state": seed(), "return_metric": flag(),
    }),
]  # fmt: skip


def write_something(path: Any) -> None:
    with writing(path) as temporary:
        temporary.write_text("42")


FILES = [
    Entrance("tables.check_writable", {"path": path(FOLDER / "new.txt", to_read=False)}),
    Entrance("tables.writing", {
        "path": path(FOLDER / "new.txt", to_read=False),
    }, call=write_something),
    Entrance("tables.save_model", {
        "model": thing(fitted("classifier")), "path": path(FOLDER / "new.ckm", to_read=False),
    }),
    Entrance("tables.load_model", {"path": path(MODEL, to_read=True)}),
    Entrance("tables.read_table", {
        "source": path(CSV, to_read=True), **reading, "header": flag(True), **format_of,
        "progress": callback(),
    }, also_named=("path",)),
    Entrance("tables.iter_table", {
        "source": path(CSV, to_read=True), "header": flag(True), **format_of,
        "progress": callback(),
    }, also_named=("path",)),
    Entrance("tables.split_target", {
        "table": table(
            TABLE, a_column_less=WORKS, columns_in_another_order=WORKS, missing_values="skip"
        ),
        "target": text("colour", {"no such": "size", "a number": 3, "None": None, "a list": ["x"]}),
        "to_learn": flag(True),
    }, also_named=("column",)),
]  # fmt: skip

SCORES = [0.5, 0.75, 0.625]

several = partial(vector, one_column_more=WORKS, one_column_less=WORKS)

# The interval of a difference that is the same on every split is NaN on purpose.
paired = partial(vector, **{"int64_near_2^63": "skip", "int64_least": "skip"})


@cache
def comparison() -> Any:
    return compare("wine", methods=["knn", "flat"], n_splits=2)


codes = partial(
    several, object_of_numbers="skip", huge="skip", large="skip", tiny="skip", constant="skip"
)


@cache
def reproduction() -> Reproduction:
    return Reproduction(QUICK, ("exp",), {}, provenance())


DATA = text(
    "wine", {"no such": "wien", "a number": 3, "None": None, "nothing": [], "object": object()}
)

FRONT_DOORS = [
    Entrance("app.explore", {
        "port": text(0, {"a text": "x", "negative": -1, "too large": 70000, "a fraction": 1.5,
                         "None": None, "NaN": np.nan}),
        "host": text("127.0.0.1", {"no such": "no.such.host.invalid", "a number": 3, "None": None}),
        "browser": flag(), "on_start": text(None, {"a number": 3, "a text": "x"}),
    }, quick=False),
    Entrance("cli.main", {
        "arguments": text(["--version"], {"a number": 3, "numbers": [3], "a text": "--version"}),
    }),
]  # fmt: skip

EXPERIMENTS = [
    Entrance("experiments.compare", {
        "data": DATA, "target": text(None, {"a number": 3}), "delimiter": ignored(),
        "encoding": ignored(),
        "against": text([], {"a number": 3, "no such": ["no such"], "a text": "nca"}),
        "methods": methods, "n_neighbors": count(3), "n_splits": count(2, 1),
        "test_size": real(0.2, 0.0, 1.0, -1.0), "n_jobs": jobs(), "progress": callback(NONE="skip"),
    }, quick=False),
    Entrance("experiments.reproduce", {
        "output": text(FOLDER / "cells", {"a number": 3, "None": None, "a file": CSV}),
        "tables": text(["exp"], {"no such": ["no"], "a number": 3, "None": None}),
        "protocol": thing(QUICK), "methods": methods, "n_jobs": jobs(),
        "progress": callback(NONE="skip"),
    }, quick=False),
    Entrance("experiments.load_problem", {
        "data": text(CSV, {"no such": "wien", "a number": 3, "None": None, "object": object()}),
        "target": text("kind", {"no such": "size", "a number": 3, "None": None}), **format_of,
    }, also_named=("column",)),
    Entrance("experiments.holm", {
        "p_values": several([0.125, 0.5, 0.25], NaN="skip", empty=WORKS),
    }),
    Entrance("experiments.standard_error", {"scores": several(SCORES)}),
    Entrance("experiments.paired_difference", {
        "scores": paired(SCORES), "baseline": paired(SCORES[::-1]),
        "test_ratio": real(0.25, -1.0),
    }),
    Entrance("experiments.rank_methods", {
        "scores": rows([[0.5, 0.75, 0.625], [0.5, 0.625, 0.75], [0.25, 0.5, 0.75]],
                       one_column_more=WORKS, one_column_less=REFUSED),
    }),
    Entrance("experiments.Comparison.to_html", {"n_jobs": jobs()}, comparison, quick=False),
    Entrance("experiments.Comparison.write_report", {
        "path": path(FOLDER / "report.html", to_read=False, in_no_folder="skip"), "n_jobs": jobs(),
    }, comparison, quick=False),
    Entrance("experiments.Outcome.from_dict", {
        "values": text(
            {"accuracy": 0.5, "n_train": 3, "n_test": 2, "fit_seconds": 0.0, "predict_seconds": 0.0,
             "geometry": None, "curvatures": [], "alpha": None, "notes": []},
            {"None": None, "a list": [1], "nothing": {}, "a text": "x", "other names": {"a": 1}},
        ),
    }),
    Entrance("experiments.Protocol.is_partition", {
        "dataset": ignored("wine"),
    }, lambda: FULL),
    Entrance("experiments.Protocol.splits", {
        "dataset": choice("wine"), "y": codes(np.repeat([0.0, 1.0], 12)),
    }, lambda: QUICK),
    Entrance("experiments.Reproduction.from_dict", {
        "stored": text(reproduction().to_dict(), {
            "None": None, "a list": [1], "nothing": {}, "a text": "x",
            "half": {k: v for k, v in reproduction().to_dict().items() if k != "cells"},
        }),
    }),
    Entrance("experiments.Reproduction.read", {"path": path(CSV, to_read=True)}, quick=False),
    Entrance("experiments.Reproduction.write", {
        "folder": text(FOLDER / "out", {"a number": 3, "None": None, "a file": CSV}),
    }, reproduction),
    Entrance("experiments.Reproduction.only", {
        "tables": text(("exp",), {"a number": 3, "a text": "exp", "no such": ["x"], "None": None}),
    }, reproduction),
]  # fmt: skip
