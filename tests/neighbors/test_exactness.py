"""Every exact algorithm returns the neighbours that the plain float64 distances have."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from tests import oracle
from tests.neighbors.rows import (
    ALGORITHMS,
    KINDS,
    curvatures,
    dimensions,
    families,
    kinds,
    make,
    round_rows,
)
from tests.strategies import random_metric, seeds

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors import CurvedNeighbors, bounds, vantage
from cayleyklein.neighbors import search as search_module
from cayleyklein.neighbors.space import ChordSpace

DISC = CurvedMetric.euclidean(3, curvature=-1.0)


def rounding(metric, plain):
    """Where a factor of low rank cancels a difference, what is left of it is rounding."""
    cancels = isinstance(metric, CurvedMetric) and len(metric.factor) < metric.dimension
    return {"rtol": 1e-11, "atol": 1e-13 * plain.max() if cancels else 1e-300}


def assert_nearest(metric, X, Q, distances, rows, own=False):
    """The k nearest, in order, equal ones by row; what rounding leaves open is open."""
    plain = metric.distance(Q[:, None], X)
    open_ = rounding(metric, plain)
    if own:
        np.fill_diagonal(plain, np.inf)
    k = rows.shape[1]
    expected = np.sort(plain, axis=1)[:, :k]
    chosen = np.take_along_axis(plain, rows, axis=1)
    np.testing.assert_allclose(chosen, expected, **open_)
    np.testing.assert_allclose(distances, expected, **open_)
    assert all(len(set(row)) == k for row in rows.tolist())
    assert (np.diff(distances, axis=1) >= 0).all()
    tied = np.diff(distances, axis=1) == 0
    assert (np.diff(rows, axis=1)[tied] > 0).all()


@given(seeds, families, dimensions, curvatures, kinds)
def test_algorithms_agree_with_the_plain_distances(seed, family, d, K, kind):
    rng = np.random.default_rng(seed)
    metric, X = make(rng, family, d, K, kind)
    Q = np.concatenate([X[:10] + 1e-4 * (X[10:20] - X[:10]), X[20:25]])
    k = int(rng.integers(1, 20))
    answers = {}
    with pytest.MonkeyPatch.context() as patch:  # vantage point trees of several levels
        patch.setattr(vantage, "LEAF", int(rng.integers(2, 33)))
        for algorithm in ALGORITHMS:
            search = CurvedNeighbors(k, metric=metric, algorithm=algorithm).fit(X)
            answers[algorithm] = search.kneighbors(Q)
            assert_nearest(metric, X, Q, *answers[algorithm])
            assert_nearest(metric, X, X, *search.kneighbors(), own=True)
    with pytest.MonkeyPatch.context() as patch:  # from bounds in single precision, in small blocks
        patch.setattr(bounds, "MANY_PAIRS", 1)
        patch.setattr(search_module, "BLOCK_COLUMNS", int(rng.integers(15, 120)))
        patch.setattr(search_module, "GROUP", int(rng.integers(1, 5)))
        patch.setattr(search_module, "CROWD", int(rng.integers(1, 9)))
        search = CurvedNeighbors(k, metric=metric, algorithm="brute").fit(X)
        answers["single"] = search.kneighbors(Q)
        assert_nearest(metric, X, X, *search.kneighbors(), own=True)
    for distances, rows in answers.values():  # one kernel measures: the same to the last bit
        np.testing.assert_array_equal(rows, answers["brute"][1])
        np.testing.assert_array_equal(distances, answers["brute"][0])


@given(seeds, families, dimensions, curvatures, kinds)
def test_measured_rows_have_the_plain_distances(seed, family, d, K, kind):
    rng = np.random.default_rng(seed)
    metric, X = make(rng, family, d, abs(K), kind)
    Q = np.concatenate([X[:10] + 1e-4 * (X[10:20] - X[:10]), X[20:25]])
    index = search_module.MeasuredRows(X, metric)
    k = int(rng.integers(1, 20))
    found = index.nearest(Q, k, None)
    assert_nearest(metric, X, Q, found.values, found.rows)
    found = index.nearest(X, k, None, own=0)
    assert_nearest(metric, X, X, found.values, found.rows, own=True)
    part = index.nearest(X[30:50], k, None, own=30)
    np.testing.assert_array_equal(part.rows, found.rows[30:50])
    assert index.nearest(Q, 1000, None).rows.shape == (len(Q), len(X))


@pytest.mark.parametrize("K", [-0.02, 0.0, 0.3, "product"])
def test_a_projection_loses_no_neighbour(K, monkeypatch):
    """Rows close to a plane are searched by their place along it."""
    for name, value in (("MANY_PAIRS", 1), ("MEASURED", 1), ("CROWDED", 20)):
        monkeypatch.setattr(bounds, name, value)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 20)) / 4 + 0.05 * rng.normal(size=(600, 20))
    metric = CurvedMetric.euclidean(20, curvature=0.3 if K == "product" else K)
    if K == "product":
        metric = ProductMetric([metric, CurvedMetric.euclidean(20)], [1.0, 2.0])
    search = CurvedNeighbors(9, metric=metric, algorithm="brute").fit(X)
    assert_nearest(metric, X, X, *search.kneighbors(), own=True)
    assert search._searcher._bounds.table.y.shape[1] < 10
    Q = np.concatenate([X[:50] + 1e-3, 3 * X[:9]]) if K != -0.02 else X[:50] + 1e-3
    assert_nearest(metric, X, Q, *search.kneighbors(Q))


@given(seeds, families, dimensions, curvatures, kinds)
def test_radius_neighbors(seed, family, d, K, kind):
    rng = np.random.default_rng(seed)
    metric, X = make(rng, family, d, K, kind)
    plain = metric.distance(X[:9, None], X)
    radius = float(np.quantile(plain, 0.2))
    doubtful = np.isclose(plain, radius, **rounding(metric, plain))
    first = None
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(vantage, "LEAF", 4)
    searches = [CurvedNeighbors(metric=metric, algorithm=how).fit(X) for how in ALGORITHMS]
    monkeypatch.undo()
    for search in searches:
        distances, rows = search.radius_neighbors(X[:9], radius)
        for i in range(9):
            found = np.zeros(len(X), dtype=bool)
            found[rows[i]] = True
            np.testing.assert_array_equal((found ^ (plain[i] <= radius)) & ~doubtful[i], False)
            expected = plain[i, rows[i]]
            np.testing.assert_allclose(distances[i], expected, **rounding(metric, plain))
            assert (np.diff(rows[i]) > 0).all()
        first = rows if first is None else first
        assert all((a == b).all() for a, b in zip(rows, first, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["curved", "mixed"])
def test_float32_rows_keep_their_neighbours(family, kind):
    """Whatever rows float32 input rounds to, their neighbours are the float64 ones."""
    rng = np.random.default_rng(5)
    metric, X = make(rng, family, 3, -1.0, kind)
    X = X.astype(np.float32)
    X = X[metric.contains(X)]
    for algorithm in ALGORITHMS:
        search = CurvedNeighbors(7, metric=metric, algorithm=algorithm).fit(X)
        distances, rows = search.kneighbors(X[:50])
        assert_nearest(metric, X.astype(float), X[:50].astype(float), distances, rows)


@pytest.mark.parametrize("algorithm", ["brute", "tree", "auto"])
def test_rows_at_hyperbolic_radius_12(algorithm):
    """In float32 most of these neighbours would be lost."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 3))
    X *= math.tanh(12.0) / np.linalg.norm(X, axis=1, keepdims=True)
    search = CurvedNeighbors(10, metric=DISC, algorithm=algorithm).fit(X)
    assert_nearest(DISC, X, X[:60], *search.kneighbors(X[:60]))


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_distances_in_fifty_digits(K):
    """Neighbours and distances are those of mpmath, near a boundary and for close rows too."""
    rng = np.random.default_rng(7)
    metric = random_metric(rng, 2, K)
    near = round_rows(rng, "boundary" if K < 0 else "random", 40, 2)
    X = metric.points(np.concatenate([near, near[:10] * (1 - 1e-7)]))
    form = {"curvature": K, "center": metric.center, "factor": metric.factor}
    true = np.array([[float(oracle.distance(x, y, **form)) for y in X] for x in X[:6]])
    for algorithm in ALGORITHMS:
        search = CurvedNeighbors(8, metric=metric, algorithm=algorithm).fit(X)
        distances, rows = search.kneighbors(X[:6])
        np.testing.assert_array_equal(rows, np.argsort(true, axis=1)[:, :8])
        np.testing.assert_allclose(distances, np.sort(true, axis=1)[:, :8], rtol=1e-7)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_hundreds_of_equal_rows(K):
    """All candidates tie, however many are asked for."""
    metric = CurvedMetric.euclidean(2, curvature=K)
    X = np.tile([[0.1, 0.2], [0.3, 0.1]], (150, 1))
    for algorithm in ALGORITHMS:
        search = CurvedNeighbors(4, metric=metric, algorithm=algorithm).fit(X)
        np.testing.assert_array_equal(search.kneighbors(X[:2])[1], [[0, 2, 4, 6], [1, 3, 5, 7]])
        np.testing.assert_array_equal(search.kneighbors()[1][:2], [[2, 4, 6, 8], [3, 5, 7, 9]])


