"""Kernel machines on a cluster: sums of blocks, added where the rows are."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_classification

from cayleyklein import CurvedKernelClassifier, CurvedKernelRegressor
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.parts import landmarks
from cayleyklein.parts.kernel import MetricDistance

X, Y = make_classification(1200, 6, n_informative=5, n_redundant=0, random_state=2)
ROWS, LABELS = da.from_array(X[:900], chunks=(250, 6)), da.from_array(Y[:900], chunks=300)


def test_sums_of_blocks_are_those_in_memory(client):
    kernel = landmarks.LandmarkKernel(MetricDistance(CurvedMetric.euclidean(6)), 0.5, X[:40])
    targets, model = np.where(Y[:900] > 0, 1.0, -1.0)[:, None], CurvedKernelClassifier()
    memory = GivenRows.read(model, X[:900], Y[:900], None)
    blocks = GivenRows.read(model, ROWS, LABELS, None)
    one = landmarks.sum_blocks(kernel, memory, targets)
    two = landmarks.sum_blocks(kernel, blocks, targets)
    np.testing.assert_allclose(one, two, rtol=1e-12)


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
