"""The absolute: a quadric and its dual, from which distances and angles are measured.

A Cayley-Klein geometry is given by its fundamental conic (A, A^Δ) (paper §2.2): the points
with x̃ᵀ A x̃ = 0, and the hyperplanes with lᵀ A^Δ l = 0, which are tangent to it. A^Δ is
the adjugate of A wherever that is not zero. Corrected: A is symmetric, not positive
semi-definite, since a real conic is indefinite.
"""

from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyFloats, Bools, Floats, Ints, Texts
from cayleyklein._validation import (
    as_points,
    as_real,
    as_symmetric,
    at_index,
    broadcast_points,
    float_dtype,
)
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry._frozen import Frozen, read_only
from cayleyklein.geometry.projective._measures import (
    Pencil,
    as_form,
    as_hyperplanes,
    bilinear,
    homogenize,
    line_pencil,
    sign_of,
    vector_pencil,
)

MeasurementKind = Literal["elliptic", "parabolic", "hyperbolic"]

ZERO_EIGENVALUE = 1e-12
"""Largest |λ| / max |λ| of an eigenvalue that counts as zero."""

ON_ABSOLUTE = 1e-12
"""Largest |x̃ᵀAx̃| / (|x̃|ᵀ|A||x̃|) of a point that counts as on the absolute."""

DUAL_TOLERANCE = 1e-9
"""Largest |A A^Δ - c I| / (|A||A^Δ|) of a pair that counts as dual."""


def signature(A: ArrayLike, *, rtol: float = ZERO_EIGENVALUE) -> tuple[int, int, int]:
    """Return (n, z, p), the numbers of negative, zero and positive eigenvalues (paper §2.2).

    Corrected: elliptic is (0, 0, d + 1) and hyperbolic (1, 0, d), where the paper swaps them.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric.
    rtol : float, default=1e-12
        An eigenvalue at most ``rtol`` times the largest in absolute value counts as zero.

    Examples
    --------
    >>> from cayleyklein.geometry import signature
    >>> signature([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    (1, 0, 2)
    >>> signature([[1.0, 1.0], [1.0, 1.0]])  # singular
    (0, 1, 1)
    """
    rtol = as_real(rtol, "rtol", "[0, 1)")
    eigenvalues = np.linalg.eigvalsh(as_symmetric(A, "A"))
    size = rtol * np.abs(eigenvalues).max()
    negative, positive = int((eigenvalues < -size).sum()), int((eigenvalues > size).sum())
    return negative, len(eigenvalues) - negative - positive, positive


def adjugate(A: ArrayLike) -> AnyFloats:
    """Return the adjugate of a symmetric matrix, |A| A⁻¹ where A is invertible (paper §2.2).

    With A = Q Λ Qᵀ it is Q diag(∏_{j≠i} λ_j) Qᵀ, which needs no inverse: the products are made
    from the left and from the right.

    Examples
    --------
    >>> from cayleyklein.geometry import adjugate
    >>> np.round(adjugate([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, -1.0]]), 12)
    array([[-3.,  0.,  0.],
           [ 0., -2.,  0.],
           [ 0.,  0.,  6.]])

    A singular matrix has an adjugate too; of rank d - 1 or less, it is zero:

    >>> adjugate([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 2.]])
    >>> bool(adjugate([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).any())
    False
    """
    dtype = float_dtype(A)
    eigenvalues, vectors = np.linalg.eigh(as_symmetric(A, "A"))
    with np.errstate(over="ignore", invalid="ignore"):
        before = np.cumprod(np.append(1.0, eigenvalues[:-1]))
        after = np.cumprod(np.append(1.0, eigenvalues[:0:-1]))[::-1]
        result = (vectors * (before * after)) @ vectors.T
    if not np.isfinite(result).all():
        raise InvalidInputError(
            f"The adjugate of A overflows: its eigenvalues reach {np.abs(eigenvalues).max():.3g}. "
            f"Divide A by that; it is the same absolute."
        )
    return np.asarray((result + result.T) / 2 + 0.0).astype(dtype)  # no -0.0


