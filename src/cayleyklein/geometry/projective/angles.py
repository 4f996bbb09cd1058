"""Angles between hyperplanes, measured by the dual absolute (Laguerre's formula).

A hyperplane is a homogeneous vector (n, o) of n·x + o = 0. With B(l, m) = lᵀ A^Δ m,

    cos θ = |B_lm| / √(B_ll B_mm),   sin θ = √(B_ll B_mm - B_lm²) / √(B_ll B_mm),

and the angle is the arctangent of their quotient, which is exact for small angles too.
"""

# ruff: noqa: E741 - l and m are the names of hyperplanes

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyComplexes, AnyFloats, Floats, Ints
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry.projective import _measures as measures
from cayleyklein.geometry.projective._absolute import signature
from cayleyklein.geometry.rounding import EPSILON, binary_scale, total, two_product
from cayleyklein.geometry.space import CurvedSpace

UNCERTAIN = 1e-8  # rounding of sin θ above which planes that look parallel, but differ, are refused


def hyperplane_angle(
    dual: ArrayLike, l: ArrayLike, m: ArrayLike, *, signed: bool = False
) -> AnyFloats:
    """Return the angles (...) between hyperplanes that meet inside the domain (paper §2.1).

    Parameters
    ----------
    dual : array-like of shape (d + 1, d + 1)
        A^Δ, for example :attr:`Absolute.dual`.
    l, m : array-like of shape (..., d + 1)
        Homogeneous vectors (normal, offset). A factor, of either sign, changes nothing.
    signed : bool, default=False
        In the plane only: the angle from l to m in (-π/2, π/2], positive from the first coordinate
        axis to the second; it is additive modulo π in the pencil of a point. Otherwise the acute
        angle in [0, π/2], since hyperplanes have no orientation.

    Raises
    ------
    NotRepresentableError
        Where the hyperplanes meet on or outside the absolute (where the dual is singular, as for
        the Euclidean plane, parallels are at angle 0), and where the angle is lost in the rounding
        of the dual; :meth:`cayleyklein.CurvedMetric.angle` then still has it.

    Examples
    --------
    >>> euclidean, disc = np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1.0, -1.0])
    >>> float(np.degrees(hyperplane_angle(euclidean, [1, 0, 5], [-1, 1, 3], signed=True)))
    -45.0
    >>> round(float(np.degrees(hyperplane_angle(disc, [2, 0, -1], [0, 2, -1]))), 6)  # x = y = 1/2
    70.528779
    """
    dtype = checks.float_dtype(dual, l, m)
    planes = measures.form_and_pair("dual", dual, homogeneous=True, l=l, m=m)
    return _angle(*planes, signed).astype(dtype)[()]


def metric_angle(
    l: ArrayLike, m: ArrayLike, metric: CurvedSpace, *, signed: bool, names: tuple[str, str]
) -> AnyFloats:
    """Return :func:`hyperplane_angle` by the dual absolute of a metric, wherever its centre is.

    In canonical coordinates √|K| z the dual is diag(1, …, 1, sign K), in which no centre cancels.
    """
    dtype = checks.float_dtype(l, m)
    d, K, inverse = metric.dimension, metric.curvature, metric.inverse_factor
    if np.linalg.det(inverse) < 0:  # keep the sense of rotation
        inverse = inverse * np.append(np.ones(d - 1), -1.0)
    given = zip(names, (l, m), strict=True)
    l, m = checks.broadcast_points(
        **{name: measures.as_hyperplanes(plane, name, d + 1) for name, plane in given}
    )
    unit = float(np.sqrt(abs(K))) if K else 1.0

    def move(plane: Floats) -> Floats:
        plane = plane / binary_scale(plane)
        offset = unit * _value(plane, metric.center)
        return np.concatenate([plane[..., :-1] @ inverse, offset[..., None]], axis=-1)

    dual = np.diag(np.append(np.ones(d), np.sign(K)))
    with checks.about(" and ".join(names)):
        return _angle(dual, move(l), move(m), signed).astype(dtype)[()]


def _value(plane: Floats, x: Floats) -> Floats:
    """Return n·x + o in twice the precision: it may cancel."""
    product, error = two_product(plane[..., :-1], np.broadcast_to(x, plane[..., :-1].shape))
    high = np.concatenate([product, plane[..., -1:]], axis=-1)
    low = np.concatenate([error, np.zeros_like(plane[..., -1:])], axis=-1)
    return total((high, low))[0]


