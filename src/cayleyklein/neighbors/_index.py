"""Fitted rows with what searches them: all of them, or one shard of rows spread over workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import check_memory
from cayleyklein.neighbors._engines import Algorithm, build
from cayleyklein.neighbors._refine import Engine, find_nearest, find_within
from cayleyklein.neighbors._rows import Metric, Queries, References, thread_pool

__all__ = ["Ranked", "SearchIndex", "as_ragged", "merge"]

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

CHUNK = 4096
"""Queries at a time."""

PAIR_BYTES = 16
"""A row's number and its distance."""

PROBES = 16
"""Queries whose neighbours within a radius are counted first, where all could be too many."""

PROBED_FROM = 1e9
"""Bytes that all pairs would take from which on that is done."""


class Ranked(NamedTuple):
    """The nearest rows of m queries, in order.

    Parameters
    ----------
    values : ndarray of shape (m, k)
        What ranks them: the distance, or, for a query outside that has none, -f.
    rows : ndarray of shape (m, k)
        -1, with the value inf, where there are no more.
    inside : ndarray of shape (m,)
        The queries that have distances.
    payload : ndarray of shape (m, k, ...), optional
        What is known of the rows, such as their labels.
    """

    values: Floats
    rows: Index
    inside: NDArray[np.bool_]
    payload: NDArray[Any] | None = None

    @property
    def distances(self) -> Floats:
        """The distances, inf for queries outside."""
        return np.where(self.inside[:, None], self.values, np.inf)

    def distances_and_rows(self) -> tuple[Floats, Index]:
        """Return the distances and the rows."""
        return self.distances, self.rows

    def only_rows(self) -> tuple[Index]:
        """Return the rows."""
        return (self.rows,)