@pytest.mark.parametrize("k", [1, 7, 60])
def test_a_query_in_a_crowd(k, monkeypatch):
    """Some queries have thousands of rows as near as their k-th, others few; squares are exact."""
    rng = np.random.default_rng(k)
    X = np.concatenate([np.round(30 * rng.normal(size=(1000, 3))), np.full((3000, 3), 200.0)])
    X = rng.permutation(X)
    Q = np.round(30 * rng.normal(size=(40, 3)))
    Q[[3, 30]] = [200.0, 200.0, 201.0], [200.0, 200.0, 200.0]
    plain = np.sqrt(((Q[:, None] - X) ** 2).sum(axis=2))
    nearest = np.argsort(plain, axis=1, kind="stable")[:, :k]
    for columns in (500, 16384):
        monkeypatch.setattr(search_module, "BLOCK_COLUMNS", columns)
        search = CurvedNeighbors(k, algorithm="brute").fit(X)
        distances, rows = search.kneighbors(Q)
        np.testing.assert_array_equal(rows, nearest)
        np.testing.assert_array_equal(distances, np.take_along_axis(plain, nearest, 1))


@pytest.mark.parametrize("k", [1, 7, 60])
def test_many_hits_of_one_query_widen_no_other(k):
    """Hits are merged as a sort by value and row does, in memory of the order of their number."""
    rng, m = np.random.default_rng(k), 128
    best = np.full((m, k), search_module.NO_ROW)
    row_sets = np.split(rng.permutation(60_000), [16_000, 20_000])
    seen = np.empty((3, 0))
    for rows in map(np.sort, row_sets):  # later hits have lower rows, too
        which = np.sort(
            np.where(rng.random(len(rows)) < 0.9, 5, rng.integers(m - 1, size=len(rows)))
        )
        values = rng.integers(5000, size=len(rows)) / 8
        tracemalloc.start()
        search_module.merge_hits(best, which, rows, values)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 * (10 * len(rows) + 5 * k * m)  # a common width takes ten times as much
        seen = np.hstack([seen, [which, values, rows]])
    for query in range(m):
        _, values, rows = seen[:, seen[0] == query]
        order = np.lexsort((rows, values))[:k]
        found = np.sort(best[query])[: len(order)]
        np.testing.assert_array_equal(found, values[order] + 1j * rows[order])
        assert best[query, -1] == np.sort(best[query])[-1]


