"""The complex-valued Cayley-Klein measure of two points, for an absolute of any signature.

With the bilinear form S(p, q) = p̃ᵀ A q̃ and D = S_pq² - S_pp S_qq the cross-ratio of p, q and the
two intersections P, Q of their line with the absolute is

    (p, q; P, Q) = (S_pq + √D) / (S_pq - √D)                 (paper §2.3)

and the measure is a unit times its principal logarithm. D vanishes for p = q, and S_pq² - S_pp S_qq
as it stands loses every digit there. It is evaluated instead as

    D = S_xr² - S_xx S_rr,   r = u - t x,   u = p̃ - q̃,

x being p or q: D does not change when a multiple of one vector is taken from the other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, AnyComplexes, Bools, Complexes, Floats
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry.rounding import EPSILON, binary_scale

# |S_xx| / (|x|ᵀ|A||x|) under which no multiple of x is taken from u: S_xr would not vanish
ISOTROPIC_BELOW = 1e-3


class Pencil(NamedTuple):
    """The form on the span of two homogeneous vectors, each up to a positive factor."""

    s_pp: Floats
    s_qq: Floats
    s_pq: Floats
    discriminant: Floats
    noise: Floats  # the rounding of the discriminant, which is 0 under it
    coincident: Bools


def half_log(
    s_pp: ArrayLike, s_qq: ArrayLike, s_pq: ArrayLike, discriminant: ArrayLike
) -> Complexes:
    """Return half the principal logarithm of a cross-ratio, from the values of the form.

    ½ Log (S_pq + √D)/(S_pq - √D) (paper §2.3), one branch for each sign of S_pp S_qq and D:

    ==============  ======  ================================================  ============
    S_pp S_qq       D       value                                             the line pq
    ==============  ======  ================================================  ============
    positive        ≥ 0     sign(S_pq) asinh(√D / √(S_pp S_qq))               meets it
    positive        < 0     i φ, tan φ = √-D / S_pq, φ in (-π/2, π/2]         misses it
    negative        > 0     asinh(S_pq / √(-S_pp S_qq)) + iπ/2                meets it
    zero            ≥ 0     sign(S_pq) ∞; NaN if S_pq = 0                     ends on it
    ==============  ======  ================================================  ============

    A positive factor on p, q or the form changes nothing. The caller evaluates
    D = S_pq² - S_pp S_qq without cancellation.
    """
    s_pp, s_qq, s_pq, discriminant = np.broadcast_arrays(
        *(np.asarray(s, dtype=np.float64) for s in (s_pp, s_qq, s_pq, discriminant))
    )
    size = np.sqrt(np.abs(s_pp)) * np.sqrt(np.abs(s_qq))  # the product may under- or overflow
    root = np.sqrt(np.abs(discriminant))
    sign = np.where(s_pq < 0, -1.0, 1.0)
    on = size == 0
    across = (np.sign(s_pp) * np.sign(s_qq) < 0) & ~on
    misses = (discriminant < 0) & ~across & ~on
    above = np.where(across, s_pq, sign * root)
    with np.errstate(over="ignore"):  # an infinite quotient is an infinite logarithm
        quotient = np.divide(above, size, out=np.zeros_like(size), where=~on)
    value = np.zeros(size.shape, dtype=np.complex128)
    value.real = np.where(misses, 0.0, np.arcsinh(quotient))
    value.real[on] = np.where(s_pq == 0, np.nan, sign * np.inf)[on]
    value.imag = np.where(misses, np.arctan2(sign * root, np.abs(s_pq)), 0.0)
    value.imag[across] = np.pi / 2
    return value[()]


def measure(A: ArrayLike, p: ArrayLike, q: ArrayLike, unit: complex = -0.5) -> AnyComplexes:
    """Return the Cayley-Klein measure unit · Log (p, q; P, Q) (paper §2.1 and §2.3).

    P and Q are the intersections of the line pq with the absolute, ordered as by
    :func:`line_intersections`, so that the measure is symmetric in p and q. Log is the principal
    logarithm of (S_pq + √D)/(S_pq - √D), exact for points 1e-12 apart and for distant ones.

    Parameters
    ----------
    A : array-like of shape (d + 1, d + 1)
        Symmetric, of any signature. The measure changes its sign with A.
    p, q : array-like of shape (..., d)
    unit : complex, default=-0.5
        The paper's c_dist. With -1/2 and A negative inside a real conic, points inside are at their
        hyperbolic distance of curvature -1; with 1/(2i) and A positive definite, at their elliptic
        distance of curvature 1 (the principal value of the projective plane).

    Returns
    -------
    ndarray of shape (...), complex64 if every input is float32, complex128 otherwise
        Its modulus serves as a real distance wherever the points are. For a real conic the
        logarithm is real where both points are inside, or outside on a line that meets the conic
        (paper §2.2, corrected); purely imaginary outside on a line that misses it; of imaginary
        part π where one is inside and one outside. On a tangent it is 0, and so on every line when
        A has rank 1: Euclidean distances are only a limit of measures.

    Examples
    --------
    >>> conic = np.diag([1.0, 1.0, -1.0])
    >>> measure(conic, [0.0, 0.0], [[0.5, 0.0], [2.0, 0.0]], unit=1).round(6)
    array([-1.098612+0.j      , -1.098612+3.141593j])
    >>> complex(measure(np.eye(2), [0.0], [1.0], unit=-0.5j).round(6))  # π/4
    (0.785398+0j)
    """
    form, x, y, _ = rescale(*form_and_pair("A", A, p=p, q=q))
    pencil = _pencil(form, *span(homogenize(x), homogenize(y)), (x == y).all(axis=-1))
    return measure_of(pencil, unit, A, p, q)


def measure_of(pencil: Pencil, unit: complex, *given: ArrayLike) -> AnyComplexes:
    """Return unit · Log of the cross-ratio of a pencil; complex64 if all given is float32."""
    a_number = isinstance(unit, int | float | complex | np.number)
    if not (a_number and np.isfinite(unit) and unit):
        raise InvalidInputError(f"Got unit={unit!r}, but expected a finite number other than 0.")
    value = half_log(pencil.s_pp, pencil.s_qq, pencil.s_pq, pencil.discriminant)
    factor, found = 2 * complex(unit), np.zeros(value.shape, dtype=np.complex128)
    if factor.real:  # by parts: 0 · ∞ is 0, and an infinite measure has no NaN in it
        found.real += factor.real * value.real
        found.imag += factor.real * value.imag
    if factor.imag:
        found.real -= factor.imag * value.imag
        found.imag += factor.imag * value.real
    return found.astype(np.result_type(checks.float_dtype(*given), np.complex64))[()]


def form_and_pair(
    name: str, values: ArrayLike, *, homogeneous: bool = False, **pair: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Check a form and two arrays of affine points or of homogeneous vectors; broadcast these."""
    form = as_form(values, name)
    check, size = (as_hyperplanes, len(form)) if homogeneous else (checks.as_points, len(form) - 1)
    x, y = checks.broadcast_points(**{key: check(v, key, size) for key, v in pair.items()})
    return form, x, y


