"""Rows that are truly curved: round clusters of a curved space, seen in its flat chart.

Clusters of one size in a curved space are neither of one size nor of one shape in the columns of a
table. Towards the horizon of an elliptic space they are drawn out, and towards the rim of a
hyperbolic one pressed flat, by a factor that differs between along the radius and across it. No
single Mahalanobis distance undoes that; the curved one does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cayleyklein._validation import as_count, as_real
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric

__all__ = ["make_elliptic_blobs", "make_hyperbolic_tree", "make_mixed"]

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

CANDIDATES = 20
"""Places drawn for each new centre, of which the farthest from the others is taken."""

LARGEST_RADIUS = 8.0
"""Hyperbolic radius of a tree, where 1 - tanh² still has nine digits in float64."""


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
        In which the clusters are round; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_elliptic_blobs(200, centers=10, random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((200, 3), 10, CurvedMetric(elliptic, d=3, K=1))

    The columns have a long tail, and the clusters have not:

    >>> bool(np.abs(X).max() > 5), bool(metric.pairwise(X[y == 0]).max() < 1.5)
    (True, True)
    """
    n, d = as_count(n_samples, "n_samples"), as_count(n_features, "n_features")
    rng = check_random_state(random_state)
    K = as_curvature(curvature, +1)
    y = shared_labels(n, as_count(centers, "centers"), rng)
    X = elliptic_clusters(y, d, as_std(cluster_std), as_reach(reach), rng) / math.sqrt(K)
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
        In which the clusters are round; only if `return_metric`.

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
    rng = check_random_state(random_state)
    K = as_curvature(curvature, -1)
    nodes = tree_nodes(as_count(depth, "depth"), as_count(branching, "branching"), edge, d, rng)
    y = shared_labels(n, len(nodes), rng)
    X = around(nodes, y, d, as_std(cluster_std), -1, rng) / math.sqrt(-K)
    metric = CurvedMetric.euclidean(d, curvature=K)
    return (X, y, metric) if return_metric else (X, y)


