"""Dask collections as row blocks, and what is said when there is no Dask."""

from concurrent.futures import CancelledError
from types import SimpleNamespace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed.scheduler import KilledWorker

from cayleyklein import _validation
from cayleyklein._distributed import (
    active_client,
    clear_cluster_errors,
    compute,
    is_dask,
    read_columns,
    row_blocks,
)
from cayleyklein.exceptions import ClusterError, InvalidInputError, MissingExtraError

X = np.random.default_rng(0).normal(size=(100, 4))
Y = np.arange(100)
FRAME = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=4)
SERIES = dd.from_pandas(pd.Series(Y), npartitions=3)


@pytest.mark.parametrize("target", [Y, da.from_array(Y, chunks=30), SERIES])
def test_columns_are_read_into_memory(target):
    lengths, (found, nothing) = read_columns(FRAME, y=target, sample_weight=None)
    assert sum(lengths) == 100
    assert nothing is None
    np.testing.assert_array_equal(found, Y)
    with pytest.raises(InvalidInputError, match="X has 99 rows, but y has 100"):
        read_columns(da.from_array(X[1:]), y=target)


@pytest.mark.parametrize("least", [1, 40, 1000])
def test_blocks_are_the_rows_in_order(least):
    for rows in (da.from_array(X, chunks=(17, 3)), FRAME, FRAME.to_dask_array()):
        found = row_blocks(rows, least_rows=least)
        assert (found.n_rows, found.n_columns, found.starts[0]) == (100, 4, 0)
        assert min(found.lengths) >= min(least, 100 // 7)
        (blocks,) = compute(found.blocks, doing="the test")
        assert [len(block) for block in blocks] == found.lengths
        np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_single_precision_is_computed_with_in_double():
    (block,) = compute(*row_blocks(da.ones((5, 2), dtype=np.float32)).blocks, doing="the test")
    assert block.dtype == np.float64


def test_a_table_with_ragged_blocks_is_refused():
    ragged = da.concatenate(
        [da.from_delayed(dask.delayed(np.ones)((3, d)), (3, 2), float) for d in (2, 3)]
    )
    with pytest.raises(InvalidInputError, match="2 columns are expected"):
        compute(*row_blocks(ragged).blocks, doing="the test")


KILLED = KilledWorker("task", SimpleNamespace(address="tcp://127.0.0.1:1"), 3)


@pytest.mark.parametrize("error", [CancelledError("x"), KILLED, TimeoutError()])
def test_a_lost_cluster_is_one_error(error):
    lost = pytest.raises(ClusterError, match="could not finish the test")
    with lost, clear_cluster_errors("the test"):
        raise error


def test_other_errors_are_left_alone():
    with pytest.raises(FileNotFoundError), clear_cluster_errors("the test"):
        raise FileNotFoundError


def test_the_active_client_is_found(client):
    assert active_client() is client


def test_there_need_not_be_a_client():
    assert active_client() is None


def test_detection_and_the_missing_extra(monkeypatch):
    assert is_dask(FRAME)
    assert is_dask(SERIES)
    assert not is_dask(X)
    assert not is_dask(type(FRAME))

    def missing(name):
        raise ModuleNotFoundError(name)

    lazy = da.from_array(X)
    monkeypatch.setattr(_validation.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r'pip install "cayleyklein\[scale\]"'):
        row_blocks(lazy)
