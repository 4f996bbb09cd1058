"""The algorithms by name, and which of them a search uses.

``auto`` and ``vptree`` probe: a tree on a sample of the rows says how large a share of all
distances is measured. What share still pays was measured (``benchmarks/bench_neighbors.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein._validation import as_real
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import CurvedMetric, Metric, MixedMetric, ProductMetric
from cayleyklein.neighbors._euclidean import EuclideanSearch, even_rows, tree_share
from cayleyklein.neighbors._space import ChordRows, ChordSpace, Pool
from cayleyklein.neighbors._vptree import VantagePointTree

Algorithm = str | Callable[[Floats, Metric], Any]
"""A name, or a function that makes an index from the fitted rows and the metric."""

ALGORITHMS = ("auto", "brute", "tree", "vptree")

PROBE_ROWS, PROBE_QUERIES, PROBE_NEIGHBORS = 8192, 32, 11
"""The sample. The share falls with the number of rows; the limits below are for such samples."""

TREE_PAYS_BELOW = {"tree": 0.3, "vptree": 0.2, "mixed": 0.6}
"""Share of distances measured in the sample under which ``auto`` prefers a tree to brute force."""

HOPELESS = 0.8
"""Share above which a tree of vantage points that was asked for gives way to brute force."""

FEW_ROWS = {"tree": 2000, "vptree": 2000, "mixed": 200}
"""Rows up to which ``auto`` takes brute force without a probe."""


class GivenIndex:
    """An index of the user's own, which sees queries inside the domain as points."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def candidates(self, queries: ChordRows, k: int, pool: Pool) -> tuple[Ints, Floats]:
        """Ask for candidates of the queries inside; nothing is known of the others."""
        rows, floor = np.full((len(queries.v), k), -1), np.full(len(queries.v), -np.inf)
        inside = queries.inside
        if inside.any():
            rows[inside], floor[inside] = self.index.candidates(queries.x[0][inside], k)
        return rows, floor

    def within(self, queries: ChordRows, radius: float, pool: Pool) -> None:
        """Have every row measured."""


Engine = EuclideanSearch | VantagePointTree | GivenIndex
"""Finds candidates, and perhaps the rows within a radius."""


def build_engine(
    algorithm: Algorithm, space: ChordSpace, rows: ChordRows
) -> tuple[Engine | None, str]:
    """Return the engine of an algorithm, or of the one that `auto` picks, and its name.

    None measures every row, as brute force does for a mixed metric.
    """
    if not isinstance(algorithm, str):
        name = getattr(algorithm, "__name__", type(algorithm).__name__)
        return GivenIndex(algorithm(rows.x[0], space.metric)), name
    product, single = isinstance(space.metric, ProductMetric), len(space.terms) == 1
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
        algorithm = choose(space, rows)
    elif algorithm == "vptree" and probe(space, rows, "vptree") > HOPELESS:
        algorithm = "brute"
    if algorithm == "vptree":
        return VantagePointTree(space, rows), "vptree"
    return EuclideanSearch(space, rows, algorithm) if single else None, algorithm


def choose(space: ChordSpace, rows: ChordRows) -> str:
    """Return the algorithm that a sample of the rows promises to be the fastest."""
    if len(space.terms) > 1:
        tree, kind = "vptree", "mixed"
    else:
        tree = kind = "tree" if space.terms[0].K >= 0 else "vptree"
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


def as_metric(metric: object, n_features: int) -> Metric:
    """Check the metric of a search against the number of columns."""
    if metric is None:
        return CurvedMetric.euclidean(n_features)
    if not isinstance(metric, CurvedMetric | MixedMetric | ProductMetric):
        raise InvalidInputError(
            f"metric must be a CurvedMetric, a MixedMetric, a ProductMetric or None; got "
            f"{type(metric).__name__}."
        )
    if metric.dimension != n_features:
        raise InvalidInputError(
            f"X has {n_features} columns, but the metric is for {metric.dimension}."
        )
    return metric


def as_radius(value: object) -> float:
    """Check a radius."""
    infinite = isinstance(value, float) and value == math.inf
    radius = math.inf if infinite else as_real(value, "radius")
    if radius < 0:
        raise InvalidInputError(f"Got radius={radius:g}, but expected a number ≥ 0.")
    return radius
