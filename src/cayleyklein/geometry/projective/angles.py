"""Complex Cayley-Klein measures of two points or two hyperplanes, by an absolute, and real angles.

With the bilinear form S(p, q) = p̃ᵀ A q̃ and D = S_pq² - S_pp S_qq the cross-ratio of p, q and the
two intersections P, Q of their line with the absolute is

    (p, q; P, Q) = (S_pq + √D) / (S_pq - √D)                 (paper §2.3)

and the measure is a unit times its principal logarithm. D vanishes for p = q, and S_pq² - S_pp S_qq
as it stands loses every digit there. It is evaluated instead as

    D = S_xr² - S_xx S_rr,   r = u - t x,   u = p̃ - q̃,

x being p or q: D does not change when a multiple of one vector is taken from the other.

Hyperplanes n·x + o = 0, homogeneous vectors (n, o), are measured in the same way by the dual
absolute. With B(l, m) = lᵀ A^Δ m, Laguerre's formula is

    cos θ = |B_lm| / √(B_ll B_mm),   sin θ = √(B_ll B_mm - B_lm²) / √(B_ll B_mm),

and the angle is the arctangent of their quotient, which is exact for small angles too.
"""

# ruff: noqa: E741 - l and m are the names of hyperplanes

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyArray, AnyComplexes, AnyFloats, Bools, Complexes, Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import rounding, space

ZERO_EIGENVALUE = 1e-12  # largest |λ| / max |λ| of an eigenvalue that counts as zero


def measure(A: ArrayLike, p: ArrayLike, q: ArrayLike, unit: complex = -0.5) -> AnyComplexes:
    """Return the Cayley-Klein measure unit · Log (p, q; P, Q) (paper §2.1 and §2.3).

    P and Q are the intersections of the line pq with the absolute, ordered as by
    :func:`line_intersections`. That order is another one for (q, p), so that the measure is
    symmetric: measure(p, q) = measure(q, p). :func:`signed_measure` keeps the order of P and Q on
    the whole line; it is additive, and changes its sign when p and q are exchanged (paper §2.1).

    Log is the principal logarithm of (S_pq + √D)/(S_pq - √D), exact for points 1e-12 apart and for
    distant ones. For a real conic and a real unit the measure is real where both points are inside,
    or outside on a line that meets the conic (paper §2.2, corrected); imaginary outside on a line
    that misses it; complex where one point is inside and one outside, the logarithm of imaginary
    part π; 0 on a tangent, and on every line if A has rank 1. The modulus serves as a real distance
    everywhere.

    Parameters
    ----------
    A : array-like of shape (d + 1, d + 1)
        Absolute, a symmetric matrix. The measure changes its sign with it.
    p, q : array-like of shape (..., d)
        Points, broadcast against each other.
    unit : complex, default=-0.5
        The paper's c_dist. With -1/2 and A negative inside a real conic, points inside are at their
        hyperbolic distance of curvature -1; with 1/(2i) and A positive definite, at their elliptic
        distance of curvature 1 (the principal value of the projective plane).

    Examples
    --------
    >>> conic = np.diag([1.0, 1.0, -1.0])
    >>> measure(conic, [0.0, 0.0], [[0.5, 0.0], [2.0, 0.0]], unit=1).round(6)
    array([-1.098612+0.j      , -1.098612+3.141593j])
    >>> complex(measure(np.eye(2), [0.0], [1.0], unit=-0.5j).round(6))  # π/4
    (0.785398+0j)
    """
    form, x, y, _ = rescale(*form_and_pair("A", A, p=p, q=q))
    values, *_ = pencil(form, homogenize(x), homogenize(y), (x == y).all(axis=-1))
    return measure_of(values, unit, A, p, q)


