"""Which of two encodings of a column predicts better, judged on rows that are left out.

The judge is a kernel ridge regression of a few hundred rows. Its kernel is a sum, one exponential
kernel of all other columns and one of the encoding that is tried, so that an encoding is worth what
it adds to the others. Leaving out one row is a closed formula. Errors of two encodings are compared
row by row, and the one that is tried has to win by more than two standard errors.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist

from cayleyklein._typing import Floats, Ints
from cayleyklein.columns.means import row_hashes


@dataclass(frozen=True)
class EncodingJudge:
    """Rows that encodings are judged by.

    Equal rows are one place with the sum of their weights, so that a row of weight 2 is two rows,
    and no row is predicted by its copy. Neither the order of rows and columns nor the unit of the
    weights matters.
    """

    rows: Ints  # the first row of each place
    targets: Floats  # (n, t), standardised means of each place
    weights: Floats  # 1 on average

    @classmethod
    def of(
        cls, table: Any, targets: Floats, weights: Floats, fewest: int = 60, most: int = 400
    ) -> Self | None:
        """Draw places from a table by their hashes, or return None if there are too few."""
        exact, drawn = row_hashes(table, weights)
        order = np.lexsort((*targets.T[::-1], exact, drawn))
        order = order[weights[order] > 0]
        begins = np.append(True, np.diff(exact[order]) != 0)
        first, place = np.flatnonzero(begins), np.cumsum(begins) - 1
        if len(first) < fewest:
            return None
        kept = place < most
        order, place, first = order[kept], place[kept], first[:most]
        mass = np.bincount(place, weights[order])
        sums = [np.bincount(place, weights[order] * column[order]) for column in targets.T]
        means = np.column_stack(sums) / mass[:, None]
        share = mass / mass.sum()
        means -= share @ means
        spread = np.sqrt(share @ means**2)
        means /= np.where(spread > 0, spread, 1.0)
        return cls(order[first], means, mass / mass.mean())

    def kernel(self, X: Floats, *, scaled: bool = True) -> Floats:
        """Return exp(-d/mean d) of encoded rows X (n, d), those that are judged.

        Missing numbers become means. Columns are standardised if `scaled`.
        """
        share = self.weights / self.weights.sum()
        known = ~np.isnan(X)
        X = np.where(known, X, 0.0)
        largest = np.abs(X).max(axis=0)  # squares of 1e200 overflow
        X = X / np.where(largest > 0, largest, 1.0)
        with np.errstate(invalid="ignore"):
            X = np.where(known, X - (share @ X) / (share @ known), 0.0)
        if scaled:
            spread = np.sqrt(share @ X**2)
            X /= np.where(spread > 0, spread, 1.0)
        D = cdist(X, X)
        return np.asarray(np.exp(-D / (share @ D @ share or 1.0)))

    def errors(self, kernel: Floats) -> Floats:
        """Return the squared error of each row, left out.

        Two variances of noise are tried on the diagonal of the kernel, and the better one counts.
        """
        best, least = np.empty(0), np.inf
        for noise in (0.1, 1.0):
            factor, _ = lapack.dpotrf(kernel + np.diag(noise / self.weights), lower=1)
            inverse, _ = lapack.dpotri(factor, lower=1)
            inverse = np.tril(inverse) + np.tril(inverse, -1).T
            left_out = (inverse @ self.targets) / np.diag(inverse)[:, None]
            errors = (left_out**2).sum(axis=1)
            if self.weights @ errors < least:
                best, least = errors, self.weights @ errors
        return best

    def gain(self, errors: Floats, others: Floats) -> float:
        """Return the mean gain of other errors in standard errors."""
        gains = errors - others
        mean = np.average(gains, weights=self.weights)
        deviation = np.sqrt(np.sum((self.weights * (gains - mean)) ** 2)) / self.weights.sum()
        return float(mean / deviation) if deviation > 0 else 0.0

    @staticmethod
    def is_clear(gain: float) -> bool:
        """Say whether a gain is more than two standard errors, so that an encoding is taken."""
        return gain > 2.0
