"""The local scale of a row: how far its nearest few are."""

from __future__ import annotations

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.metrics import Metric
from cayleyklein.neighbors._nearest import CurvedNeighbors
from cayleyklein.neighbors._votes import NEAR, as_scales

__all__ = ["LocalScales"]

SCALE_ROWS = 4000
"""Rows among which the scales of "local" votes are taken: all, or so many evenly spaced ones."""


class LocalScales:
    """Distances of rows to their fifth nearest, among all fitted rows or evenly spaced ones.

    Parameters
    ----------
    rows : ndarray of shape (m, d)
        The fitted rows of these numbers.
    numbers : ndarray of shape (m,)
        Ascending.
    metric, n_jobs : see CurvedNeighbors
    """

    def __init__(self, rows: Floats, numbers: Ints, metric: Metric, n_jobs: int | None) -> None:
        self.numbers = numbers
        self.search = CurvedNeighbors(min(NEAR + 1, len(rows)), metric=metric, n_jobs=n_jobs)
        self.search.fit(rows)
        self.typical = float(np.median(self._measured(rows, numbers)))

    @staticmethod
    def numbers_of(n_rows: int) -> Ints:
        """Return the numbers of the rows among which distances are taken."""
        return np.unique(np.linspace(0, n_rows - 1, SCALE_ROWS).astype(np.intp))

    def of(self, rows: Floats, numbers: Ints) -> Floats:
        """Return the scales of rows of given numbers."""
        return as_scales(self._measured(rows, numbers), self.typical)

    def _measured(self, rows: Floats, numbers: Ints) -> Floats:
        distances, _ = self.search.kneighbors(rows)
        last = distances.shape[1] - 1
        itself = np.isin(numbers, self.numbers)  # is the nearest of its own neighbours
        return np.where(itself, distances[:, last], distances[:, max(0, last - 1)])
