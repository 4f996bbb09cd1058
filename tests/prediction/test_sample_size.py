"""Samples that grow until held-out rows gain nothing."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.frozen import FrozenEstimator

from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMLKR,
)
from cayleyklein.learning import lmnn, samples


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=3200)
    X = rng.normal(size=(3200, 6))
    X[:, 0] += np.cos(y) + 0.5 * y
    X[:, 1] *= 1 + y
    return X, y


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(samples, "FIRST_SAMPLE", 400)


def test_a_sample_doubles_while_that_helps(rows, small_samples):
    model = CurvedKNeighborsClassifier(random_state=0).fit(*rows)
    stages = model.selection_.stages
    sizes = [stage.n_rows for stage in stages]
    assert sizes[0] == 400
    assert all(b == 2 * a for a, b in pairwise(sizes[:-1]))
    losses = [stage.loss for stage in stages]
    assert all(b < a for a, b in pairwise(losses[:-1]))
    product = model.selection_.trials[0]
    assert product.scores["log loss"] == pytest.approx(min(losses[-2:]))
    assert "400 rows" in repr(model.selection_)


def test_a_regression_sample_doubles_too(small_samples):
    X, y = make_friedman1(3200, noise=0.5, random_state=0)
    model = CurvedKNeighborsRegressor(random_state=0).fit(X[:2700], y[:2700])
    selection = model.selection_
    sizes = [stage.n_rows for stage in selection.stages]
    assert sizes[:3] == [400, 800, 1600]
    losses = [stage.loss for stage in selection.stages]
    assert all(b < a for a, b in pairwise(losses[:-1]))
    assert selection.trials[0].scores["R²"] == pytest.approx(1 - min(losses))
    assert model.learner_.n_samples_learned_ == sizes[int(np.argmin(losses))]
    assert repr(selection).endswith("(1 - R²)")
    few = CurvedMLKR(subsample=400, random_state=0).fit(X[:2700], y[:2700])
    plain = CurvedKNeighborsRegressor(learner=FrozenEstimator(few)).fit(X[:2700], y[:2700])
    assert model.score(X[2700:], y[2700:]) > plain.score(X[2700:], y[2700:])


def test_the_same_input_gives_the_same_model(rows, small_samples):
    first, second = (CurvedKNeighborsClassifier(random_state=3).fit(*rows) for _ in range(2))
    assert first.metric_ == second.metric_
    assert first.selection_ == second.selection_


def test_work_bounds_the_samples(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(samples, "FIRST_WORK", 300**2 * 6)
    monkeypatch.setattr(samples, "MOST_WORK", 500**2 * 6)
    stages = CurvedKNeighborsClassifier(random_state=0).fit(X, y).selection_.stages
    assert {stage.n_rows for stage in stages} <= {300, 500}
    assert stages[0].n_rows == 300


def test_kernel_machines_learn_their_metric_from_some_rows(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(samples, "LEARN_FROM_BESIDE_OTHERS", 200)
    model = CurvedKernelClassifier("metric", random_state=0).fit(X[:400], y[:400])
    assert model.learner_.n_samples_learned_ == pytest.approx(200, abs=4)  # classes by their shares
    model = CurvedKernelClassifier("metric", subsample=None, random_state=0).fit(X[:400], y[:400])
    assert model.learner_.n_samples_learned_ == 400
    monkeypatch.setattr(samples, "LEARN_FROM", 300)
    model = CurvedKernelClassifier("metric", learner=CurvedLMNN(), random_state=0)
    assert model.fit(X[:400], y[:400]).learner_.n_samples_learned_ == pytest.approx(300, abs=4)


def test_a_callback_stops_between_samples(rows, small_samples):
    calls = []

    def stop(progress):
        calls.append(progress)
        return len(calls) == 70

    model = CurvedKNeighborsClassifier(random_state=0, callback=stop).fit(*rows)
    assert len(calls) == 70
    assert np.isfinite(model.metric_.pairwise(rows[0][:5])).all()


def test_all_rows_vote_whatever_the_sample(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(samples, "POOL_ROWS", 600)
    monkeypatch.setattr(samples, "LEARN_FROM", 600)
    model = CurvedKNeighborsClassifier(random_state=0).fit(X, y)
    assert model.n_samples_fit_ == len(X)
    given = CurvedKNeighborsClassifier(subsample=600, random_state=0).fit(X, y)
    assert given.metric_ == model.metric_


def test_says_beforehand_that_it_will_take_minutes(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(lmnn, "RATE", 1e6)
    with pytest.warns(UserWarning, match=r"3,200 rows of 6 columns will take about \d+ minutes"):
        CurvedLMNN(geometry="flat", random_state=0).fit(X, y)
