"""The search of Dask collections gives what the search in memory does, to the bit."""

import pickle
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from tests.neighbors.rows import make

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
    CurvedNeighbors,
    ProductMetric,
)
from cayleyklein._distributed import futures_in
from cayleyklein.exceptions import ClusterError, InvalidInputError, OutsideDomainError
from cayleyklein.geometry import Ellipsoid, hilbert_distance
from cayleyklein.neighbors import dask_shards as shards
from cayleyklein.neighbors.search import Ranked, merge


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(shards, "LEAST_ROWS", 8)


def problem(family, curvature, seed=0, n=150, equal=True):
    """A metric, its rows with some of them equal, and queries half of which may be outside."""
    rng = np.random.default_rng(seed)
    metric, X = make(rng, family, 3, curvature, "random", n)
    if equal:
        X[20:60:3] = X[100:140:3]  # equally near, and far apart in the order
    Q = X[:: n // 25] + rng.normal(scale=0.05, size=X[:: n // 25].shape)
    Q[::2] = X.mean(axis=0) + 3 * (Q[::2] - X.mean(axis=0))
    return metric, X, np.vstack([Q, X[20:25]])


def assert_same(found, expected):
    distances, rows = dask.compute(*found)
    assert isinstance(rows, np.ndarray)
    np.testing.assert_array_equal(rows, expected[1])
    np.testing.assert_array_equal(distances, expected[0])


CASES = [("curved", -1.0), ("curved", 0.0), ("curved", 1.0), ("low rank", -1.0), ("mixed", -1.0)]


@pytest.mark.parametrize(("family", "curvature"), CASES)
@pytest.mark.parametrize("algorithm", ["brute", "tree", "vantage"])
def test_threads_of_this_process_give_the_same(family, curvature, algorithm):
    metric, X, Q = problem(family, curvature)
    inside = CurvedNeighbors(metric=metric, algorithm=algorithm).fit(X)
    expected = inside.kneighbors(Q)
    assert curvature >= 0 or np.isinf(expected[0]).any()
    lazy_Q = da.from_array(Q, chunks=(12, 2))
    for chunks in ((40, 3), (151, 1)):
        spread = CurvedNeighbors(metric=metric, algorithm=algorithm).fit(
            da.from_array(X, chunks=chunks)
        )
        assert spread.n_samples_fit_ == len(X)
        assert_same(spread.kneighbors(Q), expected)
        assert_same(spread.kneighbors(lazy_Q), expected)
        assert_same(spread.kneighbors(), inside.kneighbors())
    assert_same(inside.kneighbors(lazy_Q), expected)


@pytest.mark.parametrize("algorithm", ["brute", "vantage", "auto"])
def test_functions_are_searched_in_shards(algorithm):
    _, X, Q = problem("curved", 0.0)

    def city_block(p, q):
        return np.abs(p - q).sum()

    inside = CurvedNeighbors(metric=city_block, algorithm="brute").fit(X)
    spread = CurvedNeighbors(metric=city_block, algorithm=algorithm).fit(
        da.from_array(X, chunks=(80, 3))
    )
    assert spread.algorithm_used_ == {"auto": "brute"}.get(algorithm, algorithm)
    assert_same(spread.kneighbors(Q), inside.kneighbors(Q))
    assert_same(spread.kneighbors(da.from_array(Q, chunks=(12, 3))), inside.kneighbors(Q))
    assert_same(spread.kneighbors(), inside.kneighbors())
    assert_same(inside.kneighbors(da.from_array(Q, chunks=(12, 3))), inside.kneighbors(Q))


def test_rows_that_break_a_function_are_named_in_shards():
    def breaks(p, q):
        return -1.0 if 7.0 in (p[0], q[0]) else np.abs(p - q).sum()

    X = np.arange(60.0)[:, None]
    with pytest.raises(InvalidInputError, match=r"gives -1.0 for row 0 of X and fitted row 7;"):
        CurvedNeighbors(metric=breaks).fit(da.from_array(X, chunks=(20, 1)))
    X[:20] += 100
    X[25] = 7.0
    with pytest.raises(InvalidInputError, match=r"gives -1.0 for row \d+ of X and fitted row 25;"):
        CurvedNeighbors(metric=breaks).fit(da.from_array(X, chunks=(20, 1)))


def test_cluster_gives_the_same(client):
    metric, X, Q = problem("curved", -1.0)
    inside = CurvedNeighbors(metric=metric).fit(X)
    spread = CurvedNeighbors(metric=metric).fit(da.from_array(X, chunks=(40, 3)))
    expected = inside.kneighbors(Q)
    lazy_Q = da.from_array(Q, chunks=(12, 3))
    assert_same(spread.kneighbors(Q), expected)
    assert_same(spread.kneighbors(lazy_Q), expected)
    assert_same(inside.kneighbors(lazy_Q), expected)
    assert_same(spread.kneighbors(), inside.kneighbors())
    squares = partial(hilbert_distance, Ellipsoid(metric.center, metric.matrix, 1.0))
    outside = ~metric.contains(Q)
    by_function = CurvedNeighbors(metric=squares).fit(da.from_array(X, chunks=(40, 3)))
    _, rows = dask.compute(*by_function.kneighbors(Q[~outside]))
    np.testing.assert_array_equal(rows[:, 0], expected[1][~outside, 0])
    only_rows = spread.kneighbors(lazy_Q, 2, return_distance=False)
    np.testing.assert_array_equal(only_rows.compute(), expected[1][:, :2])


def test_rows_that_left_the_cluster_are_missed(client):
    _, X, Q = problem("curved", 0.0)
    search = CurvedNeighbors().fit(da.from_array(X, chunks=(40, 3)))
    client.cancel(futures_in(search._searcher.indexes))  # as a restart does
    for queries in (Q, da.from_array(Q)):
        with pytest.raises(ClusterError, match="fit again"):
            search.kneighbors(queries)


def test_more_neighbours_than_a_shard_has():
    _, X, Q = problem("curved", 0.0)
    spread = CurvedNeighbors(n_neighbors=149).fit(da.from_array(X, chunks=(10, 3)))
    inside = CurvedNeighbors(n_neighbors=149).fit(X)
    assert_same(spread.kneighbors(Q), inside.kneighbors(Q))
    assert_same(spread.kneighbors(), inside.kneighbors())
    with pytest.raises(InvalidInputError, match="n_neighbors <= 149"):
        spread.kneighbors(n_neighbors=150)


def test_answers_are_lazy_and_keep_the_chunks():
    _, X, Q = problem("curved", 0.0)
    spread = CurvedNeighbors().fit(da.from_array(X, chunks=(40, 3)))
    lazy_Q = da.from_array(Q, chunks=(12, 3))
    distances, rows = spread.kneighbors(lazy_Q)
    assert distances.chunks == rows.chunks == (lazy_Q.chunks[0], (5,))
    assert (distances.dtype, rows.dtype) == (np.float64, np.intp)
    assert spread.kneighbors()[0].shape == (150, 5)


def test_dataframes_keep_their_names_and_their_unknown_lengths():
    metric, X, Q = problem("curved", 1.0)
    names = ["a", "b", "c"]
    frame = dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=4)
    frame = frame[frame["a"] > -np.inf]  # lengths are no longer known
    queries = dd.from_pandas(pd.DataFrame(Q, columns=names, dtype=np.float64), npartitions=3)
    spread = CurvedNeighbors(metric=metric).fit(frame)
    assert spread.feature_names_in_.tolist() == names
    expected = CurvedNeighbors(metric=metric).fit(X).kneighbors(Q)
    assert_same(spread.kneighbors(queries), expected)
    assert_same(spread.kneighbors(queries.compute()), expected)
    with pytest.raises(ValueError, match="feature names"):
        spread.kneighbors(queries[["b", "a", "c"]])
    with pytest.raises(ValueError, match="2 features"):
        CurvedNeighbors(metric=metric).fit(da.from_array(X)).kneighbors(da.ones((4, 2)))


