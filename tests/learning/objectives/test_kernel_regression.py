"""The kernel-regression objective is its definition, gradient included."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from tests.learning import slow
from tests.learning.objectives.test_large_margin import CURVATURES, check_gradient, metric_of

from cayleyklein.learning.objectives import lifted
from cayleyklein.learning.objectives.kernel_regression import KernelRecipe, KernelRegression
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows

KERNELS = pytest.mark.parametrize("bandwidth", [None, 0.4])


def problem(n=14, d=2, t=1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, t))


def objective(X, Y, m=5, bandwidth=None, anchors=None):
    weights = np.linspace(0.5, 2, len(X))
    anchors = np.arange(len(X)) if anchors is None else anchors
    return KernelRegression(X, Y, weights, anchors, m, bandwidth)


@mpmath.workdps(slow.DIGITS)
def by_definition(loss, metric):
    """The mean squared error of each anchor's estimate, in plain loops."""
    D = slow.all_distances(loss.X, loss.X, [(1.0, *(np.asarray(a).tolist() for a in metric))])
    total = mass = mpmath.mpf(0)
    for i in loss.anchors.tolist():
        near = sorted((j for j in range(len(D)) if j != i), key=lambda j, i=i: D[i][j])
        near = near[: loss.n_neighbors]
        edge = D[i][near[-1]] ** 2
        votes = []
        for j in near:
            square = D[i][j] ** 2
            if loss.bandwidth is None:
                kernel = mpmath.mpf("1.01") - square / edge
            else:
                kernel = mpmath.exp(-square / mpmath.mpf(loss.bandwidth) ** 2)
            votes.append(kernel * loss.weights[j])
        error = mpmath.mpf(0)
        for t in range(loss.targets.shape[1]):
            mean = mpmath.fsum(v * loss.targets[j, t] for v, j in zip(votes, near, strict=True))
            error += (mean / mpmath.fsum(votes) - loss.targets[i, t]) ** 2
        total += loss.weights[i] * error
        mass += loss.weights[i]
    return float(total / mass)


@KERNELS
@pytest.mark.parametrize("K", CURVATURES)
def test_is_its_definition(K, bandwidth):
    X, Y = problem(t=2)
    metric = metric_of(X, K)
    loss = objective(X, Y, bandwidth=bandwidth)
    assert loss(metric).loss == pytest.approx(by_definition(loss, metric), rel=1e-9)
    some = replace(loss, anchors=np.array([1, 4, 9]))
    assert some(metric).loss == pytest.approx(by_definition(some, metric), rel=1e-9)


@KERNELS
@pytest.mark.parametrize("K", [-0.7, -1e-4, 0.0, 1e-4, 0.7])
@pytest.mark.parametrize("r", [1, 3])
def test_gradient_by_finite_differences(K, bandwidth, r):
    X, Y = problem(n=30, d=3, t=2)
    metric = metric_of(X, K, r=r)
    loss = objective(X, Y, m=8, bandwidth=bandwidth)
    check_gradient(loss, metric, 1e-7, rel=1e-4, abs=1e-11)


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "learned"])
@pytest.mark.parametrize("kernel", ["window", "gaussian"])
def test_gradient_at_the_start_of_every_geometry(geometry, kernel):
    """Each part of a product too is one of these."""
    X, Y = problem(n=40, d=3)
    rows = TrainingRows.from_targets(X, Y, np.ones(40))
    recipe = KernelRecipe(geometry, kernel=kernel, n_neighbors=10)
    start = recipe.start(rows, np.eye(3))._replace(center=np.full(3, 0.1))
    loss = recipe.pose(rows, np.arange(40), start)
    gradient = loss(start).gradient
    step = 1e-6 * start.factor[0, 0] * np.random.default_rng(0).normal(size=(3, 3))
    values = [loss(start._replace(factor=start.factor + s * step)).loss for s in (-1, 1)]
    slope = np.sum(gradient.factor * step)
    assert (values[1] - values[0]) / 2 == pytest.approx(slope, rel=1e-4)


@KERNELS
def test_any_block_and_any_search_before(bandwidth):
    """The size of blocks changes rounding at most; the last evaluation changes nothing."""
    X, Y = problem(n=60, d=4)
    metric, other = metric_of(X, 0.5), metric_of(X, 0.5, seed=5)
    whole = objective(X, Y, bandwidth=bandwidth)
    expected = whole(metric)
    whole(other)
    assert whole(metric).loss == expected.loss
    for entries in (1, 7 * 60, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lifted, "CHORD_ENTRIES", entries)
            block = replace(whole)(metric)
        assert block.loss == pytest.approx(expected.loss, rel=1e-12)
        np.testing.assert_allclose(block.gradient.factor, expected.gradient.factor, rtol=1e-9)


@KERNELS
def test_equally_far_rows_are_a_plain_mean(bandwidth):
    """Corners of a simplex, and rows on one spot under a metric that sees one column."""
    Y = np.arange(4.0)[:, None]
    loss = objective(np.eye(4), Y, m=3, bandwidth=bandwidth)
    loss = replace(loss, weights=np.ones(4))
    expected = np.mean([(np.delete(Y, i).mean() - Y[i, 0]) ** 2 for i in range(4)])
    metric = Parameters(np.eye(4), np.zeros(4), 0.0)
    assert loss(metric).loss == pytest.approx(expected)
    blind = Parameters(np.zeros((1, 4)), np.zeros(4), 0.0)
    found = loss(blind)
    assert found.loss == pytest.approx(expected)
    assert np.isfinite(found.gradient.factor).all()


def test_outside_a_hyperbolic_domain_the_loss_is_infinite():
    X, Y = problem()
    inside = metric_of(X, -1.0)
    found = objective(X, Y)(inside._replace(factor=2 * inside.factor))
    assert found.loss == np.inf
    assert found.gradient is None


def test_two_rows_are_enough():
    found = objective(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    assert found(Parameters(np.eye(1), np.zeros(1), 0.0)).loss == pytest.approx(1.0)
