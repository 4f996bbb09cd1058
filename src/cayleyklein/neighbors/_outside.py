"""What becomes of rows outside a hyperbolic domain, where there is no real distance.

Fitted rows must lie inside. A query outside is infinitely far from everything, and still has
neighbours: those by the affine function f_p of `geometry._bisectors` where there is one metric, and
those of its radial projection to just inside where there is a sum of several.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import list_indices
from cayleyklein.exceptions import OutsideDomainError
from cayleyklein.metrics import CurvedMetric

__all__ = ["JUST_INSIDE", "pull_inside", "refuse_outside"]

Array = NDArray[np.float64]

JUST_INSIDE = 1 - 1e-4
"""√-K‖z‖ to which a row outside a hyperbolic domain is pulled along its radius."""


def pull_inside(X: Array, metric: CurvedMetric) -> Array:
    """Move the rows on or outside the boundary of a hyperbolic domain to just inside.

    Rows inside stay, however close to the boundary: their distances are real.

    Examples
    --------
    >>> pull_inside(
    ...     np.array([[0.5, 0.0], [0.0, 3.0]]), CurvedMetric(factor=np.eye(2), curvature=-1.0)
    ... )
    array([[0.5   , 0.    ],
           [0.    , 0.9999]])
    """
    if metric.curvature >= 0:
        return X
    z = metric._coordinates(X)
    beyond = metric._form_values(X, z, "X") <= 0
    if not beyond.any():
        return X
    radius = np.sqrt(-metric.curvature * np.einsum("ij,ij->i", z, z))
    shrink = np.where(beyond, JUST_INSIDE / np.maximum(radius, JUST_INSIDE), 1.0)
    return np.where(beyond[:, None], metric.center + (X - metric.center) * shrink[:, None], X)


def refuse_outside(inside: NDArray[np.bool_], what: str, advice: str, first_row: int = 0) -> None:
    """Raise an error that names the rows outside, counted from `first_row`."""
    if not inside.all():
        rows: NDArray[Any] = np.flatnonzero(~inside) + first_row
        raise OutsideDomainError(
            f"{what} has {len(rows)} row(s) on or outside the boundary of the hyperbolic domain: "
            f"{list_indices(rows)}; {advice}."
        )
