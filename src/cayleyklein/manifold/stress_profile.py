"""The stress of a fitted map at other curvatures, and how much errors of dissimilarities move K.

Let eᵢⱼ = δᵢⱼ - dᵢⱼ be the residuals, g = ∂d/∂K, and h what is left of g after the changes of d that
moving points can make (least squares). Then K changes by Σ sᵢⱼ, s = h e/‖h‖², over pairs i < j. If
errors are independent, its variance is σ²/‖h‖²; if errors of pairs with a point in common are not,

    Σᵢ (Σⱼ sᵢⱼ)² - Σᵢ﹤ⱼ sᵢⱼ²

(Fafchamps and Gubert 2007; a bootstrap over points counts each independent error twice).
"""

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.manifold._mds import CurvedMDS
from cayleyklein.manifold._scaling import STRONGEST, ScalingProblem, bridged
from cayleyklein.manifold._stress import distances

DIFFERENCE = 1e-5  # of finite differences, relative to the largest dissimilarity
LARGEST_TURN = 1.2  # √K times the largest dissimilarity, in units of π, of the smallest sphere
EXACT_FIT = 1e-12  # share of Σ δ² below which a stress is rounding


class StressProfile:
    """The least stress as a function of K, from a CurvedMDS fitted without weights."""

    def __init__(self, mds: CurvedMDS) -> None:
        given = mds.dissimilarity_matrix_
        missing = np.isnan(given)
        self.known = (~missing & ~np.eye(len(given), dtype=bool)).astype(float)
        self.delta = np.where(missing, 0.0, given)
        weights = self.known if missing.any() else None
        filled = bridged(self.delta, ~missing) if missing.any() else self.delta
        longest = float(filled.max()) or 1.0
        self.size, self.total = longest, float(np.square(self.delta).sum()) / 2
        self.K, self.v = mds.curvature_, mds._tangent
        n, r = self.v.shape
        self.freedom = float(self.known.sum()) / 2 - n * r + r * (r + 1) / 2 - 1
        self.bounds = -((STRONGEST / longest) ** 2), (LARGEST_TURN * np.pi / longest) ** 2
        self._problem = ScalingProblem(
            self.delta / longest, weights, filled / longest, r, 0.0, True, mds.max_iter,
            mds.tol / 10, np.random.RandomState(0),
        )  # fmt: skip

    def log_likelihood(self, K: float, v: Floats) -> tuple[float, Floats]:
        """Return that of independent normal errors, of unknown variance, and points; from v."""
        fit = self._problem.descend(v / self.size, K * self.size**2, fixed=True)
        return float(-self.freedom / 2 * np.log(max(fit.stress, EXACT_FIT))), fit.v * self.size

    def uncertainty(self) -> tuple[float, float]:
        """Return the variance of K, and by how much it exceeds that of independent errors."""
        v, K, known, step = self.v, self.K, self.known, DIFFERENCE * self.size
        n, r = v.shape
        unit = DIFFERENCE / self.size**2
        by_K = (distances(v, K + unit) - distances(v, K - unit)) * known / (2 * unit)
        moves = np.eye(r) * step
        by_v = np.stack(  # (r, n, n): dᵢⱼ as point i moves along a coordinate
            [(distances(v + m, K, v) - distances(v - m, K, v)) * known / (2 * step) for m in moves]
        )
        normal = np.einsum("aij,bji->iajb", by_v, by_v)
        at = np.arange(n)
        normal[at, :, at] += np.einsum("aij,bij->iab", by_v, by_v)
        right = np.einsum("aij,ij->ia", by_v, by_K).ravel()
        moved = np.linalg.lstsq(normal.reshape(n * r, n * r), right, rcond=1e-9)[0].reshape(n, r)
        made = np.einsum("aij,ia->ij", by_v, moved)
        h = by_K - (made + made.T)
        information = float(np.square(h).sum()) / 2
        errors = (self.delta - distances(v, K)) * known
        noise = float(np.square(errors).sum()) / 2 / self.freedom
        if information * unit**2 <= 1e-24 * self.size**2 or not noise:
            return (np.inf if noise else 0.0), 1.0
        pushes = h * errors / information
        shared = np.square(pushes.sum(axis=1)).sum() - np.square(pushes).sum() / 2
        inflation = max(1.0, float(shared) / (noise / information))
        return inflation * noise / information, inflation
