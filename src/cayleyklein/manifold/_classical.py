"""Classical scaling in constant curvature, from which descents start.

The Gram matrix of points on the surface of curvature K is cos(√K D) or cosh(√-K D), and the doubly
centred -D²/2 at K = 0. Its leading eigenvectors are the points, if D fits into the space.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import eigsh

from cayleyklein._typing import Bools, Floats
from cayleyklein.manifold._surface import center, to_tangent

DENSE = 300
"""Most rows for which all eigenvectors are computed, instead of those needed."""

NEGATIVE, POSITIVE = (-16.0, -8.0, -4.0, -2.0, -1.0), (1.0, 2.0, 2.6, 2.9, np.pi, 3.4)
"""Curvatures tried: √|K| times the largest dissimilarity, with the sign of K."""


def classical(D: Floats, K: float, r: int) -> Floats:
    """Return tangent coordinates (n, r) by classical scaling at a fixed K."""
    n, k = len(D), np.sqrt(abs(K))
    if K == 0:
        gram = np.square(D) / -2
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1)[:, None]
        u = _eigen_coordinates(gram, r)
        return to_tangent(center(np.column_stack([u, np.ones(n)]), K), K)
    if K > 0:
        unit = _eigen_coordinates(np.cos(np.minimum(k * D, np.pi)), r + 1)
        norm = np.linalg.norm(unit, axis=1)
        unit[norm == 0, -1] = 1.0
        unit /= np.where(norm > 0, norm, 1.0)[:, None]
    else:
        u = _eigen_coordinates(-np.cosh(k * D), r)
        unit = np.column_stack([u, np.sqrt(1 + np.einsum("ij,ij->i", u, u))])
    X = unit / np.append(np.full(r, k), 1.0)
    return to_tangent(center(X, K), K)


def _eigen_coordinates(matrix: Floats, r: int) -> Floats:
    """Return the r leading eigenvectors times the roots of their eigenvalues, if positive."""
    n = len(matrix)
    found = min(r, n)
    if n <= max(DENSE, r + 1):
        values, vectors = eigh(matrix, subset_by_index=(n - found, n - 1))
    else:
        start = np.cos(np.arange(n))  # any vector that is not an eigenvector, the same each time
        values, vectors = eigsh(matrix, k=found, which="LA", v0=start, tol=1e-4)
    out = np.zeros((n, r))
    out[:, :found] = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    return out


def bridged(D: Floats, known: Bools) -> Floats:
    """Return dissimilarities with the missing ones replaced by the lengths of shortest paths."""
    if known[np.triu_indices(len(D), 1)].all():
        return D
    graph = np.where(known, np.maximum(D, np.finfo(float).tiny), np.inf)
    return np.where(known, D, shortest_path(graph, directed=False))
