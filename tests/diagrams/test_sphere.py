"""Voronoi cells on the whole sphere, beside SciPy's and by brute force."""

import numpy as np
import pytest
import shapely
from scipy.spatial import SphericalVoronoi

from cayleyklein import SphereVoronoi
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.sphere import from_lonlat, to_lonlat


def points_on_sphere(n, seed=0):
    P = np.random.default_rng(seed).normal(size=(n, 3))
    return P / np.linalg.norm(P, axis=1)[:, None]


@pytest.mark.parametrize("n", [4, 5, 30, 300])
def test_cells_are_those_of_scipy(n):
    P = points_on_sphere(n)
    ours, theirs = SphereVoronoi(P), SphericalVoronoi(P)
    theirs.sort_vertices_of_regions()
    np.testing.assert_allclose(ours.areas(), theirs.calculate_areas(), atol=1e-12)
    for mine, other in zip(ours.regions, theirs.regions, strict=True):
        a, b = ours.vertices[mine], theirs.vertices[other]
        gaps = np.linalg.norm(a[:, None] - b[None], axis=-1)
        assert gaps.min(axis=1).max() < 1e-9
        assert len(mine) == len(other)
    for point, region in zip(P, ours.regions, strict=True):  # anticlockwise around the point
        a = ours.vertices[region]
        turn = np.einsum("ij,j->i", np.cross(a, np.roll(a, -1, axis=0)), a.mean(axis=0))
        assert (turn > 0).all()
        assert point @ a.mean(axis=0) > -1


def test_weights_and_queries():
    P = points_on_sphere(40)
    weights = np.random.default_rng(1).uniform(-0.1, 0.5, size=40)
    X = points_on_sphere(2000, 2)
    c = np.cos(np.sqrt(weights.astype(complex))).real
    np.testing.assert_array_equal(SphereVoronoi(P).locate(X), np.argmax(X @ P.T, axis=1))
    diagram = SphereVoronoi(P, weights=weights)
    wanted = np.argmax(X @ P.T / c, axis=1)
    np.testing.assert_array_equal(diagram.locate(X), wanted)
    empty = [i for i, region in enumerate(diagram.regions) if not len(region)]
    assert len(empty) > 0
    assert not np.isin(empty, wanted).any()
    areas = diagram.areas()
    assert areas.sum() == pytest.approx(4 * np.pi)
    share = np.bincount(wanted, minlength=40) / 2000
    assert np.abs(share - areas / (4 * np.pi)).max() < 0.02


@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_order_k_by_brute_force(order, weighted):
    P = points_on_sphere(25, 3)
    weights = np.random.default_rng(1).uniform(-0.1, 0.4, size=25) if weighted else None
    X = points_on_sphere(4000, 2)
    c = np.ones(25) if weights is None else np.cos(np.sqrt(weights.astype(complex))).real
    wanted = np.sort(np.argsort(-(X @ P.T) / c, axis=1)[:, :order], axis=1)
    diagram = SphereVoronoi(P, weights=weights, order=order)
    np.testing.assert_array_equal(diagram.cell_generators[diagram.locate(X)], wanted)
    areas = diagram.areas()
    assert areas.sum() == pytest.approx(4 * np.pi)
    assert (areas > 0).all()
    share = np.bincount(diagram.locate(X), minlength=len(areas)) / len(X)
    assert np.abs(share - areas / (4 * np.pi)).max() < 0.02
    features = diagram.to_geojson()["features"]
    sets = [feature["properties"]["points"] for feature in features]
    assert sets == diagram.cell_generators.tolist()


def test_copies_and_symmetric_points_of_order_two():
    P = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    diagram = SphereVoronoi(P, order=2)  # an octahedron: a cell around each edge
    assert len(diagram.cell_generators) == 12
    np.testing.assert_allclose(diagram.areas(), 4 * np.pi / 12)
    X = points_on_sphere(500)
    copied = SphereVoronoi(np.vstack([P, P[:1]]), order=2)
    near = np.isin(np.argmax(X @ P.T, axis=1), 0)
    assert (copied.cell_generators[copied.locate(X[near])] == [0, 6]).all()
    with pytest.raises(InvalidInputError, match="order=6 for 6 points"):
        SphereVoronoi(P, order=6)


def test_a_hemisphere_of_points():
    P = points_on_sphere(30)
    P[:, 2] = np.abs(P[:, 2]) + 0.3
    P /= np.linalg.norm(P, axis=1)[:, None]
    X = points_on_sphere(500, 1)
    diagram = SphereVoronoi(P)
    assert diagram.areas().sum() == pytest.approx(4 * np.pi)
    np.testing.assert_array_equal(diagram.locate(X), np.argmax(X @ P.T, axis=1))


def test_geojson_covers_the_map():
    P = points_on_sphere(25)
    diagram = SphereVoronoi(to_lonlat(P), chart="lonlat")
    cells = diagram.to_geojson(step=1.0)["features"]
    shapes = [shapely.geometry.shape(cell["geometry"]) for cell in cells]
    assert all(shape.is_valid for shape in shapes)
    assert sum(shape.area for shape in shapes) == pytest.approx(360 * 180, rel=1e-3)
    X = np.random.default_rng(0).uniform([-179, -85], [179, 85], size=(300, 2))
    found = diagram.locate(X)
    wanted = np.argmax(from_lonlat(X) @ P.T, axis=1)
    np.testing.assert_array_equal(found, wanted)
    inside = [
        shapes[cell].distance(shapely.Point(x)) < 0.3 for cell, x in zip(found, X, strict=True)
    ]
    assert all(inside)


@pytest.mark.parametrize("turn", range(-180, 180, 30))
def test_cells_around_the_poles_cover_them_wherever_their_paths_begin(turn):
    lonlat = to_lonlat(points_on_sphere(6))
    lonlat[:, 0] = (lonlat[:, 0] + turn + 180) % 360 - 180
    cells = SphereVoronoi(lonlat, chart="lonlat").to_geojson(step=2.0)["features"]
    areas = [shapely.geometry.shape(cell["geometry"]).area for cell in cells]
    assert sum(areas) == pytest.approx(360 * 180, rel=5e-3)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="at least four"):
        SphereVoronoi(points_on_sphere(3))
    with pytest.raises(NotRepresentableError, match="one circle"):
        SphereVoronoi([[0, 10], [90, 10], [180, 10], [-90, 10]], chart="lonlat")
    with pytest.raises(OutsideDomainError, match="latitude"):
        SphereVoronoi([[0, 10], [90, 95], [180, 10], [-90, 10]], chart="lonlat")
    with pytest.raises(OutsideDomainError, match="unit vector"):
        SphereVoronoi(2 * points_on_sphere(5))
