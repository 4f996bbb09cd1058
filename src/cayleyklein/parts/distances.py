"""Distances for kernels without a learned metric: of weighted columns, and of their ranks."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from cayleyklein._distributed import RowBlocks
from cayleyklein._typing import Floats
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.neighbors.euclidean import even_rows
from cayleyklein.parts import kernel
from cayleyklein.parts.places import Places, TargetPlaces

EXACT_PLACES = 1000  # places that weigh the columns
# Parts of many rows, each of so many places: the fewest, the most, and the rows for which there is
# one. On 30,000 generated rows of 12 columns, 7 of them noise, four parts leave 0.49 of the
# variance, and one 0.55. Sixteen instead of four have less log loss by 0.0037 on 100,000 rows of a
# rule (0.3860 and 0.3897, two draws), and by 0.0018 on 30,000 rows of four classes (four draws);
# thirty-two by 0.0018 more of the rule, for twice the time. Eight are worse by 0.004 on 14,000 rows
# of letter, where all columns count. Two halves of 500 or 1,500 rows are no better than all of
# these at once: log loss +0.004 ± 0.003 on 19 numeric tables.
FEWEST_PARTS, MOST_PARTS = 4, 16
ROWS_A_PART = 6000


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
    most 3 either way: how far a value is beyond the others says nothing. The map is monotone and
    does not depend on the columns' units.
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
            scores[:, j] = np.clip(ndtri(reached), -3.0, 3.0)
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
    """Say whether a column has a value beyond five standard deviations from its mean.

    Ranks of other columns are much like the columns.
    """
    away = np.abs(X - X.mean(axis=0)).max(axis=0)
    return bool((away > 5 * X.std(axis=0)).any())


def standard_metric(given: GivenRows) -> CurvedMetric:
    """Return the Euclidean metric of columns in units of their standard deviations."""
    if isinstance(given.X, RowBlocks):
        kept = np.flatnonzero(given.weights > 0)
        some = given.take(kept[even_rows(len(kept), 100_000)])
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


def sample_size(n: int) -> int:
    """Return how many of n rows, which are many, weigh the columns."""
    return EXACT_PLACES * int(np.clip(n // ROWS_A_PART, FEWEST_PARTS, MOST_PARTS))


def weigh_columns(rows: TargetPlaces) -> ColumnDistance:
    """Weigh columns by the slopes of two fits to at most `EXACT_PLACES` rows.

    Of more rows several parts of this size are fitted, and slopes of one part are multiplied with
    those of others: what is noise in the slopes of one part is none in another.
    """
    n_parts = int(np.clip(len(rows.X) // EXACT_PLACES, 1, MOST_PARTS))
    rows, _ = rows.take(even_rows(len(rows.X), n_parts * EXACT_PLACES)).centred()
    weights = standard_weights(rows.X, rows.weights)
    queries = rows.X[even_rows(len(rows.X), 100)]  # at which slopes are measured
    parts = [rows.take(np.arange(at, len(rows.X), n_parts)) for at in range(n_parts)]
    gamma, penalty = 1.0, 0.3
    for _ in range(2):
        slopes = []
        for part in parts:
            distances = ColumnDistance(weights)(part.X)
            scaled = gamma / kernel.typical_distance(distances)
            gram = kernel.gram_of(ColumnDistance(weights)(queries, part.X), scaled)
            coefficients = kernel.solved(kernel.gram_of(distances, scaled), part, penalty)
            slopes.append(slopes_of(weights, part.X, queries, gram, coefficients))
        sizes = shared_sizes(np.stack(slopes))
        weights = weights * sizes if sizes.any() else weights
    return ColumnDistance(weights)


def slopes_of(
    weights: Floats, X: Floats, queries: Floats, gram: Floats, coefficients: Floats
) -> Floats:
    """Return the slopes (d, m, t) of a fitted function at queries, over -γ and column weights.

    The slope of f(x) = Σᵢ αᵢ exp(-γ Σⱼ cⱼ|xⱼ - xᵢⱼ|) along column j is -γ cⱼ Σᵢ αᵢ k(x, xᵢ)
    sign(xⱼ - xᵢⱼ). `gram` (m, n) is k of queries and fitted rows X.
    """
    slopes = np.zeros((len(weights), len(queries), coefficients.shape[1]))
    for j in np.flatnonzero(weights):
        slopes[j] = (gram * np.sign(queries[:, j, None] - X[:, j])) @ coefficients
    return slopes


def shared_sizes(slopes: Floats) -> Floats:
    """Return the root mean square (d,), over queries and targets, of slopes (n_parts, d, m, t).

    Of several parts the squares are products of the slopes of two parts, in the mean over pairs; at
    least a tenth of what all parts together say is kept.
    """
    n_parts = len(slopes)
    mean = slopes.mean(axis=0)
    if n_parts == 1:
        return np.asarray(np.sqrt((mean**2).mean(axis=(1, 2))))
    squares = (n_parts * mean**2 - (slopes**2).mean(axis=0)) / (n_parts - 1)
    least = 0.1 * np.sqrt((mean**2).mean(axis=(1, 2)))
    return np.asarray(np.maximum(np.sqrt(np.maximum(squares.mean(axis=(1, 2)), 0.0)), least))
