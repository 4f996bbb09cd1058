"""Random frames and points for property tests."""

import math

import numpy as np
from hypothesis import strategies as st

from cayleyklein.geometry import Frame

CURVATURES = (-1e3, -1.0, -1e-6, -1e-12, 0.0, 1e-12, 1e-6, 1.0, 1e3)


def random_frame(rng, d, K):
    """A well-conditioned frame of curvature K with a random centre."""
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    factor = left @ np.diag(np.exp(rng.uniform(-1, 1, size=d))) @ right
    return Frame(factor, center=rng.normal(size=d), curvature=K)


def random_points(rng, frame, n, reach=0.95):
    """n points, within `reach` of the domain's radius (or of 1/√K) in coordinates."""
    K, d = frame.curvature, frame.dimension
    radius = reach / math.sqrt(abs(K)) if K else 1.0
    z = rng.normal(size=(n, d))
    z *= radius * rng.uniform(0, 1, size=(n, 1)) / np.linalg.norm(z, axis=1, keepdims=True)
    return frame.points(z)


def near_the_pole(frame, points):
    """Points that three transvections between them leave above the equator."""
    return frame.center + (points - frame.center) * (0.3 if frame.curvature > 0 else 1.0)


seeds = st.integers(0, 2**32 - 1)
dimensions = st.sampled_from((1, 2, 3, 10))
curvatures = st.sampled_from(CURVATURES) | st.floats(1e-12, 10) | st.floats(-10, -1e-12)


@st.composite
def frames_with_points(draw, n=3):
    """A frame and n points of its domain."""
    rng = np.random.default_rng(draw(seeds))
    frame = random_frame(rng, draw(dimensions), draw(curvatures))
    return frame, random_points(rng, frame, n)
