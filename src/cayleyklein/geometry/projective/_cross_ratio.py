"""The cross-ratio of four collinear points, collineations, which keep it, and Hilbert geometry.

(p, q; P, Q) = [pP][qQ] / ([pQ][qP]) (paper §2.0), where [ab] is a 2×2 minor of homogeneous
coordinates.

Hilbert's distance in a convex body is half the logarithm of the cross-ratio with the two ends of
the chord (paper §2.1). With the times at which the chord leaves the body, t₊ from q onwards and t₋
from p backwards, in units of the step q - p,

    d(p, q) = ½ [log(1 + 1/t₊) + log(1 + 1/t₋)],

which keeps its digits for close points (t large) and near the boundary (t small).
"""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, AnyFloats, Bools, Complexes, Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import _balls, distances, frozen, rounding, space
from cayleyklein.geometry.projective import angles
from cayleyklein.geometry.projective.angles import bilinear, homogenize


def cross_ratio(
    p: ArrayLike, q: ArrayLike, P: ArrayLike, Q: ArrayLike, *, homogeneous: bool = False
) -> AnyArray:
    """Return the cross-ratio (p, q; P, Q) of four collinear points (paper §2.0).

    On a line with coordinate t it is (p - P)(q - Q) / ((p - Q)(q - P)): 0 where p = P or q = Q, inf
    where p = Q or q = P, 1 where p = q or P = Q, and so (p, p; P, P) = 1 too, unless p = P. Real
    when every point is, and complex otherwise.
    Points not on one line, and three that coincide (0/0), raise InvalidInputError.

    Parameters
    ----------
    p, q, P, Q : array-like of shape (..., d)
        Points, real or complex, of shape (..., d + 1) if homogeneous.
    homogeneous : bool, default=False
        Whether the points are homogeneous vectors (x, w); w = 0 is a point at infinity.

    Examples
    --------
    >>> float(cross_ratio([0], [1], [2], [-2]))
    3.0
    >>> float(cross_ratio([1, 1], [4, 1], [0, 1], [1, 0], homogeneous=True))  # Q is at infinity
    0.25
    >>> complex(cross_ratio([0], [1], [-1j], [1j]))
    1j
    """
    named = {"p": p, "q": q, "P": P, "Q": Q}
    given = checks.broadcast_points(**{name: _as_points(x, name) for name, x in named.items()})
    points = np.stack(given, axis=-2)
    if homogeneous:
        bad = points.shape[-1] < 2 or not points.any(axis=-1).all()
        said = "A homogeneous point has at least two coordinates"
        space.refuse_at(bad, said, " and is not the zero vector.")
        points = points / rounding.binary_scale(points)
    unit = _minors(points, homogeneous)
    above, below = unit[..., 0, 2] * unit[..., 1, 3], unit[..., 0, 3] * unit[..., 1, 2]
    undetermined = (above == 0) & (below == 0)
    space.refuse_at(undetermined, "Three of p, q, P, Q coincide", ": their cross-ratio is 0/0.")
    ratio = np.full(above.shape, np.inf, dtype=above.dtype)
    np.divide(above, below, out=ratio, where=below != 0)
    return ratio.astype(_result_dtype(p, q, P, Q), copy=False)[()]


def apply_collineation(H: ArrayLike, points: ArrayLike) -> AnyArray:
    """Return the images of points under x̃ ↦ H x̃, a collineation (homography, projectivity).

    It keeps cross-ratios, and takes the absolute A to H⁻ᵀ A H⁻¹ (paper §2.0). Images at infinity
    raise NotRepresentableError; homogeneous vectors are mapped by ``x @ H.T``.

    Parameters
    ----------
    H : array-like of shape (d + 1, d + 1)
        Real and invertible matrix.
    points : array-like of shape (..., d)
        Points, real or complex.

    Examples
    --------
    >>> apply_collineation([[1.0, 0.0], [1.0, 1.0]], [[1.0], [3.0]])  # x ↦ x / (x + 1)
    array([[0.5 ],
           [0.75]])
    """
    matrix = checks.as_finite_array(H, "H")
    square = matrix.ndim == 2 and 1 < len(matrix) == matrix.shape[1]
    checks.expect(square, "H of shape", matrix.shape, "(d+1)×(d+1) with d ≥ 1")
    matrix = matrix / rounding.binary_scale(matrix.ravel())
    # Only exactly: a translation by 1e9 is as good a collineation as one by 1.
    if np.linalg.slogdet(matrix)[0] == 0:
        raise InvalidInputError("H must be invertible, but its determinant is 0.")
    vectors = homogenize(_as_points(points, "points", len(matrix) - 1))
    vectors = vectors / rounding.binary_scale(vectors)
    images = vectors @ matrix.T
    w = images[..., -1:]
    infinite = np.abs(w) <= 4 * rounding.EPSILON * (np.abs(vectors) @ np.abs(matrix[-1]))[..., None]
    remedy = " to infinity; map homogeneous vectors (x, 1) by x @ H.T."
    space.refuse_at(infinite[..., 0], "H sends points", remedy, NotRepresentableError)
    with np.errstate(over="ignore"):
        moved = images[..., :-1] / w
    checks.refuse_overflow(np.isfinite(moved).all(axis=-1), "H x̃", "points")
    return moved.astype(_result_dtype(H, points), copy=False)


