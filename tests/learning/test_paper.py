"""The paper's solver: its steps, its starts, and the true loss that it reports."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from tests.learning import slow

from cayleyklein import CurvedLMNN

THREE = ("flat", "elliptic", "hyperbolic")
X, Y = load_iris(return_X_y=True)


def watched(geometry, rows, y, **parameters):
    told = []
    learner = CurvedLMNN(
        geometry=geometry, solver="gradient", n_targets=2, callback=told.append, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(rows, y), told


def small(seed=2, n=14):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 0.8 * y[:, None], y


@pytest.mark.parametrize("geometry", THREE)
def test_reports_the_true_loss(geometry):
    rows, y = small()
    learner, told = watched(geometry, rows, y, max_iter=13)
    targets = slow.euclidean_targets(rows, y, 2)
    for progress in told:
        D = slow.all_distances(rows, rows, slow.parts_of(progress.metric))
        loss, n_active = slow.loss(D, y, targets, margin=1.0, push=0.5, squared=geometry == "flat")
        assert progress.loss == pytest.approx(float(loss), rel=1e-9)
        assert progress.n_active == n_active
    (history,) = learner.loss_history_
    assert [progress.loss for progress in told] == history[: len(told)]
    D = learner.metric_.pairwise(rows)
    best, _ = slow.loss(D, y, targets, margin=1.0, push=0.5, squared=geometry == "flat")
    assert float(best) == pytest.approx(min(history), rel=1e-9)


def test_a_step_is_along_the_gradient():
    """L₁ - L₀ is a multiple of -∂ε/∂L, flat, on standardised columns."""
    rows, y = small()
    _, told = watched("flat", rows, y, max_iter=2)
    standard = np.array([[float(v) for v in row] for row in slow.standardised(rows)])
    targets = slow.euclidean_targets(rows, y, 2)

    def value(factor, center, K):
        D = slow.all_distances(standard, standard, [(1.0, factor, center, K)])
        return slow.loss(D, y, targets, margin=1.0, push=0.5, squared=True)[0]

    before, after = (progress.metric.factor * rows.std(axis=0) for progress in told)
    by_factor, *_ = slow.gradient(value, before, [0.0, 0.0], 0.0)
    step = before - after
    cosine = np.sum(step * by_factor) / np.linalg.norm(step) / np.linalg.norm(by_factor)
    assert cosine == pytest.approx(1.0, abs=1e-9)
    assert np.linalg.norm(step) == pytest.approx(0.01 * np.sqrt(np.sum(before**2) + 1), rel=1e-6)


@pytest.mark.parametrize("geometry", THREE)
@pytest.mark.parametrize("init", ["precision", "identity", "diagonal"])
def test_learns_from_every_start(geometry, init):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner = CurvedLMNN(geometry=geometry, solver="gradient", init=init, max_iter=40)
        learner.fit(X, Y)
    (history,) = learner.loss_history_
    assert min(history) < 0.97 * history[0]
    assert learner.metric_.contains(X).all()
    assert learner.geometry_ == geometry


def test_goes_on_from_a_metric():
    first = CurvedLMNN(geometry="elliptic", solver="gradient").fit(X, Y)
    second = CurvedLMNN(geometry="elliptic", solver="gradient", init=first.metric_).fit(X, Y)
    assert second.loss_history_[0][0] == pytest.approx(min(first.loss_history_[0]), rel=1e-6)


def test_refuses_low_rank_in_curved_space():
    with pytest.raises(ValueError, match="square factors of full rank"):
        CurvedLMNN(geometry="elliptic", solver="gradient", n_components=2).fit(X, Y)
