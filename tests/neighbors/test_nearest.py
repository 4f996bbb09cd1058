"""What a search promises besides its neighbours."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from tests.neighbors.rows import ALGORITHMS, make

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import proximity_planes
from cayleyklein.neighbors import CurvedNeighbors

RNG = np.random.default_rng(3)
METRICS = {
    "flat": CurvedMetric.euclidean(3),
    "elliptic": CurvedMetric.euclidean(3, curvature=1.0),
    "hyperbolic": CurvedMetric.euclidean(3, curvature=-1.0),
    "mixed": MixedMetric([CurvedMetric.euclidean(3, curvature=K) for K in (1.0, -1.0)]),
    "product": ProductMetric([CurvedMetric.euclidean(3, curvature=K) for K in (1.0, 0.0)]),
}
X = RNG.uniform(-0.5, 0.5, size=(300, 3))
Q = RNG.uniform(-0.5, 0.5, size=(40, 3))
CASES = [(name, how) for name, metric in METRICS.items() for how in ALGORITHMS]


def same(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


# -- scikit-learn's conventions -------------------------------------------------------


def test_flat_is_scikit_learns():
    ours, theirs = CurvedNeighbors().fit(X), NearestNeighbors().fit(X)
    for rows in (Q, None):
        found, expected = ours.kneighbors(rows), theirs.kneighbors(rows)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_array_equal(found[1], expected[1])
        for mode in ("connectivity", "distance"):
            graph = ours.kneighbors_graph(rows, mode=mode) - theirs.kneighbors_graph(
                rows, mode=mode
            )
            assert abs(graph).max() < 1e-12
            ball = ours.radius_neighbors_graph(rows, 0.2, mode=mode)
            assert abs(ball - theirs.radius_neighbors_graph(rows, 0.2, mode=mode)).max() < 1e-12
        found = ours.radius_neighbors(rows, 0.2, sort_results=True)
        expected = theirs.radius_neighbors(rows, 0.2, sort_results=True)
        for a, b in zip(found[1], expected[1], strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_alone():
    search = CurvedNeighbors(metric=METRICS["mixed"]).fit(X)
    np.testing.assert_array_equal(
        search.kneighbors(Q, return_distance=False), search.kneighbors(Q)[1]
    )
    alone = search.radius_neighbors(Q, 0.1, return_distance=False)
    assert [len(row) for row in alone] == [len(row) for row in search.radius_neighbors(Q, 0.1)[1]]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_every_row_may_be_asked_for(name, how):
    search = CurvedNeighbors(metric=METRICS[name], algorithm=how).fit(X[:30])
    assert search.algorithm_used_ == how
    assert (np.sort(search.kneighbors(Q, 30)[1], axis=1) == np.arange(30)).all()
    assert search.kneighbors(n_neighbors=29)[1].shape == (30, 29)
    with pytest.raises(InvalidInputError, match="n_neighbors = 31, n_samples_fit = 30"):
        search.kneighbors(Q, 31)
    with pytest.raises(InvalidInputError, match="other than the query itself"):
        search.kneighbors(n_neighbors=30)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_pickles_and_threads(name, how):
    search = CurvedNeighbors(metric=METRICS[name], algorithm=how).fit(X)
    expected = search.kneighbors(Q)
    same(pickle.loads(pickle.dumps(search)).kneighbors(Q), expected)
    same(search.set_params(n_jobs=3).kneighbors(Q), expected)
    same(search.fit(X).kneighbors(Q), expected)
    ragged = search.radius_neighbors(Q, 0.2)[1]
    for a, b in zip(search.set_params(n_jobs=1).radius_neighbors(Q, 0.2)[1], ragged, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_partial_fit_is_fit(name, how):
    whole = CurvedNeighbors(metric=METRICS[name], algorithm=how).fit(X)
    parts = CurvedNeighbors(metric=METRICS[name], algorithm=how)
    for start in range(0, len(X), 100):
        parts.partial_fit(X[start : start + 100])
    assert parts.n_samples_fit_ == len(X)
    same(parts.kneighbors(Q), whole.kneighbors(Q))
    same(parts.kneighbors(), whole.kneighbors())


def test_partial_fit_far_from_the_first_rows():
    """Rows are seen from one of the first; later ones may lie anywhere."""
    far = 1e4 + X
    search = CurvedNeighbors(metric=METRICS["flat"], algorithm="brute").fit(X).partial_fit(far)
    expected = CurvedNeighbors(metric=METRICS["flat"], algorithm="brute").fit(
        np.concatenate([X, far])
    )
    same(search.kneighbors(far[:20]), expected.kneighbors(far[:20]))


def test_many_chunks_and_blocks(monkeypatch):
    expected = {name: CurvedNeighbors(metric=m).fit(X).kneighbors() for name, m in METRICS.items()}
    for constant, size in (("CHUNK", 70), ("BLOCK_ROWS", 32), ("BLOCK_COLUMNS", 64)):
        monkeypatch.setattr(f"cayleyklein.neighbors.search.{constant}", size)
    monkeypatch.setattr("cayleyklein.neighbors.space.PLACED_ROWS", 64)
    for name, metric in METRICS.items():
        same(CurvedNeighbors(metric=metric).fit(X).kneighbors(), expected[name])


@pytest.mark.parametrize(("name", "how"), CASES)
def test_an_infinite_radius_holds_every_row(name, how):
    search = CurvedNeighbors(metric=METRICS[name], algorithm=how, radius=np.inf).fit(X)
    distances, rows = search.radius_neighbors(Q[:3])
    assert all((row == np.arange(len(X))).all() for row in rows)
    np.testing.assert_allclose(np.stack(distances), METRICS[name].pairwise(Q[:3], X), rtol=1e-9)


FORKED = """
import multiprocessing, sys
import numpy as np
from cayleyklein import CurvedMetric
from cayleyklein.neighbors import CurvedNeighbors

