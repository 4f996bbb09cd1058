"""Rows seen from one of them: chords without the digits that a far centre would cost.

With u = L(x - x₀) and v the lift of `metrics.lift_from`, from that of x₀, the square chord of two
rows is ‖v_p - v_q‖² for K ≥ 0 and ‖v_p - v_q‖²/(σ_p σ_q) for K < 0. What rounding leaves in u and v
is bounded here, row by row, so that searches can be certain of their answers.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein.metrics import CurvedMetric, Placed, lift_from
from cayleyklein.neighbors._rows import STRIP, units

__all__ = ["Origin", "Steps"]

Array = NDArray[np.float64]


class Steps(NamedTuple):
    """Rows seen from x₀, and how far each of u and v may be off by rounding."""

    u: Array
    u_blur: Array
    v: Array
    v_blur: Array
    v_square: Array


class Origin(NamedTuple):
    """The row x₀ that others are seen from."""

    metric: CurvedMetric
    x_0: Array
    z_0: Array
    s_0: Array

    @classmethod
    def in_the_middle(cls, X: Array, s: Array, metric: CurvedMetric) -> "Origin":
        """Take a row in the middle: of an even sample, the one nearest to its mean."""
        sample = np.unique(np.linspace(0, len(X) - 1, STRIP).astype(int))
        x, s = X[sample], s[sample]
        z = metric.coordinates(x)
        at = Placed(x, s > 0, z, s).middle()
        return cls(metric, x[at], z[at], s[at])

    @property
    def blur(self) -> float:
        """How far z₀ = L(x₀ - μ) may be off."""
        terms = np.abs(self.metric.factor) @ np.abs(self.x_0 - self.metric.center)
        return units(self.metric.dimension) * math.sqrt(terms @ terms)

    @property
    def width(self) -> int:
        """Number of coordinates of v."""
        return len(self.metric.factor) + (self.metric.curvature != 0)

    def steps(self, x: Array, z: Array, s: Array) -> Steps:
        """See rows from x₀; squares that overflow are inf or nan, which certify nothing."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._steps(x, z, s)

    def _steps(self, x: Array, z: Array, s: Array) -> Steps:
        factor, K = self.metric.factor, self.metric.curvature
        step = x - self.x_0
        u = step @ factor.T
        terms = np.abs(step) @ np.abs(factor.T)
        size = np.sqrt(np.einsum("ij,ij->i", terms, terms))  # ‖u‖, had nothing cancelled
        u_blur = units(step.shape[1]) * size
        v, left = lift_from(u, z, s, self.z_0, self.s_0, K)
        v = np.ascontiguousarray(v[:, : self.width])
        v_square = np.einsum("ij,ij->i", v, v)
        if K > 0:  # z is a factor of some terms of v
            sigma = np.sqrt(np.maximum(s, self.s_0))
            z_blur = u_blur + self.blur
            inner_blur = np.where(s > self.s_0, self.blur, z_blur)
            bend = math.sqrt(K) * np.sqrt(v_square) * (z_blur / sigma + inner_blur)
            return Steps(u, u_blur, v, 4 * (u_blur / sigma + bend), v_square)
        length = np.sqrt(np.einsum("ij,ij->i", u, u))
        growth = np.divide(size, length, out=np.ones_like(size), where=length > 0)
        return Steps(u, u_blur, v, u_blur + 8 * units(step.shape[1]) * left * growth, v_square)
