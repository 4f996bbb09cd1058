"""What held-out rows are asked: classes without rows, and scores that are no numbers."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from cayleyklein import CurvedKernelClassifier
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.parts.base import FittedPart, Part
from cayleyklein.parts.registry import PARTS


@pytest.mark.parametrize("parts", ["auto", ("columns", ("bayes", GaussianNB()), "rules")])
def test_a_class_whose_rows_weigh_nothing_is_a_class_without_rows(parts):
    X, y = load_wine(return_X_y=True)
    weights = np.where(y == 2, 0.0, 1.0)
    model = CurvedKernelClassifier(parts, random_state=0).fit(X, y, sample_weight=weights)
    without = CurvedKernelClassifier(parts, random_state=0).fit(X[y < 2], y[y < 2])
    found = model.predict_proba(X)
    np.testing.assert_allclose(found[:, :2], without.predict_proba(X), atol=1e-9)
    assert (found[:, 2] == 0).all()
    left_out = model.predict_proba(None)
    np.testing.assert_allclose(left_out[y < 2, :2], without.predict_proba(None), atol=1e-9)
    by_classes = CurvedKernelClassifier(parts, class_weight={2: 0.0}, random_state=0).fit(X, y)
    np.testing.assert_allclose(by_classes.predict_proba(X), found, atol=1e-9)


def test_scores_that_are_not_finite_are_refused(monkeypatch):
    @dataclass(frozen=True)
    class Silent(FittedPart):
        width: int

        def scores(self, X):
            return np.full((len(X), self.width), np.nan)

    class SilentPart(Part):
        name = "silent"

        def fit(self, rows, metric, settings=None):
            return Silent(rows.targets.shape[1])

    monkeypatch.setitem(PARTS, "silent", lambda options: SilentPart())
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InvalidInputError, match="part 'silent' made scores that are not finite"):
        CurvedKernelClassifier(("columns", "silent"), random_state=0).fit(X, y)


@pytest.mark.parametrize("seed", range(6))
def test_folds_without_a_rare_class_try_other_numbers_of_trees(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    y = np.append(6, rng.integers(0, 6, size=119))  # with seven classes there are fewer rounds
    model = CurvedKernelClassifier("rules", random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
