"""Maps of embeddings of many dimensions: charts, projections and what they report."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from cayleyklein import CurvedMetric, map_embedding
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import chart_distance, sphere, to_chart
from cayleyklein.manifold import projection


def ball(n, d, seed=0, most=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * most * rng.uniform(size=(n, 1)) ** (1 / d)


@pytest.mark.parametrize("chart", ["klein", "poincare", "hyperboloid", "half_space", "hemisphere"])
def test_every_chart_of_one_embedding_makes_one_map(chart):
    w = ball(25, 6)
    found = map_embedding(to_chart(w, chart, -1), chart, refine=False)
    wanted = map_embedding(w, "klein", refine=False)
    np.testing.assert_allclose(found.points, wanted.points, atol=1e-7)
    assert found.quality["map"] == found.quality["projection"]


@pytest.mark.parametrize(("curvature", "chart"), [(-1.0, "klein"), (0.0, "klein"), (1.0, "unit")])
def test_two_dimensions_are_drawn_exactly_and_quality_is_what_it_says(curvature, chart):
    if curvature > 0:
        X = ball(30, 3)
        X /= np.linalg.norm(X, axis=1)[:, None]
    else:
        X = ball(30, 2)
    found = map_embedding(X, chart, curvature=curvature, random_state=0)
    assert found.quality["map"].stress < 1e-9
    assert found.quality["map"].neighbors_kept == 1
    target = projection.distances_of(found.surface, found.surface, curvature)
    if curvature <= 0:
        metric = CurvedMetric.euclidean(2, curvature=curvature)
        np.testing.assert_allclose(target, metric.pairwise(X), atol=1e-7)
    else:
        np.testing.assert_allclose(np.cos(target), X @ X.T, atol=1e-9)


def test_quality():
    target = squareform(pdist(np.random.default_rng(0).normal(size=(12, 3))))
    found = squareform(pdist(np.random.default_rng(1).normal(size=(12, 2))))
    quality = projection.quality_of(target, found)
    a, b = target[np.triu_indices(12, 1)], found[np.triu_indices(12, 1)]
    assert quality.stress == pytest.approx(np.sqrt(((a - b) ** 2).sum() / (a**2).sum()))
    assert quality.mean_error == pytest.approx(np.mean(np.abs(b / a - 1)))
    assert quality.worst_error == pytest.approx(np.max(np.abs(b / a - 1)))
    kept = [
        len({*np.argsort(target[i])[1:11]} & {*np.argsort(found[i])[1:11]}) / 10 for i in range(12)
    ]
    assert quality.neighbors_kept == pytest.approx(np.mean(kept))


@pytest.mark.parametrize(
    ("curvature", "chart"), [(-1.0, "poincare"), (0.0, "klein"), (1.0, "unit")]
)
def test_descent_lowers_the_stress_and_isometries_change_nothing(curvature, chart):
    X = ball(40, 7, most=0.95)
    if curvature > 0:
        X /= np.linalg.norm(X, axis=1)[:, None]
    found = map_embedding(X, chart, curvature=curvature, random_state=0)
    assert found.quality["map"].stress < 0.95 * found.quality["projection"].stress
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))[0]
    turned = map_embedding(X @ turn, chart, curvature=curvature, refine=False)
    assert turned.quality["map"].stress == pytest.approx(found.quality["projection"].stress)
    assert found.surface.shape == found.projection.shape == (40, 3)


def test_units_of_curvature_and_radius():
    X = ball(20, 4)
    one = map_embedding(X, "poincare", refine=False)
    other = map_embedding(3 * X, "poincare", curvature=-1 / 9, refine=False)
    np.testing.assert_allclose(other.points, one.points, atol=1e-12)
    third = map_embedding(X, "poincare", curvature=-1 / 9, radius=1.0, refine=False)
    np.testing.assert_allclose(third.points, one.points, atol=1e-12)


def test_many_rows_are_placed_among_a_sample():
    X = ball(120, 4, most=0.9)
    found = map_embedding(X, "poincare", max_rows=60, random_state=0)
    assert len(found.judged) == 60
    target = chart_distance(X[:, None], X[None], "poincare")
    shown = projection.distances_of(found.surface, found.surface, -1.0)
    whole = projection.quality_of(target, shown)
    assert whole.stress < 1.3 * found.quality["map"].stress


def test_an_isometry_takes_a_row_to_the_origin():
    for sign in (-1.0, 0.0, 1.0):
        X = ball(15, 2)
        surface = np.column_stack([X, np.ones(15)])
        if sign > 0:
            surface = surface / np.linalg.norm(surface, axis=1)[:, None]
        elif sign < 0:
            surface = projection.as_surface(X, "klein", -1.0)
        moved = projection.centered_at(surface, surface[4], sign)
        np.testing.assert_allclose(moved[4], [0, 0, 1], atol=1e-12)
        before = projection.distances_of(surface, surface, sign)
        np.testing.assert_allclose(projection.distances_of(moved, moved, sign), before, atol=1e-7)
        a, b, c = moved[:3, :2] / moved[:3, 2:], surface[:3, :2] / surface[:3, 2:], None
        turns = [np.linalg.det(np.diff(corners, axis=0)) for corners in (a, b)]
        assert turns[0] * turns[1] > 0, c  # no mirror image


def test_longitude_and_latitude():
    lonlat = np.array([[0.0, 0.0], [90.0, 0.0], [180.0, 45.0], [-30.0, -80.0]])
    points = sphere.from_lonlat(lonlat)
    np.testing.assert_allclose(sphere.to_lonlat(points), lonlat, atol=1e-12)
    found = map_embedding(lonlat, "lonlat", curvature=1 / 6371**2, refine=False)
    np.testing.assert_allclose(found.surface @ found.surface.T, points @ points.T, atol=1e-9)
    with pytest.raises(OutsideDomainError, match="latitude, longitude: exchange"):
        sphere.from_lonlat([[48.0, 120.0]])
    with pytest.raises(OutsideDomainError, match="index 1 has a latitude beyond"):
        sphere.from_lonlat([[148.0, 20.0], [0.0, -91.0]])
    with pytest.raises(OutsideDomainError, match="longitude beyond"):
        sphere.from_lonlat([[400.0, 20.0]])


def test_bad_input():
    X = ball(5, 3)
    with pytest.raises(OutsideDomainError, match="index 2"):
        map_embedding(np.where(np.arange(5)[:, None] == 2, 2.0, X), "poincare")
    with pytest.raises(InvalidInputError, match="two rows"):
        map_embedding(X[:1], "poincare")
    with pytest.raises(InvalidInputError, match="> 0 for chart"):
        map_embedding(X, "unit", curvature=-1.0)
    with pytest.raises(NotRepresentableError, match="has no 'hyperboloid' chart"):
        map_embedding(X, "hyperboloid", curvature=1.0)
    with pytest.raises(OutsideDomainError, match="no unit vector"):
        map_embedding(X, "unit", curvature=1.0)
