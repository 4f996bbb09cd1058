"""Meshes have the angles and sizes of the metric, keep the polygon and go along with isometries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from sklearn.exceptions import ConvergenceWarning
from tests.meshes.polygons import BLOB, HOLE, NOTCH, SHAPES, STAR, interior_area, tilted
from tests.strategies import seeds

from cayleyklein import CayleyKleinVoronoi, CurvedMetric
from cayleyklein.exceptions import InvalidInputError, MissingExtraError, NotRepresentableError
from cayleyklein.geometry import apply_collineation
from cayleyklein.meshes import conformal, mesh_polygon

CURVATURES = (-1.0, -1e-9, 0.0, 1e-9, 1.0)


def undirected(mesh):
    """Return the edges of the triangles, and how many triangles have each."""
    pairs = np.concatenate([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    return np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)


def chart_areas(mesh):
    """Return the signed areas of the triangles in x."""
    a, b, c = mesh.vertices[mesh.triangles.T]
    (p, q), (r, s) = (b - a).T, (c - a).T
    return (p * s - q * r) / 2


def polygon_area(x):
    after = np.roll(x, -1, axis=0)
    return (x[:, 0] * after[:, 1] - x[:, 1] * after[:, 0]).sum() / 2


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_triangle_is_as_asked_for(shape, K):
    polygon, metric = SHAPES[shape], tilted(K)
    mesh = mesh_polygon(polygon, metric, min_angle=25, max_area=0.004, max_edge=0.2)
    assert mesh.angles[~mesh.spared].min() >= 25
    assert mesh.areas.max() <= 0.004
    assert mesh.lengths.max() <= 0.2 * (1 + 1e-12)
    # a triangulation of the polygon: counter-clockwise, nothing twice, the boundary kept
    assert chart_areas(mesh).min() > 0
    assert chart_areas(mesh).sum() == pytest.approx(polygon_area(polygon), rel=1e-12)
    edges, count = undirected(mesh)
    boundary = np.unique(np.sort(mesh.boundary, axis=1), axis=0)
    assert set(count) == {1, 2}
    np.testing.assert_array_equal(edges[count == 1], boundary)
    np.testing.assert_array_equal(mesh.vertices[: len(polygon)], polygon)


@pytest.mark.parametrize("K", [-1.0, 1.0])
def test_areas_are_those_of_gauss_and_bonnet(K):
    mesh = mesh_polygon(NOTCH, tilted(K))
    assert mesh.areas.sum() == pytest.approx(interior_area(NOTCH, tilted(K)), rel=1e-12)
    excess = np.radians(mesh.angles).sum(axis=1) - np.pi
    np.testing.assert_allclose(mesh.areas, excess / K, rtol=1e-9)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_it_is_a_part_of_the_delaunay_triangulation(K):
    mesh = mesh_polygon(BLOB, tilted(K), max_area=0.01)
    diagram = CayleyKleinVoronoi(mesh.vertices, mesh.metric)
    delaunay = {tuple(t) for t in np.sort(diagram.dual().simplices, axis=1)}
    assert {tuple(t) for t in np.sort(mesh.triangles, axis=1)} <= delaunay


@settings(max_examples=25, deadline=None)
@given(seed=seeds, K=st.sampled_from((-1.5, -1e-6, 0.0, 1e-6, 3.0)), fine=st.booleans())
def test_circles_around_triangles_are_empty(seed, K, fine):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    angle = (np.arange(n) + rng.uniform(0.05, 0.95, n)) * 2 * np.pi / n
    polygon = rng.uniform(0.1, 0.7, (n, 1)) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    mesh = mesh_polygon(polygon, tilted(K), max_area=0.003 if fine else None)
    y = conformal.ConformalPlane(mesh.metric, polygon[0]).from_points(mesh.vertices)
    center, radius = conformal.circumcircle(*y[mesh.triangles.T])
    tree = cKDTree(np.stack([y.real, y.imag], axis=1))
    nearest, _ = tree.query(np.stack([center.real, center.imag], axis=1))
    assert (nearest > radius * (1 - 1e-9)).all()
    assert chart_areas(mesh).min() > 0
    assert chart_areas(mesh).sum() == pytest.approx(polygon_area(polygon), rel=1e-11)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_narrow_triangles_are_only_next_to_sharp_corners(K):
    mesh = mesh_polygon(STAR, tilted(K), min_angle=25)
    tips = STAR[::2]
    sharp = np.degrees(
        mesh.metric.vertex_angle(
            tips, np.roll(STAR, 1, axis=0)[::2], np.roll(STAR, -1, axis=0)[::2]
        )
    )
    assert mesh.spared.any()
    # no narrower than what a corner forces: half of its angle, across the edge of a shell
    assert mesh.angles.min() > sharp.min() / 2
    assert not mesh_polygon(BLOB, tilted(K), min_angle=25).spared.any()


def same_mesh(mesh, other, moved, atol):
    """Check that two meshes have the same triangles, when the vertices of one are moved."""
    assert len(mesh.vertices) == len(other.vertices)
    distance, partner = cKDTree(moved).query(other.vertices)
    assert distance.max() < atol
    triangles = np.sort(partner[other.triangles], axis=1)
    np.testing.assert_array_equal(
        np.unique(triangles, axis=0), np.unique(np.sort(mesh.triangles, axis=1), axis=0)
    )


@settings(max_examples=15, deadline=None)
@given(seed=seeds, K=st.sampled_from((-2.0, -1e-6, 0.0, 1e-6, 2.0)), mirror=st.booleans())
def test_isometries_carry_the_mesh_along(seed, K, mirror):
    rng = np.random.default_rng(seed)
    angle = (np.arange(12) + rng.uniform(0, 0.5, 12)) * np.pi / 6
    polygon = rng.uniform(0.3, 0.6, (12, 1)) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    metric = tilted(K)
    p, q = rng.uniform(-0.3, 0.3, (2, 2))
    move = metric.transvection(p, q)
    if mirror:  # turn z₂ around
        frame = metric.homogeneous_matrix
        move = move @ np.linalg.solve(frame, np.diag([1.0, -1.0, 1.0]) @ frame)
    mesh = mesh_polygon(polygon, metric, max_area=0.01)
    other = mesh_polygon(apply_collineation(move, polygon), metric, max_area=0.01)
    # Four vertices on a circle may get the other diagonal, so only vertices are compared.
    assert len(other.triangles) == len(mesh.triangles)
    moved = cKDTree(apply_collineation(move, mesh.vertices))
    assert moved.query(other.vertices)[0].max() < 1e-9


@pytest.mark.parametrize("shape", ["blob", "notch"])
@pytest.mark.parametrize("K", [-1e-11, 1e-11])
def test_flat_meshes_are_the_limit_from_both_sides(shape, K):
    # A polygon without symmetries: no ties that a curvature could break.
    polygon = SHAPES[shape] * [1.0, 0.83] + 0.07 * SHAPES[shape][:, ::-1] ** 2
    flat, curved = (mesh_polygon(polygon, tilted(k), max_area=0.003) for k in (0.0, K))
    same_mesh(flat, curved, flat.vertices, 1e-7)
    np.testing.assert_allclose(np.sort(curved.areas), np.sort(flat.areas), rtol=1e-6)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_holes_stay_empty_and_points_become_vertices(K):
    points = [[-0.5, -0.3], [0.6, 0.3]]
    mesh = mesh_polygon(NOTCH, tilted(K), holes=[HOLE], points=points, max_area=0.02)
    whole, hole = (mesh_polygon(part, tilted(K)) for part in (NOTCH, HOLE))
    assert mesh.areas.sum() == pytest.approx(whole.areas.sum() - hole.areas.sum(), rel=1e-12)
    np.testing.assert_array_equal(mesh.vertices[9:11], points)
    assert np.isin([9, 10], mesh.triangles).all()
    assert mesh.angles[~mesh.spared].min() >= 20


def test_direction_closing_corner_and_mirrored_factor_do_not_matter():
    closed = np.vstack([NOTCH, NOTCH[:1]])
    meshes = [
        mesh_polygon(polygon, tilted(1.0, mirrored), max_area=0.01)
        for polygon in (NOTCH, NOTCH[::-1], closed)
        for mirrored in (False, True)
    ]
    for mesh in meshes:
        assert chart_areas(mesh).min() > 0
        assert len(mesh.vertices) == len(meshes[0].vertices) or mesh.metric is not meshes[0].metric
        tail, head = mesh.vertices[mesh.boundary.T]
        area = (tail[:, 0] * head[:, 1] - tail[:, 1] * head[:, 0]).sum() / 2
        assert area == pytest.approx(polygon_area(NOTCH))  # the mesh is on the left


def test_near_the_absolute_triangles_shrink_in_the_chart():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    edge = 0.9999 * np.stack([np.cos(np.arange(60) * 0.1047), np.sin(np.arange(60) * 0.1047)], 1)
    mesh = mesh_polygon(edge, disc, max_edge=1.0)
    assert mesh.angles[~mesh.spared].min() >= 20
    assert mesh.areas.sum() == pytest.approx(interior_area(edge, disc), rel=1e-9)


def test_far_from_the_origin_a_mesh_is_the_same():
    here, there = (
        mesh_polygon(NOTCH + shift, CurvedMetric.euclidean(2), max_area=0.01)
        for shift in (0, 2**20)
    )
    same_mesh(here, there, here.vertices + 2**20, 1e-8)


def test_a_limit_of_vertices_warns():
    with pytest.warns(ConvergenceWarning, match="max_vertices=200: .* miss the goal"):
        mesh = mesh_polygon(BLOB, tilted(0.0), max_area=1e-4, max_vertices=200)
    assert len(mesh.vertices) <= 200
    assert chart_areas(mesh).sum() == pytest.approx(polygon_area(BLOB))
    with pytest.raises(NotRepresentableError, match="max_vertices=200, before it had the whole"):
        mesh_polygon(BLOB, tilted(0.0), max_edge=1e-2, max_vertices=200)
    with pytest.raises(NotRepresentableError, match="polygon has edges too close to each other"):
        mesh_polygon([[0, 0], [1, 0], [1, 1], [0.41, 1e-9], [0, 1]], tilted(0.0))


# -- bad polygons ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("polygon", "message"),
    [
        ([[0, 0], [1, 1], [1, 0], [0, 1]], r"polygon\[0\]–polygon\[1\] and polygon\[2\]–pol"),
        ([[0, 0], [1, 0], [0.5, 0], [0.5, 1]], r"polygon\[0\]–polygon\[1\] and polygon\[1\]–pol"),
        ([[0, 0], [1, 0], [1, 1], [0.5, 0], [0, 1]], r"polygon\[0\]–polygon\[1\] and polygon\[2\]"),
        ([[0, 0], [1, 0], [2, 0]], "edges cross or touch"),
        ([[0, 0], [1, 0], [1, 1], [1, 0]], r"polygon\[1\] and polygon\[3\] are the same point"),
        ([[0, 0], [1, 0], [0, 0]], "at least 3 different corners; got 2"),
    ],
)  # fmt: skip
def test_polygons_that_are_not_simple_are_named(polygon, message):
    with pytest.raises(InvalidInputError, match=message):
        mesh_polygon(polygon, CurvedMetric.euclidean(2))


@pytest.mark.parametrize(
    ("holes", "message"),
    [
        ([HOLE + 5], r"holes\[0\] lies outside polygon"),
        ([HOLE, 0.9 * HOLE + 0.1 * HOLE.mean(axis=0)], r"holes\[1\] lies inside holes\[0\]"),
        ([HOLE + np.array([0.4, 0])], r"holes\[0\]\[\d\]–holes\[0\]\[\d\]"),
        (3, "holes=3, but expected a list"),
    ],
)
def test_holes_that_do_not_fit_are_named(holes, message):
    with pytest.raises(InvalidInputError, match=message):
        mesh_polygon(NOTCH, CurvedMetric.euclidean(2), holes=holes)


@pytest.mark.parametrize("bad", [[0.0, 0.3], [3.0, 0.0], [0.35, -0.3], (NOTCH[0] + NOTCH[1]) / 2])
def test_points_outside_are_named(bad):
    with pytest.raises(InvalidInputError, match="points at index 1 not inside polygon"):
        mesh_polygon(NOTCH, tilted(0.0), holes=[HOLE], points=[[-0.5, 0.0], bad])


# -- other libraries ---------------------------------------------------------------------


def test_meshio_writes_and_reads_it(tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh = mesh_polygon(NOTCH, tilted(-1.0), max_area=0.05)
    mesh.to_meshio().write(tmp_path / "mesh.vtu")
    back = meshio.read(tmp_path / "mesh.vtu")
    np.testing.assert_array_equal(back.cells_dict["triangle"], mesh.triangles)
    np.testing.assert_allclose(back.points[:, :2], mesh.vertices)
    np.testing.assert_allclose(back.cell_data_dict["area"]["triangle"], mesh.areas)


def test_trimesh_on_the_sphere_has_nearly_the_angles_of_the_metric():
    pytest.importorskip("trimesh")
    mesh = mesh_polygon(NOTCH, tilted(1.0), max_edge=0.1)
    surface = mesh.to_trimesh(chart="sphere")
    np.testing.assert_allclose(np.linalg.norm(surface.vertices, axis=1), 1)
    np.testing.assert_allclose(np.degrees(surface.face_angles), mesh.angles, atol=0.2)


def test_a_missing_extra_is_named(monkeypatch):
    mesh = mesh_polygon(NOTCH, tilted(0.0))
    calls = {
        "meshio": mesh.to_meshio,
        "trimesh": mesh.to_trimesh,
        "shapely": lambda: mesh_polygon(NOTCH, tilted(0.0)),
    }
    for name, call in calls.items():
        monkeypatch.setitem(__import__("sys").modules, name, None)
        with pytest.raises(MissingExtraError, match=rf'{name} .* "cayleyklein\[mesh\]"'):
            call()
