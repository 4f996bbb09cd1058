"""A loss whose target neighbours are chosen: it looks for impostors, and is then a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cayleyklein._threads import Threads
from cayleyklein.geometry import Frame
from cayleyklein.learning._loss import Gradient, Links, Problem, loss_and_gradient
from cayleyklein.learning._search import find_impostors, radii

__all__ = ["Loss", "Posed", "PosedRows", "wide_radii"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

Loss = Callable[..., Gradient]
"""(L, μ, K, bends=…) → the loss and its gradient."""

SLACK = 1.12
"""Impostors are looked for out to this much more than the φ(d) that matters now."""


class Posed(Protocol):
    """Rows with their target neighbours."""

    def link(self, frame: Frame, per_row: int, pool: Threads | None) -> tuple[Loss, bool]:
        """Return the loss over the impostors under a frame, and whether a row has too many.

        A row keeps its nearest `per_row`.
        """


def wide_radii(targets: Index, X: Array, frame: Frame, margin: float, squared: bool) -> Array:
    """Return the square chord out to which each row looks for impostors."""
    slack = SLACK if squared else SLACK**2  # in terms of the square chord
    return slack * radii(targets, X, frame, margin, squared)


@dataclass(frozen=True)
class PosedRows:
    """Those of rows in memory."""

    problem: Problem
    labels: Index

    def link(self, frame: Frame, per_row: int, pool: Threads | None) -> tuple[Loss, bool]:
        """Return the loss over the impostors under a frame, and whether a row has too many."""
        problem = self.problem
        reach = wide_radii(problem.targets, problem.X, frame, problem.margin, problem.squared)
        pairs, crowded = find_impostors(problem.X, self.labels, reach, frame, per_row)
        links = Links.of(problem.targets, pairs)
        return partial(loss_and_gradient, problem, links, pool=pool), crowded
