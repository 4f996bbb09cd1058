"""Metrics and rows for the tests of neighbours."""

import math

import numpy as np
from hypothesis import strategies as st
from tests.strategies import random_metric

from cayleyklein import CurvedMetric, MixedMetric, ProductMetric

KINDS = ("random", "clustered", "duplicated", "boundary", "far away")
FAMILIES = ("curved", "low rank", "mixed", "product")

kinds = st.sampled_from(KINDS)
families = st.sampled_from(FAMILIES)
ALGORITHMS = ("brute", "tree", "vantage")
dimensions = st.sampled_from((1, 2, 3, 8))
curvatures = st.sampled_from((-10.0, -1.0, -1e-3, -1e-6, 0.0, 1e-6, 1e-3, 1.0, 10.0))


def round_rows(rng, kind, n, d):
    """Rows of the unit ball, of norm ≤ 0.98, or up to the hyperbolic radius 12."""
    z = rng.normal(size=(n, d))
    z *= 0.98 * rng.uniform(0, 1, size=(n, 1)) / np.linalg.norm(z, axis=1, keepdims=True)
    if kind == "clustered":
        centers = z[: max(2, n // 20)]
        return 0.9 * centers[rng.integers(len(centers), size=n)] + 10.0 ** rng.uniform(-9, -2) * z
    if kind == "duplicated":
        return np.round(2 * z) / 4 / math.sqrt(d)
    if kind == "boundary":
        return z / np.linalg.norm(z, axis=1, keepdims=True) * np.tanh(rng.uniform(0, 12, (n, 1)))
    if kind == "far away":
        return 0.9 * z[0] + 1e-3 * z
    return z


def make(rng, family, d, K, kind, n=120):
    """A metric, anisotropic and off-centre, and rows of its domain."""
    radius = 1 / math.sqrt(abs(K)) if K else 1.0
    if kind != "boundary" and rng.integers(2):
        radius = min(radius, 1.0)
    z = radius * round_rows(rng, kind, n, d)
    if family == "low rank":
        metric = random_metric(rng, d, K)
        keep = metric.factor[: max(1, d - 1)]
        return CurvedMetric(factor=keep, center=metric.center, curvature=K), metric.points(z)
    metric = random_metric(rng, d, K)
    if family == "curved":
        return metric, metric.points(z)
    other = random_metric(rng, d, abs(K) or 1.0)
    if family == "product":
        parts = [random_metric(rng, d, abs(K)), other, random_metric(rng, d, 0.0)]
        return ProductMetric(parts, [0.5, 2.0, 1.0]), metric.points(z)
    return MixedMetric([metric, other], [0.3, 1.7]), metric.points(z)
