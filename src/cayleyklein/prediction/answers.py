"""What scores mean: classes or numbers.

An answer says what machines are fitted to (`targets`), what neighbours' answers are as scores
(`of_votes`), how a weighted sum of scores is judged (`losses`, `named`), which weights are best
(`weigh`), and what a sum says (`says`). Scores are (p, m, t) of p parts, for m rows.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax, softmax

from cayleyklein._typing import AnyArray, Floats


@dataclass(frozen=True)
class Classes:
    """Class probabilities: the softmax of a sum of scores, and one more row of the class shares.

    (n softmax + prior) / (n + 1): with n rows, no probability is 0 or 1. Machines are fitted to ±1.
    """

    prior: Floats  # (C,)
    n_rows: float

    def targets(self, target: AnyArray) -> Floats:
        found = np.full((len(target), len(self.prior)), -1.0)
        found[np.arange(len(target)), target] = 1.0
        return found

    def smoothed(self, shares: Any) -> Any:
        return (self.n_rows * shares + self.prior) / (self.n_rows + 1)

    def of_votes(self, answers: Any) -> Any:
        return np.log(self.smoothed(answers))

    def says(self, total: Any) -> Any:
        return self.smoothed(softmax(total, axis=1))

    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        """Return weights (p,), not negative, with the least loss; `counts` (m,) weigh the rows.

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
        right = total.argmax(axis=1) == truth
        loss = float(self.losses(total, truth) @ shares)
        return {"log loss": loss, "accuracy": float(right @ shares)}


@dataclass(frozen=True)
class Numbers:
    """Predicted numbers (m, t); scores are in units of each target's standard deviation."""

    mean: Floats  # (t,)
    unit: Floats  # (t,); 1 for a constant target

    @classmethod
    def standardising(cls, Y: Floats, weights: Floats) -> Self:
        share = weights / weights.sum()
        mean = share @ Y
        deviation = np.sqrt(share @ (Y - mean) ** 2)
        return cls(mean, np.where(np.ptp(Y, axis=0) > 0, deviation, 1.0))

    def targets(self, target: AnyArray) -> Floats:
        return np.asarray((target.reshape(len(target), -1) - self.mean) / self.unit)

    def of_votes(self, answers: Any) -> Any:
        return (answers - self.mean) / self.unit

    def says(self, total: Any) -> Any:
        return total * self.unit + self.mean

    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        error = truth - np.tensordot(start, scores, 1)
        noise = float(np.sqrt(counts @ (error**2).mean(axis=1) / counts.sum())) or 1.0
        roots = np.sqrt(counts / truth.shape[1])[:, None] / noise
        system = np.vstack([(scores * roots).reshape(len(scores), -1).T, np.eye(len(start))])
        return np.asarray(nnls(system, np.concatenate([(truth * roots).ravel(), start]))[0])

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
        return {"R²": 1 - float(self.losses(total, truth) @ shares)}


AnyAnswer = Classes | Numbers
