"""One point, two, collinear, cocircular, repeated, on or outside the conic: right, or an error."""

import numpy as np
import pytest
from tests.diagrams.helpers import CURVATURES, domain_size

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError

LINE = np.linspace(-0.6, 0.6, 7)[:, None] * [1.0, 0.5]
ANGLES = np.arange(8) * np.pi / 4
RING = 0.5 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
GRID = np.stack(np.meshgrid(*[np.arange(-3, 4) / 6] * 2), axis=-1).reshape(-1, 2)
CUBE = np.stack(np.meshgrid(*[[-0.3, 0.3]] * 3), axis=-1).reshape(-1, 3)


def assert_right(diagram, n=2_000):
    """The located generators are as near as the nearest k, ties apart, and the cells tile."""
    rng = np.random.default_rng(0)
    if diagram.window is None:
        X = rng.uniform(-1, 1, size=(n, diagram.metric.dimension))
        X = X[diagram.metric.contains(X)]
    else:
        X = rng.uniform(*diagram.window, size=(n, diagram.metric.dimension))
    distances = diagram.metric.pairwise(X, diagram.points)
    found = np.take_along_axis(distances, diagram.cell_generators[diagram.locate(X)], axis=1)
    k = diagram.order
    np.testing.assert_allclose(
        np.sort(found, axis=1), np.sort(distances, axis=1)[:, :k], rtol=1e-9, atol=1e-12
    )
    if diagram.metric.dimension == 2:
        np.testing.assert_allclose(diagram.areas().sum(), domain_size(diagram), rtol=1e-12)
        total = sum(cell.area for cell in diagram.cells(1e-8))
        np.testing.assert_allclose(total, domain_size(diagram), rtol=1e-7)


@pytest.mark.parametrize("K", CURVATURES)
def test_one_and_two_points(K):
    metric = CurvedMetric.euclidean(2, curvature=K)
    one = CayleyKleinVoronoi([[0.3, 0.2]], metric)
    assert one.unbounded.tolist() == [True]
    assert one.vertices.shape == (0, 2)
    assert one.ridge_points.shape == (0, 2)
    assert one.dual().simplices.shape == (0, 3)
    assert_right(one)
    two = CayleyKleinVoronoi([[0.3, 0.2], [-0.3, 0.4]], metric)
    assert two.ridge_points.tolist() in ([[0, 1]], [[1, 0]])
    assert_right(two)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_collinear_points_have_neighbouring_strips(K, order):
    diagram = CayleyKleinVoronoi(LINE, CurvedMetric.euclidean(2, curvature=K), order=order)
    windows = [list(range(i, i + order)) for i in range(8 - order)]
    assert sorted(diagram.cell_generators.tolist()) == windows
    assert len(diagram.vertices) == 0
    assert len(diagram.ridge_points) == 7 - order
    assert diagram.unbounded.all()
    assert_right(diagram)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_cocircular_points_meet_in_one_vertex(K, order):
    diagram = CayleyKleinVoronoi(RING, CurvedMetric.euclidean(2, curvature=K), order=order)
    assert len(diagram.cell_generators) == 8
    np.testing.assert_allclose(diagram.vertices, [[0.0, 0.0]], atol=1e-12)
    assert len(diagram.ridge_points) == 8
    assert all(sorted(region) == [-1, 0] for region in diagram.regions)
    assert_right(diagram)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_grid(K, order):
    assert_right(CayleyKleinVoronoi(GRID, CurvedMetric.euclidean(2, curvature=K), order=order))


