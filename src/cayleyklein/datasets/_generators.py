"""Generators of curved data: round clusters of a curved space, in its flat chart.

Near the horizon of an elliptic space the chart stretches clusters, and near the rim of a hyperbolic
space it flattens them. No single Mahalanobis distance undoes that; the curved one does.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cayleyklein import _estimators as estimators
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_count, as_real, check_memory, expect
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric

Random = np.random.RandomState
LARGEST_RADIUS = 8.0  # of a hyperbolic tree: there 1 - tanh² still has nine digits in float64


def make_elliptic_blobs(
    n_samples: int = 640,
    n_features: int = 3,
    *,
    centers: int = 40,
    cluster_std: float = 0.15,
    reach: float = 1.5,
    random_state: int | Random | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return round clusters on a hemisphere, in its gnomonic chart, where geodesics are straight.

    Parameters
    ----------
    n_samples : int, default=640
        Number of rows, shared equally by the clusters.
    n_features : int, default=3
        Number of columns.
    centers : int, default=40
        Number of clusters; each is a class.
    cluster_std : float, default=0.15
        Standard deviation of a cluster, as an angle in radians.
    reach : float, default=1.5
        Largest angle between a row and the pole, below π/2, where the horizon is.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows.
    return_metric : bool, default=False
        Whether to return the metric too.

    Returns
    -------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
        Rows, and the cluster of each.
    metric : CurvedMetric
        The metric in which the clusters are round, of K = 1; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_elliptic_blobs(200, centers=10, random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((200, 3), 10, CurvedMetric(elliptic, d=3, K=1))
    """
    n = as_count(n_samples, "n_samples")
    d = as_count(n_features, "n_features")
    rng = seeded(random_state)
    std = as_real(cluster_std, "cluster_std", "[0, 1]")
    reach = as_real(reach, "reach", f"(0, {math.pi / 2})")
    check_data_size(n, d, as_count(centers, "centers"))
    y = rng.permutation(np.arange(n) % centers)
    metric = CurvedMetric.euclidean(d, curvature=1.0)
    draw = partial(uniform_in_ball, d=d, radius=reach, sign=1, rng=rng)
    X = elliptic_clusters(spread_centers(int(y.max()) + 1, metric, draw), y, std, reach, rng)
    return (X, y, metric) if return_metric else (X, y)


