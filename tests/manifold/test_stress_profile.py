"""The stress of a map over K, and the variance of K."""

import numpy as np
import pytest
from tests.curvature import draws

from cayleyklein import CurvedMDS, CurvedMetric
from cayleyklein.manifold._stress import distances
from cayleyklein.manifold.scaling import StressProfile

X = draws.rows(30, 2, 0)


def fitted(D):
    return CurvedMDS(metric="precomputed", random_state=0, tol=1e-9).fit(D)


def test_the_map_has_the_largest_likelihood():
    mds = fitted(draws.dissimilarities(X, -0.5, 0))
    stress = StressProfile(mds)
    top = stress.log_likelihood(stress.K, stress.v)[0]
    size = stress.size**2
    expected = -stress.freedom / 2 * np.log(2 * mds.stress_ / np.square(stress.delta).sum())
    assert top == pytest.approx(expected, abs=1e-3)
    for K in (stress.K - 0.1 / size, stress.K + 0.1 / size):
        assert stress.log_likelihood(K, stress.v)[0] < top


def test_variance_is_the_curvature_of_the_profile_where_errors_are_independent():
    stress = StressProfile(fitted(draws.dissimilarities(X, 0.5, 1)))
    variance, inflation = stress.uncertainty()
    step = np.sqrt(variance / inflation)
    top = stress.log_likelihood(stress.K, stress.v)[0]
    falls = [top - stress.log_likelihood(stress.K + s, stress.v)[0] for s in (-step, step)]
    assert np.mean(falls) == pytest.approx(0.5, rel=0.1)


def with_shared_errors():
    """Distances where each row has a curvature of its own, and a pair the mean of two."""
    own = np.random.default_rng(1).uniform(-0.8, 0.8, size=30)
    D = np.zeros((30, 30))
    for i, j in np.argwhere(np.triu(np.ones((30, 30)), 1)):
        between = CurvedMetric.euclidean(2, curvature=(own[i] + own[j]) / 2)
        D[i, j] = D[j, i] = between.distance(X[i], X[j])
    return D


def test_exact_distances_have_no_variance():
    stress = StressProfile(fitted(draws.dissimilarities(X, 1.0, 0, error=0.0)))
    assert abs(stress.K - 1) < 1e-3
    assert stress.uncertainty()[0] < 1e-5


def test_errors_that_pairs_of_a_point_share_inflate_the_variance():
    """With s = h e/‖h‖² over pairs, h being ∂d/∂K without what moving points can make of it."""
    stress = StressProfile(fitted(with_shared_errors()))
    v, K = stress.v, stress.K
    pairs = np.triu_indices(30, 1)
    J = np.empty((len(pairs[0]), v.size))
    for i, step in enumerate(1e-5 * np.eye(v.size)):
        step = step.reshape(v.shape)
        J[:, i] = (distances(v + step, K) - distances(v - step, K))[pairs] / 2e-5
    g = (distances(v, K + 1e-5) - distances(v, K - 1e-5))[pairs] / 2e-5
    h = g - J @ np.linalg.lstsq(J, g, rcond=1e-6)[0]
    e = (stress.delta - distances(v, K))[pairs]
    s = np.zeros((30, 30))
    s[pairs] = h * e / (h @ h)
    s += s.T
    shared = np.square(s.sum(axis=1)).sum() - np.square(s).sum() / 2
    independent = e @ e / stress.freedom / (h @ h)
    variance, inflation = stress.uncertainty()
    assert inflation > 2
    assert inflation == pytest.approx(shared / independent, rel=1e-3)
    assert variance == pytest.approx(shared, rel=1e-3)