def line_intersections(A: ArrayLike, p: ArrayLike, q: ArrayLike) -> tuple[Complexes, Complexes]:
    """Return the two intersections P, Q of the lines pq with the absolute (paper §2.1).

    P and Q are homogeneous vectors (..., d + 1), complex (and conjugate) where the line misses the
    absolute, equal where it is tangent to it, with w = 0 at infinity. With D = S_pq² - S_pp S_qq
    and √D ≥ 0 or √D = i√-D, they are ordered such that (p, q; P, Q) = (S_pq + √D)/(S_pq - √D):
    where S_pq < 0, as inside the unit ball for A = diag(1, …, 1, -1), along the line as P, p, q, Q.

    Parameters
    ----------
    A : array-like of shape (d + 1, d + 1)
        Absolute, a symmetric matrix of any signature.
    p, q : array-like of shape (..., d)
        Points, different from each other.

    Examples
    --------
    >>> P, Q = line_intersections(np.diag([1.0, 1.0, -1.0]), [0.0, 0.0], [0.5, 0.0])
    >>> float((P[0] / P[2]).real), float((Q[0] / Q[2]).real)
    (-1.0, 1.0)
    """
    form, p, q = angles.form_and_pair("A", A, p=p, q=q)
    same = (p == q).all(axis=-1)
    space.refuse_at(same, "p and q are the same point", "; a line needs two.")
    form, p, q, unit = angles.rescale(form, p, q)
    x, _, u = angles.span(homogenize(p), homogenize(q))
    s_xx = bilinear(form, x, x)
    s_xu = bilinear(form, x, u)
    s_uu = bilinear(form, u, u)
    contained = (s_xx == 0) & (s_xu == 0) & (s_uu == 0)
    said = "The line pq lies in the absolute"
    space.refuse_at(contained, said, ", with all its points.", NotRepresentableError)
    root = np.sqrt(angles.discriminant(form, x, u)[0].astype(np.complex128))
    # On σx + τu the roots are (-(s_xu ± √D), s_xx) or, the same, (s_uu, -(s_xu ∓ √D)): of the two
    # the one in which nothing cancels.
    pivot = -s_xu - np.where(s_xu < 0, -root, root)
    double = pivot == 0
    far = np.stack([np.where(double, s_uu, pivot), s_xx], axis=-1)
    near = np.stack([s_uu, np.where(double, s_xx, pivot)], axis=-1)
    first = (s_xu < 0)[..., None]  # then far is the root of -√D, which is P
    basis = np.stack([x, u], axis=-2).astype(np.complex128)
    basis[..., :-1] *= unit
    weights = np.stack([np.where(first, far, near), np.where(first, near, far)])
    P, Q = (weights[..., None, :] @ basis)[..., 0, :]
    return P, Q


def _as_points(values: ArrayLike, name: str, size: int | None = None) -> AnyArray:
    """Check real or complex points; complex ones part by part."""
    is_complex = False
    with suppress(ValueError):  # ragged, which as_points words better
        is_complex = np.iscomplexobj(np.asarray(values))
    if not is_complex:
        return checks.as_points(values, name, size)
    real, imag = np.real(values), np.imag(values)
    return checks.as_points(real, name, size) + 1j * checks.as_points(imag, name, size)


def _result_dtype(*arrays: ArrayLike) -> np.dtype[Any]:
    precision = checks.float_dtype(*map(np.real, arrays))
    return np.result_type(precision, *(np.complex64 for a in arrays if np.iscomplexobj(a)))


def _minors(points: AnyArray, is_homogeneous: bool) -> AnyArray:
    """Return 4×4 minors, scaled to order 1, of collinear points, where their extent is largest."""
    size = np.abs(points).max(axis=(-2, -1))
    if is_homogeneous:
        i, j = np.triu_indices(points.shape[-1], 1)
        left = points[..., :, None, i] * points[..., None, :, j]
        right = points[..., :, None, j] * points[..., None, :, i]
        noise = 4 * rounding.EPSILON * (np.abs(left) + np.abs(right))  # of multiples of one vector
        minors = np.where(np.abs(left - right) <= noise, 0.0, left - right)
    else:  # with w = 1 they are differences, rounded once
        minors = points[..., :, None, :] - points[..., None, :, :]
        points = points - points[..., :1, :]
    extents = np.abs(minors).max(axis=(-3, -2))
    extent = np.asarray(extents.max(axis=-1))
    values = np.linalg.svd(points, compute_uv=False)[..., 2 if is_homogeneous else 1 :]
    off = values.max(axis=-1, initial=0.0)  # the points span more than a line
    # off the line by more than a rounded point can be: 1e-8 of the extent of the points
    bad = off > 1e-8 * extent + 32 * rounding.EPSILON * size
    where = f": one is {off.max():.3g} off the line of the others."
    space.refuse_at(bad, "The points p, q, P, Q are not collinear", where)
    best = extents.argmax(axis=-1)[..., None, None, None]
    scale = rounding.binary_scale(extent[..., None])[..., None]
    return np.asarray(np.take_along_axis(minors, best, axis=-1)[..., 0] / scale)


