"""Results of reproduce with made-up scores, read from a file as a user's would be."""

import json

from cayleyklein.experiments import Reproduction

MACHINE = {"system": "S", "processor": "P", "cores": 2}
PROVENANCE = {
    "cayleyklein": "1", "commit": None, "date": "2020-01-01T00:00:00", "python": "3",
    "versions": {}, "machine": MACHINE,
}  # fmt: skip
OUTCOME = {
    "accuracy": 0.5, "log_loss": 0.5, "n_train": 250, "n_test": 100, "fit_seconds": 0.1,
    "predict_seconds": 0.1, "geometry": "elliptic", "curvatures": [1.0], "alpha": 0.5, "notes": [],
}  # fmt: skip


def stored(scores, tables=("exp", "targets", "mixed"), **outcome):
    """Return the content of a results.json with these scores for each cell."""
    cells = [
        dict(zip(("dataset", "method", "k", "n_targets"), cell, strict=True))
        | {"outcomes": [OUTCOME | outcome | {"accuracy": float(a)} for a in some]}
        for cell, some in scores.items()
    ]
    return {
        "format": "cayleyklein-reproduction", "version": 1, "tables": list(tables),
        "protocol": {"name": "full", "repetitions": 10, "folds": None, "training_rows": 250},
        "provenance": PROVENANCE, "cells": cells,
    }  # fmt: skip


def reproduction(folder, scores, tables=("exp", "targets", "mixed"), **outcome):
    """Return made-up results."""
    path = folder / "made-up.json"
    path.write_text(json.dumps(stored(scores, tables, **outcome)))
    return Reproduction.read(path)
