"""All distances between two sets of rows, by blocks, at the price of one matrix product.

Half a distance has a square that is one Euclidean square distance after a lift,
for every sign of K: with σ = √(1 + K‖z‖²) and chord = 2 sin_K(d/2),

    chord² = ‖v_p - v_q‖²,              v = (z/σ, -√K ‖z‖²/(σ(1+σ))),     K ≥ 0,
    chord² = ‖v_p - v_q‖²/(σ_p σ_q),    v = (z, -√-K ‖z‖²/(1+σ)),         K < 0.

v is a point of the unit hemisphere seen from its pole and scaled by 1/√|K|, which
leaves z itself at K = 0. The square distances come from a matrix product, which
loses digits for close pairs; those few are computed again by the exact kernel.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame
from cayleyklein.geometry._distances import Outside, _distance

__all__ = ["BlockKernel", "chord_lift", "pairwise"]

Array = NDArray[np.float64]

BLOCK = 1024
"""Rows and columns of a block: one matrix product each, large enough to be worth threads."""

STRIP = 128
"""Rows of a strip of a block: 1 MB, which stays in cache through the passes over it."""

PADDING = 8
"""Keeps a column of a block from falling into one cache set, which slows its transpose fourfold."""

CANCELLATION = 1e-3
"""‖v_p - v_q‖² relative to ‖v_p‖² + ‖v_q‖² (from their mean) under which a pair is recomputed."""

ROUNDING = 1e-5
"""The same, relative to the squares before the mean was taken off: their rounding stays."""

NEAR_ANTIPODAL = 1e-3
"""cos²(√K d/2) under which an elliptic pair is recomputed."""

REFINE_ENTRIES = 2**18
"""Coordinates gathered at a time for pairs that are recomputed."""


def chord_lift(z: Array, s: Array, K: float) -> tuple[Array, Array]:
    """Return v (n, r + 1) and the row scale, 1 or 1/σ, of the module's docstring."""
    sigma = np.sqrt(s)[:, None]
    height = -math.sqrt(abs(K)) * np.einsum("ij,ij->i", z, z)[:, None] / (1 + sigma)
    v = np.concatenate([z, height], axis=1)
    return (v / sigma, np.ones(len(v))) if K >= 0 else (v, 1 / sigma[:, 0])


@dataclass(frozen=True)
class Rows:
    """One side of a block computation: rows lifted to v, taken from a common origin."""

    x: Array
    inside: NDArray[np.bool_]
    origin: Array
    v: Array
    sqnorm: Array
    threshold: Array  # square distances under the sum of two of these are recomputed
    scale: Array

    @classmethod
    def lift(
        cls, x: Array, frame: Frame, outside: Outside, name: str, origin: Array | None = None
    ) -> "Rows":
        """Lift rows; those outside the domain get a harmless lift at the centre."""
        if outside == "raise":
            z, s = frame.inside(x, name)
        else:
            z = frame.coordinates(x)
            s = frame.form_values(x, z)
        inside = s > 0
        if not inside.all():
            z, s = np.where(inside[:, None], z, 0.0), np.where(inside, s, 1.0)
        v, scale = chord_lift(z, s, frame.curvature)
        rounding = ROUNDING * np.einsum("ij,ij->i", v, v)
        origin = v.mean(axis=0) if origin is None else origin
        v -= origin  # changes no distance, and saves digits
        sqnorm = np.einsum("ij,ij->i", v, v)
        threshold = np.maximum(CANCELLATION * sqnorm, rounding)
        return cls(x, inside, origin, v, sqnorm, threshold, scale)


