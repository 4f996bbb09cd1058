"""What the labels of the nearest points say of a query: votes and class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.neighbors.search import Ranked
from cayleyklein.prediction.pooled_points import LeftOut, Points
from cayleyklein.prediction.scales import LocalScales
from cayleyklein.prediction.shrinkage import class_probabilities
from cayleyklein.prediction.vote_weights import Weights, local_votes, neighbor_weights


class Ballots(NamedTuple):
    """A list of votes: for which query, by which of its nearest points, for which class.

    `rows` are the first fitted rows of that class at the point.
    """

    queries: Ints
    places: Ints
    labels: Ints
    votes: Floats
    rows: Ints


@dataclass(frozen=True)
class LabelVotes:
    """Labelled rows at points, and the votes that points cast.

    `labels` are 0 to `n_classes` - 1. With the weights "local", `scales` are those of the points.
    """

    points: Points
    labels: Ints
    row_weights: Floats
    n_classes: int
    weights: Weights
    scales: LocalScales | None = None

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Floats, Ints]:
        """First entry of each point (p + 1,), and label, weight and first row of each entry.

        The rows of one label at a point are one entry.
        """
        kept = np.flatnonzero(self.points.of_rows >= 0)
        pairs = self.points.of_rows[kept] * self.n_classes + self.labels[kept]
        keys, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        at, label = np.divmod(keys, self.n_classes)
        starts = np.searchsorted(at, np.arange(len(self.points.rows) + 1))
        weight: Floats = np.bincount(inverse, weights=self.row_weights[kept]).astype(float)
        return starts, np.asarray(label), weight, kept[first]

    @cached_property
    def mass(self) -> Floats:
        weights, most = self.row_weights, self.n_classes
        return np.bincount(self.labels, weights=weights, minlength=most).astype(float)

    @property
    def prior(self) -> Floats:
        return np.asarray(self.mass / self.mass.sum())

    def probabilities(
        self, found: Ranked, k: int, left_out: LeftOut | None = None, prior: Floats | None = None
    ) -> Floats:
        """Return the probability of each class (m, C) by the k nearest points.

        The probabilities are those of a fit without the row that each query leaves out. A `prior`
        takes the place of the shares of the classes.
        """
        queries, places, labels, votes, _ = self.ballots(found, k, left_out)
        m, C = len(found.rows), self.n_classes
        cell = queries * C + labels
        total: Floats = np.bincount(cell, weights=votes, minlength=m * C).astype(float)
        nearest = np.full(m * C, np.inf)
        voting = votes > 0
        np.minimum.at(nearest, cell[voting], found.distances[queries, places][voting])
        mass, n_points = self.mass, len(self.points.rows) * np.ones(m)
        if left_out is not None:
            own = left_out.points >= 0
            mass = np.tile(mass, (m, 1))
            mass[own, self.labels[left_out.rows[own]]] -= self.row_weights[left_out.rows[own]]
            n_points -= left_out.vanish
        whole = np.maximum(mass, 0.0).sum(axis=-1)
        if prior is None:
            prior = np.maximum(mass, 0.0) / np.expand_dims(whole, -1)
        return class_probabilities(
            total.reshape(m, C), nearest.reshape(m, C), prior, whole / n_points
        )

    def ballots(self, found: Ranked, k: int, left_out: LeftOut | None = None) -> Ballots:
        """Return the votes of the k nearest points, of which more may have been found."""
        places, votes = self._voters(found, k, left_out)
        chosen = np.take_along_axis(found.rows, places, axis=1)
        starts, labels, weights, rows = self._entries
        length = np.where(votes > 0, starts[chosen + 1] - starts[chosen], 0).ravel()
        entry = np.arange(length.sum())
        entry += np.repeat(starts[chosen].ravel() - (np.cumsum(length) - length), length)
        query = np.repeat(np.repeat(np.arange(len(chosen)), chosen.shape[1]), length)
        place, label, weight = np.repeat(places.ravel(), length), labels[entry], weights[entry]
        if left_out is not None:
            own = left_out.rows[query]
            mine = found.rows[query, place] == left_out.points[query]
            mine &= label == self.labels[own]
            weight = np.where(mine, weight - self.row_weights[own], weight)
        return Ballots(query, place, label, np.repeat(votes.ravel(), length) * weight, rows[entry])

    def _voters(self, found: Ranked, k: int, left_out: LeftOut | None) -> tuple[Ints, Floats]:
        """Return the places of the points that vote (m, k), nearest first, and their votes."""
        present = found.rows >= 0
        if self.scales is None:
            votes = neighbor_weights(found.distances, k, self.weights, present)
            return np.broadcast_to(np.arange(votes.shape[1]), votes.shape), votes
        scales = self.scales.scales[found.rows]
        if left_out is not None and left_out.vanish.any():
            gone = np.flatnonzero(left_out.vanish)
            without = self.scales.without(left_out.points[gone])
            scales[gone] = np.take_along_axis(without, found.rows[gone], axis=1)
        return local_votes(found.distances, scales, k, present)
