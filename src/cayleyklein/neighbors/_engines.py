"""The algorithms by name, and which of them a search uses.

``auto`` and ``vptree`` probe: a tree of vantage points on a sample of the rows says how large a
share of all distances the triangle inequality does not spare. What share still pays was measured
(``benchmarks/bench_neighbors.py``): where all of them are, brute force on a lift is the fastest by
far, and for a mixed distance, which has none, it still is by half.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cayleyklein._threads import Threads
from cayleyklein.neighbors._brute import LiftedBrute
from cayleyklein.neighbors._faiss import ApproximateFaiss, ExactFaiss, float32_is_enough
from cayleyklein.neighbors._refine import Engine
from cayleyklein.neighbors._rows import Queries, References
from cayleyklein.neighbors._tree import LiftedTree
from cayleyklein.neighbors._vptree import VantagePointTree

__all__ = ["ALGORITHMS", "Algorithm", "Built", "build", "probe"]

Algorithm = str | Callable[[References], Engine]
"""A name, or what makes an engine of one's own from the fitted rows."""

ALGORITHMS = ("auto", "brute", "tree", "vptree", "faiss", "faiss-approximate")

PROBE_ROWS, PROBE_QUERIES, PROBE_NEIGHBORS = 8192, 32, 10
"""The sample. The share falls with the number of rows; the limits below are for such samples."""

TREE_PAYS_BELOW = {"tree": 0.3, "vptree": 0.2, "mixed": 0.6}
"""Share of distances measured in the sample under which ``auto`` prefers a tree to brute force."""

HOPELESS = 0.8
"""Share above which a tree of vantage points that was asked for gives way to brute force."""

FEW_ROWS = {"tree": 2000, "vptree": 2000, "mixed": 200}
"""Rows up to which ``auto`` takes brute force without a probe."""


class Built(NamedTuple):
    """An engine (None measures every row), its name, and its recall."""

    engine: Engine | None
    name: str
    recall: float = 1.0


def build(algorithm: Algorithm, references: References, pool: Threads | None) -> Built:
    """Build the engine of an algorithm, or of the one that `auto` picks."""
    if not isinstance(algorithm, str):
        name = getattr(algorithm, "__name__", type(algorithm).__name__)
        return Built(algorithm(references), name)
    if algorithm == "auto":
        algorithm = choose(references, pool)
    elif algorithm == "vptree" and probe(references, pool) > HOPELESS:
        algorithm = "brute"
    if algorithm == "tree":
        return Built(LiftedTree(references), "tree")
    if algorithm == "vptree":
        return Built(VantagePointTree(references), "vptree")
    single = len(references.parts) == 1
    if algorithm == "brute" or (single and not float32_is_enough(references)):
        return Built(LiftedBrute(references) if single else None, "brute")
    if algorithm == "faiss":
        return Built(ExactFaiss(references), "faiss")
    engine = ApproximateFaiss(references, pool)
    return Built(engine, "faiss-approximate", engine.recall)


def choose(references: References, pool: Threads | None) -> str:
    """Return the algorithm that a sample of the rows promises to be the fastest.

    faiss is not among them: its exact search took as long as scikit-learn's or longer, and an
    approximate one is nothing to be given unasked.
    """
    if len(references.parts) > 1:
        tree, kind = "vptree", "mixed"
    else:
        tree = kind = "tree" if references.parts[0].metric.curvature >= 0 else "vptree"
    if len(references) <= FEW_ROWS[kind]:
        return "brute"
    return tree if probe(references, pool) < TREE_PAYS_BELOW[kind] else "brute"


def probe(references: References, pool: Threads | None) -> float:
    """Return the share of a sample's distances that a tree of vantage points measures."""
    n = len(references)
    sample = np.unique(np.linspace(0, n - 1, PROBE_ROWS).astype(int))
    some = References(references.X[sample], references.metric)
    own = np.unique(np.linspace(0, len(sample) - 1, PROBE_QUERIES).astype(int))
    queries = Queries(some.X[own], some.parts, own)
    k = min(PROBE_NEIGHBORS + 1, len(sample))
    *_, measured = VantagePointTree(some).search(queries, k, pool)
    return float(measured.mean() / len(sample))
