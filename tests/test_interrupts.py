"""Ctrl-C in a fit: every estimator stays as it was."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.small import DISC, TABLE, TARGETS, X, Y

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedNeighbors,
)
from cayleyklein.tables import TableClassifier


def interrupt(*_):
    raise KeyboardInterrupt


class Interrupting:
    """Rows that are interrupted while they are read."""

    shape = X.shape
    __array__ = interrupt
    __len__ = len(X).__index__


learner = CurvedLMNN(geometry="elliptic", max_iter=3, random_state=0)

# An estimator, its data, and the change of parameters or of data that interrupts the next fit.
FITS = {
    "lmnn": (learner, (X, Y), {"callback": interrupt}),
    "classifier": (
        CurvedKNeighborsClassifier(learner=learner), (X, Y), {"learner__callback": interrupt}
    ),
    "table": (TableClassifier(geometry="elliptic"), (TABLE, Y), {"callback": interrupt}),
    "mmc": (MMC(tol=1e-2), (X, Y), Interrupting()),
    "neighbors": (CurvedNeighbors(metric=DISC), (X, None), Interrupting()),
    "regressor": (CurvedKNeighborsRegressor(metric=DISC), (X, TARGETS), Interrupting()),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")  # three iterations are few, and enough here
@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_an_interrupted_fit_changes_nothing(name, refit):
    prototype, data, change = FITS[name]
    estimator = clone(prototype)
    if refit:
        estimator.fit(*data)
    if isinstance(change, dict):
        estimator.set_params(**change)
    else:
        data = change, data[1]
    before = dict(vars(estimator))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*data)
    known = {"n_features_in_", "feature_names_in_"}  # scikit-learn sets them with its checks
    assert vars(estimator).keys() - known == before.keys() - known
    assert all(vars(estimator)[key] is before[key] for key in before.keys() - known)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_an_error_in_a_callback_reaches_the_caller(error):
    def stop(progress):
        if progress.iteration == 3:
            raise error

    estimator = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, Y)
    metric = estimator.metric_
    with pytest.raises(error):
        estimator.set_params(callback=stop).fit(X[::2], Y[::2])
    assert estimator.metric_ is metric
    again = estimator.set_params(callback=None).fit(X, Y)
    np.testing.assert_array_equal(again.metric_.factor, metric.factor)
