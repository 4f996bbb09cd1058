"""What each geometry is trained with unless told otherwise.

The margin, the start and the number of iterations decide the basin of a loss that is not convex.
These were chosen by the mean accuracy over the data sets of the paper, others of scikit-learn and
generated ones together, not by data set; ``benchmarks/`` shows what they give. Few iterations
regularise: a hundred lose half a point of accuracy.
"""

from dataclasses import replace

import numpy as np

from cayleyklein.learning._data import Rows
from cayleyklein.learning._descent import Recipe

__all__ = [
    "GEOMETRIES",
    "SHRUNK_RADIUS",
    "default_impostors",
    "default_recipe",
    "default_targets",
]

SHRUNK_RADIUS = 0.02
"""Root mean square of ‖z‖ of a "shrunk" start: the metric grows from the centre."""

GEOMETRIES: dict[str, Recipe] = {
    "flat": Recipe("flat", 1.0, True, "std", None, max_iter=8, n_passes=3, n_targets=3),
    "elliptic": Recipe(
        "elliptic", 0.3, False, "precision", None, max_iter=10, n_passes=2, n_targets=3
    ),
    "hyperbolic": Recipe(
        "hyperbolic", 0.05, False, "shrunk", SHRUNK_RADIUS, max_iter=10, n_passes=4, n_targets=3
    ),
    "learned": Recipe(
        "learned", 0.3, False, "precision", None, max_iter=10, n_passes=2, n_targets=3
    ),
}
"""Geometry → recipe. A margin is in units of d² (flat) or of d at |K| = 1 (curved)."""

ROWS_PER_TARGET = 12
MOST_TARGETS = 10

IMPOSTOR_PAIRS = 100_000
FEWEST_IMPOSTORS = 50


def default_targets(data: Rows, n_neighbors: int) -> int:
    """Return how many target neighbours a row has: more where classes are large."""
    n_classes = np.count_nonzero(data.class_sizes)
    count = round(len(data) / (ROWS_PER_TARGET * n_classes))
    return int(max(n_neighbors, min(count, MOST_TARGETS)))


def default_impostors(data: Rows) -> int:
    """Return how many of its nearest impostors a row keeps."""
    return max(FEWEST_IMPOSTORS, IMPOSTOR_PAIRS // len(data))


def default_recipe(geometry: str, data: Rows, n_neighbors: int) -> Recipe:
    """Return the recipe of a geometry for the given rows."""
    return replace(GEOMETRIES[geometry], n_targets=default_targets(data, n_neighbors))