class Polytope(frozen.Frozen, _balls.ConvexBody):
    """The bounded intersection of half-spaces a·x ≤ b. Immutable.

    Parameters
    ----------
    normals : array-like of shape (m, d)
        Normals a, not zero.
    offsets : array-like of shape (m,)
        Offsets b.

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
        expected = f"one entry for each of the {len(normals)} normals"
        right = offsets.shape == (len(normals),)
        checks.expect(right, "offsets of shape", offsets.shape, expected)
        space.refuse_at(~normals.any(axis=1), "normals has a zero vector", ".")
        self._fill(normals=frozen.read_only(normals), offsets=frozen.read_only(offsets))
        m, d = normals.shape
        sizes = distances.norms(normals)
        with np.errstate(over="ignore"):
            a = normals / sizes[:, None]
            b = offsets / sizes
        checks.refuse_overflow(np.isfinite(b), "offsets / ‖normals‖", "offsets")
        # Stiemke: no direction u ≠ 0 has a·u ≤ 0 throughout iff the a span space and have a
        # combination with positive coefficients that vanishes.
        balanced = linprog(np.zeros(m), A_eq=a.T, b_eq=np.zeros(d), bounds=(1, None)).status == 0
        unbounded = not balanced or np.linalg.matrix_rank(a) < d
        said = f"The half-spaces of {m} normals do not bound their intersection"
        space.refuse_at(unbounded, said, f" in dimension {d}.")
        # The largest ball inside: maximise r subject to a·x + r ≤ b.
        cost = np.append(np.zeros(d), -1.0)
        ball = linprog(cost, A_ub=np.column_stack([a, np.ones(m)]), b_ub=b, bounds=(None, None))
        flat = ball.status != 0 or ball.x[-1] <= 1e-12 * max(1.0, float(np.abs(b).max()))
        said = "normals and offsets have no common inside"
        space.refuse_at(flat, said, ": their intersection is empty or flat.")

    def __repr__(self) -> str:
        return f"Polytope({len(self.normals)} half-spaces, d={self.dimension})"

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
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
        """Return whether points (..., d) are inside; points on the boundary are not."""
        x = checks.as_points(points, "points", self.dimension)
        return np.asarray((x @ self.normals.T < self.offsets).all(axis=-1))[()]

    def exit_time(self, points: ArrayLike, directions: ArrayLike) -> AnyFloats:
        """Return t > 0 for which x + t u is on the boundary, of points x inside and u ≠ 0."""
        x, u, scale = _balls.unit_rays(self, points, directions)
        speed = u @ self.normals.T
        times = np.full(speed.shape, np.inf)
        np.divide(self.offsets - x @ self.normals.T, speed, out=times, where=speed > 0)
        with np.errstate(over="ignore"):  # a direction of 1e-310 takes infinitely long
            found = np.asarray(times.min(axis=-1) / scale)
        return found.astype(checks.float_dtype(points, directions), copy=False)[()]


def hilbert_distance(body: _balls.ConvexBody, p: ArrayLike, q: ArrayLike) -> AnyFloats:
    """Return the distances ½ log of the cross-ratio with the ends of the chord (paper §2.1).

    In an ellipsoid it is the hyperbolic distance of curvature -1.

    Parameters
    ----------
    body : ConvexBody
        A :class:`Polytope`, an :class:`Ellipsoid`, or an object of your own.
    p, q : array-like of shape (..., d)
        Points inside the body. Points on its boundary or outside raise OutsideDomainError.

    Examples
    --------
    >>> triangle = Polytope.from_vertices([[0, 0], [1, 0], [0, 1]])
    >>> round(float(np.exp(2 * hilbert_distance(triangle, [0.2, 0.2], [0.4, 0.4]))), 12)
    6.0
    """
    if not isinstance(body, _balls.ConvexBody):
        raise InvalidInputError(f"body must be a ConvexBody; got {type(body).__name__}.")
    d = body.dimension
    x, y = checks.broadcast_points(p=checks.as_points(p, "p", d), q=checks.as_points(q, "q", d))
    _balls.check_inside(body, x, "p")
    _balls.check_inside(body, y, "q")
    step = y - x
    scale = rounding.binary_scale(step)  # so that no time under- or overflows
    same = ~step.any(axis=-1)
    direction = np.where(same[..., None], 1.0, step / scale)  # any, for a point and itself
    length = np.where(same, 0.0, scale[..., 0])
    forth = body.exit_time(y, direction)
    back = body.exit_time(x, -direction)
    with np.errstate(divide="ignore"):  # a time may round to zero next to the boundary
        value = (np.log1p(length / forth) + np.log1p(length / back)) / 2
    return np.asarray(value).astype(checks.float_dtype(p, q), copy=False)[()]
