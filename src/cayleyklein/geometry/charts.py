"""Charts of the curved spaces, each with its inverse.

A chart starts from canonical coordinates w = √|K| L(x - μ), where the domain is the unit ball
(hyperbolic) or all of space (elliptic), and geodesics are straight:

====================  ======  ==================================================
chart                 K       coordinates
====================  ======  ==================================================
``"klein"``           any     w itself: Beltrami-Klein, gnomonic, or Cartesian
``"hyperboloid"``     < 0     (w, 1)/√(1-‖w‖²), ⟨X, X⟩ = -1 in Minkowski space
``"sphere"``          > 0     (w, 1)/√(1+‖w‖²), the unit hemisphere (paper, fig. 3a)
``"conformal"``       any     w/(1+√(1±‖w‖²)): Poincaré ball, or stereographic
``"poincare"``        < 0     the same, by the name it has there
``"half_space"``      < 0     upper half-space, height last
``"hemisphere"``      < 0     (w, √(1-‖w‖²)), right above the Klein ball
====================  ======  ==================================================

In the flat case √|K| is taken as 1 and only ``"klein"`` and ``"conformal"`` (w/2) exist.

A point at distance r from the centre is fixed by Klein coordinates to ε e^(2r)/4, by the others to
about ε e^r. So distances of points given in another chart are taken from that chart
(:func:`chart_distance`), and :func:`from_chart` refuses points that Klein's cannot hold.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.exceptions import NotRepresentableError, OutsideDomainError
from cayleyklein.geometry import rounding
from cayleyklein.geometry.distances import distance_between, in_blocks, norms
from cayleyklein.geometry.lifts import lift
from cayleyklein.geometry.space import CurvedSpace, place_points, refuse_at

#: The signs of K that each chart exists for.
CHARTS: dict[str, tuple[int, ...]] = {
    "klein": (-1, 0, 1),
    "conformal": (-1, 0, 1),
    "sphere": (1,),
    "poincare": (-1,),
    "hyperboloid": (-1,),
    "half_space": (-1,),
    "hemisphere": (-1,),
}
EMBEDDED = ("sphere", "hyperboloid", "hemisphere")  # with one coordinate more than Klein's chart


def to_chart(w: ArrayLike, chart: str, sign: int) -> AnyFloats:
    """Map canonical (Klein) coordinates w = √|K| L(x - μ) to a chart.

    Parameters
    ----------
    w : array-like of shape (..., d)
        Canonical coordinates, inside the unit ball for K < 0.
    chart : str
        Name of the chart, a key of `CHARTS`.
    sign : {-1, 0, 1}
        Sign of the curvature.

    Examples
    --------
    >>> to_chart([0.8, 0.0], "poincare", -1)
    array([0.5, 0. ])
    >>> to_chart([0.0, 0.0], "half_space", -1)
    array([0., 1.])
    >>> [name for name, signs in CHARTS.items() if 1 in signs]  # which there are for K > 0
    ['klein', 'conformal', 'sphere']
    """
    refuse_chart(chart, sign)
    dtype = checks.float_dtype(w)
    w = checks.as_points(w, "w")
    with np.errstate(over="ignore"):
        checks.refuse_overflow(np.isfinite(_sqnorm(w)) | (sign <= 0), "‖w‖²", "w")
    form = _form(w, sign)
    outside = " lies outside the chart: expected ‖w‖ < 1."
    refuse_at(form <= 0, "w", outside, OutsideDomainError)
    return place_in_chart(w, form, chart).astype(dtype, copy=False)


def place_in_chart(w: Floats, form: Floats, chart: str) -> Floats:
    """Return :func:`to_chart` of checked points, `form` being their 1 ± ‖w‖² to the last digits."""
    if chart == "klein":
        return w
    sigma = np.sqrt(form)[..., None]
    if chart in ("conformal", "poincare"):
        return np.asarray(w / (1 + sigma))
    if chart == "half_space":
        ahead = np.maximum(w[..., -1:], 0.0)
        across = np.einsum("...i,...i", w[..., :-1], w[..., :-1])[..., None]
        short = np.where(ahead > 0, (form[..., None] + across) / (1 + ahead), 1 - w[..., -1:])
        return np.concatenate([w[..., :-1], sigma], axis=-1) / short  # 1 - w_d cancels next to 1
    return np.concatenate([w, sigma], axis=-1) if chart == "hemisphere" else lift(w, form)


def from_polar(radius: Floats, direction: Floats, chart: str) -> Floats:
    """Return points (n, d) of a chart for K < 0 at distances √-K r and directions from its centre.

    Points that a chart in the unit ball cannot tell from its boundary are put just inside it.
    """
    refuse_chart(chart, -1)
    largest = 350.0  # the square of whose cosh is finite
    said = f"Radii of more than {largest:g}/√-K overflow in the {chart}"
    if chart in ("hyperboloid", "half_space"):
        refuse_at(radius > largest, said, "; take another chart.", OutsideDomainError)
    r = np.minimum(radius, largest)
    points = place_in_chart(np.tanh(r)[:, None] * direction, 1 / np.cosh(r) ** 2, chart)
    if chart in ("klein", "conformal", "poincare"):
        length = norms(points)
        points = (
            points * np.minimum(1.0, (1 - 4 * rounding.EPSILON) / np.maximum(length, 0.5))[:, None]
        )
    return points


def from_chart(y: ArrayLike, chart: str, sign: int) -> Floats:
    """Map a chart's coordinates back to canonical (Klein) ones: the inverse of :func:`to_chart`.

    They are in double precision even if y is not. Points of another hyperbolic chart farther from
    the centre than Klein coordinates can hold, about 16.8, raise OutsideDomainError.

    Parameters
    ----------
    y : array-like of shape (..., d), or (..., d + 1) in embedded charts
        Coordinates in the chart.
    chart : str
        Name of the chart, a key of `CHARTS`.
    sign : {-1, 0, 1}
        Sign of the curvature.

    Examples
    --------
    >>> from_chart([0.5, 0.0], "poincare", -1)
    array([0.8, 0. ])
    """
    y = check_in_chart(y, chart, sign, "y")
    sqnorm = _sqnorm(y)[..., None]
    if chart in ("conformal", "poincare"):
        w: Floats = 2 * y / (1 - sign * sqnorm)
    elif chart == "half_space":
        w = np.concatenate([2 * y[..., :-1], sqnorm - 1], axis=-1) / (sqnorm + 1)
    elif chart == "hyperboloid":  # its last coordinate may be rounded, even to single precision
        w = y[..., :-1] / np.sqrt(1 + _sqnorm(y[..., :-1]))[..., None]
    elif chart == "klein":
        return y
    else:
        return y[..., :-1] if chart == "hemisphere" else y[..., :-1] / y[..., -1:]
    lost = position_error(w, "klein", sign) > 0.01  # in units of 1/√|K|: at the radius 16.8
    reason = (
        " lies more than 16.8/√-K from the centre, where Klein coordinates in double precision "
        "cannot hold it. Measure it in its own chart, by chart_distance or FromChart.pairwise, or "
        "move the centre towards it."
    )
    refuse_at(lost, "y", reason, OutsideDomainError)
    return w


def chart_distance(p: ArrayLike, q: ArrayLike, chart: str, *, curvature: float = -1.0) -> AnyFloats:
    """Return distances from coordinates in a chart, exact at any distance from its centre.

    With a = 1 ± ‖p‖² in the conformal charts, twice the last coordinate in the half-space and on
    the hemisphere, and 2 on the sphere, ‖p - q‖/√(a_p a_q) is sinh or sin of √|K| d/2. On the
    hyperboloid, with n = sinh ρ the length of all coordinates but the last and θ the angle between
    them, sinh²(√-K d/2) = sinh²((ρ_p - ρ_q)/2) + n_p n_q sin²(θ/2). No term cancels.

    Parameters
    ----------
    p, q : array-like of shape (..., d), or (..., d + 1) in embedded charts
        In units of 1/√|K|, as by :func:`to_chart`; broadcast over leading axes.
    chart : str
        Name of the chart, a key of `CHARTS`.
    curvature : float, default=-1.0
        Curvature K, of a sign that has this chart.

    Examples
    --------
    >>> chart_distance([0.0, 0.0], [0.5, 0.0], "poincare").round(6)  # log 3
    np.float64(1.098612)
    >>> far = np.tanh([[15.0, 0.0], [14.0, 0.0]])  # radius 30 and 28
    >>> chart_distance(*far, "poincare").round(3)
    np.float64(2.0)
    """
    K = checks.as_real(curvature, "curvature")
    sign = int(np.sign(K))
    unit = math.sqrt(abs(K)) or 1.0
    with checks.about(f"curvature={K:g}"):
        refuse_chart(chart, sign)
    p = check_in_chart(p, chart, sign, "p")
    q = check_in_chart(q, chart, sign, "q")
    p, q = checks.broadcast_points(p=p, q=checks.as_points(q, "q", p.shape[-1]))
    return (in_blocks(lambda p, q: _distance_in(chart, sign, p, q), p, q) / unit)[()]


def _distance_in(chart: str, sign: int, p: Floats, q: Floats) -> Floats:
    if chart == "klein":
        space = CurvedSpace(factor=np.ones(p.shape[-1]), curvature=sign)
        return distance_between(p, q, space, "raise")
    if chart == "hyperboloid":
        half = _half_on_hyperboloid(p[..., :-1], q[..., :-1])
    else:
        height = chart in ("half_space", "hemisphere")
        a, b = (2 * x[..., -1] if height else _form(x, sign) for x in (p, q))
        half = norms(p - q) / (np.sqrt(a) * np.sqrt(b))
    if sign > 0:  # asin is ill-conditioned next to antipodes, which are halves of ‖P + Q‖ = 0
        if chart == "conformal":
            p, q = (np.concatenate([2 * x, 1 - _sqnorm(x)[..., None]], axis=-1) for x in (p, q))
        p, q = (x / norms(x)[..., None] for x in (p, q))
        half = norms(p - q) / 2 if chart == "sphere" else half
        return np.asarray(2 * np.arctan2(half, norms(p + q) / 2))
    return np.asarray(2 * (np.arcsinh(half) if sign else half))


def _half_on_hyperboloid(p: Floats, q: Floats) -> Floats:
    """Return sinh(d/2) of points given by their spatial coordinates."""
    p, q = np.ascontiguousarray(p), np.ascontiguousarray(q)
    n_p = norms(p)
    n_q = norms(q)
    u = p - q
    with np.errstate(divide="ignore", invalid="ignore"):
        larger = np.einsum("...i,...i", u, (p + q) / (n_p + n_q)[..., None])  # n_p - n_q
        u -= q * (larger / n_q)[..., None]  # n_p (p/n_p - q/n_q)
        chord = np.where((n_p > 0) & (n_q > 0), norms(u) / n_p, 0.0)
        sine = larger * (n_p + n_q) / (n_p * np.sqrt(1 + n_q**2) + n_q * np.sqrt(1 + n_p**2))
    # a small angle between long vectors is taken in twice the precision, since n_p n_q enlarges it
    near = (chord < 0.1) & (np.minimum(n_p, n_q) > 1)
    if near.any():
        chord[near] = _small_chord(p[near], q[near])
    sine = np.where(n_p + n_q > 0, sine, 0.0)
    along = sine / np.sqrt(2 * (1 + np.sqrt(1 + sine**2)))  # sinh(x/2) of sinh x
    return np.asarray(np.hypot(along, np.sqrt(n_p) * np.sqrt(n_q) * chord / 2))


def _small_chord(p: Floats, q: Floats) -> Floats:
    """Return ‖p/‖p‖ - q/‖q‖‖ of rows under a small angle, from p - q⟨p, q⟩/⟨q, q⟩ without loss."""
    p, q = p / rounding.binary_scale(p), q / rounding.binary_scale(q)
    zero = np.zeros_like(p)
    dot = rounding.total(rounding.multiply((p, zero), (q, zero)))
    square = rounding.total(rounding.multiply((q, zero), (q, zero)))
    ratio = dot[0] / square[0]
    rest = rounding.multiply(square, (ratio, zero[:, 0]))
    low = ((dot[0] - rest[0]) + (dot[1] - rest[1])) / square[0]
    product = rounding.multiply((q, zero), (ratio[:, None] + zero, low[:, None] + zero))
    sine = norms((p - product[0]) - product[1]) / norms(p)
    return np.asarray(sine / np.sqrt((1 + np.sqrt(1 - sine**2)) / 2))


def surface_points(y: ArrayLike, chart: str, sign: int) -> Floats:
    """Return points as vectors (n, d + 1) of the hyperboloid or the sphere, the last axis its own.

    Unlike Klein's coordinates they hold points at any radius that the chart holds.
    """
    if chart == "klein":
        w = check_in_chart(y, chart, sign, "y")
        return lift(w, _form(w, sign))
    y = check_in_chart(y, chart, sign, "y")
    if chart in ("hyperboloid", "sphere"):
        return y
    if chart == "hemisphere":
        return np.concatenate([y[..., :-1], np.ones_like(y[..., -1:])], axis=-1) / y[..., -1:]
    sqnorm = _sqnorm(y)[..., None]
    if chart == "half_space":
        height = 2 * y[..., -1:]
        return np.concatenate([2 * y[..., :-1], sqnorm - 1, sqnorm + 1], axis=-1) / height
    form = _form(y, sign)[..., None]
    return np.concatenate([2 * y, 1 - sign * sqnorm], axis=-1) / form


def position_error(y: Floats, chart: str, sign: int, eps: float = rounding.EPSILON / 2) -> Floats:
    """Return how far rounding by eps, relative to ‖y‖, may move points, in units of 1/√|K|."""
    if sign >= 0:
        return np.full(y.shape[:-1], eps)
    if chart in ("hyperboloid", "half_space"):
        return eps * (norms(y[..., :-1]) if chart == "hyperboloid" else norms(y) / y[..., -1])
    form = np.maximum(y[..., -1] ** 2 if chart == "hemisphere" else _form(y, sign), eps**2)
    return np.asarray((2 if chart in ("conformal", "poincare") else 1) * eps / form)


def check_in_chart(y: ArrayLike, chart: str, sign: int, name: str) -> Floats:
    """Return points of a chart as an array, or raise an error that names those outside it."""
    refuse_chart(chart, sign)
    y = checks.as_points(y, name)
    wide = chart not in EMBEDDED or y.shape[-1] > 1
    expected = f"2 or more coordinates of a point of the {chart}"
    checks.expect(wide, f"{name} of shape", y.shape, expected)
    tolerance = 1e-6  # error of ⟨X, X⟩ = ±1 in a given point, relative to ‖X‖², as of float32
    with np.errstate(over="ignore"):
        last = y[..., -1]
        sqnorm = _sqnorm(y)
    if sign < 0 or (sign > 0 and chart != "klein"):
        checks.refuse_overflow(np.isfinite(sqnorm), f"‖{name}‖²", name)
    if chart == "half_space":
        bad = last <= 0
        expected = "a last coordinate > 0"
    elif chart == "hyperboloid":
        bad = np.abs(2 * last**2 - sqnorm - 1) > tolerance * np.maximum(sqnorm, 1)
        bad |= last <= 0
        expected = (
            f"a point of the hyperboloid, with a last coordinate √(1 + the squares of the others). "
            f"If it comes first, as in geoopt, move it by np.roll({name}, -1, axis=-1), or give "
            f"FromChart axis=0"
        )
    elif chart in EMBEDDED:
        bad = (np.abs(sqnorm - 1) > tolerance) | (last <= 0)
        expected = f"a point of the {chart}, ‖{name}‖ = 1 with a last coordinate > 0"
    elif sign < 0:  # the unit ball
        bad = _form(y, -1) <= 0
        expected = f"‖{name}‖ < 1"
    else:  # the image of the hemisphere, or everything
        bad = (sqnorm >= 1) & (sign > 0) & (chart == "conformal")
        expected = f"‖{name}‖ < 1"
    refuse_at(bad, name, f" lies outside the chart: expected {expected}.", OutsideDomainError)
    return y


def _form(w: Floats, sign: int) -> Floats:
    """Return 1 ± ‖w‖², exact next to 0."""
    unit = CurvedSpace(factor=np.ones(w.shape[-1]), curvature=sign)
    return place_points(unit, w, "w")[1]


def _sqnorm(w: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...i", w, w))


def refuse_chart(chart: str, sign: int) -> None:
    checks.as_choice(chart, "chart", tuple(CHARTS))
    checks.expect(checks.as_real(sign, "sign") in (-1, 0, 1), "sign", sign, "-1, 0 or 1")
    if sign not in CHARTS[chart]:
        kind = {-1: "A hyperbolic", 0: "A flat", 1: "An elliptic"}[sign]
        there = ", ".join(repr(name) for name, signs in CHARTS.items() if sign in signs)
        raise NotRepresentableError(f"{kind} space has no {chart!r} chart; it has {there}.")