@final
class Absolute(Frozen):
    """A quadric and its dual in projective d-space. Immutable.

    Parameters
    ----------
    matrix : array-like of shape (d + 1, d + 1)
        A, symmetric, acting on homogeneous points x̃ = (x, 1).
    dual : array-like of shape (d + 1, d + 1), optional
        A^Δ, acting on hyperplanes (normal, offset). The adjugate of A by default. When A has
        rank d - 1 or less that is zero, and the dual is to be given: the same double line
        carries Euclidean, pseudo-Euclidean and Galilean geometry.

    Attributes
    ----------
    matrix, dual : ndarray of shape (d + 1, d + 1)
        Read-only. Absolutes are equal when these are: a factor changes them, but not the conic.
    dimension : int
    signature, dual_signature : tuple of int
        Numbers (n, z, p) of negative, zero and positive eigenvalues.

    Examples
    --------
    >>> from cayleyklein.geometry import Absolute
    >>> conic = Absolute([[1, 0, 0], [0, 1, 0], [0, 0, -1]])
    >>> conic.signature
    (1, 0, 2)
    >>> conic.side([[0.0, 0.0], [0.6, 0.8], [2.0, 0.0]])
    array([-1,  0,  1])
    >>> float(conic.form([0.5, 0.0], [0.5, 1.0]))
    -0.75
    >>> conic.tangent([1.0, 0.0])  # x = 1
    array([ 1.,  0., -1.])
    >>> conic.is_tangent([[1.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    array([ True, False])
    >>> str(conic.angle_kind([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))  # lines that cross inside
    'elliptic'
    >>> str(conic.distance_kind([2.0, 0.0], [2.0, 1.0]))  # both outside, the line misses it
    'elliptic'

    The Euclidean plane is degenerate, and needs its dual:

    >>> plane = Absolute([[0, 0, 0], [0, 0, 0], [0, 0, 1]], dual=[[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> plane.signature, plane.dual_signature
    ((0, 2, 1), (0, 1, 2))
    """

    _arguments = ("matrix", "_dual")
    __slots__ = ("_dual", "dimension", "matrix", "signature")

    matrix: Floats
    dimension: int
    signature: tuple[int, int, int]
    _dual: Floats | None

    def __init__(self, matrix: ArrayLike, dual: ArrayLike | None = None) -> None:
        form = as_form(matrix, "matrix")
        counts = signature(form)
        dual_form: Floats | None = None
        if dual is not None:
            dual_form = as_form(dual, "dual")
            _check_dual(form, dual_form)
        elif counts[1] < 2:
            dual_form = np.asarray(adjugate(form), dtype=np.float64)
            if not dual_form.any():
                raise InvalidInputError(
                    "The adjugate of matrix underflows. Divide matrix by the geometric mean of its "
                    "eigenvalues; it is the same absolute."
                )
        self._fill(
            matrix=read_only(form),
            dimension=len(form) - 1,
            signature=counts,
            _dual=None if dual_form is None else read_only(dual_form),
        )

    @property
    def dual(self) -> Floats:
        """A^Δ, the conic of tangent hyperplanes."""
        if self._dual is None:
            d, rank = self.dimension, self.dimension + 1 - self.signature[1]
            candidates = (
                "in the plane it may be Euclidean (dual of signs +, +, 0), pseudo-Euclidean "
                "(+, -, 0) or Galilean (+, 0, 0)"
                if d == 2
                else "it may be Euclidean, pseudo-Euclidean, Galilean or another"
            )
            raise NotRepresentableError(
                f"A matrix of rank {rank} in dimension {d} has a vanishing adjugate and does not "
                f"determine its dual: {candidates}. Give it as Absolute(matrix, dual=...)."
            )
        return self._dual

    @property
    def dual_signature(self) -> tuple[int, int, int]:
        """(n, z, p) of the dual."""
        return signature(self.dual)

    def form(self, p: ArrayLike, q: ArrayLike | None = None) -> AnyFloats:
        """Return S(p, q) = p̃ᵀ A q̃, and S(p, p) without a q (paper §2.3).

        Parameters
        ----------
        p : array-like of shape (..., d)
        q : array-like of shape (..., d), optional
        """
        points = as_points(p, "p", self.dimension)
        others = points if q is None else as_points(q, "q", self.dimension)
        dtype = float_dtype(p) if q is None else float_dtype(p, q)
        points, others = broadcast_points(p=points, q=others)
        values = bilinear(self.matrix, homogenize(points), homogenize(others))
        return values.astype(dtype, copy=False)[()]

    def side(self, points: ArrayLike, *, rtol: float = ON_ABSOLUTE) -> Ints:
        """Return -1 for points inside, 0 on and +1 outside the absolute.

        Inside a real quadric is where the form has the sign of its lone eigenvalue; an
        elliptic absolute has no real points, and all of space is inside. In dimension 1, where
        both signs are lone, inside is where the form is negative.

        Parameters
        ----------
        points : array-like of shape (..., d)
        rtol : float, default=1e-12
            A point is on the absolute when abs(x̃ᵀ A x̃) is at most ``rtol`` times the same sum
            of absolute values.

        Raises
        ------
        NotRepresentableError
            For other signatures, whose absolute has no inside.
        """
        rtol = as_real(rtol, "rtol", "[0, 1)")
        x = homogenize(as_points(points, "points", self.dimension))
        negative, zero, positive = self.signature
        if zero or (min(negative, positive) > 1):
            why = "it is singular" if zero else "neither sign occurs only once"
            raise NotRepresentableError(
                f"An absolute of signature (n, z, p) = {self.signature} has no inside: {why}."
            )
        if min(negative, positive) == 0:
            return np.full(x.shape[:-1], -1)[()]
        signs = sign_of(self.matrix, x, rtol)
        return (signs if negative == 1 else -signs).astype(np.int_)[()]

    def tangent(self, points: ArrayLike) -> AnyFloats:
        """Return A x̃, the polar hyperplanes of points: the tangents where they are on the absolute.

        Returns
        -------
        ndarray of shape (..., d + 1)
            Homogeneous vectors (normal, offset) of n·x + o = 0.
        """
        x = homogenize(as_points(points, "points", self.dimension))
        return (x @ self.matrix).astype(float_dtype(points), copy=False)

    def is_tangent(self, hyperplanes: ArrayLike, *, rtol: float = ON_ABSOLUTE) -> Bools:
        """Return whether hyperplanes touch the absolute, that is belong to the dual conic.

        Parameters
        ----------
        hyperplanes : array-like of shape (..., d + 1)
            Homogeneous vectors (normal, offset).
        rtol : float, default=1e-12
            As in :meth:`side`.
        """
        vectors = as_hyperplanes(hyperplanes, "hyperplanes", self.dimension + 1)
        return np.asarray(sign_of(self.dual, vectors, as_real(rtol, "rtol", "[0, 1)")) == 0)[()]

    def distance_kind(self, p: ArrayLike, q: ArrayLike) -> Texts:
        """Return the kind of distance on the line pq (paper §2.2).

        "hyperbolic" where the line meets the absolute in two real points, "parabolic" where it
        touches it (or lies in it), "elliptic" where it misses it: the signature of A on the line.
        """
        d = self.dimension
        p, q = broadcast_points(p=as_points(p, "p", d), q=as_points(q, "q", d))
        return _kind(line_pencil(self.matrix, p, q), "p and q are the same point", "a line")

    def angle_kind(self, l: ArrayLike, m: ArrayLike) -> Texts:  # noqa: E741
        """Return the kind of angles in the pencil of hyperplanes l and m (paper §2.2).

        By the signature of A^Δ on the pencil: "hyperbolic" where two real hyperplanes of it are
        tangent to the absolute, "parabolic" where one is, "elliptic" where none is.
        """
        size = self.dimension + 1
        l, m = broadcast_points(l=as_hyperplanes(l, "l", size), m=as_hyperplanes(m, "m", size))  # noqa: E741
        pencil = vector_pencil(self.dual, l, m)
        return _kind(pencil, "l and m are the same hyperplane", "a pencil")

    def __repr__(self) -> str:
        dual = "" if self._dual is None else f", dual={self._dual.tolist()}"
        return f"Absolute({self.matrix.tolist()}{dual})"


def kind_of(discriminant: Floats) -> Texts:
    """Name the measurement by the sign of D: minus the determinant of a 2×2 restriction."""
    signs = [discriminant > 0, discriminant < 0]
    return np.select(signs, ["hyperbolic", "elliptic"], "parabolic")[()]


def _kind(pencil: Pencil, same: str, whole: str) -> Texts:
    if pencil.coincident.any():
        raise InvalidInputError(f"{same}{at_index(pencil.coincident)}; {whole} needs two.")
    return kind_of(pencil.discriminant)


def _check_dual(form: Floats, dual: Floats) -> None:
    product = form @ dual
    factor = np.trace(product) / len(form)
    error = np.abs(product - factor * np.eye(len(form))).max()
    if error > DUAL_TOLERANCE * np.abs(form).max() * np.abs(dual).max():
        raise InvalidInputError(
            f"dual is not dual to matrix: matrix @ dual must be a multiple of the identity "
            f"(zero for a singular matrix), but is off by {error:.3g}."
        )
