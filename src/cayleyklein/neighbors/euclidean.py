"""Searches among Euclidean rows: SciPy's k-d tree, and scikit-learn's brute force."""

import os
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.metrics._pairwise_distances_reduction import ArgKmin
from sklearn.neighbors import KDTree
from threadpoolctl import threadpool_limits

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

IMPORTED_BY = os.getpid()


class TreeSearch:
    """Candidates by a k-d tree, in coordinates whose Euclidean distance no distance is less than.

    For K ≥ 0 and products these are v, which measure the chord; for K < 0 2z/(1 + σ), Poincaré's
    ball in the size that it has at its centre. A sum Σ w d of metrics is at least √Σ(w d)².
    """

    def __init__(self, space: ChordSpace, rows: ChordRows) -> None:
        self.space = space
        # whether the order of the coordinates' distances is that of the metric
        self.ranks = len(space.terms) == 1 and space.terms[0].K >= 0
        # numbers of candidates worth asking for, over the least
        self.factors = (1, 4) if self.ranks else (4, 16, 64)
        y, self.middle = centred(self.coordinates(rows))
        self.blur = float(self._blur(rows).max())
        self.tree: Any = cKDTree(y) if FAINT < longest_square(y) < HUGE else None

    def __getstate__(self) -> dict[str, Any]:
        # the tree itself is nothing that a model file can hold
        return {**vars(self), "tree": None if self.tree is None else np.asarray(self.tree.data)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.tree is not None:
            self.tree = cKDTree(self.tree)

    def coordinates(self, rows: ChordRows) -> Floats:
        if self.ranks:
            return rows.v
        columns = []
        for i, term in enumerate(self.space.terms):
            v = rows.v[:, term.columns]
            if term.K < 0:
                v = 2 * v[:, :-1] / (1 + 1 / rows.scale[:, i, None])
            columns.append(term.weight * v)
        return np.hstack(columns)

    def _blur(self, rows: ChordRows) -> Floats:
        """Return how far rounding may move the coordinates of rows."""
        weights = [1.0 if self.ranks else term.weight for term in self.space.terms]
        return (2 * self.space.blur(rows) + 1e3 * ROUND_OFF * rows.reach) @ weights

    def candidates(
        self, queries: ChordRows, k: int, wanted: int, pool: Pool
    ) -> tuple[Ints, Floats]:
        """Return k rows of each query, and a distance that no other row is nearer than.

        Rows that are certainly farther than the `wanted` nearest of them are replaced by -1.
        """
        q = self.coordinates(queries) - self.middle
        if self.tree is None or not longest_square(q) < HUGE:
            nothing = np.full((len(q), k), -1, dtype=np.intp)
            return nothing, np.full(len(q), -np.inf)
        workers = 1 if pool is None else pool.n_threads
        near, found = self.tree.query(q, np.arange(1, k + 1), workers=workers)
        last, blur = near[:, -1], self._blur(queries) + self.blur
        with np.errstate(over="ignore", invalid="ignore"):  # nan, which certifies nothing
            # a row nearer than `last` is no longer than ‖q‖ + last
            length = 2 * np.linalg.norm(q, axis=1) + last
            error = rounding_of(q.shape[1]) * (length**2 + FAINT)
            floor = np.maximum(np.sqrt(np.maximum(last**2 - error, 0)) - blur, 0)
            if self.ranks:
                room = np.sqrt(near[:, wanted - 1] ** 2 + 2 * error) + 2 * blur
                found = np.where(near <= room[:, None], found, -1)
                (term,) = self.space.terms
                floor = term.weight * lifts.distance_from_sqchord(floor**2, term.K)
        return found, floor * (1 - SLACK)


def centred(v: Floats) -> tuple[Floats, Floats]:
    """Return v from its middle where that is ten deviations from 0, and otherwise as it is."""
    some = v if len(v) <= PLACED_ROWS else v[even_rows(len(v), PLACED_ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = some.mean(axis=0)
        size = middle @ middle
        far = size > 100 * (np.einsum("ij,ij->", some, some) / len(some) - size)
    return (v - middle, middle) if far else (v, np.zeros_like(middle))


def longest_square(y: Floats) -> float:
    with np.errstate(over="ignore"):
        return float(np.einsum("ij,ij->i", y, y).max(initial=0.0))


def even_rows(n: int, most: int) -> Ints:
    """Return the numbers of all of n rows, or of `most` evenly spaced ones."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


@cache
def limit_openmp(process: int) -> Any:
    """Keep OpenMP to one thread for the life of a forked process, which has none of its others."""
    return threadpool_limits(1, user_api="openmp")


def nearest_rows(Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    """Return Euclidean distances and positions of the k rows of Z nearest to each of Q."""
    if os.getpid() != IMPORTED_BY:
        limit_openmp(os.getpid())
    Z, Q = np.ascontiguousarray(Z), np.ascontiguousarray(Q)
    found: tuple[Floats, Ints] = ArgKmin.compute(Q, Z, k, return_distance=True)
    return found


def tree_share(v: Floats, n_queries: int, k: int) -> float:
    """Return the share of all distances that a k-d tree measures for queries among its rows."""
    tree = KDTree(v)
    tree.reset_n_calls()
    tree.query(v[even_rows(len(v), n_queries)], min(k, len(v)))
    return float(tree.get_n_calls()) / (min(len(v), n_queries) * len(v))
