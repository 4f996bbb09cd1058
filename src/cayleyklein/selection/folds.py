"""Held-out rows: folds for small tables, one part for large ones."""

import numpy as np

from cayleyklein._typing import Ints
from cayleyklein.learning.rows import TrainingRows, distinct_rows

SELECT_FROM = 60  # distinct rows from which held-out ones can tell candidates apart
# Folds, and the points beyond which one held-out part is enough: the metric learned from the other
# rows is then the one that is kept.
N_FOLDS, FOLDS_UP_TO = 3, 2500
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 2000


def split_rows(
    rows: TrainingRows, rng: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Return pairs of training and held-out rows, every class spread evenly.

    Points are held out with all their rows: no row predicts its copy, and none finds only the other
    classes where it is.
    """
    first, point = distinct_rows(rows.X)
    heaviest = np.lexsort((-rows.weights, point))
    labels = rows.labels[heaviest[np.searchsorted(point[heaviest], np.arange(len(first)))]]
    part, n_held_out = spread_points(labels, rng)
    pairs = []
    for p in range(n_held_out):
        mine = part[point] == p
        pairs.append((rows.take(np.flatnonzero(~mine)), rows.take(np.flatnonzero(mine))))
    return pairs


def spread_points(labels: Ints, rng: np.random.Generator) -> tuple[Ints, int]:
    """Return the part of each point, every class spread evenly, and how many parts to hold out."""
    n = len(labels)
    few = n <= FOLDS_UP_TO
    n_parts = N_FOLDS if few else max(round(1 / HELD_OUT_SHARE), -(-n // MOST_HELD_OUT))
    part = np.empty(n, dtype=np.int64)
    shift = 0
    for label in np.unique(labels):
        some = rng.permutation(np.flatnonzero(labels == label))
        part[some] = (np.arange(len(some)) + shift) % n_parts
        shift += len(some)
    return part, N_FOLDS if few else 1
