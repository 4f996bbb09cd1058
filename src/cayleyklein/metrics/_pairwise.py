"""All distances between two sets of rows, by blocks, at the price of one matrix product.

Half a distance has a square that is one Euclidean square distance after a lift, for every sign of
K: with σ = √(1 + K‖z‖²) and chord = 2 sin_K(d/2),

    chord² = ‖v_p - v_q‖²,              v = (z/σ, -√K ‖z‖²/(σ(1+σ))),     K ≥ 0,
    chord² = ‖v_p - v_q‖²/(σ_p σ_q),    v = (z, -√-K ‖z‖²/(1+σ)),         K < 0.

v is a point of the unit hemisphere seen from its pole and scaled by 1/√|K|, which leaves z itself
at K = 0. It is taken from the v of a point in the middle, as a difference, so that neither a centre
nor an origin far from the rows costs digits. The square distances come from a matrix
product, which loses digits for close pairs; these few are computed again by the exact kernel. In a
product of metrics with K ≥ 0 the v of the parts, each in its own unit, are the columns of one v.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import distances, lifts, space

# Rows and columns of a block: 1 MB, which stays in cache through several passes. A power of two
# would put a column into one cache set, which slows its transpose fourfold.
TILE_ROWS, TILE_COLUMNS = 128, 1000

ExactDistance = Callable[[Floats, Floats, distances.Outside], Floats]


def lift_from(
    u: Floats, z: Floats, s: Floats, z_0: Floats, s_0: Floats, K: float
) -> tuple[Floats, Floats]:
    """Return v - v_0 for u = L(x - x_0), and the size of its terms, which bounds its rounding."""
    if K == 0:
        return u, np.zeros(len(u))
    k, sigma, sigma_0 = math.sqrt(abs(K)), np.sqrt(s), np.sqrt(s_0)
    spatial, rise = lifts.lift_difference(u, z, s, z_0, s_0, K)
    length = np.sqrt(np.einsum("ij,ij->i", u, u))
    if K > 0:
        return np.column_stack([spatial, k * rise]), length / np.maximum(sigma, sigma_0)
    # k (σ σ_0) rise = (σ - σ_0)/k: the former for close rows, the latter next to the boundary
    steps, both = length / (sigma + sigma_0), (sigma + sigma_0) / k
    height = np.where(steps < both, k * sigma * sigma_0 * rise, (sigma - sigma_0) / k)
    return np.column_stack([u, height]), np.minimum(steps, both)


class LiftedSide(NamedTuple):
    """One side of a block computation: rows lifted to v, relative to the v of one row."""

    x: Floats
    inside: Bools
    v: Floats
    rounding: Floats
    scale: Floats

    def in_unit(self, unit: float) -> "LiftedSide":
        if unit == 1:
            return self
        return self._replace(v=self.v / unit, rounding=self.rounding / unit)


def lift_sides(
    X: Floats, Y: Floats | None, metric: space.CurvedSpace, outside: distances.Outside
) -> tuple[list[LiftedSide], float]:
    """Lift the rows of X, and of Y if given; return the curvature too, 0 where rows see none.

    Rows outside the domain are placed at the centre.
    """
    K, sides = metric.curvature, []
    for x, name in ((X, "X"), (Y, "Y")):
        if x is None:
            continue
        if K == 0:
            sides.append((x, np.ones(len(x), dtype=bool), x, np.ones(len(x))))
            continue
        place = space.place_inside if outside == "raise" else space.place_points
        z, s = place(metric, x, name)
        inside = s > 0
        if not inside.all():
            z, s = np.where(inside[:, None], z, 0.0), np.where(inside, s, 1.0)
        sides.append((x, inside, z, s))
    x_0, z_0, s_0 = _middle(X[sides[0][1]], metric)
    # Rows so close to the centre that S rounds to 1 see no curvature.
    K = 0.0 if all((s == 1).all() for *_, s in sides) else K
    lifted = []
    for x, inside, z, s in sides:
        with np.errstate(over="ignore", invalid="ignore"):
            u = space.apply_factor(metric, x - x_0)
        u = u if inside.all() else np.where(inside[:, None], u, z - z_0)
        most = np.finfo(float).max / (2 * math.sqrt(u.shape[1]))
        if not (u.max() < most and u.min() > -most):
            fits = np.abs(u).max(axis=1) < most
            raise InvalidInputError(
                f"Distances overflow for rows{checks.at_index(~fits)}; rescale the coordinates."
            )
        v, rounding = lift_from(u, z, s, z_0, s_0, K)
        scale = np.ones(len(v)) if K >= 0 else 1 / np.sqrt(s)
        lifted.append(LiftedSide(x, inside, v, rounding, scale))
    return lifted, K


def product_sides(
    X: Floats, Y: Floats | None, parts: Sequence[tuple[space.CurvedSpace, float]]
) -> list[LiftedSide]:
    """Lift rows for the root of Σ (weight · chord)² over parts with K ≥ 0."""
    sides, lifted = [], [lift_sides(X, Y, metric, "raise")[0] for metric, _ in parts]
    for same in zip(*lifted, strict=True):
        scaled = [side.in_unit(1 / w) for side, (_, w) in zip(same, parts, strict=True)]
        v = np.hstack([side.v for side in scaled])
        rounding = np.hypot.reduce([side.rounding for side in scaled])
        sides.append(scaled[0]._replace(v=v, rounding=rounding))
    return sides


def _middle(X: Floats, metric: space.CurvedSpace) -> tuple[Floats, Floats, Floats]:
    """Return the mean of rows inside the domain, or the first where rounding spoils it, z and S."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0) if len(X) else metric.center
    for x in (mean, *X[:1]):
        if np.isfinite(x).all():
            z, s = space.place_points(metric, x, "X")
            if s > 0:
                break
    return x, z, s


