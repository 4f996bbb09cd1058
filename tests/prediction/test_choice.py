"""What held-out rows choose: the product or plain neighbours, k, and the α of a mixed metric."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification, make_friedman1

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedMetric,
    MixedMetric,
    ProductMetric,
)
from cayleyklein.learning import choice, samples
from cayleyklein.learning.choice import choose_candidate
from cayleyklein.neighbors import space
from cayleyklein.prediction.rehearsal import ClassTrials


def blobs(n=150, d=4, seed=0):
    return make_classification(
        n, n_features=d, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        class_sep=0.8, random_state=seed,
    )  # fmt: skip


def test_auto_compares_the_product_with_plain_neighbours():
    model = CurvedKNeighborsClassifier(random_state=0).fit(*blobs())
    assert isinstance(model.metric_, ProductMetric)
    names = [trial.name for trial in model.selection_.trials]
    assert names == ["product", "standardised k-NN", "unscaled k-NN"]
    assert model.selection_.chosen == "product"
    assert "log loss" in repr(model.selection_)
    few = CurvedKNeighborsClassifier(random_state=0).fit(*blobs(45))
    assert few.learner_.geometry_ == "product"
    assert "too few distinct rows" in few.selection_.reason


def test_product_has_no_rival_but_chooses_k():
    model = CurvedKNeighborsClassifier(geometry="product", random_state=0).fit(*blobs())
    assert [trial.name for trial in model.selection_.trials] == ["product"]
    assert model.n_neighbors_ == model.selection_.trials[0].n_neighbors
    auto = CurvedKNeighborsClassifier(random_state=0).fit(*blobs())
    assert model.metric_ == auto.metric_


@pytest.mark.parametrize(("gain", "chosen"), [(0.3, "product"), (0.001, "plain"), (-0.1, "plain")])
def test_on_a_tie_the_simpler_model_wins(gain, chosen):
    """Candidates whose log losses differ by a gain that varies from row to row."""
    rng = np.random.default_rng(0)
    loss = rng.uniform(0.2, 1.0, size=(8, 400))
    right = np.ones((8, 400))
    better = loss - gain + 0.3 * rng.normal(size=400)
    scores = {"product": [np.array([better, right])], "plain": [np.array([loss, right])]}
    trials = ClassTrials()
    assert choose_candidate(scores, [np.ones(400)], trials, trials.tried).chosen == chosen


def test_plain_neighbours_are_a_metric_like_any_other(monkeypatch):
    rows, y = blobs()
    monkeypatch.setattr(samples, "TIE", np.inf)
    model = CurvedKNeighborsClassifier(random_state=0).fit(rows, y)
    assert model.selection_.chosen.endswith("k-NN")
    assert model.metric_.geometry == model.learner_.geometry_ == "flat"
    assert model.learner_.loss_history_ == []
    assert model.learner_.transform(rows).shape == (150, 4)


def test_a_large_table_holds_out_once():
    rows, y = blobs(3200, d=5)
    model = CurvedKNeighborsClassifier(random_state=0).fit(rows, y)
    assert "640 held-out rows" in model.selection_.reason


def test_alpha_of_a_mixed_metric_is_chosen():
    model = CurvedKNeighborsClassifier(geometry="mixed", random_state=0).fit(*blobs(120))
    assert len(model.selection_.trials) == 5
    assert model.selection_.chosen == f"α = {model.learner_.alpha_:.3g}"
    assert model.selection_.chosen in [trial.name for trial in model.selection_.trials]
    assert model.selection_.chosen in model._repr_html_()


@pytest.mark.parametrize(("k", "weights"), [(3, "uniform"), (1, "linear"), (7, "local")])
def test_alpha_is_chosen_for_the_votes_that_were_asked_for(k, weights):
    model = CurvedKNeighborsClassifier(k, geometry="mixed", weights=weights, random_state=0)
    model.fit(*blobs(120))
    assert {trial.n_neighbors for trial in model.selection_.trials} == {k}
    auto = CurvedKNeighborsClassifier(geometry="mixed", random_state=0).fit(*blobs(120))
    scores = [[t.scores["log loss"] for t in m.selection_.trials] for m in (model, auto)]
    assert not np.allclose(*scores)


def test_distances_of_a_mix_are_those_of_its_metric():
    rng = np.random.default_rng(0)
    X, Q = 0.3 * rng.normal(size=(2, 20, 2))
    parts = [CurvedMetric.euclidean(2, curvature=K) for K in (1.0, -0.5)]
    chords = space.ChordSpace(MixedMetric(parts, [0.5, 0.5]))
    tables = choice.distances_of_terms(chords, chords.place(Q), chords.place(X))
    for alpha in (0.0, 0.2, 0.9):
        expected = alpha * parts[0].pairwise(Q, X) + (1 - alpha) * parts[1].pairwise(Q, X)
        np.testing.assert_allclose(choice.mixed_distances(alpha, tables), expected, rtol=1e-9)


def test_a_mixed_metric_of_wide_rows_is_still_mixed():
    model = CurvedKNeighborsClassifier(geometry="mixed", random_state=0)
    model.fit(*blobs(120, d=300))
    assert model.metric_.geometry == "mixed"


def test_few_rows_teach_a_regressor_nothing_by_default():
    rows, y = make_friedman1(30, random_state=0)
    model = CurvedKNeighborsRegressor().fit(rows, y)
    assert model.selection_.chosen == "standardised k-NN"
    assert "too few distinct rows" in model.selection_.reason
    learned = CurvedKNeighborsRegressor(geometry="product").fit(rows, y)
    assert learned.metric_.geometry == "product"


def test_constant_targets_are_said_to_be():
    rows, _ = make_friedman1(90, random_state=0)
    with pytest.warns(UserWarning, match="y is the same in every row"):
        model = CurvedKNeighborsRegressor().fit(rows, np.ones(90))
    assert model.selection_.reason == "y is constant"


@pytest.mark.parametrize("geometry", ["auto", "mixed"])
def test_the_unit_of_the_weights_changes_nothing(geometry):
    rows, y = load_wine(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    models = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Classes .* have fewer than")
        for factor in (1.0, 2.0**-30, 1e-4):
            model = CurvedKNeighborsClassifier(geometry=geometry, random_state=0)
            models.append(model.fit(rows[::2], y[::2], sample_weight=factor * weights[::2]))
    expected = models[0].predict_proba(rows[1::2])
    np.testing.assert_array_equal(models[1].predict_proba(rows[1::2]), expected)
    np.testing.assert_allclose(models[2].predict_proba(rows[1::2]), expected, rtol=1e-6)
