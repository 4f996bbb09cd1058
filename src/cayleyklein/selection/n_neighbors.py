"""Which numbers of neighbours are tried, and which is the best on held-out rows."""

from __future__ import annotations

import numpy as np

from cayleyklein._typing import Floats

NEIGHBORS = (3, 5, 9, 15, 25, 40, 60, 100)
"""Numbers of voting neighbours that are tried."""

LABEL_NEIGHBORS, NUMBER_NEIGHBORS = 15, 9
"""Neighbours that vote, or are averaged, where held-out rows were not asked."""


def grid_for(n_found: int) -> tuple[int, ...]:
    """Return the numbers to try where `n_found` neighbours are known, one more than vote."""
    return tuple(max(1, min(k, n_found - 1)) for k in NEIGHBORS)


def best_losses(scores: Floats, share: Floats) -> tuple[int, Floats]:
    """Return the place in the grid of the best number, and the losses (m,) with it.

    `scores` are (n_scores, n_numbers, m), the first of them the loss, and `share` (m,) the weight
    of each held-out row.
    """
    best = int(np.argmin(scores[0] @ share))
    return best, scores[0, best]
