"""The shares of columns of a kernel machine, which are found once for each fit."""

import numpy as np

from cayleyklein import CurvedKernelRegressor


def test_shares_are_those_of_the_last_fit():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = CurvedKernelRegressor("columns", random_state=0)
    first = model.fit(X, X[:, 0]).feature_weights()
    assert first[0] > 0.9
    kept = first.copy()
    first[:] = 7.0  # the caller's own
    np.testing.assert_array_equal(model.feature_weights(), kept)
    assert model.fit(X, X[:, 1]).feature_weights()[1] > 0.9
