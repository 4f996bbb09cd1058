"""Cells tile the domain, as polygons, as segments and arcs, and as meshes."""

import sys

import numpy as np
import pytest
import shapely
from tests.diagrams.helpers import CURVATURES, domain_size, random_metric, spread_points

from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError, MissingExtraError, NotRepresentableError


def random_diagram(seed, K, d=2, n=50, **options):
    rng = np.random.default_rng(seed)
    metric = random_metric(rng, d, K)
    return CayleyKleinVoronoi(spread_points(rng, metric, n), metric, **options), rng


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 3])
def test_exact_areas_sum_to_the_domains(K, order):
    diagram, _ = random_diagram(0, K, order=order)
    areas = diagram.areas()
    assert (areas >= 0).all()
    np.testing.assert_allclose(areas.sum(), domain_size(diagram), rtol=1e-12)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 2])
def test_polygons_tile_without_overlap(K, order):
    diagram, rng = random_diagram(1, K, order=order)
    cells = diagram.cells(tolerance=1e-6)
    assert all(cell.is_valid for cell in cells)
    np.testing.assert_allclose(
        [cell.area for cell in cells], diagram.areas(), atol=1e-5 * domain_size(diagram)
    )
    whole = shapely.union_all(cells)
    np.testing.assert_allclose(whole.area, sum(cell.area for cell in cells), rtol=1e-9)
    X = spread_points(rng, diagram.metric, 3_000)
    if K >= 0:
        X = X[((diagram.window[0] < X) & (diagram.window[1] > X)).all(axis=1)]
    query, cell = shapely.STRtree(cells).query(shapely.points(X), predicate="within")
    # each query in one cell, the one located, but for those next to an edge or the arcs
    assert len(np.unique(query)) > 0.999 * len(X)
    assert (diagram.locate(X)[query] == cell).mean() > 0.999


@pytest.mark.parametrize("K", [-3.0, -1e-6])
def test_arcs_lie_on_the_absolute_and_pieces_join(K):
    diagram, _ = random_diagram(2, K)
    metric = diagram.metric
    for cell, boundary in enumerate(diagram.boundaries()):
        arcs = ~np.isnan(boundary.angles[:, 0])
        assert arcs.any() == diagram.unbounded[cell]
        scale = np.abs(metric.domain.semi_axes).max()
        joined = np.roll(boundary.starts, -1, axis=0)
        np.testing.assert_allclose(boundary.ends, joined, atol=1e-12 * scale)
        for start, end, theta in zip(*(part[arcs] for part in boundary), strict=True):
            assert theta[0] <= theta[1] <= theta[0] + 2 * np.pi
            circle = np.stack([np.cos(theta), np.sin(theta)], axis=1) / np.sqrt(-K)
            np.testing.assert_allclose(metric.points(circle), [start, end], atol=1e-12 * scale)


def test_tolerance_bounds_the_distance_to_the_arc():
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    diagram = CayleyKleinVoronoi([[0.1, 0.2], [-0.3, 0.0]], disc)
    for tolerance in (1e-1, 1e-3, 1e-6):
        whole = shapely.union_all(diagram.cells(tolerance))
        gap = 1 - shapely.boundary(whole).distance(shapely.Point(0, 0))
        assert 0 < gap <= tolerance * (1 + 1e-6)
    for wrong in (0.0, -1.0, 1.0, np.nan):
        with pytest.raises(InvalidInputError, match="tolerance"):
            diagram.cells(wrong)


@pytest.mark.parametrize("K", [0.0, 1.0])
def test_a_window_anywhere(K):
    """Even where there are no generators, and smaller or larger than they are spread."""
    diagram, rng = random_diagram(3, K)
    for center, size in (([5.0, 5.0], 1.0), ([0.0, 0.0], 100.0), (diagram.points[0], 1e-3)):
        window = np.array([np.subtract(center, size), np.add(center, size)])
        zoomed = CayleyKleinVoronoi(diagram.points, diagram.metric, window=window)
        np.testing.assert_allclose(zoomed.areas().sum(), 4 * size**2, rtol=1e-9)
        X = rng.uniform(*window, size=(500, 2))
        query, cell = shapely.STRtree(zoomed.cells()).query(shapely.points(X), predicate="within")
        assert (zoomed.locate(X)[query] == cell).mean() > 0.99
        np.testing.assert_array_equal(zoomed.locate(X), diagram.locate(X))


