"""Leaves: trees that split rows."""

import numpy as np
import pytest

from cayleyklein import CurvedMetric
from cayleyklein.parts.leaves import LeafTree, is_tree, split_into_leaves

PLANE = CurvedMetric.euclidean(2, curvature=-0.5)


def points(n):
    return np.random.default_rng(0).uniform(-0.8, 0.8, size=(n, 2))


@pytest.mark.parametrize("size", [10, 33, 200])
def test_a_tree_sends_each_row_to_one_leaf_of_at_most_the_size(size):
    X = points(200)
    far = PLANE.pairwise(X, X[:8])
    tree = split_into_leaves(far, size, np.random.default_rng(0))
    assert is_tree(tree)
    counts = np.bincount(tree.leaf_of(far), minlength=tree.n_leaves)
    assert counts.sum() == 200
    assert counts.max() <= size * 1.1
    assert counts.min() >= min(size, 200) // 3
    order = np.random.default_rng(1).permutation(200)
    moved = split_into_leaves(far[order], size, np.random.default_rng(0))
    np.testing.assert_array_equal(moved.leaf_of(far), tree.leaf_of(far))


def test_leaves_are_cells_of_near_rows():
    X = points(400)
    far = PLANE.pairwise(X, X[:8])
    leaf = split_into_leaves(far, 50, np.random.default_rng(0)).leaf_of(far)
    D = PLANE.pairwise(X)
    inside = np.mean([D[np.ix_(leaf == b, leaf == b)].mean() for b in np.unique(leaf)])
    assert inside < 0.6 * D.mean()


def test_equal_rows_stay_together():
    far = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), [90, 5, 5], axis=0)
    leaf = split_into_leaves(far, 10, np.random.default_rng(0)).leaf_of(far)
    assert len(set(leaf[:90])) == len(set(leaf[90:95])) == 1
    assert len(set(leaf)) > 1
    assert split_into_leaves(far[:90], 10, np.random.default_rng(0)).n_leaves == 1


@pytest.mark.parametrize("children", [[[0, -1]], [[-1, -1]], [[-1, -3]], [[1, -1], [-2, 5]]])
def test_trees_that_lead_nowhere_are_noticed(children):
    n = len(children)
    assert not is_tree(LeafTree(np.zeros((n, 2)), np.zeros(n), np.array(children)))
    assert is_tree(LeafTree.single())
    assert is_tree(LeafTree(np.zeros((1, 2)), np.zeros(1), np.array([[-1, -2]])))
