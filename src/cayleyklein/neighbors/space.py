"""Rows in the coordinates in which the square of a chord is a sum of squares.

With z = L(x - μ), σ = √S(x, x) and the chord c of a distance d (`geometry.lifts`),

    K ≥ 0 and products:  c² = ‖v_p - v_q‖²,              v the coordinates of `metric.embed`
    K < 0:               c² = ‖v_p - v_q‖²/(σ_p σ_q),    v = (z, (σ - 1)/√-K).

Pairs are measured from differences of v, and by the exact kernel where these lose digits. Every
value depends on its pair alone, to the last bit, and so equal rows are equally far. Rows outside a
hyperbolic domain are handled here too: refused, ranked by an affine function, or pulled inside.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein._validation import list_indices
from cayleyklein.exceptions import OutsideDomainError
from cayleyklein.geometry import lifts
from cayleyklein.geometry.space import apply_factor, place_points
from cayleyklein.metrics import (
    CurvedMetric,
    FormMetric,
    Metric,
    ProductMetric,
    SphereMetric,
    combined,
)

ROUND_OFF = float(np.finfo(np.float64).eps)
SLACK = 1e-11  # relative error allowed to a measured distance
FORM_ROUNDING = 1e3 * ROUND_OFF  # relative, of σ and forms of it, known to a hundred roundings
FAINT, HUGE = 1e-280, 1e280  # squares outside this range may have under- or overflowed
PLACED_ROWS = 16384  # rows placed at a time, so that temporary arrays stay small
EXTEND = 'drop them, or rank their neighbours by outside="extend"'  # advice for such queries


class Threads(ThreadPoolExecutor):
    """A pool of threads that knows how many there are."""

    def __init__(self, n_threads: int) -> None:
        super().__init__(n_threads)
        self.n_threads = n_threads


Pool = Threads | None


class Term(NamedTuple):
    """One term of a sum of metrics, weight · distance."""

    metric: Any
    weight: float
    columns: slice  # of v
    K: float  # of the chord: 0 for a product, whose map is Euclidean
    parts: list[tuple[CurvedMetric, float]]  # spaces of constant curvature, and their units
    given: Any  # the metric as it was given, which a FormMetric is not measured in

    def images(self, X: Floats) -> Floats:
        """Return rows as `metric` sees them."""
        return self.given.images(X) if isinstance(self.given, FormMetric | SphereMetric) else X


def seen_as(metric: Any) -> Any:
    """Return the metric that measures rows, or their images for a FormMetric."""
    return metric.unit_ball if isinstance(metric, FormMetric) else metric


class ChordRows(NamedTuple):
    """Rows in a chord space: x as each term sees them, v (n, D), scale and reach (n, terms).

    The scale is 1/σ, or 1; the reach Σ_j |x_j - μ_j| ‖L_j‖ bounds the terms that v is summed from,
    divided by σ for K > 0, as v is: a step of z moves it by no more than that.
    `own` (n,) are the fitted rows that queries are, and None for other queries.
    """

    x: list[Floats]
    v: Floats
    scale: Floats
    reach: Floats
    inside: Bools
    own: Ints | None = None

    def take(self, rows: Ints | slice) -> "ChordRows":
        x, own = [points[rows] for points in self.x], None if self.own is None else self.own[rows]
        scale, reach = self.scale[rows], self.reach[rows]
        return ChordRows(x, self.v[rows], scale, reach, self.inside[rows], own)


class ChordSpace:
    """The coordinates of a metric: its terms side by side."""

    def __init__(self, metric: Metric) -> None:
        found: list[tuple[Any, float, float, list[Any]]] = []
        if isinstance(metric, ProductMetric):
            parts = list(zip(metric.metrics, metric.units.tolist(), strict=True))
            found.append((metric, 1.0, 0.0, parts))
        else:
            for part, weight in combined.terms_of(metric):
                if weight:
                    # unit vectors are their chords' coordinates already
                    given: Any = part
                    whole = isinstance(given, SphereMetric)
                    space = given.chord_metric if whole else seen_as(given)
                    found.append((given, weight, part.curvature, [(space, 1.0)]))
        self.terms, self.width = list[Term](), 0
        for term, weight, K, parts in found:
            start = self.width
            self.width += sum(m.factor_shape[0] + (m.curvature != 0) for m, _ in parts)
            columns = slice(start, self.width)
            self.terms.append(Term(seen_as(term), weight, columns, K, parts, term))
        # a bound of the relative rounding of v and of sums over it
        self.rounding = rounding_of(metric.dimension + self.width)
        # whether queries outside are ranked by an affine function, as by one hyperbolic metric
        self.ranks_outside = len(self.terms) == 1 and self.terms[0].K < 0

    def place(self, X: Floats) -> ChordRows:
        """Place rows; a sum of metrics sees those outside pulled inside."""
        X, n, t = np.ascontiguousarray(X), len(X), len(self.terms)
        v, inside = np.empty((n, self.width)), np.ones(n, dtype=bool)
        scale, reach = np.ones((n, t)), np.empty((n, t))
        x = [term.images(X) for term in self.terms]
        for i, term in enumerate(self.terms):
            if t > 1 and term.K < 0:
                within = place_points(term.metric, x[i], "X")[1] > 0
                inside &= within
                x[i] = pull_inside(x[i], ~within, term.metric)
            for start in range(0, n, PLACED_ROWS):
                at = slice(start, start + PLACED_ROWS)
                v[at, term.columns], scale[at, i], reach[at, i], within = lifted(x[i][at], term)
                inside[at] &= within
        return ChordRows(x, v, scale, reach, inside)

    def blur(self, rows: ChordRows) -> Floats:
        """Return how far rounding may move each row in each term, (n, terms)."""
        return 8 * self.rounding * rows.reach

    def measure(
        self, queries: ChordRows, which: Ints, rows: ChordRows, columns: Ints, pool: Pool = None
    ) -> Floats:
        """Return the distances (p,) of queries `which` (p,) to rows `columns` (p,)."""
        step = max(8, 2**16 // self.width)  # pairs at a time: 512 kB, which stay in cache

        def run(start: int) -> Floats:
            some = slice(start, start + step)
            return self._measured(queries, which[some], rows, columns[some])

        starts = range(0, len(columns), step)
        found = map(run, starts) if pool is None else pool.map(run, starts)
        return np.concatenate([np.empty(0), *found])

    def _measured(self, queries: ChordRows, which: Ints, rows: ChordRows, columns: Ints) -> Floats:
        apart = rows.v[columns]
        apart -= queries.v[which]
        total = np.zeros(len(columns))
        for i, term in enumerate(self.terms):
            part = apart[:, term.columns]
            reach = queries.reach[which, i] + rows.reach[columns, i]
            with np.errstate(over="ignore", invalid="ignore"):
                square = np.einsum("ij,ij->i", part, part)
                # shorter ones, beside the terms of v, have lost digits
                exact = (square > np.maximum((1e-3 * reach) ** 2, FAINT)) & (square < HUGE)
                if term.K < 0:
                    square *= queries.scale[which, i] * rows.scale[columns, i]
                distances = lifts.distance_from_sqchord(square, term.K)
            if term.K > 0:
                # beyond, sin² of half the angle, a chord says little about it
                exact &= term.K / 4 * square < 1 - 1e-3
            again = np.flatnonzero(~exact)
            p, q = queries.x[i][which[again]], rows.x[i][columns[again]]
            differ = (p != q).any(axis=1)  # equal rows have equal v: they are at 0 already
            if differ.any():
                exactly = term.metric.distance(p[differ], q[differ], outside="inf")
                distances[again[differ]] = exactly
            total += term.weight * distances
        return total


def rounding_of(terms: int) -> float:
    """Return a bound of the relative rounding of a sum of `terms` products, and a few more."""
    return (terms + 8) * ROUND_OFF


def lifted(x: Floats, term: Term) -> tuple[Floats, Floats, Floats, Bools]:
    """Return v, 1/σ or 1, the reach of rows, and whether they are inside; if not, of v only z."""
    columns, reach, scale, inside = [], np.zeros(len(x)), np.ones(len(x)), np.ones(len(x), bool)
    for metric, unit in term.parts:
        K, (z, s) = metric.curvature, place_points(metric, x, "X")
        with np.errstate(over="ignore"):
            if metric.compact_factor.ndim == 1:
                terms = np.abs(z).sum(axis=1)
            else:
                terms = np.abs(x - metric.center) @ metric.column_lengths
            reach += terms / (unit * np.sqrt(s) if K > 0 else unit)
        if K < 0:
            inside = s > 0
            sigma = np.sqrt(np.where(inside, s, 1.0))
            height = -math.sqrt(-K) * np.einsum("ij,ij->i", z, z) / (1 + sigma)
            z, scale = np.column_stack([z, height]), 1 / sigma
        else:
            z = lifts.euclidean_coordinates(z, K)
        columns.append(z if unit == 1 else z / unit)
    return columns[0] if len(columns) == 1 else np.hstack(columns), scale, reach, inside


def pull_inside(X: Floats, beyond: Bools, metric: CurvedMetric) -> Floats:
    """Move rows that are not inside a hyperbolic domain to just inside; others stay."""
    if not beyond.any():
        return X
    X = X.copy()
    away = X[beyond] - metric.center
    z = apply_factor(metric, away)
    radius = np.sqrt(-metric.curvature * np.einsum("ij,ij->i", z, z))
    just_inside = 1 - 1e-4
    shrink = just_inside / np.maximum(radius, just_inside)
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
