"""What scores mean, classes or numbers, and how much each part of a sum counts.

An answer says what machines are fitted to (`targets`), what neighbours' answers are as scores
(`of_votes`), how a weighted sum of scores is judged (`losses`, `named`), which weights are best
(`weigh`), and what a sum says (`says`). Scores are (p, m, t) of p parts, for m rows.

The best weights (p,) are those with the least loss on held-out rows. They are not negative, and are
drawn to a start, which they have where nothing was held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax, softmax

from cayleyklein._typing import AnyArray, Bools, Floats
from cayleyklein.prediction.scales import AS_GIVEN, NumberScale, mean_and_unit

# Rows as which weights of numbers are drawn to the start. R² against one row: on 7 tables of 120
# rows +0.002 (with 30 rows +0.004), on 5 of 350 rows +0.0004 (+0.0007), on 3 hard problems of 120
# rows +0.002 ± 0.001 (-0.001 ± 0.001).
PULL_OF_NUMBERS = 10.0
# Most that weights of numbers may add up to. Parts that shrink need more than 1: where 58 of 60
# columns are noise 1.6, and R² is 0.05 lower with 1.1. On another scale than the one given a sum
# that goes too far goes too far by a factor: of 56 draws of exponentials the least R² on the
# training rows is 0.33 with 1, −0.9 with 1.1 and −28 with 1.3; mean errors of the logarithm of new
# ones are 0.40, 0.44 and 0.46.
MOST_WEIGHT = 2.0
MOST_WEIGHT_ON_SCALES = 1.0


@dataclass(frozen=True)
class Classes:
    """Class probabilities: the softmax of a sum of scores, and one more row of the class shares.

    (n softmax + prior) / (n + 1): with n rows, no probability is 0 or 1. Machines are fitted to ±1.
    A class whose rows weigh nothing has the share 0, and is never predicted.
    """

    prior: Floats  # (C,)
    n_rows: float

    def modelled(self, target: AnyArray) -> AnyArray:
        """Return classes as they are modelled: as they are."""
        return target

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
        """Return the weights (p,) with the least log loss."""
        number = np.cumsum(self.known) - 1  # among the known classes
        return weights_of_least_log_loss(scores[:, :, self.known], number[truth], counts, start)

    def usual(self) -> Floats:
        """Return the scores (C,) of a row of which nothing is known."""
        return np.log(np.where(self.known, self.prior, 1.0))

    def start_weights(self, leads: Sequence[bool]) -> Floats:
        """Return the weights (p,) of parts, of which some lead, before held-out rows are asked."""
        if any(leads):
            return np.where(leads, 1.5, 0.0)  # of machines with scores of about ±1
        return np.full(len(leads), 1 / len(leads))

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
        """Return the weights (p,) with the least squared error."""
        as_given = all(scale.kind == AS_GIVEN for scale in self.scales)
        return weights_of_least_squares(scores, truth, counts, start, as_given=as_given)

    def usual(self) -> Floats:
        """Return the scores (t,) of a row of which nothing is known."""
        return np.zeros(len(self.mean))

    def start_weights(self, leads: Sequence[bool]) -> Floats:
        """Return the weights (p,) of parts, of which some lead, before held-out rows are asked."""
        if any(leads):
            return np.where(leads, 1 / sum(leads), 0.0)
        return np.full(len(leads), 1 / len(leads))

    def truth(self, target: AnyArray) -> AnyArray:
        """Return what sums are judged by (m, t)."""
        return self.targets(target)

    def losses(self, total: Floats, truth: AnyArray) -> Floats:
        return np.asarray(((total - truth) ** 2).mean(axis=1))

    def named(self, total: Floats, truth: AnyArray, shares: Floats) -> dict[str, float]:
        error = (self.says(total) - self.says(truth)) / self.spread
        return {"R²": 1 - float((error**2).mean(axis=1) @ shares)}


AnyAnswer = Classes | Numbers


def weights_of_least_log_loss(
    scores: Floats, truth: AnyArray, counts: Floats, start: Floats
) -> Floats:
    """Return the weights whose softmax has the least log loss; `counts` (m,) weigh the rows.

    They are drawn to the start as by one row.
    """
    rows = np.arange(len(truth))

    def loss(weights: Floats) -> tuple[float, Floats]:
        logs = log_softmax(np.tensordot(weights, scores, 1), axis=1)
        excess = counts[:, None] * np.exp(logs)
        excess[rows, truth] -= counts
        away = weights - start
        slope = np.tensordot(scores, excess, 2) + 2 * away
        return float(-counts @ logs[rows, truth] + away @ away), slope

    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(scores),
        options={"ftol": 1e-13, "gtol": 1e-9},
    )
    return np.asarray(found.x)


def weights_of_least_squares(
    scores: Floats, truth: AnyArray, counts: Floats, start: Floats, *, as_given: bool
) -> Floats:
    """Return the weights with the least squared error of numbers; `counts` (m,) weigh the rows.

    Their sum is bounded, more so where numbers are not modelled `as_given`.
    """
    error = truth - np.tensordot(start, scores, 1)
    noise = float(np.sqrt(counts @ (error**2).mean(axis=1) / counts.sum())) or 1.0
    roots = np.sqrt(counts / truth.shape[1])[:, None] / noise
    pull = np.sqrt(PULL_OF_NUMBERS)
    system = np.vstack([(scores * roots).reshape(len(scores), -1).T, pull * np.eye(len(start))])
    wanted = np.concatenate([(truth * roots).ravel(), pull * start])
    found = nnls(system, wanted)[0]
    most = MOST_WEIGHT if as_given else MOST_WEIGHT_ON_SCALES
    if found.sum() <= most:
        return np.asarray(found)
    surely = 1e4 * np.abs(system).max()  # one more equation that outweighs the others
    system = np.vstack([system, np.full(len(start), surely)])
    return np.asarray(nnls(system, np.append(wanted, surely * most))[0])
