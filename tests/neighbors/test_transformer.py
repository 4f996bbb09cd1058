"""The graph of neighbours, for other estimators."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline

from cayleyklein import CurvedMetric, CurvedNeighbors

X = np.random.default_rng(0).uniform(-0.6, 0.6, size=(40, 2))
DISC = CurvedMetric.euclidean(2, curvature=-1.0)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_is_that_of_scikit_learn(mode):
    ours = CurvedNeighbors(4, mode=mode).fit_transform(X)
    theirs = KNeighborsTransformer(n_neighbors=4, mode=mode).fit_transform(X)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-7)
    some = CurvedNeighbors(4, mode=mode).fit(X).transform(X[:3] + 0.01)
    assert some.shape == (3, 40)


def test_radius():
    ours = CurvedNeighbors(radius=0.3, mode="radius").fit_transform(X)
    theirs = RadiusNeighborsTransformer(radius=0.3).fit_transform(X)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-12)
    assert ours.nnz == theirs.nnz


def test_clusters_in_a_curved_metric():
    graph = CurvedNeighbors(metric=DISC, radius=0.25, mode="radius")
    found = make_pipeline(graph, DBSCAN(0.25, min_samples=3, metric="precomputed")).fit_predict(X)
    wanted = DBSCAN(0.25, min_samples=3, metric="precomputed").fit_predict(DISC.pairwise(X))
    np.testing.assert_array_equal(found, wanted)
    assert len(CurvedNeighbors(metric=DISC).fit(X).get_feature_names_out()) == 40


def test_few_rows():
    assert CurvedNeighbors(5).fit_transform(X[:3]).nnz == 9
