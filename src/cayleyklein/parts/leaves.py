"""Leaves: how many rows are split, so that each leaf can have an exact kernel machine.

A tree splits rows by their distances to a few pivots: linear functions of these distances that
spread the rows, cut at quantiles, so that all leaves have about the same number of rows. Any
distance will do, and neither the order nor the units of columns matter.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from cayleyklein._typing import Floats, Ints

PIVOTS = 32  # rows to which distances are measured


@dataclass(frozen=True)
class LeafTree:
    """Splits of rows by their distances (n, k) to pivots.

    A row goes to the first child of a node where its distances times the direction are at most the
    threshold, and else to the second. Children below 0 are leaves, -1 the first of them. A tree
    without nodes has one leaf.
    """

    directions: Floats  # (n_nodes, k)
    thresholds: Floats  # (n_nodes,)
    children: Ints  # (n_nodes, 2)

    @classmethod
    def single(cls, n_pivots: int = 0) -> Self:
        """Return the tree of one leaf."""
        none = np.zeros((0, 2), dtype=np.intp)
        return cls(np.zeros((0, n_pivots)), np.zeros(0), none)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.thresholds) + 1

    def leaf_of(self, to_pivots: Floats) -> Ints:
        """Return the leaf (n,) of rows from their distances to the pivots."""
        at = np.full(len(to_pivots), -1 if len(self.thresholds) == 0 else 0)
        moving = np.flatnonzero(at >= 0)
        while len(moving):
            node = at[moving]
            value = np.einsum("nk,nk->n", to_pivots[moving], self.directions[node])
            at[moving] = self.children[node, (value > self.thresholds[node]).astype(np.intp)]
            moving = moving[at[moving] >= 0]
        return -1 - at


def split_into_leaves(to_pivots: Floats, size: int, rng: np.random.Generator) -> LeafTree:
    """Split rows into leaves of at most `size` rows; rows that nothing tells apart stay together.

    The direction of a split is Σg of a random g, Σ being the covariance of the distances: mostly
    along the principal directions of the rows, and another one in another tree. The entries of a
    direction add up to 0, so that of squared Euclidean distances it is a hyperplane.
    """
    directions: list[Floats] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    n_leaves = 0

    def grow(rows: Ints) -> int:
        nonlocal n_leaves
        n_parts = -(-len(rows) // size)
        node = len(thresholds)
        if n_parts > 1:
            own = to_pivots[rows]
            own = own - own.mean(axis=1, keepdims=True)
            own -= own.mean(axis=0)
            direction = own.T @ (own @ rng.normal(size=own.shape[1]))
            direction /= np.abs(direction).max() or 1.0
            direction -= direction.mean()
            value = to_pivots[rows] @ direction
            threshold = threshold_between(value, (n_parts // 2) / n_parts)
            first = value <= threshold
            if not first.all():
                directions.append(direction)
                thresholds.append(threshold)
                children.append([0, 0])
                children[node] = [grow(rows[first]), grow(rows[~first])]
                return node
        n_leaves += 1
        return -n_leaves

    grow(np.arange(len(to_pivots)))
    if not thresholds:
        return LeafTree.single(to_pivots.shape[1])
    return LeafTree(np.array(directions), np.array(thresholds), np.array(children))


def threshold_between(values: Floats, share: float) -> float:
    """Return the middle of the widest gap near the quantile `share` of the values.

    Between two values that differ, if any do: rounding then puts no row on the other side.
    """
    ascending = np.sort(values)
    n = len(values)
    at = int(share * n)
    spare = max(1, n // 100)
    low, high = max(1, at - spare), min(n - 1, at + spare)
    gaps = ascending[low : high + 1] - ascending[low - 1 : high]
    if gaps.max() <= 1e-12 * (ascending[-1] - ascending[0]):  # many equal rows
        low = 1
        gaps = np.diff(ascending)
        near = np.where(gaps > 1e-9 * gaps.max(), np.abs(np.arange(1, n) - at), n)
        best = low + int(np.argmin(near))
    else:
        best = low + int(np.argmax(gaps))
    return float((ascending[best - 1] + ascending[best]) / 2)


def is_tree(tree: LeafTree) -> bool:
    """Say whether a tree that was read can be followed: every node and leaf is reached once."""
    n = len(tree.thresholds)
    if tree.children.shape != (n, 2) or len(tree.directions) != n:
        return False
    ahead = (tree.children < 0) | (tree.children > np.arange(n)[:, None])
    reached = np.sort(tree.children.ravel())
    leaves = np.arange(-n - 1, 0) if n else np.zeros(0)
    return bool(ahead.all()) and np.array_equal(reached, np.append(leaves, np.arange(1, max(n, 1))))
