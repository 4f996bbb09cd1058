"""Learning from Dask collections: the sample, and so the metric, is that of rows in memory."""

import sys
from collections import Counter

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from cayleyklein import CayleyKleinLMNN, CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein._distributed import large_graphs
from cayleyklein.exceptions import InvalidInputError


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
DISTINCT = np.sort(np.unique(X, axis=0, return_index=True)[1])  # in memory equal rows are pooled
CHUNKS = (100, 1, 0, 60, len(X) - 161)


def as_dask(X=X, chunks=CHUNKS):
    return da.from_array(X, chunks=(chunks, *((2,) * (X.shape[1] // 2) for _ in X.shape[1:])))


def quick(geometry, **parameters):
    return CurvedLMNN(geometry=geometry, **{"n_passes": 1, "random_state": 0, **parameters})


def assert_same(found, expected):
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.geometry_ == expected.geometry_
    assert found.loss_history_ == expected.loss_history_
    np.testing.assert_array_equal(found.components_, expected.components_)


@pytest.mark.parametrize("geometry", ["product", "learned"])
def test_it_learns_what_it_learns_in_memory(client, geometry):
    expected = quick(geometry).fit(X, Y, sample_weight=W)
    found = quick(geometry).fit(as_dask(), as_dask(Y, (50, len(Y) - 50)), sample_weight=as_dask(W))
    assert_same(found, expected)
    assert found.n_features_in_ == 4


@pytest.mark.parametrize("subsample", [100, 0.4])
def test_a_subsample_depends_on_the_seed_and_not_on_the_blocks(client, subsample):
    """Rows in memory are drawn as places, rows on a cluster one by one."""
    rows, y, weights = X[DISTINCT], Y[DISTINCT], W[DISTINCT]

    def learned(chunks, seed=0):
        learner = quick("elliptic", subsample=subsample, random_state=seed)
        return learner.fit(as_dask(rows, chunks), y, sample_weight=as_dask(weights, chunks))

    one = learned((100, 1, 0, len(rows) - 101))
    assert_same(learned((len(rows),)), one)
    in_memory = quick("elliptic", subsample=subsample).fit(rows, y, sample_weight=weights)
    assert one.n_samples_learned_ == in_memory.n_samples_learned_
    assert not np.array_equal(learned((len(rows),), seed=1).components_, one.components_)


def test_all_rows_teach_the_same_of_dask_and_in_memory(client):
    rows, y, weights = X[DISTINCT], Y[DISTINCT], W[DISTINCT]
    chunks = (100, 1, 0, len(rows) - 101)
    expected = quick("elliptic", subsample=None).fit(rows, y, sample_weight=weights)
    lazy = as_dask(rows, chunks), y, as_dask(weights, chunks)
    found = quick("elliptic", subsample=None).fit(*lazy[:2], sample_weight=lazy[2])
    assert_same(found, expected)


def test_the_paper_s_solver_learns_from_dask_too(client):
    def learner():
        return CayleyKleinLMNN("flat", callback=lambda p: p.iteration == 5, random_state=0)

    assert_same(learner().fit(as_dask(), Y), learner().fit(X, Y))


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


READS = Counter()


def read(block):
    """Return 50 rows as a dataframe, and count that they were read."""
    READS[block] += 1
    some = slice(50 * block, 50 * block + 50)
    return pd.DataFrame(X[some], columns=list("abcd")).assign(kind=Y[some], weight=W[some])


KINDS_OF_TARGET = {
    "dataframe": lambda table: (table[list("abcd")], table["kind"], table["weight"]),
    "array": lambda table: (
        table[list("abcd")].to_dask_array(), table["kind"].to_dask_array(), W,
    ),
    "in memory": lambda table: (table[list("abcd")], Y, None),
    "other chunks": lambda table: (table[list("abcd")], as_dask(Y, (9, len(Y) - 9)), None),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS_OF_TARGET)
@pytest.mark.parametrize(
    "make",
    [
        lambda: quick("flat", subsample=None),
        lambda: CurvedKNeighborsClassifier(learner=quick("flat", subsample=None)),
    ],
    ids=["learner", "classifier"],
)
def test_rows_of_unknown_lengths_are_read_once_or_twice(make, kind):
    n_blocks = -(-len(X) // 50)
    tasks = [dask.delayed(read)(block) for block in range(n_blocks)]
    rows, target, weights = KINDS_OF_TARGET[kind](dd.from_delayed(tasks, meta=read(0)[:0]))
    READS.clear()
    with dask.config.set(scheduler="threads", num_workers=3):
        found = make().fit(rows, target, sample_weight=weights)
    assert set(READS) == set(range(n_blocks))
    assert max(READS.values()) <= (2 if isinstance(found, CurvedLMNN) else 1)
    expected = quick("flat", subsample=None).fit(X, Y, sample_weight=None if weights is None else W)
    assert_same(getattr(found, "learner_", found), expected)


def test_without_a_cluster_the_threads_of_this_process_do():
    assert_same(quick("flat").fit(as_dask(), Y), quick("flat").fit(X, Y))


def test_settings_of_distributed_are_left_to_its_import(monkeypatch):
    monkeypatch.delitem(sys.modules, "distributed")
    before = dask.config.get("distributed.admin")
    with large_graphs():
        assert dask.config.get("distributed.admin") == before


@pytest.mark.parametrize("geometry", ["auto", "mixed"])
def test_the_classifier_learns_and_searches_where_the_rows_are(client, geometry):
    options = {"geometry": geometry, "random_state": 0}
    rows, y, chunks = X[DISTINCT], Y[DISTINCT], (100, 1, 0, len(DISTINCT) - 101)
    model = CurvedKNeighborsClassifier(**options).fit(as_dask(rows, chunks), as_dask(y, chunks))
    expected = CurvedKNeighborsClassifier(**options).fit(rows, y)
    assert_same(model.learner_, expected.learner_)
    assert model.n_neighbors_ == expected.n_neighbors_
    found = model.predict_proba(as_dask(X[:50], (20, 30)))
    assert found.chunks[0] == (20, 30)
    np.testing.assert_allclose(found.compute(), expected.predict_proba(X[:50]), atol=1e-12)


def test_what_is_refused(client):
    with pytest.raises(InvalidInputError, match="two or more"):
        quick("flat").fit(as_dask(), np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="rows"):
        quick("flat").fit(as_dask(), Y[1:])
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    for wrong in (Y[1:], np.r_[Y, 4], as_dask(Y[1:], (len(Y) - 1,))):
        with pytest.raises(InvalidInputError, match=r"X has \d+ rows, but y has \d+"):
            quick("flat").fit(frame, wrong)
    for none in (as_dask(X[:0], (0,)), frame[frame["a"] > 100]):
        with pytest.raises(InvalidInputError, match="X is empty: it has no rows"):
            quick("flat").fit(none, Y[:0])
    with pytest.raises(InvalidInputError, match="sample_weight has 3"):
        quick("flat").fit(as_dask(), Y, sample_weight=np.ones(3))
    with pytest.raises(InvalidInputError, match=r"(?i)negative"):
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
