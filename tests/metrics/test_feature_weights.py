"""Feature weights: the share of each column in squared distances."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.inspection import permutation_importance
from sklearn.preprocessing import StandardScaler

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    MixedMetric,
    ProductMetric,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import metric_tensor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) @ RNG.normal(size=(3, 3))
L = RNG.normal(size=(3, 3)) / 20


def metrics(c):
    """Metrics of every kind, transported by the column scales c."""
    parts = [CurvedMetric(factor=L / c, center=0.1 * c, curvature=K) for K in (1.0, 0.0, -1.0)]
    return [*parts, MixedMetric(parts, [0.2, 0.3, 0.5]), ProductMetric(parts[:2], [0.5, 2.0])]


@pytest.mark.parametrize("which", range(5))
def test_shares_add_up_and_do_not_depend_on_units(which):
    c = np.array([1e-3, 1.0, 1e4])
    weights = metrics(np.ones(3))[which].feature_weights(X)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(metrics(c)[which].feature_weights(X * c), weights, rtol=1e-9)


def test_diagonal_flat_metric_in_closed_form():
    scales = np.array([3.0, 1.0, 0.5])
    expected = scales * X.var(axis=0)
    metric = CurvedMetric(matrix=np.diag(scales))
    np.testing.assert_allclose(metric.feature_weights(X), expected / expected.sum())
    np.testing.assert_allclose(metric.feature_weights(), scales / scales.sum())


@pytest.mark.parametrize("which", range(5))
def test_is_the_share_of_small_squared_distances(which):
    """Steps along a column, with the covariance of rows that vary in that column alone."""
    metric, step = metrics(np.ones(3))[which], 1e-4
    x = np.zeros(3)
    lengths = metric.distance(x, x + step * np.eye(3))
    # rows at ±step along each column in turn have a diagonal covariance
    rows = np.vstack([x + step * np.eye(3), x - step * np.eye(3)])
    found = metric.feature_weights(rows)
    if which == 3:  # lengths add, so that squares of columns do not: as wide as the parts differ
        np.testing.assert_allclose(found, lengths**2 / (lengths**2).sum(), rtol=0.1)
    else:
        np.testing.assert_allclose(found, lengths**2 / (lengths**2).sum(), rtol=1e-4)


@pytest.mark.parametrize("K", [1.0, 0.0, -1.0])
def test_is_the_diagonal_of_the_mean_metric_tensor(K):
    metric = CurvedMetric(factor=L, center=[0.1, 0.2, 0.0], curvature=K)
    expected = X.var(axis=0) * metric_tensor(X, metric).mean(axis=0).diagonal()
    np.testing.assert_allclose(metric.feature_weights(X), expected / expected.sum())


def test_columns_that_cancel_have_their_weight():
    """Equal columns that nearly cancel: each of them alone would bring rows far apart."""
    x = RNG.normal(size=(50, 1))
    metric = CurvedMetric(matrix=[[1.0, -0.999], [-0.999, 1.0]])
    np.testing.assert_allclose(metric.feature_weights(np.hstack([x, x])), [0.5, 0.5])
    data = load_breast_cancer(as_frame=True)
    model = CurvedKNeighborsClassifier(geometry="flat", random_state=0).fit(data.data, data.target)
    assert model.metric_.feature_weights(data.data).min() > 1e-4


def test_equal_parts_have_the_weights_of_one():
    one = metrics(np.ones(3))[0]
    expected = one.feature_weights(X)
    for metric in (MixedMetric([one, one], [0.1, 3.0]), ProductMetric([one, one], [2.0, 7.0])):
        np.testing.assert_allclose(metric.feature_weights(X), expected)


def test_rows_outside_the_domain_are_left_out():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    rows = RNG.uniform(-0.6, 0.6, size=(20, 2))
    beyond = np.vstack([rows, [[2.0, 0.0]]])
    np.testing.assert_array_equal(disc.feature_weights(beyond), disc.feature_weights(rows))
    with pytest.raises(InvalidInputError, match="at least two rows"):
        disc.feature_weights(beyond[-2:])
    with pytest.raises(InvalidInputError, match="0 between all rows"):
        disc.feature_weights(rows[[0, 0]])


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(X), 5))
    return np.hstack([StandardScaler().fit_transform(X), noise]), y


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic"])
def test_learned_metrics_give_little_to_noise(wine, geometry):
    X, y = wine
    metric = CurvedLMNN(geometry=geometry, random_state=0).fit(X, y).metric_
    weights = metric.feature_weights(X)
    assert weights[-5:].sum() < 0.06  # 5 of 18 columns would be 0.28
    model = CurvedKNeighborsClassifier(5, metric=metric, weights="uniform").fit(X, y)
    importance = permutation_importance(
        model, X, y, scoring="neg_log_loss", n_repeats=5, random_state=0
    ).importances_mean
    assert spearmanr(weights, importance).statistic > 0.6
