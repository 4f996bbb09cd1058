"""What vantage point trees rest on: bounds that hold, nodes that hold their rows."""

import numpy as np
import pytest
from hypothesis import given
from tests.neighbors.rows import curvatures, dimensions, families, kinds, make
from tests.strategies import seeds

from cayleyklein import CurvedMetric, CurvedNeighbors, MixedMetric
from cayleyklein.neighbors import _kernels, vantage
from cayleyklein.neighbors.space import ChordSpace

MIXED = MixedMetric([CurvedMetric.euclidean(2, curvature=K) for K in (1.0, -1.0)], [0.3, 1.7])
RNG = np.random.default_rng(8)
X = RNG.uniform(-0.6, 0.6, size=(2000, 2))
Q = RNG.uniform(-0.6, 0.6, size=(30, 2))


@pytest.fixture
def small_leaves(monkeypatch):
    monkeypatch.setattr(vantage, "LEAF", 3)
    monkeypatch.setattr(vantage, "BUILT_PAIRS", 50)
    monkeypatch.setattr(vantage, "QUERIES", 7)


@given(seeds, families, dimensions, curvatures, kinds)
def test_distances_are_between_their_bounds(seed, family, d, K, kind):
    rng = np.random.default_rng(seed)
    metric, rows = make(rng, family, d, K, kind, n=40)
    space = ChordSpace(metric)
    placed = space.place(rows)
    which, columns = np.divmod(np.arange(40 * 40), 40)
    engine = vantage.VantageSearch(space, placed)
    points = engine._points(placed)
    low, high = vantage.pair_bounds(points, which, points, columns, engine.terms)
    exact = space.measure(placed, which, placed, columns)
    assert (low <= exact).all()
    assert (exact <= high).all()
    far = exact > 0.01 * exact.max()
    assert (high - low < 1e-4 * exact)[far].all()  # and the bounds are close together


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 64, 97, 500])
def test_nodes_hold_their_rows(n, small_leaves):
    engine = CurvedNeighbors(1, metric=MIXED, algorithm="vantage").fit(X[:n])._searcher.engine
    tree, distances = engine.tree, MIXED.pairwise(X[:n])
    assert (np.sort(tree.order) == np.arange(n)).all()
    assert 2**tree.levels <= n
    leaves = [tree.leaf(node) for node in range(2**tree.levels - 1, 2 ** (tree.levels + 1) - 1)]
    assert [leaf.start for leaf in leaves] == [0, *(leaf.stop for leaf in leaves[:-1])]
    assert leaves[-1].stop == n
    assert all(1 <= leaf.stop - leaf.start <= 4 for leaf in leaves)
    for level in range(tree.levels):
        starts = [*vantage.segment_starts(n, level), n]
        for i in range(2**level):
            node, rows = 2**level - 1 + i, slice(starts[i], starts[i + 1])
            point, members = tree.vantage[node], tree.order[rows]
            assert point in members
            true = distances[point, members]
            assert (tree.low[rows, level] <= true + 1e-12).all()
            assert (tree.high[rows, level] >= true - 1e-12).all()
            halves = np.split(true, [vantage.segment_starts(n, level + 1)[2 * i + 1] - starts[i]])
            for child, half in zip((2 * node + 1, 2 * node + 2), halves, strict=True):
                assert tree.near[child] <= half.min() + 1e-12
                assert tree.far[child] >= half.max() - 1e-12
                np.testing.assert_allclose(tree.near[child], half.min(), atol=1e-9)
                np.testing.assert_allclose(tree.far[child], half.max(), atol=1e-9)
            assert halves[0].max() <= halves[1].min() + 1e-12
            if level:  # the point is as far from that of its parent as any of its rows
                above = distances[tree.vantage[(node - 1) // 2]]
                assert above[point] >= above[members].max() - 1e-12


def test_the_same_rows_grow_the_same_tree():
    one, other = (
        CurvedNeighbors(metric=MIXED, algorithm="vantage").fit(X)._searcher.engine.tree
        for _ in range(2)
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_jobs", [None, 3])
def test_answers_depend_neither_on_threads_nor_on_the_order_of_rows(n_jobs, small_leaves):
    order = RNG.permutation(len(X))
    plain = CurvedNeighbors(6, metric=MIXED, algorithm="brute").fit(X).kneighbors(Q)
    search = CurvedNeighbors(6, metric=MIXED, algorithm="vantage", n_jobs=n_jobs).fit(X[order])
    distances, rows = search.kneighbors(Q)
    np.testing.assert_array_equal(distances, plain[0])
    np.testing.assert_array_equal(order[rows], plain[1])
    whole = CurvedNeighbors(metric=MIXED, algorithm="brute").fit(X[order])
    for radius in (0.0, 0.1):
        found, expected = (one.radius_neighbors(X[:30], radius) for one in (search, whole))
        for a, b in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0, "mixed"])
def test_a_tree_spares_most_distances(K):
    metric = MIXED if K == "mixed" else CurvedMetric.euclidean(2, curvature=K)
    search = CurvedNeighbors(5, metric=metric, algorithm="vantage").fit(X)
    engine = search._searcher.engine
    for ask in (
        lambda: search.kneighbors(Q),
        lambda: search.radius_neighbors(Q, 0.02),
        lambda: search.radius_neighbors([[50.0, 50.0]] * 30, 0.02) if K in (0.0, 1.0) else None,
    ):
        engine.measured = 0
        ask()
        assert engine.measured < 0.03 * len(Q) * len(X)
    engine.measured = 0
    search.radius_neighbors(Q, np.inf)
    assert engine.measured == len(Q) * (len(X) + len(engine.tree.vantage))  # nothing is left out


def test_candidates_are_the_nearest_and_the_floor_is_theirs():
    """Otherwise the answers would still be right, since all rows would be measured."""
    search = CurvedNeighbors(metric=MIXED, algorithm="vantage").fit(X)
    index = search._searcher
    found, floor = index.engine.candidates(index.space.place(Q), 9, 5, None)
    plain = MIXED.distance(Q[:, None], X)
    np.testing.assert_array_equal(np.sort(found), np.sort(np.argsort(plain, axis=1)[:, :9]))
    np.testing.assert_allclose(floor, np.sort(plain, axis=1)[:, 8], rtol=1e-7)
    assert (floor <= np.sort(plain, axis=1)[:, 8]).all()


def test_squares_that_overflow_are_left_to_brute_force():
    search = CurvedNeighbors(2, algorithm="vantage").fit(1e200 * X[:100])
    assert search._searcher.engine.measured == 0
    found = search.kneighbors(1e200 * Q)
    np.testing.assert_array_equal(found[1], CurvedNeighbors(2).fit(X[:100]).kneighbors(Q)[1])
    search = CurvedNeighbors(2, algorithm="vantage").fit(X[:100])
    expected = CurvedNeighbors(2, algorithm="brute").fit(X[:100])
    far = [[1e200, 3.0], [0.1, 0.2]]
    np.testing.assert_array_equal(search.kneighbors(far)[1], expected.kneighbors(far)[1])
    counts = [[len(rows) for rows in s.radius_neighbors(far, 1.0)[1]] for s in (search, expected)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("n", [1, 5, 60])
def test_the_compiled_loop_stays_inside_its_arrays(n, small_leaves):
    """Python looks at every index, compiled code at none."""
    search = CurvedNeighbors(1, metric=MIXED, algorithm="vantage").fit(X[:n])
    search.kneighbors(Q)  # compiles
    engine = search._searcher.engine
    asked, tree = engine._points(search._searcher.space.place(Q[:5])), engine.tree
    rest = tree.near, tree.far, tree.low, tree.high
    for k, radius in ((1, np.inf), (n, np.inf), (0, 0.3), (0, np.inf)):
        arguments = asked, engine.points, engine.terms, engine.vantage, *rest, k, radius
        found = _kernels.search_tree.py_func(*arguments)
        for a, b in zip(found, _kernels.search_tree(*arguments), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
