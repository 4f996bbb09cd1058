"""The whole sphere: unit vectors (…, d + 1), and longitude and latitude on the globe.

An elliptic :class:`~cayleyklein.CurvedMetric` sees a hemisphere, since its chart is a plane. On the
whole sphere a point is a unit vector, and the distance is an angle, 2 arctan(‖p - q‖/‖p + q‖),
which keeps its digits for close points and for antipodes.
"""

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry.distances import norms
from cayleyklein.geometry.space import refuse_at

WHOLE = ("unit", "lonlat")  # charts of the whole sphere: unit vectors, longitude and latitude


def from_lonlat(lonlat: ArrayLike) -> Floats:
    """Return unit vectors (..., 3) of longitudes and latitudes in degrees.

    Parameters
    ----------
    lonlat : array-like of shape (..., 2)
        Longitude, within ±360, and latitude, within ±90: the order of GeoJSON and of x and y.

    Examples
    --------
    >>> from_lonlat([[0.0, 0.0], [90.0, 0.0], [0.0, 90.0]]).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    given = checks.as_points(lonlat, "lonlat", 2)
    longitude, latitude = given[..., 0], given[..., 1]
    beyond = np.abs(latitude) > 90
    swapped = bool(beyond.any() and (np.abs(longitude) <= 90).all())
    hint = "; the columns seem to be in the order latitude, longitude: exchange them" * swapped
    said = f" has a latitude beyond ±90 degrees{hint}. Give longitude first, both in degrees."
    refuse_at(beyond, "lonlat", said, OutsideDomainError)
    said = " has a longitude beyond ±360 degrees."
    refuse_at(np.abs(longitude) > 360, "lonlat", said, OutsideDomainError)
    east, north = np.radians(longitude), np.radians(latitude)
    flat = np.cos(north)
    return np.stack([flat * np.cos(east), flat * np.sin(east), np.sin(north)], axis=-1)


def to_lonlat(points: ArrayLike) -> Floats:
    """Return longitudes in [-180, 180] and latitudes, in degrees, of vectors (..., 3).

    Parameters
    ----------
    points : array-like of shape (..., 3)
        Vectors other than 0, of any length.

    Examples
    --------
    >>> to_lonlat([0.0, -2.0, 0.0])
    array([-90.,   0.])
    """
    x, y, z = np.moveaxis(checks.as_points(points, "points", 3), -1, 0)
    found = np.degrees(np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=-1))
    return np.asarray(found)


def unit_vectors(points: ArrayLike, name: str, width: int | None = None) -> Floats:
    """Return points (..., d + 1) divided by their lengths, which are 1 to single precision."""
    given = checks.as_points(points, name, width)
    if given.shape[-1] < 2:
        raise InvalidInputError(f"{name} must have 2 or more coordinates; got {given.shape}.")
    length = norms(given)
    said = " is no unit vector: expected a length of 1. Divide vectors by their lengths first."
    refuse_at(np.abs(length - 1) > 1e-6, name, said, OutsideDomainError)
    return np.asarray(given / length[..., None])


def whole_sphere(rows: ArrayLike, chart: str, name: str = "X") -> Floats:
    """Return unit vectors of rows in a chart of the whole sphere, "unit" or "lonlat"."""
    if chart == "unit":
        return unit_vectors(rows, name)
    with checks.about(name):
        return from_lonlat(rows)


def angle_between(p: Floats, q: Floats) -> Floats:
    """Return the angles between unit vectors, in [0, π]."""
    return np.asarray(2 * np.arctan2(norms(p - q), norms(p + q)))
