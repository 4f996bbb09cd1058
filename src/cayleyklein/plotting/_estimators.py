"""What a picture needs to know of a fitted estimator and of its data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, MixedMetric
from cayleyklein.metrics._spheres import Metric

__all__ = ["as_labels", "find_metric"]


def as_labels(y: ArrayLike | None, n: int) -> NDArray[Any] | None:
    """Check that there is one label for each of n rows, or no labels."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise InvalidInputError(
            f"y must have one label for each of the {n} rows; got shape {labels.shape}."
        )
    return labels


def find_metric(estimator: Any, X: Any) -> tuple[Metric | None, Any]:
    """Return the metric of an estimator or of a step of a pipeline, and the rows that reach it.

    It is the one that a learner has learned (``metric_``) or that a classifier was given
    (``metric``); None when there is neither.
    """
    for place, (_, step) in enumerate(getattr(estimator, "steps", ((None, estimator),))):
        for name in ("metric_", "metric"):
            metric = getattr(step, name, None)
            if isinstance(metric, CurvedMetric | MixedMetric):
                return metric, estimator[:place].transform(X) if place else X
    return None, X
