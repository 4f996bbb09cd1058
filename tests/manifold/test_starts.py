"""Starts of descents: classical scaling, points placed among others, and the middle of points."""

import numpy as np
import pytest

from cayleyklein.manifold import _placing, scaling
from cayleyklein.manifold._stress import distances, to_centered, to_stereographic, to_surface

CURVATURES = [-1.0, -1e-3, 0.0, 1e-3, 1.0]


def points(n, K, r=2):
    return np.random.default_rng(0).normal(size=(n, r)) * 0.3


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("n", [12, 310])
def test_classical_scaling_finds_points_that_are_there(K, n):
    v = points(n, K)
    found = scaling.classical_scaling(distances(v, K), K, 2)
    np.testing.assert_allclose(distances(found, K), distances(v, K), atol=1e-3 if n > 300 else 1e-9)


@pytest.mark.parametrize("K", CURVATURES)
def test_points_are_placed_among_others_where_they_are(K):
    v = points(12, K)
    found = scaling.place_among(v[:8], K, distances(v[8:], K, v[:8]))
    np.testing.assert_allclose(found, v[8:], atol=1e-9)


@pytest.mark.parametrize("K", CURVATURES)
def test_the_middle_of_points_is_at_the_origin(K):
    v = points(12, K) + np.array([0.5, 0.2])
    found = to_centered(to_surface(v, K), K)
    np.testing.assert_allclose(distances(found, K), distances(v, K), atol=1e-9)
    if K > 0:  # the direction of the mean vector
        np.testing.assert_allclose(to_surface(found, K)[:, :-1].mean(axis=0), 0, atol=1e-12)
    else:
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-6)
    u = to_surface(found, K)[:, :-1]
    across = u.T @ u
    assert across[0, 0] > across[1, 1]
    assert abs(across[0, 1]) < 1e-6 * across[0, 0]
    assert all(column[np.abs(column).argmax()] > 0 for column in u.T)


@pytest.mark.parametrize("K", CURVATURES)
def test_the_system_of_a_step_is_that_of_differences(K):
    rng = np.random.default_rng(0)
    fixed, at = rng.normal(size=(7, 3)) * 0.5, rng.normal(size=(2, 3)) * 0.5
    target, weights = rng.uniform(size=(2, 2, 7))
    stereographic = to_stereographic(fixed, K)
    found = _placing.expand(stereographic, K, at, target, weights, np.array([1, 0]))
    J = np.empty((2, 7, 3))
    for a, step in enumerate(1e-6 * np.eye(3)):
        J[:, :, a] = (distances(at + step, K, fixed) - distances(at - step, K, fixed)) / 2e-6
    omega, gap = weights[::-1], distances(at, K, fixed) - target[::-1]
    np.testing.assert_allclose(found[0], (omega * gap**2).sum(axis=1))
    np.testing.assert_allclose(found[1], np.einsum("mj,mj,mja->ma", omega, gap, J), atol=1e-8)
    np.testing.assert_allclose(found[2], np.einsum("mj,mja,mjb->mab", omega, J, J), atol=1e-8)


def test_missing_dissimilarities_are_bridged():
    D = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
    known = np.ones((3, 3), dtype=bool)
    np.testing.assert_array_equal(scaling.bridged(D, known), D)
    known[0, 2] = known[2, 0] = False
    assert scaling.bridged(D, known)[0, 2] == 3.0


def problem(delta, K=None, **more):
    given = {"max_iter": 200, "tol": 1e-8, "rng": np.random.RandomState(0)} | more
    return scaling.ScalingProblem(delta, None, delta, 2, K, **given)


def test_units_of_curvature():
    scaled = problem(distances(points(6, 0.0), 0.0))
    longest = scaled.longest
    assert scaled.curvature(-8.0) == pytest.approx(-64 / longest**2)
    assert scaled.curvature(2.0) == pytest.approx(4 / longest**2)
    assert scaled.curvature(0.0) == 0


def test_whether_dissimilarities_decide_the_curvature():
    three = problem(distances(points(3, 0.0), 0.0))
    best = three.descend(three.classical(0.0), 0.0)
    assert not three.determines_curvature(best)
    flat = problem(distances(points(8, 0.0), 0.0))
    assert flat.determines_curvature(flat.descend(flat.classical(0.0), 0.0))


def test_the_curvature_is_no_stronger_than_the_strongest():
    star = 2.0 - 2 * np.eye(12)
    star[0, 1:] = star[1:, 0] = 1
    scaled = problem(star)
    fit = scaled.solve(1)
    assert np.sqrt(-fit.K) * scaled.longest == pytest.approx(16)


@pytest.mark.parametrize("K", CURVATURES)
def test_new_points_are_placed_at_their_distances(K):
    v = points(9, K)
    target = distances(v, K)[[3, 7, 8], :7]
    weights = np.ones((3, 7))
    target[2, 0] = 0.0  # of no weight, so that the point need not coincide with the first
    weights[2, 0] = 0.0
    found, converged = _placing.place(v[:7], K, target, weights, 200)
    assert converged.all()
    np.testing.assert_array_equal(found[0], v[3])
    np.testing.assert_allclose(found[1:], v[7:], atol=1e-4)
