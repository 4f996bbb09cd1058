"""Bisectors are hyperplanes, in every curvature (paper §3.1).

A query x is nearer to p the larger the affine function

    f_p(x) = (S(x, p)/σ_p - 1) / K = ⟨z_x, z_p/σ_p⟩ + h_p,    σ = √S(p, p),
    h_p = (1/σ_p - 1)/K = -‖z_p‖² / (σ_p (1 + σ_p)),

whatever the sign of K; at K = 0 it is ⟨z_x, z_p⟩ - ‖z_p‖²/2. The bisector of p
and q is f_p = f_q. Being affine, f ranks queries outside a hyperbolic domain too.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cayleyklein._validation import as_points, at_index, broadcast_points, float_dtype
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry._frames import Frame

__all__ = ["Hyperplane", "bisector", "lift_difference", "proximity_planes"]

Array = NDArray[np.float64]


class Hyperplane(NamedTuple):
    """Hyperplanes {x : ⟨normal, x⟩ + offset = 0}, batched over leading axes.

    >>> line = Hyperplane(np.array([1.0, 0.0]), np.array(-2.0))
    >>> line.homogeneous
    array([ 1.,  0., -2.])
    >>> line.evaluate([[3.0, 5.0]])
    array([1.])
    """

    normal: NDArray[np.floating[Any]]
    offset: NDArray[np.floating[Any]]

    @property
    def homogeneous(self) -> NDArray[np.floating[Any]]:
        """The vectors (normal, offset), as the dual absolute takes them."""
        return np.concatenate([self.normal, np.asarray(self.offset)[..., None]], axis=-1)

    def evaluate(self, x: ArrayLike) -> NDArray[np.floating[Any]]:
        """Return ⟨normal, x⟩ + offset: zero on the hyperplane, signed off it."""
        return np.asarray(np.einsum("...i,...i", self.normal, np.asarray(x)) + self.offset)


def proximity_planes(p: ArrayLike, frame: Frame) -> Hyperplane:
    """Return f_p as (normal, offset) in x: the larger f_p(x), the nearer x is to p.

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> planes = proximity_planes([[0.0], [1.0], [3.0]], Frame([[1.0]]))
    >>> int(np.argmax(planes.evaluate([[1.8]])))  # 1.8 is nearest to 1
    1
    """
    p = as_points(p, "p", frame.dimension)
    z, s = frame.inside(p, "p")
    sigma = np.sqrt(s)
    height = -np.einsum("...i,...i", z, z) / (sigma * (1 + sigma))
    return _pull_back(z / sigma[..., None], height, frame)


def lift_difference(p: Array, q: Array, frame: Frame) -> tuple[Array, Array]:
    """Return z_p/σ_p - z_q/σ_q and h_p - h_q, exact also for nearly equal points."""
    (z_p, s_p), (z_q, s_q) = frame.inside(p, "p"), frame.inside(q, "q")
    u = (p - q) @ frame.factor.T
    c = z_p / 2 + z_q / 2
    sigma_p, sigma_q = np.sqrt(s_p), np.sqrt(s_q)
    # ‖z_p‖² - ‖z_q‖² = 2⟨u, c⟩, and (σ_p - σ_q)(σ_p + σ_q) = K (‖z_p‖² - ‖z_q‖²)
    rise = -2 * np.einsum("...i,...i", u, c) / (sigma_p * sigma_q * (sigma_p + sigma_q))
    mean = (1 / sigma_p + 1 / sigma_q) / 2
    return u * mean[..., None] + frame.curvature * rise[..., None] * c, rise


def bisector(p: ArrayLike, q: ArrayLike, frame: Frame) -> Hyperplane:
    """Return the bisector of p and q as a hyperplane, positive on the side of p.

    In the hyperbolic case it is to be clipped to the domain.

    Examples
    --------
    >>> from cayleyklein.geometry import Frame
    >>> disc = Frame(np.eye(2), curvature=-1.0)
    >>> plane = bisector([0.5, 0.0], [-0.5, 0.0], disc)
    >>> plane.evaluate([0.0, 0.7])
    array(0.)
    >>> bool(plane.evaluate([0.1, 0.0]) > 0)
    True
    """
    dtype = float_dtype(p, q)
    p, q = broadcast_points(
        p=as_points(p, "p", frame.dimension), q=as_points(q, "q", frame.dimension)
    )
    spatial, rise = lift_difference(p, q, frame)
    same = ~spatial.any(axis=-1)
    if same.any():
        raise InvalidInputError(f"p and q coincide{at_index(same)}: they have no bisector.")
    plane = _pull_back(spatial, rise, frame)
    return Hyperplane(plane.normal.astype(dtype), plane.offset.astype(dtype))


def _pull_back(spatial: Array, height: Array, frame: Frame) -> Hyperplane:
    """Rewrite ⟨spatial, z⟩ + height as a function of x."""
    normal = spatial @ frame.factor
    return Hyperplane(normal, height - normal @ frame.center)
