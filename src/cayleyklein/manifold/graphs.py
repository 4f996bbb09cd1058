"""Graphs and trees as their users have them: networkx graphs, edges, parents or Newick text."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, shortest_path

from cayleyklein import _validation as checks
from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.manifold import newick


class Graph(NamedTuple):
    """Nodes, edges between them and their lengths; the root is that of the input, or None."""

    names: list[Any]
    edges: Ints  # (m, 2)
    lengths: Floats  # (m,)
    root: int | None

    def adjacency(self) -> coo_array:
        n = len(self.names)
        return coo_array((np.ones(len(self.edges)), self.edges.T), shape=(n, n))


class GraphDistances(NamedTuple):
    """Lengths of shortest paths in a graph; made by :func:`graph_distances`.

    Examples
    --------
    >>> graph_distances({"leaf": "root"}).edges
    array([[1, 0]])
    """

    distances: Floats  #: Lengths of shortest paths, shape (n, n).
    names: list[Any]  #: Names of the n nodes.
    edges: Ints  #: Pairs of rows that an edge joins, shape (m, 2).


def graph_distances(
    graph: Any, *, lengths: ArrayLike | None = None, weight: str | None = "weight"
) -> GraphDistances:
    """Return the lengths of shortest paths between all nodes of a graph, for :class:`CurvedMDS`.

    Parameters
    ----------
    graph : graph, list, dict, sequence or str
        As for :func:`embed_tree`, but cycles are allowed. Directions of edges do not count.
    lengths : array-like of shape (m,), optional
        Length of each edge of a list, or of the edge from each node to its parent. 1 by default.
    weight : str or None, default="weight"
        Attribute of the edges of a networkx graph that is their length; edges without have 1. None
        gives all edges the length 1, as for weights that say how strong an edge is.

    Examples
    --------
    >>> from cayleyklein import CurvedMDS
    >>> found = graph_distances([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    >>> found.names, found.distances[0]
    (['a', 'b', 'c', 'd'], array([0., 1., 1., 2.]))
    >>> mds = CurvedMDS(metric="precomputed", curvature=-1.0, random_state=0)
    >>> mds.fit(found.distances).embedding_.shape
    (4, 2)
    """
    found = read_graph(graph, lengths, weight)
    n = len(found.names)
    checks.check_memory(16.0 * n * n, f"Shortest paths between {n:,} nodes", "Take fewer nodes.")
    refuse_parts(found)
    kept = np.lexsort((found.lengths, found.edges.max(axis=1), found.edges.min(axis=1)))
    ends = np.sort(found.edges[kept], axis=1)
    shortest = np.append(True, (np.diff(ends, axis=0) != 0).any(axis=1)) & (ends[:, 0] < ends[:, 1])
    # zeros are no edges of a sparse graph: the least number stands for them
    length = np.maximum(found.lengths[kept][shortest], np.finfo(float).tiny)
    matrix = coo_array((length, ends[shortest].T), shape=(n, n)).tocsr()
    paths = shortest_path(matrix, directed=False)
    return GraphDistances(np.where(paths < 1e-290, 0.0, paths), found.names, found.edges)


def read_graph(
    given: Any, lengths: ArrayLike | None = None, weight: str | None = "weight"
) -> Graph:
    """Return the graph that a user has given in any of the kinds."""
    if isinstance(given, str):
        found = _from_newick(given, lengths)
    elif hasattr(given, "edges") and hasattr(given, "nodes"):
        found = _from_networkx(given, lengths, weight)
    elif isinstance(given, Mapping):
        found = _from_parents(list(given), list(given.values()), lengths)
    elif isinstance(given, Iterable):
        rows = list(given)
        if rows and all(isinstance(row, list | tuple | np.ndarray) for row in rows):
            found = _from_edges(rows, lengths)
        else:
            found = _from_pointers(rows, lengths)
    else:
        raise InvalidInputError(
            f"Got a tree of type {type(given).__name__}, but expected a networkx graph, a list of "
            f"edges (a, b) or (a, b, length), a dict {{child: parent}}, a sequence of parents or a "
            f"Newick text."
        )
    checks.expect(len(found.names) > 0, "tree", given, "at least one node")
    bad = np.flatnonzero(~(found.lengths >= 0) | ~np.isfinite(found.lengths))
    if len(bad):
        a, b = (found.names[i] for i in found.edges[bad[0]])
        raise InvalidInputError(
            f"The edge from {a!r} to {b!r} has the length {found.lengths[bad[0]]:g}; lengths are "
            f"finite and 0 or more."
        )
    return found


def refuse_parts(graph: Graph) -> None:
    """Raise unless the graph is connected."""
    count, part = connected_components(graph.adjacency(), directed=False)
    if count > 1:
        sizes = np.bincount(part)
        other = graph.names[int(np.flatnonzero(part != part[0])[0])]
        raise InvalidInputError(
            f"The graph has {count} parts, of {', '.join(map(str, np.sort(sizes)[::-1][:5]))} "
            f"nodes{' …' if count > 5 else ''}: no path leads from {graph.names[0]!r} to "
            f"{other!r}. Take each part by itself, or join them by edges."
        )


def refuse_cycles(graph: Graph) -> None:
    """Raise unless a connected graph is a tree; the error names a cycle."""
    n, m = len(graph.names), len(graph.edges)
    if m == n - 1:
        return
    at = np.arange(m)
    loops = graph.edges[:, 0] == graph.edges[:, 1]
    if loops.any():
        cycle = [int(graph.edges[loops][0, 0])] * 2
    else:
        _, before = breadth_first_order(graph.adjacency().tocsr(), 0, directed=False)
        low, high = np.sort(graph.edges, axis=1).T
        first = np.unique(low * n + high, return_index=True)[1]
        in_tree = (before[low] == high) | (before[high] == low)
        extra = np.flatnonzero(~in_tree | ~np.isin(at, first))[0]
        a, b = graph.edges[extra]
        cycle = [*_joined(_way_up(a, before), _way_up(b, before)), int(a)]
    names = [repr(graph.names[i]) for i in cycle]
    shown = " – ".join(names if len(names) <= 8 else [*names[:4], "…", *names[-3:]])
    raise InvalidInputError(
        f"The graph is no tree: it has {n} nodes and {m} edges, and a cycle through {shown}. "
        f"graph_distances and CurvedMDS draw graphs with cycles."
    )


def _way_up(node: int, before: Ints) -> list[int]:
    way = [int(node)]
    while before[way[-1]] >= 0:
        way.append(int(before[way[-1]]))
    return way


def _joined(first: list[int], second: list[int]) -> list[int]:
    """Return the path between the starts of two ways that end at the same node."""
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first, second = first[:-1], second[:-1]
    return first + second[-2::-1]


def _named(pairs: list[tuple[Any, Any]], first: Iterable[Any] = ()) -> tuple[list[Any], Ints]:
    """Return the names of nodes in the order in which they are met, and edges as numbers."""
    number: dict[Any, int] = {}
    for name in first:
        number.setdefault(name, len(number))
    edges = np.empty((len(pairs), 2), dtype=np.intp)
    for i, pair in enumerate(pairs):
        for side, name in enumerate(pair):
            try:
                edges[i, side] = number.setdefault(name, len(number))
            except TypeError:
                raise InvalidInputError(
                    f"Edge {i} has the end {name!r}, which cannot be the name of a node: it is not "
                    f"hashable."
                ) from None
    return list(number), edges


def _as_lengths(lengths: ArrayLike | None, count: int, each: str) -> Floats:
    if lengths is None:
        return np.ones(count)
    found = checks.as_finite_array(lengths, "lengths")
    checks.expect(found.shape == (count,), "lengths of shape", found.shape, f"one for each {each}")
    return found


def _from_networkx(given: Any, lengths: ArrayLike | None, weight: str | None) -> Graph:
    checks.expect(
        lengths is None, "lengths", lengths, "none: the edges of a networkx graph have theirs"
    )
    rows = list(given.edges(data=True))
    names, edges = _named([(a, b) for a, b, _ in rows], given.nodes)
    found = np.ones(len(rows))
    if weight is not None:
        found = checks.as_finite_array([data.get(weight, 1.0) for *_, data in rows], weight)
    root = None
    if given.is_directed():
        sources = np.setdiff1d(np.arange(len(names)), edges[:, 1])
        root = int(sources[0]) if len(sources) == 1 else None
    return Graph(names, edges, found, root)


def _from_edges(rows: list[Any], lengths: ArrayLike | None) -> Graph:
    sizes = {len(row) for row in rows}
    checks.expect(
        sizes in ({2}, {3}), "edges with numbers of entries", sorted(sizes), "2 or 3 in each"
    )
    if sizes == {3}:
        checks.expect(lengths is None, "lengths", lengths, "none: the edges have a third entry")
        lengths = [row[2] for row in rows]
    # an array of edges with lengths holds whole numbers as floats
    pairs = [tuple(map(_as_name, row[:2])) for row in rows]
    names, edges = _named(pairs)
    return Graph(names, edges, _as_lengths(lengths, len(rows), "edge"), None)


def _as_name(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _from_pointers(rows: list[Any], lengths: ArrayLike | None) -> Graph:
    parents = [None if row is None or row == -1 else _as_name(row) for row in rows]
    bad = [p for p in parents if p is not None and not (type(p) is int and 0 <= p < len(rows))]
    if bad:
        raise InvalidInputError(
            f"Got the parent {bad[0]!r}, but expected numbers of nodes from 0 to {len(rows) - 1}, "
            f"and -1 or None for the root. A dict {{child: parent}} takes names."
        )
    return _from_parents(list(range(len(rows))), parents, lengths)


def _from_parents(children: list[Any], parents: list[Any], lengths: ArrayLike | None) -> Graph:
    found = _as_lengths(lengths, len(children), "child")
    has = [i for i, parent in enumerate(parents) if parent is not None]
    names, edges = _named([(parents[i], children[i]) for i in has], children)
    tops = np.setdiff1d(np.arange(len(names)), edges[:, 1])
    return Graph(names, edges, found[has], int(tops[0]) if len(tops) == 1 else None)


def _from_newick(text: str, lengths: ArrayLike | None) -> Graph:
    checks.expect(lengths is None, "lengths", lengths, "none: they are in the Newick text")
    labels, parents, found = newick.parse(text)
    known = np.isfinite(found[1:])
    if known.any() and not known.all():
        node = int(np.flatnonzero(~known)[0]) + 1
        raise InvalidInputError(
            f"The Newick text has lengths, but none at node {node} ({labels[node]!r})."
        )
    edges = np.stack([parents[1:], np.arange(1, len(labels))], axis=1).reshape(-1, 2)
    return Graph(list(labels), edges, np.where(known, found[1:], 1.0), 0)