X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(4000, 3))
searches = [
    CurvedNeighbors(metric=CurvedMetric.euclidean(3, curvature=-1.0), algorithm=how).fit(X)
    for how in ("brute", "tree")
]

def rows():
    return [search.kneighbors(X, return_distance=False) for search in searches]

expected = rows()
with multiprocessing.get_context("fork").Pool(1) as pool:
    found = pool.apply_async(rows).get(timeout=60)
sys.exit(not all((a == b).all() for a, b in zip(expected, found)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_searches_survive_a_fork():
    """OpenMP's threads do not, and a forked process would wait for them for ever."""
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120, env=environment)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": "kd"}, "'algorithm' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"algorithm": 3}, "'algorithm' parameter"),
        ({"radius": -1.0}, "'radius' parameter"),
        ({"radius": np.nan}, "'radius' parameter"),
        ({"outside": "inf"}, "'outside' parameter"),
        ({"metric": "euclidean"}, "metric must be a CurvedMetric"),
        ({"metric": CurvedMetric.euclidean(2)}, "X has 3 columns, but the metric is for 2"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        CurvedNeighbors(**parameters).fit(X)


# -- outside the domain ---------------------------------------------------------------


@pytest.mark.parametrize("how", ALGORITHMS)
def test_queries_outside_are_ranked_by_the_affine_function(how):
    rng = np.random.default_rng(0)
    metric, rows = make(rng, "curved", 3, -2.0, "random", n=300)
    outside = metric.center + rng.uniform(1.1, 30, (20, 1)) * (rows[:20] - metric.center)
    outside = outside[~metric.contains(outside)]
    distances, found = (
        CurvedNeighbors(6, metric=metric, algorithm=how).fit(rows).kneighbors(outside)
    )
    planes = proximity_planes(rows, metric)
    expected = np.argsort(-(outside @ planes.normal.T + planes.offset), axis=1)[:, :6]
    np.testing.assert_array_equal(found, expected)
    assert np.isinf(distances).all()


def test_ranking_is_continuous_across_the_boundary():
    disc = METRICS["hyperbolic"]
    search = CurvedNeighbors(10, metric=disc).fit(X)
    direction = Q / np.linalg.norm(Q, axis=1, keepdims=True)
    inside, outside = (
        search.kneighbors((1 - 1e-9) * direction),
        search.kneighbors((1 + 1e-9) * direction),
    )
    np.testing.assert_array_equal(inside[1], outside[1])
    assert np.isfinite(inside[0]).all()
    assert np.isinf(outside[0]).all()


@pytest.mark.parametrize("how", ALGORITHMS)
def test_mixed_queries_outside_are_projected(how):
    metric = METRICS["mixed"]
    outside = 2 * Q / np.linalg.norm(Q, axis=1, keepdims=True)
    distances, rows = CurvedNeighbors(4, metric=metric, algorithm=how).fit(X).kneighbors(outside)
    elliptic, hyperbolic = metric.metrics
    pulled = outside / 2 * (1 - 1e-4)
    plain = elliptic.pairwise(outside, X) + hyperbolic.pairwise(pulled, X)
    np.testing.assert_array_equal(rows, np.argsort(plain, axis=1)[:, :4])
    assert np.isinf(distances).all()


@pytest.mark.parametrize("name", ["hyperbolic", "mixed"])
def test_a_ball_around_a_query_outside_is_empty(name):
    for how in ALGORITHMS:
        search = CurvedNeighbors(metric=METRICS[name], algorithm=how).fit(X)
        counts = [len(row) for row in search.radius_neighbors([[2.0, 0, 0], [0, 0, 0]], 50.0)[1]]
        assert counts == [0, len(X)]


@pytest.mark.parametrize("name", ["hyperbolic", "mixed"])
def test_rows_outside_are_named(name):
    metric = METRICS[name]
    bad = X.copy()
    bad[[7, 9]] = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    with pytest.raises(OutsideDomainError, match=r"X has 2 row\(s\) .*: 7, 9"):
        CurvedNeighbors(metric=metric).fit(bad)
    strict = CurvedNeighbors(metric=metric, outside="raise").fit(X)
    with pytest.raises(OutsideDomainError, match=r"7, 9; .*extend"):
        strict.kneighbors(bad)
    same(strict.kneighbors(Q), CurvedNeighbors(metric=metric).fit(X).kneighbors(Q))


# -- which algorithm ------------------------------------------------------------------


def test_auto_probes():
    rng = np.random.default_rng(0)
    plane, wide = rng.uniform(-0.3, 0.3, (3000, 2)), rng.normal(size=(3000, 24)) / 24
    for rows, expected in ((plane, "tree"), (wide, "brute")):
        curved = {K: CurvedMetric.euclidean(rows.shape[1], curvature=K) for K in (-1.0, 0.0, 1.0)}
        for metric in (*curved.values(), MixedMetric([curved[1.0], curved[-1.0]])):
            chosen = CurvedNeighbors(metric=metric).fit(rows).algorithm_used_
            is_sum = isinstance(metric, MixedMetric)
            assert chosen == ("vantage" if is_sum and expected == "tree" else expected)
    for d, expected in ((2, "vantage"), (5, "brute")):  # far out, where the k-d tree is lost
        rows = rng.normal(size=(3000, d))
        rows *= np.tanh(rng.uniform(0, 5, (3000, 1))) / np.linalg.norm(rows, axis=1, keepdims=True)
        ball = CurvedMetric.euclidean(d, curvature=-1.0)
        assert CurvedNeighbors(metric=ball).fit(rows).algorithm_used_ == expected
    assert CurvedNeighbors(metric=curved[1.0]).fit(wide[:50]).algorithm_used_ == "brute"
