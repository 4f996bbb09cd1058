"""Lloyd's method: exact centroids, an energy that falls, isometries and the flat limit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from tests.meshes.polygons import BLOB, NOTCH, interior_area, tilted
from tests.strategies import seeds

from cayleyklein import CurvedMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import apply_collineation
from cayleyklein.meshes import lloyd, mesh_polygon

CUT = np.array([[-0.9, -0.8], [0.7, -0.7], [0.4, 0.6], [0.2, 0.1], [-0.8, 0.2]])
HOLE = np.array([[0.2, -0.4], [0.5, -0.45], [0.4, -0.1]])
CURVATURES = (-1.0, -1e-9, 0.0, 1e-9, 1.0)


def starts(n, seed=0):
    return np.random.default_rng(seed).uniform(-0.35, 0.35, size=(n, 2))


def exact_centroid(polygon, metric):
    """The direction of ½ Σ (length of edge) · (unit normal of its plane through the origin)."""
    K = metric.curvature
    z = metric.coordinates(polygon)
    lifted = np.column_stack([z, np.full(len(z), 1 / math.sqrt(abs(K)))])
    lifted *= 1 / np.sqrt(1 + K * (z**2).sum(axis=1))[:, None]
    form = np.array([1.0, 1.0, math.copysign(1.0, K)])
    p, q = lifted, np.roll(lifted, -1, axis=0)
    normal = np.cross(p, q) * form
    normal /= np.sqrt(np.abs((normal * normal * form).sum(axis=1)))[:, None]
    mean = (metric.distance(polygon, np.roll(polygon, -1, axis=0))[:, None] * normal).sum(axis=0)
    return metric.points(mean[:2] / mean[2] / math.sqrt(abs(K)))


@pytest.mark.parametrize("K", [-1.2, -0.3, 0.3, 2.0])
@pytest.mark.parametrize("polygon", [BLOB, NOTCH], ids=["blob", "notch"])
def test_the_centroid_of_a_polygon_is_exact(polygon, K):
    found = lloyd([[0.2, 0.1]], tilted(K), polygon)
    np.testing.assert_allclose(found.points[0], exact_centroid(polygon, tilted(K)), atol=1e-9)
    assert found.masses[0] == pytest.approx(interior_area(polygon, tilted(K)), rel=1e-9)


def test_the_flat_centroid_is_the_ordinary_one():
    found = lloyd([[0.2, 0.1]], tilted(0.0), [[0, 0], [0.9, 0], [0, 0.6]])
    np.testing.assert_allclose(found.points, [[0.3, 0.2]], atol=1e-14)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_the_centroid_minimises_the_energy(K):
    metric = tilted(K)

    def energy(x):
        return lloyd([x], metric, BLOB, density=bumpy).energies[0]

    best = minimize(energy, [0.1, 0.1], method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 0})
    found = lloyd([[0.1, 0.1]], metric, BLOB, density=bumpy)
    np.testing.assert_allclose(found.points[0], best.x, atol=1e-3)
    assert found.energies[-1] <= best.fun * (1 + 1e-12)


def bumpy(x):
    return 1 + np.sin(5 * x[:, 0]) * np.cos(3 * x[:, 1])


@pytest.mark.parametrize("density", [None, bumpy], ids=["uniform", "bumpy"])
@pytest.mark.parametrize("K", CURVATURES)
def test_the_energy_falls_and_masses_fill_the_polygon(K, density):
    metric = tilted(K)
    found = lloyd(starts(30) - 0.3, metric, CUT, holes=[HOLE], density=density, tol=1e-3)
    assert found.converged
    assert (np.diff(found.energies) < 0).all()
    if density is None:
        mesh = mesh_polygon(CUT, metric, holes=[HOLE])
        assert found.masses.sum() == pytest.approx(mesh.areas.sum(), rel=1e-9)
    assert repr(found).startswith("CentroidalVoronoi(30 points, ")


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_the_energy_is_the_integral_of_squared_chords(K):
    # A sum over the centroids of small triangles of the mesh, by brute force.
    metric, points = tilted(K), starts(5)
    fine = mesh_polygon(BLOB, metric, max_edge=0.02)
    z = metric.coordinates(fine.vertices)[fine.triangles]
    middle = metric.points(z.mean(axis=1))
    d = metric.pairwise(middle, points).min(axis=1)
    sqchord = {-1.0: 4 * np.sinh(d / 2) ** 2, 0.0: d * d, 1.0: 4 * np.sin(d / 2) ** 2}[K]
    with pytest.warns(ConvergenceWarning):
        found = lloyd(points, metric, BLOB, max_iter=1, tol=0.0)
    assert found.energies[0] == pytest.approx((fine.areas * sqchord).sum(), rel=2e-3)


@settings(max_examples=10, deadline=None)
@given(seed=seeds, K=st.sampled_from((-2.0, -1e-6, 0.0, 1e-6, 2.0)))
def test_isometries_carry_the_points_along(seed, K):
    rng = np.random.default_rng(seed)
    metric, points = tilted(K), starts(12, seed)
    move = metric.transvection(*rng.uniform(-0.3, 0.3, (2, 2)))
    polygon = 0.6 * BLOB
    found = lloyd(0.7 * points, metric, polygon, tol=0.02)
    moved = lloyd(
        *(apply_collineation(move, 0.7 * points), metric, apply_collineation(move, polygon)),
        tol=0.02,
    )
    np.testing.assert_allclose(moved.energies, found.energies, rtol=1e-8)
    np.testing.assert_allclose(moved.points, apply_collineation(move, found.points), atol=1e-7)


@pytest.mark.parametrize("K", [-1e-10, 1e-10])
def test_flat_diagrams_are_the_limit_from_both_sides(K):
    flat, curved = (lloyd(starts(20), tilted(k), BLOB, tol=1e-3) for k in (0.0, K))
    np.testing.assert_allclose(curved.points, flat.points, atol=1e-8)
    np.testing.assert_allclose(curved.energies, flat.energies, rtol=1e-8)


def test_points_follow_the_density():
    square = [[-1, -1], [1, -1], [1, 1], [-1, 1]]
    found = lloyd(
        starts(60),
        CurvedMetric.euclidean(2),
        square,
        density=lambda x: np.exp(-4 * x[:, 0]),
        tol=1e-3,
    )
    assert (found.points[:, 0] < 0).mean() > 0.7
    np.testing.assert_array_equal(found.diagram.points, found.points)


def test_bad_starts_and_densities_are_named():
    flat = CurvedMetric.euclidean(2)
    with pytest.raises(InvalidInputError, match="points at index 1 not inside polygon"):
        lloyd([[0, -0.4], [3, 0]], flat, NOTCH)
    with pytest.raises(InvalidInputError, match=r"points\[0\] and points\[2\] are the same point"):
        lloyd([[0, -0.4], [0.1, -0.5], [0, -0.4]], flat, NOTCH)
    with pytest.raises(InvalidInputError, match="density must return one number ≥ 0"):
        lloyd([[0, -0.4]], flat, NOTCH, density=lambda x: -(x[:, 0] ** 2))
    with pytest.raises(InvalidInputError, match="density must return one number ≥ 0"):
        lloyd([[0, -0.4]], flat, NOTCH, density=lambda x: 1.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        lloyd(starts(9), flat, BLOB, max_iter=2)
