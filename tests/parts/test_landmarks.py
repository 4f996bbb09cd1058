"""Machines of many rows against dense solves: the global function, leaves, rows left out."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts import landmarks
from cayleyklein.parts.kernel import KernelPart, MetricDistance, Tuning, fit_machine
from cayleyklein.parts.leaves import PIVOTS
from cayleyklein.parts.many import ManyRows
from cayleyklein.parts.places import pool_rows

PLANE = CurvedMetric.euclidean(2, curvature=-0.5)
DISTANCE = MetricDistance(PLANE)
PART = KernelPart("plane", lambda rows: DISTANCE, (1.0,), (0.1,))


def table(n=160, seed=0, width=2):
    """Rows in the plane with weights and targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.8, 0.8, size=(n, 2))
    y = np.sin(5 * X[:, :1]) * X[:, 1:] + 0.2 * rng.normal(size=(n, width))
    weights = rng.uniform(0.5, 2.0, size=n)
    return X, y, weights / weights.mean()


@pytest.fixture
def small_leaves(monkeypatch):
    """Let a hundred rows have several leaves."""
    monkeypatch.setattr(landmarks, "EXACT_ROWS", 50)
    monkeypatch.setattr(landmarks, "LEAST_LEAF", 30)
    monkeypatch.setattr(landmarks, "MOST_LEAF", 45)
    monkeypatch.setattr(landmarks, "LEAST_LANDMARKS", 5)


def many(X, y, weights, held=(), counted=False, out=None):
    """Return rows of which some are held out, all or a part of their weight."""
    given = GivenRows(X, y, weights, X.shape[1], numbers=np.arange(len(X)))
    held = np.array(held, dtype=int)
    left = weights.copy()
    left[held] -= weights[held] if out is None else out
    held_out = replace(given, weights=weights - left).take(held)
    pool = replace(given, weights=left).draw(None, 1, np.random.default_rng(0))
    sample = pool_rows(pool, pool.target, False)
    return ManyRows.of(given, held_out, pool, sample, lambda target: target, counted)


def fitted(X, y, weights, held=(0,), part=PART, n_landmarks=None, **given):
    rows = many(X, y, weights, held, **given)
    return landmarks.fit_part(part, rows, None, n_landmarks, np.random.default_rng(0))


def kernel_of(machine, A, B):
    return np.exp(-machine.gamma * PLANE.pairwise(A, B))


def global_function(machine, X, y, weights):
    """Return a of the sum of kernels at the landmarks with the least squared error."""
    Z = machine.landmarks.X
    K, G = kernel_of(machine, X, Z), kernel_of(machine, Z, Z)
    A = K.T @ (weights[:, None] * K) + machine.tuning.ridge * G
    return np.linalg.solve(A, K.T @ (weights[:, None] * (y - machine.offset)))


def dense(machine, view, X, Y=None):
    """Return the covariance of the function of the leaves: K - Q in a leaf, 0 between leaves."""
    Z = machine.landmarks.X
    own = view.tree.leaf_of(PLANE.pairwise(X, Z)[:, :PIVOTS])
    other = own if Y is None else view.tree.leaf_of(PLANE.pairwise(Y, Z)[:, :PIVOTS])
    Y = X if Y is None else Y
    G = kernel_of(machine, Z, Z) + 1e-8 * np.eye(len(Z))
    rest = kernel_of(machine, X, Y) - kernel_of(machine, X, Z) @ np.linalg.solve(
        G, kernel_of(machine, Z, Y)
    )
    return np.where(own[:, None] == other, rest, 0.0)


@pytest.mark.usefixtures("small_leaves")
def test_scores_and_variances_are_those_of_dense_solves():
    X, y, weights = table()
    machine, _, _ = fitted(X, y, weights)
    assert len(machine.views) == 2
    assert machine.views[0].tree.n_leaves > 2
    Q, _, _ = table(30, seed=1)
    a = global_function(machine, X, y, weights)
    Z = machine.landmarks.X
    near = kernel_of(machine, Q, Z)
    expected, known = near @ a + machine.offset, []
    missed = y - machine.offset - kernel_of(machine, X, Z) @ a
    noise = np.diag(machine.tuning.ridge / weights)
    for view in machine.views:
        system, cross = dense(machine, view, X) + noise, dense(machine, view, Q, X)
        expected += cross @ np.linalg.solve(system, missed) / 2
        left = dense(machine, view, Q) - cross @ np.linalg.solve(system, cross.T)
        known.append(np.diag(left))
    np.testing.assert_allclose(machine.scores(Q), expected, atol=1e-5)
    K = kernel_of(machine, X, Z)
    joint = kernel_of(machine, Z, Z) + K.T @ (weights[:, None] * K) / machine.tuning.ridge
    shared = np.einsum("mk,km->m", near, np.linalg.solve(joint, near.T))
    expected = np.mean(known, axis=0) + shared + machine.tuning.ridge
    np.testing.assert_allclose(machine.variances(Q), expected, atol=1e-5)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.scores(Q), machine.scores(Q))


