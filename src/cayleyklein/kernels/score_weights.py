"""How much each part counts in a sum of scores, learned on held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax, softmax

from cayleyklein._typing import AnyArray, Floats
from cayleyklein.kernels.parts import VOTING

STEEPNESS = 1.5
"""Weight of a machine of class labels where no row was held out; its scores are about ±1."""


@dataclass(frozen=True)
class ScoreSum(ABC):
    """What a sum of scores says of the targets: how it is judged, and how parts are weighed.

    Scores are (p, m, t): of p parts, for m held-out rows with true targets and shares (m,).
    """

    @abstractmethod
    def start(self, names: tuple[str, ...]) -> Floats:
        """Return the weights (p,) where no row was held out, to which others are drawn."""

    @abstractmethod
    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        """Return weights (p,), not negative, with the least loss; `counts` (m,) weigh the rows.

        They are drawn to the start as by one row.
        """

    @abstractmethod
    def losses(self, total: Floats, truth: AnyArray) -> Floats:
        """Return the loss (m,) of each row by its weighted sum (m, t)."""

    @abstractmethod
    def named(self, total: Floats, truth: AnyArray, shares: Floats) -> dict[str, float]:
        """Return the mean scores of rows by their names."""


@dataclass(frozen=True)
class LabelSum(ScoreSum):
    """Class probabilities: the softmax of a sum of scores, and one more row of the class shares.

    (n softmax + prior) / (n + 1): with n rows, no probability is 0 or 1.
    """

    prior: Floats  # (C,)
    n_rows: float

    def smoothed(self, shares: Floats) -> Floats:
        return np.asarray((self.n_rows * shares + self.prior) / (self.n_rows + 1))

    def probabilities(self, total: Floats) -> Floats:
        return self.smoothed(softmax(total, axis=1))

    def start(self, names: tuple[str, ...]) -> Floats:
        return start_weights(names, STEEPNESS)

    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        rows = np.arange(len(truth))

        def loss(weights: Floats) -> tuple[float, Floats]:
            logs = log_softmax(np.tensordot(weights, scores, 1), axis=1)
            excess = counts[:, None] * np.exp(logs)
            excess[rows, truth] -= counts
            away = weights - start
            slope = np.tensordot(scores, excess, 2) + 2 * away
            return float(-counts @ logs[rows, truth] + away @ away), slope

        exact = {"ftol": 1e-13, "gtol": 1e-9}
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(scores),
            options=exact,
        )  # fmt: skip
        return np.asarray(found.x)

    def losses(self, total: Floats, truth: AnyArray) -> Floats:
        return np.asarray(-np.log(self.probabilities(total)[np.arange(len(truth)), truth]))

    def named(self, total: Floats, truth: AnyArray, shares: Floats) -> dict[str, float]:
        right = total.argmax(axis=1) == truth
        loss = float(self.losses(total, truth) @ shares)
        return {"log loss": loss, "accuracy": float(right @ shares)}


@dataclass(frozen=True)
class NumberSum(ScoreSum):
    """Predicted numbers (m, t), in units of each target's standard deviation."""

    def start(self, names: tuple[str, ...]) -> Floats:
        return start_weights(names, 1 / max(1, len(set(names) - VOTING)))

    def weigh(self, scores: Floats, truth: AnyArray, counts: Floats, start: Floats) -> Floats:
        error = truth - np.tensordot(start, scores, 1)
        noise = float(np.sqrt(counts @ (error**2).mean(axis=1) / counts.sum())) or 1.0
        roots = np.sqrt(counts / truth.shape[1])[:, None] / noise
        system = np.vstack([(scores * roots).reshape(len(scores), -1).T, np.eye(len(start))])
        return np.asarray(nnls(system, np.concatenate([(truth * roots).ravel(), start]))[0])

    def losses(self, total: Floats, truth: AnyArray) -> Floats:
        return np.asarray(((total - truth) ** 2).mean(axis=1))

    def named(self, total: Floats, truth: AnyArray, shares: Floats) -> dict[str, float]:
        return {"R²": 1 - float(self.losses(total, truth) @ shares)}


def start_weights(names: tuple[str, ...], machine: float) -> Floats:
    """Return the weights of parts before any row is held out: votes count where they are alone."""
    votes = 0.0 if set(names) - VOTING else 1 / len(names)
    return np.array([votes if name in VOTING else machine for name in names])
