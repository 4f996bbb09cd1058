"""Many threads at once: the same answers, and a process that stays as it was."""

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.small import DISC, SPHERE, TABLE, Y
from threadpoolctl import threadpool_limits

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
    "vptree": lambda: CurvedNeighbors(metric=DISC, algorithm="vptree", n_jobs=2).fit(X).kneighbors,
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
    for metric, how in [(DISC, "brute"), (DISC, "vptree"), (SPHERE, "auto"), (None, "tree")]:
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
