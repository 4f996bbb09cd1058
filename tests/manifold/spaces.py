"""Dissimilarities with known answers."""

import ast
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.metrics.pairwise import haversine_distances

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_mds_globe.py"
RADIUS = 6371.0


def city_distances():
    """Return the great-circle distances in km between the cities of the example."""
    for node in ast.parse(EXAMPLE.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CITIES":
            places = ast.literal_eval(node.value)
    assert len(places) >= 40
    return RADIUS * haversine_distances(np.radians(list(places.values())))


def arcs(X):
    """Return the distances between unit vectors along the sphere."""
    chord = np.linalg.norm(X[:, None] - X, axis=2)
    return 2 * np.arcsin(np.minimum(chord / 2, 1))


def sphere_points(n, dimension=2, least_height=-1.0, seed=0):
    """Return unit vectors, at least so high above the equator."""
    X = np.random.default_rng(seed).normal(size=(50 * n, dimension + 1))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[X[:, -1] > least_height][:n]


def tree_distances(depth, children=2):
    """Return the path lengths between all nodes of a complete tree."""
    n = sum(children**level for level in range(depth + 1))
    nodes = np.arange(1, n)
    edges = coo_array((np.ones(n - 1), (nodes, (nodes - 1) // children)), shape=(n, n))
    return shortest_path(edges.tocsr(), directed=False)


def noisy(D, share, seed=0):
    """Return distances times 1 + noise."""
    noise = np.triu(np.random.default_rng(seed).normal(size=D.shape), 1)
    return D * (1 + share * (noise + noise.T))