def make_hyperbolic_tree(
    n_samples: int = 644,
    n_features: int = 2,
    *,
    depth: int = 4,
    branching: int = 2,
    edge: float = 1.0,
    cluster_std: float = 0.3,
    random_state: int | Random | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return clusters around the nodes of a tree in a hyperbolic space, in Klein's unit ball.

    Parameters
    ----------
    n_samples : int, default=644
        Number of rows, shared equally by the nodes.
    n_features : int, default=2
        Number of columns, at least 2. The tree lies in the plane of the first two; its clusters
        fill all.
    depth : int, default=4
        Number of edges from the root to a leaf.
    branching : int, default=2
        Number of children of a node; the root has one more.
    edge : float, default=1.0
        Length of an edge.
    cluster_std : float, default=0.3
        Standard deviation of the rows around a node.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows.
    return_metric : bool, default=False
        Whether to return the metric too.

    Returns
    -------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
        Rows, and the node of each, counted from the root by levels.
    metric : CurvedMetric
        The metric in which the clusters are round, of K = -1; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_hyperbolic_tree(random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((644, 2), 46, CurvedMetric(hyperbolic, d=2, K=-1))
    """
    n = as_count(n_samples, "n_samples")
    d = as_count(n_features, "n_features")
    expect(d > 1, "n_features", d, "at least 2, since a tree needs a plane")
    rng = seeded(random_state)
    check_data_size(n, d, 1)
    nodes = tree_nodes(as_count(depth, "depth"), as_count(branching, "branching"), edge, d, rng)
    y = rng.permutation(np.arange(n) % len(nodes))
    std = as_real(cluster_std, "cluster_std", "[0, 1]")
    X = around(nodes, y, d, std, -1, rng)
    metric = CurvedMetric.euclidean(d, curvature=-1.0)
    return (X, y, metric) if return_metric else (X, y)


def make_mixed(
    n_samples: int = 800,
    *,
    centers: int = 80,
    random_state: int | Random | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return clusters of the product of a hemisphere and a hyperbolic ball.

    The first three columns are the elliptic half of a row, the other two its hyperbolic half.
    Clusters overlap in each half; both halves together separate them.

    Parameters
    ----------
    n_samples : int, default=800
        Number of rows, shared equally by the clusters.
    centers : int, default=80
        Number of clusters; each is a class.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows.
    return_metric : bool, default=False
        Whether to return the metric too.

    Returns
    -------
    X, y : ndarray of shape (n_samples, 5) and (n_samples,)
        Rows, and the cluster of each.
    metric : MixedMetric
        The sum of the distances in the two halves, of K = 1 and -1, each divided by the width of
        its clusters; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_mixed(random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((800, 5), 80, MixedMetric(0.784314 * elliptic(K=1) + 0.215686 * hyperbolic(K=-1), d=5))
    """
    n = as_count(n_samples, "n_samples")
    n_centers = as_count(centers, "centers")
    rng = seeded(random_state)
    d_e, d_h = 3, 2  # columns of the elliptic and the hyperbolic half
    std_e, std_h = 0.22, 0.8
    reach = 1.54  # largest angle to the pole
    radius = 4.0  # of the hyperbolic ball of centres
    check_data_size(n, d_e + d_h, n_centers)

    def draw(m: int) -> Floats:
        elliptic = uniform_in_ball(m, d_e, reach, +1, rng)
        return np.hstack([elliptic, uniform_in_ball(m, d_h, radius, -1, rng)])

    y = rng.permutation(np.arange(n) % n_centers)
    halves = [
        CurvedMetric(factor=np.eye(d_e, d_e + d_h), curvature=1.0),
        CurvedMetric(factor=np.eye(d_h, d_e + d_h, k=d_e), curvature=-1.0),
    ]
    weights = 1 / np.array([std_e, std_h])
    metric = MixedMetric(halves, weights / weights.sum())
    middles = spread_centers(n_centers, metric, draw)
    round_half = elliptic_clusters(middles[:, :d_e], y, std_e, reach, rng)
    X = np.hstack([round_half, around(carriers(middles[:, d_e:], -1), y, d_h, std_h, -1, rng)])
    return (X, y, metric) if return_metric else (X, y)


def around(places: list[Floats], y: Ints, d: int, std: float, sign: int, rng: Random) -> Floats:
    """Draw rows around the origin and move each by the isometry of its label.

    Rows that land in the other hemisphere of an elliptic space are NaN.
    """
    drawn = rng.normal(size=(len(y), d))
    length = np.linalg.norm(drawn, axis=1, keepdims=True)
    sin, cos = (np.sin, np.cos) if sign > 0 else (np.sinh, np.cosh)
    lifted = np.hstack([sin(std * length) * drawn / length, cos(std * length)])
    moved = np.einsum("nij,nj->ni", np.asarray(places)[y], lifted)
    height = np.where(moved[:, -1:] > 0, moved[:, -1:], np.nan)
    return np.asarray(moved[:, :-1] / height)


def elliptic_clusters(middles: Floats, y: Ints, std: float, reach: float, rng: Random) -> Floats:
    d = middles.shape[1]
    if std * math.sqrt(d) > reach:
        said = f"Got cluster_std={std:g}, but clusters of {d} columns within reach={reach:g}"
        raise InvalidInputError(f"{said} are at most {reach / math.sqrt(d):.3g} wide.")
    places = carriers(middles, +1)
    X = np.empty((len(y), d))
    todo = np.arange(len(y))
    while len(todo):
        X[todo] = around(places, y[todo], d, std, +1, rng)
        todo = todo[~(np.linalg.norm(X[todo], axis=1) < math.tan(reach))]
    return X


def carriers(middles: Floats, sign: int) -> list[Floats]:
    unit = CurvedMetric.euclidean(middles.shape[1], curvature=float(sign))
    return [unit.transvection(np.zeros(middles.shape[1]), middle) for middle in middles]


def spread_centers(n: int, metric: Any, draw: Callable[[int], Floats]) -> Floats:
    """Draw n centres: each is the farthest of twenty candidates from those before it."""
    found = draw(1)
    while len(found) < n:
        drawn = draw(20)
        farthest = metric.pairwise(drawn, found).min(axis=1).argmax()
        found = np.vstack([found, drawn[farthest]])
    return found


def uniform_in_ball(n: int, d: int, radius: float, sign: int, rng: Random) -> Floats:
    """Draw points uniformly by volume: distances have the density sinᵈ⁻¹ or sinhᵈ⁻¹."""
    sin, tan = (np.sin, np.tan) if sign > 0 else (np.sinh, np.tanh)
    distances = np.linspace(0.0, radius, 1001)
    cumulated = np.cumsum(sin(distances) ** (d - 1))
    drawn = np.interp(rng.uniform(0.0, cumulated[-1], n), cumulated, distances)
    directions = rng.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(tan(drawn)[:, None] * directions)


def tree_nodes(depth: int, branching: int, edge: float, d: int, rng: Random) -> list[Floats]:
    length = as_real(edge, "edge")
    if not 0 < depth * length <= LARGEST_RADIUS:
        given = f"depth={depth} and edge={length:g}, a tree of radius {depth * length:g}"
        most = f"at most {LARGEST_RADIUS:g}, beyond which float64 cannot tell rows from the rim"
        raise InvalidInputError(f"Got {given}, but expected a positive radius of {most}.")
    # 2⁶⁰ nodes are too many however deep the tree; the root has one more child than other nodes.
    inner = depth if branching == 1 else (branching ** min(depth, 60) - 1) // (branching - 1)
    check_data_size(0, d, min(1 + (branching + 1) * inner, 2**60))
    (step,) = carriers(math.tanh(length) * np.eye(1, d), -1)
    # At a node the edge to its parent points to -x; all edges there are at equal angles.
    turns = [rotation(math.pi + 2 * math.pi * j / (branching + 1), d) for j in range(branching + 1)]
    level = nodes = [rotation(rng.uniform(0, 2 * math.pi), d)]
    for reached in range(depth):
        ahead = turns if reached == 0 else turns[1:]  # the first turn leads back, but at the root
        level = [node @ turn @ step for node in level for turn in ahead]
        nodes = nodes + level
    return nodes


def rotation(angle: float, d: int) -> Floats:
    turn = np.eye(d + 1)
    c = math.cos(angle)
    s = math.sin(angle)
    turn[:2, :2] = [[c, -s], [s, c]]
    return turn


def check_data_size(n: int, d: int, classes: int) -> None:
    needed = 8.0 * n * (d + 1) * (d + 4) + 16.0 * classes * (d + 1) ** 2
    what = f"A tree of {classes:,} nodes"
    if n:
        what = f"{n:,} rows of {d:,} columns in {classes:,} clusters"
    check_memory(needed, what, "Ask for fewer rows, columns or clusters.")


def seeded(random_state: Any) -> Random:
    with estimators.naming("random_state"):
        return check_random_state(random_state)  # type: ignore[no-any-return]
