"""Generators of curved data: round clusters of a curved space, in its flat chart.

Clusters of one size in a curved space are neither of one size nor of one shape in the columns of a
table. Towards the horizon of an elliptic space they are drawn out, and towards the rim of a
hyperbolic one pressed flat, by a factor that differs between along the radius and across it. No
single Mahalanobis distance undoes that; the curved one does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cayleyklein._estimators import as_random_state
from cayleyklein._typing import Floats
from cayleyklein._validation import as_count, as_real
from cayleyklein.datasets._random_points import (
    LARGEST_RADIUS,
    around,
    carriers,
    check_size,
    elliptic_clusters,
    shared_labels,
    spread_centers,
    tree_nodes,
    uniform_in_ball,
)
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric

ELLIPTIC, HYPERBOLIC = "(0, inf)", "(-inf, 0)"
"""Intervals of curvatures."""

STD = "[0, 1]"
"""Interval of standard deviations, in units of 1/√|K|."""

REACH = f"(0, {math.pi / 2})"
"""Interval of angles to the pole, up to the horizon."""

RADIUS = f"(0, {LARGEST_RADIUS:g}]"
"""Interval of hyperbolic radii; float64 cannot tell larger ones from the boundary."""


def make_elliptic_blobs(
    n_samples: int = 640,
    n_features: int = 3,
    *,
    centers: int = 40,
    cluster_std: float = 0.15,
    reach: float = 1.5,
    curvature: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return round clusters of a hemisphere, in the chart that keeps straight lines straight.

    Parameters
    ----------
    n_samples : int, default=640
        Rows, shared equally by the clusters.
    n_features : int, default=3
    centers : int, default=40
        Clusters; each is a class.
    cluster_std : float, default=0.15
        Standard deviation of a cluster, as an angle in radians.
    reach : float, default=1.5
        Largest angle between a row and the pole, below π/2, where the horizon is: rows that fall
        beyond are drawn anew. The nearer to π/2, the more do the columns distort.
    curvature : float, default=1.0
        K > 0: that of a sphere of radius 1/√K.
    random_state : int, RandomState instance or None, default=None
    return_metric : bool, default=False
        Return the metric too.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        The cluster of each row.
    metric : CurvedMetric
        The metric in which the clusters are round; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_elliptic_blobs(200, centers=10, random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((200, 3), 10, CurvedMetric(elliptic, d=3, K=1))

    The columns have a long tail, the clusters do not:

    >>> bool(np.abs(X).max() > 5), bool(metric.pairwise(X[y == 0]).max() < 1.5)
    (True, True)
    """
    n, d = as_count(n_samples, "n_samples"), as_count(n_features, "n_features")
    rng = as_random_state(random_state)
    K = as_real(curvature, "curvature", ELLIPTIC)
    std, reach = as_real(cluster_std, "cluster_std", STD), as_real(reach, "reach", REACH)
    check_size(n, d, as_count(centers, "centers"))
    y = shared_labels(n, centers, rng)
    unit = CurvedMetric.euclidean(d, curvature=1.0)
    middles = spread_centers(
        int(y.max()) + 1, unit, lambda m: uniform_in_ball(m, d, reach, +1, rng)
    )
    X = elliptic_clusters(middles, y, std, reach, rng) / math.sqrt(K)
    metric = CurvedMetric.euclidean(d, curvature=K)
    return (X, y, metric) if return_metric else (X, y)


