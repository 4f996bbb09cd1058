"""Embeddings of many dimensions drawn in two or three: projections, and maps started from them.

Points are vectors X = (u, t) of the hyperboloid, the sphere or the plane, t last, which hold any
radius (:func:`cayleyklein.geometry.charts.surface_points`). They are moved by the isometry that
puts their Fréchet mean into the origin. There the logarithms v have principal axes, and those of
largest mean square span a geodesic subspace (Fletcher, Lu, Pizer and Joshi 2004). Two projections
to it are tried, and the one of less stress is kept:

- to the nearest point of the subspace, (Pu, t) over its length: it contracts;
- along spheres around the mean: the direction of Pv, and the distance from the mean. Like the
  horospherical projection of HoroPCA (Chami, Gu, Nguyen and Ré 2021) it keeps far points far, and
  it needs no optimisation.

A descent of the stress at the same K goes on from there.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import charts, sphere
from cayleyklein.manifold import _stress as spaces
from cayleyklein.manifold._from_chart import rows_in_chart
from cayleyklein.manifold._placing import place
from cayleyklein.manifold.scaling import ScalingProblem
from cayleyklein.metrics import CurvedMetric


class MapQuality(NamedTuple):
    """What a map keeps of the distances δ that it shows as d; made by :func:`map_embedding`.

    Examples
    --------
    >>> X = 0.9 * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    >>> map_embedding(X, "poincare").quality["map"].neighbors_kept
    1.0
    """

    stress: float  #: Kruskal's √(Σ(d - δ)²/Σδ²).
    mean_error: float  #: Mean of abs(d - δ)/δ.
    worst_error: float  #: Largest abs(d - δ)/δ.
    neighbors_kept: (
        float  #: Share of each row's 10 nearest rows that are its 10 nearest on the map.
    )


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingMap:
    """A map of an embedding in two or three dimensions; made by :func:`map_embedding`.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-0.4, 0.4, size=(30, 4))
    >>> found = map_embedding(X, "poincare", random_state=0)
    >>> print(found)  # doctest: +ELLIPSIS
                    stress  mean error   worst  neighbours kept
    projection  ...
    map         ...
    flat        ...
    >>> found.points.shape
    (30, 2)
    """

    curvature: float  #: Curvature K of the map, that of the embedding.
    surface: Floats  #: Points (n, r + 1) of the unit hyperboloid or sphere, or (x, 1) of the plane.
    projection: Floats  #: The same of the projection that the map was started from.
    quality: dict[str, MapQuality]  #: Of "projection", "map" and "flat", a flat map of the rows.
    judged: Ints  #: Rows whose distances `quality` is about: all, or an even sample.

    @property
    def points(self) -> Floats:
        """Points in Poincaré's ball (K < 0) or in flat space (n, r), or unit vectors (n, r + 1)."""
        return to_picture(self.surface, self.curvature)

    def __str__(self) -> str:
        head = f"{'':12}{'stress':>10}{'mean error':>12}{'worst':>8}{'neighbours kept':>17}"
        rows = [
            f"{name:12}{found.stress:10.3f}{found.mean_error:12.1%}{found.worst_error:8.0%}"
            f"{found.neighbors_kept:17.0%}"
            for name, found in self.quality.items()
        ]
        return "\n".join([head, *rows])


def to_picture(surface: Floats, curvature: float) -> Floats:
    """Return points of Poincaré's ball or the plane, or unit vectors, of vectors of the surface."""
    if curvature > 0:
        return surface
    if curvature == 0:
        return surface[:, :-1]
    v = spaces.to_tangent(surface, -1.0)
    radius = np.linalg.norm(v, axis=1)
    towards = np.divide(v.T, radius, np.zeros_like(v.T), where=radius > 0).T
    return charts.from_polar(radius, towards, "poincare")


