"""Maps of embeddings on the page: points, edges, names and classes, by every entrance."""

import numpy as np
import pytest

from cayleyklein import CurvedMDS, embed_tree, map_embedding
from cayleyklein.app import _maps
from cayleyklein.app._cell import PlaneCell
from cayleyklein.app._exports import plane_svg
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._scene import Drafter
from cayleyklein.app._session import PlaneSession
from cayleyklein.app._state import PlaneState
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.plotting import MapDisplay

NEWICK = "((lion:6,tiger:6)cats:40,(wolf:2,dog:2)dogs:44)carnivores;"


def tree():
    return embed_tree(NEWICK, scale=0.05)


def test_distances_are_those_of_the_map():
    found = tree()
    state = _maps.map_state(found, labels=list("oaaabbb"))
    x = state.coordinates
    np.testing.assert_allclose(state.metric.pairwise(x, x), found.pairwise(), rtol=1e-4, atol=1e-6)
    assert state.names == tuple(found.names)
    assert [list(pair) for pair in state.edges] == found.edges.tolist()
    assert state.labels.tolist() == [2, 0, 0, 0, 1, 1, 1]
    assert state.shown == {"regions"}


def test_an_address_holds_the_whole_map():
    found = tree()
    names = ["a;b", "c,d", "e&f=g", "", "h i", "ä'<", "%3B"]
    points = found.to_chart("poincare")
    display = MapDisplay.from_points(points, names=names, edges=found.edges)
    state = _maps.map_state(display)
    assert PlaneState.from_query(state.query) == state


def test_isometries_move_far_points_without_loss():
    session = PlaneSession(_maps.map_state(embed_tree([(i, i + 1) for i in range(6)])).query)
    before = session.state
    d = before.metric.pairwise(before.coordinates)
    for x in (0.9, -0.9):
        session.hear([{"do": "tool", "name": "move"}])
        move = before.metric.transvection([0.0, 0.0], [x, 0.0])
        session.state = session.state.moved(move)
        now = session.state
        np.testing.assert_allclose(now.metric.pairwise(now.coordinates), d, atol=1e-4)
    np.testing.assert_allclose(now.coordinates, before.coordinates, atol=1e-6)


def test_edges_and_names_follow_removed_points():
    session = PlaneSession(_maps.map_state(tree()).query)
    session.hear([{"do": "choose", "index": 1}, {"do": "delete"}])
    assert "cats" not in session.state.names
    names = np.array(session.state.names)
    kept = {tuple(names[list(pair)]) for pair in session.state.edges}
    assert kept == {("carnivores", "dogs"), ("dogs", "wolf"), ("dogs", "dog")}
    session.hear([{"do": "scatter", "n": 3, "seed": 0}])
    assert session.state.edges == session.state.names == ()


def test_the_picture_has_edges_and_names():
    state = _maps.map_state(tree())
    svg = plane_svg(state, "light")
    assert all(f">{name}<" in svg for name in state.names)
    bare = Drafter(PlaneState.from_query(state.query).with_parts({"edges": ""})).scene("poincare")
    whole = Drafter(state).scene("poincare")
    assert len(whole.shapes) > len(bare.shapes)


def test_curvatures():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) / 5
    for K in (1.0, 0.0, -1.0):
        mds = CurvedMDS(metric="precomputed", curvature=K, random_state=0)
        mds.fit(np.linalg.norm(X[:, None] - X, axis=2))
        state = _maps.map_state(mds, labels=np.arange(30) % 3)
        assert state.curvature == K
        wanted = mds.distances_
        wanted = wanted / np.linalg.norm(wanted)
        found = state.metric.pairwise(state.coordinates)
        np.testing.assert_allclose(found / np.linalg.norm(found), wanted, atol=1e-6)
    far = map_embedding([[0, 0], [120, 10], [-130, 60], [170, -80]], "lonlat", curvature=1.0)
    with pytest.raises(InvalidInputError, match="to_html draws the whole globe"):
        _maps.map_state(far)


def test_files(tmp_path):
    file = tmp_path / "pets.nwk"
    file.write_text(NEWICK)
    assert _maps.read_map(file).names[0] == "carnivores"
    table = tmp_path / "points.csv"
    table.write_text("word,x,y,z,label\ncat,0.1,0.2,0.3,a\ndog,0.5,0,0,b\nowl,-0.5,0.1,0,b\n")
    state = _maps.read_map(table)
    assert state.names == ("cat", "dog", "owl")
    assert state.labels.tolist() == [0, 1, 1]
    table.write_text("x,y,colour\n0.1,0.2,red\n0.3,0.1,blue\n")
    with pytest.raises(InvalidInputError, match="has the columns colour"):
        _maps.read_map(table)
    table.write_text("x,y\n3.0,4.0\n0.0,0.1\n")
    with pytest.raises(OutsideDomainError, match="index 0"):
        _maps.read_map(table)
    with pytest.raises(FileNotFoundError):
        _maps.read_map(tmp_path / "none.nwk")


def test_a_dropped_tree():
    session = PlaneSession()
    answer = session.hear([{"do": "own_tree", "content": NEWICK}])
    assert answer["sheet"]["title"] == "Your map"
    assert len(session.state.edges) == 6
    radius = np.arctanh(np.linalg.norm(session.state.coordinates, axis=1))
    assert 3 < radius.max() < 7.5
    refused = session.hear([{"do": "own_tree", "content": "((a,b);"}])["errors"]
    assert "Newick" in refused[0]


def test_a_cell_shows_a_map():
    cell = PlaneCell(map_embedding(tree().points, "hyperboloid", random_state=0))
    assert len(cell.session.state.points) == 7
    assert cell.metric.curvature == -1


def test_what_is_too_large_or_wrong():
    many = LIMITS.most_points + 1
    with pytest.raises(InvalidInputError, match="2,001 points"):
        _maps.map_state(embed_tree([(0, i) for i in range(1, many)]))
    with pytest.raises(InvalidInputError, match="21 classes"):
        _maps.map_state(embed_tree([(0, i) for i in range(1, 21)]), np.arange(21))
    with pytest.raises(InvalidInputError, match="as y"):
        _maps.map_state(MapDisplay.from_points([[0.0, 0.0]]), ["a"])
    for query, said in [
        ("points=0,0,0&edges=0,1", "not there"),
        ("points=0,0,0&edges=0,-1", "pairs of numbers"),
        ("points=0,0,0&edges=0", "2 numbers"),
    ]:
        with pytest.raises(InvalidInputError, match=said):
            PlaneState.from_query(query)
