"""Signed measures: dist(p, q) = -dist(q, p), and additive along a line or a pencil (paper §2.1).

The measure c · Log (p, q; P, Q) is signed and additive if P and Q belong to the *line* and keep
their order for all pairs of its points. Along an oriented line the points are p̃ + t ũ, and with the
fixed root of the discriminant of the line, D_u = S_pu² - S_pp S_uu,

    (p, q; P, Q) = (S_pq + √D) / (S_pq - √D),    √D = (t_q - t_p) √D_u,

so that √D has the sign of t_q - t_p: the *sense* of the pair, 1 or -1. Where the line meets the
absolute this is the order in which the form is negative from P to Q. Exchanging p and q, or
reversing the line, turns the cross-ratio into its inverse.

A pencil is oriented in the same way. Write two of its hyperplanes in a basis (a, b) of the pencil;
then √D is the determinant of their coefficients, times a fixed root. The determinant changes its
sign with that of one vector, as B_lm does, so that a hyperplane's two vectors give one measure.

An orientation is given as a direction of lines, or a turn of pencils, or else by the first
coordinate that is not zero: two pairs on one line then always have the same orientation.
"""

# ruff: noqa: E741 - l and m are the names of hyperplanes

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyComplexes, Floats
from cayleyklein.geometry import rounding, space
from cayleyklein.geometry.projective import angles

NO_COMPONENT = 1e-9  # largest part of a vector, relative to the whole, that does not orient it


def signed_measure(
    A: ArrayLike,
    p: ArrayLike,
    q: ArrayLike,
    unit: complex = -0.5,
    *,
    direction: ArrayLike | None = None,
) -> AnyComplexes:
    """Return the measure unit · Log (p, q; P, Q) with the P and Q of the oriented line pq.

    It is the signed distance of the paper (§2.1): signed_measure(p, q) = -signed_measure(q, p), and
    signed_measure(p, q) = signed_measure(p, r) + signed_measure(r, q) for every r of the line,
    also beyond p or q, modulo the period 2πi · unit of the logarithm. P and Q are ordered such
    that A is negative from P to Q along the line. The modulus is that of :func:`measure`.

    - Inside a real conic (A negative there, unit -1/2) it is real, and additive without a period:
      the distance of curvature -1, positive where q comes after p.
    - Elliptic (A positive definite, unit 1/(2i)): real, and modulo the period π. The principal
      value is in (-π/2, π/2], and is π/2 in both orders where S_pq = 0.
      :meth:`cayleyklein.CurvedMetric.signed_distance` is additive without a period.
    - Outside a real conic (unit -1/2): real on a line that meets it, and negative where q comes
      after p on the same side of the conic; imaginary, modulo iπ, on a line that misses it; of
      imaginary part -π/2 in both orders, modulo iπ, where one point is inside and one outside.

    Parameters
    ----------
    A : array-like of shape (d + 1, d + 1)
        Absolute, a symmetric matrix. The measure changes its sign with it.
    p, q : array-like of shape (..., d)
        Points, broadcast against each other.
    unit : complex, default=-0.5
        The paper's c_dist, as in :func:`measure`.
    direction : array-like of shape (..., d), optional
        Orients the lines: q comes after p if ⟨q - p, direction⟩ > 0. With given P and Q it is
        Q - P. A line perpendicular to it raises InvalidInputError. By default q comes after p if
        the first coordinate of q - p that is not zero is positive; a coordinate of less than 1e-9
        of the largest counts as zero.

    Examples
    --------
    >>> conic = np.diag([1.0, 1.0, -1.0])
    >>> p, q, r = [0.0, 0.0], [0.5, 0.0], [0.8, 0.0]  # r lies beyond q
    >>> pairs = (p, q), (q, p), (p, r), (r, q)
    >>> [float(signed_measure(conic, *pair).real.round(6)) for pair in pairs]
    [0.549306, -0.549306, 1.098612, -0.549306]
    >>> complex(signed_measure(conic, p, q, direction=[-1.0, 0.0]).round(6))
    (-0.549306+0j)
    """
    form, x, y, _ = angles.rescale(*angles.form_and_pair("A", A, p=p, q=q))
    values, *_ = angles.pencil(
        form, angles.homogenize(x), angles.homogenize(y), (x == y).all(axis=-1)
    )
    return angles.measure_of(values, unit, A, p, q, sense=sense_of_line(x, y, direction))


