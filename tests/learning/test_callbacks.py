"""scikit-learn's callbacks, from 1.9 on, hear of fits and their iterations."""

import io

import numpy as np
import pytest
from sklearn.base import clone

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMLKR,
    CurvedTriplets,
)

callback = pytest.importorskip("sklearn.callback")

X = np.random.default_rng(0).normal(size=(90, 3))
Y = (X[:, 0] > 0).astype(int)
FITS = {
    "learner": (CurvedLMNN(geometry="flat", random_state=0), X, Y),
    "numbers": (CurvedMLKR(geometry="flat", random_state=0), X, X[:, 0]),
    "triplets": (CurvedTriplets(), X.reshape(30, 3, 3), None),
    "classifier": (CurvedKNeighborsClassifier(geometry="elliptic", random_state=0), X, Y),
    "regressor": (CurvedKNeighborsRegressor(geometry="elliptic", random_state=0), X, X[:, 0]),
    "kernel": (CurvedKernelClassifier(geometry="elliptic", random_state=0), X, Y),
}


class Recorder:
    """A callback that keeps what it is told, and may ask to stop."""

    def __init__(self, stop_after=np.inf):
        self.said, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.said.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.said.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.said.append(f"end {context.task_name}")
        return self.said.count("end iteration") >= self.stop_after

    def teardown(self, estimator, context):
        self.said.append("teardown")


@pytest.mark.parametrize("name", FITS)
def test_callbacks_hear_of_every_iteration(name):
    estimator, rows, y = FITS[name]
    told = Recorder()
    model = clone(estimator).set_callbacks(told).fit(rows, y)
    assert told.said[:2] == ["setup", "begin fit"]
    assert told.said[-2:] == ["end fit", "teardown"]
    assert told.said.count("end iteration") == told.said.count("begin iteration") > 0
    plain = clone(estimator).fit(rows, y)
    np.testing.assert_array_equal(model.metric_.factor, plain.metric_.factor)
    assert "_callback_fit_ctx" not in vars(model)


def test_a_callback_can_stop_a_fit():
    told = Recorder(stop_after=2)
    learner = CurvedLMNN(geometry="flat").set_callbacks(told).fit(X, Y)
    assert told.said.count("end iteration") == learner.n_iter_ == 2


def test_callbacks_are_torn_down_after_an_error():
    told = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        CurvedLMNN().set_callbacks(told).fit(np.full((4, 1), np.nan), [0, 0, 1, 1])
    assert told.said == ["setup", "begin fit", "teardown"]


@pytest.mark.parametrize("name", ["learner", "classifier"])
def test_progress_bar(name, monkeypatch):
    pytest.importorskip("rich")
    written = io.StringIO()
    monkeypatch.setattr("sys.stdout", written)
    estimator, rows, y = FITS[name]
    clone(estimator).set_callbacks(callback.ProgressBar()).fit(rows, y)
    assert f"{type(estimator).__name__} - fit" in written.getvalue()