@given(seeds, dimensions, curvatures)
def test_small_cluster_far_from_the_centre(seed, d, K):
    """Spread 1e-6 at 0.9 of the domain's radius: lifted from μ, all digits would be lost."""
    rng = np.random.default_rng(seed)
    metric = CurvedMetric.euclidean(d, curvature=K)
    center = 0.9 / math.sqrt(abs(K)) if K else 1e3
    X = center * np.eye(d)[0] + 1e-6 * round_rows(rng, "random", 200, d)
    for algorithm in ALGORITHMS:
        found = CurvedNeighbors(3, metric=metric, algorithm=algorithm).fit(X).kneighbors(X[:30])
        assert_nearest(metric, X, X[:30], *found)


def test_antipodal_rows():
    """The farthest rows of a hemisphere are nearly opposite, where a chord says little."""
    rng = np.random.default_rng(1)
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    X = rng.normal(size=(200, 2)) * 10.0 ** rng.uniform(-3, 9, size=(200, 1))
    for metric in (sphere, MixedMetric([sphere, CurvedMetric.euclidean(2, curvature=1e-20)])):
        for algorithm in ALGORITHMS:
            found = (
                CurvedNeighbors(190, metric=metric, algorithm=algorithm).fit(X).kneighbors(X[:40])
            )
            assert_nearest(metric, X, X[:40], *found)


