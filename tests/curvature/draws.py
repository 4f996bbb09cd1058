"""Rows in a ball, and targets drawn from a Gaussian process of a known curvature."""

import numpy as np

from cayleyklein import CurvedMetric


def rows(n, d, seed):
    """Return rows with mean 0, the farthest at distance 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X *= (rng.uniform(size=n) ** (1 / d) / np.linalg.norm(X, axis=1))[:, None]
    X -= X.mean(axis=0)
    return X / np.linalg.norm(X, axis=1).max()


def numbers(X, K, seed, noise=0.2):
    """Return values of a process with covariance exp(-d), plus noise."""
    rng = np.random.default_rng(1000 + seed)
    D = CurvedMetric.euclidean(X.shape[1], curvature=K).pairwise(X)
    root = np.linalg.cholesky(np.exp(-D) + 1e-10 * np.eye(len(X)))
    return root @ rng.normal(size=len(X)) + noise * rng.normal(size=len(X))


def dissimilarities(X, K, seed, error=0.1):
    """Return distances with independent errors."""
    rng = np.random.default_rng(2000 + seed)
    D = CurvedMetric.euclidean(X.shape[1], curvature=K).pairwise(X)
    errors = np.triu(rng.normal(size=D.shape) * error * D.mean(), 1)
    return np.abs(D + errors + errors.T)
