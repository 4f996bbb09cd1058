"""From candidates to neighbours: measure them exactly, and ask for more where that is not enough.

An engine answers a query with some rows and a *floor* that no other row ranks below. When k of the
rows, measured by the exact kernel, are below the floor, they are the k nearest, whatever the
engine rounded; otherwise it is asked for more, and in the end every row is measured.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.neighbors._rows import Queries, References
from cayleyklein.neighbors._scan import scan_nearest, scan_within

__all__ = ["Engine", "find_nearest", "find_within"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SPARE = 4
"""Candidates asked for beyond k, so that rounding seldom leaves a query in doubt."""

GROWTH = 4
"""How many times as many candidates the queries in doubt are given."""


class Engine(Protocol):
    """What finds candidates."""

    def candidates(self, queries: Queries, k: int, pool: Threads | None) -> tuple[Index, Array]:
        """Return k rows (-1 for none) of each query, and a value that no other row ranks below."""

    def precise(self) -> "Engine":
        """Return the engine that is asked for more when candidates were not enough."""

    def within(
        self, queries: Queries, radius: float, pool: Threads | None
    ) -> tuple[Index, Index] | None:
        """Return the pairs within a radius and perhaps more, or None to have every row measured."""

    def appended(self, references: References) -> "Engine | None":
        """Return an engine that has the rows at the end of the references too, if it can grow."""


def find_nearest(
    engine: Engine | None, references: References, queries: Queries, k: int, pool: Threads | None
) -> tuple[Array, Index]:
    """Return rank values and rows of the k nearest; without an engine, by measuring every row."""
    if engine is None:
        return scan_nearest(references, queries, k, pool)
    n, wanted = len(references), k + SPARE + (queries.own is not None)
    nearest, index = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)
    doubtful = np.arange(len(queries))
    while len(doubtful) and wanted < n:
        some = queries.take(doubtful)
        candidates, floor = engine.candidates(some, wanted, pool)
        best, found = measured(references, some, candidates, k, pool)
        nearest[doubtful], index[doubtful] = best, found
        doubtful = doubtful[~(best[:, -1] < floor)]
        if wanted > GROWTH * GROWTH * k:
            break
        engine, wanted = engine.precise(), wanted * GROWTH
    if len(doubtful):
        some = queries.take(doubtful)
        nearest[doubtful], index[doubtful] = scan_nearest(references, some, k, pool)
    return nearest, index


def measured(
    references: References, queries: Queries, candidates: Index, k: int, pool: Threads | None
) -> tuple[Array, Index]:
    """Return the k best of each query's candidates."""
    m, width = candidates.shape
    if queries.own is not None:
        candidates = np.where(candidates == queries.own[:, None], -1, candidates)
    values = references.measure(queries, np.repeat(np.arange(m), width), candidates.ravel(), pool)
    values = values.reshape(m, width)
    order = np.lexsort((candidates, values))[:, :k]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(candidates, order, axis=1)


def find_within(
    engine: Engine | None,
    references: References,
    queries: Queries,
    radius: float,
    pool: Threads | None,
) -> tuple[Index, Index, Array]:
    """Return the pairs (query, row) within a radius, in their order, and the distances."""
    pairs = None if engine is None else engine.within(queries, radius, pool)
    rows, columns = scan_within(references, queries, radius) if pairs is None else pairs
    distances = references.measure(queries, rows, columns, pool)
    kept = (distances <= radius) & queries.inside[rows]
    if queries.own is not None:
        kept &= columns != queries.own[rows]
    rows, columns, distances = rows[kept], columns[kept], distances[kept]
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], distances[order]
