"""Maps of curved embeddings: what is in the picture and on the page."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from cayleyklein import CurvedMetric, embed_tree, map_embedding
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import chart_distance
from cayleyklein.manifold import projection
from cayleyklein.plotting import MapDisplay

X = np.array([[0.0, 0.0], [0.5, 0.1], [-0.2, 0.7], [-0.6, -0.4], [0.3, -0.8]])
Y = np.array(list("abcab"))


def lonlat_display(**options):
    places = [[0, 0], [120, 10], [-120, 20], [30, -60], [10, 80]]
    return MapDisplay.from_points(places, "lonlat", curvature=1.0, y=Y, **options)


def displays():
    yield MapDisplay.from_points(X, "poincare", y=Y, edges=[[0, 1], [1, 4]])
    yield MapDisplay.from_points(X, "klein", curvature=0.0, y=Y, edges=[[0, 1]])
    yield lonlat_display(edges=[[0, 1], [1, 4]])


@pytest.mark.parametrize("display", list(displays()), ids=["disc", "plane", "globe"])
def test_cells_are_those_of_the_nearest_points(display):
    ax = display.plot(cells=True, s=30).ax_
    image = ax.images[0]
    left, right, low, high = image.get_extent()
    side = len(image.get_array())
    rng = np.random.default_rng(0)
    pixels = rng.integers(side, size=(200, 2))
    at = np.array([left, low]) + (pixels + 0.5) / side * [right - left, high - low]
    if display.curvature:
        pixels, at = pixels[(at**2).sum(axis=1) < 0.98], at[(at**2).sum(axis=1) < 0.98]
    if display.curvature < 0:
        distances = chart_distance(at[:, None], X[None], "poincare")
    elif display.curvature == 0:
        distances = np.linalg.norm(at[:, None] - X[None], axis=-1)
    else:
        up = np.column_stack([at, np.sqrt(1 - (at**2).sum(axis=1))])
        distances = -up @ display.surface.T
    classes = Y[distances.argmin(axis=1)]
    colors = image.get_array()[pixels[:, 1], pixels[:, 0]]
    for name in "abc":
        assert len(np.unique(colors[classes == name].round(6), axis=0)) == 1
    assert len(np.unique(colors.round(6), axis=0)) == 3
    plt.close("all")


def test_edges_are_geodesics():
    display = MapDisplay.from_points(X, "poincare", edges=[[1, 3]])
    (path,) = display.plot().ax_.collections[0].get_segments()
    np.testing.assert_allclose(path[[0, -1]], X[[1, 3]], atol=1e-9)
    metric = CurvedMetric.euclidean(2, curvature=-1.0)
    along = metric.from_chart(path, "poincare")
    ends = metric.from_chart(X[[1, 3]], "poincare")
    there = metric.distance(along, ends[0]) + metric.distance(along, ends[1])
    np.testing.assert_allclose(there, metric(*ends), rtol=1e-7)
    plt.close("all")


def test_sizes_names_and_one_legend():
    display = MapDisplay.from_points(
        X, "poincare", y=Y, sizes=[10, 20, 30, 40, 50], names=["", *"vwxy"]
    )
    ax = display.plot().ax_
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abc")
    assert sorted(text.get_text() for text in ax.texts) == list("vwxy")
    drawn = np.concatenate(
        [found.get_sizes() for found in ax.collections if hasattr(found, "get_sizes")]
    )
    assert len(np.unique(drawn)) >= 5
    plt.close("all")


def test_any_row_in_the_center():
    for display in displays():
        before = projection.distances_of(display.surface, display.surface, display.curvature)
        moved = display.centered(3)
        np.testing.assert_allclose(moved.surface[3], [0, 0, 1], atol=1e-12)
        after = projection.distances_of(moved.surface, moved.surface, display.curvature)
        np.testing.assert_allclose(after, before, atol=1e-7)
        with pytest.raises(InvalidInputError, match="center"):
            display.centered(9)


def test_trees_and_maps():
    tree = embed_tree([(i // 2, i) for i in range(2, 80)], scale=12.0)
    assert tree.radius.max() > 40
    display = MapDisplay.from_estimator(tree, center=60)
    assert len(display.edges) == 78
    np.testing.assert_allclose(display.surface[60], [0, 0, 1], atol=1e-12)
    parent = tree.parents[60]  # digits are kept around the centre
    assert np.arccosh(display.surface[parent, 2]) == pytest.approx(12)
    display.plot()
    found = map_embedding(np.column_stack([X, X[::-1] / 2]), "poincare", random_state=0)
    np.testing.assert_array_equal(MapDisplay.from_estimator(found).surface, found.surface)
    solid = map_embedding(np.column_stack([X, X[::-1] / 2]), "poincare", n_components=3)
    with pytest.raises(InvalidInputError, match="dimension=3"):
        MapDisplay.from_estimator(solid)
    plt.close("all")


@pytest.mark.parametrize("display", list(displays()), ids=["disc", "plane", "globe"])
def test_page(display, tmp_path):
    page = display.to_html(tmp_path / "map.html", title="A <b> & c")
    assert (tmp_path / "map.html").read_text("utf-8") == page
    assert "A &lt;b&gt; &amp; c" in page
    assert not re.search(r"https?://", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    np.testing.assert_allclose(data["points"], display.surface)
    assert data["sign"] == np.sign(display.curvature)
    assert [data["classes"][code] for code in data["codes"]] == list(Y)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="give y"):
        MapDisplay.from_points(X).plot(cells=True)
    with pytest.raises(InvalidInputError, match="give y"):
        MapDisplay.from_points(X).to_html(cells=True)
    with pytest.raises(InvalidInputError, match="sizes"):
        MapDisplay.from_points(X, sizes=[1, 2])
    with pytest.raises(InvalidInputError, match="row numbers from 0 to 4"):
        MapDisplay.from_points(X, edges=[[0, 7]])
    plt.close("all")


def test_a_globe_has_north_up_and_east_on_the_right():
    for center in (None, 0, 3):
        places = [[10, 40], [20, 40], [10, 50], [-160, -30]]
        found = MapDisplay.from_points(places, "lonlat", curvature=1.0, center=center)
        np.testing.assert_allclose(found.north[0], 0, atol=1e-12)
        assert found.north[1] >= 0
        if center == 0:
            np.testing.assert_allclose(found.surface[0], [0, 0, 1], atol=1e-12)
            assert found.points[1, 0] > 0.1
            assert found.points[2, 1] > 0.1
            assert abs(found.points[2, 0]) < 1e-12
