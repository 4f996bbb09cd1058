"""What can never fit is refused before the work, with the memory that it would take."""

import math
import resource
import warnings

import numpy as np
import pytest

from cayleyklein import (
    CayleyKleinLMNN,
    CurvedKNeighborsClassifier,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
)
from cayleyklein import _validation as validation
from cayleyklein.cli import main
from cayleyklein.datasets import make_elliptic_blobs, make_hyperbolic_tree, make_mixed
from cayleyklein.diagrams import CayleyKleinVoronoi
from cayleyklein.exceptions import InvalidInputError, TooLargeError
from cayleyklein.learning import MMC
from cayleyklein.plotting import DecisionBoundaryDisplay

MANY = np.broadcast_to(np.zeros(1), (300_000, 1))
"""Rows that take no memory themselves."""


@pytest.fixture
def little_memory(monkeypatch):
    """A machine of 1 MB."""
    monkeypatch.setattr(validation, "memory_limit", lambda: 1e6)


def wide(n, d):
    return np.broadcast_to(np.arange(n)[:, None] * 1.0, (n, d))


REQUESTS = {
    "pairwise": lambda: CurvedMetric.euclidean(1, curvature=1.0).pairwise(MANY),
    "elliptic blobs": lambda: make_elliptic_blobs(10**11, random_state=0),
    "columns of blobs": lambda: make_elliptic_blobs(100, 10**6, random_state=0),
    "tree": lambda: make_hyperbolic_tree(depth=8, branching=1000, random_state=0),
    "deep tree": lambda: make_hyperbolic_tree(depth=4000, edge=0.001, random_state=0),
    "rows of a tree": lambda: make_hyperbolic_tree(10**11, random_state=0),
    "mixed": lambda: make_mixed(10**11, random_state=0),
    "columns to learn": lambda: CayleyKleinLMNN("flat").fit(wide(4, 200_000), [0, 1, 0, 1]),
    "columns for MMC": lambda: MMC().fit(wide(4, 200_000), [0, 1, 0, 1]),
    "order": lambda: CayleyKleinVoronoi(
        np.random.default_rng(0).normal(size=(100_000, 2)), CurvedMetric.euclidean(2), order=5000
    ),
    "grid": lambda: DecisionBoundaryDisplay.from_estimator(
        CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(2)).fit(np.eye(2), [0, 1]),
        np.eye(2),
        resolution=10**6,
    ),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_is_refused_before_the_work(request_):
    with pytest.raises(TooLargeError, match=r"would take (inf|[\d,]+) GB, but there are only"):
        request_()


def test_what_fits_is_done(little_memory):
    X = np.random.default_rng(0).normal(size=(300, 2))
    metric = CurvedMetric.euclidean(2)
    assert metric.pairwise(X).shape == (300, 300)
    with pytest.raises(TooLargeError, match="between 400 and 400 rows"):
        metric.pairwise(np.vstack([X, X[:100]]))
    assert metric.pairwise(np.vstack([X, X[:100]]).astype(np.float32)).shape == (400, 400)


def test_neighbours(little_memory):
    X = np.random.default_rng(0).normal(size=(400, 2))
    search = CurvedNeighbors(metric=CurvedMetric.euclidean(2)).fit(X)
    with pytest.raises(TooLargeError, match="300 neighbours of each of 400 rows"):
        search.kneighbors(X, 300)
    with pytest.raises(TooLargeError, match=r"within inf, about 400 of each of 400 rows,"):
        search.radius_neighbors(X, math.inf)
    with pytest.raises(TooLargeError, match=r"within inf, about 399 of each of 400 rows,"):
        search.radius_neighbors(radius=math.inf)


def test_more_targets_than_rows_are_those_there_are():
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.arange(12) % 2
    many, all_ = (CurvedLMNN(geometry="flat", n_targets=n, max_iter=3) for n in (10**12, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the few rows, and of the few iterations
        np.testing.assert_array_equal(many.fit(X, y).components_, all_.fit(X, y).components_)


@pytest.mark.parametrize(("d", "tolerance"), [(2, 1e-13), (2, 1e-300), (3, 1e-7), (3, 1e-20)])
def test_tolerances_that_would_never_be_reached(d, tolerance):
    points = np.vstack([np.zeros(d), 0.3 * np.eye(d)])
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(d, curvature=-1.0))
    with pytest.raises(InvalidInputError, match=f"Got tolerance={tolerance}, but expected"):
        diagram.cells(tolerance)


def test_fine_tolerances_of_the_plane():
    points = np.vstack([np.zeros(2), 0.3 * np.eye(2)])
    diagram = CayleyKleinVoronoi(points, CurvedMetric.euclidean(2, curvature=-1.0))
    cells = diagram.cells(1e-10)
    assert sum(cell.area for cell in cells) == pytest.approx(np.pi, rel=1e-9)


def test_the_limit_follows_ulimit():
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    total = validation.memory_limit()
    assert 1e8 < total < math.inf
    resource.setrlimit(resource.RLIMIT_AS, (2**60, hard))
    try:
        assert validation.memory_limit() == total
        resource.setrlimit(resource.RLIMIT_AS, (int(total) // 2, hard))
        assert validation.memory_limit() == int(total) // 2
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_the_command_says_how_much(tmp_path, capsys, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "\n".join(f"{i / 2},{i * i % 7}" for i in range(30)))
    monkeypatch.setattr(validation, "memory_limit", lambda: 1e3)
    assert main(["curvature", str(path), "-t", "b"]) == 1
    assert "The distances between 30 and 30 rows would take" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]
