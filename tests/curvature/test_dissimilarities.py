"""Dissimilarities: noise, axes and missing dimensions are flat, trees and globes are not."""

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from cayleyklein import estimate_curvature
from cayleyklein.curvature import dissimilarities

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(50, 2))
UNIT = RNG.normal(size=(50, 3))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


def noisy(D, share=0.1):
    errors = np.triu(np.random.default_rng(1).normal(size=D.shape), 1) * share * D.mean()
    return np.abs(D + errors + errors.T) * (1 - np.eye(len(D)))


def tree(n=50):
    edges = np.zeros((n, n))
    for i in range(1, n):
        edges[i, (i - 1) // 2] = RNG.uniform(0.5, 1.5)
    return shortest_path(edges, directed=False)


def along_neighbours(D, k=6):
    """Return lengths of shortest paths along edges between nearest neighbours."""
    edges = np.where(np.sort(D, axis=1)[:, [k]] >= D, D, 0.0)
    return shortest_path(np.maximum(edges, edges.T), directed=False)


FLAT = {
    "errors": noisy(cdist(X, X), 0.3),
    "axes": cdist(X, X, "cityblock"),
    "dimensions": noisy(cdist(UNIT, UNIT)),
    "a graph": along_neighbours(cdist(X, X)),
    "roots": np.sqrt(cdist(X, X)),
}
CURVED = {"hyperbolic": tree(), "elliptic": noisy(np.arccos(np.clip(UNIT @ UNIT.T, -1, 1)))}


@pytest.mark.parametrize("name", FLAT)
def test_what_is_flat_in_another_way_is_no_evidence(name):
    found = estimate_curvature(FLAT[name], dissimilarity="precomputed", random_state=0, n_grid=5)
    assert found.verdict == "no evidence"
    assert found.geometry == "flat"
    assert found.rival in found.sentence


@pytest.mark.parametrize("sign", CURVED)
def test_trees_and_globes_are_curved(sign):
    found = estimate_curvature(CURVED[sign], dissimilarity="precomputed", random_state=0, n_grid=5)
    assert found.headline == f"curved, {sign}"
    assert found.margins.rescaled.error > 2
    assert np.isnan(found.margins.rescaled.nats)


def test_standard_errors_count_pairs_that_share_a_row():
    """Gains that belong to rows add up in clusters; those of independent pairs do not."""
    rng, n = np.random.default_rng(0), 60
    alone, shared = [], []
    for _ in range(200):
        rows = rng.normal(size=n)
        pairs = np.triu(rng.normal(size=(n, n)), 1)
        alone.append(dissimilarities.pairs_in_standard_errors(pairs + pairs.T))
        both = (rows[:, None] + rows) * (1 - np.eye(n))
        shared.append(dissimilarities.pairs_in_standard_errors(both))
    assert np.std(alone) == pytest.approx(1.0, abs=0.2)
    assert np.std(shared) == pytest.approx(1.0, abs=0.2)
