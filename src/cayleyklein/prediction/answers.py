"""What scores mean: classes or numbers.

An answer says what machines are fitted to (`targets`), what neighbours' answers are as scores
(`of_votes`), how a weighted sum of scores is judged (`losses`, `named`), which weights are best
(`weigh`, see `part_weights`), and what a sum says (`says`). Scores are (p, m, t) of p parts, for m
rows.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from cayleyklein._typing import AnyArray, Bools, Floats
from cayleyklein.prediction import part_weights
from cayleyklein.prediction.scales import AS_GIVEN, NumberScale, mean_and_unit


@dataclass(frozen=True)
class Classes:
    """Class probabilities: the softmax of a sum of scores, and one more row of the class shares.

    (n softmax + prior) / (n + 1): with n rows, no probability is 0 or 1. Machines are fitted to ±1.
    A class whose rows weigh nothing has the share 0, and is never predicted.
    """

    prior: Floats  # (C,)
    n_rows: float

    def targets(self, target: AnyArray) -> Floats:
        found = np.full((len(target), len(self.prior)), -1.0)
        found[np.arange(len(target)), target] = 1.0
        return found

    def smoothed(self, shares: Any) -> Any:
        return (self.n_rows * shares + self.prior) / (self.n_rows + 1)

    @property
    def known(self) -> Bools:
        """The classes (C,) that rows of positive weight have."""
        return self.prior > 0

    def of_votes(self, answers: Any) -> Any:
        # the score of a class that no row has does not matter, but must be a number
        return np.log(np.where(self.known, self.smoothed(answers), 1.0))

    def says(self, total: Any) -> Any:
        return self.smoothed(softmax(np.where(self.known, total, -np.inf), axis=1))

    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        """Return the weights (p,) with the least log loss, see `part_weights`."""
        number = np.cumsum(self.known) - 1  # among the known classes
        return part_weights.of_least_log_loss(
            scores[:, :, self.known], number[truth], counts, start
        )

    def usual(self) -> Floats:
        """Return the scores (C,) of a row of which nothing is known."""
        return np.log(np.where(self.known, self.prior, 1.0))

    def start_weight(self, leads: bool, n_leading: int, n_parts: int) -> float:
        """Return the weight of a part before held-out rows are asked."""
        if n_leading:
            return 1.5 if leads else 0.0  # of a machine with scores of about ±1
        return 1 / n_parts

    def truth(self, target: AnyArray) -> AnyArray:
        """Return what sums are judged by."""
        return target

    def losses(self, total: Floats, truth: AnyArray) -> Floats:
        return np.asarray(-np.log(self.says(total)[np.arange(len(truth)), truth]))

    def named(self, total: Floats, truth: AnyArray, shares: Floats) -> dict[str, float]:
        right = self.says(total).argmax(axis=1) == truth
        loss = float(self.losses(total, truth) @ shares)
        return {"log loss": loss, "accuracy": float(right @ shares)}


@dataclass(frozen=True)
class Numbers:
    """Predicted numbers (m, t); scores are in units of each target's standard deviation.

    Means and standard deviations are those on the `scales` of the targets, one for each.
    """

    mean: Floats  # (t,)
    unit: Floats  # (t,); 1 for a constant target
    scales: tuple[NumberScale, ...]
    spread: Floats  # (t,): standard deviations of the numbers themselves

    @classmethod
    def standardising(
        cls, Y: Floats, weights: Floats, scales: tuple[NumberScale, ...] = ()
    ) -> Self:
        """Return the answer for numbers (n, t), each on its scale, or as given."""
        scales = scales or (NumberScale(),) * Y.shape[1]
        spread = mean_and_unit(Y, weights)[1]
        modelled = [scale.modelled(y) for scale, y in zip(scales, Y.T, strict=True)]
        return cls(*mean_and_unit(np.stack(modelled, axis=1), weights), scales, spread)

    def modelled(self, target: AnyArray) -> Floats:
        """Return numbers (n,) or (n, t) on their scales, in the same shape."""
        Y = target.reshape(len(target), -1)
        found = [scale.modelled(y) for scale, y in zip(self.scales, Y.T, strict=True)]
        return np.stack(found, axis=1).reshape(target.shape)

    def targets(self, target: AnyArray) -> Floats:
        return np.asarray((target.reshape(len(target), -1) - self.mean) / self.unit)

    def of_votes(self, answers: Any) -> Any:
        return (answers - self.mean) / self.unit

    def says(self, total: Any) -> Any:
        """Return numbers (m, t) for sums of scores; of a lazy Dask array another one."""
        if not isinstance(total, np.ndarray):
            return total.map_blocks(self.says, dtype=float)
        values = total * self.unit + self.mean
        found = [scale.carried_back(z) for scale, z in zip(self.scales, values.T, strict=True)]
        return np.stack(found, axis=1)

    def deviations(self, total: Floats, spreads: Floats) -> Floats:
        """Return standard deviations (m, t) of the numbers, from those of sums of scores.

        Half the width of an interval of one deviation to either side.
        """
        return np.asarray((self.says(total + spreads) - self.says(total - spreads)) / 2)

    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        """Return the weights (p,) with the least squared error, see `part_weights`."""
        as_given = all(scale.kind == AS_GIVEN for scale in self.scales)
        return part_weights.of_least_squares(scores, truth, counts, start, as_given=as_given)

    def start_weight(self, leads: bool, n_leading: int, n_parts: int) -> float:
        """Return the weight of a part before held-out rows are asked."""
        if n_leading:
            return 1 / n_leading if leads else 0.0
        return 1 / n_parts

    def truth(self, target: AnyArray) -> AnyArray:
        """Return what sums are judged by (m, t)."""
        return self.targets(target)

    def losses(self, total: Floats, truth: AnyArray) -> Floats:
        return np.asarray(((total - truth) ** 2).mean(axis=1))

    def named(self, total: Floats, truth: AnyArray, shares: Floats) -> dict[str, float]:
        error = (self.says(total) - self.says(truth)) / self.spread
        return {"R²": 1 - float((error**2).mean(axis=1) @ shares)}


AnyAnswer = Classes | Numbers