def _angle(form: Floats, l: Floats, m: Floats, signed: bool) -> Floats:
    if signed and len(form) != 3:
        raise InvalidInputError(
            f"signed=True is for lines in the plane, but the dual is of dimension {len(form) - 1}."
        )
    pencil = measures.vector_pencil(form, l, m)
    bad = (pencil.s_pp == 0) | (pencil.s_qq == 0) | (pencil.discriminant > 0)
    if signature(form)[1] == 0:  # parallels of a curved geometry meet on the absolute
        bad |= (pencil.discriminant == 0) & ~pencil.coincident
    size = np.abs(pencil.s_pp * pencil.s_qq)
    lost = (pencil.discriminant == 0) & ~pencil.coincident & (pencil.noise > UNCERTAIN**2 * size)
    if (lost & ~bad).any():
        raise NotRepresentableError(
            f"The angle between l and m{checks.at_index(lost)} is lost in the rounding of the "
            f"dual, whose entries cancel; move the origin close to the centre, or use "
            f"CurvedMetric.angle."
        )
    if bad.any():
        raise NotRepresentableError(
            f"The hyperplanes l and m have no real angle{checks.at_index(bad)}: they meet on or "
            f"outside the absolute (or one of them is tangent to it). Use hyperplane_measure for "
            f"the complex measure."
        )
    sine, cosine = np.sqrt(np.abs(pencil.discriminant)), pencil.s_pq
    if not signed:
        return np.asarray(np.arctan2(sine, np.abs(cosine)))
    turn = _orientation(l, m) * np.sign(cosine * pencil.s_pp)
    angle = np.arctan2(np.where(turn < 0, -sine, sine), np.abs(cosine))
    # A right angle has no sign; -0.0 becomes 0.0.
    return np.where(angle <= -np.pi / 2, np.pi / 2, angle + 0.0)


def hyperplane_measure(
    dual: ArrayLike, l: ArrayLike, m: ArrayLike, unit: complex = 0.5j
) -> AnyComplexes:
    """Return the complex measure unit · Log (l, m; L, M) of two hyperplanes (paper §2.1).

    L and M are the hyperplanes of the pencil of l and m that are tangent to the absolute, in the
    order for which (l, m; L, M) = (B_lm + √D)/(B_lm - √D), D = B_lm² - B_ll B_mm.

    Parameters
    ----------
    dual : array-like of shape (d + 1, d + 1)
        A^Δ, for example :attr:`Absolute.dual`.
    l, m : array-like of shape (..., d + 1)
        Homogeneous vectors (normal, offset). The sign of the measure changes with that of one.
    unit : complex, default=0.5j
        The paper's c_angle.

    Returns
    -------
    ndarray of shape (...), complex
        Where the hyperplanes meet inside, real, and of modulus :func:`hyperplane_angle`; on the
        absolute, 0; outside, purely imaginary: its modulus is the distance along their common
        perpendicular.

    Examples
    --------
    >>> dual = np.diag([-1.0, -1.0, 1.0])  # of the unit disc
    >>> float(np.degrees(abs(hyperplane_measure(dual, [1, 0, 0], [1, 1, 0]))))
    45.0
    >>> complex(hyperplane_measure(dual, [2, 0, -1], [2, 0, 1]).round(6))  # 2 artanh ½
    -1.098612j
    """
    planes = measures.form_and_pair("dual", dual, homogeneous=True, l=l, m=m)
    return measures.measure_of(measures.vector_pencil(*planes), unit, dual, l, m)


def _orientation(l: Floats, m: Floats) -> Ints:
    """Return the sign of the last coordinate of the point l × m, n_l × n_m, that is not 0."""
    following, previous = [1, 2, 0], [2, 0, 1]
    left, right = l[..., following] * m[..., previous], l[..., previous] * m[..., following]
    point = np.where(np.abs(left - right) <= 4 * EPSILON * np.abs(left), 0.0, left - right)
    x, y, w = np.moveaxis(np.sign(point).astype(np.int_), -1, 0)
    return np.asarray(np.where(w != 0, w, np.where(y != 0, y, x)))