TINY_SCALES = (1e-200, 1e-162, 1e-161, 1e-157, 1e-30)


@pytest.mark.parametrize(
    ("scale", "K"),
    [(scale, K) for scale in TINY_SCALES for K in (-1.0, -1e-9, 0.0, 1e-9, 1.0)]
    + [(scale, K) for scale in (1e30, 1e90) for K in (0.0, 1e-9, 1.0)]
    + [(1e154, 0.0), (1e200, 0.0)],
)
def test_squares_that_leave_the_range_of_floats(scale, K):
    """Also where they leave it but halfway, and keep a few of their digits."""
    rng = np.random.default_rng(2)
    metric = CurvedMetric.euclidean(2, curvature=K)
    X = scale * rng.normal(size=(200, 2))
    plain = metric.distance(X[:20, None], X)
    radius = float(np.median(plain))
    for algorithm in ALGORITHMS:
        search = CurvedNeighbors(5, metric=metric, algorithm=algorithm).fit(X)
        assert_nearest(metric, X, X[:20], *search.kneighbors(X[:20]))
        inside = [len(row) for row in search.radius_neighbors(X[:20], radius)[1]]
        np.testing.assert_allclose(inside, (plain <= radius).sum(axis=1), atol=1)


@pytest.mark.parametrize("K", [-1.0, 1.0])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_distances_do_not_depend_on_company(K, algorithm):
    """A matrix product rounds a row by its place in a block, and equal rows would not tie."""
    rng = np.random.default_rng(3)
    metric = CurvedMetric(factor=rng.normal(size=(17, 17)) / 4, curvature=K)
    X = round_rows(rng, "random", 60, 17) / 4
    whole = CurvedNeighbors(4, metric=metric, algorithm=algorithm).fit(np.repeat(X, 2, axis=0))
    parts = CurvedNeighbors(4, metric=metric, algorithm=algorithm).fit(X)
    for row in X:
        parts.partial_fit(row[None])
    Q = 0.9 * X
    distances, rows = whole.kneighbors(Q)
    np.testing.assert_array_equal(rows[:, 1::2], rows[:, ::2] + 1)
    found = parts.kneighbors(Q)
    np.testing.assert_array_equal(found[0], distances)
    np.testing.assert_array_equal(found[1] % 60, rows // 2)
    np.testing.assert_array_equal(found[1][:, 1::2], found[1][:, ::2] + 60)
    for i, query in enumerate(Q):
        np.testing.assert_array_equal(whole.kneighbors(query[None])[0][0], distances[i])


@pytest.mark.parametrize("K", [0.25, 1.0, 4.0])
def test_distances_of_nearly_opposite_rows_keep_their_digits(K):
    """Their chord hardly changes with the distance, near π/√K."""
    metric = CurvedMetric.euclidean(1, curvature=K)
    found = CurvedNeighbors(2, metric=metric).fit([[1e6], [0.5]]).kneighbors([[-1e6]])[0]
    root = np.sqrt(K)
    expected = [
        (np.arctan(1e6 * root) + np.arctan(0.5 * root)) / root,
        2 * np.arctan(1e6 * root) / root,
    ]
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)


@pytest.mark.parametrize("K", [-0.7, 0.0, 0.7])
def test_bounds_are_below_the_distances_and_close_to_them(K):
    rng = np.random.default_rng(0)
    metric, X = make(rng, "curved", 3, K, "random")
    space = ChordSpace(metric)
    rows = space.place(X)
    (ruler,) = bounds.ChordBounds(space, rows).rulers(rows)
    every = slice(0, len(X))
    D = metric.pairwise(X)
    values = ruler.values(every, every)
    for i, row in enumerate(D):
        limits = np.array([ruler.limit(slice(i, i + 1), np.array([d]))[0] for d in row])
        assert (values[i] <= limits).all()
        nearer = np.array([ruler.limit(slice(i, i + 1), np.array([0.999 * d]))[0] for d in row])
        far = row > 0.1 * np.median(D)
        assert (values[i] > nearer)[far].all()
