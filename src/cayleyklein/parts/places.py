"""Distinct rows: equal rows are one place, which has the weight and the mean target of all of them.

In a table of a few categories many rows are equal, and the k nearest rows are an arbitrary choice
among equally near ones. The k nearest places are not. Rows of weight 0 are at no place.

Whether a row that is there again is evidence, is a question about the table. In a table of a few
categories it is: another draw had the same values, and perhaps another target. Rows that were
copied are not, and a table that is given twice must be the table given once. Copies are taken as
evidence if most rows share their place with other targets, see `count_rows`.

The scale of a place is its distance to the fifth nearest one. Distances divided by the root of it
keep rows in dense regions from outvoting the others.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from cayleyklein import _distributed
from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.learning.rows import GivenRows, class_order, distinct_rows, place_order
from cayleyklein.metrics import Metric
from cayleyklein.neighbors.euclidean import even_rows, nearest_rows
from cayleyklein.neighbors.search import CHUNK, MeasuredRows, Ranked, SearchIndex, slices

MOST_COPIES = 100  # mean number of rows that weights may stand for
# Distance of a place to its fifth nearest: its scale. On six small tables half or double change log
# loss, or 1 - R², of kernels by -0.002 ± 0.001 and -0.001 ± 0.002, of neighbours by
# +0.006 ± 0.008 and +0.005 ± 0.004, and the least scale changes nothing
# (docs/evidence/constants.txt).
NEAR = 5
SCALE_ROWS = 2000  # places among which the nearest are taken: all, or this many evenly spaced ones
LEAST_SCALE = 0.1  # of the median one: places that a metric does not separate have scale 0


class Places(NamedTuple):
    """Distinct rows of positive weight.

    Attributes
    ----------
    rows : ndarray of shape (p,)
        The first row at each place.
    of_rows : ndarray of shape (n,)
        The place of each row; -1 for rows of weight 0, which have none.
    """

    rows: Ints
    of_rows: Ints

    @classmethod
    def pooled(cls, X: Floats, weights: Floats, *, ordered: bool = False) -> Self:
        """Pool equal rows of positive weight.

        Places are `ordered` as `place_order` says, or else as their first rows are.
        """
        kept = weights > 0
        some = X if kept.all() else X[kept]
        first, point = distinct_rows(some)
        if ordered:
            order = place_order(some[first])
            first = first[order]
            point = np.argsort(order)[point]
        of_rows = np.full(len(X), -1)
        of_rows[kept] = point
        return cls(np.flatnonzero(kept)[first], of_rows)

    def means(self, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weight (p,) and the mean target (p, t) of each place."""
        kept = self.of_rows >= 0
        at, weights = self.of_rows[kept], weights[kept]
        total: Floats = np.bincount(at, weights=weights, minlength=len(self.rows)).astype(float)
        share = np.divide(weights, total[at], out=np.ones_like(weights), where=total[at] > 0)
        mean = np.zeros((len(total), targets.shape[1]))
        np.add.at(mean, at, share[:, None] * targets[kept])
        return total, mean


class LeftOut(NamedTuple):
    """The rows (m,) that queries leave out: their numbers, places, and whether these vanish."""

    rows: Ints
    places: Ints
    vanish: Bools

    @classmethod
    def of(cls, places: Places, rows: Ints) -> Self:
        """Leave out given rows; a place vanishes with its only row."""
        count = np.bincount(places.of_rows[places.of_rows >= 0], minlength=len(places.rows))
        at = places.of_rows[rows]
        return cls(rows, at, (at >= 0) & (count[at] == 1))

    def drop_from(self, found: Ranked, n_wanted: int) -> Ranked:
        """Drop places that vanish from those that were found, and keep `n_wanted` of the rest."""
        gone = (found.rows == self.places[:, None]) & self.vanish[:, None]
        order = np.argsort(gone, axis=1, kind="stable")[:, :n_wanted]
        values = np.take_along_axis(np.where(gone, np.inf, found.values), order, axis=1)
        rows = np.take_along_axis(np.where(gone, -1, found.rows), order, axis=1)
        return Ranked(values, rows, found.inside)


class TargetPlaces(NamedTuple):
    """Distinct rows, and what the given rows there say.

    Attributes
    ----------
    X : ndarray of shape (p, d)
    targets : ndarray of shape (p, t)
        Mean targets of the rows at each place.
    weights : ndarray of shape (p,)
        Positive, 1 for a row on average.
    counts : ndarray of shape (p,)
        Rows that a place stands for, of which one is left out at a time.
    spreads : ndarray of shape (p,)
        Variances of the targets of these rows, summed over the targets.
    numbers : ndarray of shape (p,)
        The first given row at each place.
    """

    X: Floats
    targets: Floats
    weights: Floats
    counts: Floats
    spreads: Floats
    numbers: Ints

    def take(self, some: Ints) -> Self:
        return type(self)(*(cast(Any, each)[some] for each in self))

    def left_out_loss(self, coefficients: Floats, inverse_diagonal: Floats, ridge: float) -> float:
        """Return the squared error of rows, each left out in turn, for centred targets.

        With α and Gᵢᵢ of the places, a row with target y, one of m at a place of weight w, is
        missed by (y - f(x)) / (1 - 1/m + λGᵢᵢ/(mw)) by a fit without it.
        """
        missed = (ridge / self.weights)[:, None] * coefficients  # y - f(x), on average
        rest = 1 - 1 / self.counts + ridge * inverse_diagonal / (self.counts * self.weights)
        squares = self.spreads + (missed**2).sum(axis=1)
        return float(self.weights @ (squares / rest**2))

    def centred(self) -> tuple[Self, Floats]:
        """Return the places with the mean of the targets subtracted, and the mean (t,)."""
        mean = self.weights @ self.targets / self.weights.sum()
        return self._replace(targets=self.targets - mean), mean


