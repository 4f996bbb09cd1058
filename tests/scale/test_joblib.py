"""Work that joblib spreads over a cluster."""

import numpy as np
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedNeighbors
from cayleyklein._estimators import as_jobs
from cayleyklein.datasets import load_wine
from cayleyklein.experiments import Protocol, reproduce


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
    def accuracies(folder):
        short = Protocol("short", repetitions=2, folds=2)
        found = reproduce(folder, tables=["mixed"], protocol=short, methods=["knn"], n_jobs=-1)
        return [[o["accuracy"] for o in cell["outcomes"]] for cell in found.to_dict()["cells"]]

    here, there = tmp_path / "here", tmp_path / "there"
    expected = accuracies(here)
    with parallel_config("dask"):
        assert accuracies(there) == expected
    names = {path.name for path in (here / "cells-short").iterdir()}
    assert {path.name for path in (there / "cells-short").iterdir()} == names
