"""How unlike the fitted rows a row is: its distance among their own left-out distances.

The distance of a row is the mean of those to its five nearest places, in standardised columns,
over the root of the mean scale of these places (see `parts/places.py`): what is far in a dense
region is near in a sparse one. The metric is not used: it may ignore the column in which a row is
odd.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import list_indices, warn_caller
from cayleyklein.exceptions import StrangeRowsWarning
from cayleyklein.learning.rows import GivenRows, place_order
from cayleyklein.neighbors.dask_shards import Blocks
from cayleyklein.neighbors.euclidean import even_rows, nearest_rows
from cayleyklein.neighbors.search import CHUNK, slices
from cayleyklein.parts.distances import standard_weights
from cayleyklein.parts.places import NEAR, Places, floored_scales

KNOWN_ROWS = 2000  # places to compare with: all, or this many evenly spaced ones
FEW = 256  # of them, which show of most rows that they are near


@dataclass(frozen=True)
class FamiliarRows:
    """Fitted places, and how far each of them is from the others.

    Attributes
    ----------
    rows : ndarray of shape (p, d)
        The places, in units of `unit`.
    unit : ndarray of shape (d,)
        One over the standard deviation of each column; 0 for a constant one.
    scales : ndarray of shape (p,)
        The distance of each place to its fifth nearest, floored.
    left_out : ndarray of shape (p,)
        The distances of the places, each left out, ascending.
    shares : ndarray of shape (p,)
        The weights of these places up to and with each; the last one is p / (p + 1).
    """

    rows: Floats
    unit: Floats
    scales: Floats
    left_out: Floats
    shares: Floats

    @classmethod
    def of(cls, given: GivenRows) -> Self:
        """Measure the distances between fitted rows; between some that are on a cluster."""
        if isinstance(given.X, RowBlocks):
            given = given.draw(KNOWN_ROWS, 1, np.random.default_rng(0))
        X: Floats = given.places
        found = Places.pooled(X, given.weights)
        mass, _ = found.means(np.empty((len(X), 0)), given.weights)
        unit = standard_weights(X[found.rows], mass)
        order = place_order(X[found.rows])
        some = order[even_rows(len(order), KNOWN_ROWS)]
        rows = np.ascontiguousarray(X[found.rows[some]] * unit)
        p = len(rows)
        near = min(NEAR, p - 1)
        if near < 1:
            return cls(rows, unit, np.ones(p), np.full(p, np.inf), np.full(p, 0.5))
        distances, at = without_itself(*nearest_rows(rows, rows, near + 1))
        scales = floored_scales(distances[:, -1])
        left_out = distances.mean(axis=1) / np.sqrt(scales[at].mean(axis=1))
        order = np.argsort(left_out, kind="stable")
        shares = np.cumsum(mass[some][order])
        shares *= p / (p + 1) / shares[-1]
        return cls(rows, unit, scales, left_out[order], shares)

    def distances(self, X: Floats, near: int = NEAR, some: Ints | slice = slice(None)) -> Floats:
        """Return how far rows (m, d) are from the nearest ones, among some of the places."""
        rows = self.rows[some]
        scales = self.scales[some]
        near = min(near, len(rows))
        found = [np.empty(0)]
        for block in slices(len(X), CHUNK):
            away, at = nearest_rows(rows, X[block] * self.unit, near)
            found.append(away.mean(axis=1) / np.sqrt(scales[at].mean(axis=1)))
        return np.concatenate(found)

    def quantiles(self, X: Floats) -> Floats:
        """Return the share (m,) of fitted rows that are nearer to the others; below 1."""
        away = self.distances(X)
        at = np.searchsorted(self.left_out, away, side="left")
        below = np.concatenate([[0.0], self.shares])[at]
        last = self.left_out[-1]
        # beyond all of them it still rises
        beyond = np.divide(last, away, out=np.ones_like(away), where=away > last)
        return np.asarray(np.where(away > last, 1 - (1 - self.shares[-1]) * beyond, below))

    @cached_property
    def limit(self) -> float:
        """The distance from the nearest fitted row beyond which rows are strange."""
        if len(self.rows) < 20:  # too few to say how far rows may be
            return np.inf
        # Three times the distance that 99 % of the places have, each left out, is still familiar.
        at = min(int(np.searchsorted(self.shares, 0.99)), len(self.rows) - 1)
        return 3.0 * float(self.left_out[at])

    def trust(self, X: Floats) -> Floats:
        """Return how far to trust what is said of rows (m,): 1, or less for strange rows.

        It falls with the square of the distance to the nearest fitted row.
        """
        trust = np.ones(len(X))
        if not np.isfinite(self.limit):
            return trust
        doubtful = np.arange(len(X))
        if len(self.rows) > 2 * FEW:
            # most rows are near to one of a few places, whatever its scale
            away = self.distances(X, 1, even_rows(len(self.rows), FEW))
            doubtful = np.flatnonzero(~(away <= self.limit))
        if len(doubtful):
            away = self.distances(X[doubtful], 1)
            ratio = np.divide(self.limit, away, out=np.ones_like(away), where=away > self.limit)
            trust[doubtful] = ratio**2
        return trust


def without_itself(distances: Floats, rows: Ints) -> tuple[Floats, Ints]:
    """Drop each row from its own nearest rows; of rows equally near, the last."""
    n, k = rows.shape
    own = rows == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    kept = ~own
    return distances[kept].reshape(n, k - 1), rows[kept].reshape(n, k - 1)


def drawn_to_shares(shares: Floats, trust: Floats, prior: Floats) -> Floats:
    """Return class probabilities (m, C) that fall back to the class shares as trust falls."""
    strange = np.flatnonzero(trust < 1)
    if len(strange):
        shares = shares.copy()
        kept = trust[strange, None]
        shares[strange] = kept * shares[strange] + (1 - kept) * prior
    return shares


def drawn_lazily(familiar: FamiliarRows, X: Blocks, shares: Any, prior: Floats) -> Any:
    """Return lazy class probabilities (m, C) of rows on a cluster, that fall back likewise."""
    trust = _distributed.held(familiar.trust)  # once for all blocks
    tasks = [(trust(block),) for block in X.tasks]
    known = Blocks(tasks, X.lengths).lazy(((), np.float64))[0]
    return known[:, None] * shares + (1 - known)[:, None] * prior


def warn_of_strangers(trust: Floats, *, drawn: bool) -> None:
    """Warn once of all rows that are unlike any fitted row, and of what is `drawn` to shares."""
    strange = np.flatnonzero(trust < 0.5)
    if len(strange):
        of = f"{len(strange):,} of {len(trust):,} rows"
        are = "is" if len(strange) == 1 else "are"
        effect = "; their probabilities are drawn to the class shares" if drawn else ""
        warn_caller(
            f"{of} {are} unlike any fitted row, at {list_indices(strange)}{effect}.",
            StrangeRowsWarning,
        )
