import numpy as np
import pytest

from cayleyklein.geometry import Frame, distance
from cayleyklein.learning import _search
from cayleyklein.learning._search import find_impostors, find_targets, radii


def make(K, seed=0, n=60, d=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, d))
    return X, rng.integers(0, 3, size=n), Frame(np.eye(d), center=np.full(d, 0.05), curvature=K)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_targets_are_the_nearest_of_the_class(K, monkeypatch):
    monkeypatch.setattr(_search, "BLOCK_ENTRIES", 64)
    X, labels, frame = make(K)
    targets = find_targets(X, labels, 3, frame)
    D = distance(X[:, None], X, frame)
    for i in range(len(X)):
        same = np.flatnonzero((labels == labels[i]) & (np.arange(len(X)) != i))
        expected = same[np.argsort(D[i, same], kind="stable")[:3]]
        np.testing.assert_array_equal(targets[i], expected)


def test_ties_by_index_and_small_classes():
    X = np.array([[0.0], [1.0], [-1.0], [1.0], [5.0]])
    labels = np.array([0, 0, 0, 0, 1])
    targets = find_targets(X, labels, 3, Frame(np.eye(1)))
    assert targets[0].tolist() == [1, 2, 3]
    assert targets[1].tolist() == [3, 0, 2]
    assert targets[4].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_impostors_are_all_within_reach(K, squared, monkeypatch):
    monkeypatch.setattr(_search, "BLOCK_ENTRIES", 500)
    X, labels, frame = make(K)
    targets = find_targets(X, labels, 2, frame)
    reach = radii(targets, X, frame, 0.05, squared)
    pairs, crowded = find_impostors(X, labels, reach, frame)
    assert not crowded
    D = distance(X[:, None], X, frame)
    value = D**2 if squared else D
    for i in range(len(X)):
        limit = 0.05 + value[i, targets[i]].max()
        expected = np.flatnonzero((labels != labels[i]) & (value[i] < limit))
        np.testing.assert_array_equal(pairs.column[pairs.first[i] : pairs.first[i + 1]], expected)


def test_nearest_impostors_are_kept():
    X, labels, frame = make(1.0)
    everything = np.full(len(X), np.inf)
    pairs, crowded = find_impostors(X, labels, everything, frame, per_row=4)
    assert crowded
    D = distance(X[:, None], X, frame)
    for i in range(len(X)):
        others = np.flatnonzero(labels != labels[i])
        expected = np.sort(others[np.argsort(D[i, others])[:4]])
        np.testing.assert_array_equal(pairs.column[pairs.first[i] : pairs.first[i + 1]], expected)
