"""Landmarks: which are drawn, and how a machine of them is tuned, against plain solves."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.learning.rows import GivenRows
from cayleyklein.parts import landmarks
from cayleyklein.parts.kernel import KernelPart, MetricDistance, Tuning
from cayleyklein.parts.places import pool_rows

PLANE = CurvedMetric.euclidean(2, curvature=-0.5)
DISTANCE = MetricDistance(PLANE)
TUNINGS = [Tuning(gamma, ridge) for gamma in (0.3, 3.0) for ridge in (1e-3, 0.3, 30.0)]


def problem(n=90, noise=0.3, seed=0):
    """Rows of which the last third is held out, with weights."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.8, 0.8, size=(n, 2))
    y = np.sin(6 * X[:, 0]) * X[:, 1] + noise * rng.normal(size=n) + 3.0
    weights = rng.uniform(0.5, 2.0, size=n)
    held = np.arange(n) >= 2 * n // 3
    rest = GivenRows(X, y, np.where(held, 0.0, weights), 2)
    out = GivenRows(X, y, weights, 2).take(np.flatnonzero(held))
    sample = pool_rows(rest, y[:, None], False)
    return landmarks.ManyRows(rest, out, rest.draw(None, 1, rng), sample, lambda y: y[:, None])


def fitted(rows, gammas, ridges, n_landmarks, rng):
    """Fit a part of the distance to many rows."""
    part = KernelPart("plane", lambda rows: DISTANCE, gammas, ridges)
    return landmarks.fit_by_landmarks(part, rows, None, n_landmarks, rng)


def plain_fit(X, y, weights, Z, gamma, ridge, mean):
    """Return the coefficients of the kernels at Z with the least squared error and penalty."""
    K, G = np.exp(-gamma * PLANE.pairwise(X, Z)), np.exp(-gamma * PLANE.pairwise(Z))
    return np.linalg.solve(K.T @ (weights[:, None] * K) + ridge * G, K.T @ (weights * (y - mean)))


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_held_out_rows_choose_the_tuning_with_the_least_error(noise, monkeypatch):
    monkeypatch.setattr(landmarks, "SHARES", (1.0,))
    rows = problem(noise=noise)
    Z = rows.rest.X[:20]
    found, scores = landmarks.fit_landmarks(DISTANCE, Z, np.arange(20), rows, TUNINGS)
    taught = rows.rest.weights > 0
    X, y, w = rows.rest.X[taught], rows.rest.target[taught], rows.rest.weights[taught]
    pairs = PLANE.pairwise(Z)[np.triu_indices(20, 1)]
    mean, errors, said = w @ y / w.sum(), {}, {}
    for tuning in TUNINGS:
        gamma = tuning.gamma / np.median(pairs)
        a = plain_fit(X, y, w, Z, gamma, tuning.ridge, mean)
        said[tuning] = np.exp(-gamma * PLANE.pairwise(rows.held_out.X, Z)) @ a + mean
        errors[tuning] = rows.held_out.weights @ (said[tuning] - rows.held_out.target) ** 2
    best = min(errors, key=errors.get)
    assert found.tuning == best
    assert best not in (TUNINGS[0], TUNINGS[-1])
    np.testing.assert_allclose(scores[:, 0], said[best], atol=1e-7)
    # the machine that is kept learns from the held-out rows too
    all_X, all_y = np.vstack([X, rows.held_out.X]), np.append(y, rows.held_out.target)
    weights = np.append(w, rows.held_out.weights)
    a = plain_fit(all_X, all_y, weights, Z, found.gamma, best.ridge, mean)
    Q = np.random.default_rng(5).uniform(-0.8, 0.8, size=(10, 2))
    expected = np.exp(-found.gamma * PLANE.pairwise(Q, Z)) @ a + mean
    np.testing.assert_allclose(found.scores(Q)[:, 0], expected, atol=1e-6)
    inner = np.exp(-found.gamma * PLANE.pairwise(Z))
    cross = np.exp(-found.gamma * PLANE.pairwise(Z, np.vstack([X, rows.held_out.X])))
    joint = inner + cross @ (weights[:, None] * cross.T) / best.ridge
    ask = np.exp(-found.gamma * PLANE.pairwise(Q, Z))
    known = ask @ np.linalg.solve(inner, ask.T) - ask @ np.linalg.solve(joint, ask.T)
    np.testing.assert_allclose(found.variances(Q), 1 + best.ridge - np.diag(known), atol=1e-5)
    np.testing.assert_allclose(found.targets[:, 0] + mean, found.scores(Z)[:, 0], atol=1e-9)
    numbers, effects = found.row_effects(Q[0])
    assert sorted(numbers) == list(range(20))
    np.testing.assert_allclose(effects.sum(axis=0) + mean, found.scores(Q[:1])[0], atol=1e-5)


