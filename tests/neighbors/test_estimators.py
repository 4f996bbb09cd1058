"""The estimators keep scikit-learn's conventions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein.neighbors import CurvedNeighbors


@parametrize_with_checks([CurvedNeighbors()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
