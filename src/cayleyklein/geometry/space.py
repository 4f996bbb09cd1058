"""The parameters (L, μ, K) of a curved metric, and the coordinates and form values they give.

Everything in this package is written in coordinates z = L(x - μ), with Σ = LᵀL, the sectional
curvature K, and the form S(p, q) = 1 + K ⟨z_p, z_q⟩, which is the paper's
S(p, q) = (p - μ)ᵀΣ(q - μ) + sign(κ)/κ² multiplied by K = sign(κ)κ². In this normalisation nothing
is infinite at K = 0, and the domain of every geometry is S(x, x) > 0.

The paper's matrix S = [[Σ, a], [aᵀ, b]] has a = -Σμ and b = μᵀΣμ + 1/K (paper §2.4; corrected:
μᵀΣμ, not μᵀμ), up to its sign: the paper's learning section uses -S if K < 0.
"""

import math
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import lifts, rounding
from cayleyklein.geometry.frozen import Frozen, read_only
from cayleyklein.geometry.rounding import EPSILON

Geometry = Literal["elliptic", "flat", "hyperbolic"]


class CurvedSpace(Frozen):
    """L, μ and K of a metric: the part of :class:`CurvedMetric` that geometry needs. Immutable.

    >>> from cayleyklein import CurvedMetric
    >>> metric = CurvedMetric(factor=[1.0, 2.0], curvature=-1.0)
    >>> metric.coordinates([0.5, 0.25]), metric.points([0.5, 0.5])
    (array([0.5, 0.5]), array([0.5 , 0.25]))
    >>> metric.form_values([[0.0, 0.0], [0.6, 0.0], [1.0, 0.0]])  # 0 on the boundary
    array([1.  , 0.64, 0.  ])
    >>> metric.inside([[0.6, 0.0]])
    (array([[0.6, 0. ]]), array([0.64]))
    """

    compact_factor: Floats  # L, or the diagonal (d,) of a diagonal L
    center: Floats
    curvature: float
    given_matrix: Floats | None

    def __init__(
        self,
        *,
        matrix: ArrayLike | None = None,
        factor: ArrayLike | None = None,
        center: ArrayLike | None = None,
        curvature: float = 0.0,
    ) -> None:
        if (factor is None) == (matrix is None):
            raise InvalidInputError("Give exactly one of factor (L) and matrix (Σ = LᵀL).")
        if matrix is not None:
            matrix = read_only(checks.as_symmetric(matrix, "matrix"))
            L = cholesky(matrix)
        else:
            L = checks.as_finite_array(factor, "factor")  # type: ignore[arg-type]
        right = L.ndim in (1, 2) and L.size > 0
        expected = "(r, d), or (d,) of a diagonal, neither 0"
        checks.expect(right, "factor of shape", L.shape, expected)
        d = L.shape[-1]
        if L.shape == (d, d) and np.count_nonzero(L) == np.count_nonzero(np.diagonal(L)):
            L = np.diagonal(L)
        center = np.zeros(d) if center is None else checks.as_points(center, "center", d, ndim=1)
        self._fill(compact_factor=read_only(L), center=read_only(center), given_matrix=matrix)
        self._fill(curvature=checks.as_real(curvature, "curvature"))

    def __reduce__(self) -> tuple[object, ...]:
        factor = self.compact_factor
        return _rebuild, (type(self), factor, self.given_matrix, self.center, self.curvature)

    def __repr__(self) -> str:
        rows, d = self.factor_shape
        low = "" if rows == d else f", {rows}×{d} factor"
        return f"{type(self).__name__}({self.geometry}, d={d}{low}, K={self.curvature:g})"

    @property
    def dimension(self) -> int:
        """Number of coordinates d of a point."""
        return len(self.center)

    @property
    def diagonal(self) -> Floats | None:
        """The diagonal (d,) of a diagonal L, and None for another."""
        return self.compact_factor if self.compact_factor.ndim == 1 else None

    @cached_property
    def factor(self) -> Floats:
        """L, of shape (r, d); a diagonal one is formed when asked for."""
        return self.compact_factor if self.diagonal is None else read_only(np.diag(self.diagonal))

    @property
    def factor_shape(self) -> tuple[int, int]:
        """The shape (r, d) of L."""
        return len(self.compact_factor), self.dimension

    @cached_property
    def column_lengths(self) -> Floats:
        """‖L_j‖ of each column of L, the length of a unit step along coordinate j at μ."""
        if self.diagonal is not None:
            return read_only(np.abs(self.diagonal))
        return read_only(np.sqrt(np.einsum("ij,ij->j", self.factor, self.factor)))

    @property
    def geometry(self) -> Geometry:
        """``"elliptic"``, ``"flat"`` or ``"hyperbolic"``, by the sign of K."""
        return "elliptic" if self.curvature > 0 else "hyperbolic" if self.curvature else "flat"

    @cached_property
    def matrix(self) -> Floats:
        """Σ = LᵀL."""
        given = self.given_matrix
        return read_only(self.factor.T @ self.factor) if given is None else given

    @cached_property
    def homogeneous_matrix(self) -> Floats:
        """[[L, -Lμ], [0, 1]], which takes x̃ = (x, 1) to (z, 1)."""
        top = np.column_stack([self.factor, self.factor @ (0.0 - self.center)])
        return read_only(np.vstack([top, np.append(np.zeros(self.dimension), 1.0)]))

    @cached_property
    def inverse_factor(self) -> Floats:
        """L⁻¹, for a square L of full rank."""
        refuse_lower_rank(self)
        diagonal = self.diagonal
        return read_only(linalg.inv(self.factor) if diagonal is None else np.diag(1 / diagonal))

    @cached_property
    def is_unit(self) -> bool:
        """Whether L = I and μ = 0, so that z is x itself."""
        given = self.given_matrix is not None or self.center.any()
        return not given and self.diagonal is not None and bool((self.diagonal == 1).all())

    def coordinates(self, x: ArrayLike) -> Floats:
        """Return z = L(x - μ)."""
        z = _coordinates(self, checks.as_points(x, "x", self.dimension))
        checks.refuse_overflow(np.isfinite(z).all(axis=-1), "L(x - μ)", "x")
        return z

    def points(self, z: ArrayLike) -> Floats:
        """Return x = μ + L⁻¹z, the inverse of :meth:`coordinates`."""
        z = checks.as_points(z, "z", self.factor_shape[0])
        if self.diagonal is None:
            return z @ self.inverse_factor.T + self.center
        refuse_lower_rank(self)
        return z / self.diagonal + self.center

    def form_values(self, x: ArrayLike) -> Floats:
        """Return S(x, x) = 1 + K ‖L(x - μ)‖²; positive exactly inside the domain."""
        return place_points(self, checks.as_points(x, "x", self.dimension), "x")[1]

    def inside(self, x: ArrayLike, name: str = "x") -> tuple[Floats, Floats]:
        """Return z and S(x, x) of points; raise OutsideDomainError unless all are in the domain."""
        return place_inside(self, checks.as_points(x, name, self.dimension), name)


