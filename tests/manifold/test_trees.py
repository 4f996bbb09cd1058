"""Embedded trees: edges, digits at any radius, distortion, and what is no tree."""

import itertools

import mpmath
import networkx as nx
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from cayleyklein import embed_tree
from cayleyklein.exceptions import InvalidInputError, OutsideDomainError
from cayleyklein.geometry import chart_distance
from cayleyklein.manifold import graph_distances
from cayleyklein.manifold.trees import even_directions


def random_tree(n, seed=0):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(0, i)), i, float(rng.uniform(0.5, 2))) for i in range(1, n)]


def boost(u, length):
    """Return the Lorentz boost along a direction, by mpmath."""
    d = len(u)
    B = mpmath.eye(d + 1)
    c, s = mpmath.cosh(length), mpmath.sinh(length)
    for a in range(d):
        B[a, d] = B[d, a] = s * u[a]
        for b in range(d):
            B[a, b] += (c - 1) * u[a] * u[b]
    B[d, d] = c
    return B


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, 9.0])
def test_distances_are_those_of_the_boosts_along_paths(d, scale):
    with mpmath.workdps(120):
        tree = embed_tree(random_tree(25), d, root=0, scale=scale)
        directions = tree.tree.directions
        seen = {0: mpmath.eye(d + 1)}
        for child in range(1, 25):
            u = [mpmath.mpf(float(x)) for x in directions[child]]
            length = mpmath.sqrt(sum(x * x for x in u))
            u = [x / length for x in u]
            step = mpmath.mpf(scale) * mpmath.mpf(float(tree.lengths[child]))
            seen[child] = seen[int(tree.parents[child])] * boost(u, step)
        found = tree.pairwise()
        for a, b in itertools.combinations(range(25), 2):
            x, y = seen[a][:, d], seen[b][:, d]
            product = x[d] * y[d] - sum(x[i] * y[i] for i in range(d))
            assert found[a, b] == pytest.approx(float(mpmath.acosh(product)), rel=1e-13)
    assert tree.radius.max() > (30 if scale > 1 else 3)


def test_coordinates_give_the_distances_that_they_can_hold():
    tree = embed_tree(random_tree(60), 3)
    for chart in ("hyperboloid", "poincare", "klein", "half_space", "hemisphere"):
        at = tree.to_chart(chart)
        found = chart_distance(at[:, None], at[None], chart)
        assert np.abs(found - tree.pairwise()).max() < 1e-6


def test_edges_have_their_lengths_and_no_path_is_longer_in_space():
    rows = random_tree(200)
    along = graph_distances(rows)
    tree = embed_tree(rows, scale=2.0, curvature=-0.25)
    found = tree.pairwise()
    a, b = tree.edges.T
    np.testing.assert_allclose(found[a, b], 2 * along.distances[a, b], rtol=1e-12)
    assert (found <= 2 * along.distances * (1 + 1e-12)).all()
    ratio = (found / np.where(along.distances > 0, 2 * along.distances, 1))[np.triu_indices(200, 1)]
    assert tree.distortion.worst == pytest.approx(ratio.max() / ratio.min())
    assert tree.distortion.mean == pytest.approx(np.abs(ratio - 1).mean())
    assert tree.distortion.n_pairs == len(ratio)
    assert tree.distortion.exact


def test_another_center_is_the_same_tree_moved():
    tree = embed_tree(random_tree(50), scale=7.0)
    moved = tree.centered(37)
    assert moved.radius[37] == 0
    np.testing.assert_allclose(moved.radius, tree.pairwise()[37], rtol=1e-12)
    # around its centre a picture keeps what is lost at the rim of the other
    near = np.flatnonzero(moved.radius < 18)
    assert len(near) > 2
    at = moved.points[near]
    found = chart_distance(at[:, None], at[None], "hyperboloid")
    np.testing.assert_allclose(found, tree.pairwise(near), rtol=1e-6)
    assert tree.radius.max() > 40


def test_scale_is_the_smallest_for_a_distortion():
    rows = random_tree(150)
    tree = embed_tree(rows, scale="auto", max_distortion=1.2)
    assert 1.15 < tree.distortion.worst <= 1.2
    assert embed_tree(rows, scale=tree.scale / 1.02).distortion.worst > 1.2
    path = embed_tree([(i, i + 1) for i in range(20)], scale="auto")
    assert path.distortion.worst == pytest.approx(1)


