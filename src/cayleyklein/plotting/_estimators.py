"""Checks of the rows, labels and estimators to show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import diagrams
from cayleyklein._typing import AnyArray, Floats
from cayleyklein._validation import as_points, refuse_huge
from cayleyklein.metrics import Metric

__all__ = ["as_labels", "as_rows", "find_metric"]


def as_rows(X: ArrayLike, d: int | None = None) -> Floats:
    """Check rows to show."""
    rows = as_points(X, "X", d, ndim=2)
    refuse_huge(rows, "X")
    return rows


def as_labels(y: ArrayLike | None, n: int) -> AnyArray | None:
    """Check that there is one label for each of n rows, or no labels."""
    if y is None:
        return None
    diagrams.as_labels(y, n, "y")
    return np.asarray(y)


def find_metric(estimator: Any, X: Any) -> tuple[Metric | None, Any]:
    """Return the metric of an estimator or of a step of a pipeline, and the rows that reach it.

    It is the one that a learner has learned (``metric_``) or that a classifier was given
    (``metric``); None when there is neither.
    """
    for place, (_, step) in enumerate(getattr(estimator, "steps", ((None, estimator),))):
        for name in ("metric_", "metric"):
            metric = getattr(step, name, None)
            if isinstance(metric, Metric):
                return metric, estimator[:place].transform(X) if place else X
    return None, X