class SearchIndex:
    """References and the engine on them.

    Parameters
    ----------
    references : References
    engine : Engine or None
    name : str
        Of the algorithm.
    recall : float
    first_row : int
        Added to the numbers of rows: where this shard begins among all rows.
    payload : ndarray of shape (n, ...), optional
        What is known of each row.
    """

    def __init__(
        self,
        references: References,
        engine: Engine | None,
        name: str,
        recall: float,
        first_row: int = 0,
        payload: NDArray[Any] | None = None,
    ) -> None:
        self.references, self.engine, self.name, self.recall = references, engine, name, recall
        self.first_row, self.payload = first_row, payload

    @classmethod
    def build(
        cls,
        X: Floats,
        metric: Metric,
        algorithm: Algorithm,
        n_jobs: int | None,
        first_row: int = 0,
        payload: NDArray[Any] | None = None,
    ) -> SearchIndex:
        """Check and index rows."""
        references = References(X, metric, first_row)
        with thread_pool(n_jobs) as pool:
            return cls(references, *build(algorithm, references, pool), first_row, payload)

    def __len__(self) -> int:
        return len(self.references)

    @property
    def X(self) -> Floats:
        """The fitted rows."""
        return self.references.X

    def __sizeof__(self) -> int:
        """Count the rows and, as large, their lift: a scheduler must know that moving it costs."""
        extra = 0 if self.payload is None else self.payload.nbytes
        return 2 * self.references.X.nbytes + extra

    @property
    def payload_shape(self) -> tuple[int, ...]:
        """The shape of what is known of one row."""
        return () if self.payload is None else self.payload.shape[1:]

    def appended(
        self, X: Floats, payload: NDArray[Any] | None, algorithm: Algorithm, n_jobs: int | None
    ) -> SearchIndex:
        """Return these rows followed by others, by the same engine where it can grow."""
        references = self.references.appended(X)
        if self.payload is not None and payload is not None:
            payload = np.concatenate([self.payload, payload])
        engine = None if self.engine is None else self.engine.appended(references)
        if engine is not None:
            return SearchIndex(references, engine, self.name, self.recall, payload=payload)
        with thread_pool(n_jobs) as pool:
            return SearchIndex(references, *build(algorithm, references, pool), payload=payload)

    def nearest(self, Q: Floats, k: int, n_jobs: int | None, own: bool = False) -> Ranked:
        """Return the k nearest rows, or all where there are fewer.

        Parameters
        ----------
        Q : ndarray of shape (m, d)
        k : int
        n_jobs : int or None
        own : bool
            Whether the queries are the rows themselves, none its own neighbour.
        """
        k = min(k, len(self))
        check_memory(
            PAIR_BYTES * len(Q) * k,
            f"{k:,} neighbours of each of {len(Q):,} rows",
            "Ask for some rows at a time, or for fewer neighbours.",
        )
        values, rows = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.intp)
        inside = np.empty(len(Q), dtype=bool)
        with thread_pool(n_jobs) as pool:
            for at, some in self._chunks(Q, own, CHUNK):
                values[at], rows[at] = find_nearest(self.engine, self.references, some, k, pool)
                inside[at] = some.inside
        known = None if self.payload is None else self.payload[rows]
        return Ranked(values, np.where(rows < 0, -1, rows + self.first_row), inside, known)

    def within(
        self, Q: Floats, radius: float, n_jobs: int | None, own: bool = False
    ) -> Iterator[tuple[int, Index, Index, Floats]]:
        """Yield for chunks of queries how many they are, and pairs (query, row) with distances."""
        size = self._check_radius(Q, radius, own)
        with thread_pool(n_jobs) as pool:
            for _, some in self._chunks(Q, own, size):
                yield len(some), *find_within(self.engine, self.references, some, radius, pool)

    def _check_radius(self, Q: Floats, radius: float, own: bool) -> int:
        """Refuse a radius with more neighbours than memory holds; return queries at a time.

        What there will be is guessed from a few queries, spread evenly.
        """
        if PAIR_BYTES * len(Q) * len(self) < PROBED_FROM:
            return CHUNK
        some = np.unique(np.linspace(0, len(Q) - 1, PROBES).astype(np.intp))
        count = 0
        for row in some:
            mine = np.array([row]) if own else None
            one = Queries(Q[row : row + 1], self.references.parts, mine)
            count += len(find_within(self.engine, self.references, one, radius, None)[0])
        each = count / len(some)
        check_memory(
            PAIR_BYTES * each * len(Q),
            f"The neighbours within {radius:g}, about {each:,.0f} of each of {len(Q):,} rows,",
            "Take a smaller radius, or some rows at a time.",
        )
        return int(np.clip(PROBED_FROM / PAIR_BYTES / 8 / max(each, 1.0), 1, CHUNK))

    def _chunks(self, Q: Floats, own: bool, size: int) -> Iterator[tuple[slice, Queries]]:
        """Yield queries a chunk at a time: only its own are placed in the frames of the metric."""
        for start in range(0, len(Q), size):
            chunk = slice(start, min(start + size, len(Q)))
            mine = np.arange(chunk.start, chunk.stop) if own else None
            yield chunk, Queries(Q[chunk], self.references.parts, mine)


def merge(found: list[Ranked], k: int) -> Ranked:
    """Return the k nearest of what several shards found, equally near ones in the order of rows.

    Examples
    --------
    >>> one, two = np.array([[0.5, 2.0]]), np.array([[0.5, np.inf]])
    >>> yes = np.array([True])
    >>> shards = [Ranked(one, np.array([[7, 9]]), yes), Ranked(two, np.array([[3, -1]]), yes)]
    >>> merge(shards, 3).rows
    array([[3, 7, 9]])
    """
    if len(found) == 1:
        return found[0]
    values = np.concatenate([some.values for some in found], axis=1)
    rows = np.concatenate([some.rows for some in found], axis=1)
    order = np.lexsort((rows, rows < 0, values))[:, :k]
    payload = None
    if found[0].payload is not None:
        known = np.concatenate([some.payload for some in found if some.payload is not None], axis=1)
        payload = known[np.arange(len(known))[:, None], order]
    values, rows = (np.take_along_axis(array, order, axis=1) for array in (values, rows))
    return Ranked(values, rows, found[0].inside, payload)


def as_ragged(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Return an array of arrays, also where all have one length."""
    ragged = np.empty(len(arrays), dtype=object)
    ragged[:] = arrays
    return ragged