def test_empty_partitions_are_no_rows():
    _, X, Q = problem("curved", 0.0)
    names = ["a", "b", "c"]
    X[:, 0], Q[:, 0] = np.arange(len(X)), np.arange(len(Q))  # so that a filter empties partitions
    table, queries = (
        dd.from_pandas(pd.DataFrame(rows, columns=names), npartitions=5) for rows in (X, Q)
    )
    inside = CurvedNeighbors().fit(np.vstack([X[:30], X[90:]]))
    spread = CurvedNeighbors().fit(table[(table["a"] < 30) | (table["a"] >= 90)])
    assert_same(spread.kneighbors(queries[queries["a"] >= 15]), inside.kneighbors(Q[15:]))
    with pytest.raises(InvalidInputError, match="no rows"):
        CurvedNeighbors().fit(table[table["a"] < 0])


def test_classifier(client):
    metric, X, Q = problem("curved", -1.0, equal=False)
    y = np.array(["x", "y", "z"])[np.arange(len(X)) * 7 % 3]
    lazy_X, lazy_Q = da.from_array(X, chunks=(40, 2)), da.from_array(Q, chunks=(12, 3))
    targets = [y, da.from_array(y, chunks=33), dd.from_pandas(pd.Series(y), npartitions=2)]
    for target, weights in zip(
        targets, ("uniform", "linear", lambda d: 1 / (1 + np.minimum(d, 9))), strict=True
    ):
        inside = CurvedKNeighborsClassifier(metric=metric, weights=weights).fit(X, y)
        spread = CurvedKNeighborsClassifier(metric=metric, weights=weights).fit(lazy_X, target)
        assert spread.classes_.tolist() == ["x", "y", "z"]
        shares, predicted = inside.predict_proba(Q), inside.predict(Q)
        np.testing.assert_array_equal(spread.predict_proba(lazy_Q).compute(), shares)
        np.testing.assert_array_equal(spread.predict(Q), predicted)
        np.testing.assert_array_equal(inside.predict(lazy_Q).compute(), predicted)
        assert spread.predict(lazy_Q).chunks == (lazy_Q.chunks[0],)
    assert spread.score(lazy_X, target) == inside.score(X, y)
    assert spread.score(None, y) == inside.score(None, y)
    np.testing.assert_array_equal(spread.strangeness(Q), inside.strangeness(Q))


