"""Which search ``algorithm="auto"`` takes.

It probes: a k-d tree on a sample of the rows says how large a share of all distances is measured.
What share still pays was measured (``benchmarks/bench_neighbors.py``); the more coordinates, the
less: a tree measures in all of them, and brute force bounds most distances in few directions.
"""

from typing import Literal, get_args

import numpy as np

from cayleyklein.neighbors.euclidean import TreeSearch, even_rows, tree_share
from cayleyklein.neighbors.space import ChordRows, ChordSpace
from cayleyklein.neighbors.vantage import VantageSearch

Algorithm = Literal["auto", "brute", "tree", "vantage"]
ALGORITHMS = get_args(Algorithm)

FEW_ROWS = 2000  # up to which ``auto`` takes brute force without a probe
PROBE_ROWS, PROBE_QUERIES, PROBE_NEIGHBORS = 8192, 32, 11
# share of distances to the nearest of few rows beyond which no tree pays: where one does, in flat,
# clustered and bent sets of 2 to 50 dimensions, it is at most 0.72
HOPELESS_ROWS, HOPELESS = 1024, 0.9
# share of distances measured in such a sample under which ``auto`` prefers a tree to brute force;
# with more than `NARROW` coordinates it counts times a power of their number over `NARROW`: on 45
# sets of 3 to 92 coordinates a tree took about that over 0.3 of the time of brute force
TREE_PAYS_BELOW, NARROW, WIDENING = 0.3, 16, 1.5


def build_engine(
    algorithm: Algorithm, space: ChordSpace, rows: ChordRows
) -> tuple[TreeSearch | VantageSearch | None, str]:
    """Return the engine of an algorithm, or None to bound all distances, and its name."""
    if algorithm == "auto":
        pays = len(rows.v) > FEW_ROWS and probe(space, rows) < TREE_PAYS_BELOW
        algorithm = "tree" if pays else "brute"
    if algorithm == "brute":
        return None, algorithm
    return (TreeSearch if algorithm == "tree" else VantageSearch)(space, rows), algorithm


def probe(space: ChordSpace, rows: ChordRows) -> float:
    """Return the share of a sample's distances that a tree measures, more for wide rows."""
    some = rows.take(even_rows(len(rows.v), HOPELESS_ROWS))
    if tree_share(TreeSearch(space, some).coordinates(some), PROBE_QUERIES, 2) > HOPELESS:
        return 1.0
    some = rows.take(even_rows(len(rows.v), PROBE_ROWS))
    tree = TreeSearch(space, some)
    share = tree_share(tree.coordinates(some), PROBE_QUERIES, PROBE_NEIGHBORS)
    share *= float(max(1.0, rows.v.shape[1] / NARROW) ** WIDENING)
    if tree.ranks or share > TREE_PAYS_BELOW:
        return share
    # where the tree does not certify the nearest rows, all are measured
    queries, k = some.take(even_rows(len(some.v), PROBE_QUERIES)), PROBE_NEIGHBORS
    found, floor = tree.candidates(queries, tree.factors[-1] * k, k, None)
    which = np.repeat(np.arange(len(found)), found.shape[1])
    values = space.measure(queries, which, some, found.ravel()).reshape(found.shape)
    return share + float(np.mean(~(np.partition(values, k, axis=1)[:, k] < floor)))
