"""Impute missing numbers by their conditional mean; flag gaps that carry information."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.columns.means import f_test, weighted_median

# Half and double of these were tried on a table with a fifth of its cells missing
# (docs/evidence/constants.txt). The largest changes of 1 - R², of neighbours, are +0.03 by half the
# clipping and +0.06 by half the shrinkage; kernels change by less than 0.002.
CLIPPED_AT = 3.0  # standard deviations from the median
LEAST_SHRINKAGE = 0.02  # of correlations to 0
TELLING = 0.01  # p-value below which a gap tells something about the target: no change


@dataclass(frozen=True)
class Gaps:
    """How missing numbers of rows are filled.

    With medians m, deviations s and the precision matrix P of z = clip((x - m)/s), the missing part
    of a row is its conditional mean under a normal distribution, the minimum of zᵀPz given what is
    known. Medians, spreads and P are those of the fitted rows (P by expectation-maximisation, with
    correlations shrunk). Where a gap tells something about the target (F-test), it is a number of
    its own, 0 or 1.
    """

    median: Floats
    scale: Floats
    precision: Floats | None
    telling: Ints  # columns whose gaps are numbers, too

    @classmethod
    def of(cls, X: Floats, weights: Floats, targets: Floats | None = None) -> Self:
        """Learn from rows (n, d), and targets (n, t) if gaps may tell something about them.

        Weights are numbers of observations, see `means.observations`.
        """
        kept = weights > 0
        X, weights = X[kept], weights[kept]
        missing = np.isnan(X)
        median, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for j, gone in enumerate(missing.T):
            known, share = X[~gone, j], weights[~gone]
            if len(known):
                median[j] = weighted_median(known, share)
                largest = np.abs(known - median[j]).max() or 1.0  # squares of 1e200 overflow
                away = (known - median[j]) / largest
                scale[j] = largest * np.sqrt(share @ away**2 / share.sum()) or 1.0
        telling = np.empty(0, dtype=np.intp)
        if targets is not None:
            _, first = np.unique(missing, axis=1, return_index=True)  # of equal gaps
            some = np.sort(first[missing[:, first].any(axis=0) & ~missing[:, first].all(axis=0)])
            p = [f_test(missing[:, j].astype(int), targets[kept], weights)[0].min() for j in some]
            telling = some[np.array(p) * targets.shape[1] < TELLING]
        found = cls(median, scale, None, telling)
        most_columns, fewest_rows = 300, 30  # else a missing number becomes the median
        if 1 < X.shape[1] <= most_columns and len(X) >= fewest_rows:
            every = -(-X.size // 1_000_000)  # rows of so many entries, evenly spaced, teach P
            precision = _precision(found.standardised(X[::every]), weights[::every])
            found = replace(found, precision=precision)
        return found

    def add_up(self, values: Floats) -> Floats:
        """Fold the values (…) of the flags of gaps into those of their columns (…, d)."""
        found = values[..., : len(self.median)].copy()
        found[..., self.telling] += values[..., len(self.median) :]
        return found

    def fill(self, X: Floats) -> Floats:
        """Return rows (n, d) with gaps filled, and a flag for each gap that carries information."""
        missing = np.isnan(X)
        if missing.any():
            Z = self.standardised(X)
            Z = np.where(missing, 0.0, Z) if self.precision is None else filled(Z, self.precision)
            X = np.where(missing, self.median + Z * self.scale, X)
        if len(self.telling):
            X = np.column_stack([X, missing[:, self.telling].astype(np.float64)])
        return X

    def standardised(self, X: Floats) -> Floats:
        return np.clip((X - self.median) / self.scale, -CLIPPED_AT, CLIPPED_AT)


def filled(Z: Floats, precision: Floats) -> Floats:
    """Return standardised rows with their conditional means: P_mm z_m = -P_mk z_k, row by row.

    Conjugate gradients solve the systems of all rows at once. The last digits are cut, so that a
    row has the same numbers whatever rows are beside it.
    """
    gaps = np.isnan(Z)
    some = gaps.any(axis=1)
    gap, rows = gaps[some], np.where(gaps[some], 0.0, Z[some])
    rest = np.where(gap, -rows @ precision, 0.0)
    step, size = rest, (rest * rest).sum(axis=1, keepdims=True)
    tiny = 1e-300  # so that a row that is solved is not divided by 0
    for _ in range(100):
        if not (size > 1e-22).any():  # squared residuals: 1e-11, three digits below the cut
            break
        pushed = np.where(gap, step @ precision, 0.0)
        length = size / np.maximum((step * pushed).sum(axis=1, keepdims=True), tiny)
        rows, rest = rows + length * step, rest - length * pushed
        before, size = size, (rest * rest).sum(axis=1, keepdims=True)
        step = rest + size / np.maximum(before, tiny) * step
    Z = Z.copy()
    Z[some] = np.where(gap, np.clip(rows, -CLIPPED_AT, CLIPPED_AT).round(8), rows)
    return Z


def _precision(Z: Floats, weights: Floats) -> Floats:
    """Return the inverse covariance (d, d) of standardised rows with gaps, about 0."""
    n, d = weights.sum(), Z.shape[1]
    share, missing = weights / weights.sum(), np.isnan(Z)
    shrinkage = LEAST_SHRINKAGE + d / (n + d)
    rows, added = np.where(missing, 0.0, Z), np.zeros(d)
    n_rounds = 6 if missing.any() else 1
    for _ in range(n_rounds):
        covariance = (rows.T * share) @ rows + np.diag(added)
        diagonal = np.diag(np.maximum(np.diag(covariance), 1e-6))
        precision = np.linalg.inv((1 - shrinkage) * covariance + shrinkage * diagonal)
        rows = filled(Z, precision)
        added = share @ missing / np.diag(precision)  # variance that the means do not have
    return np.asarray(precision)