def as_form(values: ArrayLike, name: str) -> Floats:
    form = checks.as_symmetric(values, name)
    if len(form) < 2:
        raise InvalidInputError(f"{name} must be (d+1)×(d+1) with d ≥ 1; got shape {form.shape}.")
    if not form.any():
        raise InvalidInputError(f"{name} is the zero matrix, which describes no conic.")
    return form


def as_hyperplanes(values: ArrayLike, name: str, size: int) -> Floats:
    """Check homogeneous vectors (normal, offset), none of them zero."""
    vectors = checks.as_finite_array(values, name)
    if vectors.ndim == 0 or vectors.shape[-1] != size or vectors.size == 0:
        raise InvalidInputError(
            f"{name} must hold homogeneous vectors of {size} coordinates along the last axis; "
            f"got shape {vectors.shape}."
        )
    zero = np.asarray(~vectors.any(axis=-1))
    if zero.any():
        raise InvalidInputError(f"{name} has a zero vector{checks.at_index(zero)}.")
    return vectors


def homogenize(points: AnyArray) -> AnyArray:
    return np.concatenate([points, np.ones_like(points[..., :1])], axis=-1)


def bilinear(form: Floats, x: AnyArray, y: AnyArray) -> AnyArray:
    return np.asarray(((x @ form) * y).sum(axis=-1))