def signed_hyperplane_measure(
    dual: ArrayLike,
    l: ArrayLike,
    m: ArrayLike,
    unit: complex = 0.5j,
    *,
    turn: ArrayLike | None = None,
) -> AnyComplexes:
    """Return the measure unit · Log (l, m; L, M) with L and M of the oriented pencil of l and m.

    It is the signed angle (paper §2.1): it changes its sign when l and m are exchanged, and is
    additive over the hyperplanes of a pencil, modulo the period 2πi · unit of the logarithm,
    which is π for the default: hyperplanes have no sides, and the vectors' signs do not matter.
    The modulus is that of :func:`hyperplane_measure`. Where both meet inside a real conic it is a
    real angle in (-π/2, π/2], in the plane positive anticlockwise.

    Parameters
    ----------
    dual : array-like of shape (d + 1, d + 1), A^Δ
        The measure changes its sign with it. The angle above is that of a dual which is negative on
        hyperplanes through the inside, as that of diag(1, …, 1, -1); where it is positive, as the
        elliptic and the Euclidean one, take the unit 1/(2i).
    l, m : array-like of shape (..., d + 1)
        Homogeneous vectors (normal, offset). A factor, of either sign, changes nothing.
    unit : complex, default=0.5j
        Unit of the angle, the paper's c_angle.
    turn : array-like of shape (..., 2, d + 1), optional
        Orients the pencils: two hyperplanes a and b, of which the turn from a to b, by less than
        half a turn of vectors, is positive. A pencil perpendicular to theirs raises
        InvalidInputError. By default the first 2×2 minor of (l, m) that is not zero, in the order
        (1, 2), (1, 3), …, (2, 3), …, is positive; less than 1e-9 of the largest counts as zero.

    Examples
    --------
    >>> dual = np.diag([-1.0, -1.0, 1.0])  # of the unit disc
    >>> l, m = [1, 0, 0], [1, 1, 0]
    >>> found = signed_hyperplane_measure(dual, [l, m], [m, l])
    >>> np.degrees(found.real).round(9)
    array([ 45., -45.])
    """
    form, x, y = angles.form_and_pair("dual", dual, homogeneous=True, l=l, m=m)
    values, *_ = angles.pencil(form, x, y)
    return angles.measure_of(values, unit, dual, l, m, sense=sense_of_pencil(x, y, turn))


def sense_of_line(p: Floats, q: Floats, direction: ArrayLike | None = None) -> Floats:
    """Return 1 where q comes after p on its oriented line, or is p, and -1 where before."""
    if direction is None:
        return _leading_sign(q - p)
    u = checks.as_points(direction, "direction", p.shape[-1])
    space.refuse_at(~u.any(axis=-1), "direction has a zero vector", ".")
    said = "direction is perpendicular to the line pq"
    return _sign_along(q - p, u, said)


def sense_of_pencil(l: Floats, m: Floats, turn: ArrayLike | None = None) -> Floats:
    """Return 1 where the turn from l to m is positive, or l is m, and -1 where it is negative."""
    x, _, u = angles.span(l, m)  # u is m less a multiple of l: no minor changes or cancels
    if turn is None:
        return _leading_sign(_minors(x, u))
    ends = angles.as_hyperplanes(turn, "turn", x.shape[-1])
    expected = "(..., 2, d + 1), two hyperplanes"
    checks.expect(ends.ndim > 1 and ends.shape[-2] == 2, "turn of shape", ends.shape, expected)
    a, _, b = angles.span(ends[..., 0, :], ends[..., 1, :])
    turned = _minors(a, b)
    space.refuse_at(~turned.any(axis=-1), "The two hyperplanes of turn are the same", ".")
    said = "turn is perpendicular to the pencil of l and m"
    return _sign_along(_minors(x, u), turned, said)


def _minors(x: Floats, y: Floats) -> Floats:
    """Return the 2×2 minors of pairs of vectors; those that are rounding are 0."""
    i, j = np.triu_indices(x.shape[-1], 1)
    left, right = x[..., i] * y[..., j], x[..., j] * y[..., i]
    noise = 4 * rounding.EPSILON * (np.abs(left) + np.abs(right))
    return np.where(np.abs(left - right) <= noise, 0.0, left - right)


def _sign_along(values: Floats, orientation: Floats, said: str) -> Floats:
    """Return the sign of the inner product with an orientation; 1 for zero vectors."""
    values, orientation = checks.broadcast_points(values=values, orientation=orientation)
    values = values / rounding.binary_scale(values)
    orientation = orientation / rounding.binary_scale(orientation)
    along = (values * orientation).sum(axis=-1)
    size = np.abs(values).max(axis=-1) * np.abs(orientation).max(axis=-1)
    lost = (np.abs(along) <= NO_COMPONENT * size) & (size > 0)
    space.refuse_at(lost, said, ", which it does not orient.")
    return np.where(along < 0, -1.0, 1.0)


def _leading_sign(values: Floats) -> Floats:
    """Return the sign of the first entry that is not zero to rounding; 1 where all are zero."""
    sizes = np.abs(values)
    counts = sizes > NO_COMPONENT * sizes.max(axis=-1, keepdims=True)
    first = np.take_along_axis(values, counts.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return np.where(first < 0, -1.0, 1.0)
