"""Hilbert geometry of a bounded convex body; on an ellipsoid it is hyperbolic geometry.

The distance of two points is half the logarithm of their cross-ratio with the two ends of the chord
through them (paper §2.1). With the times at which the chord leaves the body, t₊ from q onwards and
t₋ from p backwards, in units of the step q - p,

    d(p, q) = ½ [log(1 + 1/t₊) + log(1 + 1/t₋)],

which keeps its digits for close points (t large) and near the boundary (t small).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry._balls import ConvexBody, check_inside, unit_rays
from cayleyklein.geometry.frozen import Frozen, read_only
from cayleyklein.geometry.rounding import binary_scale


class Polytope(Frozen, ConvexBody):
    """The bounded intersection of half-spaces a·x ≤ b. Immutable.

    Parameters
    ----------
    normals : array-like of shape (m, d)
        The a, not zero.
    offsets : array-like of shape (m,)
        The b.

    Examples
    --------
    >>> interval = Polytope([[1.0], [-1.0]], [1.0, 1.0])
    >>> interval.contains([[0.0], [1.0]])
    array([ True, False])
    >>> float(interval.exit_time([0.5], [0.25]))
    2.0
    >>> Polytope.from_vertices([[0, 0], [1, 0], [1, 1], [0, 1]])
    Polytope(4 half-spaces, d=2)
    """

    _arguments = ("normals", "offsets")
    normals: Floats
    offsets: Floats

    def __init__(self, normals: ArrayLike, offsets: ArrayLike) -> None:
        normals = checks.as_points(normals, "normals", ndim=2)
        offsets = checks.as_finite_array(offsets, "offsets")
        if offsets.shape != (len(normals),):
            raise InvalidInputError(
                f"offsets must have one entry for each of the {len(normals)} normals; got shape "
                f"{offsets.shape}."
            )
        zero = np.asarray(~normals.any(axis=1))
        if zero.any():
            raise InvalidInputError(f"normals has a zero vector{checks.at_index(zero)}.")
        self._fill(normals=read_only(normals), offsets=read_only(offsets))
        m, d = normals.shape
        scale = binary_scale(normals)
        with np.errstate(over="ignore"):
            normals, offsets = normals / scale, offsets / scale[:, 0]
        checks.refuse_overflow(np.isfinite(offsets), "offsets / ‖normals‖", "offsets")
        sizes = np.sqrt((normals * normals).sum(axis=1))
        a, b = normals / sizes[:, None], offsets / sizes
        # Stiemke: no direction u ≠ 0 has a·u ≤ 0 throughout iff the a span space and have a
        # combination with positive coefficients that vanishes.
        balanced = linprog(np.zeros(m), A_eq=a.T, b_eq=np.zeros(d), bounds=(1, None)).status == 0
        if not balanced or np.linalg.matrix_rank(a) < d:
            raise InvalidInputError(
                f"The half-spaces do not bound their intersection in dimension {d}: "
                f"{m} normals leave a direction free."
            )
        # The largest ball inside: maximise r subject to a·x + r ≤ b.
        cost = np.append(np.zeros(d), -1.0)
        ball = linprog(cost, A_ub=np.column_stack([a, np.ones(m)]), b_ub=b, bounds=(None, None))
        if ball.status != 0 or ball.x[-1] <= 1e-12 * max(1.0, float(np.abs(b).max())):
            raise InvalidInputError(
                "normals and offsets have no common inside: the half-spaces have an empty or a "
                "flat intersection."
            )

    def __repr__(self) -> str:
        return f"Polytope({len(self.normals)} half-spaces, d={self.dimension})"

    @property
    def dimension(self) -> int:
        return len(self.normals[0])

    @classmethod
    def from_vertices(cls, vertices: ArrayLike) -> "Polytope":
        """Return the convex hull of points (n, d) that are not all in one hyperplane."""
        points = checks.as_points(vertices, "vertices", ndim=2)
        if points.shape[1] == 1:
            low, high = points.min(), points.max()
            if low == high:
                raise InvalidInputError(f"vertices are one point, {low:g}: they span no interval.")
            return cls([[1.0], [-1.0]], [high, -low])
        try:
            hull = ConvexHull(points)
        except (QhullError, ValueError) as error:
            raise InvalidInputError(
                f"The {len(points)} vertices span no volume in dimension {points.shape[1]}."
            ) from error
        # One row a facet: qhull cuts facets into simplices, with the same equation each.
        equations = np.unique(hull.equations, axis=0)
        return cls(equations[:, :-1], -equations[:, -1])

    def contains(self, points: ArrayLike) -> Bools:
        x = checks.as_points(points, "points", self.dimension)
        return np.asarray((self._slack(x) > 0).all(axis=-1))[()]

    def exit_time(self, points: ArrayLike, directions: ArrayLike) -> AnyFloats:
        x, u, scale = unit_rays(self, points, directions)
        speed = u @ self.normals.T
        times = np.full(speed.shape, np.inf)
        np.divide(self._slack(x), speed, out=times, where=speed > 0)
        with np.errstate(over="ignore"):  # a direction of 1e-310 takes infinitely long
            return _in_precision_of(times.min(axis=-1) / scale, points, directions)

    def _slack(self, points: Floats) -> Floats:
        return np.asarray(self.offsets - points @ self.normals.T)


def hilbert_distance(body: ConvexBody, p: ArrayLike, q: ArrayLike) -> AnyFloats:
    """Return the distances ½ log of the cross-ratio with the ends of the chord (paper §2.1).

    Parameters
    ----------
    body : ConvexBody
        :class:`Polytope`, :class:`cayleyklein.geometry.Ellipsoid`, or your own.
    p, q : array-like of shape (..., d)
        Inside the body; points on its boundary or outside raise OutsideDomainError.

    Returns
    -------
    ndarray of shape (...)
        On an ellipsoid, the hyperbolic distance of curvature -1. On a simplex, half the range of
        the logarithms of the ratios of coordinates.

    Examples
    --------
    >>> triangle = Polytope.from_vertices([[0, 0], [1, 0], [0, 1]])
    >>> round(float(np.exp(2 * hilbert_distance(triangle, [0.2, 0.2], [0.4, 0.4]))), 12)
    6.0
    """
    if not isinstance(body, ConvexBody):
        raise InvalidInputError(
            f"body must be a ConvexBody (Polytope, Ellipsoid); got {type(body).__name__}."
        )
    d = body.dimension
    x, y = checks.broadcast_points(p=checks.as_points(p, "p", d), q=checks.as_points(q, "q", d))
    check_inside(body, x, "p")
    check_inside(body, y, "q")
    step = y - x
    scale = binary_scale(step)  # so that no time under- or overflows
    same = ~step.any(axis=-1)
    direction = np.where(same[..., None], 1.0, step / scale)  # any, for a point and itself
    length = np.where(same, 0.0, scale[..., 0])
    forth, back = body.exit_time(y, direction), body.exit_time(x, -direction)
    with np.errstate(divide="ignore"):  # a time may round to zero next to the boundary
        value = (np.log1p(length / forth) + np.log1p(length / back)) / 2
    return _in_precision_of(value, p, q)


def _in_precision_of(values: Floats, *given: ArrayLike) -> AnyFloats:
    result: AnyFloats = np.asarray(values).astype(checks.float_dtype(*given), copy=False)[()]
    return result
