"""Which search ``algorithm="auto"`` takes.

``auto`` and ``vptree`` probe: a tree on a sample of the rows says how large a share of all
distances is measured. What share still pays was measured (``benchmarks/bench_neighbors.py``).
"""

from __future__ import annotations

from typing import Literal, get_args

from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import ProductMetric
from cayleyklein.neighbors._vptree import VantagePointTree
from cayleyklein.neighbors.euclidean import TreeSearch, even_rows, tree_share
from cayleyklein.neighbors.space import ChordRows, ChordSpace

Algorithm = Literal["auto", "brute", "tree", "vptree"]
ALGORITHMS = get_args(Algorithm)

PROBE_ROWS, PROBE_QUERIES, PROBE_NEIGHBORS = 8192, 32, 11
"""The sample. The share falls with the number of rows; the limits below are for such samples."""

TREE_PAYS_BELOW = {"tree": 0.3, "vptree": 0.2, "mixed": 0.6}
"""Share of distances measured in the sample under which ``auto`` prefers a tree to brute force."""

HOPELESS = 0.8
"""Share above which a tree of vantage points that was asked for gives way to brute force."""

FEW_ROWS = {"tree": 2000, "vptree": 2000, "mixed": 200}
"""Rows up to which ``auto`` takes brute force without a probe."""


def build_engine(
    algorithm: Algorithm, space: ChordSpace, rows: ChordRows
) -> tuple[TreeSearch | VantagePointTree | None, str]:
    """Return the engine of an algorithm, or None to measure every row, and the algorithm's name."""
    product, single = isinstance(space.terms[0].metric, ProductMetric), len(space.terms) == 1
    if algorithm == "vptree" and product:
        raise InvalidInputError(
            "Got algorithm='vptree' for a ProductMetric, which is Euclidean after its map; "
            "expected 'auto', 'brute' or 'tree'."
        )
    if algorithm == "tree" and not (single and space.terms[0].K >= 0):
        raise InvalidInputError(
            "Got algorithm='tree', but a k-d tree needs a flat, an elliptic or a product metric; "
            "use algorithm='vptree' for a hyperbolic or a mixed one, or 'auto'."
        )
    if algorithm == "auto":
        algorithm = fastest(space, rows)
    elif algorithm == "vptree" and probe(space, rows, "vptree") > HOPELESS:
        algorithm = "brute"
    if algorithm == "vptree":
        return VantagePointTree(space, rows), "vptree"
    return TreeSearch(space, rows) if algorithm == "tree" else None, algorithm


def fastest(space: ChordSpace, rows: ChordRows) -> Algorithm:
    """Return the algorithm that a sample of the rows promises to be the fastest."""
    mixed = len(space.terms) > 1
    tree: Algorithm = "tree" if not mixed and space.terms[0].K >= 0 else "vptree"
    kind = "mixed" if mixed else tree
    if len(rows.v) <= FEW_ROWS[kind]:
        return "brute"
    return tree if probe(space, rows, tree) < TREE_PAYS_BELOW[kind] else "brute"


def probe(space: ChordSpace, rows: ChordRows, tree: str) -> float:
    """Return the share of a sample's distances that a tree measures."""
    some = rows.take(even_rows(len(rows.v), PROBE_ROWS))
    if tree == "tree":
        return tree_share(some.v, PROBE_QUERIES, PROBE_NEIGHBORS)
    n = len(some.v)
    queries = some.take(even_rows(n, PROBE_QUERIES))
    *_, measured = VantagePointTree(space, some).search(queries, min(PROBE_NEIGHBORS, n), None)
    return float(measured.mean() / n)
