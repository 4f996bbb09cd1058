"""What a change of the question must do to the answer, whatever the answer is."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.diagrams.helpers import random_metric, spread_points
from tests.strategies import seeds, well_conditioned

from cayleyklein import (
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
    MixedMetric,
)
from cayleyklein.diagrams import CayleyKleinVoronoi

CURVATURES = (-1.0, -1e-6, 0.0, 1e-6, 1.0)
GEOMETRIES = ("flat", "elliptic", "hyperbolic")
a_few = settings(max_examples=12)
some_fits = settings(max_examples=5)
curvatures = st.sampled_from(CURVATURES)
powers = st.integers(-40, 40)


def changed(metric, matrix, shift):
    """The metric of x ↦ Ax + b: it gives the images the distances of the points."""
    return CurvedMetric(
        factor=metric.factor @ np.linalg.inv(matrix),
        center=matrix @ metric.center + shift,
        curvature=metric.curvature,
    )


def problem(seed, n=30, d=3):
    """Labelled rows and a metric, and queries in its domain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, size=n)]
    y[:3] = ["a", "b", "c"]
    return rng, X, y


# -- metrics and neighbours ----------------------------------------------------------------


@given(seeds, curvatures)
@a_few
def test_columns_permuted(seed, K):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 4, K)
    X, order = spread_points(rng, metric, 25), rng.permutation(4)
    turned = CurvedMetric(factor=metric.factor[:, order], center=metric.center[order], curvature=K)
    np.testing.assert_allclose(
        turned.pairwise(X[:, order]), metric.pairwise(X), rtol=1e-10, atol=1e-12
    )


@given(seeds, curvatures)
@a_few
def test_rows_permuted(seed, K):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 3, K)
    X, queries, order = *(spread_points(rng, metric, n) for n in (60, 20)), rng.permutation(60)
    np.testing.assert_allclose(
        metric.pairwise(X[order]), metric.pairwise(X)[order][:, order], rtol=1e-10, atol=1e-12
    )
    distances, rows = CurvedNeighbors(4, metric=metric).fit(X).kneighbors(queries)
    again, moved = CurvedNeighbors(4, metric=metric).fit(X[order]).kneighbors(queries)
    np.testing.assert_array_equal(order[moved], rows)
    np.testing.assert_array_equal(again, distances)


@given(seeds, curvatures)
@a_few
def test_affine_changes_are_undone_by_the_metric(seed, K):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 3, K)
    X, queries = spread_points(rng, metric, 40), spread_points(rng, metric, 10)
    matrix, shift = well_conditioned(rng, 3), rng.normal(size=3)
    moved = changed(metric, matrix, shift)
    np.testing.assert_allclose(
        moved.pairwise(X @ matrix.T + shift), metric.pairwise(X), rtol=1e-7, atol=1e-9
    )
    found = CurvedNeighbors(3, metric=moved).fit(X @ matrix.T + shift)
    np.testing.assert_array_equal(
        found.kneighbors(queries @ matrix.T + shift)[1],
        CurvedNeighbors(3, metric=metric).fit(X).kneighbors(queries)[1],
    )


@given(seeds, curvatures, powers, powers)
@a_few
def test_powers_of_two_move_no_digit(seed, K, of_units, of_length):
    """Neither another unit of the columns, nor one of the distance."""
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 3, K)
    X, queries = spread_points(rng, metric, 40), spread_points(rng, metric, 10)
    unit, length = 2.0**of_units, 2.0**of_length
    scaled = CurvedMetric(
        factor=metric.factor * (length / unit),
        center=metric.center * unit,
        curvature=K / length**2,
    )
    np.testing.assert_array_equal(
        scaled.distance(X[:10] * unit, queries * unit), length * metric.distance(X[:10], queries)
    )
    np.testing.assert_array_equal(scaled.pairwise(X * unit), length * metric.pairwise(X))
    distances, rows = CurvedNeighbors(5, metric=metric).fit(X).kneighbors(queries)
    again, same = CurvedNeighbors(5, metric=scaled).fit(X * unit).kneighbors(queries * unit)
    np.testing.assert_array_equal(same, rows)
    np.testing.assert_array_equal(again, length * distances)


@given(seeds, curvatures)
@a_few
def test_duplicated_rows_are_neighbours_twice(seed, K):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 2, K)
    X, queries = spread_points(rng, metric, 30), spread_points(rng, metric, 10)
    distances, rows = CurvedNeighbors(3, metric=metric).fit(X).kneighbors(queries)
    twice = CurvedNeighbors(6, metric=metric).fit(np.vstack([X, X]))
    far, both = twice.kneighbors(queries)
    np.testing.assert_array_equal(both[:, ::2], rows)
    np.testing.assert_array_equal(both[:, 1::2], rows + 30)
    np.testing.assert_array_equal(far, np.repeat(distances, 2, axis=1))


