"""The comparison objective is its definition, gradient included."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from tests.learning import slow
from tests.learning.objectives.test_large_margin import CURVATURES, check_gradient, metric_of

from cayleyklein.learning.objectives import lifted
from cayleyklein.learning.objectives.comparisons import Comparisons
from cayleyklein.learning.objectives.lifted import Parameters

CROSSED = pytest.mark.parametrize("crossed", [False, True])


def objective(crossed, n=12, d=2, m=9, margin=0.3, seed=0):
    """Pairs that share rows, some of them more than once."""
    rng = np.random.default_rng(seed)
    near, far = rng.integers(n, size=(m, 2)), rng.integers(n, size=(m, 2))
    near[near[:, 0] == near[:, 1], 1] += 1
    weights = rng.uniform(0.5, 2, size=(2, m))
    X = rng.normal(size=(n + 1, d))
    return Comparisons(X, near, far, weights[0], weights[1] if crossed else None, margin)


@mpmath.workdps(slow.DIGITS)
def by_definition(loss, metric):
    D = slow.all_distances(loss.X, loss.X, [(1.0, *(np.asarray(a).tolist() for a in metric))])
    total = mass = mpmath.mpf(0)
    n_active = 0
    for a, (p, q) in enumerate(loss.near.tolist()):
        for b, (r, s) in enumerate(loss.far.tolist()):
            if loss.far_weights is None and a != b:
                continue
            weight = mpmath.mpf(loss.near_weights[a])
            if loss.far_weights is not None:
                weight *= loss.far_weights[b]
            near, far = D[p][q] ** 2, D[r][s] ** 2
            ratio = (near - far) / (near + far) if near + far else 0
            hinge = max(loss.margin + ratio, 0)
            total, mass, n_active = total + weight * hinge, mass + weight, n_active + (hinge > 0)
    return float(total / mass), n_active


@CROSSED
@pytest.mark.parametrize("K", CURVATURES)
def test_is_its_definition(K, crossed):
    loss = objective(crossed)
    metric = metric_of(loss.X, K)
    found = loss(metric)
    expected, n_active = by_definition(loss, metric)
    assert found.loss == pytest.approx(expected, rel=1e-10)
    assert found.n_active == n_active > 0


@CROSSED
@pytest.mark.parametrize("K", [-0.7, -1e-4, 0.0, 1e-4, 0.7])
@pytest.mark.parametrize("r", [1, 3])
def test_gradient_by_finite_differences(K, crossed, r):
    loss = objective(crossed, n=20, d=3, m=30)
    metric = metric_of(loss.X, K, r=r)
    check_gradient(loss, metric, 1e-6, rel=1e-4, abs=1e-10)


def test_blocks_change_rounding_at_most():
    loss = objective(True, m=40)
    metric = metric_of(loss.X, 0.5)
    whole = loss(metric)
    for entries in (1, 7 * 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lifted, "CHORD_ENTRIES", entries)
            block = replace(loss)(metric)
        assert block.loss == pytest.approx(whole.loss, rel=1e-12)
        assert block.n_active == whole.n_active
        np.testing.assert_allclose(block.gradient.factor, whole.gradient.factor, rtol=1e-9)


@CROSSED
def test_rows_on_one_spot_have_no_gradient_and_no_nan(crossed):
    loss = objective(crossed)
    found = loss(Parameters(np.zeros((2, 2)), np.zeros(2), 0.0))
    assert found.loss == pytest.approx(loss.margin)
    assert not found.gradient.factor.any()


def test_outside_a_hyperbolic_domain_the_loss_is_infinite():
    loss = objective(False)
    inside = metric_of(loss.X, -1.0)
    found = loss(inside._replace(factor=2 * inside.factor))
    assert found.loss == np.inf
    assert found.gradient is None