def test_large_trees_are_measured_from_some_nodes():
    rows = random_tree(1500)
    found = embed_tree(rows).distortion
    assert not found.exact
    assert found.n_pairs == 24 * 1499
    along, space = graph_distances(rows).distances, embed_tree(rows).pairwise()
    off = ~np.eye(1500, dtype=bool)
    assert found.mean == pytest.approx(np.abs(space[off] / along[off] - 1).mean(), rel=0.05)


def test_depth_is_no_limit():
    tree = embed_tree([(i, i + 1) for i in range(3000)], scale=5.0, root=0)
    assert tree.radius[-1] == pytest.approx(15000)
    assert np.linalg.norm(tree.to_chart("poincare"), axis=1).max() < 1
    with pytest.raises(OutsideDomainError, match="350"):
        _ = tree.points
    assert tree.centered(2990).to_chart("klein").shape == (3001, 2)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 14, 40])
def test_directions_are_spread(d, count):
    found = even_directions(count, d)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    if count < 2:
        return
    cosine = (found @ found.T)[np.triu_indices(count, 1)].max()
    if d == 2:
        assert cosine == pytest.approx(np.cos(2 * np.pi / count))
    elif count <= d + 1:
        assert cosine == pytest.approx(-1 / (count - 1))
    elif count <= 2 * d:
        assert cosine == pytest.approx(0, abs=1e-12)
    else:  # better than random directions
        drawn = np.random.default_rng(1).normal(size=(count, d))
        drawn /= np.linalg.norm(drawn, axis=1)[:, None]
        assert cosine < (drawn @ drawn.T)[np.triu_indices(count, 1)].max()


def test_all_kinds_of_trees_are_one():
    rows = [("e", "c", 1.0), ("e", "d", 3.0), ("c", "a", 1.0), ("c", "b", 2.0)]
    graph, directed = nx.Graph(), nx.DiGraph()
    graph.add_weighted_edges_from(rows)
    directed.add_weighted_edges_from(rows)
    kinds = [
        embed_tree(rows, root="e"),
        embed_tree(graph, root="e"),
        embed_tree(directed),
        embed_tree({"c": "e", "d": "e", "a": "c", "b": "c"}, lengths=[1, 3, 1, 2]),
        embed_tree("((a:1,b:2)c:1,d:3)e;"),
        embed_tree(" ( (a:1,'b':2)c:1[a comment],d:3e0 )\n'e':7;"),
    ]
    wanted = None
    for tree in kinds:
        assert tree.names[tree.center] == "e"
        order = np.argsort(tree.names)
        found = tree.pairwise(order)
        wanted = found if wanted is None else wanted
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    pointers = embed_tree([-1, 0, 0, 1, 1], lengths=[9, 1, 3, 1, 2])
    np.testing.assert_allclose(pointers.pairwise([3, 4, 1, 2, 0]), wanted, atol=1e-12)
    numbers = embed_tree(np.array([[0, 1, 1], [0, 2, 3], [1, 3, 1], [1, 4, 2.0]]), root=0)
    assert numbers.names == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(numbers.pairwise([3, 4, 1, 2, 0]), wanted, atol=1e-12)


def test_newick_of_other_programs():
    tree = embed_tree("(A_one:0.1,(B:0.2,'C''s (x)':0.3)95:0,(D:1,E:1)95:0.5);")
    assert tree.names == ["", "A one", "95", "B", "C's (x)", "95", "D", "E"]
    assert tree.parents.tolist() == [-1, 0, 0, 2, 2, 0, 5, 5]
    assert tree.radius[2] == 0  # an edge of length 0: the place of its parent
    assert embed_tree("(,(,));").lengths.tolist() == [0, 1, 1, 1, 1]


def test_the_center_is_the_middle_of_the_longest_path():
    tree = embed_tree([(i, i + 1) for i in range(10)] + [(5, "leaf")])
    assert tree.center == tree.index(5)
    np.testing.assert_allclose(np.sort(tree.radius)[-2:], 5)


