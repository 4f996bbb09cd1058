"""Sums of learned metrics: scaled to one unit, and evaluated by the votes of their neighbours."""

import numpy as np
from numpy.typing import NDArray

from cayleyklein.geometry import Frame
from cayleyklein.learning._data import Rows, TrainingRows
from cayleyklein.learning._near_columns import near_columns
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.neighbors._outside import pull_inside

__all__ = ["count_votes", "distance_unit", "held_out_distances", "sum_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

UNIT_NEIGHBORS = 3
"""A metric's unit is the median distance of rows to so many nearest others."""

UNIT_ROWS = 1000
"""Rows from which the unit is taken, evenly spread over the sorted rows."""


UNIT_ENTRIES = 2**22
"""Distances held at a time while it is taken: 32 MB."""


def distance_unit(data: Rows, frame: Frame) -> float:
    """Return the median distance to the nearest few rows, by which metrics are made comparable."""
    numbers = np.unique(np.linspace(0, len(data) - 1, UNIT_ROWS).astype(int))
    k = min(UNIT_NEIGHBORS, len(data) - 1)
    found = data.each(_nearest_distances, data.take(numbers), numbers, frame, k)
    nearest = np.partition(np.concatenate(found, axis=1), k - 1, axis=1)[:, :k]
    unit = float(np.median(nearest))
    return unit if unit > 0 else 1.0


def _nearest_distances(
    rows: TrainingRows, some: TrainingRows, numbers: Index, frame: Frame, k: int
) -> Array:
    """Return the distances of some rows to their nearest others."""
    metric, places = CurvedMetric.from_frame(frame), rows.places(numbers)
    nearest, step = [], int(np.clip(UNIT_ENTRIES // len(rows), 1, 100))
    for start in range(0, len(numbers), step):
        part = slice(start, start + step)
        D = metric.pairwise(some.X[part], rows.X)
        own = np.flatnonzero(places[part] >= 0)
        D[own, places[part][own]] = np.inf
        near = min(k, len(rows))
        nearest.append(np.partition(D, near - 1, axis=1)[:, :near])
    return np.concatenate(nearest)


def held_out_distances(train: TrainingRows, held_out: Array, frame: Frame) -> Array:
    """Return distances of held-out rows to training rows, in the metric's own unit."""
    metric = CurvedMetric.from_frame(frame)
    D = metric.pairwise(pull_inside(held_out, frame), train.X)
    return np.asarray(D / distance_unit(train, frame))


def count_votes(distances: Array, labels: Index, k: int) -> Index:
    """Return the class of most of the k nearest, the smallest of equals."""
    k = min(k, distances.shape[1])
    nearest = near_columns(np.ascontiguousarray(distances), k, np.inf)[0].reshape(-1, k)
    votes = np.zeros((len(distances), int(labels.max()) + 1))
    for t in range(k):
        votes[np.arange(len(votes)), labels[nearest[:, t]]] += 1
    return np.asarray(votes.argmax(axis=1))


def sum_of(
    frames: list[Frame], units: list[float], shares: list[float]
) -> CurvedMetric | MixedMetric:
    """Return Σ share · d / unit as a metric; a single one in its own right."""
    metrics = [CurvedMetric.from_frame(frame) for frame in frames]
    if len(metrics) == 1:
        return metrics[0]
    return MixedMetric(metrics, [share / unit for share, unit in zip(shares, units, strict=True)])