# What geometry computes of points that were checked before, arrays (..., d) of finite numbers.


def place_points(metric: CurvedSpace, x: Floats, name: str) -> tuple[Floats, Floats]:
    """Return z and S(x, x) of points, inside the domain or not."""
    z = _coordinates(metric, x)
    if metric.curvature == 0:
        checks.refuse_overflow(np.isfinite(z).all(axis=-1), "L(x - μ)", name)
        return z, np.ones(z.shape[:-1])
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(1.0 + metric.curvature * np.einsum("...i,...i", z, z))
    checks.refuse_overflow(np.isfinite(values), "K‖L(x - μ)‖²", name)
    flat = values.reshape(-1)
    near = np.flatnonzero(np.abs(flat) < 1e-2)  # 1 + K‖z‖² cancels: twice the precision
    if metric.is_unit and len(near):
        rows = z.reshape(-1, z.shape[-1])
        rows = rows if len(near) == len(rows) else rows[near]
        flat[near] = rounding.one_plus_scaled_square(rows, metric.curvature)
        near = np.flatnonzero(np.abs(flat) < rounding.SQUARE_EXACT_ABOVE)
    if len(near):
        rows = x.reshape(-1, x.shape[-1])[near]
        flat[near] = rounding.one_plus_quadratic_form(
            rows, metric.center, metric.curvature, metric.compact_factor, metric.given_matrix
        )
    return z, values


def place_inside(metric: CurvedSpace, x: Floats, name: str) -> tuple[Floats, Floats]:
    """Return z and S(x, x) of points; raise OutsideDomainError unless all are in the domain."""
    z, s = place_points(metric, x, name)
    if not (s > 0).all():
        reason = (
            f" lies on or outside the hyperbolic domain -K‖L(x - μ)‖² < 1 (largest value "
            f"{1 - s.min():.6g}); move or drop such points, shrink the factor, or ask distances "
            f'for outside="inf" or "modulus".'
        )
        refuse_at(s <= 0, name, reason, OutsideDomainError)
    return z, s


def _coordinates(metric: CurvedSpace, x: Floats) -> Floats:
    if metric.is_unit:
        return np.ascontiguousarray(x)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks that z is finite
        return lifts.map_rows(metric.compact_factor, x - metric.center)


def apply_factor(metric: CurvedSpace, u: Floats) -> Floats:
    """Return Lu of steps u (..., d)."""
    return np.ascontiguousarray(u) if metric.is_unit else lifts.map_rows(metric.compact_factor, u)


