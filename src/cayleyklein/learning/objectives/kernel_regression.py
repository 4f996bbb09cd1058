"""The kernel-regression objective: how well each row is predicted from its neighbours.

With targets y (standardised), weights w, and the m nearest rows j of anchor i **under the metric at
which the loss is evaluated**,

    ε(L, μ, K) = Σ_i w_i ‖y_i - ŷ_i‖² / Σ_i w_i,     ŷ_i = Σ_j w_j k_ij y_j / Σ_j w_j k_ij,

the leave-one-out squared error of a kernel estimate, 1 - R². The kernel is Epanechnikov's, its
window as wide as the farthest of the m rows (Hastie, Tibshirani and Friedman 2009, §6.2),

    k_ij = 1.01 - d_ij²/max_j d_ij²,

which has no bandwidth to choose and follows the density of rows; or, with a bandwidth h, the
Gaussian exp(-d_ij²/h²) of Weinberger and Tesauro (2007).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.descent import Recipe
from cayleyklein.learning.objectives.lifted import (
    Evaluation,
    LiftedRows,
    NearestRows,
    Parameters,
    blocks_of,
)
from cayleyklein.learning.rows import TrainingRows


@dataclass(frozen=True)
class KernelRecipe(Recipe):
    n_passes: int = 2
    max_iter: int = 10
    spread: float = 0.3
    n_neighbors: int = 30
    kernel: str = "window"  # or "gaussian"

    @property
    def name(self) -> str:
        return self.geometry if self.geometry == "flat" else f"{self.geometry}, {self.spread:g}"

    def pose(self, rows: TrainingRows, anchors: Ints, found: Parameters) -> "KernelRegression":
        assert rows.targets is not None
        bandwidth = None
        if self.kernel == "gaussian":  # the size of the start, so that it begins with exp(-d²)
            bandwidth = float(self.start(rows, np.eye(rows.n_columns)).factor[0, 0])
        return KernelRegression(
            rows.X, rows.targets, rows.shares, anchors, self.n_neighbors, bandwidth
        )


@dataclass(frozen=True)
class KernelRegression:
    """The objective for two or more rows, no two alike, and targets (n, t)."""

    X: Floats
    targets: Floats
    weights: Floats
    anchors: Ints  # rows with a term in the loss; all may be neighbours
    n_neighbors: int
    bandwidth: float | None  # None for a window

    @cached_property
    def _search(self) -> NearestRows:
        return NearestRows(len(self.X), self.anchors, self.anchors, self.anchors + 1)

    def __call__(self, metric: Parameters, bends: bool = True) -> Evaluation:
        placed = LiftedRows(self.X, metric, bends)
        if not placed.inside:
            return Evaluation(np.inf, None)
        m = min(self.n_neighbors, len(self.X) - 1)
        loss = 0.0
        for block in blocks_of(len(self.anchors), len(self.X)):
            columns = self._search.find(placed, block, m)
            loss += self._add_block(placed, self.anchors[block], columns)
        return Evaluation(loss, placed.gradient())

    def _add_block(self, placed: LiftedRows, anchors: Ints, columns: Ints) -> float:
        pairs = placed.pairs(anchors, columns, squared=True)
        value, edge = pairs.value, pairs.value[:, -1:]
        if self.bandwidth is None:
            ratio = np.divide(value, edge, out=np.zeros_like(value), where=edge > 0)
            kernel = 1 + 0.01 - ratio  # not 0 at the edge: equally far rows are a plain mean
        else:
            kernel = np.exp((value[:, :1] - value) / self.bandwidth**2)
        votes = self.weights[columns] * kernel
        total = votes.sum(axis=1, keepdims=True)
        b, m = columns.shape
        shares = sparse.csr_array(
            ((votes / total).ravel(), columns.ravel(), np.arange(0, b * m + 1, m)),
            shape=(b, len(self.X)),
        )
        predicted = shares @ self.targets
        residual = predicted - self.targets[anchors]
        weights = self.weights[anchors] / self.weights[self.anchors].sum()
        # ∂ε/∂k_ij = 2 w_i w_j ⟨r_i, y_j - ŷ_i⟩ / Σ_j w_j k_ij, a product with all rows for any t
        along = np.take_along_axis(residual @ self.targets.T, columns, axis=1)
        along -= np.einsum("it,it->i", residual, predicted)[:, None]
        by_kernel = 2 * weights[:, None] * self.weights[columns] * along / total
        if self.bandwidth is None:
            inverse = np.divide(1.0, edge, out=np.zeros_like(edge), where=edge > 0)
            by_value = -by_kernel * inverse
            by_value[:, -1] += (by_kernel * ratio).sum(axis=1) * inverse[:, 0]
        else:
            by_value = -by_kernel * kernel / self.bandwidth**2
        placed.push(pairs, by_value)
        return float(weights @ np.einsum("it,it->i", residual, residual))
