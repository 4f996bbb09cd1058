"""The estimators keep scikit-learn's conventions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from cayleyklein.svm import CurvedLinearSVC, CurvedSVC


@parametrize_with_checks([CurvedLinearSVC(), CurvedSVC(geometry="flat", cv=2, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