def test_more_landmarks_must_earn_it():
    rows = problem(noise=3.0)
    few, _ = landmarks.fit_landmarks(DISTANCE, rows.rest.X[:40], np.arange(40), rows, TUNINGS)
    assert len(few.rows) == 20
    rows = problem(n=300, noise=0.0)
    many, _ = landmarks.fit_landmarks(DISTANCE, rows.rest.X[:40], np.arange(40), rows, TUNINGS)
    assert len(many.rows) == 40
    np.testing.assert_array_equal(many.numbers, np.arange(40))


@pytest.mark.parametrize("asked", [1, 2, 7, 30])
def test_there_are_as_many_landmarks_as_were_asked_for_or_half(asked):
    """At least two, as one has no distance to another."""
    rows = problem(n=300, noise=0.0)
    rng = np.random.default_rng(0)
    found, _ = fitted(rows, (1.0,), (0.1,), asked, rng)
    size = max(2, asked)
    assert len(found.rows) in (size, round(0.5 * size))
    assert max(asked, 2) == 2 or len(found.rows) == size  # without noise more are better


def test_landmarks_are_distinct_rows_of_positive_weight_by_class():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(400, 2)).astype(float)
    y = (X[:, 0] > 8).astype(int)
    weights = (X[:, 1] != 3).astype(float)
    given = GivenRows(X, y, weights, 2, np.arange(2))
    Z, numbers = landmarks.drawn_landmarks(given, 80, rng)
    np.testing.assert_array_equal(X[numbers], Z)
    assert len(np.unique(Z, axis=0)) == len(Z)
    assert (weights[numbers] == 1).all()
    assert np.mean(y[numbers]) == pytest.approx(np.mean(y[weights > 0]), abs=0.08)
    assert not (np.diff(numbers) > 0).all()  # in a random order: the first half is a sample too


def test_a_trial_keeps_the_neighbours_of_the_best_ridge():
    """γ of the sample or a narrower one; among all λ the machine's is the best of the held-out."""
    rows = problem(n=400, noise=0.3)
    ridges = (1e-3, 1e-1, 10.0, 1e3)
    found, _ = fitted(rows, (0.3, 1.0), ridges, 60, np.random.default_rng(0))
    assert found.tuning.ridge in (1e-1, 1e-3)
    assert found.tuning.gamma in (0.3, 1.0, 0.3 * 3.0, 3.0)
    one, _ = fitted(rows, (0.7,), (0.2,), 60, np.random.default_rng(0))
    assert one.tuning == Tuning(0.7, 0.2)


def test_without_noise_the_least_penalty_is_the_best():
    rows, rng = problem(n=400, noise=0.0), np.random.default_rng(0)
    found, _ = fitted(rows, (1.0,), (1e-6, 1.0, 1e3), 60, rng)
    assert found.tuning.ridge == 1e-6
    # and of noise alone the largest is
    noise = rows._replace(targets=lambda y: np.random.default_rng(1).normal(size=(len(y), 1)))
    sample = noise.sample._replace(targets=rng.normal(size=noise.sample.targets.shape))
    found, _ = fitted(noise._replace(sample=sample), (1.0,), (1e-6, 1.0, 1e3), 60, rng)
    assert found.tuning.ridge == 1e3
