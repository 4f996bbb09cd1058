"""Convex bodies: ellipsoids, and balls, which are ellipsoids with displaced centres (paper §3.2).

For a ball of centre c and radius r write s = sin_K(r), C = cos_K(r) and S = S(c, c). Its points are
W(x, c) ≤ s² S S(x, x), a quadric whose matrix in coordinates z is

    M = C² S I - K c cᵀ,    centre c/D,    D = 1 - K s² S = C² - K²s²‖c‖²,

with semi-axes s C S/D along c and s √(S/D) across it. D ≤ 0 happens in the elliptic case only, when
the ball reaches the equator: the quadric is then a paraboloid or a hyperboloid. This is the paper's
Σ' = r̃²Σ - a'a'ᵀ (corrected: a', not a; r̃² signed) divided by 1/K, so that it tends to (Σ, r) as K
tends to 0. For K < 0 everything is divided by C², which overflows.
"""

import math
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.distances import distance_between
from cayleyklein.geometry.frozen import Frozen, read_only
from cayleyklein.geometry.geodesics import geodesic
from cayleyklein.geometry.lifts import cosine, sine, tangent
from cayleyklein.geometry.rounding import EPSILON, binary_scale
from cayleyklein.geometry.space import (
    CurvedSpace,
    apply_transpose,
    as_space,
    cholesky,
    place_inside,
    refuse_at,
)

BallKind = Literal["ellipsoid", "paraboloid", "hyperboloid", "half-space", "everything"]


@runtime_checkable
class ConvexBody(Protocol):
    """A bounded open convex set: any object with these three attributes.

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
        """Return t > 0 for which x + t u is on the boundary, of points x inside and u ≠ 0."""


def check_inside(body: ConvexBody, points: Floats, name: str) -> None:
    outside = ~np.asarray(body.contains(points))
    where = "." if outside.ndim else f": {points.tolist()}."
    said = f"{name} must lie inside the body, but is on its boundary or outside"
    refuse_at(outside, said, where, OutsideDomainError)


def unit_rays(
    body: ConvexBody, points: ArrayLike, directions: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Check points and directions; return these scaled to length about 1, and the scales."""
    x, u = checks.broadcast_points(
        points=checks.as_points(points, "points", body.dimension),
        directions=checks.as_points(directions, "directions", body.dimension),
    )
    refuse_at(~u.any(axis=-1), "directions has a zero vector", ".")
    check_inside(body, x, "points")
    scale = binary_scale(u)
    return x, u / scale, scale[..., 0]


class Ellipsoid(Frozen, ConvexBody):
    """The open set (x - center)ᵀ matrix (x - center) < radius². Immutable.

    Parameters
    ----------
    center : array-like of shape (d,)
        Centre.
    matrix : array-like of shape (d, d)
        Positive definite matrix, or a semi-definite one for a cylinder.
    radius : float, default=1.0
        Radius, in the units of the form.

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
        least, most = np.linalg.eigvalsh(matrix)[[0, -1]]
        said = f"matrix must be positive definite, but its smallest eigenvalue is {least:.3g}"
        refuse_at(least < -len(matrix) * EPSILON * abs(most), said, ".")
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
        with np.errstate(divide="ignore"):
            return np.asarray(self.radius / np.sqrt(np.linalg.eigvalsh(self.matrix).clip(0.0)))

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return len(self.center)

    def contains(self, points: ArrayLike) -> Bools:
        """Return whether points (..., d) are inside; points on the boundary are not."""
        t = checks.as_points(points, "points", self.dimension) - self.center
        radius, exponent = math.frexp(self.radius)  # its square may overflow
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is outside
            t = np.ldexp(t, -exponent)
            return np.asarray(np.einsum("...i,ij,...j", t, self.matrix, t) < radius**2)

    def exit_time(self, points: ArrayLike, directions: ArrayLike) -> Floats:
        """Return t > 0 for which x + t u is on the boundary, of points x inside and u ≠ 0."""
        x, u, scale = unit_rays(self, points, directions)
        z = self.to_euclidean(x)
        v = u @ self.factor.T / self.radius
        vv = np.einsum("...i,...i", v, v)
        zv = np.einsum("...i,...i", z, v)
        norm = np.linalg.norm(z, axis=-1)
        outwards = zv > 0
        slack = (1 - norm) * (1 + norm)
        root = np.sqrt(zv * zv + vv * slack)
        # (root - zv) / vv, or the same where that would cancel
        times = np.where(outwards, slack, root - zv) / np.where(outwards, root + zv, vv)
        with np.errstate(over="ignore"):  # a direction of 1e-310 takes infinitely long
            return np.asarray(times / scale)

    def to_euclidean(self, points: ArrayLike) -> Floats:
        """Map points to coordinates where the ellipsoid is the unit ball: L'(x - center)/radius."""
        away = checks.as_points(points, "points", self.dimension) - self.center
        return np.asarray(away @ self.factor.T / self.radius)

    def from_euclidean(self, y: ArrayLike) -> Floats:
        """Return the inverse of :meth:`to_euclidean`."""
        y = checks.as_points(y, "y", self.dimension)
        flat = np.linalg.solve(self.factor, y.reshape(-1, y.shape[-1]).T).T
        return np.asarray(flat.reshape(y.shape) * self.radius + self.center)

    def boundary(self, n: int = 256) -> Floats:
        """Return n points of the boundary of an ellipse, in order (plane only)."""
        d = self.dimension
        checks.expect(d == 2, "dimension", d, "2: boundary() draws ellipses in the plane")
        angle = np.linspace(0.0, 2 * math.pi, checks.as_count(n, "n"), endpoint=False)
        return self.from_euclidean(np.stack([np.cos(angle), np.sin(angle)], axis=1))


