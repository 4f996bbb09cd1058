"""Lower bounds of what ranks rows, for blocks of queries and rows.

With z = L(x - μ), σ = √S(x, x), u = z/σ and h = ‖z‖²/(σ(1 + σ)), the chord c of a query x and a
row p is

    c² = (2/σ_x)(‖z_x‖²/(1 + σ_x) + h_p - ⟨z_x, u_p⟩),          K < 0  (`geometry.bisectors`),
    c² = 2(‖v_x‖²/2 + ‖v_p‖²/2 - ⟨v_x, v_p⟩),                   K ≥ 0 and products,

both f_x (a_x + b_p - ⟨q_x, y_p⟩), which ranks rows by b_p - ⟨q_x, y_p⟩: one matrix product. It is
computed first from a table in single precision, and from below. An orthogonal projection P leaves
⟨q, y⟩ ≤ ⟨Pq, Py⟩ + ρ_q ρ_y, with ρ² = ‖y‖² - ‖Py‖²; rounding changes a sum of r products, in
whatever order, by at most r ε ‖q‖ ‖y‖. Both are one more column. Where that leaves too many rows
to be measured, double precision follows.
"""

import math
from typing import NamedTuple, cast

import numpy as np

from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.geometry import lifts
from cayleyklein.neighbors import algorithms, euclidean
from cayleyklein.neighbors.space import (
    FAINT,
    FORM_ROUNDING,
    HUGE,
    ROUND_OFF,
    ChordRows,
    ChordSpace,
    rounding_of,
)

BASIS_ROWS = 3072  # by which a projection is chosen
MEASURED = 200  # time to measure a coordinate of a pair over that in a product
CROWDED = 4  # most pairs to be measured after a projection, over k
MANY_PAIRS = 2**22  # of queries and rows after which a table in single precision is made
SINGLE = float(np.finfo(np.float32).eps)
BLOCK_DOUBT = 1e-9  # relative, of a distance of a block: five hundred times what was ever seen


class PairwiseRuler:
    """Distances of any metric, by `pairwise`."""

    def __init__(self, space: ChordSpace, queries: ChordRows, rows: ChordRows) -> None:
        self.terms, self.queries, self.rows = space.terms, queries, rows
        blur, weights = space.blur(queries), [term.weight for term in space.terms]
        self.doubt = (2 * (blur + space.blur(rows).max(axis=0)) * queries.scale) @ weights

    def values(self, some: slice, at: slice) -> AnyFloats:
        pairs = zip(self.terms, self.queries.x, self.rows.x, strict=True)
        parts = [term.weight * term.metric.pairwise(q[some], x[at]) for term, q, x in pairs]
        return np.asarray(sum(parts))

    def limit(self, some: slice, distance: Floats) -> AnyFloats:
        """Return the value that no row within a distance of a query exceeds."""
        return np.asarray(distance * (1 + BLOCK_DOUBT) + self.doubt[some])


class OutsideRuler(NamedTuple):
    """-f_p(x), which ranks rows p for queries x outside a hyperbolic domain (`bisectors`)."""

    K: float
    queries: ChordRows
    rows: ChordRows

    def values(self, some: slice, at: slice) -> AnyFloats:
        v, scale = self.rows.v[at], self.rows.scale[at]
        height = v[:, -1:] * scale / -math.sqrt(-self.K)
        return (height - lifts.map_rows(self.queries.v[some, :-1], v[:, :-1] * scale)).T

    def limit(self, some: slice, value: Floats) -> AnyFloats:
        return value


class ProductRuler(NamedTuple):
    """b_p - ⟨q_x, y_p⟩ from below; f_x, a_x, and by how much a_x and chords may be off."""

    q: AnyFloats
    y: AnyFloats
    bias: AnyFloats
    factor: Floats
    own: Floats
    blur: Floats
    weight: float
    K: float
    unit: float

    def values(self, some: slice, at: slice) -> AnyFloats:
        found: AnyFloats = self.q[some] @ self.y[at].T
        return np.subtract(self.bias[at], found, out=found)

    def limit(self, some: slice, distance: Floats) -> AnyFloats:
        with np.errstate(over="ignore"):
            chord = np.sqrt(lifts.sqchord_from(distance / self.weight, self.K)) + self.blur[some]
            found = chord * chord * (1 + BLOCK_DOUBT) / self.factor[some] - self.own[some]
            found = (found / self.unit).astype(self.bias.dtype)
        return np.nextafter(found, np.inf, dtype=found.dtype)


class Table(NamedTuple):
    """Rows (Py, ρ, ‖y‖), b, and P (D, r) or None; y and q are in units of their own."""

    y: AnyFloats
    bias: AnyFloats
    basis: Floats | None
    units: tuple[float, float]


