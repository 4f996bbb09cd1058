"""Convex bodies: the protocol of one, and ellipsoids, the domains of hyperbolic geometry."""

import math
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry.frozen import Frozen, read_only
from cayleyklein.geometry.rounding import binary_scale
from cayleyklein.geometry.space import cholesky


@runtime_checkable
class ConvexBody(Protocol):
    """A bounded open convex set: any object with these three attributes.

    Examples
    --------
    >>> disc = Ellipsoid([0.0, 0.0], np.eye(2))
    >>> isinstance(disc, ConvexBody), bool(disc.contains([0.5, 0.0]))
    (True, True)
    >>> float(disc.exit_time([0.5, 0.0], [1.0, 0.0]))
    0.5
    """

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""

    def contains(self, points: ArrayLike) -> Bools:
        """Return whether points (..., d) are inside; points on the boundary are not."""

    def exit_time(self, points: ArrayLike, directions: ArrayLike) -> AnyFloats:
        """Return the finite t > 0 for which x + t u is on the boundary.

        Points x (..., d) are inside the body, directions u (..., d) are not zero.
        """


def check_inside(body: ConvexBody, points: Floats, name: str) -> None:
    outside = ~np.asarray(body.contains(points))
    if np.any(outside):
        where = checks.at_index(outside) or f": {points.tolist()}"
        raise OutsideDomainError(
            f"{name} must lie inside the body, but is on its boundary or outside{where}."
        )


def unit_rays(
    body: ConvexBody, points: ArrayLike, directions: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Check points and directions; return these scaled to length about 1, and the scales."""
    x, u = checks.broadcast_points(
        points=checks.as_points(points, "points", body.dimension),
        directions=checks.as_points(directions, "directions", body.dimension),
    )
    still = np.asarray(~u.any(axis=-1))
    if still.any():
        raise InvalidInputError(f"directions has a zero vector{checks.at_index(still)}.")
    check_inside(body, x, "points")
    scale = binary_scale(u)
    return x, u / scale, scale[..., 0]


class Ellipsoid(Frozen, ConvexBody):
    """The open set (x - center)ᵀ matrix (x - center) < radius². Immutable.

    Parameters
    ----------
    center : array-like of shape (d,)
    matrix : array-like of shape (d, d)
        Symmetric; positive definite unless the ellipsoid is a cylinder.
    radius : float, default=1.0

    Examples
    --------
    >>> ellipse = Ellipsoid([1.0, 0.0], [[1.0, 0.0], [0.0, 4.0]], 2.0)
    >>> ellipse.contains([[2.9, 0.0], [3.0, 0.0], [1.0, 1.5]])
    array([ True, False, False])
    >>> ellipse.semi_axes
    array([2., 1.])
    >>> ellipse.to_euclidean([3.0, 0.0]), ellipse.from_euclidean([1.0, 0.0])
    (array([1., 0.]), array([3., 0.]))
    >>> ellipse.boundary(1)
    array([[3., 0.]])
    >>> float(ellipse.exit_time([1.0, 0.0], [0.5, 0.0]))
    4.0
    """

    _arguments = ("center", "matrix", "radius")
    center: Floats
    matrix: Floats
    radius: float

    def __init__(self, center: ArrayLike, matrix: ArrayLike, radius: float = 1.0) -> None:
        matrix = checks.as_symmetric(matrix, "matrix")
        center = checks.as_points(center, "center", len(matrix), ndim=1)
        eigenvalues = np.linalg.eigvalsh(matrix)
        if eigenvalues[0] < -len(matrix) * np.finfo(float).eps * abs(eigenvalues[-1]):
            raise InvalidInputError(
                f"matrix must be positive definite, but its smallest eigenvalue is "
                f"{eigenvalues[0]:.3g}."
            )
        radius = checks.as_real(radius, "radius", "(0, inf)")
        self._fill(center=read_only(center), matrix=read_only(matrix), radius=radius)

    def __repr__(self) -> str:
        middle = np.array2string(self.center, precision=4, threshold=6)
        return f"Ellipsoid(center={middle}, d={self.dimension}, radius={self.radius:g})"

    @cached_property
    def factor(self) -> Floats:
        """Upper triangular L' with matrix = L'ᵀL'."""
        return read_only(cholesky(self.matrix))

    @property
    def semi_axes(self) -> Floats:
        """Lengths of the semi-axes, longest first; inf along a cylinder."""
        eigenvalues = np.maximum(np.linalg.eigvalsh(self.matrix), 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.radius / np.sqrt(eigenvalues))

    @property
    def dimension(self) -> int:
        return len(self.center)

    def contains(self, points: ArrayLike) -> Bools:
        t = checks.as_points(points, "points", self.dimension) - self.center
        radius, exponent = math.frexp(self.radius)  # its square may overflow
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is outside
            t = np.ldexp(t, -exponent)
            return np.asarray(np.einsum("...i,ij,...j", t, self.matrix, t) < radius**2)

    def exit_time(self, points: ArrayLike, directions: ArrayLike) -> Floats:
        x, u, scale = unit_rays(self, points, directions)
        z, v = self.to_euclidean(x), u @ self.factor.T / self.radius
        vv, zv = np.einsum("...i,...i", v, v), np.einsum("...i,...i", z, v)
        norm = np.linalg.norm(z, axis=-1)
        slack = (1 - norm) * (1 + norm)
        root = np.sqrt(zv * zv + vv * slack)
        # (root - zv) / vv, or the same where that would cancel
        outwards = zv > 0
        times = np.where(outwards, slack, root - zv) / np.where(outwards, root + zv, vv)
        with np.errstate(over="ignore"):  # a direction of 1e-310 takes infinitely long
            return np.asarray(times / scale)

    def to_euclidean(self, points: ArrayLike) -> Floats:
        """Map points to coordinates where the ellipsoid is the unit ball: L'(x - center)/radius."""
        t = checks.as_points(points, "points", self.dimension) - self.center
        return np.asarray(t @ self.factor.T / self.radius)

    def from_euclidean(self, y: ArrayLike) -> Floats:
        """Return the inverse of :meth:`to_euclidean`."""
        y = checks.as_points(y, "y", self.dimension)
        flat = np.linalg.solve(self.factor, y.reshape(-1, y.shape[-1]).T).T
        return np.asarray(flat.reshape(y.shape) * self.radius + self.center)

    def boundary(self, n: int = 256) -> Floats:
        """Return n points of the boundary of an ellipse, in order (plane only)."""
        if len(self.center) != 2:
            raise InvalidInputError(
                f"boundary() draws an ellipse in the plane; this ellipsoid has {self.dimension} "
                f"dimensions."
            )
        angle = np.linspace(0.0, 2 * math.pi, checks.as_count(n, "n"), endpoint=False)
        return self.from_euclidean(np.stack([np.cos(angle), np.sin(angle)], axis=1))
