"""The cell of a query is that of its nearest generators: the definition of the diagram."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.neighbors import NearestNeighbors
from tests.diagrams.helpers import (
    CURVATURES,
    assert_cells_are_nearest,
    nearest_sets,
    power_distances,
    random_metric,
    spread_points,
)
from tests.strategies import curvatures, seeds

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi, equivalent_balls
from cayleyklein.exceptions import NotRepresentableError, TooLargeError
from cayleyklein.geometry import proximity_planes


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize(("d", "n", "order"), [(1, 40, 3), (2, 200, 1), (3, 150, 1), (4, 60, 1)])
def test_many_queries(K, d, n, order):
    rng = np.random.default_rng(d)
    metric = random_metric(rng, d, K)
    diagram = CayleyKleinVoronoi(spread_points(rng, metric, n), metric, order=order)
    assert_cells_are_nearest(diagram, spread_points(rng, metric, 20_000, reach=0.999))


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize(
    ("d", "n", "order"), [(2, 60, 2), (2, 60, 3), (2, 60, 4), (3, 40, 3), (4, 25, 2)]
)
def test_many_queries_of_higher_order(K, d, n, order):
    rng = np.random.default_rng(10 * d + order)
    metric = random_metric(rng, d, K)
    diagram = CayleyKleinVoronoi(spread_points(rng, metric, n), metric, order=order)
    assert_cells_are_nearest(diagram, spread_points(rng, metric, 5_000, reach=0.999))


@settings(max_examples=40)
@given(seeds, curvatures, st.integers(1, 3), st.integers(1, 12), st.integers(1, 3))
def test_any_metric(seed, K, d, n, order):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, d, K)
    diagram = CayleyKleinVoronoi(
        spread_points(rng, metric, n + order), metric, order=order if n > 1 else 1
    )
    X = spread_points(rng, metric, 200, reach=0.99)
    expected, clear = nearest_sets(metric, diagram.points, X, diagram.order)
    found = diagram.cell_generators[diagram.locate(X)]
    np.testing.assert_array_equal(found[clear], expected[clear])


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize(("d", "n"), [(2, 9), (3, 7)])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_order_k_has_all_sets_that_occur(K, d, n, order):
    """Sets found anywhere by dense sampling are cells; each cell has a point where it is right."""
    rng = np.random.default_rng(n * order)
    metric = random_metric(rng, d, K)
    points = spread_points(rng, metric, n)
    diagram = CayleyKleinVoronoi(points, metric, order=order)
    found = set(map(tuple, diagram.cell_generators.tolist()))
    assert len(found) == len(diagram.cell_generators)
    assert found <= set(itertools.combinations(range(n), order))
    X = spread_points(rng, metric, 20_000, reach=0.9999 if K < 0 else 3.0)
    sampled, clear = nearest_sets(metric, points, X, order)
    assert set(map(tuple, sampled[clear].tolist())) <= found
    if d == 2:  # a point of each cell, from its exact shape
        shown = np.flatnonzero(diagram.areas() > 1e-9 * diagram.areas().sum())
        assert K >= 0 or len(shown) == len(found)
        boundaries = diagram.boundaries()
        inner = np.array([boundaries[i].starts.mean(axis=0) for i in shown])
        sets, clear = nearest_sets(metric, points, inner, order)
        np.testing.assert_array_equal(sets[clear], diagram.cell_generators[shown][clear])


@pytest.mark.parametrize("K", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize(("d", "n", "order"), [(2, 8, 2), (2, 8, 3), (3, 7, 3)])
def test_order_k_has_the_sets_that_linear_programs_find(K, d, n, order):
    """A set has a cell where all its planes can be above all others: one program for each set."""
    rng = np.random.default_rng(n * order)
    metric = random_metric(rng, d, K)
    points = spread_points(rng, metric, n)
    planes = proximity_planes(points, metric)
    slopes = planes.normal / np.abs(planes.normal).max()
    heights = planes.offset / np.abs(planes.normal).max()
    reach = 10 * np.abs(points).max()

    def margin(chosen):
        others = np.setdiff1d(np.arange(n), chosen)
        i, j = np.array(list(itertools.product(chosen, others))).T
        # the largest t with f_i(x) - f_j(x) ≥ t
        system = np.column_stack([slopes[j] - slopes[i], np.ones(len(i))])
        bounds = [(-reach, reach)] * d + [(None, 1.0)]
        objective = np.append(np.zeros(d), -1.0)
        return -linprog(objective, system, heights[i] - heights[j], bounds=bounds).fun

    window = reach * np.array([-np.ones(d), np.ones(d)])
    diagram = CayleyKleinVoronoi(points, metric, order=order, window=window)
    sizes = diagram.areas() if d == 2 else np.array([mesh.volume for mesh in diagram.cells()])
    found = set(map(tuple, diagram.cell_generators[sizes > 0].tolist()))
    for chosen in itertools.combinations(range(n), order):
        room = margin(np.array(chosen))
        if abs(room) > 1e-7 * np.abs(heights).max():
            assert (chosen in found) == (room > 0)


def test_agrees_with_neighbours_of_scikit_learn():
    rng = np.random.default_rng(3)
    points, X = rng.normal(size=(500, 2)), rng.normal(size=(5_000, 2)) * 3
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2), order=3)
    expected = NearestNeighbors(n_neighbors=3).fit(points).kneighbors(X, return_distance=False)
    found = diagram.cell_generators[diagram.locate(X)]
    np.testing.assert_array_equal(found, np.sort(expected, axis=1))


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_queries_far_beyond_the_walls(K):
    """Outside a hyperbolic domain the ranking goes on as the affine functions do."""
    rng = np.random.default_rng(4)
    metric = random_metric(rng, 2, K)
    points = spread_points(rng, metric, 40)
    X = rng.normal(size=(300, 2)) * 10.0 ** rng.uniform(-1, 12, size=(300, 1))
    scores = -power_distances(equivalent_balls(points, metric), X)
    best = np.sort(scores, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-9 * np.abs(best[:, -1])
    assert clear.sum() > 30
    found = CayleyKleinVoronoi(points, metric).locate(X)
    np.testing.assert_array_equal(found[clear], scores.argmax(axis=1)[clear])


@pytest.mark.parametrize("radius", [6.0, 12.0, 17.0])
@pytest.mark.parametrize("order", [1, 2])
def test_generators_near_the_absolute(radius, order):
    rng = np.random.default_rng(5)
    metric = CurvedMetric.euclidean(2, curvature=-1.0)

    def at_all_radii(n):
        angle, r = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, radius, n)
        return np.tanh(r)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    diagram = CayleyKleinVoronoi(at_all_radii(150), metric, order=order)
    assert_cells_are_nearest(diagram, at_all_radii(3_000))
    np.testing.assert_allclose(diagram.areas().sum(), np.pi, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e2, 1e5])
def test_generators_near_the_equator(scale):
    rng = np.random.default_rng(6)
    points, X = rng.standard_cauchy((150, 2)) * scale, rng.standard_cauchy((3_000, 2)) * scale
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=1.0))
    assert_cells_are_nearest(diagram, X)


@pytest.mark.parametrize("K", CURVATURES)
def test_a_far_off_cluster(K):
    """1e-5 wide, a thousand widths from μ at the least, where plain planes would cancel."""
    rng = np.random.default_rng(7)
    metric = CurvedMetric.euclidean(2, curvature=K)
    points, X = (np.array([0.6, 0.5]) + 1e-5 * rng.normal(size=(n, 2)) for n in (100, 3_000))
    assert_cells_are_nearest(CayleyKleinVoronoi(points, metric), X)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("d", [2, 3])
def test_equivalent_balls(K, d):
    rng = np.random.default_rng(8)
    metric = random_metric(rng, d, K)
    points, X = spread_points(rng, metric, 30), spread_points(rng, metric, 500)
    balls = equivalent_balls(points, metric)
    power = power_distances(balls, X)
    expected, clear = nearest_sets(metric, points, X, 1)
    np.testing.assert_array_equal(power.argmin(axis=1)[clear], expected[clear, 0])


@pytest.mark.parametrize("K", [-2.0, -1e-6, 1e-6, 2.0])
def test_the_papers_own_balls(K):
    """c = (Σp + a)/2√|S_pp|, r² = ‖c‖² + (aᵀp + b)/√|S_pp|, of the same diagram as ours."""
    rng = np.random.default_rng(9)
    metric = random_metric(rng, 2, K)
    points, X = spread_points(rng, metric, 30), spread_points(rng, metric, 500)
    a, b = metric.form[:-1, -1], metric.form[-1, -1]
    tilde = np.column_stack([points, np.ones(len(points))])
    root = np.sqrt(np.abs(np.einsum("ij,jk,ik->i", tilde, metric.form, tilde)))
    centers = (points @ metric.matrix + a) / (2 * root[:, None])
    sq_radii = (centers**2).sum(axis=1) + (points @ a + b) / root
    paper = equivalent_balls(points, metric, as_printed=True)
    np.testing.assert_allclose(paper.centers, centers, rtol=1e-9, atol=1e-9 * np.abs(centers).max())
    np.testing.assert_allclose(paper.sq_radii, sq_radii, rtol=1e-9)
    ours = power_distances(equivalent_balls(points, metric), X)
    clear = nearest_sets(metric, points, X, 1)[1]
    found = power_distances(paper, X).argmin(axis=1)
    if abs(K) > 1:  # their radii are 1e3 where K is 1e-6, which drowns small differences
        np.testing.assert_array_equal(found[clear], ours.argmin(axis=1)[clear])


def test_a_flat_metric_has_no_balls_of_the_paper():
    with pytest.raises(NotRepresentableError, match="infinitely large; leave out as_printed"):
        equivalent_balls([[0.0, 1.0]], CurvedMetric.euclidean(2), as_printed=True)


def test_a_refusal_says_how_many_cells_there_would_be():
    # (2k - 1) n - k² + 1 in the plane (Lee 1982)
    n, k = 10_000, 4999
    points = np.random.default_rng(0).normal(size=(n, 2))
    with pytest.raises(TooLargeError, match=f"{(2 * k - 1) * n - k * k + 1:,} cells"):
        CayleyKleinVoronoi(points, CurvedMetric.euclidean(2), order=k)