@pytest.mark.usefixtures("small_leaves")
def test_what_rows_and_landmarks_add_is_the_score():
    X, y, weights = table()
    machine, _, _ = fitted(X, y, weights)
    for x, score in zip(X[:5] + 0.01, machine.scores(X[:5] + 0.01), strict=True):
        numbers, effects = machine.row_effects(x)
        assert len(set(numbers)) == len(numbers) < 160
        np.testing.assert_allclose(effects.sum(axis=0) + machine.offset, score, atol=1e-6)
    np.testing.assert_array_equal(X[machine.landmarks.numbers], machine.landmarks.X)


@pytest.mark.usefixtures("small_leaves")
def test_left_out_scores_are_those_of_leaves_without_the_place():
    """And of a global function without any of the held-out rows."""
    X, y, weights = table()
    held = [3, 50, 51, 120]
    machine, said, variances = fitted(X, y, weights, held)
    kept = np.delete(np.arange(160), held)
    a = global_function(machine, X[kept], y[kept], weights[kept])
    Z = machine.landmarks.X
    shared = kernel_of(machine, X, Z) @ a
    missed = y - machine.offset - shared
    full = kernel_of(machine, X, Z)
    joint = kernel_of(machine, Z, Z) + full.T @ (weights[:, None] * full) / machine.tuning.ridge
    for at, score, variance in zip(held, said, variances, strict=True):
        rest = np.delete(np.arange(160), at)
        expected, unsure = [], []
        for view in machine.views:
            covariance = dense(machine, view, X)
            system = covariance + np.diag(machine.tuning.ridge / weights)
            known = np.linalg.solve(system[np.ix_(rest, rest)], covariance[rest, at])
            expected.append(known @ missed[rest])
            unsure.append(covariance[at, at] - known @ covariance[rest, at])
        np.testing.assert_allclose(
            score, np.mean(expected, axis=0) + shared[at] + machine.offset, atol=1e-5
        )
        near = full[at] @ np.linalg.solve(joint, full[at])
        assert variance == pytest.approx(np.mean(unsure) + near + machine.tuning.ridge, abs=1e-5)


@pytest.mark.usefixtures("small_leaves")
def test_where_rows_are_counted_one_of_a_place_is_left_out():
    X, y, _ = table(100)
    rng = np.random.default_rng(0)
    # two rows at every place, with targets of their own
    rows, targets = np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0)
    targets = targets + rng.normal(size=targets.shape)
    machine, said, _ = fitted(rows, targets, np.ones(200), [14], counted=True)
    kept = np.delete(np.arange(200), 14)
    a = global_function(machine, rows[kept], targets[kept], np.ones(199))
    shared = kernel_of(machine, rows, machine.landmarks.X) @ a
    missed = targets - machine.offset - shared
    expected = []
    for view in machine.views:
        covariance = dense(machine, view, rows)
        system = covariance + machine.tuning.ridge * np.eye(200)
        known = np.linalg.solve(system[np.ix_(kept, kept)], missed[kept])
        expected.append(covariance[14, kept] @ known)
    expected = np.mean(expected, axis=0) + shared[14] + machine.offset
    np.testing.assert_allclose(said[0], expected, atol=1e-5)


@pytest.mark.parametrize("n", [40, 130])
def test_few_of_many_rows_are_the_exact_machine(n):
    X, y, weights = table(n)
    machine, _, _ = fitted(X, y, weights)
    places = pool_rows(GivenRows(X, y, weights, 2), y, False)
    exact = fit_machine(DISTANCE, places, Tuning(machine.gamma * median(places.X), 0.1))
    Q, _, _ = table(20, seed=1)
    assert len(machine.landmarks) == 0
    np.testing.assert_allclose(machine.scores(Q), exact.scores(Q), atol=1e-3)


