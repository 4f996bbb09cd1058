"""The fitted rows and the queries of a search, placed in the frames of a metric."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cayleyklein._estimators import as_jobs
from cayleyklein._threads import Threads
from cayleyklein.metrics import CurvedMetric, Metric, terms_of
from cayleyklein.neighbors._kernels import add_distances, affine_ranks, coordinates
from cayleyklein.neighbors._outside import pull_inside, refuse_outside

__all__ = [
    "EPS",
    "STRIP",
    "TINY",
    "Metric",
    "Part",
    "Place",
    "Queries",
    "References",
    "compiled_view",
    "first_k",
    "form_values",
    "in_tasks",
    "parts_of",
    "thread_pool",
    "threads_of",
    "units",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

STRIP = 16384
"""Rows placed or lifted at a time, so that what is needed on the way stays small."""

WIDE = 64 * 64
"""Entries of a factor from which queries are placed by a matrix product, which is faster."""

PAIRS_PER_TASK = 4096
"""Pairs a thread measures at a time; it decides nothing but the speed."""

IMPORTED_BY = os.getpid()

EPS = float(np.finfo(np.float64).eps)

TINY = float(np.finfo(np.float64).tiny)
"""Terms below it keep fewer digits: their rounding is at least EPS · TINY."""


def units(terms: int, unit: float = EPS) -> float:
    """Return a bound of the relative rounding of a sum of so many products, and a few more."""
    return (terms + 8) * unit


class Part(NamedTuple):
    """One term of a metric: weight · distance in a metric."""

    metric: CurvedMetric
    weight: float


def parts_of(metric: Metric) -> list[Part]:
    """Return the terms of a metric whose weight is not 0."""
    return [Part(term, weight) for term, weight in terms_of(metric) if weight]


class Place(NamedTuple):
    """Queries in one metric: the points themselves, z = L(x - μ) and S(x, x)."""

    x: Array
    z: Array
    s: Array

    @classmethod
    def of(cls, x: Array, metric: CurvedMetric) -> "Place":
        """Place points that may lie outside the domain."""
        if metric.factor.size > WIDE:  # a matrix product, whose last bits depend on the batch
            z = metric._coordinates(x)
        else:
            z = coordinates(*map(compiled_view, (x, metric.factor, metric.center)))
        return cls(x, z, metric._form_values(x, z, "X"))


def place_rows(X: Array, metric: CurvedMetric) -> tuple[Array, Array]:
    """Return z and S(x, x) of fitted rows, the same to the last bit for rows that are equal."""
    z = coordinates(*map(compiled_view, (X, metric.factor, metric.center)))
    strips = [slice(start, start + STRIP) for start in range(0, len(X), STRIP)]
    s = [np.asarray(metric._form_values(X[at], z[at], "X")) for at in strips]
    return z, np.concatenate(s)


def form_values(X: Array, parts: list[Part]) -> list[Array]:
    """Return S(x, x) of rows in each metric; positive inside the domain."""
    strips = [X[start : start + STRIP] for start in range(0, len(X), STRIP)]
    return [np.concatenate([Place.of(strip, part.metric).s for strip in strips]) for part in parts]


class Queries:
    """Rows whose neighbours are asked for.

    Parameters
    ----------
    Q : ndarray of shape (m, d)
    parts : list of Part
    own : ndarray of shape (m,), optional
        The fitted row that each query is, and that is not its own neighbour.
    """

    def __init__(self, Q: Array, parts: list[Part], own: Index | None = None) -> None:
        self.Q, self.parts, self.own = Q, parts, own
        placed = [Place.of(Q, part.metric) for part in parts]
        self.inside: NDArray[np.bool_] = np.all([place.s > 0 for place in placed], axis=0)
        if len(parts) > 1 and not self.inside.all():
            placed = [Place.of(pull_inside(Q, part.metric), part.metric) for part in parts]
        self.placed = placed

    def __len__(self) -> int:
        return len(self.Q)

    @property
    def by_affine_rank(self) -> NDArray[np.bool_]:
        """The queries whose neighbours are ranked by f, and not by a distance."""
        return ~self.inside if len(self.parts) == 1 else np.zeros(len(self.Q), dtype=bool)

    def take(self, rows: Index | slice) -> "Queries":
        """Return some of the queries."""
        some = object.__new__(Queries)
        some.Q, some.parts = self.Q[rows], self.parts
        some.own = None if self.own is None else self.own[rows]
        some.inside = self.inside[rows]
        some.placed = [Place(*(array[rows] for array in place)) for place in self.placed]
        return some

    def chunks(self, size: int) -> Iterator[tuple[slice, "Queries"]]:
        """Cut the queries into chunks."""
        for start in range(0, len(self), size):
            chunk = slice(start, min(start + size, len(self)))
            yield chunk, self.take(chunk)


class References:
    """The fitted rows: checked, contiguous, and with S(x, x) in every metric."""

    def __init__(self, X: Array, metric: Metric, first_row: int = 0) -> None:
        self.X = np.ascontiguousarray(X)
        self.metric, self.parts = metric, parts_of(metric)
        placed = [place_rows(self.X, part.metric) for part in self.parts]
        self.z, self.s = [z for z, _ in placed], [s for _, s in placed]
        refuse_outside(
            np.all([s > 0 for s in self.s], axis=0),
            "X",
            "drop or move them, or shrink the factor of the metric",
            first_row,
        )

    def __len__(self) -> int:
        return len(self.X)

    def appended(self, X: Array) -> "References":
        """Return these rows followed by others."""
        added = References(X, self.metric)
        added.X = np.concatenate([self.X, added.X])
        added.s = [np.concatenate(pair) for pair in zip(self.s, added.s, strict=True)]
        added.z = [np.concatenate(pair) for pair in zip(self.z, added.z, strict=True)]
        return added

    def blur(self, queries: Queries) -> Array:
        """Return how far the distances of each query may be off where differences cancel in L."""
        x_0 = self.X[0]
        span = np.maximum(self.X.max(axis=0) - x_0, x_0 - self.X.min(axis=0))
        total = np.zeros(len(queries))
        for (metric, weight), place in zip(self.parts, queries.placed, strict=True):
            terms = (np.abs(place.x - x_0) + span) @ np.abs(metric.factor.T)
            size = units(metric.dimension) * np.sqrt(np.einsum("ij,ij->i", terms, terms))
            if metric.curvature < 0:
                size /= np.sqrt(np.where(place.s > 0, place.s, 1.0))
            total += 2 * weight * size
        return total

    def measure(self, queries: Queries, rows: Index, columns: Index, pool: Threads | None) -> Array:
        """Return what ranks pairs of a query and a fitted row: their distance, or -f outside.

        A pair with column -1 ranks last.
        """
        values = np.zeros(len(rows))
        X, form = compiled_view(self.X), [compiled_view(s) for s in self.s]

        def run(begin: int, end: int) -> None:
            for part, place, z, s in zip(self.parts, queries.placed, self.z, form, strict=True):
                metric, weight = part
                x, z_q, s_q, z_x, factor = map(compiled_view, (*place, z, metric.factor))
                add_distances(
                    x, z_q, s_q, X, z_x, s, factor, metric.curvature, weight,
                    rows, columns, begin, end, values,
                )  # fmt: skip

        in_tasks(run, len(rows), PAIRS_PER_TASK, pool)
        ranked = np.flatnonzero(queries.by_affine_rank[rows])
        if len(ranked):
            metric, place = self.parts[0].metric, queries.placed[0]
            z, factor, center = map(compiled_view, (place.z, metric.factor, metric.center))
            values[ranked] = affine_ranks(
                z, X, form[0], factor, center, rows[ranked], columns[ranked]
            )
        return values


def compiled_view(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous view that cannot be written to: one type, and so one compilation."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def first_k(rows: Index, columns: Index, values: Array, m: int, k: int) -> tuple[Array, Index]:
    """Return for each of m rows its k smallest values in order, equal ones by column.

    Rows that have fewer are filled up with inf and -1.
    """
    order = np.lexsort((columns, values, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = rank < k
    nearest, index = np.full((m, k), np.inf), np.full((m, k), -1, dtype=np.intp)
    nearest[rows[kept], rank[kept]] = values[kept]
    index[rows[kept], rank[kept]] = columns[kept]
    return nearest, index


@contextmanager
def thread_pool(n_jobs: int | None) -> Iterator[Threads | None]:
    """Give a pool of n_jobs threads, or none for a single one.

    scikit-learn and faiss have threads of their own, by OpenMP, which a forked process waits for
    although it has none of them: there they must do with one.
    """
    threads = as_jobs(n_jobs)
    forked = os.getpid() != IMPORTED_BY
    with (
        threadpool_limits(1, user_api="openmp") if forked else nullcontext(),
        Threads(threads) if threads > 1 else nullcontext() as pool,
    ):
        yield pool


def threads_of(pool: Threads | None) -> int:
    """Return the number of threads of a pool, for libraries that start their own."""
    return 1 if pool is None else pool.n_threads


def in_tasks(run: Callable[[int, int], Any], n: int, size: int, pool: Threads | None) -> None:
    """Call run(begin, end) over pieces of 0…n, in a pool if there is one."""
    if pool is None or n <= size:
        run(0, n)
        return
    pool.map(run, range(0, n, size), [min(b + size, n) for b in range(0, n, size)])
