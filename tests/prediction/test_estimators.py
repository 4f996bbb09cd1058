"""The kernel estimators keep scikit-learn's conventions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein import CurvedKernelClassifier, CurvedKernelRegressor


@pytest.mark.filterwarnings("ignore:Classes .* have fewer than 4 distinct rows")
@parametrize_with_checks(
    [
        CurvedKernelClassifier(geometry="flat", random_state=0),
        CurvedKernelRegressor(geometry="flat", random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
