"""Leaves: trees that split rows, and machines of many rows against dense Gaussian processes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts import landmarks, leaves
from cayleyklein.parts.kernel import KernelPart, MetricDistance, Tuning, fit_machine
from cayleyklein.parts.landmarks import AskedPlaces
from cayleyklein.parts.leaves import LeafTree, is_tree, split_into_leaves
from cayleyklein.parts.places import pool_rows

PLANE = CurvedMetric.euclidean(2, curvature=-0.5)
DISTANCE = MetricDistance(PLANE)
PART = KernelPart("plane", lambda rows: DISTANCE, (1.0,), (0.1,))


def table(n=160, seed=0, width=2):
    """Rows in the plane with weights and targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.8, 0.8, size=(n, 2))
    y = np.sin(5 * X[:, :1]) * X[:, 1:] + 0.2 * rng.normal(size=(n, width))
    return X, y, rng.uniform(0.5, 2.0, size=n)


def places_of(X, y, weights):
    return pool_rows(GivenRows(X, y, weights, X.shape[1]), y, False)


@pytest.fixture
def small_leaves(monkeypatch):
    """Let a hundred rows have several leaves."""
    monkeypatch.setattr(landmarks, "EXACT_ROWS", 50)
    monkeypatch.setattr(landmarks, "LEAST_LEAF", 30)
    monkeypatch.setattr(landmarks, "MOST_LEAF", 45)
    monkeypatch.setattr(landmarks, "PIVOTS", 8)
    monkeypatch.setattr(landmarks, "MOST_LANDMARKS", 20)
    monkeypatch.setattr(landmarks, "LEAST_LANDMARKS", 5)
    monkeypatch.setattr("cayleyklein.parts.kernel.PIVOTS", 8)


def fitted(places, seed=0, asked=(), truth=None, counted=False, part=PART):
    rows = AskedPlaces(places, np.array(asked, dtype=int), truth, counted)
    if truth is None:
        rows = rows._replace(truth=places.targets[rows.asked])
    rng = np.random.default_rng(seed)
    return landmarks.fit_by_leaves(part, rows, places, None, None, rng)


def dense(machine, view, X, Y=None):
    """Return the covariance of rows by one view: exact in a leaf, by the landmarks elsewhere."""

    def kernel(A, B):
        return np.exp(-machine.gamma * PLANE.pairwise(A, B))

    Z = machine.rows[machine.landmarks]
    own = view.tree.leaf_of(PLANE.pairwise(X, Z)[:, :8])
    other = own if Y is None else view.tree.leaf_of(PLANE.pairwise(Y, Z)[:, :8])
    Y = X if Y is None else Y
    shared = kernel(X, Z) @ np.linalg.solve(kernel(Z, Z), kernel(Z, Y))
    return np.where(own[:, None] == other, kernel(X, Y), shared)


# -- trees --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 33, 200])
def test_a_tree_sends_each_row_to_one_leaf_of_at_most_the_size(size):
    X, _, _ = table(200)
    far = PLANE.pairwise(X, X[:8])
    tree = split_into_leaves(far, size, np.random.default_rng(0))
    assert is_tree(tree)
    counts = np.bincount(tree.leaf_of(far), minlength=tree.n_leaves)
    assert counts.sum() == 200
    assert counts.max() <= size * 1.1
    assert counts.min() >= min(size, 200) // 3
    order = np.random.default_rng(1).permutation(200)
    moved = split_into_leaves(far[order], size, np.random.default_rng(0))
    np.testing.assert_array_equal(moved.leaf_of(far), tree.leaf_of(far))


def test_leaves_are_cells_of_near_rows():
    X, _, _ = table(400)
    far = PLANE.pairwise(X, X[:8])
    leaf = split_into_leaves(far, 50, np.random.default_rng(0)).leaf_of(far)
    D = PLANE.pairwise(X)
    inside = np.mean([D[np.ix_(leaf == b, leaf == b)].mean() for b in np.unique(leaf)])
    assert inside < 0.6 * D.mean()


def test_equal_rows_stay_together():
    far = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), [90, 5, 5], axis=0)
    leaf = split_into_leaves(far, 10, np.random.default_rng(0)).leaf_of(far)
    assert len(set(leaf[:90])) == len(set(leaf[90:95])) == 1
    assert len(set(leaf)) > 1
    assert split_into_leaves(far[:90], 10, np.random.default_rng(0)).n_leaves == 1


