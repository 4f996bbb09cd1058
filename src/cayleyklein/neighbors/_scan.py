"""Every distance of every query, by blocks: the plain search that all others are held against.

The blocks of `metrics._pairwise` are right to a few parts in 10¹²; what they leave in doubt is
measured again pair by pair.
"""

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.geometry import proximity_planes
from cayleyklein.neighbors._rows import Queries, References, first_k

__all__ = ["scan_nearest", "scan_within"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

DOUBT = 1e-9
"""How far, relatively, a distance of a block may be off: five hundred times what was ever seen."""

BLOCK_ROWS, BLOCK_COLUMNS = 256, 8192
"""Queries and fitted rows of a block: 16 MB of distances, and as much again to rank them."""


def block_values(references: References, queries: Queries, columns: slice) -> Array:
    """Return what ranks a block of pairs; inf for a query that is the fitted row itself."""
    X = references.X[columns]
    outside = queries.by_affine_rank
    values = np.zeros((len(queries), len(X)))
    for part, place in zip(references.parts, queries.placed, strict=True):
        x = np.where(outside[:, None], part.metric.center, place.x)
        values += part.weight * part.metric.pairwise(x, X)
    if outside.any():
        planes = proximity_planes(X, references.parts[0].metric)
        values[outside] = -(queries.Q[outside] @ planes.normal.T + planes.offset)
    if queries.own is not None:
        mine = np.flatnonzero((queries.own >= columns.start) & (queries.own < columns.stop))
        values[mine, queries.own[mine] - columns.start] = np.inf
    return values


def column_blocks(references: References) -> list[slice]:
    """Cut the fitted rows into blocks."""
    n = len(references)
    return [slice(b, min(b + BLOCK_COLUMNS, n)) for b in range(0, n, BLOCK_COLUMNS)]


def scan_nearest(
    references: References, queries: Queries, k: int, pool: Threads | None
) -> tuple[Array, Index]:
    """Return the rank values and the indices of the k nearest rows of each query."""
    m = len(queries)
    nearest, index = np.empty((m, k)), np.empty((m, k), dtype=np.intp)
    for chunk, some in queries.chunks(BLOCK_ROWS):
        blur, ranked = references.blur(some), some.by_affine_rank
        best, found = np.full((len(some), k), np.inf), np.full((len(some), k), -1, dtype=np.intp)
        for columns in column_blocks(references):
            values = block_values(references, some, columns)
            limit = best[:, -1]
            if values.shape[1] > k:
                limit = np.minimum(limit, np.partition(values, k - 1, axis=1)[:, k - 1])
            # f of a query outside may be the small difference of large terms
            scale = np.where(
                ranked, np.abs(values).max(axis=1, where=values < np.inf, initial=0), limit
            )
            close = values <= (limit + DOUBT * scale + blur)[:, None]
            rows, hits = np.nonzero(close & (values < np.inf))
            hits += columns.start
            exact = references.measure(some, rows, hits, pool)
            rows = np.concatenate([np.repeat(np.arange(len(some)), k), rows])
            hits = np.concatenate([found.ravel(), hits])
            best, found = first_k(rows, hits, np.concatenate([best.ravel(), exact]), len(some), k)
        nearest[chunk], index[chunk] = best, found
    return nearest, index


def scan_within(references: References, queries: Queries, radius: float) -> tuple[Index, Index]:
    """Return the pairs (query, row) within a radius, and perhaps a few more."""
    rows: list[Index] = []
    columns: list[Index] = []
    for chunk, some in queries.chunks(BLOCK_ROWS):
        limit = radius * (1 + DOUBT) + references.blur(some)
        limit[~some.inside] = -np.inf
        for block in column_blocks(references):
            values = block_values(references, some, block)
            row, column = np.nonzero(values <= limit[:, None])
            rows.append(row + chunk.start)
            columns.append(column + block.start)
    return np.concatenate(rows), np.concatenate(columns)
