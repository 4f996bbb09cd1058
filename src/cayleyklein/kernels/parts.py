"""The parts of a sum of scores, fitted to some rows: kernel machines, and neighbours' votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cayleyklein._typing import AnyArray, Floats
from cayleyklein.kernels.machine import (
    GAMMAS,
    RIDGES,
    Distance,
    KernelMachine,
    MetricDistance,
    TargetPoints,
    Tuning,
    fit_machine,
    standard_weights,
    weigh_columns,
)
from cayleyklein.learning.rows import GivenRows
from cayleyklein.metrics import CurvedMetric
from cayleyklein.metrics.combined import Metric
from cayleyklein.selection.n_neighbors import NEIGHBORS

PARTS = ("metric", "columns", "neighbors", "plain")
"""Kernel machines in the metric and in weighted columns; neighbours in the metric, and plain ones.
"""

VOTING, LEARNED = {"neighbors", "plain"}, {"metric", "neighbors"}
"""Parts that are votes of neighbours, and parts that need the metric."""

MOST_COPIES = 100
"""Mean number of rows that weights may stand for."""

PLAIN_ROWS = 100_000
"""Rows whose standard deviations are the units of columns for plain neighbours."""


def pool_rows(given: GivenRows, targets: Floats, counted: bool) -> TargetPoints:
    """Pool equal rows of positive weight in memory; if `counted`, weights are numbers of rows."""
    kept = given.weights > 0
    X, weights = cast(Floats, given.X)[kept], given.weights[kept]
    rows, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    mass: Floats = np.bincount(place, weights=weights).astype(float)
    share = (weights / mass[place])[:, None]
    mean = np.zeros((len(rows), targets.shape[1]))
    np.add.at(mean, place, share * targets[kept])
    numbers = np.flatnonzero(kept)[first]
    if not counted:
        ones = np.ones(len(mass))
        return TargetPoints(rows, mean, mass * (len(mass) / mass.sum()), ones, 0 * ones, numbers)
    away = (targets[kept] - mean[place]) ** 2
    spreads: Floats = np.bincount(place, weights=(share * away).sum(axis=1)).astype(float)
    return TargetPoints(rows, mean, mass, mass, spreads, numbers)


def counted_rows(given: GivenRows) -> tuple[GivenRows, bool]:
    """Return rows whose weights are numbers of rows, if the given ones can be.

    They can where each is a multiple of the least, at most `MOST_COPIES` times as large on average:
    then a weight of 2 is two rows, and a common factor changes nothing. Other weights say how much
    a row counts, not how often it was seen.
    """
    kept = given.weights > 0
    counts = given.weights / given.weights[kept].min()
    whole = np.rint(counts)
    if not np.allclose(counts, whole, rtol=1e-9, atol=0) or whole.sum() > MOST_COPIES * kept.sum():
        return given, False
    return replace(given, weights=whole), True


@dataclass(frozen=True)
class FittedParts:
    """Kernel machines and fitted neighbours' estimators, by the names of their parts."""

    machines: dict[str, KernelMachine]
    voters: dict[str, Any]

    @property
    def tunings(self) -> dict[str, Tuning]:
        return {name: machine.tuning for name, machine in self.machines.items()}


@dataclass(frozen=True)
class PartFitter:
    """How the parts are fitted: which ones, with which γ and λ, and what the targets are."""

    names: tuple[str, ...]
    targets: Callable[[AnyArray], Floats]  # codes of classes or numbers → (n, t)
    make_neighbors: Callable[[GivenRows, Metric], Any]
    gammas: tuple[float, ...] = GAMMAS
    ridges: tuple[float, ...] = RIDGES
    spreads: bool = False  # whether variances are wanted
    numbers: tuple[int, ...] = NEIGHBORS  # of neighbours, that are tried

    def fit(
        self, given: GivenRows, points: TargetPoints, metric: Metric | None,
        tunings: dict[str, Tuning] | None = None,
    ) -> FittedParts:  # fmt: skip
        """Fit the parts to rows in memory and their points; without tunings, γ and λ are chosen."""
        machines = {}
        for name in self.names:
            if name in VOTING:
                continue
            distance: Distance
            if name == "columns":
                distance = weigh_columns(points)
            else:
                distance = MetricDistance(cast(Metric, metric))
            tuning = None if tunings is None else tunings[name]
            machines[name] = fit_machine(distance, points, tuning, self.gammas, self.ridges)
        return FittedParts(machines, self.voters(given, metric))

    def voters(self, given: GivenRows, metric: Metric | None) -> dict[str, Any]:
        """Fit the neighbours' estimators to rows, in memory or on a cluster."""
        found = {}
        for name in self.names:
            if name == "plain":
                found[name] = self.make_neighbors(given, standard_metric(given))
            elif name == "neighbors":
                found[name] = self.make_neighbors(given, cast(Metric, metric))
        return found

    def spread(self, fitted: FittedParts, X: Floats) -> Floats:
        """Return the standard deviation of new targets (m,), in units of σ, by the machines."""
        if not (self.spreads and fitted.machines):
            return np.ones(len(X))
        found = [machine.variances(X) for machine in fitted.machines.values()]
        return np.asarray(np.sqrt(np.mean(found, axis=0)))


def standard_metric(given: GivenRows) -> CurvedMetric:
    """Return the flat metric of standardised columns; of Dask rows by a sample."""
    X, _, weights = given.draw(PLAIN_ROWS, 1, np.random.default_rng(0))
    return CurvedMetric(factor=standard_weights(X, weights))
