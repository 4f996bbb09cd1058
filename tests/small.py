"""Small valid values that the tests of bad input share, exact in every float type."""

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
    CurvedMDS,
    CurvedMetric,
    CurvedMLKR,
    CurvedNeighbors,
    CurvedPairs,
    CurvedQuadruplets,
    CurvedTriplets,
    MixedMetric,
    ProductMetric,
)
from cayleyklein.tables import TableClassifier, TableEncoder, TableRegressor

DISC = CurvedMetric.euclidean(2, curvature=-1.0)
SPHERE = CurvedMetric.euclidean(2, curvature=1.0)
FLAT = CurvedMetric.euclidean(2)
MIXED = MixedMetric([SPHERE, DISC])
PRODUCT = ProductMetric([SPHERE, FLAT])

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
LINES = np.column_stack([P, [0.0625, 0.125, 0.0]])
MORE_LINES = np.column_stack([-X[[1, 2, 4]], [0.0625, 0.0, -0.125]])
FORM = np.diag([1.0, 1.0, -1.0])
SIMILAR, DISSIMILAR = np.stack([X[:8], X[7::-1]], axis=1), np.stack([X[:8], X[8:]], axis=1)
TUPLES = {
    "pairs": np.concatenate([SIMILAR, DISSIMILAR]),
    "triplets": np.concatenate([SIMILAR, X[8:, None]], axis=1),
    "quadruplets": np.concatenate([SIMILAR, DISSIMILAR], axis=1),
}
SIGNS = np.repeat([1.0, -1.0], 8)
TABLE = pd.DataFrame({"length": X[:, 0], "width": X[:, 1], "colour": np.tile(["red", "blue"], 8)})


@functools.cache
def fitted(name: str) -> Any:
    """Return a fitted estimator or a diagram."""
    make = {
        "lmnn": lambda: CurvedLMNN(geometry="elliptic", max_iter=3, random_state=0).fit(X, Y),
        "mlkr": lambda: CurvedMLKR(geometry="elliptic", random_state=0).fit(X, TARGETS),
        "pairs": lambda: CurvedPairs().fit(TUPLES["pairs"], SIGNS),
        "triplets": lambda: CurvedTriplets().fit(TUPLES["triplets"]),
        "quadruplets": lambda: CurvedQuadruplets().fit(TUPLES["quadruplets"]),
        "indexed": lambda: CurvedPairs(preprocessor=X).fit([[0, 1], [0, 8]], [1, -1]),
        "mds": lambda: CurvedMDS(curvature=-1.0, random_state=0).fit(X),
        "mmc": lambda: MMC(tol=1e-2).fit(X, Y),
        "neighbors": lambda: CurvedNeighbors(2, metric=DISC).fit(X),
        "regressor": lambda: CurvedKNeighborsRegressor(2, metric=DISC).fit(X, TARGETS),
        "classifier": lambda: CurvedKNeighborsClassifier(metric=DISC).fit(X, Y),
        "table": lambda: TableClassifier(geometry="elliptic").fit(TABLE, Y),
        "table of numbers": lambda: TableRegressor(geometry="flat").fit(TABLE, TARGETS),
        "encoder": lambda: TableEncoder().fit(TABLE),
        "diagram": lambda: CayleyKleinVoronoi(X, DISC, labels=Y),
        "space diagram": lambda: CayleyKleinVoronoi(
            np.column_stack([X, X[::-1, 0]]), CurvedMetric.euclidean(3, curvature=-1.0)
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations are few, and enough here
        return make[name]()
