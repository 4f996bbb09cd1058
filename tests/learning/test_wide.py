"""Tables with more columns than rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN, _lbfgs
from cayleyklein.learning import lmnn
from cayleyklein.learning.rows import TrainingRows


def wide_table(n, d, n_informative, seed=0):
    """Rows of three classes that some of the columns tell apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, size=d)
    X[:, :n_informative] += 2 * y[:, None] * X.std(axis=0)[:n_informative]
    return X, y


@pytest.mark.parametrize("geometry", ["flat", "elliptic", "hyperbolic", "learned"])
def test_learning_in_the_span_of_the_rows_is_learning_in_all_columns(geometry, monkeypatch):
    """d ≤ 2n: the same loss in fewer numbers, once the first step forgets the size of L."""
    X, y = wide_table(30, 45, 5)
    fixed = SimpleNamespace(norm=lambda x: 5.0)
    monkeypatch.setattr(_lbfgs, "np", SimpleNamespace(**vars(np) | {"linalg": fixed}))
    learner = CurvedLMNN(geometry=geometry, random_state=0, n_passes=2)
    turned = learner.fit(X, y).metric_
    assert turned.factor.shape == (29, 45)
    real = TrainingRows.from_raw

    def in_all_columns(X, labels, weights, *, turn=True):
        return real(X, labels, weights, turn=False)

    monkeypatch.setattr(lmnn.TrainingRows, "from_raw", in_all_columns)
    plain = learner.fit(X, y).metric_
    assert plain.factor.shape == (45, 45)
    np.testing.assert_allclose(turned.pairwise(X), plain.pairwise(X), rtol=1e-6)


@pytest.mark.parametrize("init", ["std", "identity", "precision", "pca", "lda", "flat"])
def test_every_start_works_with_more_columns_than_rows(init):
    X, y = wide_table(24, 40, 4)
    metric = CurvedLMNN(geometry="elliptic", init=init, random_state=0).fit(X, y).metric_
    assert np.isfinite(metric.pairwise(X)).all()


def test_a_metric_as_a_start_and_components_that_exceed_the_rank():
    X, y = wide_table(24, 40, 4)
    first = CurvedLMNN(geometry="flat", random_state=0, n_components=35).fit(X, y)
    assert len(first.metric_.factor) <= 23
    again = CurvedLMNN(geometry="flat", random_state=0, init=first.metric_).fit(X, y)
    assert again.loss_history_[0][0] <= first.loss_history_[0][0]


def test_noise_columns_do_not_drown_the_others():
    X, y = wide_table(360, 1500, 15)
    train, test = slice(0, 90), slice(90, None)
    X[:, :15] -= 1.4 * y[:, None] * X.std(axis=0)[:15]  # weaker
    model = CurvedKNeighborsClassifier(random_state=0).fit(X[train], y[train])
    plain = CurvedKNeighborsClassifier(
        learner=CurvedLMNN(geometry="flat", init="identity", random_state=0)
    ).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > plain.score(X[test], y[test]) + 0.1
    weight = np.linalg.norm(model.metric_.metrics[-1].factor * X[train].std(axis=0), axis=0)
    assert weight[:15].mean() > 5 * weight[15:].mean()


def test_units_of_columns_do_not_matter():
    X, y = wide_table(40, 200, 10)
    units = 10.0 ** np.random.default_rng(1).integers(-3, 4, size=200)
    first = CurvedKNeighborsClassifier(random_state=0, geometry="elliptic").fit(X, y)
    second = CurvedKNeighborsClassifier(random_state=0, geometry="elliptic").fit(X * units, y)
    np.testing.assert_allclose(
        first.metric_.pairwise(X), second.metric_.pairwise(X * units), rtol=1e-6
    )


def test_constant_columns_and_repeated_rows():
    learner = CurvedLMNN(random_state=0)
    X, y = wide_table(70, 300, 10)
    X[:, 7] = 3.0
    weights = np.ones(70)
    weights[:10] = 2.0
    repeated = np.concatenate([np.arange(70), np.arange(10)])
    first = learner.fit(X, y, sample_weight=weights).metric_
    second = learner.fit(X[repeated], y[repeated]).metric_
    np.testing.assert_allclose(first.pairwise(X), second.pairwise(X), rtol=1e-6, atol=1e-9)
    moved = X.copy()
    moved[:, 7] = 100.0
    np.testing.assert_allclose(first.pairwise(moved), first.pairwise(X), rtol=1e-9, atol=1e-12)