class Ball(Frozen):
    """The closed ball {x : d(x, center) ≤ radius} of a metric.

    Parameters
    ----------
    center : array-like of shape (d,)
        Centre, inside the domain.
    radius : float
        Radius, 0 or more.
    metric : CurvedMetric
        Metric that measures the distance from the centre.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> ball = Ball([0.5, 0.0], 0.5, disc)
    >>> ball.kind
    'ellipsoid'
    >>> ball.ellipsoid().center.round(6)  # displaced towards the middle
    array([0.415401, 0.      ])
    >>> ball.contains([[0.75, 0.0], [0.8, 0.0]])
    array([ True, False])
    >>> sphere = CurvedMetric(factor=np.eye(2), curvature=1.0)  # here a ball may reach the equator
    >>> [Ball([0.0, 0.0], 1.0, sphere).kind, Ball([1.0, 0.0], 1.0, sphere).kind]
    ['ellipsoid', 'hyperboloid']
    """

    _arguments = ("center", "radius", "metric")
    center: Floats
    radius: float
    metric: CurvedSpace

    def __init__(self, center: ArrayLike, radius: float, metric: CurvedSpace) -> None:
        metric = as_space(metric)
        center = checks.as_points(center, "center", metric.dimension, ndim=1)
        place_inside(metric, center, "center")
        radius = checks.as_real(radius, "radius", "[0, inf)")
        self._fill(center=read_only(center), radius=radius, metric=metric)

    def __repr__(self) -> str:
        middle = np.array2string(self.center, precision=4, threshold=6)
        return f"Ball(center={middle}, radius={self.radius:g}, {self.metric})"

    @property
    def kind(self) -> BallKind:
        """The quadric that bounds the ball in the chart; only an ``"ellipsoid"`` is bounded."""
        K = self.metric.curvature
        if K <= 0:
            return "ellipsoid"
        r = self.radius
        quarter = math.pi / 2 / math.sqrt(K)
        length = float(np.linalg.norm(place_inside(self.metric, self.center, "center")[0]))
        if r == quarter and length:
            return "half-space"
        height = abs(float(cosine(r, K)))
        reach = K * float(sine(r, K)) * length
        rounding = 4 * EPSILON * (height + reach)
        if reach - height > rounding and quarter != r < 2 * quarter:
            return "hyperboloid"
        if r >= quarter:  # the points it leaves out are below the equator
            return "everything"
        return "ellipsoid" if height - reach > rounding else "paraboloid"

    def ellipsoid(self) -> Ellipsoid:
        """Return (x - c')ᵀΣ'(x - c') ≤ r'²; raise NotRepresentableError for another `kind`."""
        K = self.metric.curvature
        r = self.radius
        kind = self.kind
        if kind != "ellipsoid" or r == 0:
            shape = {"ellipsoid": "a point", "everything": "the whole space"}.get(kind, f"a {kind}")
            where = f"{r:g} reaches the equator and" if r else "0"
            raise NotRepresentableError(
                f"This {self.metric.geometry} ball of radius {where} is not an ellipsoid but "
                f"{shape}; contains() tests points."
            )
        z, s_cc = place_inside(self.metric, self.center, "center")
        form = float(s_cc)
        if K > 0:
            sin = float(sine(r, K))
            cos = float(cosine(r, K))
            one = 1.0
            reach = K * sin * float(np.linalg.norm(z))
            D = (cos - reach) * (cos + reach)
        else:  # s/C, 1, 1/C² and D/C² in place of s, C, 1 and D
            with np.errstate(over="ignore"):
                sin = float(tangent(r, K))
                cos = 1.0
                one = float(cosine(r, K)) ** -2.0
            D = one - K * sin * sin * form
        a = apply_transpose(self.metric, z)
        matrix = cos * cos * form * self.metric.matrix - K * one * np.outer(a, a)
        # z/D - z is K s²S z/D, added to the centre itself so that D ≈ 1 loses nothing
        displacement = self.center - self.metric.center
        center = self.center + displacement * (K * sin * sin * form / D)
        return Ellipsoid(center, matrix, sin * form * cos / math.sqrt(D))

    def contains(self, x: ArrayLike) -> Bools:
        """Return whether points are in the ball; points outside a hyperbolic domain are not."""
        x = checks.as_points(x, "x", self.metric.dimension)
        center = np.broadcast_to(self.center, x.shape)
        found = distance_between(x, center, self.metric, "inf", ("x", "center"))
        return np.asarray(found <= self.radius)


