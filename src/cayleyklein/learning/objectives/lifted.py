"""Rows lifted under a metric, and the way back: from forces on pairs to a gradient in (L, μ, K).

An objective is a function of squared chords. It asks `LiftedRows` for the chords of some pairs,
says how it changes with each (the force ∂ε/∂c²), and gets the gradient. `NearestRows` finds the
pairs that count under the metric being evaluated. This file knows nothing of objectives, and an
objective nothing of curvature but the distance of a chord.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cayleyklein._jit import vectorised
from cayleyklein._typing import AnyFloats, Floats, Ints
from cayleyklein.geometry import lifts

DOMAIN_EDGE = 1e-10  # S(x, x) every row must keep: beyond it a line search sees an infinite loss
CHORD_ENTRIES = 2_000_000  # of a block of squared chords: 16 MB
# Columns from which products take most of the time, in single precision half of it.
SINGLE_FROM = 64


class Parameters(NamedTuple):
    """A metric being learned, or a gradient in it: L (r, d), μ (d,) and K."""

    factor: Floats
    center: Floats
    curvature: float


class Evaluation(NamedTuple):
    """Loss, gradient and violated comparisons; inf and None outside a hyperbolic domain."""

    loss: float
    gradient: Parameters | None
    n_active: int = 0


class LiftedPairs(NamedTuple):
    """Pairs of rows (b,) and their own columns (b, w), with c² and φ(d) = d² or d."""

    rows: Ints
    columns: Ints
    sqchord: Floats
    value: Floats  # φ
    slope: Floats  # ∂φ/∂c²
    squared: bool


class LiftedRows:
    """Rows (n, d) lifted under a metric; where not all are `inside`, nothing else is set.

    c² is the square of a difference of `lift` (n, r + 1) in the form of `signature` 1, …, 1, K.
    Only where the metric `bends` is the gradient in K taken.
    """

    def __init__(self, X: Floats, metric: Parameters, bends: bool = True) -> None:
        self.metric, self.bends = metric, bends
        factor, center, K = metric
        self._offset = X - center
        self._z = self._offset @ factor.T
        s = 1 + K * np.einsum("ij,ij->i", self._z, self._z)
        self.inside = bool((s > DOMAIN_EDGE).all() and np.isfinite(s).all())
        if not self.inside:
            return
        self.lift, self._sigma, self._sqnorm = lifts.lift_points(self._z, K)
        self.signature = np.append(np.ones(len(factor)), K)
        self.sqnorm = (self.lift * self.lift) @ self.signature
        self._pull = np.zeros_like(self.lift)  # ∂ε/∂lift
        self._by_curvature = 0.0

    @cached_property
    def single(self) -> AnyFloats:
        return self.lift.astype(np.float32)

    @cached_property
    def length(self) -> Floats:
        """The Euclidean length of each row's lift."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.lift, self.lift)))

    def sqchords(self, rows: Ints, columns: Ints) -> Floats:
        """Return c² of rows (b,) to their own columns (b, w).

        c² = (‖δ‖² - K rise²)/(σ_p σ_q) with δ = z_p - z_q and rise = ⟨δ, z_p + z_q⟩/(σ_p + σ_q):
        a difference of lifts would lose digits near a hyperbolic boundary.
        """
        out = np.empty(columns.shape)
        _sqchords(self._z, self._sigma, self.metric.curvature, rows, columns, out)
        return out

    def pairs(self, rows: Ints, columns: Ints, *, squared: bool) -> LiftedPairs:
        sqchord, K = self.sqchords(rows, columns), self.metric.curvature
        if squared and K == 0:
            return LiftedPairs(rows, columns, sqchord, sqchord, np.ones_like(sqchord), squared)
        d, slope = lifts.slopes_from_sqchord(sqchord, K)
        if squared:
            d, slope = d * d, 2 * d * slope
        return LiftedPairs(rows, columns, sqchord, d, slope, squared)

    def push(self, pairs: LiftedPairs, by_value: Floats) -> None:
        """Add pairs with the derivative ∂ε/∂φ (b, w) of each."""
        by_curvature = 0.0
        if self.bends:
            by_K = lifts.curvature_slopes(pairs.sqchord, self.metric.curvature)
            if pairs.squared:
                by_K *= 2 * np.sqrt(pairs.value)
            by_curvature = float(np.vdot(by_value, by_K))
        self.push_apart(pairs.rows, pairs.columns, by_value * pairs.slope, by_curvature)

    def push_apart(self, rows: Ints, columns: Ints, force: Floats, by_curvature: float) -> None:
        """Add pairs of rows (b,) and columns (b, w): ∂ε/∂c² (b, w), and ∂ε/∂K at fixed c²."""
        rises = _push_apart(self.lift, rows, columns, force, self._pull)
        self._by_curvature += by_curvature + rises

    def row_gradient(self) -> tuple[Floats, float]:
        """Return ∂ε/∂z (n, r) and ∂ε/∂K, by the chain rule through u = z/σ and h."""
        K = self.metric.curvature
        pull = self._pull * self.signature
        by_u, by_h = pull[:, :-1], pull[:, -1]
        u, h, sigma = self.lift[:, :-1], self.lift[:, -1], self._sigma
        # ∂h/∂‖z‖² = 1/(2σ³), ∂σ/∂z = K z/σ, ∂σ/∂K = ‖z‖²/(2σ)
        by_sigma = -np.einsum("ij,ij->i", by_u, u) / sigma
        along = by_h / sigma**3 + by_sigma * K / sigma
        by_z = by_u / sigma[:, None] + along[:, None] * self._z
        if not self.bends:
            return by_z, 0.0
        # h depends on K only through σ. At K = 0 the signature hides h, and K h² alone counts
        rises = -h * (1 + 2 * sigma) / (sigma * (1 + sigma))
        by_K = (by_sigma + by_h * rises) * self._sqnorm / (2 * sigma)
        return by_z, self._by_curvature + float(by_K.sum())

    def gradient(self) -> Parameters:
        by_z, by_K = self.row_gradient()
        return Parameters(by_z.T @ self._offset, -by_z.sum(axis=0) @ self.metric.factor, by_K)


