"""Ctrl-C at any moment: an estimator keeps its old model, or has the new one."""

import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from tests.trust.global_state import snapshot
from tests.trust.processes import rows
from tests.trust.trial import digest, same
from tests.trust.values import DISC, TABLE, Y

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedNeighbors,
)
from cayleyklein.tables import TableClassifier

# Python itself drops an interruption that strikes in a destructor, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

X, CLASSES = rows(120)
MOMENTS = 12

FITS = {
    "lmnn": (CurvedLMNN(geometry="elliptic", random_state=0), "fit"),
    "lmnn, auto, two threads": (CurvedLMNN(random_state=0, n_jobs=2), "fit"),
    "mmc": (MMC(), "fit"),
    "classifier": (CurvedKNeighborsClassifier(geometry="flat", random_state=0), "fit"),
    "regressor": (CurvedKNeighborsRegressor(DISC), "fit"),
    "brute": (CurvedNeighbors(DISC, algorithm="brute"), "partial_fit"),
    "faiss": (CurvedNeighbors(DISC, algorithm="faiss"), "partial_fit"),
    "vptree": (CurvedNeighbors(DISC, algorithm="vptree", n_jobs=2), "partial_fit"),
    "table": (TableClassifier(geometry="elliptic"), "fit"),
}


def data_of(estimator, part):
    """Return the rows of the first or of the second fit."""
    if isinstance(estimator, TableClassifier):
        return TABLE[part::2], Y[part::2]
    half = slice(60 * part, 60 * part + 60)
    return X[half], CLASSES[half]


def says(estimator):
    """Return what a fitted estimator answers, which fails if its parts do not fit together."""
    data = data_of(estimator, 0)[0]
    for name in ("predict", "transform", "kneighbors"):
        if hasattr(estimator, name):
            return digest(getattr(estimator, name)(data))
    raise AssertionError(estimator)


INTERRUPTIONS = (KeyboardInterrupt, SystemError, TypeError)
"""An interruption, and what compiled code of others may make of one on its way."""


@contextmanager
def interrupted_after(seconds):
    """Send the signal of Ctrl-C to this process, as the terminal does."""
    done = threading.Event()

    def strike(*_):
        if not done.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
        done.set()
    finally:
        done.set()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def settled(before):
    """Return what has changed, once threads that were struck have had the time to end."""
    for _ in range(100):
        changes = snapshot(thorough=True).changes_since(before)
        if "threads" not in changes:
            break
        time.sleep(0.05)
    return changes


@pytest.mark.parametrize("name", FITS)
def test_ctrl_c_at_any_moment_leaves_the_old_model_or_the_new_one(name):
    prototype, method = FITS[name]
    first, second = (data_of(prototype, part) for part in (0, 1))
    old = clone(prototype).fit(*first)
    new = getattr(clone(prototype).fit(*first), method)(*second)
    start = time.perf_counter()
    getattr(clone(prototype).fit(*first), method)(*second)
    length = time.perf_counter() - start
    answers = {True: says(new), False: says(old)}
    interrupted = 0
    before = snapshot(thorough=True)
    for moment in np.random.default_rng(0).uniform(0, length, MOMENTS):
        estimator = clone(prototype).fit(*first)
        state = dict(vars(estimator))
        finished = False
        try:
            with interrupted_after(moment):
                getattr(estimator, method)(*second)
                finished = True
        except INTERRUPTIONS:
            interrupted += 1
        untouched = all(vars(estimator).get(key) is value for key, value in state.items())
        assert untouched != finished or not untouched
        same(says(estimator), answers[not untouched], f"{name} after {moment:.4f} s")
    assert interrupted
    assert settled(before) == []


@pytest.mark.parametrize("name", ["lmnn", "mmc", "classifier", "brute"])
def test_ctrl_c_in_a_first_fit_leaves_an_unfitted_estimator(name):
    prototype, _ = FITS[name]
    data = data_of(prototype, 0)
    start = time.perf_counter()
    clone(prototype).fit(*data)
    length = time.perf_counter() - start
    for moment in np.random.default_rng(1).uniform(0, length, MOMENTS):
        estimator = clone(prototype)
        before = dict(vars(estimator))
        try:
            with interrupted_after(moment):
                estimator.fit(*data)
        except INTERRUPTIONS:
            if vars(estimator) != before:  # it came after the end
                says(estimator)
        else:
            says(estimator)


@pytest.mark.parametrize("iteration", [1, 3, 7])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_what_a_callback_raises_leaves_the_old_model(iteration, error):
    learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, CLASSES)
    state = dict(vars(learner))

    def stop(progress):
        if progress.iteration == iteration:
            raise error

    learner.set_params(callback=stop)
    with pytest.raises(error):
        learner.fit(X[:60], CLASSES[:60])
    assert vars(learner) == state | {"callback": stop}
    learner.set_params(callback=None).fit(X, CLASSES)
    assert learner.metric_ == state["metric_"]
