"""The objective is a pure function of the metric, equal to its definition, gradient included."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning import slow

from cayleyklein.learning.objectives import lifted
from cayleyklein.learning.objectives.large_margin import LargeMargin, nearest_of_class
from cayleyklein.learning.objectives.lifted import LiftedRows, Parameters

CURVATURES = [-0.7, -1e-3, 0.0, 1e-3, 0.7]


def problem(seed=0, n=16, d=2, classes=3):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % classes)
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None] * rng.normal(size=d)
    return X, y


def metric_of(X, K, seed=0, r=None):
    """A metric whose domain holds all rows."""
    rng = np.random.default_rng(seed)
    d = X.shape[1]
    center = X.mean(axis=0) + 0.1 * rng.normal(size=d)
    factor = np.eye(r or d, d) + 0.3 * rng.normal(size=(r or d, d))
    z = (X - center) @ factor.T
    return Parameters(0.8 * factor / np.linalg.norm(z, axis=1).max(), center, K)


def check_gradient(loss, metric, length, **tolerance):
    """Compare the gradient with differences of the loss along a random step of each part."""
    found = loss(metric).gradient
    rng = np.random.default_rng(1)
    for part in ("factor", "center", "curvature"):
        step = length * rng.normal(size=np.shape(getattr(metric, part)))
        low, high = (
            loss(metric._replace(**{part: getattr(metric, part) + sign * step})).loss
            for sign in (-1, 1)
        )
        slope = np.sum(getattr(found, part) * step)
        assert (high - low) / 2 == pytest.approx(slope, **tolerance)


def objective(X, y, metric, *, m=None, margin=0.2, push=0.4, squared=False, k=2, anchors=None):
    anchors = np.arange(len(X)) if anchors is None else anchors
    targets = nearest_of_class(X, y, anchors, k, metric)
    weights = np.linspace(0.5, 2, len(X))
    return LargeMargin(X, y, weights, anchors, targets, margin, push, m, squared)


def by_definition(loss, metric):
    D = slow.all_distances(loss.X, loss.X, [(1.0, *(np.asarray(a).tolist() for a in metric))])
    targets = [[j for j in row if j >= 0] for row in loss.targets.tolist()]
    return slow.loss(
        D, loss.labels, targets, margin=loss.margin, push=loss.push, squared=loss.squared,
        weights=loss.weights, n_impostors=loss.n_impostors, anchors=loss.anchors.tolist(),
    )  # fmt: skip


@pytest.mark.parametrize("m", [None, 1, 3])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("K", CURVATURES)
def test_is_its_definition(K, squared, m):
    X, y = problem()
    metric = metric_of(X, K)
    loss = objective(X, y, metric, m=m, squared=squared)
    found = loss(metric)
    expected, n_active = by_definition(loss, metric)
    assert found.loss == pytest.approx(float(expected), rel=1e-10)
    assert found.n_active == n_active > 0


@pytest.mark.parametrize("m", [None, 2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("K", [-0.7, -1e-4, 0.0, 1e-4, 0.7])
@pytest.mark.parametrize("r", [1, 3])
def test_gradient_by_finite_differences(K, squared, m, r):
    X, y = problem(n=30, d=3)
    metric = metric_of(X, K, r=r)
    loss = objective(X, y, metric, m=m, squared=squared)
    check_gradient(loss, metric, 1e-6, rel=1e-5, abs=1e-9)


def test_some_anchors_and_any_block():
    """Anchors are a part of the sum; the size of blocks changes rounding at most."""
    X, y = problem(n=60, d=4)
    metric = metric_of(X, 0.5)
    some = np.arange(0, 60, 4)
    loss = objective(X, y, metric, m=4, anchors=some)
    expected, _ = by_definition(loss, metric)
    assert loss(metric).loss == pytest.approx(float(expected), rel=1e-10)
    everyone = objective(X, y, metric, m=4)
    whole, blocks = everyone(metric), []
    for entries in (1, 7 * 60, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lifted, "CHORD_ENTRIES", entries)
            blocks.append(replace(everyone)(metric))
    for block in blocks:
        assert block.loss == pytest.approx(whole.loss, rel=1e-12)
        np.testing.assert_allclose(block.gradient.factor, whole.gradient.factor, rtol=1e-9)


def test_a_class_of_one_row_has_no_targets():
    X, y = problem(n=9)
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    metric = metric_of(X, 0.0)
    loss = objective(X, y, metric, m=2)
    assert (loss.targets[-1] == -1).all()
    assert loss(metric).loss == pytest.approx(float(by_definition(loss, metric)[0]), rel=1e-10)


def test_rows_of_two_classes_on_one_spot():
    """Distance 0 has no gradient, and that is no NaN."""
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 1, 0, 1])[np.argsort([0, 1, 0, 1], kind="stable")]
    X = X[np.argsort([0, 1, 0, 1], kind="stable")]
    for K in (-0.3, 0.0, 0.3):
        metric = Parameters(np.eye(1), np.array([0.1]), K)
        found = objective(X, y, metric, m=3, k=1)(metric)
        assert np.isfinite(found.loss)
        assert np.isfinite(found.gradient.factor).all()


def test_outside_a_hyperbolic_domain_the_loss_is_infinite():
    X, y = problem()
    inside = metric_of(X, -1.0)
    loss = objective(X, y, inside, m=3)
    far = inside._replace(factor=2 * inside.factor)
    assert loss(far).loss == np.inf
    assert loss(far).gradient is None


@pytest.mark.parametrize("K", CURVATURES)
def test_targets_are_the_nearest_of_the_class(K):
    X, y = problem(n=20)
    metric = metric_of(X, K)
    D = slow.all_distances(X, X, [(1.0, *(np.asarray(a).tolist() for a in metric))])
    found = nearest_of_class(X, y, np.arange(20), 2, metric)
    assert found.tolist() == slow.nearest_of_class(D, y, 2)


@pytest.mark.parametrize("asked", [1, 2, 3, 8])
def test_small_classes_have_fewer_targets(asked):
    """As many as other rows of the class; the largest class says how many columns there are."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [1, 2, 3, 4])
    X = rng.normal(size=(10, 2))
    flat = Parameters(np.eye(2), np.zeros(2), 0.0)
    found = nearest_of_class(X, y, np.arange(10), asked, flat)
    assert found.shape == (10, min(asked, 3))
    for i in range(10):
        others = [j for j in range(10) if j != i and y[j] == y[i]]
        others.sort(key=lambda j, i=i: np.linalg.norm(X[i] - X[j]))
        expected = others[:asked] + [-1] * (found.shape[1] - len(others))
        assert found[i].tolist() == expected[: found.shape[1]]
    alone = nearest_of_class(X[:3], np.arange(3), np.arange(3), asked, flat)
    assert alone.tolist() == [[-1]] * 3