@pytest.mark.parametrize("K", [0.0, 1e-6])
@pytest.mark.parametrize("order", [1, 3])
def test_small_cells_among_outliers_are_exact(K, order):
    """In a window that outliers make a million times as wide as the cells in the middle."""
    rng = np.random.default_rng(11)
    outliers = 1e5 * rng.normal(size=(12, 2)) + 2e5
    points = np.vstack([rng.normal(size=(60, 2)), outliers])
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=K), order=order)
    segments = diagram.ridge_segments()[1]
    close = (np.abs(segments).max(axis=(1, 2)) < 1) & (np.ptp(segments, axis=1) > 0.01).any(axis=1)
    assert close.sum() > 40
    middle = segments[close].mean(axis=1)
    distances = np.sort(diagram.metric.pairwise(middle, points), axis=1)
    # the order-th and the next one are the two that a ridge is as far from
    np.testing.assert_allclose(distances[:, order - 1], distances[:, order], rtol=1e-6)


@pytest.mark.parametrize("n", [10, 80])
def test_cells_of_nearly_cocircular_points_are_valid(n):
    """Where many cells nearly meet, rounding exchanges corners."""
    angles = 2 * np.pi * np.arange(n) / n
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) / 2
    for seed in range(10):
        metric = random_metric(np.random.default_rng(seed), 2, -1.0)
        diagram = CayleyKleinVoronoi(metric.points(ring), metric, order=1 + seed % 4)
        cells = diagram.cells(1e-6)
        assert all(cell.is_valid for cell in cells)
        np.testing.assert_allclose(
            [cell.area for cell in cells], diagram.areas(), atol=1e-5 * domain_size(diagram)
        )


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 2])
def test_meshes_are_closed_and_fill_the_domain(K, order):
    diagram, _ = random_diagram(4, K, d=3, n=25, order=order)
    meshes = diagram.cells(tolerance=0.02)
    for mesh in meshes:
        directed = np.vstack([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
        # every edge once in each direction: closed, and all triangles seen from one side
        edges, count = np.unique(directed, axis=0, return_counts=True)
        assert (count == 1).all()
        np.testing.assert_array_equal(
            edges, np.unique(edges[:, ::-1], axis=0) if len(edges) else edges
        )
        assert mesh.volume >= -1e-15
    total = sum(mesh.volume for mesh in meshes)
    if K >= 0:
        np.testing.assert_allclose(total, domain_size(diagram), rtol=1e-12)
    else:
        assert 0.94 * domain_size(diagram) < total < domain_size(diagram)
        corners = np.vstack([mesh.vertices for mesh in meshes])
        inwards = diagram.metric.center + (corners - diagram.metric.center) * (1 - 1e-9)
        assert diagram.metric.contains(inwards).all()


def test_frontier_corners_in_space_are_as_far_from_the_generators_beside_them():
    diagram, _ = random_diagram(5, 1.0, d=3, n=25, labels=np.arange(25))
    polygons = diagram.frontier()
    assert len(polygons) > 25
    distances = np.sort(diagram.metric.pairwise(np.vstack(polygons), diagram.points), axis=1)
    np.testing.assert_allclose(distances[:, 0], distances[:, 1], rtol=1e-6)


@pytest.mark.parametrize("K", CURVATURES)
def test_ridges_lie_on_bisectors_and_vertices_are_equidistant(K):
    diagram, _ = random_diagram(6, K, order=2)
    points, metric = diagram.points, diagram.metric
    pairs, segments = diagram.ridge_segments()
    sets = [set(row) for row in diagram.cell_generators.tolist()]
    p, q = np.array([[*(sets[a] - sets[b]), *(sets[b] - sets[a])] for a, b in pairs]).T
    middle = segments.mean(axis=1)
    np.testing.assert_allclose(
        metric.distance(middle, points[p]), metric.distance(middle, points[q]), rtol=1e-6, atol=1e-9
    )
    ridge, vertex = np.array(
        [(r, v) for r, ends in enumerate(diagram.ridge_vertices) for v in ends if v >= 0]
    ).T
    p, q = points[diagram.ridge_points[ridge]].transpose(1, 0, 2)
    at = diagram.vertices[vertex]
    near = np.abs(at).max(axis=1) < 100 * np.abs(points).max()  # far ones are ill-conditioned
    assert near.sum() > 100
    np.testing.assert_allclose(
        metric.distance(at, p)[near], metric.distance(at, q)[near], rtol=1e-6
    )


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("K", CURVATURES)
def test_lists_fit_together(d, K):
    diagram, _ = random_diagram(7, K, d=d, n=20)
    n_vertices = len(diagram.vertices)
    assert len(diagram.regions) == len(diagram.cell_generators) == 20
    np.testing.assert_array_equal(diagram.point_region, np.arange(20))
    assert len(diagram.ridge_vertices) == len(diagram.ridge_points) == len(diagram.ridge_cells)
    assert diagram.metric.contains(diagram.vertices).all()
    of_cell = [set() for _ in diagram.regions]
    for cells, vertices in zip(diagram.ridge_cells, diagram.ridge_vertices, strict=True):
        assert all(-1 <= v < n_vertices for v in vertices)
        for cell in cells:
            of_cell[cell] |= set(vertices) - {-1}
    for cell, region in enumerate(diagram.regions):
        assert set(region) - {-1} == of_cell[cell]
        assert (-1 in region) == diagram.unbounded[cell]


def test_flat_diagram_is_scipys():
    from scipy.spatial import Voronoi

    points = np.random.default_rng(8).normal(size=(80, 2))
    theirs, ours = Voronoi(points), CayleyKleinVoronoi(points, CurvedMetric.euclidean(2))
    assert len(theirs.vertices) == len(ours.vertices)

    def described(diagram):
        return {
            tuple(sorted(pair)): tuple(
                sorted(tuple(np.round(diagram.vertices[v], 6)) for v in vertices if v >= 0)
            )
            for pair, vertices in zip(
                np.asarray(diagram.ridge_points).tolist(), diagram.ridge_vertices, strict=True
            )
        }

    assert described(theirs) == described(ours)
    for point in range(80):
        region = theirs.regions[theirs.point_region[point]]
        mine = ours.regions[ours.point_region[point]]
        assert len(region) == len(mine)
        assert (-1 in region) == ours.unbounded[point]


def test_what_cannot_be_drawn_says_so():
    diagram, _ = random_diagram(9, 0.0, d=4, n=10, labels=[0, 1] * 5)
    for method in ("cells", "outlines", "boundaries", "areas", "ridge_segments", "frontier"):
        with pytest.raises(NotRepresentableError, match="4 dimensions"):
            getattr(diagram, method)()
    with pytest.raises(InvalidInputError, match="ends at its domain"):
        random_diagram(9, -1.0, window=[[0, 0], [1, 1]])
    for window in ([[0, 0]], [[0, 0], [0, 1]], [[0, 0, 0], [1, 1, 1]]):
        with pytest.raises(InvalidInputError, match="expected two corners"):
            random_diagram(9, 0.0, window=window)


def test_works_without_shapely(monkeypatch):
    diagram, _ = random_diagram(10, -1.0)
    monkeypatch.setitem(sys.modules, "shapely", None)
    np.testing.assert_allclose(diagram.areas().sum(), domain_size(diagram))
    assert len(diagram.boundaries()) == 50
    with pytest.raises(MissingExtraError, match=r"cayleyklein\[plot\]"):
        diagram.cells()


@pytest.mark.parametrize("K", [1.0, 0.0, -1.0])
def test_corners_of_plane_cells_are_in_their_order_around_the_point(K):
    """Also those of cells that reach to infinity, or out of the domain."""
    points = np.random.default_rng(0).normal(0.0, 0.25, size=(60, 2))
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=K))
    n_open = 0
    for (generator,), region in zip(diagram.cell_generators, diagram.regions, strict=True):
        corners = [vertex for vertex in region if vertex >= 0]
        if len(corners) < 4:
            continue
        n_open += len(corners) < len(region)
        steps = diagram.vertices[corners] - points[generator]
        angles = np.arctan2(steps[:, 1], steps[:, 0])
        turns = np.mod(np.diff(angles, append=angles[0]), 2 * np.pi)
        once_around = round(turns.sum() / (2 * np.pi))
        assert once_around in (1, len(corners) - 1)  # to the left, or to the right
    assert n_open >= 1