def hyperplane_measure(
    dual: ArrayLike, l: ArrayLike, m: ArrayLike, unit: complex = 0.5j
) -> AnyComplexes:
    """Return the complex measure unit · Log (l, m; L, M) of two hyperplanes (paper §2.1).

    L and M, in the pencil of l and m, are tangent to the absolute, ordered such that
    (l, m; L, M) = (B_lm + √D)/(B_lm - √D), D = B_lm² - B_ll B_mm. The measure is symmetric in l
    and m; :func:`signed_hyperplane_measure` changes its sign when they are exchanged. Where both
    meet inside, it is real, and of modulus :func:`hyperplane_angle`; 0 on the absolute; outside,
    imaginary, its modulus the distance along their common perpendicular.

    Parameters
    ----------
    dual : array-like of shape (d + 1, d + 1)
        Dual absolute A^Δ, for example :attr:`Absolute.dual`.
    l, m : array-like of shape (..., d + 1)
        Homogeneous vectors (normal, offset). The sign of the measure changes with that of one.
    unit : complex, default=0.5j
        Unit of the angle, the paper's c_angle.

    Examples
    --------
    >>> dual = np.diag([-1.0, -1.0, 1.0])  # of the unit disc
    >>> float(np.degrees(abs(hyperplane_measure(dual, [1, 0, 0], [1, 1, 0]))))
    45.0
    >>> complex(hyperplane_measure(dual, [2, 0, -1], [2, 0, 1]).round(6))  # 2 artanh ½
    -1.098612j
    """
    values, *_ = pencil(*form_and_pair("dual", dual, homogeneous=True, l=l, m=m))
    return measure_of(values, unit, dual, l, m)


def hyperplane_angle(dual: ArrayLike, l: ArrayLike, m: ArrayLike) -> AnyFloats:
    """Return the acute angles (...) between hyperplanes that meet inside the domain (paper §2.1).

    Raises NotRepresentableError where they meet on or outside the absolute (but parallels of a
    singular dual, as the Euclidean one, are at angle 0), and where the angle is lost in the
    rounding of the dual; :meth:`cayleyklein.CurvedMetric.angle` then still has it.

    Parameters
    ----------
    dual : array-like of shape (d + 1, d + 1)
        Dual absolute A^Δ, for example :attr:`Absolute.dual`.
    l, m : array-like of shape (..., d + 1)
        Homogeneous vectors (normal, offset). A factor, of either sign, changes nothing.

    Examples
    --------
    >>> euclidean, disc = np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1.0, -1.0])
    >>> float(np.degrees(hyperplane_angle(euclidean, [1, 0, 5], [-1, 1, 3])))
    45.0
    >>> round(float(np.degrees(hyperplane_angle(disc, [2, 0, -1], [0, 2, -1]))), 6)  # x = y = 1/2
    70.528779
    """
    planes = form_and_pair("dual", dual, homogeneous=True, l=l, m=m)
    return _angle(*planes).astype(checks.float_dtype(dual, l, m))[()]


def metric_angle(
    l: ArrayLike,
    m: ArrayLike,
    metric: space.CurvedSpace,
    names: tuple[str, str],
    sense: Floats | None = None,
) -> AnyFloats:
    """Return :func:`hyperplane_angle` by the dual absolute of a metric, wherever its centre is.

    In canonical coordinates √|K| z the dual is diag(1, …, 1, sign K), in which no centre cancels.
    With a sense, 1 or -1 for each pair, the angle from l to m is signed, in (-π/2, π/2].
    """
    d = metric.dimension
    K = metric.curvature
    inverse = metric.inverse_factor
    dtype = checks.float_dtype(l, m)
    dual = np.diag(np.append(np.ones(d), np.sign(K)))
    given = dict(zip(names, (l, m), strict=True))
    _, l, m = form_and_pair("dual", dual, homogeneous=True, **given)

    def move(plane: Floats) -> Floats:
        plane = plane / rounding.binary_scale(plane)
        normal = plane[..., :-1]
        offset = plane[..., -1:]
        # n·μ + o in twice the precision: it may cancel
        product, error = rounding.two_product(normal, np.broadcast_to(metric.center, normal.shape))
        high = np.concatenate([product, offset], -1)
        low = np.concatenate([error, 0 * offset], -1)
        last = (float(np.sqrt(abs(K))) or 1.0) * rounding.total((high, low))[0]
        return np.concatenate([normal @ inverse, last[..., None]], axis=-1)

    with checks.about(" and ".join(names)):
        return _angle(dual, move(l), move(m), sense).astype(dtype)[()]


