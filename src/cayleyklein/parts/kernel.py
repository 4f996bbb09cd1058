"""Kernel machines: ridge regression in the learned metric, in weighted columns, or in their ranks.

Scores of many rows are sums of kernels at landmarks, see `landmarks`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.metrics import Metric
from cayleyklein.parts import distances, landmarks, ridge
from cayleyklein.parts.base import FitRows, Queries, on_blocks
from cayleyklein.parts.places import TargetPlaces

# (rows, metric) → the distance of a kernel
MakeDistance = Callable[[TargetPlaces, Metric | None], ridge.Distance]


@dataclass(frozen=True)
class FittedKernel:
    """A kernel machine as a part."""

    machine: ridge.KernelMachine

    @property
    def settings(self) -> ridge.Tuning:
        """γ, times the median distance, and λ."""
        return self.machine.tuning

    def with_settings(self, settings: Any) -> "FittedKernel":
        """Return the machine, which has chosen by leaving rows out."""
        return self

    def scores(self, X: Queries) -> Any:
        """Return the scores (m, t) of rows X."""
        return on_blocks(self.machine.scores, X, len(self.machine.offset))

    def trials(self, X: Floats) -> dict[Any, Floats]:
        """Return the scores (m, t) of rows X; folds choose nothing."""
        return {self.settings: self.machine.scores(X)}

    def variances(self, X: Floats) -> Floats:
        """Return the variances (m,) of new targets, in units of the noise."""
        return self.machine.variances(X)

    def row_effects(self, x: Floats) -> tuple[Ints, Floats]:
        """Return numbers of fitted rows (p,), and what each adds to the scores (p, t) of a row x.

        A machine is linear in the targets of the fitted rows: what each adds is exact.
        """
        moved = self.machine.influences(x[None])[0]
        return self.machine.numbers, moved[:, None] * self.machine.targets


@dataclass(frozen=True)
class KernelPart:
    """The part that is a kernel machine; it chooses γ and λ by leaving rows out."""

    name: str
    needs_metric: bool
    make_distance: MakeDistance
    gammas: tuple[float, ...] = ridge.GAMMAS
    ridges: tuple[float, ...] = ridge.RIDGES
    leads: bool = True

    def fit(self, rows: FitRows, metric: Metric | None, settings: Any = None) -> FittedKernel:
        """Fit a machine to the places of the rows."""
        distance = self.make_distance(rows.places, metric)
        machine = ridge.fit_machine(distance, rows.places, settings, self.gammas, self.ridges)
        return FittedKernel(machine)

    def fit_many(
        self,
        rows: landmarks.ManyRows,
        metric: Metric | None,
        n_landmarks: int | None,
        rng: np.random.Generator,
    ) -> tuple[FittedKernel, Floats]:
        """Fit a machine to many rows; return it, and the scores of held-out rows without them."""
        machine, scores = landmarks.fit_by_landmarks(
            self.make_distance(rows.sample, metric),
            rows,
            self.gammas,
            self.ridges,
            n_landmarks,
            rng,
        )
        return FittedKernel(machine), scores


def in_metric(rows: TargetPlaces, metric: Metric | None) -> ridge.Distance:
    return distances.metric_distance(cast(Metric, metric))


def in_columns(rows: TargetPlaces, metric: Metric | None) -> ridge.Distance:
    return distances.weigh_columns(rows)


def in_ranks(rows: TargetPlaces, metric: Metric | None) -> ridge.Distance:
    return distances.rank_distance(rows)
