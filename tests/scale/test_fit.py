"""Learning from Dask collections: what is learned in memory, on two processes."""

import os
import signal
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cayleyklein.learning._data import Distinct
from distributed import Client
from tests.scale.test_faults import CLUSTER, wait_until

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein._distributed import compute, large_graphs, persist, task
from cayleyklein.exceptions import ClusterError, InvalidInputError
from cayleyklein.learning import _sharded


def problem(n=240, d=4, seed=0):
    """Return rows, many of them twice, in blocks far apart; the third class is in the last one."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, 3, size=n) + 4)
    X = rng.normal(size=(n, d)) + 0.7 * np.column_stack([y, y % 2, *[np.zeros(n)] * (d - 2)])
    weights = rng.uniform(0.5, 2, size=n)
    weights[::11] = 0
    again = np.flatnonzero(y < 6)[::5]
    return (
        np.concatenate([X[again], X]),
        np.concatenate([y[again], y]),
        np.concatenate([weights[again], weights]),
    )


X, Y, W = problem()
CHUNKS = (100, 1, 0, 60, len(X) - 161)


def as_dask(X=X, chunks=CHUNKS):
    return da.from_array(X, chunks=(chunks, *((2,) * (X.shape[1] // 2) for _ in X.shape[1:])))


def quick(geometry, **parameters):
    return CurvedLMNN(
        geometry=geometry, **{"n_init": 1, "n_passes": 1, "random_state": 0, **parameters}
    )


@pytest.fixture
def four_shards(monkeypatch):
    monkeypatch.setattr("cayleyklein.learning._sharded.shard_count", lambda *_: 4)


def assert_same(found, expected, rtol=1e-7):
    for name in ("metric_", "classes_", "n_iter_", "geometry_"):
        assert hasattr(found, name)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert found.n_iter_ == expected.n_iter_
    sample = X[::7]
    np.testing.assert_allclose(
        found.metric_.pairwise(sample), expected.metric_.pairwise(sample), rtol=rtol, atol=1e-10
    )


# -- the same as in memory ----------------------------------------------------------


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "learned"])
def test_it_learns_what_it_learns_in_memory(client, four_shards, geometry):
    learner = quick(geometry)
    expected = quick(geometry).fit(X, Y, sample_weight=W)
    learner.fit(as_dask(), as_dask(Y, (50, len(Y) - 50)), sample_weight=as_dask(W))
    assert_same(learner, expected)
    np.testing.assert_allclose(learner.loss_history_, expected.loss_history_, rtol=1e-9)
    assert learner.n_features_in_ == 4


@pytest.mark.parametrize(
    ("geometry", "parameters"),
    [
        ("elliptic", {"n_components": 2, "max_impostors": 3, "n_passes": 2}),
        ("flat", {"init": "lda", "n_components": 2, "n_targets": 5}),
        ("flat", {"init": "identity", "push": 0.8, "impostor_interval": 2}),
    ],
)
def test_with_any_parameters(client, four_shards, geometry, parameters):
    expected = quick(geometry, **parameters).fit(X, Y)
    found = quick(geometry, **parameters).fit(as_dask(), Y)
    assert_same(found, expected, rtol=1e-5)


def test_a_singular_covariance_and_a_constant_column(client, four_shards):
    wide = np.column_stack([X, np.full(len(X), 3.5), X[:, 0] - X[:, 1]])
    expected = quick("hyperbolic").fit(wide, Y)
    found = quick("hyperbolic").fit(da.from_array(wide, chunks=(90, 6)), Y)
    np.testing.assert_allclose(found.loss_history_, expected.loss_history_, rtol=1e-6)


def test_choosing_on_held_out_rows(client):
    expected = CurvedLMNN(random_state=0, n_passes=1).fit(X, Y)
    found = CurvedLMNN(random_state=0, n_passes=1).fit(as_dask(), Y)
    assert repr(found.selection_) == repr(expected.selection_)
    assert_same(found, expected)


def test_more_rows_than_selection_uses(client, monkeypatch):
    monkeypatch.setattr("cayleyklein.learning._selection.MOST_ROWS", 130)
    expected = quick("flat", n_init="auto").fit(X, Y)
    found = quick("flat", n_init="auto").fit(as_dask(), Y)
    assert repr(found.selection_) == repr(expected.selection_)
    assert_same(found, expected)


def test_dataframes_whose_partitions_have_unknown_lengths(client):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(list("....xyz"))[Y])
    ours = dd.from_pandas(frame, npartitions=3)
    ours = ours[ours["a"] > frame["a"].quantile(0.1)]
    theirs = ours.compute()
    expected = quick("flat").fit(theirs[list("abcd")], theirs["kind"])
    found = quick("flat").fit(ours[list("abcd")], ours["kind"])
    assert_same(found, expected)
    assert found.classes_.tolist() == ["x", "y", "z"]
    assert found.feature_names_in_.tolist() == list("abcd")


def test_without_a_cluster_the_threads_of_this_process_do(four_shards):
    assert_same(quick("flat").fit(as_dask(), Y), quick("flat").fit(X, Y))


def test_settings_of_distributed_are_left_to_its_import(monkeypatch):
    monkeypatch.delitem(sys.modules, "distributed")
    before = dask.config.get("distributed.admin")
    with large_graphs():
        assert dask.config.get("distributed.admin") == before


def test_the_classifier_learns_too(client):
    learner = quick("flat")
    model = CurvedKNeighborsClassifier(learner=learner).fit(as_dask(), as_dask(Y))
    expected = CurvedKNeighborsClassifier(learner=learner).fit(X, Y)
    np.testing.assert_array_equal(np.asarray(model.predict(X[:50])), expected.predict(X[:50]))


def test_shards_of_many_small_chunks_are_about_equal():
    values = np.random.default_rng(0).normal(size=(1500, 1))
    none, ones = np.zeros(5, dtype=np.int64), np.ones(5)
    blocks = [task(Distinct.of, part, none, ones) for part in np.split(values, 300)]
    blocks = list(persist(*blocks, doing="the test"))
    shards = compute(*_sharded.sort(blocks, 1500, 2), doing="the test")
    np.testing.assert_array_equal(np.concatenate([s.X for s in shards]), np.sort(values, axis=0))
    assert all(600 < len(shard.X) < 900 for shard in shards)


# -- subsamples ---------------------------------------------------------------------


@pytest.mark.parametrize("subsample", [100, 0.4])
def test_a_subsample_is_the_same_of_dask_and_in_memory(client, subsample):
    learner = quick("elliptic", subsample=subsample)
    expected = quick("elliptic", subsample=subsample).fit(X, Y, sample_weight=W)
    found = learner.fit(as_dask(), Y, sample_weight=as_dask(W))
    np.testing.assert_array_equal(found.components_, expected.components_)
    other = quick("elliptic", subsample=subsample, random_state=1).fit(X, Y, sample_weight=W)
    assert not np.array_equal(other.components_, expected.components_)


# -- refusals -----------------------------------------------------------------------


def test_what_is_refused(client):
    with pytest.raises(InvalidInputError, match="subsample=20000"):
        CurvedLMNN(geometry="flat", solver="gradient").fit(as_dask(), Y)
    with pytest.raises(InvalidInputError, match="two classes"):
        quick("flat").fit(as_dask(), np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="rows"):
        quick("flat").fit(as_dask(), Y[1:])
    with pytest.raises(InvalidInputError, match="sample_weight has 3"):
        quick("flat").fit(as_dask(), Y, sample_weight=np.ones(3))
    with pytest.raises(InvalidInputError, match="negative"):
        quick("flat").fit(as_dask(), Y, sample_weight=-W)
    with pytest.raises(InvalidInputError, match="n_components=9"):
        quick("flat", n_components=9).fit(as_dask(), Y)
    broken = X.copy()
    broken[130, 2] = np.nan
    for subsample in (None, 50):
        with pytest.raises(InvalidInputError, match=r"\(130, 2\)"):
            quick("flat", subsample=subsample).fit(as_dask(broken), Y)
    learner = quick("flat")
    with pytest.raises(ValueError, match="continuous"):
        learner.fit(as_dask(), W)
    assert not hasattr(learner, "n_features_in_")


# -- faults -------------------------------------------------------------------------


def test_a_worker_killed_in_the_middle_changes_nothing(client, four_shards):
    expected = quick("elliptic").fit(X, Y)
    killed = []

    def kill(progress):
        if progress.iteration == 2:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    found = quick("elliptic", callback=kill).fit(as_dask(), as_dask(Y))
    assert_same(found, expected)
    wait_until(lambda: len(client.scheduler_info()["workers"]) == 2)
    assert killed[0] not in client.run(os.getpid).values()


def test_a_fit_says_that_its_scheduler_was_lost():
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    losses = []

    def watch(progress):
        losses.append(progress.loss)
        if progress.iteration == 3:
            process.kill()

    try:
        with (
            Client(process.stdout.readline().strip()),
            pytest.raises(ClusterError, match="could not finish the fit"),
        ):
            quick("elliptic", callback=watch).fit(as_dask(), Y)
    finally:
        process.kill()
        process.communicate()
    assert len(losses) == 3