def _angle(form: Floats, l: Floats, m: Floats, sense: Floats | None = None) -> Floats:
    (s_ll, s_mm, s_lm, D), noise, same = pencil(form, l, m)
    bad = (s_ll == 0) | (s_mm == 0) | (D > 0)
    parallel = (D == 0) & ~same
    sizes = np.abs(np.linalg.eigvalsh(form))
    if sizes.min() > ZERO_EIGENVALUE * sizes.max():
        bad |= parallel  # in a curved geometry they meet on the absolute
    # planes that look parallel, but differ, where rounding of sin θ is above 1e-8
    lost = parallel & (noise > 1e-8**2 * np.abs(s_ll * s_mm)) & ~bad
    reason = (
        " is lost in the rounding of the dual, whose entries cancel; move the origin close to the "
        "centre, or use CurvedMetric.angle."
    )
    space.refuse_at(lost, "The angle between l and m", reason, NotRepresentableError)
    reason = (
        ": they meet on or outside the absolute (or one of them is tangent to it). Use "
        "hyperplane_measure for the complex measure."
    )
    said = "The hyperplanes l and m have no real angle"
    space.refuse_at(bad, said, reason, NotRepresentableError)
    acute = np.asarray(np.arctan2(np.sqrt(np.abs(D)), np.abs(s_lm)))
    if sense is None:
        return acute
    return np.where(s_lm == 0, acute, sense * np.sign(s_lm) * acute)


def measure_of(
    values: tuple[Floats, ...], unit: complex, *given: ArrayLike, sense: ArrayLike = 1.0
) -> AnyComplexes:
    """Return unit · Log of a cross-ratio; complex64 if all given is float32."""
    a_number = isinstance(unit, int | float | complex | np.number)
    right = bool(a_number and np.isfinite(unit) and unit)
    checks.expect(right, "unit", unit, "a finite number other than 0")
    s_pp, s_qq, s_pq, D = values
    value = half_log(s_pp, s_qq, s_pq, D, sense)
    a = 2 * complex(unit).real
    b = 2 * complex(unit).imag
    found = np.empty(value.shape, complex)
    # by parts: 0 · ∞ is 0, and an infinite measure has no NaN in it
    found.real = (a * value.real if a else 0.0) - (b * value.imag if b else 0.0)
    found.imag = (a * value.imag if a else 0.0) + (b * value.real if b else 0.0)
    return found.astype(np.result_type(checks.float_dtype(*given), np.complex64))[()]