def make_mixed(
    n_samples: int = 768,
    *,
    centers: int = 16,
    branching: int = 2,
    curvatures: tuple[float, float] = (1.0, -1.0),
    random_state: int | np.random.RandomState | None = None,
    return_metric: bool = False,
) -> tuple[Any, ...]:
    """Return rows of which two columns are elliptic and two hyperbolic.

    A row belongs to a cluster of a hemisphere (columns 0 and 1) and to a node of a star in a
    hyperbolic plane (columns 2 and 3), and each pair of them is a class: neither half tells
    it alone.

    Parameters
    ----------
    n_samples : int, default=768
    centers : int, default=16
        Clusters in the elliptic half.
    branching : int, default=2
        The star has a middle and `branching` + 1 ends.
    curvatures : pair of float, default=(1.0, -1.0)
        K of the elliptic and of the hyperbolic half.
    random_state : int, RandomState instance or None, default=None
    return_metric : bool, default=False
        Return the metric too.

    Returns
    -------
    X : ndarray of shape (n_samples, 4)
    y : ndarray of shape (n_samples,)
        Up to `centers` · (`branching` + 2) classes.
    metric : MixedMetric
        The sum of the distances in the two halves; only if `return_metric`.

    Examples
    --------
    >>> X, y, metric = make_mixed(random_state=0, return_metric=True)
    >>> X.shape, len(set(y)), metric
    ((768, 4), 64, MixedMetric(0.5 * elliptic(K=1) + 0.5 * hyperbolic(K=-1), d=4))
    """
    n, blobs = as_count(n_samples, "n_samples"), as_count(centers, "centers")
    rng = check_random_state(random_state)
    elliptic, hyperbolic = as_curvature(curvatures[0], +1), as_curvature(curvatures[1], -1)
    nodes = tree_nodes(1, as_count(branching, "branching"), 2.5, 2, rng)
    y = shared_labels(n, blobs * len(nodes), rng)
    round_half = elliptic_clusters(y // len(nodes), 2, 0.08, 1.5, rng) / math.sqrt(elliptic)
    star_half = around(nodes, y % len(nodes), 2, 0.4, -1, rng) / math.sqrt(-hyperbolic)
    X = np.hstack([round_half, star_half])
    halves = [
        CurvedMetric(factor=np.eye(2, 4), curvature=elliptic),
        CurvedMetric(factor=np.eye(2, 4, k=2), curvature=hyperbolic),
    ]
    return (X, y, MixedMetric(halves)) if return_metric else (X, y)


# -- drawing, in units where |K| = 1 ---------------------------------------------------


def shared_labels(n: int, classes: int, rng: np.random.RandomState) -> Labels:
    """Return n labels in random order, as many of each class as of the next, or one more."""
    return np.asarray(rng.permutation(np.arange(n) % classes), dtype=np.intp)


def around(
    places: list[Array], y: Labels, d: int, std: float, sign: int, rng: np.random.RandomState
) -> Array:
    """Draw rows around the origin and carry each by the isometry of its label; nan beyond."""
    drawn = rng.normal(size=(len(y), d))
    length = np.linalg.norm(drawn, axis=1, keepdims=True)
    sin, cos = (np.sin, np.cos) if sign > 0 else (np.sinh, np.cosh)
    lifted = np.hstack([sin(std * length) * drawn / length, cos(std * length)])
    moved = np.einsum("nij,nj->ni", np.asarray(places)[y], lifted)
    height = np.where(moved[:, -1:] > 0, moved[:, -1:], np.nan)  # the other hemisphere is no row
    return np.asarray(moved[:, :-1] / height)


def elliptic_clusters(
    y: Labels, d: int, std: float, reach: float, rng: np.random.RandomState
) -> Array:
    """Draw clusters on the unit hemisphere, no row farther than `reach` from the pole."""
    if std * math.sqrt(d) > reach:
        raise InvalidInputError(
            f"Got cluster_std={std:g}, but clusters of {d} columns within reach={reach:g} are at "
            f"most {reach / math.sqrt(d):.3g} wide."
        )
    unit = CurvedMetric.euclidean(d, curvature=1.0)
    middles = spread_centers(int(y.max()) + 1, d, reach, rng)
    places = [unit.transvection(np.zeros(d), middle) for middle in middles]
    X = np.full((len(y), d), np.nan)
    todo = np.arange(len(y))
    while len(todo):
        X[todo] = around(places, y[todo], d, std, +1, rng)
        todo = todo[~(np.linalg.norm(X[todo], axis=1) < math.tan(reach))]
    return X


def spread_centers(n: int, d: int, reach: float, rng: np.random.RandomState) -> Array:
    """Draw points of a cap of the sphere one by one, each far from those before."""
    unit = CurvedMetric.euclidean(d, curvature=1.0)
    found = uniform_on_cap(1, d, reach, rng)
    while len(found) < n:
        drawn = uniform_on_cap(CANDIDATES, d, reach, rng)
        farthest = unit.pairwise(drawn, found).min(axis=1).argmax()
        found = np.vstack([found, drawn[farthest]])
    return found


def uniform_on_cap(n: int, d: int, reach: float, rng: np.random.RandomState) -> Array:
    """Draw points uniformly by area: angles have the density sinᵈ⁻¹, tabulated."""
    angles = np.linspace(0.0, reach, 1001)
    cumulated = np.cumsum(np.sin(angles) ** (d - 1))
    drawn = np.interp(rng.uniform(0.0, cumulated[-1], n), cumulated, angles)
    directions = rng.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(np.tan(drawn)[:, None] * directions)


def tree_nodes(
    depth: int, branching: int, edge: float, d: int, rng: np.random.RandomState
) -> list[Array]:
    """Return the isometries that carry the origin to the nodes, level by level."""
    length = as_real(edge, "edge")
    if not 0 < depth * length <= LARGEST_RADIUS:
        raise InvalidInputError(
            f"Got depth={depth} and edge={length:g}, a tree of radius {depth * length:g}, but "
            f"expected a positive one of at most {LARGEST_RADIUS:g}, beyond which float64 cannot "
            f"tell rows from the rim."
        )
    tip = np.zeros(d)
    tip[0] = math.tanh(length)
    unit = CurvedMetric.euclidean(d, curvature=-1.0)
    step = unit.transvection(np.zeros(d), tip)
    # At a node the edge back points to -x; the others share the full turn with it equally.
    turns = [rotation(math.pi + 2 * math.pi * j / (branching + 1), d) for j in range(branching + 1)]
    level = [rotation(rng.uniform(0, 2 * math.pi), d)]
    nodes = list(level)
    for depth_reached in range(depth):
        outward = turns if depth_reached == 0 else turns[1:]
        level = [node @ turn @ step for node in level for turn in outward]
        nodes += level
    return nodes


def rotation(angle: float, d: int) -> Array:
    """Return the collineation that turns the plane of the first two coordinates."""
    turn = np.eye(d + 1)
    c, s = math.cos(angle), math.sin(angle)
    turn[:2, :2] = [[c, -s], [s, c]]
    return turn


# -- parameters ------------------------------------------------------------------------


def as_curvature(value: object, sign: int) -> float:
    """Check a curvature of one sign."""
    K = as_real(value, "curvature")
    if K * sign <= 0:
        kind, side = ("elliptic", "positive") if sign > 0 else ("hyperbolic", "negative")
        raise InvalidInputError(f"Got curvature={K:g}, but that of {kind} space is {side}.")
    return K


def as_std(value: object) -> float:
    """Check the width of a cluster."""
    std = as_real(value, "cluster_std")
    if not 0 <= std <= 1:
        raise InvalidInputError(
            f"Got cluster_std={std:g}, but expected a number from 0 to 1, in units of 1/√|K|."
        )
    return std


def as_reach(value: object) -> float:
    """Check the largest angle to the pole."""
    reach = as_real(value, "reach")
    if not 0 < reach < math.pi / 2:
        raise InvalidInputError(
            f"Got reach={reach:g}, but expected an angle between 0 and π/2, where the horizon is."
        )
    return reach
