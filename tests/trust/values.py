"""The valid values that the entrances are called with: small, and exact in every float type."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pandas as pd

from cayleyklein import (
    MMC,
    CayleyKleinVoronoi,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedMetric,
    CurvedNeighbors,
    MixedMetric,
)
from cayleyklein.tables import TableClassifier, TableEncoder

DISC = CurvedMetric.euclidean(2, curvature=-1.0)
SPHERE = CurvedMetric.euclidean(2, curvature=1.0)
FLAT = CurvedMetric.euclidean(2)
MIXED = MixedMetric([SPHERE, DISC])

X = np.array(
    [
        [-32, 8], [-28, -12], [-24, 20], [-20, 0], [-16, -24], [-30, 2], [-12, 14], [-18, -6],
        [32, -8], [28, 12], [24, -20], [20, 1], [16, 24], [30, -3], [12, -14], [18, 6],
    ]
) / 64  # fmt: skip
Y = np.repeat(["a", "b"], 8)
TARGETS = X @ [1.0, 2.0] + 0.25
WEIGHTS = np.tile([1.0, 2.0], 8)
QUERIES = np.array([[4, 8], [-16, 12], [20, -4], [-2, -30]]) / 64
P, Q = X[:3], X[8:11]
FORM = np.diag([1.0, 1.0, -1.0])
COLLINEATION = np.array([[1.0, 0.25, 0.0], [0.0, 1.0, 0.5], [0.125, 0.0, 1.0]])
TABLE = pd.DataFrame({"length": X[:, 0], "width": X[:, 1], "colour": np.tile(["red", "blue"], 8)})

QUICK: dict[str, Any] = {"geometry": "elliptic", "max_iter": 3, "random_state": 0}


@functools.cache
def fitted(name: str) -> Any:
    """Return a fitted estimator, or another object that methods belong to."""
    make = {
        "lmnn": lambda: CurvedLMNN(**QUICK).fit(X, Y),
        "flat": lambda: CurvedLMNN(geometry="flat", max_iter=3).fit(X, Y),
        "mmc": lambda: MMC(tol=1e-2).fit(X, Y),
        "neighbors": lambda: CurvedNeighbors(DISC, n_neighbors=2).fit(X),
        "regressor": lambda: CurvedKNeighborsRegressor(DISC, n_neighbors=2).fit(X, TARGETS),
        "classifier": lambda: CurvedKNeighborsClassifier(metric=DISC).fit(X, Y),
        "table": lambda: TableClassifier(geometry="elliptic").fit(TABLE, Y),
        "encoder": lambda: TableEncoder().fit(TABLE),
        "diagram": lambda: CayleyKleinVoronoi(X, DISC, labels=Y),
        "space diagram": lambda: CayleyKleinVoronoi(
            np.column_stack([X, X[::-1, 0]]), CurvedMetric.euclidean(3, curvature=-1.0)
        ),
        "flat diagram": lambda: CayleyKleinVoronoi(X, FLAT, labels=Y),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations are few, and enough here
        return make[name]()