def as_surface(
    X: ArrayLike, chart: str, curvature: float, radius: float | None = None, axis: int = -1
) -> Floats:
    """Return vectors (n, d + 1) of the unit hyperboloid or sphere, or (x, 1), of rows in a chart.

    `chart`, `radius` and `axis` are those of :class:`FromChart`.
    """
    given = checks.as_points(X, "X", ndim=2)
    unit = radius or 1 / (np.sqrt(abs(curvature)) or 1.0)
    if chart in sphere.WHOLE:
        return rows_in_chart(given, "X", chart, curvature, radius or 1.0, axis)
    rows = rows_in_chart(given, "X", chart, curvature, float(unit), axis)
    return charts.surface_points(rows, chart, int(np.sign(curvature)))


def distances_of(first: Floats, second: Floats, sign: float) -> Floats:
    """Return distances (n, m) between vectors of the unit hyperboloid or sphere, or (x, 1)."""
    ends = first[:, None], second[None]
    if sign > 0:
        return sphere.angle_between(*ends)
    if sign < 0:
        return np.asarray(charts.chart_distance(*ends, "hyperboloid"))
    return np.asarray(CurvedMetric.euclidean(first.shape[1]).pairwise(first, second), float)


def centered_at(surface: Floats, middle: Floats, curvature: float) -> Floats:
    """Return vectors of the surface moved along the geodesic that takes one of them to the origin.

    Two reflections: in the bisector, and across the direction of the geodesic.
    """
    sign = float(np.sign(curvature))
    if sign == 0:
        return np.asarray(surface - np.append(middle[:-1], 0.0))
    moved = spaces.moved_to_origin(surface, middle, sign)
    length = np.linalg.norm(middle[:-1])
    if length == 0:
        return moved
    along = middle[:-1] / length
    return np.column_stack(
        [moved[:, :-1] - 2 * np.outer(moved[:, :-1] @ along, along), moved[:, -1]]
    )


def map_embedding(
    X: ArrayLike,
    chart: str = "poincare",
    *,
    curvature: float = -1.0,
    radius: float | None = None,
    axis: int = -1,
    n_components: int = 2,
    refine: bool = True,
    max_iter: int = 300,
    max_rows: int = 1000,
    random_state: Any = None,
) -> EmbeddingMap:
    """Draw an embedding of any dimension in two or three, in a space of the same curvature.

    The points are projected to the principal geodesic subspace through their Fréchet mean. From
    there a descent of the stress goes on, unless ``refine=False``: then the result is the
    projection, which is deterministic and takes no pairs of rows but for its report.

    Parameters
    ----------
    X : array-like of shape (n, d) or (n, d + 1)
        Rows in the chart.
    chart : str, default="poincare"
        As for :class:`FromChart`: "poincare", "klein", "hyperboloid" (Lorentz), "half_space",
        "hemisphere", "conformal", "sphere", or on the whole sphere "unit" and "lonlat".
    curvature : float, default=-1.0
        Curvature K of the embedding.
    radius : float, optional
        Radius of the given ball, hyperboloid or sphere, 1/√abs(K) by default.
    axis : int, default=-1
        Column of the time coordinate of the hyperboloid; geoopt, geomstats and manify have 0.
    n_components : int, default=2
        Dimension of the map.
    refine : bool, default=True
        Whether to lower the stress from the projection.
    max_iter : int, default=300
        Maximum number of iterations.
    max_rows : int, default=1000
        Most rows that descend together and that `quality` is about. Others are placed among these,
        each where its own stress is least.
    random_state : int, RandomState or None, default=None
        Seed of the flat map that the result is compared with.

    Returns
    -------
    EmbeddingMap
        Points, and what the projection, the map and a flat map keep of the distances.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 10))  # ten dimensions, in Poincaré's ball
    >>> X /= 1.1 * np.linalg.norm(X, axis=1, keepdims=True)
    >>> found = map_embedding(X, "poincare", random_state=0)
    >>> found.points.shape, found.quality["map"].stress < found.quality["flat"].stress
    ((40, 2), True)
    """
    r = checks.as_count(n_components, "n_components")
    K = checks.as_real(curvature, "curvature")
    most = checks.as_count(max_rows, "max_rows")
    surface = as_surface(X, chart, K, radius, axis)
    n = len(surface)
    if n < 2:
        raise InvalidInputError(f"X must have at least two rows; got {n}.")
    sign = float(np.sign(K))
    few = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
    target = distances_of(surface[few], surface[few], sign)
    v = projected(surface, sign, r, few, target)
    projection = spaces.to_surface(v, sign)
    rng = check_random_state(random_state)
    size = float(np.sqrt(np.square(target).mean())) or 1.0
    problem = ScalingProblem(
        target / size, None, target / size, r, K=0.0, max_iter=max_iter, tol=1e-6, rng=rng
    )
    flat = size * spaces.distances(problem.solve(1).v, 0.0)
    quality = {"projection": quality_of(target, spaces.distances(v[few], sign))}
    exact = r >= surface.shape[1] - 1
    if refine and not exact:
        problem = replace(problem, K=sign * size**2)
        v = descended(problem, v, few, size, surface, sign)
    quality["map"] = quality_of(target, spaces.distances(v[few], sign))
    quality["flat"] = quality_of(target, flat)
    return EmbeddingMap(K, spaces.to_surface(v, sign), projection, quality, few)