class ChordBounds:
    """Rows under a metric of constant curvature, or a product, and bounds of their chords."""

    def __init__(self, space: ChordSpace, rows: ChordRows) -> None:
        (self.term,) = space.terms
        self.space, self.rows, self.middle = space, rows, np.zeros(0)
        self.blur = space.blur(rows)[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.term.K < 0:
                self.y = rows.v[:, :-1] * rows.scale
                self.bias = rows.v[:, -1] * rows.scale[:, 0] / -math.sqrt(-self.term.K)
            else:
                self.y, self.middle = euclidean.centred(rows.v)
            self.lengths = np.sqrt(np.einsum("ij,ij->i", self.y, self.y))
            if self.term.K >= 0:
                self.bias = self.lengths**2 / 2
            else:  # h from below
                self.bias = self.bias * (1 - 4 * FORM_ROUNDING) - 4 * self.blur * self.lengths
        self.longest, self.rounding = float(self.lengths.max()), rounding_of(self.y.shape[1])
        self.pairs, self.table = 0, cast("Table | None", None)

    def rulers(self, queries: ChordRows) -> list[ProductRuler]:
        """Return rulers for queries inside the domain, coarse first; none if squares overflow."""
        K, scale, blur = self.term.K, queries.scale[:, 0], self.space.blur(queries)[:, 0]
        q = queries.v[:, :-1] if K < 0 else queries.v
        q = q - self.middle if self.middle.any() else q
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", q, q)
        if not (FAINT < self.longest**2 < HUGE and squares.max() < HUGE):
            return []
        lengths = np.sqrt(squares)
        by_y = by_q = np.zeros(1)  # what ⟨q, y⟩ may be off by, over ‖y‖ and over ‖q‖
        if K < 0:
            own, factor = squares / (1 + 1 / scale), 2 * scale
            by_y = 4 * (blur + FORM_ROUNDING * lengths)
            by_q = 4 * self.blur * self.rows.scale[:, 0]
            own = own - 8 * blur * lengths - 4 * FORM_ROUNDING * own
            blur = np.zeros(len(q))
        else:
            own, factor = squares / 2, np.full(len(q), 2.0)
            blur = 2 * (blur + self.blur.max())
        own = own - 16 * ROUND_OFF * (own + FAINT)
        found, d = [], q.shape[1]
        self.pairs += len(q) * len(self.y)
        if self.table is None and self.pairs >= max(MANY_PAIRS, 4 * d * d):
            self.table = self._table(by_q)
        if (table := self.table) is not None:
            off = rounding_single(table.y.shape[1]) * lengths + by_y
            left = with_rest(q, lengths, table.basis, off) / table.units[1]
            if np.abs(left).max() < 1 / SINGLE**2:
                found.append(
                    ProductRuler(
                        left.astype(np.float32),
                        table.y,
                        table.bias,
                        factor,
                        own,
                        blur,
                        self.term.weight,
                        K,
                        table.units[0] * table.units[1],
                    )
                )
        error = 2 * self.rounding
        bias = self.bias - error * np.abs(self.bias)
        bias -= (error * lengths.max() + by_y.max()) * self.lengths + lengths.max() * by_q
        weight = self.term.weight
        found.append(ProductRuler(q, self.y, bias, factor, own, blur, weight, K, 1.0))
        return found

    def _table(self, by_q: Floats) -> Table:
        basis = principal_basis(self.y[euclidean.even_rows(len(self.y), BASIS_ROWS)], len(self.y))
        y_unit = self.longest or 1.0
        q_unit = 1 / math.sqrt(-self.term.K) if self.term.K < 0 else y_unit
        width = self.y.shape[1] if basis is None else basis.shape[1] + 1
        y = np.empty((len(self.y), width + 1), dtype=np.float32)
        last = self.lengths + by_q / rounding_single(width + 1)
        for start in range(0, len(y), BASIS_ROWS):
            at = slice(start, start + BASIS_ROWS)
            y[at] = with_rest(self.y[at], self.lengths[at], basis, last[at]) / y_unit
        bias = (self.bias - 8 * SINGLE * np.abs(self.bias)) / (y_unit * q_unit) - SINGLE**4
        return Table(y, bias.astype(np.float32), basis, (y_unit, q_unit))


def rounding_single(width: int) -> float:
    return (width + 16) * SINGLE


def with_rest(y: Floats, lengths: Floats, basis: Floats | None, last: Floats) -> Floats:
    """Return (Py, ρ, last), or (y, last) without a projection."""
    if basis is None:
        return np.column_stack([y, last])
    near = y @ basis
    rest = lengths**2 * (1 + 1e-12) - np.einsum("ij,ij->i", near, near)
    return np.column_stack([near, np.sqrt(np.maximum(rest, 0)), last])


def principal_basis(y: Floats, n: int) -> Floats | None:
    """Return the directions (D, r) by which a search of n rows takes the least time, if any do.

    Two thirds of the given rows choose the directions; the others are searched, to see how many
    times k rows are within the bounds of the k-th nearest, and must be measured.
    """
    probe, D, k = np.arange(len(y)) % 3 == 0, y.shape[1], algorithms.PROBE_NEIGHBORS
    if D < algorithms.NARROW:
        return None
    y = y / (np.abs(y).max() or 1.0)
    vectors = np.linalg.eigh(y[~probe].T @ y[~probe])[1][:, ::-1]
    rows = y[probe] @ vectors
    few = slice(0, None, len(rows) // algorithms.PROBE_QUERIES + 1)
    sums = np.cumsum(rows * rows, axis=1)
    whole = sums[:, -1]
    both = whole[few, None] + whole
    gaps = both - 2 * rows[few] @ rows.T
    radius = np.partition(gaps, min(k, len(rows) - 1), axis=1)[:, min(k, len(rows) - 1), None]
    best, chosen, start, products = (n + MEASURED * k) * D, D, 0, np.zeros_like(gaps)
    for r in np.unique(np.linspace(D / 16, 0.8 * D, 24).astype(int)):
        products += rows[few, start:r] @ rows[:, start:r].T
        rest, start = np.sqrt(np.maximum(whole - sums[:, r - 1], 0)), r
        within = both - 2 * (products + np.outer(rest[few], rest)) <= radius
        more = np.count_nonzero(within) / (k * len(within))
        cost = n * r + MEASURED * k * D * more
        if more < CROWDED and cost < best:
            best, chosen = cost, r
    return np.ascontiguousarray(vectors[:, :chosen]) if chosen < D else None