@given(seeds, curvatures)
@a_few
def test_a_far_class_changes_no_answer(seed, K):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 2, K)
    near = spread_points(rng, metric, 30, reach=0.2)
    queries = spread_points(rng, metric, 10, reach=0.2)
    y = np.array(["a", "b"])[np.arange(30) % 2]
    z = rng.normal(size=(10, 2))
    z *= 0.9 / np.linalg.norm(z, axis=1, keepdims=True)
    far = metric.points(z / np.sqrt(abs(K)) if K else z)
    model = CurvedKNeighborsClassifier(3, metric=metric, weights="distance").fit(near, y)
    more = CurvedKNeighborsClassifier(3, metric=metric, weights="distance").fit(
        np.vstack([far, near]), ["0 far"] * 10 + y.tolist()
    )
    np.testing.assert_array_equal(more.predict(queries), model.predict(queries))
    # No votes: what it has is its share of the 0.1 votes of the prior, beside 1 vote or more.
    assert more.predict_proba(queries)[:, 0].max() <= 0.1 * 10 / 40 / 1.1


@given(seeds, st.floats(-15, -2))
@a_few
def test_curvature_sweeps_through_zero(seed, exponent):
    """Distances, blocks of them, and neighbours: smooth in K at 0, from both sides."""
    rng = np.random.default_rng(seed)
    flat = random_metric(rng, 3, 0.0)
    X, queries = spread_points(rng, flat, 40), spread_points(rng, flat, 10)
    step = 10**exponent
    D, pairs = flat.distance(X[:10], queries), flat.pairwise(X)
    bent = [
        CurvedMetric(factor=flat.factor, center=flat.center, curvature=K) for K in (-step, step)
    ]
    for metric in bent:
        # |z| ≤ 1, so that distances have a slope in K of order 1
        np.testing.assert_allclose(metric.distance(X[:10], queries), D, atol=3 * step + 1e-14)
        np.testing.assert_allclose(metric.pairwise(X), pairs, atol=3 * step + 1e-13)
    below, above = (metric.distance(X[:10], queries) for metric in bent)
    np.testing.assert_allclose((below + above) / 2, D, atol=20 * step**2 + 1e-14)
    if step < 1e-6:
        rows = CurvedNeighbors(3, metric=flat).fit(X).kneighbors(queries)[1]
        for metric in bent:
            found = CurvedNeighbors(3, metric=metric).fit(X).kneighbors(queries)[1]
            np.testing.assert_array_equal(found, rows)


def test_a_mixture_is_what_its_parts_are():
    """Permuted parts, a scaled weight, and a part that is split in two."""
    rng = np.random.default_rng(0)
    first, second = random_metric(rng, 2, 1.0), random_metric(rng, 2, 0.5)
    X = rng.normal(size=(20, 2))
    D = MixedMetric([first, second], [0.25, 0.75]).pairwise(X)
    np.testing.assert_allclose(MixedMetric([second, first], [0.75, 0.25]).pairwise(X), D)
    np.testing.assert_array_equal(MixedMetric([first, second], [1, 3]).pairwise(X), 4 * D)
    split = MixedMetric([first, second, first], [0.125, 0.75, 0.125])
    np.testing.assert_allclose(split.pairwise(X), D)


# -- learners ------------------------------------------------------------------------------


