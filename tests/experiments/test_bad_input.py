"""Experiments, and the command and the page, raise a clear error for bad input."""

from functools import cache, partial

import numpy as np
import pytest
from tests.bad_input import (
    Call,
    calls,
    check,
    choice,
    count,
    fixed,
    jobs,
    one_of,
    points,
    real,
    thing,
)
from tests.experiments.made_up import reproduction
from tests.tables.test_bad_input import CSV, FOLDER

from cayleyklein import experiments as e
from cayleyklein.app import explore
from cayleyklein.cli import main

FLAT = reproduction({("wine", "flat", 1, None): [0.5, 0.75]}, ["exp"])

comparison = cache(partial(e.compare, "wine", methods=("knn", "flat"), n_splits=2))
methods = one_of(["knn"], a_number=3, a_text="knn", no_such=["no such"], nothing=None)
scores = points([0.5, 0.75, 0.625], "huge")

CALLS = {
    "compare": Call(
        e.compare,
        {
            "data": one_of("wine", no_such="wien", a_number=3, nothing=[], object=object()),
            "target": one_of(None, a_number=3),
            "drop": one_of([], a_number=3, a_text="x"),
            "methods": methods,
            "n_neighbors": count(3, accepted=("None",)),
            "n_splits": count(2, 1),
            "test_size": real(0.2, 0.0, 1.0, -1.0),
            "n_jobs": jobs(),
            "progress": thing(None, "None"),
        },
    ),
    "reproduce": Call(
        e.reproduce,
        {
            "output": one_of(FOLDER / "cells", a_number=3, a_file=CSV),
            "datasets": one_of(["balance"], no_such=["no"], a_number=3, a_text="wien"),
            "tables": one_of(["exp"], no_such=["no"], a_number=3, nothing=None),
            "protocol": thing(e.QUICK),
            "methods": methods,
            "n_jobs": jobs(),
            "progress": thing(None, "None"),
        },
    ),
    "load_problem": Call(
        e.load_problem,
        {
            "data": one_of(CSV, no_such="wien", a_number=3, nothing=None, object=object()),
            "target": one_of("colour", no_such="size", a_number=3, nothing=None),
            "drop": one_of([], a_number=3, a_text="x", no_such=["size"]),
            "delimiter": one_of(",", a_number=3, none=""),
            "encoding": one_of("utf-8", a_number=3),
        },
        also_named=("column",),
    ),
    "paired_difference": Call(
        e.paired_difference,
        {
            "scores": scores,
            "baseline": scores,
            "test_ratio": real(0.25, -1.0),
        },
    ),
    "Comparison.write_report": Call(
        "write_report",
        {"path": one_of(FOLDER / "report.html", a_number=3, a_folder=FOLDER)},
        comparison,
    ),
    "Protocol.splits": Call(
        e.QUICK.splits,
        {
            "dataset": choice("wine"),
            "y": points(np.repeat([0.0, 1.0], 12), "one column more", "huge", "tiny"),
        },
    ),
    "Reproduction.write": Call(
        FLAT.write,
        {
            "folder": one_of(FOLDER / "out", a_number=3, nothing=None, a_file=CSV),
        },
    ),
    "explore": Call(
        explore,
        {
            "port": one_of(
                0, a_text="x", negative=-1, too_large=70000, a_fraction=1.5, nothing=None
            ),
            "host": one_of("127.0.0.1", a_number=3, nothing=None, elsewhere="203.0.113.1"),
            "browser": fixed(False),
            "on_start": one_of(None, a_number=3, a_text="x"),
        },
    ),
    "main": Call(
        main,
        {
            "arguments": one_of(["--version"], a_number=3, numbers=[3], a_text="--version"),
        },
    ),
}

SAMPLE = """
explore port: too large
main arguments: numbers
Comparison.write_report path: a folder
Protocol.splits dataset: a list
Reproduction.write folder: a file
compare data: object
load_problem delimiter: none
paired_difference scores: inf
reproduce output: a file
"""


@pytest.mark.parametrize(("name", "call"), calls(CALLS, SAMPLE))
def test_bad_input(name, call):
    check(name, call)