def projected(surface: Floats, sign: float, r: int, few: Ints, target: Floats) -> Floats:
    """Return tangent coordinates (n, r) of the better one of two projections."""
    centred = spaces.moved_to_center(surface, sign)
    v = spaces.to_tangent(centred, sign) if sign else centred[:, :-1]
    width = v.shape[1]
    if width <= r:
        return np.column_stack([v, np.zeros((len(v), r - width))])
    axes = spaces.axes_of_spread(v)[:, :r]
    length = np.linalg.norm(v, axis=1)
    along = v @ axes
    shrunk = np.linalg.norm(along, axis=1)
    kept = along * np.divide(length, shrunk, np.zeros_like(length), where=shrunk > 0)[:, None]
    found = [kept if sign else along]
    if sign:
        nearest = np.column_stack([centred[:, :-1] @ axes, centred[:, -1]])
        square = sign * np.square(nearest[:, :-1]).sum(axis=1) + np.square(nearest[:, -1])
        nearest[square <= 0, -1] = 1.0  # all of the sphere's equator across the subspace
        found.append(
            spaces.to_tangent(nearest / np.sqrt(np.maximum(square, 1e-300))[:, None], sign)
        )
    return min(found, key=lambda v: quality_of(target, spaces.distances(v[few], sign)).stress)


def descended(
    problem: ScalingProblem, v: Floats, few: Ints, size: float, surface: Floats, sign: float
) -> Floats:
    """Return v after a descent of the stress; rows that are not among the few are placed there."""
    K = sign * size**2
    start = v[few] / size
    fit = problem.descend(start, K)
    found = size * (fit.v if fit.stress <= problem.stress(start, K)[0] else start)
    if len(few) == len(v):
        return spaces.to_centered(spaces.to_surface(found, sign), sign)
    moved = v.copy()
    moved[few] = found
    others = np.setdiff1d(np.arange(len(v)), few)
    for some in np.array_split(others, -(-len(others) // 500)):
        target = distances_of(surface[some], surface[few], sign)
        moved[some] = place(found, sign, target, np.ones_like(target), problem.max_iter)[0]
    return spaces.to_centered(spaces.to_surface(moved, sign), sign)


def quality_of(target: Floats, found: Floats) -> MapQuality:
    """Compare distances (n, n) of a map with those that it should show."""
    n = len(target)
    pairs = np.triu_indices(n, 1)
    goal, shown = target[pairs], found[pairs]
    apart = goal > 0
    error = np.abs(shown - goal)[apart] / goal[apart]
    total = float(np.square(goal).sum()) or 1.0
    stress = float(np.sqrt(np.square(shown - goal).sum() / total))
    k = min(10, n - 1)
    itself = np.arange(n)
    lists = []
    for distances in (target, found):
        distances = distances.copy()
        distances[itself, itself] = np.inf
        lists.append(np.argsort(distances, axis=1, kind="stable")[:, :k])
    kept = np.mean([len(np.intersect1d(*rows)) / k for rows in zip(*lists, strict=True)])
    if not len(error):
        return MapQuality(stress, 0.0, 0.0, float(kept))
    return MapQuality(stress, float(error.mean()), float(error.max()), float(kept))
