"""The kernel estimators keep scikit-learn's conventions."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.feature_selection import SelectFromModel
from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
)


@pytest.mark.filterwarnings("ignore:Classes .* have fewer than 4 distinct rows")
@parametrize_with_checks(
    [
        CurvedKernelClassifier(geometry="flat", random_state=0),
        CurvedKernelRegressor(geometry="flat", random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kind",
    [
        CurvedKNeighborsClassifier,
        CurvedKNeighborsRegressor,
        CurvedKernelClassifier,
        CurvedKernelRegressor,
    ],
)
def test_columns_are_selected_by_their_importance(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6))
    y = rows[:, 1] - 2 * rows[:, 4]
    if is_classifier(kind()):
        y = (y > 0).astype(int)
    model = kind(geometry="flat")
    selector = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(rows, y)
    assert selector.get_support().tolist() == [False, True, False, False, True, False]
    shares = selector.estimator_.feature_importances_
    assert shares.shape == (6,)
    assert shares.sum() == pytest.approx(1.0)
    assert not hasattr(kind(), "feature_importances_")