def median(X):
    D = PLANE.pairwise(X)
    return np.median(D[np.triu_indices(len(X), 1)])


@pytest.mark.usefixtures("small_leaves")
def test_seams_between_leaves_hardly_show():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.8, 0.8, size=(600, 2))
    y = np.sin(5 * X[:, :1]) * np.cos(4 * X[:, 1:]) + 0.1 * rng.normal(size=(600, 1))
    machine, _, _ = fitted(X, y, np.ones(600))
    line = np.column_stack([np.linspace(-0.7, 0.7, 1400), np.full(1400, 0.1)])
    to_pivots = PLANE.pairwise(line, machine.landmarks.X)[:, :PIVOTS]
    both = np.abs(np.diff(machine.scores(line)[:, 0]))
    for view in machine.views:
        crosses = np.diff(view.tree.leaf_of(to_pivots)) != 0
        assert crosses.sum() > 2
        one = replace(machine, views=(view,), n_trees=1).scores(line)[:, 0]
        assert both[crosses].max() < np.abs(np.diff(one))[crosses].max()
        assert both[crosses].max() < 0.06 * np.ptp(machine.scores(line))


@pytest.mark.usefixtures("small_leaves")
def test_leaves_choose_a_narrower_kernel_and_less_penalty_where_there_is_no_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.8, 0.8, size=(400, 2))
    y = np.sign(np.sin(12 * X[:, :1]) * np.sin(12 * X[:, 1:]))
    part = KernelPart("plane", lambda rows: DISTANCE, (0.3, 3.0), (1e-3, 1e-1, 10.0))
    machine, _, _ = fitted(X, y, np.ones(400), part=part)
    assert machine.tuning.gamma >= 3.0
    assert machine.tuning.ridge < 10.0
    machine, _, _ = fitted(X, rng.normal(size=(400, 1)), np.ones(400), part=part)
    assert machine.tuning.ridge == 10.0


@pytest.mark.parametrize("start", [Tuning(0.1, 10.0), Tuning(1.0, 1e-3), Tuning(9.0, 1e-3)])
def test_leaves_choose_the_best_of_all_wherever_they_begin(start):
    X, y, weights = table(120)
    part = KernelPart("plane", lambda rows: DISTANCE, (0.1, 0.3, 1.0, 3.0), (1e-3, 1e-2, 0.1, 10.0))
    given = GivenRows(X, y, weights, 2, numbers=np.arange(120))
    leaves = [pool_rows(given.take(np.arange(at, 120, 2)), y[at::2], False) for at in (0, 1)]
    losses = {}
    for gamma in (*part.gammas, 9.0):
        for ridge in part.ridges:
            losses[Tuning(gamma, ridge)] = 0.0
            for leaf in leaves:
                K = np.exp(-gamma / 0.4 * PLANE.pairwise(leaf.X))
                inverse = np.linalg.inv(K + ridge * np.diag(1 / leaf.weights))
                missed = inverse @ leaf.targets / np.diag(inverse)[:, None]
                losses[Tuning(gamma, ridge)] += float(leaf.weights @ (missed**2).sum(axis=1))
    found = landmarks.tuned_in_leaves(part, leaves, DISTANCE, 0.4, start)
    assert found == min(losses, key=losses.get)


def test_the_number_of_landmarks_is_the_one_asked_for():
    X, y, weights = table(300)
    for asked in (40, 77):
        machine, _, _ = fitted(X, y, weights, n_landmarks=asked)
        assert len(machine.landmarks) == asked
        assert len(np.unique(machine.landmarks.X, axis=0)) == asked


def test_the_plan_of_a_fit():
    assert landmarks.sizes(3000, None) == (1, 3000, 0)
    plans = [landmarks.sizes(n, None) for n in (10_000, 100_000, 1_000_000)]
    assert [n_trees for n_trees, _, _ in plans] == [2, 2, 2]
    for n, (_, size, m) in zip((10_000, 100_000, 1_000_000), plans, strict=True):
        assert size * size * n <= 3e11
        assert PIVOTS <= m <= n / 2
    assert landmarks.sizes(10_000, 77)[2] == 77