@pytest.mark.parametrize("K", CURVATURES)
def test_a_metric_that_does_not_bend_has_no_gradient_in_its_curvature(K):
    X, y = problem()
    metric = metric_of(X, K)
    loss = objective(X, y, metric, m=3)
    bent, rigid = (loss(metric, bends) for bends in (True, False))
    assert rigid.gradient.curvature == 0.0
    assert bent.gradient.curvature != 0.0
    np.testing.assert_array_equal(rigid.gradient.factor, bent.gradient.factor)


@pytest.mark.parametrize("m", [None, 3])
def test_impostors_are_the_nearest_rows_of_other_classes_within_the_margin(m):
    X, y = problem(n=40)
    metric = metric_of(X, 0.5)
    loss = objective(X, y, metric, m=m, margin=0.3)
    found = loss.impostors(LiftedRows(X, metric))
    D = np.array(
        slow.all_distances(X, X, [(1.0, *(np.asarray(a).tolist() for a in metric))]), float
    )
    widest = 0
    for i in range(40):
        reach = 0.3 + max(D[i, j] for j in loss.targets[i] if j >= 0)
        near = [j for j in np.argsort(D[i]) if y[j] != y[i] and D[i, j] < reach][:m]
        assert sorted(j for j in found[i].tolist() if j >= 0) == sorted(near)
        widest = max(widest, len(near))
    assert found.shape[1] == (widest if m is None else m)
