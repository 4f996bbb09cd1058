"""Conversions between the paper's matrices S, (Σ, a, b), (Σ, μ, κ) and (L, μ, K).

S = [[Σ, a], [aᵀ, b]] with a = -Σμ and b = μᵀΣμ + 1/K, where K = sign(κ)κ² (paper §2.4; corrected:
μᵀΣμ, not μᵀμ). S is defined up to its sign: the paper's learning section uses -S if K < 0.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError


def curvature_from_kappa(kappa: float) -> float:
    """Return K = sign(κ) κ².

    >>> curvature_from_kappa(-2.0)
    -4.0
    """
    kappa = checks.as_real(kappa, "kappa")
    return kappa * abs(kappa)


def form_from_blocks(matrix: ArrayLike, a: ArrayLike, b: float) -> Floats:
    """Return S = [[Σ, a], [aᵀ, b]].

    >>> form_from_blocks([[2.0]], [1.0], 3.0)
    array([[2., 1.],
           [1., 3.]])
    """
    matrix = checks.as_symmetric(matrix, "matrix")
    a = checks.as_points(a, "a", len(matrix), ndim=1)
    return np.block([[matrix, a[:, None]], [a[None, :], np.array([[checks.as_real(b, "b")]])]])


def parameters_from_form(S: ArrayLike) -> tuple[Floats, Floats, float]:
    """Return (Σ, μ, K) of a form S, the inverse of :attr:`CurvedMetric.form`.

    The block Σ must be definite: positive, or negative in the sign convention of the
    paper's learning section, when -S is taken. Then μ = -Σ⁻¹a and 1/K = b - μᵀΣμ.
    """
    S = checks.as_symmetric(S, "S")
    if len(S) < 2:
        raise InvalidInputError(f"S must be (d+1)×(d+1) with d ≥ 1; got shape {S.shape}.")
    matrix, a, b = S[:-1, :-1], S[:-1, -1], float(S[-1, -1])
    if np.trace(matrix) < 0:
        matrix, a, b = -matrix, -a, -b
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] <= len(matrix) * np.finfo(float).eps * abs(eigenvalues[-1]):
        raise NotRepresentableError(
            f"The leading block Σ of S must be definite, but its eigenvalues range from "
            f"{eigenvalues[0]:.6g} to {eigenvalues[-1]:.6g}; S is not a curved Mahalanobis metric."
        )
    center = -linalg.solve(matrix, a, assume_a="pos")
    spread = float(a @ center)  # -μᵀΣμ
    inverse_curvature = b + spread
    if abs(inverse_curvature) <= 4 * len(matrix) * np.finfo(float).eps * max(abs(b), abs(spread)):
        raise NotRepresentableError(
            f"1/K = b - μᵀΣμ is {inverse_curvature:.3g}, zero to rounding: S is singular and its "
            f"absolute is a cone, which carries no curved Mahalanobis metric."
        )
    return matrix, center, 1 / inverse_curvature
