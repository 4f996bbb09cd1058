"""Gromov's δ against all fours, and what is said where they are too many."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cayleyklein import CurvedMetric, gromov_delta
from cayleyklein.curvature import gromov
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import graph_distances


def gaps(D):
    for a, b, c, d in itertools.combinations(range(len(D)), 4):
        sums = sorted([D[a, b] + D[c, d], D[a, c] + D[b, d], D[a, d] + D[b, c]])
        yield sums[2] - sums[1]


@pytest.mark.parametrize("seed", range(4))
def test_all_fours(seed):
    X = np.random.default_rng(seed).normal(size=(14, 3))
    D = cdist(X, X)
    every = np.fromiter(gaps(D), float)
    found = gromov_delta(D, random_state=0)
    assert found.exact
    assert found.delta == pytest.approx(every.max() / 2)
    assert found.bounds == (found.delta, found.delta)
    assert found.relative == pytest.approx(every.max() / D.max())
    low, high = found.mean_interval
    assert low < every.mean() / D.max() < high
    assert high - low < 0.01
    a, b, c, d = found.worst
    sums = sorted([D[a, b] + D[c, d], D[a, c] + D[b, d], D[a, d] + D[b, c]])
    assert sums[2] - sums[1] == pytest.approx(2 * found.delta)


def test_no_scale():
    D = cdist(*[np.random.default_rng(0).normal(size=(30, 2))] * 2)
    one, other = gromov_delta(D, random_state=0), gromov_delta(1e6 * D, random_state=0)
    assert other.delta == pytest.approx(1e6 * one.delta)
    assert other.relative == pytest.approx(one.relative)
    assert other.mean_interval == pytest.approx(one.mean_interval)


def test_trees_cycles_and_the_hyperbolic_plane():
    tree = graph_distances([(i // 3, i) for i in range(3, 60)] + [(0, 1), (0, 2)]).distances
    found = gromov_delta(tree)
    assert (found.delta, found.exact, found.mean) == (0, True, 0)
    cycle = graph_distances([(i, (i + 1) % 40) for i in range(40)]).distances
    assert gromov_delta(cycle).relative == 1
    ends = 0.999999999999 * np.stack([np.cos(a := np.linspace(0, 6, 40)), np.sin(a)], axis=1)
    D = CurvedMetric.euclidean(2, curvature=-4.0).pairwise(ends / 2)
    assert gromov_delta(D).delta == pytest.approx(np.log(2) / 2, rel=0.02)


def test_bounds_where_fours_are_too_many(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    D = cdist(X, X)
    whole = gromov_delta(D)
    monkeypatch.setattr(gromov, "SEARCHED", 10)
    found = gromov_delta(D, n_samples=50, random_state=0)
    assert not found.exact
    assert found.bounds[0] == found.delta <= whole.delta <= found.bounds[1] < D.max() / 2
    # Gromov: δ of all fours is at most twice that of the fours with any one point.
    based = []
    for base in np.linspace(0, 39, 4).astype(int):
        first = [base, *np.delete(np.arange(40), base)]
        based.append(max(itertools.islice(gaps(D[np.ix_(first, first)]), math.comb(39, 3))))
    assert found.bounds[1] == pytest.approx(min(based))
    every = np.fromiter(gaps(D), float)
    assert np.mean(every > 2 * found.delta + 1e-12) < found.exceeding < 0.06
    monkeypatch.setattr(gromov, "BASED", 10)
    assert gromov_delta(D, n_samples=50, random_state=0).bounds[1] == pytest.approx(D.max() / 2)


@pytest.mark.parametrize("count", [2, 32, 1000])
def test_as_many_fours_are_drawn_as_were_asked_for(count):
    fours = gromov.draw_fours(5, count, np.random.RandomState(0))
    assert fours.shape == (count, 4)
    assert all(len(set(four)) == 4 for four in fours.tolist())


def test_bad_input():
    for D, said in [
        (np.ones((3, 3)) - np.eye(3), "four points"),
        (np.ones((4, 4)), "diagonal"),
        (np.eye(4) - 1, "negative"),
        (np.ones((4, 5)), "square"),
    ]:
        with pytest.raises(InvalidInputError, match=said):
            gromov_delta(D)
    with pytest.raises(InvalidInputError, match="n_samples"):
        gromov_delta(np.ones((4, 4)) - np.eye(4), n_samples=1)
