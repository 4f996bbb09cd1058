"""What a descent minimises: a recipe poses an objective, an objective evaluates a metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.learning.objectives._lifted import Parameters

if TYPE_CHECKING:
    from cayleyklein.learning._rows import TrainingRows


class Evaluation(NamedTuple):
    """Loss, gradient and violated comparisons; inf and None outside a hyperbolic domain."""

    loss: float
    gradient: Parameters | None
    n_active: int = 0


Objective = Callable[[Parameters], Evaluation]
"""A function of the metric alone."""


@dataclass(frozen=True)
class Recipe:
    """A geometry, a start, and for how long to descend; a subclass adds its objective.

    An elliptic start is `spread` times the standardised columns. A hyperbolic start has its
    farthest row at √-K‖z‖ = `radius`; the domain ends at 1.
    """

    geometry: str
    init: str = "std"
    n_components: int | None = None
    n_passes: int = 4
    max_iter: int = 5
    spread: float = 2.0
    radius: float = 0.2

    @property
    def curvature(self) -> float:
        """K at the start."""
        return {"flat": 0.0, "elliptic": 1.0, "hyperbolic": -1.0, "learned": 1.0}[self.geometry]

    @property
    def unit(self) -> float:
        """Distance at |K| = 1 that counts as 1 in a product."""
        return 1.0 if self.geometry == "flat" else self.spread

    @property
    def name(self) -> str:
        """What is being learned, in words."""
        return self.geometry

    def scale_of(self, z: Floats) -> float:
        """Return the factor on a start with coordinates z (n, r), by the geometry."""
        if self.curvature < 0:
            return self.radius / (float(np.linalg.norm(z, axis=1).max()) or 1.0)
        return self.spread if self.curvature > 0 else 1.0

    def pose(self, rows: TrainingRows, anchors: Ints, found: Parameters) -> Objective:
        """Return the objective of a pass that starts at `found`, with terms for some rows."""
        raise NotImplementedError
