"""Isometries as collineations: matrices H acting on homogeneous points x̃ = (x, 1).

With lifted points P = (z_p, 1)/σ_p and the form B = diag(K, …, K, 1), for which
PᵀBP = 1, the transvection along the geodesic from p to q is

    T = I - (P + Q)(P + Q)ᵀB / (1 + PᵀBQ) + 2 Q PᵀB,

a rotation for K > 0, a boost for K < 0, and at K = 0 exactly the translation by q - p.
"""

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import Floats
from cayleyklein._validation import as_points, refuse_overflow
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry._bisectors import point_difference
from cayleyklein.geometry._lifts import lift
from cayleyklein.geometry._space import CurvedSpace, as_space

__all__ = ["reflection", "transvection"]


def _to_chart(T: Floats, metric: CurvedSpace) -> Floats:
    """Conjugate a map of (z, 1) into one of (x, 1)."""
    bottom = metric.homogeneous_matrix[-1:]
    to_x = np.vstack([np.column_stack([metric.inverse_factor, metric.center]), bottom])
    return np.asarray(to_x @ T @ metric.homogeneous_matrix)


def transvection(p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return the isometry that carries p to q along their geodesic, as a collineation.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.geometry import apply_collineation
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> H = transvection([0.0, 0.0], [0.5, 0.0], disc)
    >>> apply_collineation(H, [0.0, 0.0])
    array([0.5, 0. ])

    With no curvature it is a translation:

    >>> transvection([1.0], [3.0], CurvedMetric(factor=[[1.0]]))
    array([[1., 2.],
           [0., 1.]])
    """
    metric = as_space(metric)
    P, Q = (
        lift(*metric._inside(as_points(x, name, metric.dimension, ndim=1), name))
        for x, name in ((p, "p"), (q, "q"))
    )
    B = np.append(np.full(len(P) - 1, metric.curvature), 1.0)
    middle, whole = P + Q, 1 + P @ (B * Q)
    if whole == 0:
        raise NotRepresentableError(
            "p and q are opposite points of the sphere to rounding: many geodesics join them."
        )
    T = np.eye(len(P)) - np.outer(middle, middle * B) / whole + 2 * np.outer(Q, P * B)
    return _to_chart(T, metric)


def reflection(p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> Floats:
    """Return the isometry that swaps p and q: the reflection in their bisector.

    In lifted coordinates it is I - 2 N nᵀ/⟨n, N⟩, n the bisector and N its pole.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> from cayleyklein.geometry import apply_collineation
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> H = reflection([0.1, 0.2], [0.5, 0.0], disc)
    >>> apply_collineation(H, [[0.1, 0.2], [0.5, 0.0]]).round(12)
    array([[0.5, 0. ],
           [0.1, 0.2]])
    """
    metric = as_space(metric)
    spatial, rise = point_difference(
        as_points(p, "p", metric.dimension, ndim=1),
        as_points(q, "q", metric.dimension, ndim=1),
        metric,
    )
    K = metric.curvature
    with np.errstate(over="ignore", invalid="ignore"):
        norm = spatial @ spatial + K * rise * rise
    refuse_overflow(np.isfinite(norm), "‖L(p - q)‖²", "p and q")
    if norm == 0:
        raise InvalidInputError("p and q coincide; a reflection swaps two different points.")
    pole, hyperplane = np.append(spatial, K * rise), np.append(spatial, rise)
    return _to_chart(np.eye(len(pole)) - 2 * np.outer(pole, hyperplane) / norm, metric)
