"""Kernel machines on a cluster: sums of blocks, added where the rows are."""

import pickle
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_classification

from cayleyklein import CurvedKernelClassifier, CurvedKernelRegressor
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.parts import landmarks
from cayleyklein.parts.kernel import KernelPart, MetricDistance
from cayleyklein.parts.many import ManyRows
from cayleyklein.parts.places import pool_rows

X, Y = make_classification(1200, 6, n_informative=5, n_redundant=0, random_state=2)
ROWS, LABELS = da.from_array(X[:900], chunks=(250, 6)), da.from_array(Y[:900], chunks=300)


def both_ways(monkeypatch):
    """Fit a machine to rows in memory and on a cluster, of the same held-out rows and sample."""
    monkeypatch.setattr(landmarks, "EXACT_ROWS", 300)
    monkeypatch.setattr(landmarks, "LEAST_LEAF", 100)
    monkeypatch.setattr(landmarks, "MOST_LEAF", 120)
    monkeypatch.setattr(landmarks, "GROUP_ROWS", 300)

    def targets(labels):
        return np.where(labels > 0, 1.0, -1.0)[:, None]

    found = []
    model = CurvedKernelClassifier()
    given = GivenRows.read(model, X[:900], Y[:900], None)
    numbers = np.arange(900)
    left = given.weights.copy()
    left[::9] = 0.0
    held_out = replace(given, numbers=numbers).take(numbers[::9])
    pool = replace(given, numbers=numbers, weights=left)
    pool = pool.draw(None, 1, np.random.default_rng(0))
    sample = pool_rows(pool, targets(pool.target), False)
    part = KernelPart("plane", lambda rows: MetricDistance(CurvedMetric.euclidean(6)))
    for some in (given, GivenRows.read(model, ROWS, LABELS, None)):
        some = replace(some, numbers=numbers)
        rows = ManyRows.of(some, held_out, pool, sample, targets, False)
        found.append(landmarks.fit_part(part, rows, None, None, np.random.default_rng(0)))
    return found


def test_leaves_on_a_cluster_are_those_in_memory(client, monkeypatch):
    (here, said, unsure), (there, *said_there) = both_ways(monkeypatch)
    assert here.settings == there.settings
    assert len(there.machines) > 4
    np.testing.assert_allclose(said_there[0], said, atol=1e-8)
    np.testing.assert_allclose(said_there[1], unsure, atol=1e-8)
    Q = X[900:]
    np.testing.assert_allclose(there.scores(Q), here.scores(Q), atol=1e-8)
    np.testing.assert_allclose(there.variances(Q), here.variances(Q), atol=1e-8)
    numbers, effects = there.row_effects(Q[0])
    expected = here.row_effects(Q[0])
    np.testing.assert_array_equal(numbers, expected[0])
    np.testing.assert_allclose(effects, expected[1], atol=1e-8)
    lazy = there.scores(Blocks.of_dask(da.from_array(Q, chunks=(100, 6)), 6))
    np.testing.assert_allclose(lazy.compute(), here.scores(Q), atol=1e-8)
    with pytest.raises(InvalidInputError, match="Dask cluster"):
        pickle.dumps(there)


def test_a_classifier_is_fitted_and_predicts_lazily(client):
    model = CurvedKernelClassifier(geometry="flat", random_state=0).fit(ROWS, LABELS)
    assert model.score(X[900:], Y[900:]) > 0.85
    queries = da.from_array(X[900:], chunks=(100, 3))
    lazy = model.predict_proba(queries)
    assert lazy.shape == (300, 2)
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(X[900:]), atol=1e-12)
    assert (model.predict(queries).compute() == model.predict(X[900:])).all()


@pytest.mark.parametrize("columns", ["standardised", "ranks"])
def test_a_regressor_fitted_in_memory_predicts_lazily(client, columns):
    y = X[:, 0] + np.abs(X[:, 1])
    model = CurvedKernelRegressor(geometry="flat", columns=columns, random_state=0)
    model.fit(X[:150], y[:150])
    lazy = model.predict(da.from_array(X[900:], chunks=(100, 6)))
    np.testing.assert_allclose(lazy.compute(), model.predict(X[900:]), atol=1e-12)