def learned(X, y, geometry, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small classes and few iterations
        return CurvedLMNN(geometry=geometry, random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("geometry", [*GEOMETRIES, "mixed"])
@given(seeds)
@some_fits
def test_learning_does_not_see_the_order_of_rows_nor_copies(geometry, seed):
    rng, X, y = problem(seed)
    metric = learned(X, y, geometry).metric_
    order = rng.permutation(len(X))
    assert learned(X[order], y[order], geometry).metric_ == metric
    assert learned(np.vstack([X, X]), np.append(y, y), geometry).metric_ == metric


@pytest.mark.parametrize("geometry", GEOMETRIES)
@given(seeds)
@some_fits
def test_learning_does_not_see_the_names_of_classes(geometry, seed):
    _, X, y = problem(seed)
    metric = learned(X, y, geometry).metric_
    for names in ({"a": "z", "b": "y", "c": "x"}, {"a": 7, "b": -1, "c": 3}):
        renamed = learned(X, np.array([names[name] for name in y]), geometry)
        np.testing.assert_allclose(renamed.metric_.pairwise(X), metric.pairwise(X), rtol=1e-6)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@given(seeds, powers)
@some_fits
def test_learning_does_not_see_the_unit_of_columns(geometry, seed, power):
    """A power of two moves no digit; another scale and origin, few."""
    rng, X, y = problem(seed)
    D = learned(X, y, geometry).metric_.pairwise(X)
    units = np.exp2(np.array([power, 0, -power]))
    np.testing.assert_array_equal(learned(X * units, y, geometry).metric_.pairwise(X * units), D)
    moved = X * rng.uniform(0.1, 10, size=3) + rng.normal(size=3)
    np.testing.assert_allclose(learned(moved, y, geometry).metric_.pairwise(moved), D, rtol=1e-5)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@given(seeds)
@some_fits
def test_learning_does_not_see_the_order_of_columns(geometry, seed):
    rng, X, y = problem(seed)
    order = rng.permutation(3)
    D = learned(X, y, geometry).metric_.pairwise(X)
    turned = learned(X[:, order], y, geometry).metric_.pairwise(X[:, order])
    np.testing.assert_allclose(turned, D, rtol=1e-4, atol=1e-6)


@given(seeds)
@some_fits
def test_learned_metrics_are_continuous_in_the_start_through_zero(seed):
    _, X, y = problem(seed)
    found = [
        learned(
            X,
            y,
            "learned",
            init=CurvedMetric(factor=0.3 * np.eye(3), curvature=K),
            max_iter=2,
            n_passes=1,
        )
        for K in (-1e-9, -1e-12, 1e-12, 1e-9)
    ]
    curvatures = [learner.metric_.curvature for learner in found]
    np.testing.assert_allclose(curvatures, curvatures[0], rtol=1e-5, atol=1e-7)
    for learner in found[1:]:
        np.testing.assert_allclose(
            learner.metric_.pairwise(X), found[0].metric_.pairwise(X), rtol=1e-5
        )


# -- diagrams ------------------------------------------------------------------------------


def random_diagram(seed, K, n=20):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, 2, K)
    return rng, metric, spread_points(rng, metric, n), spread_points(rng, metric, 200)


def nearest(diagram, queries):
    """The generator of each query's cell."""
    return diagram.cell_generators[diagram.locate(queries), 0]


@given(seeds, curvatures)
@a_few
def test_diagrams_of_points_permuted_and_doubled(seed, K):
    rng, metric, points, queries = random_diagram(seed, K)
    order = rng.permutation(len(points))
    diagram = CayleyKleinVoronoi(points, metric)
    turned = CayleyKleinVoronoi(points[order], metric)
    np.testing.assert_array_equal(order[nearest(turned, queries)], nearest(diagram, queries))
    np.testing.assert_allclose(
        turned.areas()[turned.point_region], diagram.areas()[diagram.point_region][order],
        rtol=1e-7, atol=1e-10,
    )  # fmt: skip
    doubled = CayleyKleinVoronoi(np.vstack([points, points]), metric)
    np.testing.assert_array_equal(nearest(doubled, queries), nearest(diagram, queries))
    assert doubled.duplicates.tolist() == [[i + 20, i] for i in range(20)]


@given(seeds, curvatures, powers)
@a_few
def test_diagrams_in_other_coordinates(seed, K, power):
    rng, metric, points, queries = random_diagram(seed, K)
    diagram = CayleyKleinVoronoi(points, metric)
    matrix, shift = well_conditioned(rng, 2), rng.normal(size=2)
    moved = CayleyKleinVoronoi(points @ matrix.T + shift, changed(metric, matrix, shift))
    there = nearest(moved, queries @ matrix.T + shift)
    assert (there == nearest(diagram, queries)).mean() > 0.98  # but for ties to rounding
    unit = 2.0**power
    scaled = CayleyKleinVoronoi(
        points * unit,
        CurvedMetric(factor=metric.factor / unit, center=metric.center * unit, curvature=K),
    )
    np.testing.assert_array_equal(nearest(scaled, queries * unit), nearest(diagram, queries))
    np.testing.assert_allclose(scaled.areas(), diagram.areas() * unit**2, rtol=1e-9)


@given(seeds, st.sampled_from([0.0, 1e-6, 1.0]))
@a_few
def test_a_far_point_changes_no_cell_in_the_window(seed, K):
    _, metric, points, _ = random_diagram(seed, K)
    diagram = CayleyKleinVoronoi(points, metric)
    low, high = diagram.window
    corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
    reach = metric.pairwise(corners, points).max()
    beyond = metric.points(np.array([[1e4, 0.0]]))
    if metric.pairwise(beyond, np.vstack([corners, points])).min() <= reach:
        return  # on a small sphere nothing is far
    more = CayleyKleinVoronoi(np.vstack([points, beyond]), metric, window=diagram.window)
    np.testing.assert_allclose(more.areas()[more.point_region[:-1]],
                               diagram.areas()[diagram.point_region], rtol=1e-9)  # fmt: skip


@given(seeds, st.floats(-12, -4))
@a_few
def test_cells_sweep_through_zero(seed, exponent):
    _, flat, points, queries = random_diagram(seed, 0.0)
    diagram = CayleyKleinVoronoi(points, flat)
    for K in (-(10**exponent), 10**exponent):
        metric = CurvedMetric(factor=flat.factor, center=flat.center, curvature=K)
        window = {"window": diagram.window} if K > 0 else {}
        bent = CayleyKleinVoronoi(points, metric, **window)
        assert (nearest(bent, queries) == nearest(diagram, queries)).mean() > 0.97
        if K > 0:
            np.testing.assert_allclose(
                bent.areas()[bent.point_region],
                diagram.areas()[diagram.point_region],
                atol=1e3 * K + 1e-9,
            )
