"""The checked parameters of a search."""

from __future__ import annotations

import math

from cayleyklein._validation import as_real
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.neighbors._rows import Metric

__all__ = ["as_metric", "as_radius"]


def as_metric(metric: object, n_features: int) -> Metric:
    """Check the metric of a search against the number of columns."""
    if metric is None:
        return CurvedMetric.euclidean(n_features)
    if not isinstance(metric, CurvedMetric | MixedMetric | ProductMetric):
        raise InvalidInputError(
            f"metric must be a CurvedMetric, a MixedMetric, a ProductMetric or None; got "
            f"{type(metric).__name__}."
        )
    if metric.dimension != n_features:
        raise InvalidInputError(
            f"X has {n_features} columns, but the metric is for {metric.dimension}."
        )
    return metric


def as_radius(value: object) -> float:
    """Check a radius."""
    infinite = isinstance(value, float) and value == math.inf
    radius = math.inf if infinite else as_real(value, "radius")
    if radius < 0:
        raise InvalidInputError(f"Got radius={radius:g}, but expected a number ≥ 0.")
    return radius
