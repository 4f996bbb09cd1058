"""The Laplacian kernel exp(-γd) of a metric: positive definite whatever the curvature.

By Crofton's formula, the hyperplanes that separate two points have a measure that is proportional
to their distance, on the sphere, in flat and in hyperbolic space. With h_p the indicator function
of the hyperplanes that have p on one side, d(p, q) = c ∫ (h_p - h_q)² is a squared distance in a
Hilbert space: d is conditionally negative definite, and exp(-γd) is positive definite for
every γ > 0 (Schoenberg 1938; Faraut and Harzallah 1974).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import frozen
from cayleyklein.metrics.combined import Metric


class LaplacianKernel(frozen.Frozen):
    """What :func:`laplacian_kernel` returns. Immutable."""

    _arguments = ("metric", "gamma", "column_weights")
    metric: Metric
    gamma: float
    column_weights: Floats | None

    def __init__(
        self, metric: Metric, gamma: float, column_weights: ArrayLike | None = None
    ) -> None:
        if not isinstance(metric, Metric):
            raise InvalidInputError(
                f"metric must be a CurvedMetric, a MixedMetric or a ProductMetric; got "
                f"{type(metric).__name__}."
            )
        value = checks.as_real(gamma, "gamma")
        checks.expect(value > 0, "gamma", gamma, "a number > 0")
        weights = None
        if column_weights is not None:
            d = metric.dimension
            weights = frozen.read_only(
                checks.as_points(column_weights, "column_weights", d, ndim=1)
            )
            if (weights < 0).any():
                raise InvalidInputError("column_weights must be ≥ 0.")
        self._fill(metric=metric, gamma=value, column_weights=weights)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Floats | float:
        """Return the Gram matrix of rows X and Y, or the kernel of two points as a float."""
        one = Y is not None and np.ndim(X) == np.ndim(Y) == 1
        if one:
            X, Y = np.atleast_2d(X), np.atleast_2d(Y)  # type: ignore[arg-type]
        d = self.metric.dimension
        rows = checks.as_points(X, "X", d, ndim=2)
        others = None if Y is None or Y is X else checks.as_points(Y, "Y", d, ndim=2)
        table = np.asarray(self.metric.pairwise(rows, others), dtype=np.float64)
        if self.column_weights is not None:
            with np.errstate(over="ignore"):
                left = rows * self.column_weights
                right = left if others is None else others * self.column_weights
                table += cdist(left, right, "cityblock")
        if not np.isfinite(table).all():
            raise InvalidInputError("Distances between rows of X overflow; rescale its columns.")
        with np.errstate(over="ignore", under="ignore"):  # far rows have the kernel 0
            table *= -self.gamma
            np.exp(table, out=table)
        return float(table[0, 0]) if one else table

    def __repr__(self) -> str:
        columns = "" if self.column_weights is None else ", column_weights=…"
        return f"laplacian_kernel({self.metric!r}, gamma={self.gamma:g}{columns})"


def laplacian_kernel(
    metric: Metric, gamma: float, column_weights: ArrayLike | None = None
) -> LaplacianKernel:
    """Return exp(-γd) of a metric as a positive definite kernel.

    Parameters
    ----------
    metric : CurvedMetric, MixedMetric or ProductMetric
        Metric of the rows.
    gamma : float
        Rate γ > 0: one over the distance at which the kernel falls to 1/e.
    column_weights : array-like of shape (d,), optional
        Weights cⱼ ≥ 0, to add the Manhattan distance Σⱼ cⱼ|xⱼ - yⱼ| to d.

    Returns
    -------
    LaplacianKernel
        A function of rows X (n, d) and Y (m, d) that returns their Gram matrix (n, m); of X alone
        that of X with itself; of two points (d,) a float. It goes into every ``kernel=`` of
        scikit-learn that takes a function. SVC asks it for Gram matrices. KernelRidge, KernelPCA
        and others ask pair by pair, which is slow: give these ``kernel="precomputed"`` and
        ``kernel(X)``. Rows outside a hyperbolic domain raise.

    Notes
    -----
    It is positive definite because d is conditionally negative definite, for each metric:

    - elliptic: d is the arc of a great circle between two points of an open hemisphere, shorter
      than π/√K (the projective distance min(d, π/√K - d), with antipodes as one point, is not);
    - flat and hyperbolic: by Crofton's formula, as on the sphere;
    - mixed, and with column weights: sums of such distances are such a distance;
    - product: d is a Euclidean distance after :meth:`ProductMetric.embed`.

    exp(-γd²) is *not* positive definite for every γ where K ≠ 0, since d² is conditionally negative
    definite in flat spaces only (Feragen, Lauze and Hauberg 2015). It is not offered. For a
    Gaussian kernel take RBF on the rows of ``metric.embed``, which is exp(-γ chord²) for elliptic
    metrics and products.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from cayleyklein import CurvedMetric
    >>> kernel = laplacian_kernel(CurvedMetric.euclidean(2, curvature=-1.0), gamma=1.0)
    >>> kernel([[0.0, 0.0], [0.5, 0.0]]).round(3)
    array([[1.   , 0.577],
           [0.577, 1.   ]])
    >>> X, y = [[0.0, 0.0], [0.1, 0.0], [0.9, 0.0], [0.95, 0.0]], [0, 0, 1, 1]
    >>> SVC(kernel=kernel).fit(X, y).predict([[0.2, 0.1]])
    array([0])
    """
    return LaplacianKernel(metric, gamma, column_weights)