def blocks_of(stop: int, n_rows: int, start: int = 0) -> Iterator[slice]:
    """Yield blocks of the anchors from `start` to `stop`."""
    size = max(1, CHORD_ENTRIES // n_rows)
    for at in range(start, stop, size):
        yield slice(at, min(at + size, stop))


class NearestRows:
    """Search the nearest rows of anchors (a,), without rows `first` to `last` (its own class)."""

    def __init__(self, n_rows: int, anchors: Ints, first: Ints, last: Ints) -> None:
        self.anchors, self.first, self.last = anchors, first, last
        self._last_found: dict[int, Ints] = {}
        # memory for a block of products: asking the system for it again costs as much as them
        self._room = np.empty(min(len(anchors), max(1, CHORD_ENTRIES // n_rows)) * n_rows)

    def find(
        self,
        placed: LiftedRows,
        block: slice,
        m: int,
        reach: Floats | None = None,
        among: slice = slice(None),
    ) -> Ints:
        """Return the m nearest rows (b, m) within reach (c²) of each anchor; -1 for none.

        The m rows of the last call bound how far those of this one are. Rows of many columns are
        searched in single precision. Only rows of the slice `among` are looked at.
        """
        anchors = self.anchors[block]
        reach = np.full(len(anchors), np.inf) if reach is None else reach
        last = self._last_found.get(block.start)
        if last is not None:
            far = placed.sqchords(anchors, np.where(last >= 0, last, anchors[:, None])).max(axis=1)
            # of a matrix product, a million times what it can be
            rounding = 1e-9 * (far + float(placed.length.max()) ** 2)
            near = np.minimum(reach, far + rounding + np.finfo(float).tiny)
            reach = np.where((last >= 0).all(axis=1), near, reach)
        if len(placed.signature) < SINGLE_FROM:
            found = self._scanned(placed, block, m, reach, among)
        else:
            found = self._found_in_single(placed, block, m, reach, among)
        self._last_found[block.start] = found
        return found

    def _scanned(
        self,
        placed: LiftedRows,
        places: slice | Ints,
        m: int,
        reach: Floats,
        among: slice,
        *,
        single: bool = False,
    ) -> Ints:
        anchors, start = self.anchors[places], among.start or 0
        lift = placed.single if single else placed.lift
        own, others = lift[anchors] * placed.signature.astype(lift.dtype), lift[among]
        room = self._room.view(lift.dtype)[: len(own) * len(others)].reshape(len(own), -1)
        product = np.matmul(own, others.T, out=room)  # the forms of anchors with other rows
        found = np.full((len(own), m), -1)
        bound = reach - placed.sqnorm[anchors]
        first, last = self.first[places] - start, self.last[places] - start
        _scan(product, placed.sqnorm[among], first, last, bound, found, np.empty(m))
        return np.where(found >= 0, found + start, -1) if start else found

    def _found_in_single(
        self, placed: LiftedRows, block: slice, m: int, reach: Floats, among: slice
    ) -> Ints:
        """Search in single precision for some rows more, and measure them in double.

        A product of r terms is off by (r + 4) 2⁻²⁴ times both lengths at most. Rows that were not
        found are no nearer than the last one found, less twice the error: where that is not beyond
        the m-th, the anchor is searched again in double precision.
        """
        anchors, signature = self.anchors[block], placed.signature
        size = max(1.0, abs(signature[-1])) * placed.length.max() * placed.length[anchors]
        error = 2 * (len(signature) + 4) * 2.0**-24 * size
        near = self._scanned(placed, block, m + 6, reach + error, among, single=True)
        sqchord = placed.sqchords(anchors, np.where(near >= 0, near, anchors[:, None]))
        end = np.where(near[:, -1] >= 0, sqchord[:, -1] - 2 * error, np.inf)
        sqchord[(near < 0) | (sqchord >= reach[:, None])] = np.inf
        order = np.argsort(sqchord, axis=1, kind="stable")[:, :m]
        sqchord = np.take_along_axis(sqchord, order, axis=1)
        found = np.where(sqchord < np.inf, np.take_along_axis(near, order, axis=1), -1)
        unsure = np.flatnonzero(end < np.minimum(sqchord[:, -1], reach))
        if len(unsure):
            found[unsure] = self._scanned(placed, unsure + block.start, m, reach[unsure], among)
        return found


@vectorised
def _sqchords(z, sigma, K, rows, columns, out):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        p = rows[i]
        for t in range(columns.shape[1]):
            q = columns[i, t]
            square, along = 0.0, 0.0
            for a in range(z.shape[1]):
                step = z[p, a] - z[q, a]
                square += step * step
                along += step * (z[p, a] + z[q, a])
            rise = along / (sigma[p] + sigma[q])
            out[i, t] = max((square - K * rise * rise) / (sigma[p] * sigma[q]), 0.0)


@vectorised
def _push_apart(lift, rows, columns, force, pull):  # type: ignore[no-untyped-def]
    """Add 2 force (u_p - u_q) to ∂ε/∂lift of row p, and take it from q; return Σ force rise²."""
    total = 0.0
    for i in range(len(rows)):
        p = rows[i]
        for t in range(columns.shape[1]):
            q, twice = columns[i, t], 2 * force[i, t]
            if twice == 0:
                continue
            for a in range(lift.shape[1]):
                move = twice * (lift[p, a] - lift[q, a])
                pull[p, a] += move
                pull[q, a] -= move
            rise = lift[p, -1] - lift[q, -1]
            total += force[i, t] * rise * rise
    return total


@vectorised
def _scan(product, sqnorm, first, last, bounds, found, value):  # type: ignore[no-untyped-def]
    """Write the columns of least sqnorm_j - 2 product_ij below a bound, nearest first."""
    chunk, n, m = 8, product.shape[1], found.shape[1]
    for i in range(product.shape[0]):
        count, bound = 0, bounds[i]
        for side in range(2):
            start, end = (0, first[i]) if side == 0 else (last[i], n)
            for s in range(start, end, chunk):
                e = min(s + chunk, end)
                if e == s + chunk:  # of a whole chunk the minimum is looked at first
                    least = np.inf
                    for j in range(chunk):
                        least = min(least, sqnorm[s + j] - 2 * product[i, s + j])
                    if not least < bound:
                        continue
                for j in range(s, e):
                    v = sqnorm[j] - 2 * product[i, j]
                    if v < bound:
                        p = count if count < m else m - 1
                        count = p + 1
                        while p > 0 and value[p - 1] > v:
                            value[p], found[i, p] = value[p - 1], found[i, p - 1]
                            p -= 1
                        value[p], found[i, p] = v, j
                        if count == m:
                            bound = value[m - 1]