BAD = {
    "a cycle through . – . – . – .": [
        (0, 1), (1, 2), (2, 3), (3, 1)
    ],
    "a cycle through 'a' – 'a'": [("a", "b"), ("a", "a")],
    "cycle through 'b' – 'a' – 'b'": [("a", "b"), ("b", "a")],
    "2 parts, of 3, 2": [(0, 1), (1, 2), (3, 4)],
    "parts": {"a": "b", "c": "d"},
    "has the length -1": [(0, 1, -1.0)],
    "the length inf|infinite": [(0, 1, np.inf)],
    "2 or 3 in each": [(0, 1), (0, 2, 3.0)],
    "is not hashable": [([1], 2), (3, 4)],
    "numbers of nodes from 0 to 2": [-1, 0, 7],
    "at least one node": [],
    "Newick text has a closing bracket": "(a,b));",
    "end of the text inside": "((a,b);",
    "which is no number": "(a:x,b:1);",
    "has lengths, but none at node 2": "(a:1,b);",
    "text after the semicolon": "(a,b);(c,d);",
    "where punctuation is expected": "(a b,c);",
    "expected a networkx graph": 3,
}  # fmt: skip


@pytest.mark.parametrize("said", BAD)
def test_what_is_no_tree(said):
    with pytest.raises(InvalidInputError, match=said):
        embed_tree(BAD[said])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"curvature": 0.0}, "curvature"),
        ({"n_components": 1}, "n_components"),
        ({"scale": "best"}, "scale"),
        ({"scale": -1.0}, "scale"),
        ({"scale": "auto", "max_distortion": 1.0}, "max_distortion"),
        ({"root": "x"}, "root='x'"),
        ({"lengths": [1.0]}, "lengths"),
    ],
)
def test_bad_options(options, said):
    with pytest.raises(InvalidInputError, match=said):
        embed_tree([("a", "b"), ("b", "c")], **options)


def test_graph_distances():
    rows = [("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", 5.0), ("a", "b", 0.5), ("c", "d", 0.0)]
    found = graph_distances(rows)
    assert found.names == ["a", "b", "c", "d"]
    np.testing.assert_allclose(found.distances[0], [0, 0.5, 1.5, 1.5])
    assert found.distances[2, 3] == 0
    with pytest.raises(InvalidInputError, match="2 parts"):
        graph_distances([(0, 1), (2, 3)])


def test_graphs_of_networkx():
    karate = nx.karate_club_graph()  # weights say how often two members met
    steps = graph_distances(karate, weight=None)
    wanted = nx.floyd_warshall_numpy(karate, weight=None)
    np.testing.assert_array_equal(steps.distances, wanted)
    assert steps.names == list(karate)
    weighted = graph_distances(karate).distances
    np.testing.assert_allclose(weighted, nx.floyd_warshall_numpy(karate), rtol=1e-12)
    copies = nx.MultiGraph([(0, 1, {"weight": 3.0}), (0, 1, {"weight": 2.0}), (1, 2)])
    np.testing.assert_array_equal(graph_distances(copies).distances[0], [0, 2, 3])

    tree = embed_tree(nx.random_labeled_tree(200, seed=0), scale="auto")
    assert tree.distortion.worst == pytest.approx(1.1, rel=0.01)
    assert embed_tree(nx.bfs_tree(nx.balanced_tree(2, 3), 5)).center == 0  # 5 is the first name
    assert embed_tree(nx.grid_2d_graph(1, 4)).names == [(0, 0), (0, 1), (0, 2), (0, 3)]
    lone = nx.Graph()
    lone.add_node("a")
    assert embed_tree(lone).radius.tolist() == [0]


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (nx.karate_club_graph(), "34 nodes and 78 edges, and a cycle through 1 – 0 – 2 – 1"),
        (nx.MultiGraph([(0, 1), (0, 1)]), "a cycle through 0 – 1 – 0"),
        (nx.DiGraph([("a", "b"), ("b", "a")]), "a cycle through 'b' – 'a' – 'b'"),
        (nx.disjoint_union(nx.path_graph(3), nx.path_graph(2)), "2 parts, of 3, 2"),
        (nx.Graph(), "at least one node"),
        (nx.Graph([(0, 1, {"weight": -2.0})]), "has the length -2"),
        (nx.Graph([(0, 1, {"weight": "far"})]), "real numbers"),
    ],
)
def test_graphs_of_networkx_that_are_no_trees(graph, said):
    with pytest.raises(InvalidInputError, match=said):
        embed_tree(graph)


def test_turned_directions_change_nothing():
    rows = random_tree(30)
    tree = embed_tree(rows, 3)
    turn = Rotation.from_rotvec([0.3, -0.2, 0.9]).as_matrix()
    turned = tree.tree._replace(directions=tree.tree.directions @ turn.T)
    np.testing.assert_allclose(turned.seen_from(4, 1.0)[0], tree.pairwise()[4], rtol=1e-12)
