from dataclasses import replace

import numpy as np
import pytest

from cayleyklein.geometry import Frame, distance
from cayleyklein.learning._data import TrainingRows
from cayleyklein.learning._loss import Links, Problem, loss_and_gradient
from cayleyklein.learning._recipes import GEOMETRIES
from cayleyklein.learning._search import find_impostors, find_targets
from cayleyklein.learning._starts import (
    OFF_THE_KINK,
    STARTS,
    covariance,
    margin_scale,
    shrinkage,
    starting_factor,
)


def rows(X, labels, weights=None):
    X = np.asarray(X, dtype=float)
    return TrainingRows.from_raw(
        X, np.asarray(labels), np.ones(len(X)) if weights is None else np.asarray(weights, float)
    )


def test_equal_rows_of_a_class_become_one():
    data = rows([[1.0], [0.0], [1.0], [1.0]], [0, 0, 0, 1], [1, 2, 3, 4])
    assert data.labels.tolist() == [0, 0, 1]
    assert (data.weights / data.weights[0]).tolist() == [1, 2, 2]
    assert (data.mean + data.scale * data.X).ravel().tolist() == [0, 1, 1]


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_standardised_at_any_scale(unit):
    rng = np.random.default_rng(0)
    X = unit * (5 + rng.normal(size=(50, 2)))
    data = rows(X, np.zeros(50, int))
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1, rtol=1e-12)


def test_constant_columns_weigh_nothing():
    data = rows([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], [0, 0, 1])
    frame = data.to_raw(Frame(np.eye(2), curvature=0.5))
    assert frame.factor[1, 1] == 0
    assert distance([1.0, 0.0], [1.0, 9.0], frame) == 0
    assert not data.X[:, 1].any()


def test_frames_travel_both_ways():
    rng = np.random.default_rng(1)
    data = rows(rng.normal(size=(20, 3)) * [1, 10, 100], rng.integers(0, 2, 20))
    frame = Frame(rng.normal(size=(3, 3)), center=rng.normal(size=3), curvature=0.3)
    back = data.from_raw_frame(data.to_raw(frame))
    np.testing.assert_allclose(back.factor, frame.factor, rtol=1e-12)
    np.testing.assert_allclose(back.center, frame.center, rtol=1e-10)
    raw = data.mean + data.scale * data.X
    np.testing.assert_allclose(
        distance(raw[:5], raw[5:10], data.to_raw(frame)),
        distance(data.X[:5], data.X[5:10], frame),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("r", [2, 4])
def test_starts(name, r):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    data = rows(X, rng.integers(0, 3, 80))
    factor = starting_factor(data, name, r, None)
    assert factor.shape == (r, 4)
    assert np.linalg.matrix_rank(factor) == r
    scaled = starting_factor(data, name, r, 0.5)
    z = data.X @ scaled.T
    assert np.sqrt((z * z).sum(axis=1).mean()) == pytest.approx(0.5)
    if name in ("precision", "shrunk"):
        np.testing.assert_allclose(factor @ covariance(data) @ factor.T, np.eye(r), atol=1e-9)


def test_singular_covariance_is_shrunk():
    rng = np.random.default_rng(3)
    data = rows(rng.normal(size=(6, 10)), [0, 1] * 3)
    factor = starting_factor(data, "precision", 10, None)
    assert np.isfinite(factor).all()
    assert np.linalg.norm(factor, 2) < 100


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("r", [2, 4])
def test_a_start_does_not_see_constant_columns(name, r):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    labels = rng.integers(0, 3, 50)
    wide = np.column_stack([X[:, :2], np.full(50, 3.7), X[:, 2:], np.zeros(50)])
    varies = [0, 1, 3, 4]
    factor = starting_factor(rows(X, labels), name, r, None)
    wider = starting_factor(rows(wide, labels), name, r if r < 4 else 6, None)
    assert not wider[:, [2, 5]].any()
    np.testing.assert_allclose(
        wider[:, varies].T @ wider[:, varies], factor.T @ factor, rtol=1e-9, atol=1e-12
    )


def test_the_scale_of_a_start_does_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    data = rows(rng.normal(size=(90, 3)), rng.integers(0, 2, 90))
    whole = margin_scale(data, np.eye(3), GEOMETRIES["flat"])
    monkeypatch.setattr("cayleyklein.learning._starts.SCALE_ENTRIES", 7 * 90)
    assert margin_scale(data, np.eye(3), GEOMETRIES["flat"]) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("push", [0.3, 0.5, 0.9])
def test_a_flat_start_is_scaled_to_the_margin(push):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=60)
    X = 40 * (rng.normal(size=(60, 4)) + 0.8 * labels[:, None])
    data = rows(X, labels)
    recipe = replace(GEOMETRIES["flat"], n_targets=2, push=push)
    scale = margin_scale(data, np.eye(4), recipe) / OFF_THE_KINK
    targets = find_targets(data.X, data.labels, 2, Frame(np.eye(4)))
    problem = Problem(data.X, targets, data.weights, recipe.margin, push, squared=True)
    pairs, _ = find_impostors(data.X, data.labels, np.full(60, 1e9), Frame(np.eye(4)))
    links = Links.of(targets, pairs)

    def loss(multiple):
        return loss_and_gradient(problem, links, multiple * np.eye(4), np.zeros(4), 0.0).loss

    assert loss(scale) <= min(loss(scale * step) for step in (0.5, 0.9, 0.999, 1.001, 1.1, 2.0))


def test_shrinkage_is_that_of_scikit_learn():
    from sklearn.covariance import ledoit_wolf_shrinkage

    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 7)) * np.arange(1, 8)
    X -= X.mean(axis=0)
    fourth = (np.einsum("ij,ij->i", X, X) ** 2).sum()
    found = shrinkage(X.T @ X, fourth, 7, 30)
    assert found == pytest.approx(ledoit_wolf_shrinkage(X, assume_centered=True))
    assert 0 < found < 1