def test_cells_of_a_flat_grid_that_touch_in_a_corner_are_no_neighbours():
    metric, neighbours = CurvedMetric.euclidean(2), 2 * 7 * 6
    first, second = (CayleyKleinVoronoi(GRID, metric, order=k) for k in (1, 2))
    assert len(first.ridge_points) == neighbours
    assert len(first.vertices) == 36
    pairs = np.sort(first.ridge_points, axis=1).tolist()
    assert sorted(second.cell_generators.tolist()) == sorted(pairs)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_cube(K):
    diagram = CayleyKleinVoronoi(CUBE, CurvedMetric.euclidean(3, curvature=K))
    np.testing.assert_allclose(diagram.vertices, np.zeros((1, 3)), atol=1e-12)
    apart = np.abs(CUBE[diagram.ridge_points[:, 0]] - CUBE[diagram.ridge_points[:, 1]]) > 0
    assert len(apart) == 12
    assert (apart.sum(axis=1) == 1).all()  # neighbours along an edge only
    flat = CayleyKleinVoronoi(CUBE[CUBE[:, 2] > 0], diagram.metric)
    assert len(flat.ridge_points) == 4
    for cells in (diagram, flat):
        assert_right(cells)
        volumes = [mesh.volume for mesh in cells.cells()]
        np.testing.assert_allclose(volumes, np.mean(volumes), rtol=0.05)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_duplicates_share_a_cell_and_are_reported(K):
    points = np.vstack([GRID, GRID[[3, 5, 3]]])
    metric = CurvedMetric.euclidean(2, curvature=K)
    diagram = CayleyKleinVoronoi(points, metric)
    assert diagram.duplicates.tolist() == [[49, 3], [50, 5], [51, 3]]
    np.testing.assert_array_equal(diagram.point_region, [*range(49), 3, 5, 3])
    assert diagram.hidden.size == 0
    assert_right(diagram)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_duplicates_count_in_higher_orders(K, d):
    """Of points that coincide the earlier rows are taken first; ridges are between places."""
    rng = np.random.default_rng(d)
    places = rng.uniform(-0.5, 0.5, size=(5, d))
    points = places[[0, 1, 2, 0, 3, 1, 0, 4, 0]]
    labels = rng.integers(3, size=9)
    metric = CurvedMetric.euclidean(d, curvature=K)
    X = rng.uniform(-0.55, 0.55, size=(2_000, d))
    nearest = np.argsort(metric.pairwise(X, points).round(12), axis=1, kind="stable")
    for order in range(1, 9):
        diagram = CayleyKleinVoronoi(points, metric, order=order, labels=labels)
        assert_right(diagram)
        found = diagram.cell_generators[diagram.locate(X)]
        np.testing.assert_array_equal(found, np.sort(nearest[:, :order], axis=1))
        votes = (labels[found][:, :, None] == np.arange(3)).sum(axis=1)
        np.testing.assert_array_equal(diagram.predict(X), votes.argmax(axis=1))
        p, q = points[diagram.ridge_points].transpose(1, 0, 2)
        assert (p != q).any(axis=1).all()
        for (a, b), vertices in zip(diagram.ridge_points, diagram.ridge_vertices, strict=True):
            at = diagram.vertices[[v for v in vertices if v >= 0]]
            if len(at):
                apart = np.diff(metric.pairwise(at, points[[a, b]]), axis=1)
                np.testing.assert_allclose(apart, 0, atol=1e-6)


@pytest.mark.parametrize("K", [-1.0, 0.0, 1.0])
def test_a_single_place(K):
    metric = CurvedMetric.euclidean(2, curvature=K)
    diagram = CayleyKleinVoronoi([[0.3, 0.2]] * 3, metric, order=2)
    assert diagram.cell_generators.tolist() == [[0, 1]]
    assert diagram.point_region.tolist() == [0, 0, 0]
    assert diagram.duplicates.tolist() == [[1, 0], [2, 0]]
    assert_right(diagram)


def test_points_lost_in_rounding_are_reported():
    rng = np.random.default_rng(1)
    base = rng.uniform(-0.5, 0.5, size=(100, 2))
    points = np.vstack([base, np.nextafter(base[:30], 1.0)])
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2))
    assert diagram.hidden.size > 0
    assert len(diagram.cell_generators) + len(diagram.hidden) == 130
    assert not np.isin(diagram.hidden, diagram.cell_generators).any()
    # and what stands for them is their twin
    twin = diagram.cell_generators[diagram.point_region[diagram.hidden], 0]
    np.testing.assert_array_equal(twin % 100, diagram.hidden % 100)
    assert_right(diagram)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("d", [2, 3])
def test_no_collinear_point_is_lost(d, K, gap):
    """The hull of collinear planes between far walls is thin, and must not be merged flat."""
    rng = np.random.default_rng(4)
    direction = rng.normal(size=d) / d
    along = np.linspace(-0.6, 0.6, 40)
    points = np.append(along, along[::5] + gap)[:, None] * direction
    for order in (1, 3):
        diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(d, curvature=K), order=order)
        assert diagram.hidden.size == 0
        assert len(diagram.cell_generators) == len(points) + 1 - order
        assert_right(diagram)