@pytest.mark.parametrize("children", [[[0, -1]], [[-1, -1]], [[-1, -3]], [[1, -1], [-2, 5]]])
def test_trees_that_lead_nowhere_are_noticed(children):
    n = len(children)
    assert not is_tree(LeafTree(np.zeros((n, 2)), np.zeros(n), np.array(children)))
    assert is_tree(LeafTree.single())
    assert is_tree(LeafTree(np.zeros((1, 2)), np.zeros(1), np.array([[-1, -2]])))


# -- machines -----------------------------------------------------------------------


@pytest.mark.parametrize("m", [0, 12])
def test_one_leaf_is_the_exact_machine_whatever_the_landmarks(m):
    X, y, weights = table(70)
    places = places_of(X, y, weights)
    exact = fit_machine(DISTANCE, places, Tuning(1.0, 0.1))
    centred, _ = places.centred()
    marks = np.arange(m)
    kernel = landmarks.LandmarkKernel(DISTANCE, exact.gamma, places.X[marks])
    view, _, _ = landmarks.fit_view(
        kernel, centred, exact.noise, LeafTree.single(), np.zeros(70, int), np.zeros(0, int)
    )
    found = replace(exact, views=(view,), landmarks=marks)
    Q, _, _ = table(20, seed=1)
    np.testing.assert_allclose(found.scores(Q), exact.scores(Q), atol=1e-8)
    np.testing.assert_allclose(found.variances(Q), exact.variances(Q), atol=1e-8)
    rows, moved = found.influences(Q[0])
    np.testing.assert_allclose(moved, exact.influences(Q[0])[1], atol=1e-8)
    assert len(rows) == 70


@pytest.mark.usefixtures("small_leaves")
def test_scores_and_variances_are_those_of_dense_processes():
    X, y, weights = table()
    machine, _, _ = fitted(places_of(X, y, weights))
    assert len(machine.views) == 2
    assert machine.views[0].tree.n_leaves > 2
    Q, _, _ = table(30, seed=1)
    scores, variances = [], []
    for view in machine.views:
        system = dense(machine, view, machine.rows) + np.diag(machine.noise)
        cross = dense(machine, view, Q, machine.rows)
        scores.append(cross @ np.linalg.solve(system, machine.targets))
        known = np.einsum("mp,pm->m", cross, np.linalg.solve(system, cross.T))
        variances.append(1 + machine.tuning.ridge - known)
    expected = np.mean(scores, axis=0) + machine.offset
    np.testing.assert_allclose(machine.scores(Q), expected, atol=1e-6)
    np.testing.assert_allclose(machine.variances(Q), np.mean(variances, axis=0), atol=1e-6)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.scores(Q), machine.scores(Q))


@pytest.mark.usefixtures("small_leaves")
def test_what_a_row_adds_is_how_its_target_moves_the_score():
    X, y, weights = table()
    places = places_of(X, y, weights)
    machine, _, _ = fitted(places)
    x = np.array([0.1, -0.2])
    rows, moved = machine.influences(x)
    assert 30 < len(rows) < 160
    to_pivots = PLANE.pairwise(np.vstack([x, places.X]), machine.rows[machine.landmarks])[:, :8]
    leaf = np.array([view.tree.leaf_of(to_pivots) for view in machine.views])
    in_both = np.flatnonzero((leaf[:, 1:] == leaf[:, :1]).all(axis=0))
    for row in in_both[::5]:
        changed = places.targets.copy()
        changed[row] += 1.0
        other, _, _ = fitted(places._replace(targets=changed))
        centre = other.offset - machine.offset
        gain = (other.scores(x[None]) - machine.scores(x[None]))[0] - centre
        # the mean moves, too, and with it the targets of all rows
        known = moved[list(rows).index(row)] - centre * total_influence(machine, x)
        np.testing.assert_allclose(gain, known, atol=1e-6)


def total_influence(machine, x):
    """Return by how much f moves when all targets grow by 1."""
    found = []
    for view in machine.views:
        system = dense(machine, view, machine.rows) + np.diag(machine.noise)
        cross = dense(machine, view, x[None], machine.rows)
        found.append(cross @ np.linalg.solve(system, np.ones(len(system))))
    return np.mean(found)


