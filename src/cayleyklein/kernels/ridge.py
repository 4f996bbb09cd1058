"""Ridge regression in a kernel, for every ridge λ from one eigendecomposition.

f minimises Σ wᵢ (yᵢ - f(xᵢ))² + λ‖f‖² over the functions of a kernel k. The same f is the mean of a
Gaussian process with covariance σ²k and noise of variance σ²λ/wᵢ, given the targets (Rasmussen and
Williams 2006, chapter 2). With √W K √W = V Λ Vᵀ and G = (K + λW⁻¹)⁻¹ = √W V (Λ + λ)⁻¹ Vᵀ √W,

    f(x) = Σ αᵢ k(x, xᵢ),  α = G y,
    yᵢ - f₋ᵢ(xᵢ) = αᵢ / Gᵢᵢ                                        without row i,
    log p(y) = -½ (yᵀGy/σ² + log det(σ²G⁻¹) + n log 2π)            the marginal likelihood.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from cayleyklein._typing import Floats


@dataclass(frozen=True)
class Spectrum:
    """A Gram matrix of n rows, decomposed, and the targets (n, t) of the rows."""

    values: Floats  # Λ (n,), of √W K √W
    vectors: Floats  # V (n, n)
    targets: Floats  # Vᵀ √W y (n, t)
    roots: Floats  # √W (n,)

    @classmethod
    def of(cls, gram: Floats, targets: Floats, weights: Floats) -> Self:
        """Decompose a Gram matrix; rows have positive weights."""
        roots = np.sqrt(weights)
        weighed = gram if (weights == 1).all() else gram * roots[:, None] * roots
        values, vectors = linalg.eigh(weighed, check_finite=False, driver="evd")
        values = np.maximum(values, 0.0)  # a positive definite matrix, but for rounding
        return cls(values, vectors, vectors.T @ (roots[:, None] * targets), roots)

    def coefficients(self, ridge: float) -> Floats:
        """Return α (n, t)."""
        found = self.vectors @ (self.targets / (self.values + ridge)[:, None])
        return np.asarray(self.roots[:, None] * found)

    def inverse_diagonal(self, ridge: float) -> Floats:
        """Return Gᵢᵢ (n,)."""
        inverse = self.vectors**2 @ (1 / (self.values + ridge))
        return np.asarray(self.roots**2 * inverse)

    def left_out_errors(self, ridge: float) -> Floats:
        """Return for each row its target minus what a fit without the row predicts (n, t)."""
        return np.asarray(self.coefficients(ridge) / self.inverse_diagonal(ridge)[:, None])

    def variances(self, ridge: float) -> Floats:
        """Return the σ² (t,) with the largest likelihood."""
        squares = self.targets**2 / (self.values + ridge)[:, None]
        return np.asarray(squares.mean(axis=0))

    def log_likelihood(self, ridge: float, variances: Floats | None = None) -> Floats:
        """Return the log marginal likelihood (t,) of each target, by default with the best σ²."""
        n, best = len(self.values), self.variances(ridge)
        determinant = np.log(self.values + ridge).sum() - 2 * np.log(self.roots).sum()
        var = best if variances is None else variances
        ratio = 1.0 if variances is None else best / var
        with np.errstate(divide="ignore"):  # a target that is 0 throughout has the density inf
            return np.asarray(-0.5 * (n * ratio + n * np.log(2 * np.pi * var) + determinant))
