"""Work that joblib spreads over a cluster."""

import numpy as np
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedNeighbors
from cayleyklein._estimators import as_jobs
from cayleyklein.datasets import load_wine
from cayleyklein.experiments import Protocol, compare, reproduce


def test_model_selection_gives_the_same(client):
    X, y = load_wine(return_X_y=True)
    X, y = X[::2], y[::2]
    model = CurvedKNeighborsClassifier(learner=CurvedLMNN(geometry="elliptic"))
    grid = {"n_neighbors": [1, 5]}
    here = GridSearchCV(model, grid, cv=2).fit(X, y)
    with parallel_config("dask"):
        there = GridSearchCV(model, grid, cv=2).fit(X, y)
    scores = "mean_test_score"
    np.testing.assert_array_equal(there.cv_results_[scores], here.cv_results_[scores])
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_threads_are_those_of_this_process(client):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with parallel_config("dask"):
        assert as_jobs(None) == 1
        assert as_jobs(3) == 3
        assert CurvedNeighbors().fit(X).kneighbors(X, 1)[1].tolist() == [[i] for i in range(30)]
    with parallel_config("threading", n_jobs=2):
        assert as_jobs(None) == 2


def test_reproduce_over_a_cluster_stores_the_cells_here(client, tmp_path):
    protocol = Protocol("short", repetitions=2, folds=2)

    def run(where, **options):
        return reproduce(
            where, tables=["mixed"], protocol=protocol, methods=["knn"], **options
        ).to_dict()

    here = run(tmp_path / "here", n_jobs=1)
    with parallel_config("dask"):
        there = run(tmp_path / "there", n_jobs=-1)

    def accuracies(found):
        return [[o["accuracy"] for o in cell["outcomes"]] for cell in found["cells"]]

    assert accuracies(there) == accuracies(here)
    names = {path.name for path in (tmp_path / "here" / "cells-short").iterdir()}
    assert {path.name for path in (tmp_path / "there" / "cells-short").iterdir()} == names


def test_compare_takes_a_cluster(client):
    options = {"methods": ["knn", "flat"], "n_splits": 2, "test_size": 0.8}
    here = compare("wine", n_jobs=1, **options)
    with parallel_config("dask"):
        there = compare("wine", n_jobs=-1, **options)
    for method in options["methods"]:
        assert there["wine", method]["accuracy"] == here["wine", method]["accuracy"]
