"""Balls are ellipsoids with displaced centres (paper §3.2).

For a ball of centre c and radius r write s = sin_K(r), C = cos_K(r) and S = S(c, c). Its points are
W(x, c) ≤ s² S S(x, x), a quadric whose matrix in coordinates z is

    M = C² S I - K c cᵀ,    centre c/D,    D = 1 - K s² S = C² - K²s²‖c‖²,

with semi-axes s C S/D along c and s √(S/D) across it. D ≤ 0 happens in the elliptic case only, when
the ball reaches the equator: the quadric is then a paraboloid or a hyperboloid. This is the paper's
Σ' = r̃²Σ - a'a'ᵀ (corrected: a', not a; r̃² signed) divided by 1/K, so that it tends to (Σ, r) as K
tends to 0. For K < 0 everything is divided by C², which overflows.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import Bools, Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry._ellipsoids import Ellipsoid
from cayleyklein.geometry.distances import distance_between
from cayleyklein.geometry.frozen import Frozen, read_only
from cayleyklein.geometry.geodesics import geodesic
from cayleyklein.geometry.lifts import cosine, sine, tangent
from cayleyklein.geometry.rounding import EPSILON
from cayleyklein.geometry.space import CurvedSpace, as_space

BallKind = Literal["ellipsoid", "paraboloid", "hyperboloid", "half-space", "everything"]


class Ball(Frozen):
    """The closed ball {x : d(x, center) ≤ radius} of a metric.

    Parameters
    ----------
    center : array-like of shape (d,)
        Inside the domain.
    radius : float
        ≥ 0.
    metric : CurvedMetric

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
        metric._inside(center, "center")
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
        quarter = math.pi / 2 / math.sqrt(K)
        z, _ = self.metric._inside(self.center, "center")
        if self.radius >= 2 * quarter:
            return "everything"
        if self.radius == quarter:
            return "half-space" if z.any() else "everything"
        height = abs(float(cosine(self.radius, K)))
        reach = K * float(sine(self.radius, K)) * float(np.linalg.norm(z))
        rounding = 4 * EPSILON * (height + reach)
        if reach - height > rounding:
            return "hyperboloid"
        if self.radius > quarter:  # the points it leaves out are below the equator
            return "everything"
        return "ellipsoid" if height - reach > rounding else "paraboloid"

    def ellipsoid(self) -> Ellipsoid:
        """Return (x - c')ᵀΣ'(x - c') ≤ r'²; raise NotRepresentableError for another `kind`."""
        if self.kind != "ellipsoid":
            kind = "the whole space" if self.kind == "everything" else f"a {self.kind}"
            raise NotRepresentableError(
                f"This elliptic ball of radius {self.radius:g} reaches the equator and is not "
                f"an ellipsoid but {kind}; contains() tests points."
            )
        if self.radius == 0:
            raise NotRepresentableError(
                "A ball of radius 0 is a point, not an ellipsoid; give a positive radius."
            )
        K, r = self.metric.curvature, self.radius
        z, s_cc = self.metric._inside(self.center, "center")
        form, one = float(s_cc), 1.0
        if K > 0:
            sin, cos = float(sine(r, K)), float(cosine(r, K))
            reach = K * sin * float(np.linalg.norm(z))
            D = (cos - reach) * (cos + reach)
        else:  # s/C, 1, 1/C² and D/C² in place of s, C, 1 and D
            with np.errstate(over="ignore"):
                sin, cos, one = float(tangent(r, K)), 1.0, float(cosine(r, K)) ** -2.0
            D = one - K * sin * sin * form
        a = self.metric._apply_transpose(z)
        matrix = cos * cos * form * self.metric.matrix - K * one * np.outer(a, a)
        # z/D - z is K s²S z/D, added to the centre itself so that D ≈ 1 loses nothing
        displacement = self.center - self.metric.center
        center = self.center + displacement * (K * sin * sin * form / D)
        return Ellipsoid(center, matrix, sin * form * cos / math.sqrt(D))

    def contains(self, x: ArrayLike) -> Bools:
        """Return whether points are in the ball; points outside a hyperbolic domain are not."""
        x = checks.as_points(x, "x", self.metric.dimension)
        x, center = np.broadcast_arrays(x, self.center)
        found = distance_between(x, center, self.metric, "inf", ("x", "center"))
        return np.asarray(found <= self.radius)


def ball_from_ellipsoid(
    center: ArrayLike, matrix: ArrayLike, radius: float, metric: CurvedSpace, *, rtol: float = 1e-6
) -> Ball:
    """Return the ball of the metric that is the ellipsoid (x - c')ᵀΣ'(x - c') ≤ r'².

    The diameter of a ball through μ is an axis of its ellipsoid, so the ball's centre is the
    geodesic midpoint of that axis, and its radius half the axis's length. Raises
    NotRepresentableError for an ellipsoid that is not a ball: matrices that differ by more than
    ``rtol``.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> disc = CurvedMetric(factor=np.eye(2), curvature=-1.0)
    >>> e = Ball([0.5, 0.1], 0.7, disc).ellipsoid()
    >>> back = ball_from_ellipsoid(e.center, e.matrix, e.radius, disc)
    >>> back.center.round(12), round(back.radius, 12)
    (array([0.5, 0.1]), 0.7)
    """
    given, metric = Ellipsoid(center, matrix, radius), as_space(metric)
    rtol = checks.as_real(rtol, "rtol", "[0, inf)")
    if given.dimension != metric.dimension:
        raise InvalidInputError(
            f"The ellipsoid has dimension {given.dimension}, but the metric {metric.dimension}."
        )
    axis = given.center - metric.center
    if not axis.any():
        axis = np.eye(metric.dimension)[0]
    square = float(axis @ given.matrix @ axis)
    if square <= 0:
        raise NotRepresentableError(
            "matrix is singular: the ellipsoid is a cylinder along its axis through μ, not a ball."
        )
    half = axis * (given.radius / math.sqrt(square))
    ends = given.center + half, given.center - half
    with checks.about("center, matrix and radius"):  # p and q are the ends of an axis
        middle = geodesic(*ends, metric, 0.5)
        ball = Ball(middle, float(distance_between(*ends, metric, "raise")) / 2, metric)
        found = ball.ellipsoid()
    got = found.matrix * (given.radius / found.radius) ** 2  # the matrix of the same radius
    difference = np.abs(given.matrix - got).max()
    if difference > rtol * np.abs(given.matrix).max():
        raise NotRepresentableError(
            "The ellipsoid (center, matrix, radius) is not a ball of this metric: the ball with "
            f"the same centre has another matrix. Largest difference: {difference:.3g}."
        )
    return ball
