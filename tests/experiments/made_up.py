"""Results of reproduce with made-up scores."""

from cayleyklein.experiments import FULL, Reproduction
from cayleyklein.experiments._reproduce import beside_paper
from cayleyklein.experiments.methods import Cell

MACHINE = {"system": "S", "processor": "P", "cores": 2}
PROVENANCE = {
    "cayleyklein": "1",
    "commit": None,
    "date": "2020-01-01T00:00:00",
    "python": "3",
    "versions": {},
    "machine": MACHINE,
}
OUTCOME = {
    "accuracy": 0.5,
    "log_loss": 0.5,
    "n_train": 250,
    "n_test": 100,
    "fit_seconds": 0.1,
    "predict_seconds": 0.1,
    "geometry": "elliptic",
    "curvatures": [1.0],
    "alpha": 0.5,
    "notes": [],
}


def reproduction(scores, tables=("exp", "targets", "mixed"), **outcome):
    """Return made-up results with these scores for each cell."""
    outcomes = {
        Cell(*cell): [OUTCOME | outcome | {"accuracy": float(a)} for a in some]
        for cell, some in scores.items()
    }
    return Reproduction(FULL, tuple(tables), beside_paper(outcomes, FULL), PROVENANCE)