def test_classifier_takes_a_fitted_learner():
    metric, X, Q = problem("curved", -1.0, equal=False)
    y = np.arange(len(X)) % 2

    class Learner(CurvedNeighbors):
        metric_ = metric

    learner = FrozenEstimator(Learner())
    spread = CurvedKNeighborsClassifier(learner=learner).fit(da.from_array(X, chunks=40), y)
    inside = CurvedKNeighborsClassifier(metric=metric).fit(X, da.from_array(y))
    np.testing.assert_array_equal(spread.predict(Q), inside.predict(Q))


@pytest.mark.parametrize("outputs", [(), (1,), (2,)])
def test_regressor(outputs):
    metric, X, Q = problem("curved", 1.0, equal=False)
    y = np.random.default_rng(0).normal(size=(len(X), *outputs))
    inside = CurvedKNeighborsRegressor(metric=metric, weights="distance").fit(X, y)
    lazy_Q = da.from_array(Q, chunks=(12, 3))
    for target in (y, da.from_array(y, chunks=33)):
        spread = CurvedKNeighborsRegressor(metric=metric, weights="distance")
        spread.fit(da.from_array(X, chunks=(40, 3)), target)
        assert spread.predict(lazy_Q).shape == (len(Q), *outputs)
        np.testing.assert_allclose(spread.predict(lazy_Q).compute(), inside.predict(Q), rtol=1e-14)
    assert spread.score(lazy_Q, Q[:, : outputs[0]] if outputs else Q[:, 0]) < 1


