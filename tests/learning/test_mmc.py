"""MMC: its parameters, its objective, its weights and its warnings."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from cayleyklein import MMC
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.mmc import XingRecipe, spread_equally
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows

X, Y = load_iris(return_X_y=True)


def value(problem, factor):
    return problem(Parameters(factor, np.zeros(factor.shape[1]), 0.0))


def small(seed=0, n=12, d=3):
    rng = np.random.default_rng(seed)
    rows = TrainingRows.from_raw(
        rng.normal(size=(n, d)), np.arange(n) % 3, rng.uniform(0.5, 2, size=n)
    )
    return XingRecipe("flat").pose(spread_equally(rows), None, None)


def test_objective_is_the_mean_over_pairs():
    problem = small()
    factor = np.random.default_rng(1).normal(size=(2, 3))
    sums, masses = [0.0, 0.0], [0.0, 0.0]
    for i in range(12):
        for j in range(12):
            square = ((factor @ (problem.args[0][i] - problem.args[0][j])) ** 2).sum()
            like = int(problem.args[1][i] == problem.args[1][j])
            weight = problem.args[2][i] * problem.args[2][j]
            sums[like] += weight * (square if like else np.sqrt(square))
            masses[like] += weight
    expected = sums[1] / masses[1] - np.log(sums[0] / masses[0])
    assert value(problem, factor).loss == pytest.approx(expected, rel=1e-6)


def test_gradient_by_finite_differences():
    problem = small()
    factor = np.random.default_rng(1).normal(size=(3, 3))
    gradient = value(problem, factor).gradient.factor
    for index in np.ndindex(3, 3):
        shift = np.zeros((3, 3))
        shift[index] = 1e-6
        rise = value(problem, factor + shift).loss - value(problem, factor - shift).loss
        assert rise / 2e-6 == pytest.approx(gradient[index], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_fit_ends_at_the_optimum(load):
    """The loss is convex in Σ: its gradient G there is positive, and ⟨G, Σ⟩ = 0."""
    rows, y = load(return_X_y=True)
    learner = MMC(tol=1e-9).fit(rows, y)
    raw = TrainingRows.from_raw(rows, y.astype(np.int64), np.ones(len(y)), turn=False)
    data = spread_equally(raw)
    factor = learner.components_ * data.scale @ np.linalg.inv(data.basis)
    loss = value(XingRecipe("flat").pose(data, None, None), factor).loss
    assert learner.loss_history_[0][-1] == pytest.approx(loss, rel=1e-9)
    d = len(factor)
    unlike = np.zeros((d, d))
    z, total = data.X @ factor.T, 0.0
    for x, at, label, weight in zip(data.X, z, data.labels, data.weights, strict=True):
        mass = weight * data.weights * (data.labels != label)
        distance = np.sqrt(np.square(z - at).sum(axis=1) + 1e-12)
        step = data.X - x
        unlike += (step * (mass / distance)[:, None]).T @ step
        total += mass @ distance
    gradient = np.eye(d) - unlike / (2 * total)
    assert np.linalg.eigvalsh(gradient)[0] > -0.01
    sigma = factor.T @ factor
    assert abs(np.sum(gradient * sigma)) < 1e-4 * np.trace(sigma)


def test_neighbours_after_breast_cancer():
    """A fit that stops far from the optimum loses here: 0.82, where plain columns have 0.96."""
    rows, y = load_breast_cancer(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
    learner = MMC().fit(rows[train], y[train])
    assert learner.n_iter_ < 30
    voter = KNeighborsClassifier(3).fit(learner.transform(rows[train]), y[train])
    assert voter.score(learner.transform(rows[test]), y[test]) > 0.95
    sizes = np.linalg.svd(learner.components_ * rows[train].std(axis=0), compute_uv=False)
    assert sizes[1] < 0.1 * sizes[0]  # nearly of rank one


def test_classes_without_spread_are_bounded():
    """Rows of one class that agree in a column would make Xing's problem unbounded."""
    rows = np.array([[0.0, 1.0], [0.0, 5.0], [1.0, 2.0], [1.0, 4.0]])
    learner = MMC().fit(rows, [0, 0, 1, 1])
    near, far = learner.pair_distance(rows[[[0, 1], [0, 2]]])
    assert near < 1e-3 * far
    alone = MMC().fit(rows[:2], [0, 1])
    assert np.isfinite(alone.components_).all()


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
    assert learner.n_iter_ == len(learner.loss_history_[0]) - 1 == 2


def test_history_ends_where_the_metric_is():
    learner = MMC().fit(X, Y)
    assert learner.geometry_ == "flat"
    assert learner.n_iter_ == len(learner.loss_history_[0]) - 1 < 100
    assert (np.diff(learner.loss_history_) <= 0).all()


def test_weights_are_repetitions():
    weights = np.random.default_rng(0).integers(0, 3, size=len(Y))
    weighted = MMC().fit(X, Y, sample_weight=weights)
    repeated = MMC().fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    assert weighted.metric_ == repeated.metric_


def test_a_common_factor_of_the_weights_changes_nothing():
    weights = np.random.default_rng(0).uniform(size=len(Y))
    plain = MMC().fit(X, Y, sample_weight=weights)
    for factor in (1e-200, 1 / 3, 1e200):
        scaled = MMC().fit(X, Y, sample_weight=factor * weights)
        np.testing.assert_allclose(scaled.components_, plain.components_, rtol=1e-6, atol=1e-9)
