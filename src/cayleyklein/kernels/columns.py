"""Columns side by side: the weighted Manhattan distance, and columns as scores of their ranks."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from cayleyklein._typing import Floats

# Largest normal score of a rank: beyond it, how far a value is from the others says nothing.
MOST_SCORE = 3.0


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
