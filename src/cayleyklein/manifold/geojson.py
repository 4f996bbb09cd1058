"""Points of the globe from GeoJSON (RFC 7946)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cayleyklein._typing import Floats
from cayleyklein._validation import as_path
from cayleyklein.exceptions import InvalidInputError


@dataclass(frozen=True)
class GlobePoints:
    """Points of the globe, and what is said of them.

    Attributes
    ----------
    lonlat : ndarray of shape (n, 2)
        Longitudes and latitudes in degrees, as ``FromChart("lonlat")`` takes them.
    properties : list of dict
        The properties of the feature of each point.

    Examples
    --------
    >>> from cayleyklein.manifold import read_geojson
    >>> read_geojson({"type": "MultiPoint", "coordinates": [[0, 1], [2, 3]]})
    GlobePoints(lonlat=array([[0., 1.],
           [2., 3.]]), properties=[{}, {}])
    """

    lonlat: Floats
    properties: list[dict[str, Any]]


def read_geojson(source: str | Path | Mapping[str, Any]) -> GlobePoints:
    """Read the points of a GeoJSON file, or of an object of GeoJSON.

    Heights are left out. A MultiPoint gives several points with the same properties.

    Parameters
    ----------
    source : str, Path or mapping
        A file, or what ``json.load`` made of it: a FeatureCollection, a Feature, a Point or a
        MultiPoint.

    Returns
    -------
    GlobePoints
        Longitudes, latitudes and properties.

    Examples
    --------
    >>> from cayleyklein.manifold import FromChart, read_geojson
    >>> berlin = {"type": "Point", "coordinates": [13.4, 52.5]}
    >>> tokyo = {"type": "Point", "coordinates": [139.7, 35.7]}
    >>> cities = {
    ...     "type": "FeatureCollection",
    ...     "features": [
    ...         {"type": "Feature", "geometry": berlin, "properties": {"name": "Berlin"}},
    ...         {"type": "Feature", "geometry": tokyo, "properties": {"name": "Tokyo"}},
    ...     ],
    ... }
    >>> found = read_geojson(cities)
    >>> found.lonlat.tolist(), [each["name"] for each in found.properties]
    ([[13.4, 52.5], [139.7, 35.7]], ['Berlin', 'Tokyo'])
    >>> globe = FromChart("lonlat", curvature=1 / 6371**2)  # in kilometres
    >>> here, there = globe.fit_transform(found.lonlat)
    >>> round(float(globe.metric_.distance(here, there)), -1)
    8920.0
    """
    if not isinstance(source, Mapping):
        path = as_path(source)
        try:
            source = json.loads(path.read_text("utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InvalidInputError(f"{path} is not JSON: {error}.") from error
    if not isinstance(source, Mapping):
        raise InvalidInputError("GeoJSON must be an object with a type; got a list or a value.")
    features: list[Any] = [source]
    if source.get("type") == "FeatureCollection":
        features = source.get("features") or []
    places: list[list[float]] = []
    properties: list[dict[str, Any]] = []
    for number, feature in enumerate(features):
        said = {}
        geometry: Any = feature
        if isinstance(feature, Mapping) and feature.get("type") == "Feature":
            said = dict(feature.get("properties") or {})
            geometry = feature.get("geometry")
        for place in points_of(geometry, number):
            places.append(place)
            properties.append(said)
    if not places:
        raise InvalidInputError("The GeoJSON holds no point.")
    return GlobePoints(np.array(places), properties)


def points_of(geometry: Any, number: int) -> list[list[float]]:
    """Return the longitudes and latitudes of the points of a geometry."""
    kind = geometry.get("type") if isinstance(geometry, Mapping) else geometry
    if kind not in ("Point", "MultiPoint"):
        raise InvalidInputError(
            f"Feature {number} is of the type {kind!r}; expected a Point or a MultiPoint, such as "
            f"the centroid of a region."
        )
    given = geometry.get("coordinates")
    found = []
    for place in [given] if kind == "Point" else given or []:
        try:
            longitude, latitude = (float(each) for each in place[:2])
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"Feature {number} has the coordinates {place!r}; expected a longitude and a "
                f"latitude."
            ) from error
        if not (np.isfinite(longitude) and abs(latitude) <= 90):
            raise InvalidInputError(
                f"Feature {number} has the latitude {latitude:g} and the longitude {longitude:g}; "
                f"latitudes go from -90 to 90, and come second."
            )
        found.append([longitude, latitude])
    return found
