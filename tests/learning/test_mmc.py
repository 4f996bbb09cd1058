"""MMC: its parameters, its objective, its weights and its warnings."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from cayleyklein import MMC
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.mmc import like_scatter, objective
from cayleyklein.learning.rows import TrainingRows

X, Y = load_iris(return_X_y=True)


def small(seed=0, n=12, d=3):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return TrainingRows.from_raw(rng.normal(size=(n, d)), labels, rng.uniform(0.5, 2, size=n))


def test_objective_is_the_sum_over_pairs():
    data = small()
    factor = np.random.default_rng(1).normal(size=(2, 3))
    like = unlike = 0.0
    for i in range(len(data.X)):
        for j in range(i):
            square = ((factor @ (data.X[i] - data.X[j])) ** 2).sum()
            weight = data.weights[i] * data.weights[j]
            if data.labels[i] == data.labels[j]:
                like += weight * square
            else:
                unlike += weight * np.sqrt(square)
    found = objective(factor, data, like_scatter(data))[0]
    assert found == pytest.approx(like - np.log(unlike), rel=1e-9)


def test_gradient_by_finite_differences():
    data = small()
    like = like_scatter(data)
    factor = np.random.default_rng(1).normal(size=(3, 3))
    gradient = objective(factor, data, like)[1].reshape(3, 3)
    for index in np.ndindex(3, 3):
        shift = np.zeros((3, 3))
        shift[index] = 1e-6
        rise = objective(factor + shift, data, like)[0] - objective(factor - shift, data, like)[0]
        assert rise / 2e-6 == pytest.approx(gradient[index], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"max_iter": 2.5}, "'max_iter' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"tol": "small"}, "'tol' parameter"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_components": 5}, "X has only 4 columns"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MMC(**parameters).fit(X, Y)


def test_one_class():
    with pytest.raises(InvalidInputError, match="y has 1 class"):
        MMC().fit(X, np.zeros(150))
    with pytest.raises(InvalidInputError, match=r"y has 1 class .* positive weight"):
        MMC().fit(X, Y, sample_weight=(Y == 1).astype(float))
    with pytest.raises((InvalidInputError, ValueError)):
        MMC().fit(X, Y, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        MMC().fit(X, Y, sample_weight=-np.ones(150))


def test_says_when_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="max_iter=2") as said:
        learner = MMC(max_iter=2).fit(X, Y)
    assert said[0].filename == __file__  # it is the caller who can change that
    assert learner.n_iter_ == len(learner.loss_history_) == 2


def test_history_ends_where_the_metric_is():
    learner = MMC().fit(X, Y)
    assert learner.geometry_ == "flat"
    assert learner.n_iter_ == len(learner.loss_history_) < 100
    assert (np.diff(learner.loss_history_) <= 0).all()
    data = TrainingRows.from_raw(X, Y.astype(np.int64), np.ones(len(Y)))
    data = replace(data, weights=data.weights / data.weight_unit)
    last = objective(learner.components_ * data.scale, data, like_scatter(data))[0]
    assert last == pytest.approx(learner.loss_history_[-1], rel=1e-9)


def test_weights_are_repetitions():
    weights = np.random.default_rng(0).integers(0, 3, size=len(Y))
    weighted = MMC().fit(X, Y, sample_weight=weights)
    repeated = MMC().fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    assert weighted.metric_ == repeated.metric_
