"""Drawing points at random in curved spaces, in units where |K| = 1."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_real, check_memory
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric

CANDIDATES = 20
"""Candidates for each new centre; the farthest from the other centres is taken."""

LARGEST_RADIUS = 8.0
"""Hyperbolic radius of a tree, where 1 - tanh² still has nine digits in float64."""


def shared_labels(n: int, classes: int, rng: np.random.RandomState) -> Ints:
    """Return n labels in random order, in classes of equal size up to one."""
    return np.asarray(rng.permutation(np.arange(n) % classes), dtype=np.intp)


def around(
    places: list[Floats], y: Ints, d: int, std: float, sign: int, rng: np.random.RandomState
) -> Floats:
    """Draw rows around the origin and move each by the isometry of its label; NaN beyond."""
    drawn = rng.normal(size=(len(y), d))
    length = np.linalg.norm(drawn, axis=1, keepdims=True)
    sin, cos = (np.sin, np.cos) if sign > 0 else (np.sinh, np.cosh)
    lifted = np.hstack([sin(std * length) * drawn / length, cos(std * length)])
    moved = np.einsum("nij,nj->ni", np.asarray(places)[y], lifted)
    height = np.where(moved[:, -1:] > 0, moved[:, -1:], np.nan)  # NaN in the other hemisphere
    return np.asarray(moved[:, :-1] / height)


def elliptic_clusters(
    middles: Floats, y: Ints, std: float, reach: float, rng: np.random.RandomState
) -> Floats:
    """Draw clusters on the unit hemisphere, no row farther than `reach` from the pole."""
    d = middles.shape[1]
    if std * math.sqrt(d) > reach:
        raise InvalidInputError(
            f"Got cluster_std={std:g}, but clusters of {d} columns within reach={reach:g} are at "
            f"most {reach / math.sqrt(d):.3g} wide."
        )
    places = carriers(middles, +1)
    X = np.full((len(y), d), np.nan)
    todo = np.arange(len(y))
    while len(todo):
        X[todo] = around(places, y[todo], d, std, +1, rng)
        todo = todo[~(np.linalg.norm(X[todo], axis=1) < math.tan(reach))]
    return X


def carriers(middles: Floats, sign: int) -> list[Floats]:
    """Return the isometries that move the origin to each point."""
    unit = CurvedMetric.euclidean(middles.shape[1], curvature=float(sign))
    return [unit.transvection(np.zeros(middles.shape[1]), middle) for middle in middles]


def spread_centers(
    n: int, metric: CurvedMetric | MixedMetric, draw: Callable[[int], Floats]
) -> Floats:
    """Draw points one by one, each far from the earlier ones."""
    found = draw(1)
    while len(found) < n:
        drawn = draw(CANDIDATES)
        farthest = metric.pairwise(drawn, found).min(axis=1).argmax()
        found = np.vstack([found, drawn[farthest]])
    return found


def uniform_in_ball(n: int, d: int, radius: float, sign: int, rng: np.random.RandomState) -> Floats:
    """Draw points of a ball around the origin uniformly by volume.

    Their distances have the density sinᵈ⁻¹, or sinhᵈ⁻¹ where the curvature is negative, tabulated.
    """
    sin, tan = (np.sin, np.tan) if sign > 0 else (np.sinh, np.tanh)
    distances = np.linspace(0.0, radius, 1001)
    cumulated = np.cumsum(sin(distances) ** (d - 1))
    drawn = np.interp(rng.uniform(0.0, cumulated[-1], n), cumulated, distances)
    directions = rng.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(tan(drawn)[:, None] * directions)


def tree_nodes(
    depth: int, branching: int, edge: float, d: int, rng: np.random.RandomState
) -> list[Floats]:
    """Return the isometries that move the origin to the nodes of a tree, level by level."""
    length = as_real(edge, "edge")
    if not 0 < depth * length <= LARGEST_RADIUS:
        raise InvalidInputError(
            f"Got depth={depth} and edge={length:g}, a tree of radius {depth * length:g}, but "
            f"expected a positive one of at most {LARGEST_RADIUS:g}, beyond which float64 cannot "
            f"tell rows from the rim."
        )
    # 2⁶⁰ nodes are too many however deep the tree; the root has one more child than other nodes.
    inner = depth if branching == 1 else (branching ** min(depth, 60) - 1) // (branching - 1)
    check_size(0, d, min(1 + (branching + 1) * inner, 2**60))
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


def rotation(angle: float, d: int) -> Floats:
    """Return the collineation that turns the plane of the first two coordinates."""
    turn = np.eye(d + 1)
    c, s = math.cos(angle), math.sin(angle)
    turn[:2, :2] = [[c, -s], [s, c]]
    return turn


def check_size(n: int, d: int, classes: int) -> None:
    """Raise when the rows or the centres exceed the memory."""
    needed = 8.0 * n * (d + 1) * (d + 4) + 16.0 * classes * (d + 1) ** 2
    rows = f"{n:,} rows of {d:,} columns in {classes:,} clusters"
    what = rows if n else f"A tree of {classes:,} nodes"
    check_memory(needed, what, "Ask for fewer rows, columns or clusters.")
