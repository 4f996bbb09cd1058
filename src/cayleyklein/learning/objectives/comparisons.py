"""The comparison objective: near pairs of rows should be closer than far pairs, by a share.

With comparisons (p, q; r, s), "p and q are closer than r and s", weights w and margin γ < 1,

    ε(L, μ, K) = Σ w [γ + (d_pq² - d_rs²)/(d_pq² + d_rs²)]₊ / Σ w.

The quotient is between -1 and 1 and has no unit: the loss neither rewards a metric for growing nor
lets a few far rows decide. Triplets and quadruplets are such comparisons as they are. For similar
and dissimilar pairs, each similar one is compared with each dissimilar one.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import list_indices, warn_caller
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.learning.descent import Recipe
from cayleyklein.learning.objectives import lifted
from cayleyklein.learning.rows import TrainingRows


@dataclass(frozen=True)
class Comparisons:
    """The objective: without `far_weights` pairs are compared one by one, with them each with each.

    Attributes are rows X (n, d), and pairs of their numbers, near (a, 2) and far (b, 2).
    """

    X: Floats
    near: Ints
    far: Ints
    near_weights: Floats
    far_weights: Floats | None
    margin: float

    @property
    def numbers(self) -> tuple[Ints, Ints]:
        """A number for each near and each far pair, the same for the same two rows."""
        base = np.array([len(self.X), 1])
        return np.sort(self.near, axis=1) @ base, np.sort(self.far, axis=1) @ base

    def report_both_ways(self) -> None:
        near, far = self.numbers
        both, every = len(np.intersect1d(near, far)), len(np.union1d(near, far))
        why = "labelled both similar and dissimilar"
        every_one = f"Every pair is {why}: no metric is better than any other."
        _report(both, every, every_one, f"{both} pairs are {why}.")
        equal = int((self.far[:, 0] == self.far[:, 1]).sum())
        why = "of equal rows, whose distance is 0 under every metric."
        every_one = f"Every dissimilar pair is {why}"
        _report(equal, len(far), every_one, f"{equal} dissimilar pairs are {why}")

    def report_contradictions(self, name: str, numbers: Ints) -> None:
        near, far = self.numbers
        bad = np.isin(near + 1j * far, far + 1j * near)  # a complex number holds both
        n, n_bad = len(bad), int(bad.sum())
        why = "contradicted by {}, or {} a pair with itself: "
        every = why.format("another", "compares") + "no metric is better than any other."
        some = why.format("others", "compare") + f"{list_indices(numbers[bad])}."
        every = f"Every one of the {n} {name} is {every}"
        _report(n_bad, n, every, f"{n_bad} of {n} {name} are {some}")

    def __call__(self, metric: lifted.Parameters, bends: bool = True) -> lifted.Evaluation:
        placed = lifted.LiftedRows(self.X, metric, bends)
        if not placed.inside:
            return lifted.Evaluation(np.inf, None)
        near, far = (
            placed.pairs(pairs[:, 0], pairs[:, 1:], squared=True) for pairs in (self.near, self.far)
        )
        loss, by_near, by_far, n_active = self._compare(near.value[:, 0], far.value[:, 0])
        placed.push(near, by_near[:, None])
        placed.push(far, by_far[:, None])
        return lifted.Evaluation(loss, placed.gradient(), n_active)

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
        for block in lifted.blocks_of(len(near), len(far)):
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


@dataclass(frozen=True, kw_only=True)
class ComparisonRecipe(Recipe):
    objective: Comparisons
    n_passes: int = 1
    max_iter: int = 20
    spread: float = 0.3
    radius: float = 0.7

    @property
    def flat(self) -> Self:
        return replace(self, geometry="flat", init="std")

    def pose(self, rows: TrainingRows, anchors: Ints, found: lifted.Parameters) -> Comparisons:
        return self.objective


def compared_rows(
    near: Floats,
    far: Floats,
    near_weights: Floats,
    far_weights: Floats | None,
    margin: float,
    name: str,
) -> tuple[TrainingRows, Comparisons]:
    """Return the distinct rows of near pairs (a, 2, d) and far pairs (b, 2, d), standardised."""
    every = np.vstack([near, far]).reshape(-1, near.shape[2])
    points, numbers = np.unique(every, axis=0, return_inverse=True)
    n = len(points)
    if n < 2:
        raise InvalidInputError(
            f"All rows of the {name} are equal; learning a metric needs two distinct ones."
        )
    rows = TrainingRows.from_raw(points, np.zeros(n, int), np.ones(n), name=name)
    first, second = np.split(numbers.reshape(-1, 2), [len(near)])
    return rows, Comparisons(rows.X, first, second, near_weights, far_weights, margin)


def _report(n_bad: int, n: int, every: str, some: str) -> None:
    """Raise an error where all of n are bad; warn where some are."""
    if n_bad == n:
        raise InvalidInputError(every)
    if n_bad:
        warn_caller(some)
