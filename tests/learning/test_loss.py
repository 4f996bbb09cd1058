"""The loss and its gradient against plain loops and finite differences."""

import numpy as np
import pytest

from cayleyklein._threads import Threads
from cayleyklein.geometry import Frame, distance
from cayleyklein.learning import _loss
from cayleyklein.learning._loss import Links, Pairs, Problem, loss_and_gradient
from cayleyklein.learning._search import find_targets

CURVATURES = [-0.6, -1e-4, -1e-9, 0.0, 1e-9, 1e-4, 0.6, 3.0]


def all_pairs(labels):
    rows = [np.flatnonzero(labels != label) for label in labels]
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Pairs(first.astype(np.int64), np.concatenate(rows).astype(np.int64))


def make(K, squared, seed=0, n=30, d=3, r=3, margin=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    labels = rng.integers(0, 3, size=n)
    factor = 0.3 * rng.normal(size=(r, d))
    center = 0.1 * rng.normal(size=d)
    if K < 0:
        z = (X - center) @ factor.T
        factor *= min(1.0, 0.9 / np.sqrt(-K * (z * z).sum(axis=1).max()))
    targets = find_targets(X, labels, 2, Frame(np.eye(d)))
    problem = Problem(X, targets, rng.uniform(0.5, 2, size=n), margin, 0.4, squared)
    return problem, Links.of(targets, all_pairs(labels)), factor, center, labels


def plain_loss(problem, labels, frame):
    total = 0.0
    for i, row in enumerate(problem.X):
        d = distance(row, problem.X, frame)
        value = d**2 if problem.squared else d
        for j in problem.targets[i]:
            if j < 0:
                continue
            total += problem.weights[i] * (1 - problem.push) * value[j]
            for other in np.flatnonzero(labels != labels[i]):
                hinge = problem.margin + value[j] - value[other]
                total += problem.weights[i] * problem.push * max(hinge, 0.0)
    return total


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("K", CURVATURES)
def test_loss_is_the_sum_over_triplets(K, squared):
    problem, links, factor, center, labels = make(K, squared)
    expected = plain_loss(problem, labels, Frame(factor, center=center, curvature=K))
    for bends in (True, False):  # each length by itself, or the arc of a product
        found = loss_and_gradient(problem, links, factor, center, K, bends=bends)
        assert found.loss == pytest.approx(expected, rel=1e-9)
        assert found.n_active > 0


@pytest.mark.parametrize(("K", "size"), [(1.0, 1e6), (0.3, 40.0), (-1.0, 1 - 1e-9)])
def test_sum_of_many_long_arcs(K, size):
    """Past half a turn again and again, near the antipode, and past the largest number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X *= size / np.linalg.norm(X, axis=1, keepdims=True)
    labels = np.arange(400) % 2
    targets = find_targets(X, labels, 2, Frame(np.eye(2)))
    problem = Problem(X, targets, np.ones(400), 25.0, 0.5, squared=False)
    links = Links.of(targets, all_pairs(labels))
    plain, product = (
        loss_and_gradient(problem, links, np.eye(2), np.zeros(2), K, bends=bends)
        for bends in (True, False)
    )
    assert plain.n_active > 40_000
    assert product.loss == pytest.approx(plain.loss, rel=1e-12)
    np.testing.assert_allclose(product.factor, plain.factor, rtol=1e-9, atol=1e-12 * plain.loss)


@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("K", CURVATURES)
def test_gradient_by_finite_differences(K, squared, r):
    problem, links, factor, center, _ = make(K, squared, r=r)
    rng = np.random.default_rng(1)
    steps = (
        rng.normal(size=factor.shape),
        rng.normal(size=center.shape),
        rng.normal() * max(abs(K), 1e-3),
    )

    def loss(t):
        moved = factor + t * steps[0], center + t * steps[1], K + t * steps[2]
        return loss_and_gradient(problem, links, *moved).loss

    found = loss_and_gradient(problem, links, factor, center, K)
    slope = (found.factor * steps[0]).sum() + found.center @ steps[1] + found.curvature * steps[2]
    h = 1e-6
    assert (loss(h) - loss(-h)) / (2 * h) == pytest.approx(slope, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("K", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("squared", [False, True])
def test_duplicates_give_finite_gradients(K, squared):
    problem, links, factor, center, _ = make(K, squared)
    X = problem.X.copy()
    X[1] = X[0]
    X[2] = X[0]
    problem = Problem(X, problem.targets, problem.weights, 0.4, 0.4, squared)
    found = loss_and_gradient(problem, links, 0.5 * factor, center, K)
    assert np.isfinite(found.loss)
    assert np.isfinite(found.factor).all()
    assert np.isfinite(found.center).all()


def test_infinite_outside_the_domain():
    problem, links, factor, center, _ = make(-0.6, False)
    found = loss_and_gradient(problem, links, 10 * factor, center, -0.6)
    assert found.loss == np.inf
    assert not found.factor.any()


def test_sum_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_loss, "CHUNK_PAIRS", 100)
    problem, links, factor, center, _ = make(0.6, False)
    alone = loss_and_gradient(problem, links, factor, center, 0.6)
    with Threads(3) as pool:
        together = loss_and_gradient(problem, links, factor, center, 0.6, pool)
    assert alone.loss == together.loss
    np.testing.assert_array_equal(alone.factor, together.factor)


def test_no_targets_no_loss():
    problem, _, factor, center, labels = make(0.6, False)
    nobody = Problem(problem.X, np.full_like(problem.targets, -1), problem.weights, 0.4, 0.4, False)
    links = Links.of(nobody.targets, all_pairs(labels))
    assert loss_and_gradient(nobody, links, factor, center, 0.6).loss == 0