def ball_from_ellipsoid(
    center: ArrayLike, matrix: ArrayLike, radius: float, metric: CurvedSpace, *, rtol: float = 1e-6
) -> Ball:
    """Return the ball of the metric that is the ellipsoid (x - c')ᵀΣ'(x - c') ≤ r'².

    Its centre is the geodesic midpoint of the ellipsoid's axis through μ, and its radius half of
    that axis. An ellipsoid that is no ball of the metric raises NotRepresentableError.

    Parameters
    ----------
    center : array-like of shape (d,)
        Centre c' of the ellipsoid.
    matrix : array-like of shape (d, d)
        Matrix Σ' of the ellipsoid, positive definite.
    radius : float
        Radius r' of the ellipsoid.
    metric : CurvedMetric
        Metric of the ball.
    rtol : float, default=1e-6
        Largest relative difference between the matrices of the ellipsoid and of the ball.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> e = Ball([0.5, 0.1], 0.7, disc).ellipsoid()
    >>> back = ball_from_ellipsoid(e.center, e.matrix, e.radius, disc)
    >>> back.center.round(12), round(back.radius, 12)
    (array([0.5, 0.1]), 0.7)
    """
    given = Ellipsoid(center, matrix, radius)
    metric = as_space(metric)
    rtol = checks.as_real(rtol, "rtol", "[0, inf)")
    checks.as_points(given.center, "center", metric.dimension)
    axis = given.center - metric.center
    axis = axis if axis.any() else np.eye(metric.dimension)[0]
    square = float(axis @ given.matrix @ axis)
    if square <= 0:
        raise NotRepresentableError("matrix is singular: the ellipsoid is a cylinder, not a ball.")
    half = axis * (given.radius / math.sqrt(square))
    ends = given.center + half, given.center - half
    with checks.about("center, matrix and radius"):  # p and q are the ends of an axis
        middle = geodesic(*ends, metric, 0.5)
        ball = Ball(middle, float(distance_between(*ends, metric, "raise")) / 2, metric)
        found = ball.ellipsoid()
    got = found.matrix * (given.radius / found.radius) ** 2  # the matrix of the same radius
    difference = np.abs(given.matrix - got).max()
    said = "The ellipsoid is not a ball of this metric: that of its centre has another matrix"
    reason = f". Largest difference: {difference:.3g}."
    differs = difference > rtol * np.abs(given.matrix).max()
    refuse_at(differs, said, reason, NotRepresentableError)
    return ball
