"""Distances for kernels: that of a metric, of weighted columns, and of their ranks."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric, Metric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.parts import ridge
from cayleyklein.parts.places import Places, TargetPlaces

EXACT_PLACES = 1000  # places that weigh the columns
SLOPE_START = (1.0, 0.3)  # γ and λ of the fits whose slopes weigh the columns
SLOPE_ROUNDS, SLOPE_QUERIES = 2, 100  # such fits, and the places at which slopes are taken
MOST_SCORE = 3.0  # of a rank: how far a value is beyond it from the others says nothing
PLAIN_ROWS = 100_000  # rows on a cluster whose deviations are the units for plain neighbours
TAIL = 5.0  # standard deviations from the mean that a value of a heavy-tailed column reaches


def metric_distance(metric: Metric) -> ridge.Distance:
    """Return the distance of a metric; infinite for rows outside a hyperbolic domain."""
    return partial(metric.pairwise, outside="inf")


@dataclass(frozen=True)
class ColumnDistance:
    """The distance Σⱼ cⱼ|xⱼ - yⱼ| of rows. exp(-γ d) is a product of kernels of single columns."""

    weights: Floats  # c (d,), at least 0

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        used = self.weights > 0
        left = X[:, used] * self.weights[used]
        right = left if Y is None else Y[:, used] * self.weights[used]
        return np.asarray(cdist(left, right, "cityblock"))


@dataclass(frozen=True)
class NormalScores:
    """Columns as normal scores of their ranks, for heavy tails.

    A value with the share p of the fitted values below it, ties counted half, becomes Φ⁻¹(p), at
    most `MOST_SCORE` either way. The map is monotone and does not depend on the columns' units.
    """

    values: tuple[Floats, ...]  # of each column, sorted and distinct
    below: tuple[Floats, ...]  # the share of the fitted rows below each value, ties counted half

    @classmethod
    def of(cls, X: Floats, weights: Floats) -> Self:
        values, below, kept = [], [], weights > 0
        for column in X[kept].T:
            distinct, place = np.unique(column, return_inverse=True)
            mass = np.bincount(place, weights=weights[kept]).astype(float)
            reached = np.cumsum(mass)
            values.append(distinct)
            below.append((reached - mass / 2) / reached[-1])
        return cls(tuple(values), tuple(below))

    def transform(self, X: Floats) -> Floats:
        """Return the scores of rows; between two fitted values they are interpolated."""
        scores = np.empty(X.shape)
        for j, (values, below) in enumerate(zip(self.values, self.below, strict=True)):
            reached = np.interp(X[:, j], values, below, left=0.0, right=1.0)
            scores[:, j] = np.clip(ndtri(reached), -MOST_SCORE, MOST_SCORE)
        return scores


@dataclass(frozen=True)
class RankDistance:
    """The distance of weighted columns between the normal scores of rows."""

    ranks: NormalScores
    columns: ColumnDistance

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        left = self.ranks.transform(X)
        right = None if Y is None else self.ranks.transform(Y)
        return self.columns(left, right)


def rank_distance(rows: TargetPlaces) -> RankDistance:
    """Return the distance of the ranks of columns, weighted by slopes."""
    ranks = NormalScores.of(rows.X, rows.weights)
    scores = rows._replace(X=ranks.transform(rows.X))
    return RankDistance(ranks, weigh_columns(scores))


def has_heavy_tails(X: Floats) -> bool:
    """Say whether a column has a value beyond `TAIL` standard deviations from its mean.

    Ranks of other columns are much like the columns.
    """
    away = np.abs(X - X.mean(axis=0)).max(axis=0)
    return bool((away > TAIL * X.std(axis=0)).any())


def standard_metric(given: GivenRows) -> CurvedMetric:
    """Return the Euclidean metric of columns in units of their standard deviations."""
    if isinstance(given.X, RowBlocks):
        kept = np.flatnonzero(given.weights > 0)
        some = given.take(kept[even_rows(len(kept), PLAIN_ROWS)])
        return CurvedMetric(factor=standard_weights(np.asarray(some.X), some.weights))
    # by places, so that sums over a table and over the table given twice round alike
    places = Places.pooled(given.X, given.weights, ordered=True)
    at = places.of_rows
    mass = np.bincount(at[at >= 0], weights=given.weights[at >= 0]).astype(float)
    return CurvedMetric(factor=standard_weights(given.X[places.rows], mass))


def standard_weights(X: Floats, weights: Floats) -> Floats:
    """Return one over the standard deviation of each column (d,), 0 for a constant one."""
    share = weights / weights.sum()
    deviation = np.sqrt(share @ (X - share @ X) ** 2)
    varies = (np.ptp(X, axis=0) > 0) & (deviation > 0)
    return np.asarray(np.divide(1.0, deviation, np.zeros_like(deviation), where=varies))


def weigh_columns(rows: TargetPlaces) -> ColumnDistance:
    """Weigh columns by the slopes of fits to at most `EXACT_PLACES` rows."""
    rows, _ = rows.take(even_rows(len(rows.X), EXACT_PLACES)).centred()
    weights = standard_weights(rows.X, rows.weights)
    queries = even_rows(len(rows.X), SLOPE_QUERIES)
    gamma, penalty = SLOPE_START
    for _ in range(SLOPE_ROUNDS):
        distances = ColumnDistance(weights)(rows.X)
        table = ridge.gram_of(distances, gamma / ridge.typical_distance(distances))
        some = table[queries]
        coefficients = ridge.solved(table, rows, penalty)
        weights = slope_weights(weights, rows.X, rows.X[queries], some, coefficients)
    return ColumnDistance(weights)


def slope_weights(
    weights: Floats, X: Floats, queries: Floats, gram: Floats, coefficients: Floats
) -> Floats:
    """Return new column weights: the old ones times the slopes of a fitted function.

    The slope of f(x) = Σᵢ αᵢ exp(-γ Σⱼ cⱼ|xⱼ - xᵢⱼ|) along column j is -γ cⱼ Σᵢ αᵢ k(x, xᵢ)
    sign(xⱼ - xᵢⱼ). Its root mean square over queries and targets says how much f depends on the
    column. `gram` (m, n) is k of queries and fitted rows X.
    """
    slopes = np.zeros(len(weights))
    for j in np.flatnonzero(weights):
        slope = (gram * np.sign(queries[:, j, None] - X[:, j])) @ coefficients
        slopes[j] = np.sqrt(np.mean(slope**2))
    return weights * slopes if slopes.any() else weights
