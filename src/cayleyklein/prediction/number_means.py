"""What the targets of the nearest points say of a query: their weighted mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.neighbors.search import Ranked
from cayleyklein.prediction.pooled_points import LeftOut, Points
from cayleyklein.prediction.vote_weights import Weights, neighbor_weights


@dataclass(frozen=True)
class NumberMeans:
    """Rows with targets (n, t) at points: each point has their total weight and mean."""

    points: Points
    targets: Floats
    row_weights: Floats
    weights: Weights

    @cached_property
    def pooled(self) -> tuple[Floats, Floats]:
        """Weight (p,) and mean target (p, t) of each point."""
        kept = self.points.of_rows >= 0
        at, weights = self.points.of_rows[kept], self.row_weights[kept]
        total: Floats = np.bincount(at, weights=weights, minlength=len(self.points.rows)).astype(
            float
        )
        share = np.divide(weights, total[at], out=np.ones_like(weights), where=total[at] > 0)
        mean = np.zeros((len(total), self.targets.shape[1]))
        np.add.at(mean, at, share[:, None] * self.targets[kept])
        return total, mean

    def means(self, found: Ranked, k: int, left_out: LeftOut | None = None) -> Floats:
        """Return the mean targets (m, t) of the k nearest points, as without a row left out.

        Points of weight 0, as rows on a cluster may be, count where all k weigh nothing.
        """
        total, mean = self.pooled
        votes = neighbor_weights(found.distances, k, self.weights, found.rows >= 0)
        weight, target = total[found.rows[:, :k]], mean[found.rows[:, :k]]
        if left_out is not None:
            query, place = np.nonzero(found.rows[:, :k] == left_out.points[:, None])
            own = left_out.rows[query]
            left = weight[query, place] - self.row_weights[own]
            share = np.divide(self.row_weights[own], left, np.zeros_like(left), where=left > 0)
            target[query, place] += share[:, None] * (target[query, place] - self.targets[own])
            weight[query, place] = left
        weighed = votes * weight
        votes = np.where(weighed.sum(axis=1, keepdims=True) > 0, weighed, votes)
        votes /= votes.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("mk,mkt->mt", votes, target))
