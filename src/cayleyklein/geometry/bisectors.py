"""Bisectors are hyperplanes, in every curvature (paper §3.1).

A query x is nearer to p the larger the affine function

    f_p(x) = (S(x, p)/σ_p - 1) / K = ⟨z_x, z_p/σ_p⟩ + h_p,    σ = √S(p, p),
    h_p = (1/σ_p - 1)/K = -‖z_p‖² / (σ_p (1 + σ_p)),

whatever the sign of K; at K = 0 it is ⟨z_x, z_p⟩ - ‖z_p‖²/2. The bisector of p
and q is f_p = f_q. Being affine, f ranks queries outside a hyperbolic domain too.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import AnyFloats, Floats
from cayleyklein.geometry.lifts import lift_difference
from cayleyklein.geometry.space import (
    CurvedSpace,
    apply_factor,
    apply_transpose,
    check_points,
    place_inside,
    refuse_at,
)


class Hyperplane(NamedTuple):
    """Hyperplanes {x : ⟨normal, x⟩ + offset = 0}, batched over leading axes.

    >>> line = Hyperplane(np.array([1.0, 0.0]), np.array(-2.0))
    >>> line.homogeneous
    array([ 1.,  0., -2.])
    >>> line.evaluate([[3.0, 5.0]])
    array([1.])
    """

    normal: AnyFloats  #: Normals, shape (..., d).
    offset: AnyFloats  #: Offsets, shape (...).

    @property
    def homogeneous(self) -> AnyFloats:
        """Homogeneous vectors (normal, offset)."""
        return np.concatenate([self.normal, np.asarray(self.offset)[..., None]], axis=-1)

    def evaluate(self, x: ArrayLike) -> AnyFloats:
        """Return ⟨normal, x⟩ + offset: 0 on the hyperplane, of opposite signs on its sides."""
        normal = checks.as_points(self.normal, "normal")
        offset = checks.as_finite_array(self.offset, "offset")[..., None]
        points = checks.as_points(x, "x", normal.shape[-1])
        normal, offset, points = checks.broadcast_points(normal=normal, offset=offset, x=points)
        values = np.einsum("...i,...i", normal, points) + offset[..., 0]
        return np.asarray(values).astype(checks.float_dtype(self.normal, x), copy=False)[()]


def proximity_planes(p: ArrayLike, metric: CurvedSpace) -> Hyperplane:
    """Return f_p as (normal, offset) in x: the larger f_p(x), the nearer x is to p.

    Parameters
    ----------
    p : array-like of shape (..., d)
        Points in the domain.
    metric : CurvedMetric
        Metric that says what near is.

    Examples
    --------
    >>> from cayleyklein import CurvedMetric
    >>> planes = proximity_planes([[0.0], [1.0], [3.0]], CurvedMetric(factor=[[1.0]]))
    >>> int(np.argmax(planes.evaluate([[1.8]])))  # 1.8 is nearest to 1
    1
    """
    metric, dtype, (p,) = check_points(metric, p=p)
    z, s = place_inside(metric, p, "p")
    spatial, height = lift_difference(z, z, s, np.zeros_like(z), np.ones_like(s), metric.curvature)
    return _pull_back(spatial, height, metric, dtype, "p")


def point_difference(p: Floats, q: Floats, metric: CurvedSpace) -> tuple[Floats, Floats]:
    """Return z_p/σ_p - z_q/σ_q and h_p - h_q, exact also for nearly equal points."""
    ends = *place_inside(metric, p, "p"), *place_inside(metric, q, "q")
    return lift_difference(apply_factor(metric, p - q), *ends, metric.curvature)


def bisector(p: ArrayLike, q: ArrayLike, metric: CurvedSpace) -> Hyperplane:
    metric, dtype, (p, q) = check_points(metric, p=p, q=q)
    spatial, rise = point_difference(p, q, metric)
    refuse_at(~spatial.any(axis=-1), "p and q coincide", ": they have no bisector.")
    return _pull_back(spatial, rise, metric, dtype, "p and q")


def _pull_back(
    spatial: Floats, height: Floats, metric: CurvedSpace, dtype: np.dtype[Any], name: str
) -> Hyperplane:
    """Return ⟨spatial, z⟩ + height as a hyperplane in x."""
    with np.errstate(over="ignore", invalid="ignore"):
        normal = apply_transpose(metric, spatial)
        plane = Hyperplane(normal.astype(dtype), (height - normal @ metric.center).astype(dtype))
    checks.refuse_overflow(np.isfinite(plane.homogeneous).all(axis=-1), "‖L(x - μ)‖²", name)
    return plane
