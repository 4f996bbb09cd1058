"""The smallest change of class: predicted, allowed, and no smaller one on a fine grid."""

import numpy as np
import pytest

from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier, CurvedMetric
from cayleyklein.exceptions import InvalidInputError

CURVATURES = [-0.02, 0.0, 0.05]


def table(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 2.0]
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "a", "b")


def nearest(curvature, X, y):
    metric = CurvedMetric(factor=[[1.0, 0.3], [0.0, 0.7]], center=[0.1, -0.2], curvature=curvature)
    return CurvedKNeighborsClassifier(1, metric=metric, weights="uniform").fit(X, y)


def disc(n):
    """Points of a disc of radius 1, its boundary included."""
    radius, angle = np.meshgrid(np.linspace(0.01, 1, n), np.linspace(0, 2 * np.pi, 4 * n))
    return np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()])


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_no_smaller_change_is_missed(curvature):
    X, y = table(0)
    model = nearest(curvature, X, y)
    unit = X.std(axis=0)
    for seed in range(6):
        x = table(100 + seed)[0][0]
        found = model.counterfactual(x)
        assert found.is_exact
        assert model.predict([found.row])[0] == found.prediction != model.predict([x])[0]
        np.testing.assert_allclose(found.row, x + found.change)
        assert found.size == pytest.approx(np.linalg.norm(found.change / unit))
        inside = x + 0.999 * found.size * disc(60) * unit
        inside = inside[model.metric_.contains(inside)]
        assert (model.predict(inside) == model.predict([x])[0]).all()


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_columns_ranges_and_whole_numbers():
    X, y = table(1)
    model = nearest(0.0, X, y)
    x = np.array([-1.0, 0.0])
    free = model.counterfactual(x)
    fixed = model.counterfactual(x, fixed=[1])
    assert fixed.change[1] == 0
    assert fixed.size >= free.size
    assert fixed.is_exact
    low = float(free.row[1]) + 0.5
    bounded = model.counterfactual(x, bounds={"x1": (low, 5.0)})
    assert low - 1e-9 <= bounded.row[1] <= 5.0
    assert bounded.size > free.size
    line = x + np.column_stack([np.linspace(-3, 3, 20001), np.zeros(20001)])
    other = line[model.predict(line) != model.predict([x])[0]]
    expected = np.abs(other - x)[:, 0].min() / X[:, 0].std()
    assert fixed.size == pytest.approx(expected, abs=1e-3)
    whole = model.counterfactual(x, integers=[0])
    assert whole.row[0] == round(whole.row[0])
    assert not whole.is_exact
    assert model.predict([whole.row])[0] == whole.prediction
    with pytest.raises(InvalidInputError, match="fixed has"):
        model.counterfactual(x, fixed=["nothing"])
    with pytest.raises(InvalidInputError, match="no other class"):
        model.counterfactual(x, to="c")


@pytest.mark.filterwarnings("ignore::cayleyklein.exceptions.StrangeRowsWarning")
def test_a_descent_is_near_the_exact_answer_and_works_for_sums():
    X, y = table(2)
    exact = nearest(0.05, X, y)
    other = CurvedKNeighborsClassifier(1, metric=exact.metric_).fit(X, y)  # local votes
    for seed in range(3):
        x = table(200 + seed)[0][0]
        found = other.counterfactual(x)
        assert not found.is_exact
        assert other.predict([found.row])[0] != other.predict([x])[0]
    model = CurvedKernelClassifier("columns", random_state=0).fit(X, y)
    found = model.counterfactual(X[0])
    assert model.predict([found.row])[0] == found.prediction
    unit = X.std(axis=0)
    inside = X[0] + 0.9 * found.size * disc(40) * unit
    assert (model.predict(inside) == model.predict(X[:1])[0]).all()
