"""The verdict: flat truths are not curved, curved ones are found, and nothing irrelevant counts."""

import numpy as np
import pytest
from tests.curvature import draws

from cayleyklein import CurvedMetric, estimate_curvature
from cayleyklein.curvature import verdicts
from cayleyklein.datasets import load_wine

X = np.random.default_rng(0).normal(size=(200, 3))
TURNED = X[:, :2] @ [[0.8, -0.6], [0.6, 0.8]]
FLAT = {
    "plane": X[:, 0] > 0,
    "two thresholds": (X[:, 0] > 0) ^ (X[:, 1] > 0.3),
    "smooth": np.sin(2 * X[:, 0]) + X[:, 1] ** 2,
    "radius": np.linalg.norm(X, axis=1),
    "directions": np.arctan2(X[:, 1], X[:, 0]),
    "steps along turned axes": np.where(
        TURNED[:, 0] > 0.3,
        np.where(TURNED[:, 1] > 0, 2.0, 0.0),
        np.where(TURNED[:, 1] > -0.5, 1.0, 3.0),
    ),
    "three slices": np.digitize(X[:, 0], [-0.5, 0.5]),
}


def hyperbolic_rows(n, seed, radius=4.0):
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rows = np.tanh(radius * rng.uniform(size=(n, 1))) * directions
    D = CurvedMetric.euclidean(2, curvature=-1.0).pairwise(rows)
    root = np.linalg.cholesky(np.exp(-D / np.median(D)) + 0.01 * np.eye(n))
    return rows, root @ rng.normal(size=n)


@pytest.mark.parametrize("name", FLAT)
def test_flat_truths_are_not_curved(name):
    found = estimate_curvature(X, FLAT[name], random_state=0, n_grid=5)
    assert found.verdict == "no evidence"
    assert found.geometry == "flat"
    assert found.rival in found.sentence


def test_hyperbolic_draws_are_curved():
    found = [estimate_curvature(*hyperbolic_rows(300, s), random_state=0, n_grid=5) for s in (0, 1)]
    for one in found:
        assert one.verdict == "curved"
        assert one.headline == "curved, hyperbolic"
        assert one.margins.rescaled.nats > 3


def test_seeds_of_folds_and_units_of_single_columns_do_not_change_the_verdict():
    rows, y = hyperbolic_rows(300, 0)
    expected = estimate_curvature(rows, y, random_state=0, n_grid=5)
    again = estimate_curvature(rows, y, random_state=7, n_grid=5)
    assert again.verdict == expected.verdict
    assert again.margins.rescaled.nats == pytest.approx(expected.margins.rescaled.nats, abs=1e-6)
    scaled = estimate_curvature(rows * [1.0, 50.0], y, random_state=0, n_grid=5)
    assert scaled.headline == expected.headline


def test_the_same_seed_gives_the_same_verdict():
    found = [estimate_curvature(X, FLAT["smooth"], random_state=3, n_grid=5) for _ in range(2)]
    assert found[0].margins == found[1].margins


def test_names_of_classes_and_the_order_of_rows_change_nothing():
    wine = load_wine()
    rows, names = wine.data[::2], wine.target[::2].astype(str)
    expected = estimate_curvature(rows, names, random_state=0, n_grid=5)
    order = np.random.default_rng(0).permutation(len(rows))
    again = np.array(["z" + name if name == "1" else "a" + name for name in names])
    found = estimate_curvature(rows[order], again[order], random_state=0, n_grid=5)
    np.testing.assert_allclose(found.margins.rescaled[1:], expected.margins.rescaled[1:], rtol=1e-6)
    assert found.verdict == expected.verdict


def test_noise_predicts_nothing_and_two_classes_may_be_rare():
    rng = np.random.default_rng(0)
    found = estimate_curvature(X, rng.normal(size=len(X)), random_state=0, n_grid=5)
    assert found.verdict == "too few rows, or nothing predicts y"
    rare = np.zeros(len(X), dtype=int)
    rare[:2] = 1
    assert estimate_curvature(X, rare, random_state=0, n_grid=5).geometry == "flat"


def test_equal_rows_share_a_fold():
    z, rng = np.repeat(X[:40], 3, axis=0), np.random.RandomState(0)
    folds = verdicts.deal(z, z[:, :1], False, rng)
    assert (folds.reshape(-1, 3) == folds[::3, None]).all()
    assert set(folds) == set(range(5))


def test_samples_keep_the_shares_of_classes():
    Y = (np.arange(1000) < 100).astype(float)[:, None]
    some = verdicts.stratified(Y - Y.mean(), True, 200, np.random.RandomState(0))
    assert len(set(some)) == 200
    assert (some < 100).sum() == pytest.approx(20, abs=1)


def test_few_rows_and_small_tables_have_a_verdict():
    rows = draws.rows(12, 2, 0)
    assert estimate_curvature(rows, rows[:, 0], random_state=0, n_grid=5).verdict
    assert estimate_curvature(rows[:, :1], rows[:, 0] > 0, random_state=0, n_grid=5).verdict


def test_intervals_of_hyperbolic_rows_near_the_end_of_space_hold_their_curvature():
    rows, y = hyperbolic_rows(300, 1)
    found = estimate_curvature(rows + 3, y, random_state=0, n_grid=9)
    assert found.interval[0] <= -1 <= found.interval[1] + 1e-3
    np.testing.assert_allclose(found.metric.center, 3, atol=0.05)
    assert found.metric.contains(rows + 3).all()
