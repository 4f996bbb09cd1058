"""The estimators keep scikit-learn's conventions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein.svm import CurvedLinearSVC


@parametrize_with_checks([CurvedLinearSVC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
