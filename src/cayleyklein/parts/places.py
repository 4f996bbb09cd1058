"""Distinct rows: equal rows are one place, which has the weight and the mean target of all of them.

In a table of a few categories many rows are equal, and the k nearest rows are an arbitrary choice
among equally near ones. The k nearest places are not. Rows of weight 0 are at no place.

Whether a row that is there again is evidence, is a question about the table. In a table of a few
categories it is: another draw had the same values, and perhaps another target. Rows that were
copied are not, and a table that is given twice must be the table given once. Copies are taken as
evidence if most rows share their place with other targets, see `count_rows`.
"""

from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from cayleyklein._typing import AnyArray, Bools, Floats, Ints
from cayleyklein.learning.rows import GivenRows, distinct_rows, place_order
from cayleyklein.neighbors.search import Ranked

MOST_COPIES = 100  # mean number of rows that weights may stand for


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
    order = np.lexsort((-mass, place[first]))
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
