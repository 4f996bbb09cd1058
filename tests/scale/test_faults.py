"""What becomes of a search when processes die."""

import os
import signal
import subprocess
import sys
import threading
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client

from cayleyklein import CurvedMetric, CurvedNeighbors
from cayleyklein.exceptions import ClusterError

CLUSTER = """
from distributed import LocalCluster
cluster = LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
)
print(cluster.scheduler_address, flush=True)
input()
"""


def rows(n, d=16):
    return np.random.default_rng(0).normal(scale=0.05, size=(n, d))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def busy(client, worker=None):
    """Say whether (that) worker is searching."""
    tasks = client.processing()
    keys = [key for name, keys in tasks.items() if worker in (None, name) for key in keys]
    return any("nearest" in str(key) for key in keys)


def test_a_worker_killed_in_the_middle_changes_nothing(client):
    disc = CurvedMetric.euclidean(16, curvature=-1.0)
    X = rows(32_000)
    search = CurvedNeighbors(metric=disc, algorithm="brute").fit(
        da.from_array(X, chunks=(16_000, 16))
    )
    pids = client.run(os.getpid)
    answer = search.kneighbors(da.from_array(X[:16_000], chunks=(500, 16)))
    future = client.compute(list(answer))
    pid = wait_until(lambda: next((p for name, p in pids.items() if busy(client, name)), None))
    os.kill(pid, signal.SIGKILL)
    distances, found = (part.result(timeout=120) for part in future)
    wait_until(lambda: len(client.scheduler_info()["workers"]) == 2)
    assert pid not in client.run(os.getpid).values()
    expected = CurvedNeighbors(metric=disc, algorithm="brute").fit(X).kneighbors(X[:16_000])
    np.testing.assert_array_equal(found, expected[1])
    np.testing.assert_array_equal(distances, expected[0])


def test_a_lost_scheduler_is_one_clear_error():
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        with Client(process.stdout.readline().strip()) as client:
            X = rows(40_000)
            search = CurvedNeighbors(algorithm="brute").fit(da.from_array(X, chunks=(20_000, 16)))

            def kill():
                wait_until(lambda: busy(client))
                process.kill()

            killer = threading.Thread(target=kill)
            killer.start()
            with pytest.raises(ClusterError, match="could not finish the search: the scheduler"):
                search.kneighbors(X)
            killer.join()
    finally:
        process.kill()
        process.communicate()
    with pytest.raises(ClusterError, match=r"client is closed .* fit again"):
        search.kneighbors(X[:3])
