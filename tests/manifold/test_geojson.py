"""Points of the globe are read from GeoJSON, and what is none is refused by its number."""

import json

import numpy as np
import pytest

from cayleyklein.diagrams import SphereVoronoi
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import read_geojson


def point(*coordinates):
    return {"type": "Point", "coordinates": list(coordinates)}


def feature(geometry, **properties):
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def test_a_file_of_points_is_read(tmp_path):
    path = tmp_path / "quakes.geojson"
    several = {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}
    features = [feature(point(-179.5, -17.8, 35.0), mag=5.1), feature(several, mag=2.0)]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    found = read_geojson(path)
    np.testing.assert_array_equal(found.lonlat, [[-179.5, -17.8], [1, 2], [3, 4]])
    assert [each["mag"] for each in found.properties] == [5.1, 2.0, 2.0]


def test_single_features_and_points_without_properties():
    assert read_geojson(feature(point(10, 20), name="a")).properties == [{"name": "a"}]
    assert read_geojson(
        {"type": "Feature", "geometry": point(1, 2), "properties": None}
    ).properties == [{}]
    assert read_geojson(point(10, 20)).lonlat.tolist() == [[10.0, 20.0]]


def test_points_become_cells_and_geojson_again():
    rng = np.random.default_rng(0)
    lonlat = np.column_stack([rng.uniform(-180, 180, 12), rng.uniform(-80, 80, 12)])
    source = {"type": "FeatureCollection", "features": [feature(point(*each)) for each in lonlat]}
    cells = SphereVoronoi(read_geojson(source).lonlat, chart="lonlat").to_geojson()
    assert [each["properties"]["point"] for each in cells["features"]] == list(range(12))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"type": "FeatureCollection", "features": []}, "no point"),
        ([1, 2], "must be an object"),
        (feature(None), "Feature 0 is of the type None"),
        (feature({"type": "Polygon", "coordinates": []}), "'Polygon'; expected a Point"),
        (
            {"type": "FeatureCollection", "features": [feature(point(1, 2)), feature(point(2))]},
            "Feature 1 has the coordinates",
        ),
        (feature(point("east", 2)), "expected a longitude"),
        (feature(point(52.5, 134.0)), "latitude 134"),
        (feature(point(float("nan"), 2.0)), "longitude nan"),
        ({"type": "Topology"}, "'Topology'"),
    ],
)
def test_what_is_no_point_is_refused(source, said, tmp_path):
    path = tmp_path / "odd.geojson"
    path.write_text(json.dumps(source))
    with pytest.raises(InvalidInputError, match=said):
        read_geojson(path)


def test_what_is_no_json_is_refused(tmp_path):
    path = tmp_path / "odd.geojson"
    path.write_text("lon,lat\n1,2\n")
    with pytest.raises(InvalidInputError, match=r"odd.geojson is not JSON"):
        read_geojson(path)
