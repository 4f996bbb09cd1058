"""Which search ``algorithm="auto"`` takes.

It probes: trees on a sample of the rows say how large a share of all distances is measured. What
share still pays was measured (``benchmarks/bench_neighbors.py``), and depends on the metric:

- flat, elliptic and product metrics: a k-d tree or brute force. The more coordinates, the less a
  tree pays: it measures in all of them, and brute force bounds most distances in few directions.
- hyperbolic metrics: the same, as long as Poincaré's ball, where the k-d tree is, has nearly the
  metric's order. For rows far from the centre, a vantage point tree or brute force.
- sums of metrics: a vantage point tree, which took less time than the k-d tree of lower bounds
  wherever one of them took less than brute force, or brute force.
"""

from typing import Literal, get_args

import numpy as np

from cayleyklein.neighbors.euclidean import TreeSearch, even_rows, tree_share
from cayleyklein.neighbors.space import ChordRows, ChordSpace
from cayleyklein.neighbors.vantage import VantageSearch

Algorithm = Literal["auto", "brute", "tree", "vantage"]
ALGORITHMS = get_args(Algorithm)

PROBE_QUERIES, PROBE_NEIGHBORS = 32, 11
NARROW = 16  # coordinates


def build_engine(
    algorithm: Algorithm, space: ChordSpace, rows: ChordRows
) -> tuple[TreeSearch | VantageSearch | None, str]:
    """Return the engine of an algorithm, or None to bound all distances, and its name."""
    if algorithm == "auto":
        algorithm = choose(space, rows) if len(rows.v) > 2000 else "brute"
    if algorithm == "brute":
        return None, algorithm
    return (TreeSearch if algorithm == "tree" else VantageSearch)(space, rows), algorithm


def choose(space: ChordSpace, rows: ChordRows) -> Algorithm:
    """Return the algorithm that takes the least time for many queries among many rows.

    A vantage point tree takes less time than brute force where it measures a smaller share of the
    distances of a sample: 0.12 for sums of metrics, and 0.03 for hyperbolic metrics, for which
    brute force has a matrix product.
    """
    some = rows.take(even_rows(len(rows.v), 8192))
    if len(space.terms) > 1:
        return "vantage" if vantage_share(space, some) < 0.12 else "brute"
    # where a k-d tree pays, in flat, clustered and bent sets of 2 to 50 dimensions, it measures at
    # most 0.72 of the distances to the nearest of few rows
    few = rows.take(even_rows(len(rows.v), 1024))
    if tree_share(TreeSearch(space, few).coordinates(few), PROBE_QUERIES, 2) > 0.9:
        return "brute"
    tree = TreeSearch(space, some)
    share = tree_share(tree.coordinates(some), PROBE_QUERIES, PROBE_NEIGHBORS)
    # on 45 sets of 3 to 92 coordinates a tree took about this over 0.3 of the time of brute force
    if share * max(1.0, rows.v.shape[1] / NARROW) ** 1.5 >= 0.3:
        return "brute"
    # in Poincaré's ball it is slower where the first candidates leave more queries in doubt
    if tree.ranks or disorder(tree, some) <= 0.2:
        return "tree"
    return "vantage" if vantage_share(space, some) < 0.03 else "brute"


def disorder(tree: TreeSearch, rows: ChordRows) -> float:
    """Return the share of queries that the first candidates of a tree leave in doubt."""
    queries, k = rows.take(even_rows(len(rows.v), PROBE_QUERIES)), PROBE_NEIGHBORS
    found, floor = tree.candidates(queries, tree.factors[0] * k, k, None)
    which = np.repeat(np.arange(len(found)), found.shape[1])
    values = tree.space.measure(queries, which, rows, found.ravel()).reshape(found.shape)
    return float(np.mean(~(np.partition(values, k, axis=1)[:, k] < floor)))


def vantage_share(space: ChordSpace, rows: ChordRows) -> float:
    """Return the share of all distances that a vantage point tree measures among its rows."""
    queries = rows.take(even_rows(len(rows.v), PROBE_QUERIES))
    search = VantageSearch(space, rows)
    search.candidates(queries, PROBE_NEIGHBORS, PROBE_NEIGHBORS, None)
    return search.measured / (len(queries.v) * len(rows.v))