class BlockKernel:
    """Distances between blocks of rows of X and of Y in one frame."""

    def __init__(self, X: Array, Y: Array | None, frame: Frame, outside: Outside) -> None:
        self.frame, self.outside = frame, outside
        self.rows = p = Rows.lift(X, frame, outside, "X")
        self.columns = q = p if Y is None else Rows.lift(Y, frame, outside, "Y", p.origin)
        # ‖v - w‖² as one product, (v, ‖v‖², 1) · (-2w, 1, ‖w‖²), times |K|/4 and the row scales
        self.unit = abs(frame.curvature) / 4 or 1.0
        left = np.column_stack([p.v, p.sqnorm, np.ones(len(p.v))])
        right = np.column_stack([-2 * q.v, np.ones(len(q.v)), q.sqnorm])
        self.left = left * (self.unit * p.scale)[:, None]
        self.right = right * q.scale[:, None]

    def fill(self, i: slice, j: slice, out: Array) -> Array:
        """Write the distances of block (i, j) into out."""
        np.matmul(self.left[i], self.right[j].T, out=out)
        for start in range(0, len(out), STRIP):
            strip = out[start : start + STRIP]
            self._finish(slice(i.start + start, i.start + start + len(strip)), j, strip)
        return out

    def _finish(self, i: slice, j: slice, out: Array) -> None:
        """Turn square distances of lifted points into distances, in place."""
        K, inexact = self.frame.curvature, None
        p_threshold, q_threshold = self.rows.threshold[i], self.columns.threshold[j]
        p_scale, q_scale = self.unit * self.rows.scale[i], self.columns.scale[j]
        highest = (p_threshold.max() + q_threshold.max()) * p_scale.max() * q_scale.max()
        if out.min() < highest:
            inexact = out < (p_threshold[:, None] + q_threshold) * p_scale[:, None] * q_scale
            np.maximum(out, 0, out=out)  # negative by rounding, and so recomputed below
        if K > 0 and out.max() > 1 - NEAR_ANTIPODAL:
            antipodal = out > 1 - NEAR_ANTIPODAL
            inexact = antipodal if inexact is None else inexact | antipodal
            np.minimum(out, 1 - NEAR_ANTIPODAL, out=out)  # recomputed below
        _distance_from_half_square(out, K)
        inexact = self._mark_outside(i, j, out, inexact)
        if inexact is not None:
            self._refine(i, j, out, inexact)

    def _mark_outside(
        self, i: slice, j: slice, out: Array, inexact: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_] | None:
        inside_p, inside_q = self.rows.inside[i], self.columns.inside[j]
        if inside_p.all() and inside_q.all():
            return inexact
        beyond = ~(inside_p[:, None] & inside_q)
        if self.outside == "inf":
            out[beyond] = np.inf
            return inexact if inexact is None else inexact & ~beyond
        return beyond if inexact is None else inexact | beyond

    def _refine(self, i: slice, j: slice, out: Array, inexact: NDArray[np.bool_]) -> None:
        rows, columns = np.nonzero(inexact)
        x, y = self.rows.x[i], self.columns.x[j]
        step = max(1, REFINE_ENTRIES // x.shape[1])
        for start in range(0, len(rows), step):
            row, column = rows[start : start + step], columns[start : start + step]
            out[row, column] = _distance(x[row], y[column], self.frame, self.outside)


def _distance_from_half_square(h: Array, K: float) -> None:
    """Turn h = |K| chord²/4, the sin² or sinh² of √|K| d/2, into d, in place (K = 0: chord²)."""
    if K == 0:
        np.sqrt(h, out=h)
        return
    if K > 0:
        np.divide(h, 1 - h, out=h)
        np.sqrt(h, out=h)
        np.arctan(h, out=h)
        h *= 2 / math.sqrt(K)
    else:  # 2 asinh √h = log1p(2(h + √(h + h²))): twice as fast as arcsinh, as exact
        root = h * h
        root += h
        np.sqrt(root, out=root)
        h += root
        h *= 2
        np.log1p(h, out=h)
        h *= 1 / math.sqrt(-K)


def blocks(n: int, m: int, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Cut n × m into blocks; of a symmetric matrix only those on and right of the diagonal."""
    for top in range(0, n, BLOCK):
        for left in range(top if symmetric else 0, m, BLOCK):
            yield slice(top, min(top + BLOCK, n)), slice(left, min(left + BLOCK, m))


def pairwise(
    X: Array,
    Y: Array | None,
    parts: list[tuple[Frame, float]],
    outside: Outside,
    dtype: np.dtype[Any],
) -> NDArray[np.floating[Any]]:
    """Return Σ weight · distance over frames, between the rows of X and of Y (of X if None)."""
    kernels = [(BlockKernel(X, Y, frame, outside), weight) for frame, weight in parts]
    n, m = len(X), len(X) if Y is None else len(Y)
    result = np.empty((n, m), dtype=dtype)
    work = np.empty((len(parts[:2]), min(n, BLOCK), min(m, BLOCK) + PADDING))
    for i, j in blocks(n, m, symmetric=Y is None):
        total, *terms = work[:, : i.stop - i.start, : j.stop - j.start]
        for index, (kernel, weight) in enumerate(kernels):
            out = kernel.fill(i, j, terms[0] if index else total)
            if weight != 1:
                out *= weight
            if index:
                total += out
        if Y is None and i == j:
            _symmetrise(total)
        result[i, j] = total
        if Y is None and i != j:
            result[j, i] = total.T
    return result


def _symmetrise(block: Array) -> None:
    """Copy the upper triangle to the lower, and make the diagonal exactly zero."""
    upper = np.triu(block, 1)
    beyond = np.isinf(np.diagonal(block))  # inf marks points outside
    block[...] = upper
    block += upper.T
    np.fill_diagonal(block, np.where(beyond, np.inf, 0.0))
