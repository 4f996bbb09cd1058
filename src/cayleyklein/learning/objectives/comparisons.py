"""The comparison objective: near pairs of rows should be closer than far pairs, by a share.

With comparisons (p, q; r, s), "p and q are closer than r and s", weights w and margin γ < 1,

    ε(L, μ, K) = Σ w [γ + (d_pq² - d_rs²)/(d_pq² + d_rs²)]₊ / Σ w.

The quotient is between -1 and 1 and has no unit: the loss neither rewards a metric for growing nor
lets a few far rows decide. Triplets and quadruplets are such comparisons as they are. For similar
and dissimilar pairs, each similar one is compared with each dissimilar one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.descent import Recipe
from cayleyklein.learning.objectives import lifted
from cayleyklein.learning.objectives.lifted import Evaluation, LiftedRows, Parameters
from cayleyklein.learning.objectives.search import blocks_of
from cayleyklein.learning.rows import TrainingRows

if TYPE_CHECKING:
    from cayleyklein.learning.tuples import ComparedRows


@dataclass(frozen=True)
class ComparisonRecipe(Recipe):
    n_passes: int = 1
    max_iter: int = 20
    spread: float = 0.3
    radius: float = 0.7
    margin: float = 0.5

    def pose(self, rows: TrainingRows, anchors: Ints, found: Parameters) -> "Comparisons":
        compared = cast("ComparedRows", rows)
        return Comparisons(
            rows.X, compared.near, compared.far, compared.near_weights, compared.far_weights,
            self.margin,
        )  # fmt: skip


@dataclass(frozen=True)
class Comparisons:
    """The objective for `near` pairs of rows (a, 2) and `far` pairs (b, 2).

    With `far_weights`, each near pair is compared with each far pair, by the product of their
    weights; None compares pairs one by one, and a = b.
    """

    X: Floats
    near: Ints
    far: Ints
    near_weights: Floats
    far_weights: Floats | None
    margin: float

    def __call__(self, metric: Parameters) -> Evaluation:
        placed = LiftedRows(self.X, metric)
        if not placed.inside:
            return Evaluation(np.inf, None)
        K = metric.curvature
        near, far = (
            lifted.distance_power(placed.sqchords(pairs[:, 0], pairs[:, 1:]), K, squared=True)
            for pairs in (self.near, self.far)
        )
        loss, by_near, by_far, n_active = self._compare(near[0][:, 0], far[0][:, 0])
        for pairs, (_, slope, by_K), by_value in (
            (self.near, near, by_near[:, None]), (self.far, far, by_far[:, None])
        ):  # fmt: skip
            by_curvature = float((by_value * by_K).sum())
            placed.push_apart(pairs[:, 0], pairs[:, 1:], by_value * slope, by_curvature)
        return Evaluation(loss, placed.gradient(), n_active)

    def _compare(self, near: Floats, far: Floats) -> tuple[float, Floats, Floats, int]:
        """Return the loss, its derivatives in the squared distances, and the violated number."""
        shares = self.near_weights / self.near_weights.sum()
        if self.far_weights is None:
            hinge, by_near, by_far = self._hinge(near, far)
            active = int((hinge > 0).sum())
            return float(shares @ hinge), shares * by_near, shares * by_far, active
        others = self.far_weights / self.far_weights.sum()
        loss, n_active = 0.0, 0
        by_near_pair, by_far_pair = np.empty_like(near), np.zeros_like(far)
        for block in blocks_of(len(near), len(far)):
            hinge, by_near, by_far = self._hinge(near[block, None], far)
            loss += float(shares[block] @ hinge @ others)
            by_near_pair[block] = shares[block] * (by_near @ others)
            by_far_pair += others * (shares[block] @ by_far)
            n_active += int((hinge > 0).sum())
        return loss, by_near_pair, by_far_pair, n_active

    def _hinge(self, near: Floats, far: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the hinge of squared distances and its derivatives; none where both are 0."""
        total = near + far
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        hinge = np.maximum(self.margin + (near - far) * inverse, 0.0)
        slope = np.where(hinge > 0, 2 * inverse * inverse, 0.0)
        return hinge, slope * far, -slope * near
