"""Samples of rows, drawn from each class by its share."""

import numpy as np

from cayleyklein._typing import Ints


def sample_sizes(counts: Ints, size: int | float | None, fewest: int) -> Ints:
    """Return the rows of each class in a sample of `size` rows, or that share, or all (None).

    >>> sample_sizes(np.array([5000, 900, 2]), 500, 4)
    array([424,  76,   2])
    """
    if size is None:
        return counts
    share = size if isinstance(size, float) else size / max(1, int(counts.sum()))
    wanted = np.maximum(np.rint(min(1.0, share) * counts), fewest)
    return np.asarray(np.minimum(counts, wanted), dtype=np.int64)


def draw(labels: Ints, size: int | float | None, fewest: int, rng: np.random.Generator) -> Ints:
    """Draw rows from each class by its share, `fewest` at least; return their sorted numbers."""
    counts = np.bincount(labels)
    wanted = sample_sizes(counts, size, fewest)
    if np.array_equal(wanted, counts):  # leaves the generator as it is
        return np.arange(len(labels))
    order = np.lexsort((rng.random(len(labels)), labels))
    own = labels[order]
    ranks = np.arange(len(order)) - np.searchsorted(own, own)
    return np.sort(order[ranks < wanted[own]])
