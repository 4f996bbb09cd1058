"""Candidates by a Euclidean search: scikit-learn's brute force, or SciPy's k-d tree.

For K ≥ 0 and for products, ranking by distance is ranking by ‖v_x - v_p‖. For K < 0 it is ranking
by the affine function f_p(x) = ⟨z_x, u_p⟩ - h_p, with u = z/σ and h = ‖z‖²/(σ(1 + σ)), largest
first (`geometry.bisectors`). As all vectors y_p = (u_p, β h_p, √(M² - ‖u_p‖² - β²h_p²)) have the
length M, that is the Euclidean order of q_x = (z_x, -1/β, 0) to them, and

    c² = (2/σ_x) (‖z_x‖²/(1 + σ_x) - f_p(x)),    2 f_p(x) = ‖q_x‖² + M² - ‖q_x - y_p‖².

Both are searched from the middle of the rows where that is far from 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from sklearn.metrics._pairwise_distances_reduction import ArgKmin
from sklearn.neighbors import KDTree

from cayleyklein._typing import Floats, Ints
from cayleyklein.geometry import lifts
from cayleyklein.neighbors.space import (
    FAINT,
    HUGE,
    PLACED_ROWS,
    ROUND_OFF,
    SLACK,
    ChordRows,
    ChordSpace,
    Pool,
    rounding_of,
)

FAR_MIDDLE = 100.0
"""Squared distance of the middle from 0, over the variance, from which it is subtracted."""


class Lorentz(NamedTuple):
    """The map of K < 0: the middle that was subtracted, β, M², and the rounding of y."""

    middle: Floats
    beta: float
    sqnorm: float
    blur: float


class EuclideanSearch:
    """Candidates for one metric of constant curvature, or for a product, by "brute" or "tree"."""

    def __init__(self, space: ChordSpace, rows: ChordRows, algorithm: str) -> None:
        (self.term,) = space.terms
        self.space, self.blur = space, float(space.blur(rows).max())
        self.lorentz: Lorentz | None = None
        if self.term.K < 0:
            y, self.lorentz = lorentz_rows(rows, self.term.K, self.blur)
        else:
            y, self.middle = centred(rows.v)
        self.usable = FAINT < longest_square(y) < HUGE
        self.tree: Any = cKDTree(y) if self.usable and algorithm == "tree" else None
        self.y = y if self.tree is None else None

    def candidates(
        self, queries: ChordRows, k: int, wanted: int, pool: Pool
    ) -> tuple[Ints, Floats]:
        """Return k rows of each query, and a distance that no other row is nearer than.

        Rows that are certainly farther than the `wanted` nearest of them are replaced by -1.
        """
        q = self.mapped(queries)
        sqnorm = np.einsum("ij,ij->i", q, q)
        if not (self.usable and (sqnorm < HUGE).all()):
            nothing = np.full((len(q), k), -1, dtype=np.intp)
            return nothing, np.full(len(q), -np.inf)
        if self.y is not None:
            near, found = nearest_rows(self.y, q, k)
        else:
            near, found = self.tree.query(q, np.arange(1, k + 1), workers=threads_of(pool))
        last = near[:, -1]
        blur = self.space.blur(queries)[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):  # nan, which certifies nothing
            if self.lorentz is not None:
                sqchord = self._hyperbolic_sqchord(queries, sqnorm, last**2, blur)
            else:
                # a row nearer than `last` is no longer than ‖q‖ + last
                error = rounding_of(q.shape[1]) * ((2 * np.sqrt(sqnorm) + last) ** 2 + FAINT)
                chord = np.sqrt(np.maximum(last**2 - error, 0)) - 2 * (blur + self.blur)
                sqchord = np.maximum(chord, 0) ** 2
                room = np.sqrt(near[:, wanted - 1] ** 2 + 2 * error) + 4 * (blur + self.blur)
                found = np.where(near <= room[:, None], found, -1)
            floor = self.term.weight * lifts.distance_from_sqchord(sqchord, self.term.K)
        return found, floor * (1 - SLACK)

    def _hyperbolic_sqchord(
        self, queries: ChordRows, sqnorm: Floats, square: Floats, blur: Floats
    ) -> Floats:
        assert self.lorentz is not None
        middle, beta, longest, y_blur = self.lorentz
        z, sigma = queries.v[:, :-1], 1 / queries.scale[:, 0]
        own = np.einsum("ij,ij->i", z, z) / (1 + sigma)
        shift = z @ middle[:-1] - middle[-1] / beta
        size = (np.sqrt(sqnorm) + math.sqrt(longest)) ** 2 + np.abs(shift) + own
        error = rounding_of(z.shape[1] + 2) * (size + FAINT)
        error += 4 * (
            blur * (math.sqrt(longest) + np.linalg.norm(middle)) + np.sqrt(sqnorm) * y_blur
        )
        rest = 2 * (own - shift) - sqnorm - longest + square - error
        return np.asarray(np.maximum(rest, 0) / sigma)

    def mapped(self, queries: ChordRows) -> Floats:
        """Return queries in the coordinates that are searched."""
        if self.lorentz is None:
            return queries.v - self.middle if self.middle.any() else queries.v
        last = np.array([-1 / self.lorentz.beta, 0.0])
        z = queries.v[:, :-1]
        return np.column_stack([z, np.broadcast_to(last, (len(z), 2))])


def centred(v: Floats) -> tuple[Floats, Floats]:
    """Return v from its middle where that is far from 0, and otherwise as it is."""
    some = v if len(v) <= PLACED_ROWS else v[even_rows(len(v), PLACED_ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = some.mean(axis=0)
        size = middle @ middle
        far = size > FAR_MIDDLE * (np.einsum("ij,ij->", some, some) / len(some) - size)
    return (v - middle, middle) if far else (v, np.zeros_like(middle))


def lorentz_rows(rows: ChordRows, K: float, blur: float) -> tuple[Floats, Lorentz]:
    """Return y of the module's docstring for fitted rows."""
    scale = rows.scale
    y = np.empty((len(rows.v), rows.v.shape[1] + 1))
    y[:, :-1] = rows.v * scale
    y[:, -2] /= -math.sqrt(-K)  # h
    highest = float(y[:, -2].max())
    longest = math.sqrt(longest_square(y[:, :-2]))
    beta = longest / highest if highest > FAINT else 1.0
    y[:, -2] *= beta
    middle = y[even_rows(len(y), PLACED_ROWS), :-1].mean(axis=0)
    whole = math.sqrt(longest_square(y[:, :-1]))
    y[:, :-1] -= middle
    squares = np.einsum("ij,ij->i", y[:, :-1], y[:, :-1])
    y[:, -1] = np.sqrt(squares.max() - squares)
    # σ is known to a hundred roundings, and u = z/σ
    y_blur = 1e3 * ROUND_OFF * whole + blur * float(scale.max())
    return y, Lorentz(middle, beta, float(squares.max()), y_blur)


def longest_square(y: Floats) -> float:
    with np.errstate(over="ignore"):
        return float(np.einsum("ij,ij->i", y, y).max(initial=0.0))


def threads_of(pool: Pool) -> int:
    return 1 if pool is None else pool._max_workers


def even_rows(n: int, most: int) -> Ints:
    """Return the numbers of all of n rows, or of `most` evenly spaced ones."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def nearest_rows(Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    """Return Euclidean distances and positions of the k rows of Z nearest to each of Q."""
    Z, Q = np.ascontiguousarray(Z), np.ascontiguousarray(Q)
    found: tuple[Floats, Ints] = ArgKmin.compute(Q, Z, k, return_distance=True)
    return found


def tree_share(v: Floats, n_queries: int, k: int) -> float:
    """Return the share of all distances that a k-d tree measures for queries among its rows."""
    tree = KDTree(v)
    tree.reset_n_calls()
    tree.query(v[even_rows(len(v), n_queries)], min(k, len(v)))
    return float(tree.get_n_calls()) / (min(len(v), n_queries) * len(v))
