"""Boosted trees of scikit-learn as plain arrays, which predict, are written to files, and add up.

Histogram gradient boosting (Ke et al. 2017) grows one tree a round for each score. Its trees are
read once, so that a model file holds numbers only, and one row is predicted in microseconds.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from cayleyklein._jit import Kernel
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError

MOST_BINS = 255  # of a column, as in scikit-learn, which holds their numbers in a byte


class Trees(NamedTuple):
    """Trees in the order in which they were grown, one for each score in each round.

    A row goes left at a node where its value is at most the threshold, until it comes to a leaf.

    Attributes
    ----------
    roots : ndarray of shape (n_rounds * n_scores,)
        The first node of each tree.
    columns : ndarray of shape (n_nodes,)
        The column that a node asks for; -1 for leaves.
    thresholds, values : ndarray of shape (n_nodes,)
        The values of leaves are added up.
    left, right : ndarray of shape (n_nodes,)
        The nodes below.
    base : ndarray of shape (n_scores,)
        The scores without trees.
    """

    roots: Ints
    columns: Ints
    thresholds: Floats
    left: Ints
    right: Ints
    values: Floats
    base: Floats

    @classmethod
    def of_boosting(cls, model: Any) -> Self:
        """Read the trees of a fitted HistGradientBoostingClassifier or -Regressor."""
        grown = [tree.nodes for each_round in model._predictors for tree in each_round]
        sizes = [len(nodes) for nodes in grown]
        roots = np.cumsum([0, *sizes])[:-1]
        base = np.ravel(model._baseline_prediction).astype(np.float64)
        if not grown:
            none = np.zeros(0, dtype=np.intp)
            return cls(none, none, np.zeros(0), none, none, np.zeros(0), base)
        nodes = np.concatenate(grown)
        first = np.repeat(roots, sizes)
        is_leaf: Bools = nodes["is_leaf"].astype(bool)
        return cls(
            roots=roots,
            columns=np.where(is_leaf, -1, nodes["feature_idx"]).astype(np.intp),
            thresholds=nodes["num_threshold"].astype(np.float64),
            left=(first + nodes["left"]).astype(np.intp),
            right=(first + nodes["right"]).astype(np.intp),
            values=nodes["value"].astype(np.float64),
            base=base,
        )

    @property
    def n_rounds(self) -> int:
        return len(self.roots) // len(self.base)

    def first_rounds(self, n_rounds: int) -> Self:
        """Return the trees of the first rounds only."""
        n_trees = n_rounds * len(self.base)
        if n_trees >= len(self.roots):
            return self
        end = self.roots[n_trees]
        return type(self)(
            roots=self.roots[:n_trees],
            columns=self.columns[:end],
            thresholds=self.thresholds[:end],
            left=self.left[:end],
            right=self.right[:end],
            values=self.values[:end],
            base=self.base,
        )

    def raw_scores(self, X: Floats, after: tuple[int, ...]) -> list[Floats]:
        """Return the scores (m, n_scores) of rows X after some numbers of rounds, ascending."""
        total = np.repeat(self.base[None], len(X), axis=0)
        X = np.ascontiguousarray(X)
        begin = 0
        found = []
        for n_rounds in after:
            end = min(n_rounds * len(self.base), len(self.roots))
            add_trees(X, self, begin, end, total)
            found.append(total.copy())
            begin = end
        return found

    def in_units_of(self, bins: "Bins") -> Self:
        """Return trees that were grown on numbers of bins, for rows in their own units."""
        inner = np.flatnonzero(self.columns >= 0)
        thresholds = self.thresholds.copy()
        for node in inner:
            thresholds[node] = bins.edges[self.columns[node]][int(thresholds[node])]
        return self._replace(thresholds=thresholds)


class Bins(NamedTuple):
    """The edges between the bins of each column, ascending; a value on an edge is below it."""

    edges: tuple[Floats, ...]

    @classmethod
    def of(cls, X: Floats, weights: Floats) -> Self:
        """Return at most `MOST_BINS` bins of each column, of about equal weight.

        scikit-learn asks for each edge with a sort of its own where rows have weights, which takes
        longer than growing the trees.
        """
        return cls(tuple(bin_edges(x, weights) for x in X.T))

    def numbers(self, X: Floats) -> Floats:
        """Return the number of the bin of each value."""
        found = np.empty(X.shape)
        for j, edges in enumerate(self.edges):
            found[:, j] = np.searchsorted(edges, X[:, j])
        return found


def bin_edges(x: Floats, weights: Floats) -> Floats:
    """Return the edges between bins of a column (n,), halfway between two of its values."""
    values, place = np.unique(x, return_inverse=True)
    last = np.arange(len(values) - 1)  # the last value below each edge
    if len(values) > MOST_BINS:
        mass: Floats = np.bincount(place, weights=weights).astype(float)
        reached = np.cumsum(mass) / mass.sum()
        asked = np.arange(1, MOST_BINS) / MOST_BINS
        last = np.unique(np.searchsorted(reached, asked))
        last = last[last < len(values) - 1]
    middle = values[last] / 2 + values[last + 1] / 2
    return np.where(middle < values[last + 1], middle, values[last])


def check_trees(trees: Trees, n_columns: int) -> None:
    """Refuse arrays, read from a file, that are no trees for rows of so many columns.

    Below each node come nodes with larger numbers, so that every walk ends at a leaf.
    """
    n_nodes = len(trees.values)
    at = np.arange(n_nodes)
    inner = trees.columns >= 0
    whole = all(np.asarray(each).dtype.kind == "i" for each in trees[:2] + trees[3:5])
    lengths = {len(each) for each in trees[1:6]}
    sound = (
        whole
        and lengths == {n_nodes}
        and (trees.columns < n_columns).all()
        and all(((below > at) & (below < n_nodes))[inner].all() for below in trees[3:5])
        and ((trees.roots >= 0) & (trees.roots < n_nodes)).all()
        and len(trees.base) > 0
        and len(trees.roots) % len(trees.base) == 0
        and np.isfinite(trees.values).all()
        and np.isfinite(trees.base).all()
        and not np.isnan(trees.thresholds[inner]).any()
    )
    if not sound:
        raise InvalidInputError("its boosted trees are damaged")


@Kernel
def add_trees(X: Floats, trees: Trees, begin: int, end: int, total: Floats) -> None:
    """Add the values of some trees to the totals (m, n_scores) of rows."""
    n_scores = total.shape[1]
    for row in range(len(X)):
        for tree in range(begin, end):
            at = trees.roots[tree]
            while trees.columns[at] >= 0:
                if X[row, trees.columns[at]] <= trees.thresholds[at]:
                    at = trees.left[at]
                else:
                    at = trees.right[at]
            total[row, tree % n_scores] += trees.values[at]
