"""Work that joblib spreads over a cluster."""

import json

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, CurvedNeighbors
from cayleyklein._estimators import as_jobs
from cayleyklein.cli import main
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


def test_reproduce_over_a_cluster_stores_the_cells_here(cluster, tmp_path, monkeypatch, capsys):
    def small(output, **options):
        return reproduce(output, **options, methods=["knn"])

    monkeypatch.setattr("cayleyklein.experiments.QUICK", Protocol("short", repetitions=2, folds=2))
    monkeypatch.setattr("cayleyklein.experiments.reproduce", small)
    monkeypatch.chdir(tmp_path)
    common = ["reproduce", "--table", "mixed", "--json"]
    assert main([*common, "-o", "here", "-j", "1"]) == 0
    here = json.loads(capsys.readouterr().out)
    assert main([*common, "-o", "there", "--dask", cluster.scheduler_address]) == 0
    there = json.loads(capsys.readouterr().out)

    def accuracies(found):
        return [[o["accuracy"] for o in cell["outcomes"]] for cell in found["cells"]]

    assert accuracies(there) == accuracies(here)
    names = {path.name for path in (tmp_path / "here" / "cells-short").iterdir()}
    assert {path.name for path in (tmp_path / "there" / "cells-short").iterdir()} == names


def test_compare_takes_a_cluster(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--splits", "2", "--test-size", "0.8", "--no-report", "--json"]
    assert main(["compare", "wine", *options, "--dask", cluster.scheduler_address]) == 0
    assert json.loads(capsys.readouterr().out)["report"] is None


@pytest.mark.parametrize("command", ["reproduce", "compare"])
def test_no_scheduler_is_one_line(command, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cayleyklein.cli._experiments.LONGEST_CONNECT", "100 ms")
    assert main([command, "--dask", "tcp://127.0.0.1:9"]) == 1
    error = capsys.readouterr().err
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in error
    assert "Traceback" not in error
