"""A user's script with types: `make release-check` runs mypy --strict on it, and then the script.

It sees the installed package alone, and asks for no more than an annotated program would: that
fits return their own class, that answers are arrays, and that attributes are known.
"""

import numpy as np
from numpy.typing import NDArray

from cayleyklein import (
    MMC,
    CayleyKleinVoronoi,
    CurvedKernelClassifier,
    CurvedKernelRegressor,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLinearSVC,
    CurvedLMNN,
    CurvedMDS,
    CurvedMetric,
    CurvedMLKR,
    CurvedNeighbors,
    CurvedPairs,
    CurvedQuadruplets,
    CurvedTriplets,
    MixedMetric,
    ProductMetric,
    lloyd,
    mesh_polygon,
)
from cayleyklein.datasets import load_wine, make_elliptic_blobs
from cayleyklein.exceptions import CayleyKleinError
from cayleyklein.learning import Progress
from cayleyklein.plotting import VoronoiDisplay
from cayleyklein.prediction import Explanation, KernelExplanation, Selection

Floats = NDArray[np.float64]


def stop_early(progress: Progress) -> bool:
    """Say that a fit goes on for a while."""
    return progress.iteration > 3


def metrics() -> float:
    """Distances, balls and lines."""
    disc = CurvedMetric(matrix=np.eye(2), curvature=-1.0)
    sphere = CurvedMetric.euclidean(2, curvature=1.0)
    table: NDArray[np.floating] = disc.pairwise([[0.0, 0.0], [0.5, 0.0]])
    middle: NDArray[np.floating] = disc.midpoint([0.0, 0.0], [0.8, 0.0])
    axes: Floats = disc.ball([0.5, 0.0], 0.5).ellipsoid().semi_axes
    mixed = MixedMetric([disc, sphere], weights=[0.5, 0.5])
    product = ProductMetric([sphere, CurvedMetric.euclidean(2)])
    name: str = disc.geometry + mixed.geometry + product.geometry
    weights: Floats = product.feature_weights()
    inside: NDArray[np.bool_] = mixed.contains([middle])
    try:
        disc.distance([0.0, 0.0], [2.0, 0.0])
    except CayleyKleinError as error:
        name += str(error)
    return float(table.sum() + axes.sum() + weights.sum() + inside.sum() + len(name))


def classifiers(X: Floats, y: NDArray[np.int64]) -> float:
    """A classifier, its reasons, its metric and its neighbours; the learners below it."""
    model = CurvedKNeighborsClassifier(random_state=0, callback=stop_early).fit(X, y)
    shares: Floats = model.predict_proba(X[:3])
    why: Explanation = model.explain(X[0])
    several: list[Explanation] = model.explain(X[:2])
    distances, rows = model.kneighbors(X[:3], n_neighbors=4)
    nearest: NDArray[np.intp] = model.kneighbors(X[:3], return_distance=False)
    far: Floats = distances[:, -1]
    votes: Floats = why.votes
    learner = CurvedLMNN(geometry="elliptic", random_state=0).fit(X, y)
    curvature: Floats = learner.curvature_
    chosen: Selection | None = model.selection_
    Z: NDArray[np.floating] = learner.transform(X)
    linear = CurvedLinearSVC().fit(X, y)
    machine = CurvedKernelClassifier(metric=learner.metric_).fit(X, y)
    reasons: KernelExplanation = machine.explain(X[0])
    flat = MMC().fit(X, y)
    score: float = model.score(X, y) + linear.score(X, y) + machine.score(X, y)
    assert chosen is not None
    assert chosen.n_neighbors > 0
    assert set(reasons.parts) == set(machine.part_weights_)
    assert [one.prediction for one in several] == y[:2].tolist()
    assert flat.metric_.geometry == "flat"
    assert (nearest[:, :4] == rows).all()
    return score + float(far.sum() + shares.sum() + votes.sum() + curvature[0] + Z[0, 0])


def regressors(X: Floats) -> float:
    """Targets that are numbers."""
    model = CurvedKNeighborsRegressor(5, metric=CurvedMetric.mahalanobis(X)).fit(X, X[:, 0])
    predicted: Floats = model.predict(X)
    low, high = CurvedKernelRegressor(random_state=0).fit(X, X[:, 0]).predict_interval(X)
    assert (low < high).all()
    learner = CurvedMLKR(random_state=0).fit(X, X[:, 0])
    search = CurvedNeighbors(3, metric=learner.metric_).fit(X)
    distances, rows = search.radius_neighbors(X[:2], radius=1.0)
    degree: int = search.kneighbors_graph(X[:2]).nnz
    return model.score(X, X[:, 0]) + float(predicted.mean()) + degree + len(distances) + len(rows)


def comparisons(X: Floats) -> float:
    """Pairs, triplets, quadruplets, and a map."""
    pairs = X[:40].reshape(20, 2, -1)
    signs = np.where(np.arange(20) % 2, 1, -1)
    two = CurvedPairs(random_state=0).fit(pairs, signs)
    three = CurvedTriplets(random_state=0).fit(X[:60].reshape(20, 3, -1))
    four = CurvedQuadruplets(random_state=0).fit(X[:80].reshape(20, 4, -1))
    said: NDArray[np.intp] = two.predict(pairs)
    gaps: NDArray[np.floating] = three.pair_distance(pairs) + four.pair_distance(pairs)
    places: Floats = CurvedMDS(random_state=0).fit_transform(X[:20])
    return float(gaps.sum() + said.sum() + places.sum())


def plane() -> int:
    """Diagrams, meshes and pictures."""
    disc = CurvedMetric.euclidean(2, curvature=-1.0)
    sites = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.4, -0.4]]
    diagram = CayleyKleinVoronoi(sites, disc, labels=["a", "b", "b", "a"])
    pairs, segments = diagram.ridge_segments()
    display: VoronoiDisplay = VoronoiDisplay.from_diagram(diagram)
    mesh = mesh_polygon([[0.0, 0.0], [0.8, 0.0], [0.0, 0.8]], disc, max_area=0.05)
    spread = lloyd(sites, disc, [[-0.6, -0.6], [0.6, -0.6], [0.6, 0.6], [-0.6, 0.6]])
    triangles: NDArray[np.intp] = mesh.triangles
    points: Floats = spread.points
    return len(triangles) + len(points) + len(pairs) + len(segments) + len(display.diagram.areas())


if __name__ == "__main__":
    wine = load_wine()
    rows, labels = make_elliptic_blobs(120, random_state=0)
    values = metrics(), classifiers(wine.data, wine.target), regressors(rows), comparisons(rows)
    assert all(np.isfinite(values))
    assert plane() > 0
    assert len(labels) == 120
