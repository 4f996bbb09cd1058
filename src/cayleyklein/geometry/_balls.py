"""Balls are ellipsoids with displaced centres (paper §3.2).

For a ball of centre c and radius r write s = sin_K(r), C = cos_K(r) and
S = S(c, c). Its points are W(x, c) ≤ s² S S(x, x), a quadric whose matrix in
coordinates z is

    M = C² S I - K c cᵀ,    centre c/D,    D = 1 - K s² S,

with semi-axes s C S/D along c and s √(S/D) across it. D ≤ 0 happens in the
elliptic case only, when the ball reaches the equator: the quadric is then a
paraboloid or a hyperboloid. This is the paper's Σ' = r̃²Σ - a'a'ᵀ (corrected: a',
not a; r̃² signed) divided by 1/K, so that it tends to (Σ, r) as K tends to 0.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein._validation import as_points, as_real
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry._distances import _distance
from cayleyklein.geometry._ellipsoids import Ellipsoid
from cayleyklein.geometry._frames import Frame
from cayleyklein.geometry._geodesics import midpoint
from cayleyklein.geometry._trigonometry import cosine, sine

__all__ = ["Ball", "ball_from_ellipsoid"]

Array = NDArray[np.float64]
Kind = Literal["ellipsoid", "paraboloid", "hyperboloid", "half-space", "everything"]

PARABOLA_TOLERANCE = 8 * np.finfo(np.float64).eps
"""|D| under which the quadric is called a paraboloid: D is a difference of numbers near 1."""


@dataclass(frozen=True, eq=False)
class Ball:
    """The closed ball {x : d(x, center) ≤ radius} of a frame.

    Parameters
    ----------
    center : array-like of shape (d,)
        Inside the domain.
    radius : float
        ≥ 0.
    frame : Frame

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> disc = Frame(np.eye(2), curvature=-1.0)
    >>> ball = Ball([0.5, 0.0], 0.5, disc)
    >>> ball.kind
    'ellipsoid'
    >>> ball.ellipsoid().center.round(6)  # displaced towards the middle
    array([0.415401, 0.      ])

    On the sphere a ball may reach the equator:

    >>> plane = Frame(np.eye(2), curvature=1.0)
    >>> Ball([0.0, 0.0], 1.0, plane).kind, Ball([1.0, 0.0], 1.0, plane).kind
    ('ellipsoid', 'hyperboloid')
    >>> Ball([0.0, 0.0], 4.0, plane).kind
    'everything'
    """

    center: Array
    radius: float
    frame: Frame

    def __post_init__(self) -> None:
        center = as_points(self.center, "center", self.frame.dimension, ndim=1).copy()
        center.setflags(write=False)
        self.frame.inside(center, "center")
        radius = as_real(self.radius, "radius")
        if radius < 0:
            raise InvalidInputError(f"radius must be ≥ 0; got {radius:g}.")
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "radius", radius)

    def _numbers(self) -> tuple[Array, float, float, float, float]:
        """Return z, S(c, c), s, C and D of the module's docstring."""
        z, s_cc = self.frame.inside(self.center, "center")
        sin = float(sine(self.radius, self.frame.curvature))
        cos = float(cosine(self.radius, self.frame.curvature))
        return z, float(s_cc), sin, cos, float(1 - self.frame.curvature * sin * sin * s_cc)

    @property
    def kind(self) -> Kind:
        """What the ball's boundary is in the chart; only ``"ellipsoid"`` is bounded."""
        K = self.frame.curvature
        if K <= 0:
            return "ellipsoid"
        quarter = math.pi / 2 / math.sqrt(K)
        z, *_, denominator = self._numbers()
        if self.radius >= 2 * quarter:
            return "everything"
        if self.radius == quarter:
            return "half-space" if z.any() else "everything"
        if denominator < -PARABOLA_TOLERANCE:
            return "hyperboloid"
        if self.radius > quarter:  # what it leaves out lies below the equator
            return "everything"
        return "ellipsoid" if denominator > PARABOLA_TOLERANCE else "paraboloid"

    def quadric(self) -> Array:
        """Return the symmetric (d+1)×(d+1) matrix N of the boundary x̃ᵀNx̃ = 0.

        Inside, x̃ᵀNx̃ ≤ 0 on the side S(x, c) ≥ 0 (radius ≤ π/(2√K)); see :meth:`contains`.
        """
        K, (z, s_cc, sin, cos, _) = self.frame.curvature, self._numbers()
        # In coordinates u = z - c: uᵀMu - 2K s²S ⟨c, u⟩ - s²S² ≤ 0
        M = cos * cos * s_cc * np.eye(len(z)) - K * np.outer(z, z)
        side = -K * sin * sin * s_cc * z
        corner = np.array([[-((sin * s_cc) ** 2)]])
        inner = np.block([[M, side[:, None]], [side[None, :], corner]])
        factor = self.frame.factor
        last = -(factor @ self.center)[:, None]
        to_u = np.block([[factor, last], [np.zeros((1, len(self.center))), np.ones((1, 1))]])
        return np.asarray(to_u.T @ inner @ to_u)

    def ellipsoid(self) -> Ellipsoid:
        """Return the ball as an ellipsoid (x - c')ᵀΣ'(x - c') ≤ r'².

        Raises
        ------
        NotRepresentableError
            When it is none: `kind` says what it is, and `quadric` gives its equation.
        """
        if self.kind != "ellipsoid":
            raise NotRepresentableError(
                f"This elliptic ball of radius {self.radius:g} reaches the equator and is no "
                f"ellipsoid but {_article(self.kind)}; quadric() gives its equation, and "
                f"contains() says which points are in it."
            )
        K, (z, s_cc, sin, cos, denominator) = self.frame.curvature, self._numbers()
        a = z @ self.frame.factor
        shape = cos * cos * s_cc * self.frame.shape - K * np.outer(a, a)
        # z/D - z is K s²S z/D, added to the centre itself so that D ≈ 1 loses nothing
        displacement = self.center - self.frame.center
        center = self.center + displacement * (K * sin * sin * s_cc / denominator)
        return Ellipsoid(center, shape, sin * s_cc * cos / math.sqrt(denominator))

    def contains(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Say which points are in the ball; points outside a hyperbolic domain are not."""
        x = as_points(x, "x", self.frame.dimension)
        x, center = np.broadcast_arrays(x, self.center)
        return np.asarray(_distance(x, center, self.frame, "inf") <= self.radius)


def ball_from_ellipsoid(
    center: ArrayLike, shape: ArrayLike, radius: float, frame: Frame, *, rtol: float = 1e-6
) -> Ball:
    """Return the ball of the frame that is the ellipsoid (x - c')ᵀΣ'(x - c') ≤ r'².

    The diameter of a ball through μ is an axis of its ellipsoid, so the ball's centre is
    the geodesic midpoint of that axis, and its radius half the axis's length.

    Raises
    ------
    NotRepresentableError
        When the ellipsoid is no ball of this frame.

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> disc = Frame(np.eye(2), curvature=-1.0)
    >>> e = Ball([0.5, 0.1], 0.7, disc).ellipsoid()
    >>> back = ball_from_ellipsoid(e.center, e.shape, e.radius, disc)
    >>> back.center.round(12), round(back.radius, 12)
    (array([0.5, 0.1]), 0.7)
    """
    given = Ellipsoid(np.asarray(center), np.asarray(shape), radius)
    axis = given.center - frame.center
    if not axis.any():
        axis = np.eye(frame.dimension)[0]
    half = axis * (given.radius / math.sqrt(axis @ given.shape @ axis))
    ends = given.center + half, given.center - half
    middle = midpoint(*ends, frame)
    ball = Ball(np.asarray(middle), float(_distance(*ends, frame, "raise")) / 2, frame)
    found = ball.ellipsoid()
    expected, got = given.shape / given.radius**2, found.shape / found.radius**2
    if np.abs(expected - got).max() > rtol * np.abs(expected).max():
        raise NotRepresentableError(
            "The ellipsoid is no ball of this frame: a ball centred where it is has another shape. "
            f"Largest difference of shape/radius²: {np.abs(expected - got).max():.3g}."
        )
    return ball


def _article(kind: str) -> str:
    return {"everything": "the whole space"}.get(kind, f"a {kind}")