@pytest.mark.parametrize("gap", [1e-6, 1e-9])
@pytest.mark.parametrize("K", CURVATURES)
def test_nearly_equal_points(K, gap):
    points = np.vstack([GRID, GRID[:9] + gap])
    assert_right(CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=K)))


def test_points_on_or_outside_the_conic_are_named():
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    with pytest.raises(OutsideDomainError, match="points at index 2, 4 lies on or outside"):
        CayleyKleinVoronoi([[0, 0], [0, 0], [1, 0], [0.5, 0], [2, 2]], metric)


def test_order_k_leaves_out_cells_beyond_the_absolute():
    """Three points whose farthest-point cells meet outside the disc."""
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    points = [[-0.9, 0.0], [0.0, 0.05], [0.9, 0.0]]
    diagram = CayleyKleinVoronoi(points, metric, order=2)
    assert sorted(diagram.cell_generators.tolist()) == [[0, 1], [1, 2]]
    assert (diagram.areas() > 0).all()
    assert_right(diagram)
    assert diagram.locate([[0.0, -500.0], [-0.5, 0.0]]).tolist() == [
        -1,
        diagram.cell_generators.tolist().index([0, 1]),
    ]


@pytest.mark.parametrize("K", CURVATURES)
def test_all_but_one(K):
    """The order n - 1 is the farthest-point diagram."""
    points = np.random.default_rng(2).uniform(-0.5, 0.5, size=(9, 2))
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=K), order=8)
    assert_right(diagram)


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1e90, 1e200])
def test_extreme_extents_are_right_or_refused(scale):
    metric = CurvedMetric.euclidean(2)
    if 1e-100 < scale < 1e100:
        np.testing.assert_allclose(
            CayleyKleinVoronoi(GRID * scale, metric).areas() / scale / scale,
            CayleyKleinVoronoi(GRID, metric).areas(),
        )
    else:
        with pytest.raises(InvalidInputError, match=r"spread over .*e[+-]200.* rescale"):
            CayleyKleinVoronoi(GRID * scale, metric)


@pytest.mark.parametrize("distance", [1e3, 1e5, 1e9])
def test_outliers_are_no_harm_or_refused(distance):
    rng = np.random.default_rng(11)
    near, far, X = rng.normal(size=(60, 2)), rng.normal(size=(12, 2)) + 2, rng.normal(size=(500, 2))
    points, metric = np.vstack([near, far * distance]), CurvedMetric.euclidean(2)
    if distance > 1e8:
        with pytest.raises(InvalidInputError, match="drop the outliers"):
            CayleyKleinVoronoi(points, metric)
        return
    for queries in (X, X * distance):
        found = CayleyKleinVoronoi(points, metric).locate(queries)
        np.testing.assert_array_equal(found, metric.pairwise(queries, points).argmin(axis=1))


def test_refusals():
    plane = CurvedMetric.euclidean(2)
    for metric in (MixedMetric([plane, plane]), ProductMetric([plane, plane])):
        with pytest.raises(InvalidInputError, match="curved bisectors"):
            CayleyKleinVoronoi(RING, metric)
    with pytest.raises(InvalidInputError, match="must be a CurvedMetric; got str"):
        CayleyKleinVoronoi(RING, "euclidean")
    with pytest.raises(NotRepresentableError, match="no inverse"):
        CayleyKleinVoronoi(RING, CurvedMetric(factor=[[1.0, 0.0]]))
    with pytest.raises(InvalidInputError, match="points has 2 coordinates per point, but 3"):
        CayleyKleinVoronoi(RING, CurvedMetric.euclidean(3))
    with pytest.raises(InvalidInputError, match="order=8 for 8 points"):
        CayleyKleinVoronoi(RING, plane, order=8)
    with pytest.raises(InvalidInputError, match="order=0"):
        CayleyKleinVoronoi(RING, plane, order=0)
    with pytest.raises(InvalidInputError, match="NaN"):
        CayleyKleinVoronoi([[0.0, np.nan]], plane)
    with pytest.raises(InvalidInputError, match="X has 3 coordinates"):
        CayleyKleinVoronoi(RING, plane).locate([[0.0, 0.0, 0.0]])
    with pytest.raises(NotRepresentableError, match="order 1; this one has order 2"):
        CayleyKleinVoronoi(RING, plane, order=2).dual()
