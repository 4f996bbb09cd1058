"""Random frames and points for property tests."""

import math

import numpy as np
from hypothesis import strategies as st

from cayleyklein import CurvedMetric

CURVATURES = (-1e3, -1.0, -1e-6, -1e-12, 0.0, 1e-12, 1e-6, 1.0, 1e3)


def well_conditioned(rng, d):
    """A random matrix with singular values within e of 1."""
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    return left @ np.diag(np.exp(rng.uniform(-1, 1, size=d))) @ right


def random_metric(rng, d, K):
    """A well-conditioned metric of curvature K with a random centre."""
    factor = well_conditioned(rng, d)
    return CurvedMetric(factor=factor, center=rng.normal(size=d), curvature=K)


def random_points(rng, metric, n, reach=0.95):
    """n points, within `reach` of the domain's radius (or of 1/√K) in coordinates."""
    K, d = metric.curvature, metric.dimension
    radius = reach / math.sqrt(abs(K)) if K else 1.0
    z = rng.normal(size=(n, d))
    z *= radius * rng.uniform(0, 1, size=(n, 1)) / np.linalg.norm(z, axis=1, keepdims=True)
    return metric.points(z)


def near_the_pole(metric, points):
    """Points that three transvections between them leave above the equator."""
    return metric.center + (points - metric.center) * (0.3 if metric.curvature > 0 else 1.0)


seeds = st.integers(0, 2**32 - 1)
dimensions = st.sampled_from((1, 2, 3, 10))
curvatures = st.sampled_from(CURVATURES) | st.floats(1e-12, 10) | st.floats(-10, -1e-12)


@st.composite
def metrics_with_points(draw, n=3):
    """A metric and n points of its domain."""
    rng = np.random.default_rng(draw(seeds))
    metric = random_metric(rng, draw(dimensions), draw(curvatures))
    return metric, random_points(rng, metric, n)
