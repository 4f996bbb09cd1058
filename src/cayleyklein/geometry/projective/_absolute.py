"""The absolute, a quadric and its dual, which measures distances and angles; its seven types.

A Cayley-Klein geometry is given by its fundamental conic (A, A^Δ) (paper §2.2): the points with
x̃ᵀ A x̃ = 0, and the hyperplanes with lᵀ A^Δ l = 0, which are tangent to it. A^Δ is
:func:`adjugate` (A) wherever that is not zero. Corrected: A is symmetric, not positive
semi-definite.

A conic with its dual is of one of seven types. Distances and angles are each elliptic, parabolic or
hyperbolic, which makes nine geometries: a real conic carries three of the nine (inside it, and
outside on lines that meet it and on others), other types one each.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats, Ints
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry.frozen import Frozen, read_only
from cayleyklein.geometry.projective import _decompositions, angles
from cayleyklein.geometry.rounding import binary_scale
from cayleyklein.geometry.space import refuse_at

ON_ABSOLUTE = 1e-12  # largest |x̃ᵀAx̃| / (|x̃|ᵀ|A||x̃|) of a point that counts as on the absolute


def signature(A: ArrayLike) -> tuple[int, int, int]:
    """Return (n, z, p), the numbers of negative, zero and positive eigenvalues (paper §2.2).

    Corrected: elliptic is (0, 0, d + 1) and hyperbolic (1, 0, d), where the paper swaps them. An
    eigenvalue of at most 1e-12 times the largest counts as zero.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric matrix.

    Examples
    --------
    >>> signature(np.diag([1.0, 1.0, -1.0])), signature([[1.0, 1.0], [1.0, 1.0]])
    ((1, 0, 2), (0, 1, 1))
    """
    eigenvalues = np.linalg.eigvalsh(checks.as_symmetric(A, "A"))
    size = angles.ZERO_EIGENVALUE * np.abs(eigenvalues).max()
    negative = int((eigenvalues < -size).sum())
    positive = int((eigenvalues > size).sum())
    return negative, len(eigenvalues) - negative - positive, positive


class Absolute(Frozen):
    """A quadric and its dual in projective d-space. Immutable.

    Its attributes are matrix, dual, dimension d, signature and dual_signature (:func:`signature`).

    Parameters
    ----------
    matrix : array-like of shape (d + 1, d + 1)
        A, symmetric, acting on homogeneous points x̃ = (x, 1).
    dual : array-like of shape (d + 1, d + 1), optional
        A^Δ, acting on hyperplanes (normal, offset); the adjugate of A by default. Where that is
        zero (rank < d) it must be given: a double line carries three geometries.

    Examples
    --------
    >>> conic = Absolute(np.diag([1, 1, -1]))
    >>> conic.side([[0.0, 0.0], [0.6, 0.8], [2.0, 0.0]])
    array([-1,  0,  1])
    >>> float(conic.form([0.5, 0.0], [0.5, 1.0]))
    -0.75
    >>> conic.tangent([1.0, 0.0])  # x = 1
    array([ 1.,  0., -1.])
    >>> conic.is_tangent([[1.0, 0.0, -1.0], [1.0, 0.0, -2.0]])  # x = 1, x = 2
    array([ True, False])
    >>> plane = Absolute(np.diag([0, 0, 1]), dual=np.diag([1, 1, 0]))  # Euclidean: degenerate
    >>> plane.signature, plane.dual_signature
    ((0, 2, 1), (0, 1, 2))
    """

    _arguments = ("matrix", "dual")
    matrix: Floats
    dual: Floats
    dimension: int
    signature: tuple[int, int, int]

    def __init__(self, matrix: ArrayLike, dual: ArrayLike | None = None) -> None:
        form = angles.as_form(matrix, "matrix")
        counts = signature(form)
        d = len(form) - 1
        if dual is not None:
            dual_form = angles.as_form(dual, "dual")
            product = form @ dual_form
            error = np.abs(product - np.eye(d + 1) * np.trace(product) / (d + 1)).max()
            if error > 1e-9 * np.abs(form).max() * np.abs(dual_form).max():
                raise InvalidInputError(
                    f"dual is not dual to matrix: matrix @ dual must be a multiple of the identity "
                    f"(zero for a singular matrix), but is off by {error:.3g}."
                )
        elif counts[1] > 1:
            raise NotRepresentableError(
                f"A matrix of rank {d + 1 - counts[1]} in dimension {d} does not determine its "
                f"dual, in the plane Euclidean (of signs +, +, 0), pseudo-Euclidean (+, -, 0) or "
                f"Galilean (+, 0, 0). Give it as Absolute(matrix, dual=...)."
            )
        else:
            with checks.about("matrix"):
                dual_form = _decompositions.adjugate(form)
            dual_form = (dual_form + dual_form.T) / 2
        self._fill(matrix=read_only(form), dual=read_only(dual_form), dimension=d, signature=counts)

    @property
    def dual_signature(self) -> tuple[int, int, int]:
        """(n, z, p) of the dual."""
        return signature(self.dual)

    def form(self, p: ArrayLike, q: ArrayLike | None = None) -> AnyFloats:
        """Return S(p, q) = p̃ᵀ A q̃ of points (..., d), and S(p, p) without a q (paper §2.3)."""
        q = p if q is None else q
        _, x, y = angles.form_and_pair("matrix", self.matrix, p=p, q=q)
        found = angles.bilinear(self.matrix, angles.homogenize(x), angles.homogenize(y))
        return found.astype(checks.float_dtype(p, q), copy=False)[()]

    def side(self, points: ArrayLike) -> Ints:
        """Return -1 for points inside, 0 on and +1 outside the absolute.

        Inside a real quadric is where the form has the sign of its lone eigenvalue, the negative
        one in dimension 1; all of space is inside an elliptic absolute. Absolutes of other
        signatures have no inside and raise NotRepresentableError. A point of (..., d) is on it
        when abs(x̃ᵀ A x̃) is at most 1e-12 times the sum of absolute values.
        """
        x = angles.homogenize(checks.as_points(points, "points", self.dimension))
        negative, zero, positive = self.signature
        said = f"An absolute of signature (n, z, p) = {self.signature} has no inside"
        reason = ": it is singular, or neither sign occurs only once."
        refuse_at(zero or min(negative, positive) > 1, said, reason, NotRepresentableError)
        if min(negative, positive) == 0:
            return np.full(x.shape[:-1], -1)[()]
        x = x / binary_scale(x)
        values = angles.bilinear(self.matrix, x, x) * (1 if negative == 1 else -1)
        caps = angles.bilinear(np.abs(self.matrix), np.abs(x), np.abs(x))
        return np.where(np.abs(values) <= ON_ABSOLUTE * caps, 0, np.sign(values)).astype(int)[()]

    def tangent(self, points: ArrayLike) -> AnyFloats:
        """Return the polars (normal, offset) = A x̃ of points: tangents where on the absolute."""
        x = angles.homogenize(checks.as_points(points, "points", self.dimension))
        return (x @ self.matrix).astype(checks.float_dtype(points), copy=False)

    def is_tangent(self, hyperplanes: ArrayLike, *, rtol: float = ON_ABSOLUTE) -> Bools:
        """Return whether hyperplanes are tangent: Q_{A^Δ}(l) = lᵀ A^Δ l = 0 (paper §2.2).

        Parameters
        ----------
        hyperplanes : array-like of shape (..., d + 1)
            Homogeneous vectors (normal, offset).
        rtol : float, default=ON_ABSOLUTE
            Largest abs(lᵀ A^Δ l) of a tangent, relative to the sum of absolute values; 1e-12.

        Returns
        -------
        ndarray of bool, of shape (...)
            Whether each hyperplane is tangent.
        """
        l = angles.as_hyperplanes(hyperplanes, "hyperplanes", self.dimension + 1)  # noqa: E741
        rtol = checks.as_real(rtol, "rtol", "[0, inf)")
        l = l / binary_scale(l)  # noqa: E741
        values = angles.bilinear(self.dual, l, l)
        caps = angles.bilinear(np.abs(self.dual), np.abs(l), np.abs(l))
        return np.asarray(np.abs(values) <= rtol * caps)[()]

    def __repr__(self) -> str:
        return f"Absolute({self.matrix.tolist()}, dual={self.dual.tolist()})"


@dataclass(frozen=True)
class PlanarGeometry:
    """One of the seven types of planar Cayley-Klein geometry.

    >>> len({kinds for geometry in PLANAR_GEOMETRIES for kinds in geometry.measurements})
    9
    >>> PLANAR_GEOMETRIES[0].name, PLANAR_GEOMETRIES[0].conic
    ('elliptic', 'non-degenerate complex conic')
    """

    name: str  #: Name of the geometry.
    matrix_signs: tuple[int, int, int]  #: Signs of the eigenvalues of A, up to a common sign.
    dual_signs: tuple[int, int, int]  #: Signs of the eigenvalues of A^Δ, up to a common sign.
    conic: str  #: The absolute in words.
    #: Kinds of distance and angle that occur away from isotropic lines and points.
    measurements: tuple[tuple[str, str], ...]


# The table of the paper (§2.2). Corrected: the dual of the dual Euclidean absolute has signs
# (+, 0, 0), and the two points of the pseudo-Euclidean one are real.
PLANAR_GEOMETRIES: tuple[PlanarGeometry, ...] = (
    PlanarGeometry(
        "elliptic",
        (1, 1, 1),
        (1, 1, 1),
        "non-degenerate complex conic",
        (("elliptic", "elliptic"),),
    ),
    PlanarGeometry(
        "hyperbolic",
        (1, 1, -1),
        (1, 1, -1),
        "non-degenerate real conic",
        (("hyperbolic", "elliptic"), ("hyperbolic", "hyperbolic"), ("elliptic", "hyperbolic")),
    ),
    PlanarGeometry(
        "dual Euclidean",
        (1, 1, 0),
        (1, 0, 0),
        "two complex lines with a real intersection point",
        (("elliptic", "parabolic"),),
    ),
    PlanarGeometry(
        "dual pseudo-Euclidean",
        (1, -1, 0),
        (1, 0, 0),
        "two real lines with a double real intersection point",
        (("hyperbolic", "parabolic"),),
    ),
    PlanarGeometry(
        "Euclidean",
        (1, 0, 0),
        (1, 1, 0),
        "two complex points with a double real line passing through",
        (("parabolic", "elliptic"),),
    ),
    PlanarGeometry(
        "pseudo-Euclidean",
        (1, 0, 0),
        (1, -1, 0),
        "two real points with a double real line passing through",
        (("parabolic", "hyperbolic"),),
    ),
    PlanarGeometry(
        "Galilean",
        (1, 0, 0),
        (1, 0, 0),
        "double real line with a real intersection point",
        (("parabolic", "parabolic"),),
    ),
)


def classify(absolute: Absolute) -> PlanarGeometry:
    """Return the type of a planar absolute, one of :data:`PLANAR_GEOMETRIES` (paper §2.2).

    The signs of A and of A^Δ each count up to a common factor.

    Parameters
    ----------
    absolute : Absolute
        Absolute of the plane.

    Examples
    --------
    >>> classify(Absolute(np.diag([1, 1, -1]))).name
    'hyperbolic'
    >>> double_line = np.diag([0, 0, 1])  # carries three geometries, which the dual tells apart
    >>> classify(Absolute(double_line, dual=np.diag([1, 1, 0]))).name
    'Euclidean'
    >>> classify(Absolute(double_line, dual=np.diag([1, 0, 0]))).name
    'Galilean'
    """
    if not isinstance(absolute, Absolute):
        raise InvalidInputError(f"absolute must be an Absolute; got {type(absolute).__name__}.")
    said = "Only planar geometries have a type"
    d = absolute.dimension
    refuse_at(d != 2, said, f"; this absolute has dimension {d}.", NotRepresentableError)
    found = tuple(
        (1,) * max(n, p) + (-1,) * min(n, p) + (0,) * z
        for n, z, p in (absolute.signature, absolute.dual_signature)
    )
    for geometry in PLANAR_GEOMETRIES:
        if found == (geometry.matrix_signs, geometry.dual_signs):
            return geometry
    raise NotRepresentableError(  # an ill-conditioned pair, where the tolerances disagree
        f"The signs {found[0]} of the matrix and {found[1]} of its dual belong to no planar "
        f"geometry; an eigenvalue is too close to zero to tell its sign."
    )
