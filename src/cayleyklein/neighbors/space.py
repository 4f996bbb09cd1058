"""Rows in the coordinates in which the square of a chord is a sum of squares.

With z = L(x - μ), σ = √S(x, x) and the chord c of a distance d (`geometry.lifts`),

    K ≥ 0 and products:  c² = ‖v_p - v_q‖²,              v the coordinates of `metric.embed`
    K < 0:               c² = ‖v_p - v_q‖²/(σ_p σ_q),    v = (z, (σ - 1)/√-K).

Pairs are measured from differences of v, and by `metric.distance` where these lose digits. Every
value depends on its pair alone, to the last bit, and so equal rows are equally far. Rows outside a
hyperbolic domain are handled here too: refused, ranked by an affine function, or pulled inside.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import list_indices
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import lifts
from cayleyklein.geometry.lifts import map_rows
from cayleyklein.metrics import CurvedMetric, ProductMetric
from cayleyklein.metrics.combined import Metric, terms_of

ROUND_OFF = float(np.finfo(np.float64).eps)

CLOSE = 1e-3
"""Length of v_p - v_q, relative to the terms of v, under which the difference loses digits."""

SLACK = 1e-11
"""Relative error allowed to a measured distance."""

OPPOSITE = 1 - 1e-3
"""sin² of half an angle beyond which a chord says little about it."""

FAINT, HUGE = 1e-280, 1e280
"""Squares outside this range may have under- or overflowed."""

GATHERED = 2**16
"""Coordinates of pairs gathered at a time: 512 kB, which stay in cache."""

PLACED_ROWS = 16384
"""Rows placed at a time, so that temporary arrays stay small."""

JUST_INSIDE = 1 - 1e-4
"""√-K‖z‖ to which a query outside a hyperbolic domain is pulled along its radius."""

Pool = ThreadPoolExecutor | None


class Term(NamedTuple):
    """One term of a sum of metrics, weight · distance, and its columns of v."""

    metric: CurvedMetric | ProductMetric
    weight: float
    columns: slice

    @property
    def K(self) -> float:
        """Curvature of the chord: 0 for a product, whose map is Euclidean."""
        return self.metric.curvature if isinstance(self.metric, CurvedMetric) else 0.0


class ChordRows(NamedTuple):
    """Rows in a chord space: x as each term sees them, v (n, D), scale and reach (n, terms).

    The scale is 1/σ, or 1; the reach Σ_j |x_j - μ_j| ‖L_j‖ bounds the terms that v is summed from.
    """

    x: list[Floats]
    v: Floats
    scale: Floats
    reach: Floats
    inside: Bools

    def take(self, rows: Ints | slice) -> ChordRows:
        """Return some of the rows."""
        x = [points[rows] for points in self.x]
        return ChordRows(x, self.v[rows], self.scale[rows], self.reach[rows], self.inside[rows])


class ChordSpace:
    """The coordinates of a metric: its terms side by side."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.terms: list[Term] = []
        self.width = 0
        parts = [(metric, 1.0)] if isinstance(metric, ProductMetric) else terms_of(metric)
        for part, weight in parts:
            if weight:
                width = coordinates_of(part)
                columns = slice(self.width, self.width + width)
                self.terms.append(Term(part, weight, columns))
                self.width += width

    @property
    def ranks_outside(self) -> bool:
        """Whether queries outside are ranked by an affine function, as by one hyperbolic metric."""
        return len(self.terms) == 1 and self.terms[0].K < 0

    @property
    def rounding(self) -> float:
        """A bound of the relative rounding of v and of sums over it."""
        return rounding_of(self.metric.dimension + self.width)

    def place(self, X: Floats) -> ChordRows:
        """Place rows; a sum of metrics sees those outside pulled inside."""
        n, t = len(X), len(self.terms)
        v, inside = np.empty((n, self.width)), np.ones(n, dtype=bool)
        scale, reach = np.ones((n, t)), np.empty((n, t))
        x = [X] * t
        for i, term in enumerate(self.terms):
            if isinstance(term.metric, CurvedMetric) and term.K < 0:
                inside &= term.metric.contains(X)
                if t > 1:
                    x[i] = pull_inside(X, term.metric)
            for start in range(0, n, PLACED_ROWS):
                at = slice(start, start + PLACED_ROWS)
                v[at, term.columns], scale[at, i] = lifted(x[i][at], term.metric)
                reach[at, i] = reach_of(x[i][at], term.metric)
        return ChordRows(x, v, scale, reach, inside)

    def blur(self, rows: ChordRows) -> Floats:
        """Return how far rounding may move each row in each term, (n, terms)."""
        return 8 * self.rounding * rows.reach

    # -- distances ------------------------------------------------------------------

    def measure(
        self, queries: ChordRows, which: Ints, rows: ChordRows, columns: Ints, pool: Pool = None
    ) -> Floats:
        """Return the distances (p, w) of queries `which` (p,) to w rows each, inf for column -1."""
        found = np.empty(columns.shape)
        step = max(1, GATHERED // max(1, columns.shape[1] * self.width))

        def run(start: int) -> None:
            at = slice(start, start + step)
            found[at] = self._measured(queries, which[at], rows, columns[at])

        starts = range(0, len(columns), step)
        for _ in map(run, starts) if pool is None else pool.map(run, starts):
            pass
        found[columns < 0] = np.inf
        return found

    def _measured(self, queries: ChordRows, which: Ints, rows: ChordRows, columns: Ints) -> Floats:
        shape = columns.shape
        apart = rows.v[columns]
        apart -= queries.v[which][:, None]
        apart = apart.reshape(-1, self.width)
        which, columns = np.repeat(which, shape[1]), columns.ravel()
        total = np.zeros(len(columns))
        for i, term in enumerate(self.terms):
            part = apart[:, term.columns]
            reach = queries.reach[which, i] + rows.reach[columns, i]
            with np.errstate(over="ignore", invalid="ignore"):
                square = np.einsum("ij,ij->i", part, part)
                exact = (square > FAINT) & (square < HUGE) & (square > (CLOSE * reach) ** 2)
                if term.K < 0:
                    square *= queries.scale[which, i] * rows.scale[columns, i]
                distances = lifts.distance_from_sqchord(square, term.K)
            if term.K > 0:
                exact &= term.K / 4 * square < OPPOSITE
            again = np.flatnonzero(~exact)
            p, q = queries.x[i][which[again]], rows.x[i][columns[again]]
            apart_rows = (p != q).any(axis=1)
            distances[again] = 0.0
            if apart_rows.any():
                again, p, q = again[apart_rows], p[apart_rows], q[apart_rows]
                distances[again] = term.metric.distance(p, q, outside="inf")
            total += term.weight * distances
        return total.reshape(shape)

    def pairwise(self, queries: ChordRows, X: Floats) -> Floats:
        """Return all distances of queries and rows X, right to `doubt`, by matrix products."""
        found = np.zeros((len(queries.v), len(X)))
        for x, term in zip(queries.x, self.terms, strict=True):
            found += term.weight * term.metric.pairwise(x, X)
        return found

    def doubt(self, queries: ChordRows, rows: ChordRows) -> Floats:
        """Return how far, absolutely, `pairwise` may be off for each query (m,)."""
        blur, most = self.blur(queries), self.blur(rows).max(axis=0)
        weights = [term.weight for term in self.terms]
        return np.asarray((2 * (blur + most) * queries.scale) @ weights)

    def affine_ranks(self, queries: ChordRows, rows: ChordRows, at: slice) -> Floats:
        """Return -f_p(x), which ranks rows p for queries x outside too (`geometry.bisectors`)."""
        v, scale = rows.v[at], rows.scale[at]
        height = v[:, -1:] * scale / -math.sqrt(-self.terms[0].K)
        return (height - map_rows(queries.v[:, :-1], v[:, :-1] * scale)).T


def rounding_of(terms: int) -> float:
    """Return a bound of the relative rounding of a sum of so many products, and a few more."""
    return (terms + 8) * ROUND_OFF


def coordinates_of(metric: CurvedMetric | ProductMetric) -> int:
    """Return the number of coordinates of v."""
    if isinstance(metric, ProductMetric):
        return metric.n_coordinates
    return len(metric.factor) + (metric.curvature != 0)


def lifted(x: Floats, metric: CurvedMetric | ProductMetric) -> tuple[Floats, Floats]:
    """Return v and 1/σ, or 1, of rows; v of a row outside is of no use but for its z."""
    if isinstance(metric, ProductMetric):
        parts = zip(metric.metrics, metric.units, strict=True)
        return np.hstack([lifted(x, part)[0] / unit for part, unit in parts]), np.ones(len(x))
    K, z = metric.curvature, metric._coordinates(x)
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.isfinite(z).all(axis=1)
        if K:
            fits &= np.isfinite(K * np.einsum("ij,ij->i", z, z))
    if not fits.all():
        rows = list_indices(np.flatnonzero(~fits))
        raise InvalidInputError(
            f"K‖L(x - μ)‖² overflows for X at index {rows}; rescale the coordinates."
        )
    if K >= 0:
        return lifts.euclidean_coordinates(z, K), np.ones(len(x))
    s = metric._form_values(x, z, "X")
    sigma = np.sqrt(np.where(s > 0, s, 1.0))
    height = -math.sqrt(-K) * np.einsum("ij,ij->i", z, z) / (1 + sigma)
    return np.column_stack([z, height]), 1 / sigma


def reach_of(x: Floats, metric: CurvedMetric | ProductMetric) -> Floats:
    """Return Σ_j |x_j - μ_j| ‖L_j‖, with L_j the columns of L; of a product, the parts' sum."""
    if isinstance(metric, ProductMetric):
        parts = zip(metric.metrics, metric.units, strict=True)
        return np.asarray(sum(reach_of(x, part) / unit for part, unit in parts))
    return np.asarray(np.abs(x - metric.center) @ metric.column_lengths)


# -- outside a hyperbolic domain ------------------------------------------------------


def pull_inside(X: Floats, metric: CurvedMetric) -> Floats:
    """Move rows on or outside the boundary of a hyperbolic domain to just inside; others stay."""
    beyond = ~metric.contains(X)
    if not beyond.any():
        return X
    X = X.copy()
    away = X[beyond] - metric.center
    z = map_rows(metric.factor, away)
    radius = np.sqrt(-metric.curvature * np.einsum("ij,ij->i", z, z))
    shrink = JUST_INSIDE / np.maximum(radius, JUST_INSIDE)
    X[beyond] = metric.center + away * shrink[:, None]
    return X


def refuse_outside(
    inside: Bools,
    first_row: int = 0,
    what: str = "X",
    advice: str = "drop or move them, or shrink the factor of the metric",
) -> None:
    """Raise an error that names the rows outside, counted from `first_row`."""
    if not inside.all():
        rows: Any = np.flatnonzero(~inside) + first_row
        raise OutsideDomainError(
            f"{what} has {len(rows)} row(s) on or outside the boundary of the hyperbolic domain: "
            f"{list_indices(rows)}; {advice}."
        )


def refuse_queries(Q: Floats, metric: Metric, start: int | None = 0) -> None:
    """Raise an error for queries outside the domain; without a start, counted in their block."""
    if len(Q):
        name = "X" if start is not None else "A block of X"
        advice = 'drop them, or rank their neighbours by outside="extend"'
        refuse_outside(metric.contains(Q), start or 0, name, advice)