class BlockKernel:
    """Distances between blocks of rows of the sides; `exact` computes those of single pairs."""

    def __init__(
        self, sides: list[LiftedSide], K: float, exact: ExactDistance, outside: distances.Outside
    ) -> None:
        self.K, self.exact, self.outside = K, exact, outside
        # v is measured in 2/√|K|, or at K = 0 in its own size where its square may overflow
        size = float(max(max(side.v.max(), -side.v.min()) for side in sides))
        self.unit = 2 / math.sqrt(abs(K)) if K else size or 1.0
        if K == 0 and 1e-100 < size < 1e100:
            self.unit = 1.0
        sides = [side.in_unit(self.unit) for side in sides]
        self.rows, self.columns = p, q = sides[0], sides[-1]
        sqnorms = [np.einsum("ij,ij->i", side.v, side.v) for side in sides]
        # square distances under the sum of two of these are recomputed: ‖v_p - v_q‖² that are
        # small beside ‖v_p‖² + ‖v_q‖², or beside the squared terms of v
        self.thresholds = [
            np.maximum(1e-3 * sqnorm, 1e-5 * side.rounding**2)
            for side, sqnorm in zip(sides, sqnorms, strict=True)
        ]
        # rows (v, ‖v‖², 1) and (-2w, 1, ‖w‖²), scaled, have the product ‖v - w‖²
        self.left = np.column_stack([p.v, sqnorms[0], np.ones(len(p.v))])
        self.right = np.column_stack([-2 * q.v, np.ones(len(q.v)), sqnorms[-1]])
        if K < 0:
            self.left *= p.scale[:, None]
            self.right *= q.scale[:, None]

    def fill(self, i: slice, j: slice, out: Floats, own: bool = False) -> Floats:
        """Write the distances of rows i and columns j; if they are the same, not the diagonal."""
        np.matmul(self.left[i], self.right[j].T, out=out)
        if own:
            np.fill_diagonal(out, out.max())  # any value that is not recomputed
        K, inexact = self.K, None
        underflow = 1e-280  # of |K| chord²/4, whose terms may be denormal
        antipodal = 1 - 1e-3  # sin²(√K d/2) of an elliptic pair beyond which it is recomputed
        p_threshold, q_threshold = self.thresholds[0][i], self.thresholds[-1][j]
        p_scale, q_scale = self.rows.scale[i], self.columns.scale[j]
        highest = (p_threshold.max() + q_threshold.max()) * p_scale.max() * q_scale.max()
        if out.min() < max(highest, underflow):
            close = (p_threshold[:, None] + q_threshold) * p_scale[:, None] * q_scale
            inexact = out < np.maximum(close, underflow, out=close)
            np.maximum(out, 0, out=out)  # negative by rounding; recomputed below
        if K > 0 and out.max() > antipodal:
            opposite = out > antipodal
            inexact = opposite if inexact is None else inexact | opposite
            np.minimum(out, antipodal, out=out)  # recomputed below
        lifts.distances_in_place(out, K, self.unit)
        inside_p, inside_q = self.rows.inside[i], self.columns.inside[j]
        if not (inside_p.all() and inside_q.all()):
            beyond = ~(inside_p[:, None] & inside_q)
            inexact = np.zeros_like(beyond) if inexact is None else inexact
            if self.outside == "inf":
                out[beyond] = np.inf
                inexact = inexact & ~beyond
            else:
                inexact = inexact | beyond
        if inexact is not None:
            self._refine(i, j, out, inexact)
        return out

    def _refine(self, i: slice, j: slice, out: Floats, inexact: Bools) -> None:
        rows, columns = np.nonzero(inexact)
        x, y = self.rows.x[i], self.columns.x[j]
        step = max(1, 2**18 // x.shape[1])  # coordinates gathered at a time
        for start in range(0, len(rows), step):
            row, column = rows[start : start + step], columns[start : start + step]
            out[row, column] = self.exact(x[row], y[column], self.outside)


WeightedKernels = list[tuple[BlockKernel, float]]


def cut_blocks(n: int, m: int, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Cut n × m into blocks; of a symmetric matrix only blocks on or right of the diagonal."""
    for top in range(0, n, TILE_ROWS):
        rows = slice(top, min(top + TILE_ROWS, n))
        if symmetric:
            yield rows, rows
        for left in range(rows.stop if symmetric else 0, m, TILE_COLUMNS):
            yield rows, slice(left, min(left + TILE_COLUMNS, m))


def fill_distances(result: AnyFloats, kernels: WeightedKernels, symmetric: bool) -> None:
    """Write Σ weight · distance over kernels into the result, block by block."""
    n, m = result.shape
    work = np.empty((len(kernels[:2]), min(n, TILE_ROWS) * min(m, TILE_COLUMNS)))
    for i, j in cut_blocks(n, m, symmetric):
        shape = i.stop - i.start, j.stop - j.start
        total, *terms = (some[: shape[0] * shape[1]].reshape(shape) for some in work)
        own = symmetric and i == j
        for index, (kernel, weight) in enumerate(kernels):
            out = kernel.fill(i, j, terms[0] if index else total, own)
            if weight != 1:
                out *= weight
            if index:
                total += out
        if own:
            upper, beyond = np.triu(total, 1), np.isinf(np.diagonal(total))  # inf: points outside
            np.add(upper, upper.T, out=total)
            np.fill_diagonal(total, np.where(beyond, np.inf, 0.0))
        result[i, j] = total
        if symmetric and not own:
            result[j, i] = total.T
