"""Search by a product metric: Euclidean neighbours of its coordinates, by scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.neighbors import NearestNeighbors

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein._validation import check_memory
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import ProductMetric
from cayleyklein.neighbors._engines import Algorithm
from cayleyklein.neighbors._index import CHUNK, PAIR_BYTES, Ranked
from cayleyklein.neighbors._rows import first_k, thread_pool

__all__ = ["EmbeddedIndex"]


ALGORITHMS = {"auto": "auto", "brute": "brute", "tree": "kd_tree"}

SPARE = 4
"""Candidates beyond k that are measured again from differences, since a matrix product rounds."""

FAR = 100.0
"""Squared distance of the middle of the coordinates from 0, over their variance, that is far."""

GATHERED = 2**22
"""Coordinates gathered at a time for that: 32 MB."""


class EmbeddedIndex:
    """Fitted rows in the Euclidean coordinates of a product metric.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    metric : ProductMetric
    algorithm : {"auto", "brute", "tree"}
    first_row : int
        Added to the numbers of rows: where this shard begins among all rows.
    payload : ndarray of shape (n, ...), optional
        What is known of each row.
    """

    recall = 1.0

    def __init__(
        self,
        X: Floats,
        metric: ProductMetric,
        algorithm: Algorithm,
        first_row: int = 0,
        payload: AnyArray | None = None,
    ) -> None:
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise InvalidInputError(
                f"Got algorithm={algorithm!r} for a ProductMetric, which is Euclidean after its "
                f"map; expected 'auto', 'brute' or 'tree'."
            )
        self.X, self.metric, self.algorithm = X, metric, algorithm
        self.first_row, self.payload = first_row, payload
        self._Z = np.ascontiguousarray(metric.embed(X))
        middle = self._Z.mean(axis=0)
        spread = float(self._Z.var(axis=0).sum())
        # Products of long vectors round: coordinates far from 0 are searched from their middle.
        self._middle = middle if float(middle @ middle) > FAR * spread else 0.0 * middle
        searched = self._Z - self._middle if self._middle.any() else self._Z
        self._search = NearestNeighbors(algorithm=ALGORITHMS[algorithm]).fit(searched)
        self.name = {"brute": "brute"}.get(self._search._fit_method, "tree")

    def __len__(self) -> int:
        return len(self.X)

    def __sizeof__(self) -> int:
        """Count the rows and their coordinates: a scheduler must know that moving them costs."""
        extra = 0 if self.payload is None else self.payload.nbytes
        return int(self.X.nbytes + self._Z.nbytes + extra)

    @property
    def payload_shape(self) -> tuple[int, ...]:
        """The shape of what is known of one row."""
        return () if self.payload is None else self.payload.shape[1:]

    def appended(
        self, X: Floats, payload: AnyArray | None, algorithm: Algorithm, n_jobs: int | None
    ) -> EmbeddedIndex:
        """Return these rows followed by others."""
        if self.payload is not None and payload is not None:
            payload = np.concatenate([self.payload, payload])
        rows = np.concatenate([self.X, X])
        return EmbeddedIndex(rows, self.metric, algorithm, self.first_row, payload)

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
        width = min(len(self), k + SPARE + own)
        values, rows = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.intp)
        with thread_pool(n_jobs):
            for start in range(0, len(Q), CHUNK):
                at = slice(start, min(start + CHUNK, len(Q)))
                q = self._coordinates(Q[at])
                found = self._search.kneighbors(q - self._middle, width, return_distance=False)
                each = np.repeat(np.arange(len(q)), width)
                columns = found.ravel()
                distances = self._measure(q, each, columns)
                if own:
                    distances[columns == start + each] = np.inf
                values[at], rows[at] = first_k(each, columns, distances, len(q), k)
        if own and k == len(self):  # no row is its own neighbour
            rows[np.isinf(values)] = -1
        known = None if self.payload is None else self.payload[rows]
        inside = np.ones(len(Q), dtype=bool)
        return Ranked(values, np.where(rows < 0, -1, rows + self.first_row), inside, known)

    def within(
        self, Q: Floats, radius: float, n_jobs: int | None, own: bool = False
    ) -> Iterator[tuple[int, Ints, Ints, Floats]]:
        """Yield for chunks of queries how many they are, and pairs (query, row) with distances."""
        wide = radius * (1 + 1e-9) + 1e-7 * float(np.abs(self._Z).max())
        with thread_pool(n_jobs):
            for start in range(0, len(Q), CHUNK // 8):
                q = self._coordinates(Q[start : start + CHUNK // 8])
                found = self._search.radius_neighbors(q - self._middle, wide, return_distance=False)
                each = np.repeat(np.arange(len(q)), [len(some) for some in found])
                columns = np.concatenate([np.sort(some) for some in found]).astype(np.intp)
                distances = self._measure(q, each, columns)
                kept = distances <= radius
                if own:
                    kept &= columns != start + each
                yield len(q), each[kept], columns[kept], distances[kept]

    def _coordinates(self, Q: Floats) -> Floats:
        return np.ascontiguousarray(self.metric.embed(Q))

    def _measure(self, q: Floats, each: Ints, columns: Ints) -> Floats:
        """Return the distances of pairs, from differences of coordinates."""
        distances = np.empty(len(each))
        step = max(1, GATHERED // self._Z.shape[1])
        for start in range(0, len(each), step):
            some = slice(start, start + step)
            apart = q[each[some]] - self._Z[columns[some]]
            distances[some] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distances
