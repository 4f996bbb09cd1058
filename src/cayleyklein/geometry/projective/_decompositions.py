"""The adjugate of a matrix, and the decompositions of forms (paper §2.2 and §5.1)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import NotRepresentableError
from cayleyklein.geometry import space
from cayleyklein.geometry.projective import angles


def adjugate(A: ArrayLike) -> Floats:
    """Return the adjugate A^Δ, the transpose of the matrix of cofactors, of any rank (paper §2.2).

    A A^Δ = |A| I, and A^Δ = |A| A⁻¹ where A is invertible. Of a matrix of n rows it has rank n, 1
    and 0 where A has rank n, n - 1 and less. With A = U diag(σ) Vᵀ,

        A^Δ = |U||V| V diag(∏_{j≠i} σ_j) Uᵀ,

    which needs no inverse, and so is as exact for a singular A: errors are of the order of
    rounding, relative to the product of all σ but the smallest. Nothing decides the rank of A:
    where the adjugate of a rounded matrix should be zero, it is of the size of the rounding.

    Parameters
    ----------
    A : array-like of shape (..., n, n)
        Square matrices of n ≥ 1 rows, symmetric or not.

    Examples
    --------
    >>> adjugate([[1.0, 2.0], [3.0, 4.0]]).round(12)
    array([[ 4., -2.],
           [-3.,  1.]])
    >>> adjugate(np.diag([2.0, 3.0, 0.0])).tolist()  # rank 2: its adjugate has rank 1
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 6.0]]
    >>> bool(adjugate(np.diag([2.0, 0.0, 0.0])).any())  # rank 1
    False
    """
    matrix = checks.as_finite_array(A, "A")
    square = matrix.ndim > 1 and matrix.shape[-1] == matrix.shape[-2] > 0
    checks.expect(square, "A of shape", matrix.shape, "(..., n, n) with n ≥ 1")
    left, sizes, right = np.linalg.svd(matrix)
    sign = np.sign(np.linalg.det(left) * np.linalg.det(right))[..., None]
    ones = np.ones_like(sizes[..., :1])
    with np.errstate(over="ignore", invalid="ignore"):
        before = np.cumprod(np.concatenate([ones, sizes[..., :-1]], axis=-1), axis=-1)
        after = np.cumprod(np.concatenate([ones, sizes[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
        weights = sign * before * after
        found = np.swapaxes(right, -1, -2) * weights[..., None, :] @ np.swapaxes(left, -1, -2)
    fits = np.isfinite(found).all(axis=(-2, -1))
    # The largest product leaves out the smallest σ, and must not be 0 unless one of its factors is.
    lost = fits & (weights[..., -1] == 0) & (sizes[..., :-1] > 0).all(axis=-1)
    for bad, flow in ((~fits, "overflows"), (lost, "underflows")):
        if bad.any():
            reason = f": singular values reach {sizes[bad].max():.3g}"
            remedy = ". Divide A by their geometric mean."
            space.refuse_at(bad, f"The adjugate of A {flow}", reason + remedy)
    return np.asarray(found)


class SpectralForm(NamedTuple):
    """S = O D^½ diag(signs) D^½ Oᵀ, what :func:`spectral_form` returns.

    >>> form = spectral_form(np.diag([4.0, -1.0]))
    >>> np.abs(form.map([[3.0]])).tolist(), form.signs.tolist()  # ±(2·3, 1): S is 36 - 1
    ([[6.0, 1.0]], [1.0, -1.0])
    """

    rotation: Floats  #: O, orthogonal, shape (d + 1, d + 1).
    scales: Floats  #: The diagonal of D, all positive, shape (d + 1,).
    signs: Floats  #: The paper's diag(I, λ): 1, …, 1, λ, shape (d + 1,).

    def map(self, x: ArrayLike) -> Floats:
        """Return the homogeneous vectors x̃' = D^½ Oᵀ x̃ (..., d + 1) of points (..., d).

        S(p, q) is then Σ signs p̃' q̃'. Corrected: the paper divides x̃' by its last coordinate,
        which loses that coordinate's sign.
        """
        points = checks.as_points(x, "x", len(self.scales) - 1)
        return np.asarray(angles.homogenize(points) @ self.rotation * np.sqrt(self.scales))


def spectral_form(S: ArrayLike) -> SpectralForm:
    """Return O, D and the signs of S = O D^½ diag(1, …, 1, λ) D^½ Oᵀ (paper §5.1).

    λ is 1 for an elliptic and -1 for a hyperbolic form; D is positive in both (corrected: the paper
    calls its last entry negative in the hyperbolic case, but λ has the sign). Other signatures have
    as many signs -1, at the end, as S has negative eigenvalues.

    Parameters
    ----------
    S : array-like of shape (d + 1, d + 1)
        Symmetric matrix that is not singular.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric(matrix=[[2.0, 0.6], [0.6, 1.0]], center=[0.2, 0.1], curvature=-1.0)
    >>> form = spectral_form(metric.form)
    >>> form.signs, bool((form.scales > 0).all())
    (array([ 1.,  1., -1.]), True)
    >>> x, y = form.map([[0.3, 0.2], [-0.1, 0.4]])
    >>> round(float(form.signs @ (x * y)), 12) == round(
    ...     float(metric.absolute.form([0.3, 0.2], [-0.1, 0.4]) / metric.curvature), 12
    ... )
    True
    """
    form = angles.as_form(S, "S")
    values, vectors = np.linalg.eigh(form)
    zero = np.abs(values) <= angles.ZERO_EIGENVALUE * np.abs(values).max()
    said = f"S is singular, with {np.count_nonzero(zero)} zero eigenvalue(s)"
    space.refuse_at(zero.any(), said, "; its D has no positive diagonal.", NotRepresentableError)
    order = np.argsort(values < 0, kind="stable")  # positive ones first
    return SpectralForm(vectors[:, order], np.abs(values[order]), np.sign(values[order]))


class UnitCholesky(NamedTuple):
    """Σ = L₁DL₁ᵀ, what :func:`unit_cholesky` returns.

    >>> unit_cholesky([[4.0, 2.0], [2.0, 2.0]]).map([[1.0, 0.0], [0.0, 1.0]])
    array([[2., 0.],
           [1., 1.]])
    """

    factor: Floats  #: L₁, lower triangular with ones on the diagonal, shape (d, d).
    scales: Floats  #: The diagonal of D, all positive, shape (d,).

    def map(self, x: ArrayLike) -> Floats:
        """Return x' = D^½ L₁ᵀ x, between which Euclidean distances are those of Σ.

        Corrected: the paper leaves out the x.
        """
        points = checks.as_points(x, "x", len(self.scales))
        return np.asarray(points @ self.factor * np.sqrt(self.scales))


def unit_cholesky(matrix: ArrayLike) -> UnitCholesky:
    """Return L₁ and D of Σ = L₁DL₁ᵀ, L₁ with ones on its diagonal (paper §5.1).

    Parameters
    ----------
    matrix : array-like of shape (d, d)
        Σ, symmetric positive definite.

    Examples
    --------
    >>> found = unit_cholesky([[4.0, 2.0], [2.0, 2.0]])
    >>> found.factor.tolist(), found.scales.tolist()
    ([[1.0, 0.0], [0.5, 1.0]], [4.0, 1.0])
    >>> float(np.linalg.norm(found.map([1.0, 0.0]) - found.map([0.0, 0.0])))  # √Σ₁₁
    2.0
    """
    upper = space.cholesky(checks.as_symmetric(matrix, "matrix"))
    diagonal = np.diagonal(upper)
    return UnitCholesky(upper.T / diagonal, diagonal**2)