def sign_of(form: Floats, x: Floats, rtol: float) -> Floats:
    """Return the sign of xᵀ form x; 0 where it is at most rtol times the sum of absolute values."""
    x = x / binary_scale(x)
    values = bilinear(form, x, x)
    caps = bilinear(np.abs(form), np.abs(x), np.abs(x))
    return np.where(np.abs(values) <= rtol * caps, 0.0, np.sign(values))


def discriminant(form: Floats, x: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return D = S_xu² - S_xx S_uu, set to 0 within its rounding, and a bound of the rounding.

    u is first made orthogonal to x in the form; then S_xu² no longer cancels S_xx S_uu.
    Without the zero, a tangent line would give a measure of √eps at random, real or imaginary.
    """
    absolute_form = np.abs(form)
    s_xx = bilinear(form, x, x)
    cap = bilinear(absolute_form, np.abs(x), np.abs(x))
    away = np.abs(s_xx) > ISOTROPIC_BELOW * cap
    share = np.divide(bilinear(form, x, u), s_xx, out=np.zeros_like(s_xx), where=away)[..., None]
    r = u - share * x
    s_xr, s_rr = bilinear(form, x, r), bilinear(form, r, r)
    value = s_xr * s_xr - s_xx * s_rr
    image = np.abs(r) @ absolute_form
    terms = (np.abs(u) + np.abs(share * x)) * image  # the rounding of r counts as well
    noise = 2 * np.abs(s_xr) * (np.abs(x) * image).sum(axis=-1)
    noise += 2 * np.abs(s_xx) * terms.sum(axis=-1) + cap * np.abs(s_rr)
    noise *= 2 * len(form) * EPSILON
    return np.where(np.abs(value) <= noise, 0.0, value), noise


def vector_pencil(form: Floats, x: Floats, y: Floats) -> Pencil:
    """Evaluate a form on the spans of homogeneous vectors x and y (the same shape)."""
    x, y, u = span(x, y)
    rest = u - (x * u).sum(axis=-1, keepdims=True) / (x * x).sum(axis=-1, keepdims=True) * x
    same = np.abs(rest).max(axis=-1) <= 4 * EPSILON
    return _pencil(form / binary_scale(form.reshape(-1)), x, y, u, same)


def _pencil(form: Floats, x: Floats, y: Floats, u: Floats, same: Bools) -> Pencil:
    value, noise = discriminant(form, x, u)
    s_pp, s_qq, s_pq = bilinear(form, x, x), bilinear(form, y, y), bilinear(form, x, y)
    return Pencil(s_pp, s_qq, s_pq, np.where(same, 0.0, value), noise, same)


def rescale(form: Floats, p: Floats, q: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Scale the chart and the form by powers of two against underflow; last is the new unit."""
    _, exponent = np.frexp(max(np.abs(p).max(), np.abs(q).max()))
    unit = float(np.ldexp(1.0, np.clip(exponent, -500, 500)))
    units = np.append(np.full(len(form) - 1, unit), 1.0)
    form = form / binary_scale(form.reshape(-1)) * units * units[:, None]
    return form / binary_scale(form.reshape(-1)), p / unit, q / unit, unit


def span(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale homogeneous vectors to order 1; return u = y - 2ⁿx too, exact where both are close."""
    x, y = x / binary_scale(x), y / binary_scale(y)
    share = (x * y).sum(axis=-1, keepdims=True) / (x * x).sum(axis=-1, keepdims=True)
    power = np.sign(share) * np.exp2(np.rint(np.log2(np.maximum(np.abs(share), 0.125))))
    return x, y, y - np.where(np.abs(share) < 0.25, 0.0, power) * x
