"""Trees embedded in hyperbolic space by Sarkar's construction, in two and more dimensions.

Each node places its neighbours at the distance of their edges, in directions that are spread evenly
around it (Sarkar 2011; Sala, De Sa, Gu and Ré 2018 for more dimensions). Long edges then hardly
bend a path, and distances in space are nearly those along the tree.

How digits are kept. Coordinates around one centre in double precision fix a point at the radius r
only to about 1e-16 exp(√-K r)/√-K: at 30 this is 1e-3, at 37 all neighbours coincide. So no
coordinates are stored. Each node keeps the length of the edge to its parent, and its direction as
seen from there, in a frame carried along the edges by parallel transport. What is seen from a
node is the product of the boosts along the way, scaled by exp(-length), so that nothing overflows,
and the distance between two nodes has a relative error of about 1e-16 for each edge between them,
at any radius. Lorentz and polar coordinates around any node follow from the same product.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, shortest_path

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import charts
from cayleyklein.manifold._tree_kernels import walk
from cayleyklein.manifold.graphs import Graph, read_graph, refuse_cycles, refuse_parts


class Distortion(NamedTuple):
    """By how much an embedding changes the distances δ of a tree, after the scale.

    Examples
    --------
    >>> from cayleyklein import embed_tree
    >>> embed_tree([(0, 1), (0, 2), (0, 3)], scale=10.0).distortion
    Distortion(worst=1.014..., mean=0.007..., n_pairs=6, exact=True)
    """

    worst: float  #: Largest ratio d/δ over the smallest; 1 is an exact embedding.
    mean: float  #: Mean of abs(d - δ)/δ.
    n_pairs: int  #: Number of pairs of nodes that were measured.
    exact: bool  #: Whether these are all pairs; otherwise pairs of `n_pairs`/n nodes with all.


class RootedTree(NamedTuple):
    """A tree without edges of length 0, and the directions of edges; the root is its own start."""

    parents: Ints  # (n,), -1 for the root
    order: Ints  # (n,) parents before children
    lengths: Floats  # (n,) of the edges to parents
    directions: Floats  # (n, d) unit vectors from parents, in frames carried from the root

    def seen_from(self, node: int, unit: float) -> tuple[Floats, Floats, Floats]:
        """Return radii √-K r, directions (n, d), and distances along the tree in the same unit."""
        lifted = np.empty((len(self.parents), self.directions.shape[1] + 1))
        length = walk(self.parents, self.order, unit * self.lengths, self.directions, node, lifted)
        sine = np.linalg.norm(lifted[:, :-1], axis=1)
        towards = np.divide(lifted[:, :-1].T, sine, np.zeros_like(lifted[:, :-1].T), where=sine > 0)
        far = length > 300  # sinh overflows beyond 700
        with np.errstate(over="ignore", divide="ignore"):
            near = np.arcsinh(sine * np.exp(np.where(far, 0.0, length)))
            radius = np.where(far, length + np.log(2 * sine), near)
        return np.maximum(radius, 0.0), towards.T, length


@dataclass(frozen=True, eq=False, repr=False)
class TreeEmbedding:
    """A tree in hyperbolic space, seen from one of its nodes; made by :func:`embed_tree`.

    Examples
    --------
    >>> from cayleyklein import embed_tree
    >>> tree = embed_tree("((a:1,b:2)c:1,d:3)e;")
    >>> tree
    TreeEmbedding(5 nodes, d=2, K=-1, scale=1, distortion: worst 1.12, mean 0.036)
    >>> tree.names, tree.parents
    (['e', 'c', 'a', 'b', 'd'], array([-1,  0,  1,  1,  0]))
    >>> tree.radius.round(6)  # distances from the centre, here the root
    array([0.      , 1.      , 1.787744, 2.760629, 3.      ])
    >>> tree.pairwise([0, 3]).round(3)
    array([[0.   , 2.761],
           [2.761, 0.   ]])
    >>> tree.centered("b").radius.round(6)[:2]  # "c" is 2 from there
    array([2.760629, 2.      ])
    >>> tree.to_chart("poincare").shape, tree.points.shape, tree.index("d")
    ((5, 2), (5, 3), 4)
    """

    names: list[Any]  #: Names of the n nodes.
    parents: Ints  #: Row of each node's parent, -1 for the root, shape (n,).
    lengths: Floats  #: Length of the edge to the parent, 0 for the root, shape (n,).
    edges: Ints  #: Pairs (parent, child), shape (n - 1, 2).
    curvature: float  #: Curvature K.
    scale: float  #: Distance in space over length of an edge.
    center: int  #: Row of the node in the centre.
    radius: Floats  #: Distance of each node from the centre, shape (n,).
    direction: Floats  #: Direction of each node seen from the centre, unit vectors (n, d).
    distortion: Distortion  #: What the embedding changes.
    tree: RootedTree  #: The tree with the directions of its edges; equal places are one node of it.
    place: Ints  #: Node of `tree` of each node, shape (n,).

    def __repr__(self) -> str:
        found = self.distortion
        return (
            f"TreeEmbedding({len(self.names)} nodes, d={self.direction.shape[1]}, "
            f"K={self.curvature:g}, scale={self.scale:.3g}, distortion: worst {found.worst:.3g}, "
            f"mean {found.mean:.2g})"
        )

    @property
    def points(self) -> Floats:
        """Lorentz coordinates (n, d + 1) in units of 1/√-K, the time last."""
        return self.to_chart("hyperboloid")

    def to_chart(self, chart: str) -> Floats:
        """Return the coordinates of all nodes in a chart, the centre in its middle.

        Parameters
        ----------
        chart : {"poincare", "conformal", "klein", "hyperboloid", "hemisphere", "half_space"}
            See :func:`cayleyklein.geometry.to_chart`. Points that a chart in double precision
            cannot tell from its boundary, in Poincaré's ball at the radius 37/√-K, are put just
            inside it; Lorentz coordinates go up to 350/√-K.
        """
        return charts.from_polar(math.sqrt(-self.curvature) * self.radius, self.direction, chart)

    def index(self, node: Any) -> int:
        """Return the row of a node by its name; the first one, if several have it."""
        return row_of(self.names, node, "node")

    def centered(self, node: Any) -> "TreeEmbedding":
        """Return the same embedding, moved by the isometry that puts a node into the centre.

        Parameters
        ----------
        node : object
            Name of the node.
        """
        row = self.index(node)
        unit = math.sqrt(-self.curvature) * self.scale
        radius, direction, _ = self.tree.seen_from(int(self.place[row]), unit)
        return replace(
            self,
            center=row,
            radius=radius[self.place] / math.sqrt(-self.curvature),
            direction=direction[self.place],
        )

    def pairwise(self, rows: ArrayLike | None = None) -> Floats:
        """Return the distances in space between nodes, exact at any radius.

        Parameters
        ----------
        rows : array-like of shape (m,), optional
            Rows of nodes; all by default.
        """
        n = len(self.names)
        known = np.arange(n) if rows is None else np.asarray(checks.as_finite_array(rows, "rows"))
        right = known.ndim == 1 and bool(np.isin(known, np.arange(n)).all())
        checks.expect(right, "rows", rows, f"row numbers from 0 to {n - 1}")
        known = known.astype(np.intp)
        remedy = "Give the rows of fewer nodes."
        checks.check_memory(8.0 * len(known) ** 2, f"Distances of {len(known):,} nodes", remedy)
        unit = math.sqrt(-self.curvature)
        at = self.place[known]
        found = np.empty((len(known), len(known)))
        for i, node in enumerate(at):
            found[i] = self.tree.seen_from(int(node), unit * self.scale)[0][at] / unit
        return np.asarray((found + found.T) / 2)


def embed_tree(
    tree: Any,
    n_components: int = 2,
    *,
    root: Any = None,
    lengths: ArrayLike | None = None,
    weight: str | None = "weight",
    scale: float | str = 1.0,
    max_distortion: float = 1.1,
    curvature: float = -1.0,
) -> TreeEmbedding:
    """Embed a tree in hyperbolic space by Sarkar's construction.

    The distance between neighbours is `scale` times the length of their edge; that of all others is
    smaller than along the tree, by the less the longer edges are. Distances keep their digits at
    any radius, since none of them is taken from coordinates around one centre: each node stores
    only how the next ones are seen from there.

    Parameters
    ----------
    tree : graph, list, dict, sequence or str
        A networkx graph; edges (a, b) or (a, b, length); a dict {child: parent}; a sequence of the
        rows of parents, -1 or None for the root; or Newick text.
    n_components : int, default=2
        Dimension of the space, at least 2.
    root : object, optional
        Name of the node in the centre. By default the root of a directed graph, of parents or of a
        Newick text, and otherwise the middle of the longest path.
    lengths : array-like of shape (m,), optional
        Length of each edge of a list, or of the edge from each node to its parent; 1 by default.
        Nodes that edges of length 0 join have one place.
    weight : str or None, default="weight"
        Attribute of the edges of a networkx graph that is their length; edges without have 1. None
        gives all edges the length 1, as for weights that say how strong an edge is.
    scale : float or "auto", default=1.0
        Distance over length of an edge. "auto" is the smallest, to 1%, with which the worst
        distortion is at most `max_distortion`. A picture in the disc has room for a `scale` of
        about 1 to 2 over the length of an edge.
    max_distortion : float, default=1.1
        Worst distortion that ``scale="auto"`` allows.
    curvature : float, default=-1.0
        Curvature K < 0.

    Returns
    -------
    TreeEmbedding
        Coordinates, distances and the distortion, worst and mean: over all pairs up to 1,000 nodes,
        and otherwise over all pairs with 24 of the nodes.

    Raises
    ------
    InvalidInputError
        For cycles, which the error shows, for several parts, and for negative lengths.

    Examples
    --------
    >>> tree = embed_tree({"cat": "mammal", "dog": "mammal", "mammal": "animal", "ant": "animal"})
    >>> tree.names[int(tree.radius.argmin())]
    'animal'
    >>> tree.to_chart("poincare").round(3)
    array([[ 0.668,  0.25 ],
           [ 0.668, -0.25 ],
           [ 0.462,  0.   ],
           [-0.462,  0.   ],
           [ 0.   ,  0.   ]])

    Long edges have little distortion:

    >>> far = embed_tree([(i // 2, i) for i in range(2, 512)], scale="auto", max_distortion=1.05)
    >>> round(far.distortion.worst, 2), round(far.scale)
    (1.05, 6)
    """
    r = checks.as_count(n_components, "n_components")
    checks.expect(r > 1, "n_components", r, "2 or more; a line has no room for a tree")
    K = checks.as_real(curvature, "curvature")
    checks.expect(K < 0, "curvature", K, "a number < 0: trees need hyperbolic space")
    graph = read_graph(tree, lengths, weight)
    refuse_parts(graph)
    refuse_cycles(graph)
    start = graph.root if root is None else row_of(graph.names, root, "root")
    start = middle_of(graph) if start is None else start
    place, merged = without_zeros(graph)
    rooted = with_directions(merged, int(place[start]), r)
    unit = math.sqrt(-K)
    if isinstance(scale, str):
        checks.as_choice(scale, "scale", ("auto",))
        most = checks.as_real(max_distortion, "max_distortion", "(1, inf)")
        factor = least_scale(rooted, unit, most)
    else:
        factor = checks.as_real(scale, "scale", "(0, inf)")
    n = len(graph.names)
    before = breadth_first_order(graph.adjacency().tocsr(), start, directed=False)[1]
    parents = np.where(before < 0, -1, before).astype(np.intp)
    has = graph.edges[:, 0] == parents[graph.edges[:, 1]]
    edges = np.where(has[:, None], graph.edges, graph.edges[:, ::-1])
    to_parent = np.zeros(n)
    to_parent[edges[:, 1]] = graph.lengths
    radius, direction, _ = rooted.seen_from(int(place[start]), unit * factor)
    return TreeEmbedding(
        names=graph.names,
        parents=parents,
        lengths=to_parent,
        edges=edges,
        curvature=K,
        scale=factor,
        center=start,
        radius=radius[place] / unit,
        direction=direction[place],
        distortion=distortion_of(rooted, unit * factor),
        tree=rooted,
        place=place,
    )


def row_of(names: list[Any], name: Any, what: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        near = checks.did_you_mean(str(name), [str(known) for known in names], "nodes")
        raise InvalidInputError(
            f"Got {what}={name!r}, which is no node of the tree.{near}"
        ) from None


def middle_of(graph: Graph) -> int:
    """Return the node in the middle of the longest path of a tree, the first one of two."""
    n = len(graph.names)
    length = np.maximum(graph.lengths, np.finfo(float).tiny)
    matrix = coo_array((length, graph.edges.T), shape=(n, n)).tocsr()
    end = int(np.argmax(shortest_path(matrix, directed=False, indices=0)))
    one = shortest_path(matrix, directed=False, indices=end)
    other = shortest_path(matrix, directed=False, indices=int(np.argmax(one)))
    return int(np.argmin(np.maximum(one, other)))


def without_zeros(graph: Graph) -> tuple[Ints, Graph]:
    """Return the place of each node, and the tree of places, which no edge of length 0 joins."""
    joins = graph.lengths == 0
    n = len(graph.names)
    zeros = graph.edges[joins]
    same = coo_array((np.ones(len(zeros)), zeros.T), shape=(n, n))
    count, place = connected_components(same, directed=False)
    merged = Graph(list(range(count)), place[graph.edges[~joins]], graph.lengths[~joins], None)
    return place.astype(np.intp), merged


def with_directions(graph: Graph, root: int, d: int) -> RootedTree:
    """Return the tree with a direction for each edge, evenly spread around each node."""
    n = len(graph.names)
    order, before = breadth_first_order(graph.adjacency().tocsr(), root, directed=False)
    parents = np.where(before < 0, -1, before).astype(np.intp)
    child = np.where(parents[graph.edges[:, 1]] == graph.edges[:, 0], *graph.edges.T[::-1])
    lengths = np.zeros(n)
    lengths[child] = graph.lengths
    what = f"The embedding of {n:,} nodes in {d:,} dimensions"
    checks.check_memory(8.0 * n * (d + 1) ** 2, what, "Take a smaller n_components.")
    # children in the order of the input, after their parent
    by_parent = np.argsort(parents[child], kind="stable")
    children = child[by_parent]
    starts = np.searchsorted(parents[children], np.arange(n + 1))
    directions = np.zeros((n, d))
    for node in order:
        mine = children[starts[node] : starts[node + 1]]
        if not len(mine):
            continue
        if node == root:
            directions[mine] = even_directions(len(mine), d)
            continue
        # the first of the directions goes back to the parent: it is reflected there
        around = even_directions(len(mine) + 1, d)
        normal = around[0] + directions[node]
        square = normal @ normal
        away = around[1:]
        if square > 1e-24:
            away = away - np.outer(away @ normal, 2 / square * normal)
        directions[mine] = away
    return RootedTree(parents, order.astype(np.intp), lengths, directions)


@lru_cache(maxsize=256)
def even_directions(count: int, d: int) -> Floats:
    """Return unit vectors (count, d) with large angles between them.

    They are equally spaced in the plane; up to d + 1 of them the corners of a simplex, up to 2d
    those of a cross-polytope. More are pushed apart from a spiral, or from fixed directions.
    """
    if d == 2:
        angle = 2 * math.pi * np.arange(count) / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if count <= d + 1:
        corners = np.eye(count) - 1 / count
        flat = corners @ np.linalg.svd(corners)[2][: max(count - 1, 1)].T
        found = np.zeros((count, d))
        found[:, : flat.shape[1]] = flat if count > 1 else 1.0
    elif count <= 2 * d:
        axes = np.eye(d)
        found = np.stack([axes, -axes], axis=1).reshape(-1, d)[:count]
    else:
        found = np.random.default_rng(0).normal(size=(count, d))
        if d == 3:
            height = 1 - (2 * np.arange(count) + 1) / count
            turn = np.arange(count) * math.pi * (3 - math.sqrt(5))
            ring = np.sqrt(1 - height * height)
            found = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
        found = _pushed_apart(found)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _pushed_apart(found: Floats) -> Floats:
    """Return unit vectors moved along the forces 1/r³ of all others, by ever smaller steps."""
    largest, steps = 1000, 50  # more vectors stay where they are
    if len(found) > largest:
        return found
    reach = len(found) ** (-1 / (found.shape[1] - 1))  # the order of the angles between neighbours
    for step in range(steps):
        found = found / np.linalg.norm(found, axis=1, keepdims=True)
        square = np.maximum(2 - 2 * found @ found.T, 1e-12)
        np.fill_diagonal(square, np.inf)
        weight = square**-2
        force = weight.sum(axis=1)[:, None] * found - weight @ found
        force -= np.einsum("ij,ij->i", force, found)[:, None] * found
        size = np.linalg.norm(force, axis=1).max()
        found = found + force * (0.5 * reach * (1 - step / steps) / max(size, 1e-300))
    return found


def distortion_of(tree: RootedTree, unit: float) -> Distortion:
    """Compare distances in space with those along the tree.

    Of trees of more than 1,000 nodes they are compared from 24, spread over the order of nodes.
    """
    n = len(tree.parents)
    exact = n <= 1000
    some = np.arange(n) if exact else tree.order[np.linspace(0, n - 1, 24).astype(np.intp)]
    low, high, total, count = 1.0, 1.0, 0.0, 0
    for node in some:
        radius, _, length = tree.seen_from(int(node), unit)
        others = length > 0
        if not others.any():
            continue
        ratio = radius[others] / length[others]
        low, high = min(low, float(ratio.min())), max(high, float(ratio.max()))
        total += float(np.abs(1 - ratio).sum())
        count += int(others.sum())
    worst = high / low if low > 0 else math.inf
    return Distortion(worst, total / max(count, 1), count // 2 if exact else count, exact)


def least_scale(tree: RootedTree, unit: float, most: float) -> float:
    """Return the smallest scale, to 1%, with which the worst distortion is at most that."""
    if not tree.lengths.any():
        return 1.0
    typical = float(np.median(tree.lengths[tree.lengths > 0]))

    def fits(scale: float) -> bool:
        return distortion_of(tree, unit * scale).worst <= most

    high = 1 / (unit * typical)
    while not fits(high):
        high *= 2
        if high > 1e12 / (unit * typical):
            raise InvalidInputError(
                f"No scale up to {high:.3g} has a worst distortion of {most:g}; allow more."
            )
    while fits(high / 2):
        high /= 2
        if high < 1e-6 / (unit * typical):  # a path has no distortion at any scale
            return high
    low = high / 2
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