def half_log(
    s_pp: ArrayLike,
    s_qq: ArrayLike,
    s_pq: ArrayLike,
    discriminant: ArrayLike,
    sense: ArrayLike = 1.0,
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

    With sense -1 it is that of the inverse, with -√D in place of √D: the negative, except that an
    imaginary part of π/2 stays. A positive factor of S changes nothing. The caller evaluates D
    without cancellation.
    """
    given = (np.asarray(s, dtype=np.float64) for s in (s_pp, s_qq, s_pq, discriminant, sense))
    s_pp, s_qq, s_pq, discriminant, sense = np.broadcast_arrays(*given)
    size = np.sqrt(np.abs(s_pp)) * np.sqrt(np.abs(s_qq))  # the product may under- or overflow
    root = np.sqrt(np.abs(discriminant))
    on = size == 0
    sign = np.where(s_pq < 0, -sense, sense)
    across = (np.sign(s_pp) * np.sign(s_qq) < 0) & ~on
    misses = (discriminant < 0) & ~across & ~on
    above = np.where(across, sense * s_pq, sign * root)
    with np.errstate(over="ignore"):  # an infinite quotient is an infinite logarithm
        quotient = np.divide(above, size, out=np.zeros_like(size), where=~on)
    value = np.zeros(size.shape, dtype=np.complex128)
    value.real = np.where(misses, 0.0, np.arcsinh(quotient))
    value.real[on] = np.where(s_pq == 0, np.nan, sign * np.inf)[on]
    rise = np.where(s_pq == 0, root, sign * root)
    value.imag = np.where(misses, np.arctan2(rise, np.abs(s_pq)), 0.0)
    value.imag[across] = np.pi / 2
    return value[()]


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
    checks.expect(len(form) > 1, f"{name} of shape", form.shape, "(d+1)×(d+1) with d ≥ 1")
    if not form.any():
        raise InvalidInputError(f"{name} is the zero matrix, which describes no conic.")
    return form


def as_hyperplanes(values: ArrayLike, name: str, size: int) -> Floats:
    with checks.about("homogeneous vectors (normal, offset)"):
        vectors = checks.as_points(values, name, size)
    space.refuse_at(~vectors.any(axis=-1), f"{name} has a zero vector", ".")
    return vectors


def homogenize(points: AnyArray) -> AnyArray:
    return np.concatenate([points, np.ones_like(points[..., :1])], axis=-1)


def bilinear(form: Floats, x: AnyArray, y: AnyArray) -> AnyArray:
    return np.asarray(((x @ form) * y).sum(axis=-1))


def discriminant(form: Floats, x: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return D = S_xu² - S_xx S_uu and a bound of its rounding, within which D is set to 0.

    Without the zero, a tangent line would give a measure of √eps at random, real or imaginary.
    """
    absolute_form = np.abs(form)
    s_xx = bilinear(form, x, x)
    cap = bilinear(absolute_form, np.abs(x), np.abs(x))
    away = np.abs(s_xx) > 1e-3 * cap  # below, S_xx is unstable, and u keeps its share of x
    share = np.divide(bilinear(form, x, u), s_xx, out=np.zeros_like(s_xx), where=away)[..., None]
    r = u - share * x  # orthogonal to x in the form
    s_xr, s_rr = bilinear(form, x, r), bilinear(form, r, r)
    value = s_xr * s_xr - s_xx * s_rr
    image = np.abs(r) @ absolute_form
    terms = (np.abs(u) + np.abs(share * x)) * image  # the rounding of r counts as well
    noise = 2 * np.abs(s_xr) * (np.abs(x) * image).sum(axis=-1)
    noise += 2 * np.abs(s_xx) * terms.sum(axis=-1) + cap * np.abs(s_rr)
    noise *= 2 * len(form) * rounding.EPSILON
    return np.where(np.abs(value) <= noise, 0.0, value), noise


def pencil(
    form: Floats, x: Floats, y: Floats, same: Bools | None = None
) -> tuple[tuple[Floats, ...], Floats, Bools]:
    """Return (S_xx, S_yy, S_xy, D), the rounding of D, and whether x and y are the same vector."""
    x, y, u = span(x, y)
    if same is None:  # up to a rounded factor
        rest = u - (x * u).sum(axis=-1, keepdims=True) / (x * x).sum(axis=-1, keepdims=True) * x
        same = np.abs(rest).max(axis=-1) <= 4 * rounding.EPSILON
    form = form / rounding.binary_scale(form.reshape(-1))
    D, noise = discriminant(form, x, u)
    products = bilinear(form, x, x), bilinear(form, y, y), bilinear(form, x, y)
    return (*products, np.where(same, 0.0, D)), noise, same


def rescale(form: Floats, p: Floats, q: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Scale the chart and the form by powers of two against underflow; last is the new unit."""
    _, exponent = np.frexp(max(np.abs(p).max(), np.abs(q).max()))
    unit = float(np.ldexp(1.0, np.clip(exponent, -500, 500)))
    units = np.append(np.full(len(form) - 1, unit), 1.0)
    form = form / rounding.binary_scale(form.reshape(-1)) * units * units[:, None]
    return form / rounding.binary_scale(form.reshape(-1)), p / unit, q / unit, unit


def span(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale homogeneous vectors to order 1; return u = y - 2ⁿx too, exact where both are close."""
    x, y = x / rounding.binary_scale(x), y / rounding.binary_scale(y)
    share = (x * y).sum(axis=-1, keepdims=True) / (x * x).sum(axis=-1, keepdims=True)
    power = np.sign(share) * np.exp2(np.rint(np.log2(np.maximum(np.abs(share), 0.125))))
    return x, y, y - np.where(np.abs(share) < 0.25, 0.0, power) * x