def apply_transpose(metric: CurvedSpace, w: Floats) -> Floats:
    """Return Lᵀw of vectors w (..., r)."""
    return w @ metric.factor if metric.diagonal is None else w * metric.diagonal


def refuse_lower_rank(metric: CurvedSpace) -> None:
    """Raise NotRepresentableError unless L is square and of full rank."""
    (rows, d), diagonal = metric.factor_shape, metric.diagonal
    sizes = linalg.svdvals(metric.factor) if diagonal is None else np.abs(diagonal)
    rank = np.count_nonzero(sizes > sizes.max() * max(rows, d) * EPSILON)
    if rows != d or rank < d:
        raise NotRepresentableError(
            f"The factor has shape {metric.factor_shape} and rank {rank}, and so no inverse; "
            f"this needs a square factor of rank {d}."
        )


def as_space(metric: Any) -> CurvedSpace:
    if not isinstance(metric, CurvedSpace):
        raise InvalidInputError(f"metric must be a CurvedMetric; got {type(metric).__name__}.")
    return metric


def refuse_at(bad: Any, before: str, after: str, error: Any = InvalidInputError) -> None:
    """Raise an error that names the indices at which an array, or a number, is bad."""
    if np.any(bad):
        raise error(f"{before}{checks.at_index(bad)}{after}")


def check_points(
    metric: Any, **points: ArrayLike
) -> tuple[CurvedSpace, np.dtype[Any], tuple[Floats, ...]]:
    """Check a metric and named points; return it, the dtype of the answer and broadcast points."""
    space = as_space(metric)
    arrays = {name: checks.as_points(x, name, space.dimension) for name, x in points.items()}
    return space, checks.float_dtype(*points.values()), checks.broadcast_points(**arrays)


def cholesky(matrix: Floats) -> Floats:
    try:
        return np.asarray(linalg.cholesky(matrix, lower=False))
    except linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise NotRepresentableError(
            f"matrix must be positive definite, but its smallest eigenvalue is {smallest:.6g}; "
            f"for a pseudo-metric of lower rank pass factor= instead."
        ) from None


def _rebuild(
    cls: type[CurvedSpace], factor: Floats, matrix: Floats | None, center: Floats, curvature: float
) -> CurvedSpace:
    given = {"factor": factor} if matrix is None else {"matrix": matrix}
    return cls(**given, center=center, curvature=curvature)


def curvature_from_kappa(kappa: float) -> float:
    """Return K = sign(κ) κ², the inverse of :func:`kappa_from_curvature` (paper §2.4).

    Parameters
    ----------
    kappa : float
        The paper's κ.

    Examples
    --------
    >>> curvature_from_kappa(-2.0)
    -4.0
    """
    kappa = checks.as_real(kappa, "kappa")
    return kappa * abs(kappa)


def kappa_from_curvature(curvature: float) -> float:
    """Return the paper's κ = sign(K) √|K|, with which b = μᵀΣμ + sign(κ)/κ² (paper §2.4).

    Parameters
    ----------
    curvature : float
        Curvature K.

    Examples
    --------
    >>> kappa_from_curvature(-4.0)
    -2.0
    """
    curvature = checks.as_real(curvature, "curvature")
    return math.copysign(math.sqrt(abs(curvature)), curvature)


def form_from_blocks(matrix: ArrayLike, a: ArrayLike, b: float) -> Floats:
    """Return S = [[Σ, a], [aᵀ, b]].

    Parameters
    ----------
    matrix : array-like of shape (d, d)
        Block Σ, symmetric.
    a : array-like of shape (d,)
        Block a.
    b : float
        Last entry.

    Examples
    --------
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
    checks.expect(len(S) > 1, "S of shape", S.shape, "(d+1)×(d+1) with d ≥ 1")
    S = -S if np.trace(S[:-1, :-1]) < 0 else S
    matrix = S[:-1, :-1]
    a = S[:-1, -1]
    b = float(S[-1, -1])
    least, most = np.linalg.eigvalsh(matrix)[[0, -1]]
    if least <= len(matrix) * EPSILON * abs(most):
        raise NotRepresentableError(
            f"S is not a curved Mahalanobis metric: its leading block Σ must be definite, but has "
            f"eigenvalues from {least:.6g} to {most:.6g}. FormMetric.from_form takes hyperbolic "
            f"forms whose domain is no ellipsoid."
        )
    center = -linalg.solve(matrix, a, assume_a="pos")
    spread = float(a @ center)  # -μᵀΣμ
    inverse_curvature = b + spread
    cone = abs(inverse_curvature) <= 4 * len(matrix) * EPSILON * max(abs(b), abs(spread))
    said = f"1/K = b - μᵀΣμ is {inverse_curvature:.3g}, zero to rounding"
    refuse_at(cone, said, ": S is singular, a cone.", NotRepresentableError)
    return matrix, center, 1 / inverse_curvature
