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
``"half_space"``      < 0     upper half-space, height last
``"hemisphere"``      < 0     (w, √(1-‖w‖²)), right above the Klein ball
====================  ======  ==================================================

In the flat case √|K| is taken as 1 and only ``"klein"`` and ``"conformal"`` (w/2) exist.
"""

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError, OutsideDomainError
from cayleyklein.geometry.lifts import lift

#: The signs of K that each chart exists for.
CHARTS: dict[str, tuple[int, ...]] = {
    "klein": (-1, 0, 1), "conformal": (-1, 0, 1), "sphere": (1,),
    "hyperboloid": (-1,), "half_space": (-1,), "hemisphere": (-1,),
}  # fmt: skip
EMBEDDED = ("sphere", "hyperboloid", "hemisphere")  # one coordinate more than the Klein chart
MEMBERSHIP_TOLERANCE = 1e-6  # largest error of ⟨X, X⟩ = ±1 in a given point, relative to ‖X‖²


def to_chart(w: ArrayLike, chart: str, sign: int) -> AnyFloats:
    """Map canonical (Klein) coordinates to a chart.

    Parameters
    ----------
    w : array-like of shape (..., d)
        √|K| L(x - μ); inside the unit ball when ``sign`` is -1.
    chart : str
        A key of `CHARTS`.
    sign : {-1, 0, 1}
        Sign of the curvature.

    Examples
    --------
    >>> to_chart([0.8, 0.0], "conformal", -1)  # Poincaré
    array([0.5, 0. ])
    >>> to_chart([0.0, 0.0], "half_space", -1)
    array([0., 1.])
    >>> [name for name, signs in CHARTS.items() if 1 in signs]  # which there are for K > 0
    ['klein', 'conformal', 'sphere']
    """
    _refuse_unknown(chart, sign)
    dtype = checks.float_dtype(w)
    w = checks.as_points(w, "w")
    sqnorm = _sqnorm(w)
    if sign < 0:
        _raise_where(sqnorm >= 1, "w", "‖w‖ < 1")
    elif sign > 0 and chart != "klein":
        checks.refuse_overflow(np.isfinite(sqnorm), "‖w‖²", "w")
    if chart == "klein":
        return w.astype(dtype, copy=False)
    r = np.sqrt(sqnorm)
    form = (1 - r) * (1 + r) if sign < 0 else 1 + sign * sqnorm  # 1 - r² cancels
    sigma = np.sqrt(form)[..., None]
    if chart == "conformal":
        y: Floats = w / (1 + sigma)
    elif chart == "half_space":
        y = np.concatenate([w[..., :-1], sigma], axis=-1) / (1 - w[..., -1:])
    else:
        y = np.concatenate([w, sigma], axis=-1) if chart == "hemisphere" else lift(w, form)
    return y.astype(dtype, copy=False)


def from_chart(y: ArrayLike, chart: str, sign: int) -> AnyFloats:
    """Map a chart's coordinates back to canonical (Klein) ones: the inverse of :func:`to_chart`.

    >>> from_chart([0.5, 0.0], "conformal", -1)
    array([0.8, 0. ])
    """
    _refuse_unknown(chart, sign)
    dtype = checks.float_dtype(y)
    y = checks.as_points(y, "y")
    last, sqnorm = y[..., -1], _sqnorm(y)
    if chart == "half_space" or chart in EMBEDDED:
        checks.refuse_overflow(np.isfinite(sqnorm), "‖y‖²", "y")
    if chart in ("klein", "conformal") and sign < 0:
        _raise_where(sqnorm >= 1, "y", "‖y‖ < 1")
    elif chart == "half_space":
        _raise_where(last <= 0, "y", "a last coordinate > 0")
    elif chart in EMBEDDED:
        inner = sqnorm if chart != "hyperboloid" else 2 * last**2 - sqnorm
        off = np.abs(inner - 1) > MEMBERSHIP_TOLERANCE * np.maximum(sqnorm, 1)
        _raise_where(off | (last <= 0), "y", f"a point of the {chart}, last coordinate > 0")
    elif sign > 0 and chart == "conformal":
        _raise_where(sqnorm >= 1, "y", "‖y‖ < 1, the image of the hemisphere")
    sqnorm = sqnorm[..., None]
    if chart == "conformal":
        y = 2 * y / (1 - sign * sqnorm)
    elif chart == "half_space":
        y = np.concatenate([2 * y[..., :-1], sqnorm - 1], axis=-1) / (sqnorm + 1)
    elif chart in EMBEDDED:
        y = y[..., :-1] if chart == "hemisphere" else y[..., :-1] / y[..., -1:]
    return y.astype(dtype, copy=False)


def _sqnorm(w: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...i", w, w))


def _refuse_unknown(chart: str, sign: int) -> None:
    checks.as_choice(chart, "chart", tuple(CHARTS))
    if checks.as_real(sign, "sign") not in (-1, 0, 1):
        raise InvalidInputError(f"Got sign={sign!r}, but expected -1, 0 or 1.")
    if sign not in CHARTS[chart]:
        kind = {-1: "hyperbolic", 0: "flat", 1: "elliptic"}[sign]
        there = ", ".join(repr(name) for name, signs in CHARTS.items() if sign in signs)
        raise NotRepresentableError(f"A {kind} space has no {chart!r} chart; it has {there}.")


def _raise_where(bad: Bools, name: str, expected: str) -> None:
    if bad.any():
        raise OutsideDomainError(
            f"{name}{checks.at_index(bad)} lies outside the chart: expected {expected}."
        )
