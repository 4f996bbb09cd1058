"""Many threads at once: the same answers, and a process that stays as it was."""

import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from tests.small import DISC, SPHERE, TABLE, Y
from threadpoolctl import threadpool_info, threadpool_limits

from cayleyklein import (
    MMC,
    CayleyKleinVoronoi,
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
    MixedMetric,
)
from cayleyklein.tables import TableClassifier

CLASSES = np.arange(160) % 2
X = np.random.default_rng(0).uniform(-0.4, 0.4, (160, 2)) + 0.2 * CLASSES[:, None]
QUERIES = X[::3] + 0.01


def at_once(call, threads=8):
    """Call from many threads that start together, and return all results."""
    barrier = threading.Barrier(threads)

    def run(number):
        barrier.wait()
        return call(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


SHARED = {
    "classifier": lambda: CurvedKNeighborsClassifier(metric=DISC).fit(X, CLASSES).predict_proba,
    "regressor": lambda: CurvedKNeighborsRegressor(metric=DISC).fit(X, X[:, 0]).predict,
    "kernel": lambda: (
        CurvedKernelClassifier(metric=DISC, random_state=0).fit(X, CLASSES).predict_proba
    ),
    "brute": lambda: CurvedNeighbors(metric=DISC, algorithm="brute").fit(X).kneighbors,
    "curved tree": lambda: (
        CurvedNeighbors(metric=DISC, algorithm="tree", n_jobs=2).fit(X).kneighbors
    ),
    "tree": lambda: CurvedNeighbors(algorithm="tree").fit(X).kneighbors,
    "radius": lambda: CurvedNeighbors(metric=DISC, radius=0.2).fit(X).radius_neighbors,
    "transform": lambda: MMC(tol=1e-2).fit(X, CLASSES).transform,
    "metric": lambda: DISC.pairwise,
    "mixed metric": lambda: MixedMetric([DISC, CurvedMetric.euclidean(2)]).pairwise,
    "diagram": lambda: CayleyKleinVoronoi(X, DISC, labels=CLASSES).predict,
}


@pytest.mark.parametrize("name", SHARED)
def test_one_object_answers_many_threads(name):
    alone, shared = SHARED[name](), SHARED[name]()
    expected = as_tuple(alone(QUERIES))
    for found in at_once(lambda _: as_tuple(shared(QUERIES))):
        for one, other in zip(found, expected, strict=True):
            for row, wanted in zip(one, other, strict=True):
                np.testing.assert_array_equal(row, wanted)


def learn(**options):
    return CurvedLMNN(**{"geometry": "elliptic", "random_state": 0} | options).fit(X, CLASSES)


def test_separate_estimators_fit_in_many_threads():
    expected = learn().metric_
    assert at_once(lambda _: learn().metric_, 4) == [expected] * 4


def everything(n_jobs):
    """Return models and their answers as plain arrays."""
    learner = learn(geometry="product")
    model = CurvedKNeighborsClassifier(metric=learner.metric_, n_jobs=n_jobs).fit(X, CLASSES)
    table = TableClassifier(geometry="hyperbolic", n_jobs=n_jobs).fit(TABLE, Y)
    found = [learner.components_, model.predict_proba(QUERIES), table.predict_proba(TABLE)]
    for metric, how in [(DISC, "brute"), (DISC, "tree"), (SPHERE, "auto"), (None, "tree")]:
        found += (
            CurvedNeighbors(metric=metric, algorithm=how, n_jobs=n_jobs).fit(X).kneighbors(QUERIES)
        )
    return found


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_threads_changes_nothing(n_jobs):
    for found, expected in zip(everything(n_jobs), everything(None), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_number_of_blas_threads_changes_nothing():
    with threadpool_limits(1):
        one = everything(None)
    with threadpool_limits(2):
        two = everything(None)
    for found, expected in zip(two, one, strict=True):
        np.testing.assert_array_equal(found, expected)


def process_state():
    return (
        np.geterr(),
        np.random.get_state()[1].tobytes(),  # noqa: NPY002 - the global one
        list(warnings.filters),
        dict(os.environ),
        threading.active_count(),
    )


def test_the_process_stays_as_it_was():
    everything(2)  # compiled and imported
    before = process_state()
    everything(2)
    CayleyKleinVoronoi(X, DISC).cells()
    assert process_state() == before


OVERLAPPING = """
import threading, time
import numpy as np
import sklearn.neighbors
from threadpoolctl import threadpool_info
from cayleyklein import CurvedLMNN
from cayleyklein._estimators import few_threads

def threads():
    return [pool["num_threads"] for pool in threadpool_info()]

def overlap(span):
    time.sleep(span[0])
    with few_threads(10, 2):
        time.sleep(span[1])
        during.append(max(threads()))

during = []
before = threads()
assert before == [2] * len(before), before
pool = [threading.Thread(target=overlap, args=[span]) for span in ((0, 0.2), (0.1, 0.3))]
for thread in pool:
    thread.start()
for thread in pool:
    thread.join()
X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
told = lambda progress: during.append(max(threads()))
CurvedLMNN(geometry="flat", n_passes=1, callback=told).fit(X, y)
try:
    CurvedLMNN().fit(np.full((4, 1), np.nan), [0, 0, 1, 1])
except ValueError:
    pass
assert set(during) == {1}, during
assert threads() == before, threads()
"""


def test_fits_take_one_thread_and_leave_no_limit_behind():
    """In a process of its own, which two threads are given: the first fit to begin ends first."""
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    subprocess.run([sys.executable, "-c", OVERLAPPING], env=os.environ | two, check=True)


def threads_of_a_fit(_):
    during = []
    most = lambda: max(pool["num_threads"] for pool in threadpool_info())  # noqa: E731
    before = most()
    told = lambda _: during.append(most())  # noqa: E731
    CurvedLMNN(geometry="flat", n_passes=1, callback=told).fit(X, CLASSES)
    return before, max(during), most()


def test_fits_in_workers_of_joblib_and_dask():
    dask = pytest.importorskip("dask")
    inside = joblib.wrap_non_picklable_objects(threads_of_a_fit)
    found = joblib.Parallel(2, backend="loky")(joblib.delayed(inside)(i) for i in range(2))
    tasks = [dask.delayed(threads_of_a_fit)(i) for i in range(3)]
    found += dask.compute(*tasks, scheduler="threads")
    assert {during for _, during, _ in found} == {1}
    assert {after for _, _, after in found} <= {before for before, _, _ in found}