def test_errors_name_rows_of_the_whole():
    metric, X, _ = problem("curved", -1.0)
    X[77, 1] = np.nan
    with pytest.raises(
        InvalidInputError, match=r"X has NaN or infinite entries at index \(77, 1\)"
    ):
        CurvedNeighbors(metric=metric).fit(da.from_array(X, chunks=(20, 3)))
    X[77] = 1e3
    with pytest.raises(OutsideDomainError, match=r"1 row.*77"):
        CurvedNeighbors(metric=metric).fit(da.from_array(X, chunks=(20, 3)))
    X[77] = X[0]
    strict = CurvedNeighbors(metric=metric, outside="raise").fit(da.from_array(X, chunks=(20, 3)))
    queries = X[:50].copy()
    queries[41] = 1e3
    with pytest.raises(OutsideDomainError, match="41"):
        strict.kneighbors(queries)
    with pytest.raises(OutsideDomainError, match="41"):
        strict.kneighbors(da.from_array(queries, chunks=(20, 3)))[0].compute()
    frame = dd.from_pandas(pd.DataFrame(queries), npartitions=1)
    with pytest.raises(OutsideDomainError, match=r"A block of X.*41"):
        strict.kneighbors(frame)[0].compute()
    y = np.arange(150.0) % 2
    y[99] = np.nan
    with pytest.raises(InvalidInputError, match="y has NaN or infinite entries at index 99"):
        CurvedKNeighborsClassifier(metric=metric).fit(da.from_array(X, chunks=(20, 3)), y)
    with pytest.raises(InvalidInputError, match="150 rows, but y has 149"):
        CurvedKNeighborsClassifier(metric=metric).fit(da.from_array(X, chunks=(20, 3)), y[1:])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (da.ones(5), "2 axes"),
        (dask.delayed(np.ones)((5, 2)), "pass a Dask array or a Dask dataframe"),
        (da.ones((5, 2), dtype=complex), "real numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message):
    with pytest.raises(InvalidInputError, match=message):
        CurvedNeighbors().fit(X)


def test_what_needs_rows_in_memory_says_so():
    metric, X, Q = problem("curved", -1.0)
    y = np.arange(len(X)) % 2
    lazy_X = da.from_array(X, chunks=(40, 3))
    spread = CurvedKNeighborsClassifier(metric=metric).fit(lazy_X, y)
    inside = CurvedKNeighborsClassifier(metric=metric).fit(X, y)
    for act in (
        lambda: spread.radius_neighbors(Q),
        lambda: spread.kneighbors_graph(Q),
        lambda: spread.partial_fit(X, y),
        lambda: inside.partial_fit(lazy_X, y),
        lambda: inside.radius_neighbors(lazy_X),
        lambda: inside.kneighbors_graph(lazy_X),
        lambda: MMC().fit(lazy_X, y),
        lambda: spread.predict(np.where(Q > 0, np.nan, Q)),
        lambda: pickle.dumps(spread),
    ):
        with pytest.raises(InvalidInputError, match=r"Dask|memory"):
            act()
    assert spread.fit(X, y).radius_neighbors(Q)[0].shape == (len(Q),)


def test_merge_breaks_ties_by_row_and_puts_gaps_last():
    rng = np.random.default_rng(0)
    values = np.sort(rng.integers(0, 4, size=(6, 30)).astype(float), axis=1)
    rows = np.argsort(rng.uniform(size=(6, 30)), axis=1)
    inside = np.ones(6, dtype=bool)
    values[:, -2:], rows[:, -2:] = np.inf, -1
    parts = [Ranked(values[:, s], rows[:, s], inside) for s in np.array_split(np.arange(30), 4)]
    found = merge([merge(parts[:2], 9), merge(parts[2:], 9)], 9)
    order = np.lexsort((rows, values))[:, :9]
    np.testing.assert_array_equal(found.rows, np.take_along_axis(rows, order, axis=1))
    assert (merge(parts, 30).rows[:, -2:] == -1).all()


def test_equal_distances_at_infinity_still_have_an_order():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    X = np.random.default_rng(1).uniform(-0.6, 0.6, size=(64, 2))
    Q = np.array([[2.0, 1.0], [-3.0, 0.5]])
    distances, rows = (
        CurvedNeighbors(metric=disc).fit(da.from_array(X, chunks=(16, 2))).kneighbors(Q)
    )
    assert np.isinf(distances).all()
    np.testing.assert_array_equal(rows, CurvedNeighbors(metric=disc).fit(X).kneighbors(Q)[1])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "tree"])
def test_a_product_gives_the_same(algorithm):
    sphere, X, Q = problem("curved", 1.0)
    metric = ProductMetric([sphere, CurvedMetric.euclidean(3)], [0.3, 1.0])
    expected = CurvedNeighbors(metric=metric, algorithm=algorithm).fit(X).kneighbors(Q)
    spread = CurvedNeighbors(metric=metric, algorithm=algorithm).fit(da.from_array(X, (40, 3)))
    distances, rows = dask.compute(*spread.kneighbors(da.from_array(Q, (12, 3))))
    np.testing.assert_array_equal(X[rows], X[expected[1]])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-9, atol=1e-12)


def test_the_index_and_the_labels_are_sent_once(client, monkeypatch):
    metric, X, Q = problem("curved", 1.0, equal=False)
    model = CurvedKNeighborsClassifier(3, metric=metric).fit(X, np.arange(len(X)) % 2)
    sent = []
    persist = shards.persist
    monkeypatch.setattr(
        shards, "persist", lambda *tasks, doing: sent.append(doing) or persist(*tasks, doing=doing)
    )
    lazy = da.from_array(Q, chunks=(12, 3))
    for _ in range(3):
        found = model.predict_proba(lazy).compute()
    np.testing.assert_array_equal(found, model.predict_proba(Q))
    assert sorted(sent) == [
        "sending the fitted rows to the workers", "sending the targets to the workers"
    ]  # fmt: skip