@pytest.mark.usefixtures("small_leaves")
def test_left_out_scores_are_those_of_fits_without_the_place():
    X, y, weights = table()
    places = places_of(X, y, weights)
    asked = [3, 50, 50, 120]
    machine, said, variances = fitted(places, asked=asked)
    for at, score, variance in zip(asked, said, variances, strict=True):
        rest = np.delete(np.arange(160), at)
        expected, unsure = [], []
        for view in machine.views:
            system = dense(machine, view, machine.rows) + np.diag(machine.noise)
            cross = system[at, rest]
            solution = np.linalg.solve(system[np.ix_(rest, rest)], machine.targets[rest])
            expected.append(cross @ solution)
            known = cross @ np.linalg.solve(system[np.ix_(rest, rest)], cross)
            unsure.append(1 + machine.tuning.ridge - known)
        expected = np.mean(expected, axis=0) + machine.offset
        np.testing.assert_allclose(score, expected, atol=1e-6)
        np.testing.assert_allclose(variance, np.mean(unsure), atol=1e-6)


@pytest.mark.usefixtures("small_leaves")
def test_where_rows_are_counted_one_of_a_place_is_left_out():
    X, y, _ = table(100)
    rng = np.random.default_rng(0)
    copies = rng.integers(1, 4, size=100)
    rows, targets = np.repeat(X, copies, axis=0), np.repeat(y, copies, axis=0)
    targets = targets + rng.normal(size=targets.shape)
    places = pool_rows(GivenRows(rows, targets, np.ones(len(rows)), 2), targets, True)
    at = int(np.argmax(places.counts))
    there = np.flatnonzero((rows == places.X[at]).all(axis=1))
    machine, said, variances = fitted(places, asked=[at], truth=targets[there[:1]], counted=True)
    expected, unsure = [], []
    rest = np.delete(np.arange(len(rows)), there[0])
    centred = targets - machine.offset
    for view in machine.views:
        system = dense(machine, view, rows) + machine.tuning.ridge * np.eye(len(rows))
        solution = np.linalg.solve(system[np.ix_(rest, rest)], centred[rest])
        cross = system[there[0], rest]
        expected.append(cross @ solution)
        known = cross @ np.linalg.solve(system[np.ix_(rest, rest)], cross)
        unsure.append(1 + machine.tuning.ridge - known)
    expected = np.mean(expected, axis=0) + machine.offset
    np.testing.assert_allclose(said[0], expected, atol=1e-6)
    np.testing.assert_allclose(variances[0], np.mean(unsure), atol=1e-6)


@pytest.mark.usefixtures("small_leaves")
def test_seams_between_leaves_hardly_show():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.8, 0.8, size=(600, 2))
    y = np.sin(5 * X[:, :1]) * np.cos(4 * X[:, 1:]) + 0.1 * rng.normal(size=(600, 1))
    machine, _, _ = fitted(places_of(X, y, np.ones(600)))
    line = np.column_stack([np.linspace(-0.7, 0.7, 1400), np.full(1400, 0.1)])
    to_pivots = PLANE.pairwise(line, machine.rows[machine.landmarks])[:, :8]
    both = machine.scores(line)[:, 0]
    jumps = []
    for view in machine.views:
        crosses = np.diff(view.tree.leaf_of(to_pivots)) != 0
        assert crosses.sum() > 2
        jumps.append(np.abs(np.diff(both))[crosses].max())
        one = replace(machine, views=(view,)).scores(line)[:, 0]
        assert jumps[-1] < np.abs(np.diff(one))[crosses].max()
    assert max(jumps) < 0.05 * np.ptp(both)


@pytest.mark.usefixtures("small_leaves")
def test_leaves_choose_a_narrower_kernel_and_less_penalty_where_there_is_no_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.8, 0.8, size=(400, 2))
    y = np.sign(np.sin(12 * X[:, :1]) * np.sin(12 * X[:, 1:]))
    part = KernelPart("plane", lambda rows: DISTANCE, (0.3, 3.0), (1e-3, 1e-1, 10.0))
    machine, _, _ = fitted(places_of(X, y, np.ones(400)), part=part)
    assert machine.tuning.gamma >= 3.0
    assert machine.tuning.ridge < 10.0
    noise = rng.normal(size=(400, 1))
    machine, _, _ = fitted(places_of(X, noise, np.ones(400)), part=part)
    assert machine.tuning.ridge == 10.0


def test_the_plan_of_a_fit():
    assert landmarks.plan(3000, None) == (1, 3000, 0)
    sizes = [landmarks.plan(n, None) for n in (10_000, 100_000, 1_000_000)]
    assert [views for views, _, _ in sizes] == [2, 2, 2]
    for n, (_, size, m) in zip((10_000, 100_000, 1_000_000), sizes, strict=True):
        assert size * size * n <= 3e11
        assert leaves.PIVOTS <= m <= n / 2
    assert landmarks.plan(10_000, 77)[2] == 77