def make_hyperbolic_tree(
    n_samples: int = 644,
    n_features: int = 2,
    *,
    depth: int = 4,
    branching: int = 2,
    edge: float = 1.0,
    cluster_std: float = 0.3,
    curvature: float = -1.0,
    random_state: int | np.random.RandomState | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return clusters around the nodes of a tree in a hyperbolic space, in Klein's ball.

    Equal edges leave room for a tree there, however deep: in the ball its nodes crowd at the rim.

    Parameters
    ----------
    n_samples : int, default=644
        Rows, shared equally by the nodes.
    n_features : int, default=2
        At least 2; the tree lies in the plane of the first two, and its clusters fill all.
    depth : int, default=4
        Edges from the root to a leaf.
    branching : int, default=2
        Children of a node; the root has one more.
    edge : float, default=1.0
        Length of an edge, in units of 1/√-K.
    cluster_std : float, default=0.3
        Standard deviation of the rows around a node, in the same unit.
    curvature : float, default=-1.0
        K < 0; the rows lie in the open ball of radius 1/√-K.
    random_state : int, RandomState instance or None, default=None
    return_metric : bool, default=False
        Return the metric too.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        The node of each row, counted from the root by levels.
    metric : CurvedMetric
        The metric in which the clusters are round; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_hyperbolic_tree(random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((644, 2), 46, CurvedMetric(hyperbolic, d=2, K=-1))
    >>> bool(metric.contains(X).all())
    True

    A tree too deep for float64 is refused:

    >>> make_hyperbolic_tree(depth=20)
    Traceback (most recent call last):
    cayleyklein.exceptions.InvalidInputError: Got depth=20 and edge=1, a tree of radius 20, but ...
    """
    n, d = as_count(n_samples, "n_samples"), as_count(n_features, "n_features")
    if d < 2:
        raise InvalidInputError(f"Got n_features={d}, but a tree needs a plane: at least 2.")
    rng = as_random_state(random_state)
    K = as_real(curvature, "curvature", HYPERBOLIC)
    check_size(n, d, 1)
    nodes = tree_nodes(as_count(depth, "depth"), as_count(branching, "branching"), edge, d, rng)
    y = shared_labels(n, len(nodes), rng)
    X = around(nodes, y, d, as_real(cluster_std, "cluster_std", STD), -1, rng) / math.sqrt(-K)
    metric = CurvedMetric.euclidean(d, curvature=K)
    return (X, y, metric) if return_metric else (X, y)


def make_mixed(
    n_samples: int = 800,
    n_features: tuple[int, int] = (3, 2),
    *,
    centers: int = 80,
    cluster_std: tuple[float, float] = (0.22, 0.8),
    reach: float = 1.54,
    radius: float = 4.0,
    curvatures: tuple[float, float] = (1.0, -1.0),
    random_state: int | np.random.RandomState | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return clusters of the product of a hemisphere and a hyperbolic ball.

    The first columns are the elliptic half of a row and the others its hyperbolic half. In either
    half clusters overlap; together they tell the class. No metric of one curvature fits both;
    the sum of two does.

    Parameters
    ----------
    n_samples : int, default=800
        Rows, shared equally by the clusters.
    n_features : pair of int, default=(3, 2)
        Columns of the elliptic and of the hyperbolic half.
    centers : int, default=80
        Clusters; each is a class.
    cluster_std : pair of float, default=(0.22, 0.8)
        Standard deviation of a cluster in either half, in units of 1/√|K|.
    reach : float, default=1.54
        Largest angle to the pole, see :func:`make_elliptic_blobs`.
    radius : float, default=4.0
        Largest distance of a hyperbolic centre from the middle, in units of 1/√-K.
    curvatures : pair of float, default=(1.0, -1.0)
        K of the elliptic and of the hyperbolic half.
    random_state : int, RandomState instance or None, default=None
    return_metric : bool, default=False
        Return the metric too.

    Returns
    -------
    X : ndarray of shape (n_samples, sum of n_features)
    y : ndarray of shape (n_samples,)
        The cluster of each row.
    metric : MixedMetric
        The sum of the distances in the two halves, each divided by its `cluster_std`; only if
        `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_mixed(random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((800, 5), 80, MixedMetric(0.784314 * elliptic(K=1) + 0.215686 * hyperbolic(K=-1), d=5))
    """
    n, n_centers = as_count(n_samples, "n_samples"), as_count(centers, "centers")
    d_e, d_h = (as_count(d, "n_features") for d in as_halves(n_features, "n_features"))
    std_e, std_h = (
        as_real(std, "cluster_std", STD) for std in as_halves(cluster_std, "cluster_std")
    )
    first, second = as_halves(curvatures, "curvatures")
    K_e = as_real(first, "curvatures[0]", ELLIPTIC)
    K_h = as_real(second, "curvatures[1]", HYPERBOLIC)
    reach, radius = as_real(reach, "reach", REACH), as_real(radius, "radius", RADIUS)
    rng = as_random_state(random_state)
    check_size(n, d_e + d_h, n_centers)

    def draw(m: int) -> Floats:
        elliptic = uniform_in_ball(m, d_e, reach, +1, rng)
        return np.hstack([elliptic, uniform_in_ball(m, d_h, radius, -1, rng)])

    y = shared_labels(n, n_centers, rng)
    unit = sum_of_halves(d_e, d_h, (1.0, -1.0), (std_e, std_h))
    middles = spread_centers(n_centers, unit, draw)
    round_half = elliptic_clusters(middles[:, :d_e], y, std_e, reach, rng)
    open_half = around(carriers(middles[:, d_e:], -1), y, d_h, std_h, -1, rng)
    X = np.hstack([round_half / math.sqrt(K_e), open_half / math.sqrt(-K_h)])
    if not return_metric:
        return X, y
    return X, y, sum_of_halves(d_e, d_h, (K_e, K_h), (std_e, std_h))


def sum_of_halves(
    d_e: int, d_h: int, curvatures: tuple[float, float], stds: tuple[float, float]
) -> MixedMetric:
    """Return the sum of the distances in two halves of the columns, each in units of its std."""
    factors = [np.eye(d_e, d_e + d_h), np.eye(d_h, d_e + d_h, k=d_e)]
    pairs = zip(factors, curvatures, strict=True)
    metrics = [CurvedMetric(factor=factor, curvature=K) for factor, K in pairs]
    weights = np.sqrt(np.abs(curvatures)) / [std or 1.0 for std in stds]
    return MixedMetric(metrics, weights / weights.sum())


# -- parameters ------------------------------------------------------------------------


def as_halves(value: Any, name: str) -> Any:
    """Check a pair of values, for the elliptic and the hyperbolic half."""
    if np.shape(value) != (2,):
        raise InvalidInputError(f"Got {name}={value!r}, but expected two numbers.")
    return value