def pool_rows(given: GivenRows, targets: Floats, counted: bool) -> TargetPlaces:
    """Pool equal rows of positive weight in memory; if `counted`, weights are numbers of rows."""
    X = cast(Floats, given.X)
    found = Places.pooled(X, given.weights, ordered=True)
    mass, mean = found.means(targets, given.weights)
    if not counted:
        ones = np.ones(len(mass))
        weights = mass * (len(mass) / mass.sum())
        return TargetPlaces(X[found.rows], mean, weights, ones, 0 * ones, found.rows)
    kept = found.of_rows >= 0
    place = found.of_rows[kept]
    away = ((targets[kept] - mean[place]) ** 2).sum(axis=1) * given.weights[kept]
    spreads: Floats = np.bincount(place, weights=away) / mass
    return TargetPlaces(X[found.rows], mean, mass, mass, spreads, found.rows)


def count_rows(given: GivenRows) -> tuple[GivenRows, bool]:
    """Return rows whose weights are numbers of observations, if copies of rows are evidence.

    They are if most rows share their place with other targets, and if each weight is a multiple of
    the least, at most `MOST_COPIES` times as large on average. Then a weight of 2 is two rows, and
    as only ratios count, the numbers have no common divisor: neither a factor of all weights nor
    a table that is given twice changes anything. Otherwise places are the observations.
    """
    kept = given.weights > 0
    counts = given.weights / given.weights[kept].min()
    whole = np.rint(counts)
    if not np.allclose(counts, whole, rtol=1e-9, atol=0) or whole.sum() > MOST_COPIES * kept.sum():
        return given, False
    place, pair = places_and_pairs(given)
    mass: Floats = np.bincount(pair, weights=whole[kept]).astype(float)
    place_of_pair = np.zeros(len(mass), dtype=np.intp)
    place_of_pair[pair] = place
    shared = np.bincount(place_of_pair)[place_of_pair] > 1
    if 2 * mass[shared].sum() <= mass.sum():
        return replace(given, weights=whole), False
    divisor = np.gcd.reduce(mass.astype(np.int64))
    return replace(given, weights=whole / divisor), True


def pool_pairs(given: GivenRows) -> tuple[GivenRows, Ints, bool]:
    """Return each place of rows in memory once with each of its targets, in an order of its own.

    A place of many rows is drawn like any other, and neither copies of rows nor their order nor the
    names of classes change a draw. Weights are numbers of observations if copies of rows are
    evidence, see `count_rows`, or else 1 for a place on average.

    Returns
    -------
    pooled : GivenRows
        Places in the order of `place_order`, the heaviest target of each first.
    first : ndarray of int
        The first given row of each.
    counted : bool
    """
    counts, counted = count_rows(given)
    kept = np.flatnonzero(given.weights > 0)
    place, pair = places_and_pairs(given)
    mass: Floats = np.bincount(pair, weights=counts.weights[kept]).astype(float)
    _, first = np.unique(pair, return_index=True)
    names = class_order(given.labels[kept], counts.weights[kept], place)
    order = np.lexsort((names[first], -mass, place[first]))
    weights = mass[order]
    if not counted:
        weights *= (int(place.max()) + 1) / weights.sum()
    first = kept[first[order]]
    return replace(given.take(first), weights=weights), first, counted


def places_and_pairs(given: GivenRows) -> tuple[Ints, Ints]:
    """Return the place of each row of positive weight, in their order, and its pair.

    A pair is a place with one of its targets. Pairs are numbered by place.
    """
    found = Places.pooled(cast(Floats, given.X), given.weights, ordered=True)
    kept = found.of_rows >= 0
    place = found.of_rows[kept]
    target: AnyArray = given.target.reshape(len(given.target), -1)[kept]
    _, code = np.unique(target, axis=0, return_inverse=True)
    code = code.ravel()
    _, pair = np.unique(place * (int(code.max()) + 1) + code, return_inverse=True)
    return place, pair


def means_of_pairs(
    given: GivenRows, pair: Ints, numbers: Ints, weights: Floats, answers: Floats
) -> Floats:
    """Return the mean answer (n, t) of each row's place and target; NaN where there is none.

    Parameters
    ----------
    given : GivenRows
    pair : ndarray of int
        The pair of a place and a target of each given row of positive weight.
    numbers : ndarray of shape (m,)
        Numbers of the given rows that were answered for. Where copies are evidence, only the first
        row of a pair has one.
    weights : ndarray of shape (m,)
    answers : ndarray of shape (m, t)
    """
    kept = np.flatnonzero(given.weights > 0)
    pair_of = np.full(len(given.target), -1)
    pair_of[kept] = pair
    at = pair_of[numbers]
    n_pairs = int(pair.max()) + 1
    mass: Floats = np.bincount(at, weights=weights, minlength=n_pairs).astype(float)
    sums = np.zeros((n_pairs, answers.shape[1]))
    np.add.at(sums, at, weights[:, None] * answers)
    known = mass > 0
    sums[known] /= mass[known, None]
    sums[~known] = np.nan
    found = np.full((len(given.target), answers.shape[1]), np.nan)
    found[kept] = sums[pair]
    return found


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
    def among(cls, index: SearchIndex | MeasuredRows, n_jobs: int | None) -> Self:
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
