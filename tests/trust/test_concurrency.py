"""Many threads and processes at once, and the same answer from all of them."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.trust.global_state import snapshot
from tests.trust.processes import rows
from tests.trust.trial import digest, same
from tests.trust.values import DISC, TABLE, Y
from threadpoolctl import threadpool_limits

import cayleyklein.learning._mmc as mmc
import cayleyklein.neighbors._index as nearest
import cayleyklein.neighbors._rows as neighbor_rows
from cayleyklein import (
    MMC,
    CayleyKleinVoronoi,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
    MixedMetric,
)
from cayleyklein.tables import TableClassifier, writing

ROOT = Path(__file__).resolve().parents[2]
THREADS = 8
X, CLASSES = rows()
QUERIES = X[::3] + 0.01


def at_once(call, threads=THREADS):
    """Call from many threads that start together, and return what each of them got."""
    barrier = threading.Barrier(threads)

    def run(number):
        barrier.wait()
        return call(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def learn(n_jobs=None, **options):
    options = {"geometry": "elliptic", "random_state": 0} | options
    return CurvedLMNN(n_jobs=n_jobs, **options).fit(X, CLASSES)


SHARED = {
    "classifier": lambda: CurvedKNeighborsClassifier(metric=DISC).fit(X, CLASSES).predict_proba,
    "regressor": lambda: CurvedKNeighborsRegressor(DISC).fit(X, X[:, 0]).predict,
    "brute": lambda: CurvedNeighbors(DISC, algorithm="brute").fit(X).kneighbors,
    "vptree": lambda: CurvedNeighbors(DISC, algorithm="vptree", n_jobs=2).fit(X).kneighbors,
    "tree": lambda: CurvedNeighbors(algorithm="tree").fit(X).kneighbors,
    "faiss": lambda: CurvedNeighbors(DISC, algorithm="faiss").fit(X).kneighbors,
    "radius": lambda: CurvedNeighbors(DISC, radius=0.2).fit(X).radius_neighbors,
    "transform": lambda: MMC(tol=1e-2).fit(X, CLASSES).transform,
    "metric": lambda: DISC.pairwise,
    "mixed metric": lambda: MixedMetric([DISC, CurvedMetric.euclidean(2)]).pairwise,
    "diagram": lambda: CayleyKleinVoronoi(X, DISC, labels=CLASSES).predict,
}


@pytest.mark.parametrize("name", SHARED)
def test_one_object_answers_many_threads(name):
    """What an object computes on the way, and keeps, it may compute in many threads at once."""
    alone, shared = SHARED[name](), SHARED[name]()
    wanted = digest(alone(QUERIES))
    for found in at_once(lambda _: shared(QUERIES)):
        same(digest(found), wanted, name)


def test_separate_estimators_fit_in_many_threads():
    wanted = learn().metric_
    assert at_once(lambda i: learn(n_jobs=1 + i % 2).metric_, 4) == [wanted] * 4


def test_one_estimator_is_fitted_and_asked_at_once():
    """An answer is the old model's or the new one's, and never a mixture of both."""
    model = CurvedKNeighborsClassifier(1, metric=DISC, algorithm="brute").fit(X, CLASSES)
    other = CurvedKNeighborsClassifier(1, metric=DISC).fit(X[:30] / 2, 2 + CLASSES[:30])
    allowed = {m.predict(QUERIES).tobytes() for m in (model, other)}
    assert len(allowed) == 2

    def work(number):
        found = set()
        for turn in range(40):
            if number % 2:
                found.add(model.predict(QUERIES).tobytes())
            elif turn % 2:
                model.fit(X, CLASSES)
            else:
                model.fit(X[:30] / 2, 2 + CLASSES[:30])
        return found

    found = set().union(*at_once(work, 4))
    assert found <= allowed


def test_rows_are_added_by_many_threads_to_estimators_of_their_own():
    def grow(_):
        search = CurvedNeighbors(DISC, algorithm="brute").fit(X[:40])
        for start in range(40, 160, 40):
            search.partial_fit(X[start : start + 40])
        return search.kneighbors(QUERIES)

    wanted = digest(CurvedNeighbors(DISC, algorithm="brute").fit(X).kneighbors(QUERIES))
    for found in at_once(grow, 4):
        same(digest(found), wanted, "partial_fit")


def test_files_are_written_by_many_threads(tmp_path):
    before = os.umask(0o027)
    try:

        def write(number):
            for _ in range(20):
                with writing(tmp_path / "one.txt") as temporary:
                    temporary.write_text(str(number) * 1000)

        at_once(write)
        assert os.umask(0o027) == 0o027  # a umask can only be read by setting it
        written = tmp_path / "one.txt"
        assert written.stat().st_mode & 0o777 == 0o640
        assert written.read_text() in {str(number) * 1000 for number in range(THREADS)}
        assert list(tmp_path.iterdir()) == [written]
    finally:
        os.umask(before)


# -- the same whatever the machine does --------------------------------------------------------


def everything(n_jobs):
    """Return a digest of models, and of what they say."""
    learner = learn(n_jobs, geometry="auto")
    model = CurvedKNeighborsClassifier(metric=learner.metric_, n_jobs=n_jobs).fit(X, CLASSES)
    table = TableClassifier(geometry="hyperbolic", n_jobs=n_jobs).fit(TABLE, Y)
    searches = [
        CurvedNeighbors(metric, algorithm=how, n_jobs=n_jobs).fit(X).kneighbors(QUERIES)
        for metric, how in [(DISC, "brute"), (DISC, "vptree"), (DISC, "faiss"), (None, "tree")]
    ]
    return digest(
        [
            learner.metric_,
            learner.loss_history_,
            model.predict_proba(QUERIES),
            table.metric_,
            table.predict_proba(TABLE),
            MMC(tol=1e-2).fit(X, CLASSES).metric_,
            searches,
            DISC.pairwise(X),
        ]
    )


@pytest.fixture(scope="module")
def plain():
    with threadpool_limits(1):
        return everything(None)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_the_number_of_threads_changes_nothing(n_jobs, plain):
    with threadpool_limits(1):
        same(everything(n_jobs), plain, f"n_jobs={n_jobs}")


def test_the_number_of_threads_of_matrix_products_changes_nothing(plain):
    before = snapshot(thorough=True)
    with threadpool_limits(2):
        same(everything(None), plain, "two threads")
    assert snapshot(thorough=True).changes_since(before) == []


def test_the_sizes_of_blocks_change_no_neighbor(monkeypatch, plain):
    monkeypatch.setattr(nearest, "CHUNK", 7)
    monkeypatch.setattr(neighbor_rows, "STRIP", 11)
    monkeypatch.setattr(neighbor_rows, "PAIRS_PER_TASK", 13)
    same(everything(2), plain, "small blocks")


def test_the_size_of_blocks_hardly_changes_what_mmc_learns(monkeypatch):
    """Sums over blocks round differently; that is all."""
    plain = MMC(tol=1e-6).fit(X, CLASSES).components_
    monkeypatch.setattr(mmc, "BLOCK_ROWS", 17)
    again = MMC(tol=1e-6).fit(X, CLASSES).components_
    assert np.allclose(np.abs(again), np.abs(plain), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_started_any_way_agree(method):
    command = [sys.executable, "-W", "ignore", "-m", "tests.trust.processes", method]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False
    )
    assert done.stdout.startswith("same"), done.stderr
