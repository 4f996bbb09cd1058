"""Kernel machines: ridge regression in the learned metric, in weighted columns, or in their ranks.

Scores of many rows are sums of kernels at landmarks, see `landmarks`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.metrics import Metric
from cayleyklein.parts import distances, landmarks, ridge
from cayleyklein.parts.base import FitRows
from cayleyklein.parts.places import TargetPlaces
from cayleyklein.parts.ridge import KernelMachine

# (rows, metric) → the distance of a kernel
MakeDistance = Callable[[TargetPlaces, Metric | None], ridge.Distance]


@dataclass(frozen=True)
class KernelPart:
    """The part that is a kernel machine; it chooses γ and λ by leaving rows out."""

    name: str
    needs_metric: bool
    make_distance: MakeDistance
    gammas: tuple[float, ...] = ridge.GAMMAS
    ridges: tuple[float, ...] = ridge.RIDGES
    leads: bool = True

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> KernelMachine:
        """Fit a machine to the places of the rows."""
        distance = self.make_distance(rows.places, metric)
        return ridge.fit_machine(distance, rows.places, settings, self.gammas, self.ridges)

    def fit_many(
        self,
        rows: landmarks.ManyRows,
        metric: Metric | None,
        n_landmarks: int | None,
        rng: np.random.Generator,
    ) -> tuple[KernelMachine, Floats]:
        """Fit a machine to many rows; return it, and the scores of held-out rows without them."""
        return landmarks.fit_by_landmarks(
            self.make_distance(rows.sample, metric),
            rows,
            self.gammas,
            self.ridges,
            n_landmarks,
            rng,
        )


def in_metric(rows: TargetPlaces, metric: Metric | None) -> ridge.Distance:
    return distances.metric_distance(cast(Metric, metric))


def in_columns(rows: TargetPlaces, metric: Metric | None) -> ridge.Distance:
    return distances.weigh_columns(rows)


def in_ranks(rows: TargetPlaces, metric: Metric | None) -> ridge.Distance:
    return distances.rank_distance(rows)
