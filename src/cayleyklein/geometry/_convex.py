"""What the library asks of a convex body, and the checks its bodies share."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._typing import AnyFloats, Bools, Floats
from cayleyklein._validation import as_points, at_index, broadcast_points
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry._measures import binary_scale

__all__ = ["ConvexBody", "as_rays", "check_inside"]


@runtime_checkable
class ConvexBody(Protocol):
    """A bounded open convex set: whatever has these three names serves as one.

    Examples
    --------
    >>> from cayleyklein.geometry import ConvexBody, Ellipsoid
    >>> disc = Ellipsoid([0.0, 0.0], np.eye(2))
    >>> isinstance(disc, ConvexBody)
    True
    >>> bool(disc.contains([0.5, 0.0])), float(disc.exit_time([0.5, 0.0], [1.0, 0.0]))
    (True, 0.5)
    """

    @property
    def dimension(self) -> int:
        """The d of its points."""

    def contains(self, points: ArrayLike) -> Bools:
        """Return whether points are inside; those on the boundary are not.

        Parameters
        ----------
        points : array-like of shape (..., d)
        """

    def exit_time(self, points: ArrayLike, directions: ArrayLike) -> AnyFloats:
        """Return the finite t > 0 for which x + t u is on the boundary.

        Parameters
        ----------
        points : array-like of shape (..., d)
            Inside the body.
        directions : array-like of shape (..., d)
            Not zero.
        """


def check_inside(body: ConvexBody, points: Floats, name: str) -> None:
    outside = ~np.asarray(body.contains(points))
    if np.any(outside):
        where = at_index(outside) or f": {points.tolist()}"
        raise OutsideDomainError(
            f"{name} must lie inside the body, but is on its boundary or outside{where}."
        )


def as_rays(
    body: ConvexBody, points: ArrayLike, directions: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return points inside, directions of length about 1, and by what they were divided for it."""
    x, u = broadcast_points(
        points=as_points(points, "points", body.dimension),
        directions=as_points(directions, "directions", body.dimension),
    )
    still = np.asarray(~u.any(axis=-1))
    if still.any():
        raise InvalidInputError(f"directions has a zero vector{at_index(still)}.")
    check_inside(body, x, "points")
    scale = binary_scale(u)
    return x, u / scale, scale[..., 0]
