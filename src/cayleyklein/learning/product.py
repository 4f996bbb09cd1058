"""The product metric: its parts side by side, each in units of its own nearest neighbours.

d² = Σ (chord_p / u_p)², where u_p is the median distance of a row to its nearest few in part p.
"""

from collections.abc import Callable

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein.geometry import lifts
from cayleyklein.learning.descent import Fit
from cayleyklein.learning.objectives.lifted import Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.metrics import MixedMetric, ProductMetric
from cayleyklein.neighbors import euclidean

# Rows, evenly spaced, whose distances to their nearest few have the median that is a unit.
UNIT_ROWS, UNIT_NEIGHBORS = 2000, 3

Fits = tuple[Fit, ...]


def product_of(rows: TrainingRows, fits: Fits) -> ProductMetric:
    metrics = [rows.to_metric(fit.found, fit.recipe.unit) for fit in fits]
    units = [part_unit(rows, fit.found) / fit.recipe.unit for fit in fits]
    return ProductMetric(metrics, units)


def mixed_of(rows: TrainingRows, fits: Fits, alpha: float) -> MixedMetric:
    """Return the paper's α d_E + (1 - α) d_H, for rows as they were given."""
    shares = (alpha, 1 - alpha)
    weights = [s / part_unit(rows, fit.found) for s, fit in zip(shares, fits, strict=True)]
    return MixedMetric([rows.to_metric(fit.found) for fit in fits], weights)


def product_map(rows: TrainingRows, fits: Fits) -> Callable[[Floats], Floats]:
    parts = [(fit.found, part_unit(rows, fit.found)) for fit in fits]
    return lambda X: np.hstack([_coordinates(X, found) / unit for found, unit in parts])


def part_unit(rows: TrainingRows, found: Parameters) -> float:
    Z = _coordinates(rows.X, found)
    some = Z[euclidean.even_rows(len(Z), UNIT_ROWS)]
    k = min(UNIT_NEIGHBORS, len(Z) - 1)
    distances, _ = euclidean.nearest_rows(Z, some, k + 1)
    return float(np.median(distances[:, 1:])) or 1.0


def _coordinates(X: Floats, found: Parameters) -> Floats:
    return lifts.euclidean_coordinates((X - found.center) @ found.factor.T, found.curvature)
