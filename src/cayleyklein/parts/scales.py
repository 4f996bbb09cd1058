"""How dense fitted places are.

The scale of a place is its distance to the fifth nearest one. Distances divided by the root of it
keep rows in dense regions from outvoting the others.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Bools, Floats, Ints
from cayleyklein.learning.rows import place_order
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows, nearest_rows
from cayleyklein.neighbors.search import CHUNK, SearchIndex, slices

NEAR = 5  # distance of a place to its fifth nearest: its scale
SCALE_ROWS = 2000  # places among which the nearest are taken: all, or this many evenly spaced ones
LEAST_SCALE = 0.1  # of the median one: places that a metric does not separate have scale 0


def floored_scales(fifth: Floats, some: Ints | slice = slice(None)) -> Floats:
    """Return scales of at least a share of the median one, of some of the places."""
    typical = float(np.median(fifth[some]))
    return np.maximum(fifth, LEAST_SCALE * typical) if typical > 0 else np.ones_like(fifth)


@dataclass(frozen=True)
class LocalScales:
    """Scales (p,) of places, and what they become without one of the places."""

    scales: Floats
    near: Ints | None = None  # (p, 6); None for more than `SCALE_ROWS`, whose scales always stay
    distances: Floats | None = None  # of these nearest places

    @classmethod
    def among(cls, index: SearchIndex, n_jobs: int | None) -> Self:
        n = len(index)
        if n < 2:
            return cls(np.ones(n))
        if n > SCALE_ROWS:
            some = np.sort(place_order(index.X)[even_rows(n, SCALE_ROWS)])
            sample = SearchIndex(index.X[some], index.metric, "auto")
            fifth = fifth_among(sample, index.X, np.isin(np.arange(n), some), n_jobs)
            return cls(floored_scales(fifth, some))
        found = index.nearest(index.X, min(NEAR + 1, n - 1), n_jobs, own=0)
        fifth = found.distances[:, min(NEAR, n - 1) - 1]
        return cls(floored_scales(fifth), found.rows, found.distances)

    @classmethod
    def euclidean(cls, Z: Floats) -> Self:
        some = even_rows(len(Z), SCALE_ROWS)
        near, _ = nearest_rows(Z[some], Z, min(NEAR + 1, len(some)))
        fifth = fifth_nearest(near, np.isin(np.arange(len(Z)), some))
        return cls(floored_scales(fifth, some))

    @classmethod
    def on_cluster(cls, blocks: RowBlocks, metric: Metric, n_jobs: int | None) -> Self:
        some = even_rows(blocks.n_rows, SCALE_ROWS)
        sample = _distributed.held(SearchIndex(_distributed.rows_at(blocks, some), metric))
        in_sample = np.isin(np.arange(blocks.n_rows), some)
        parts = zip(blocks.blocks, np.split(in_sample, blocks.starts[1:]), strict=True)
        tasks = [_distributed.task(fifth_among, sample, X, mine, n_jobs) for X, mine in parts]
        fifth = np.concatenate(_distributed.compute(*tasks, doing="measuring how dense rows are"))
        return cls(floored_scales(fifth, some))

    def without(self, places: Ints) -> Floats:
        """Return the scales (m, p) of all places when one of them is left out."""
        p, m = len(self.scales), min(NEAR, len(self.scales) - 2)
        if m < 1:
            return np.ones((len(places), p))
        if self.near is None or self.distances is None:
            return np.broadcast_to(self.scales, (len(places), p))
        gone = (self.near[:, :m] == places[:, None, None]).any(axis=2)
        fifth = np.where(gone, self.distances[:, m], self.distances[:, m - 1])
        np.put_along_axis(fifth, places[:, None], np.nan, axis=1)
        typical = np.nanmedian(fifth, axis=1, keepdims=True)
        np.put_along_axis(fifth, places[:, None], 1.0, axis=1)
        return np.where(typical > 0, np.maximum(fifth, LEAST_SCALE * typical), 1.0)


def fifth_among(sample: SearchIndex, X: Floats, in_sample: Bools, n_jobs: int | None) -> Floats:
    """Return the distance of places X to the fifth nearest row of a sample, which some are in."""
    k, blocks = min(NEAR + 1, len(sample)), slices(len(X), CHUNK)
    found = [sample.nearest(X[block], k, n_jobs).distances for block in blocks]
    return fifth_nearest(np.concatenate(found), in_sample)


def fifth_nearest(distances: Floats, itself: Bools) -> Floats:
    """Return the distance to the fifth nearest of six; the place itself may be among them."""
    last = distances.shape[1] - 1
    return np.where(itself, distances[:, last], distances[:, max(0, last - 1)])
