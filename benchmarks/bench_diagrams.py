"""Time curved Voronoi diagrams against scipy.spatial.Voronoi, and point location.

10⁵ generators in the plane, order 1: the same attributes that SciPy fills in (vertices, regions,
point_region, ridge_points, ridge_vertices); the goal is a ratio of at most 2 on the same points.
Then the order-3 diagram of 10⁴ generators, and the rate of `locate` on 10⁴ generators (goal: 10⁶
queries per second). Last, for how many of 10⁵ queries the cell is that of the nearest of 500
generators, in two to four dimensions.
"""

import argparse
import statistics

import numpy as np
from scipy.spatial import Voronoi

from _timing import interleave, print_ratios, timed
from cayleyklein import CurvedMetric
from cayleyklein.diagrams import CayleyKleinVoronoi

CURVATURES = {"elliptic": 1.0, "flat": 0.0, "hyperbolic": -1.0}


def build(points: np.ndarray, metric: CurvedMetric) -> None:
    """Fill in what SciPy's diagram has."""
    diagram = CayleyKleinVoronoi(points, metric)
    for name in ("vertices", "regions", "point_region", "ridge_points", "ridge_vertices"):
        getattr(diagram, name)


def random_points(rng: np.random.Generator, n: int, d: int, reach: float = 0.95) -> np.ndarray:
    """Points spread evenly over a ball."""
    directions = rng.normal(size=(n, d))
    radii = reach * rng.uniform(size=(n, 1)) ** (1 / d)
    return directions * radii / np.linalg.norm(directions, axis=1, keepdims=True)


def time_builds(n: int, repeats: int) -> None:
    """Print the ratio to SciPy's diagram."""
    points = random_points(np.random.default_rng(0), n, 2)
    samplers = {"scipy.spatial.Voronoi": timed(lambda: Voronoi(points))}
    for name, K in CURVATURES.items():
        metric = CurvedMetric.euclidean(2, curvature=K)
        samplers[name] = timed(lambda metric=metric: build(points, metric))
    print(f"{n:,} generators in the plane, order 1")
    print_ratios(interleave(samplers, repeats=repeats), baseline="scipy.spatial.Voronoi")


def time_orders_and_location(n: int, m: int, repeats: int) -> None:
    """Print the time of order 3, and the rates of `locate`."""
    rng = np.random.default_rng(1)
    points, queries = random_points(rng, n, 2), random_points(rng, m, 2, reach=0.999)
    for name, K in CURVATURES.items():
        metric = CurvedMetric.euclidean(2, curvature=K)
        third = timed(lambda metric=metric: CayleyKleinVoronoi(points, metric, order=3).regions)
        seconds = statistics.median(third() for _ in range(repeats))
        print(f"{name}: {n:,} generators of order 3 in {seconds:.2f} s")
        for order in (1, 3):
            diagram = CayleyKleinVoronoi(points, metric, order=order)
            diagram.locate(queries[:1])  # compiles, and plants the tree
            locate = timed(lambda diagram=diagram: diagram.locate(queries))
            rate = m / statistics.median(locate() for _ in range(repeats))
            print(f"  order {order}: {rate / 1e6:.2f}·10⁶ queries a second")


def count_agreement(n: int, m: int) -> None:
    """Print for how many queries the cell is that of the nearest generators."""
    print(f"{m:,} queries on {n:,} generators, in the cell of their nearest:")
    for d, order in ((2, 1), (2, 3), (3, 1), (4, 1)):
        counts = []
        for K in (-1.0, -1e-6, 0.0, 1e-6, 1.0):
            rng = np.random.default_rng(d)
            scale = 1 / np.sqrt(abs(K)) if K else 1.0
            points, X = (scale * random_points(rng, count, d) for count in (n, m))
            metric = CurvedMetric.euclidean(d, curvature=K)
            diagram = CayleyKleinVoronoi(points, metric, order=order)
            found = diagram.cell_generators[diagram.locate(X)]
            same = (found == nearest(metric, points, X, order)).all(axis=1).sum()
            counts.append(f"K = {K:g}: {same:,}")
        print(f"  d = {d}, order {order}: {', '.join(counts)}")


def nearest(metric: CurvedMetric, points: np.ndarray, X: np.ndarray, k: int) -> np.ndarray:
    """Find the k nearest of all points, in blocks of queries, as sorted rows."""
    parts = [
        np.argpartition(metric.pairwise(rows, points), k - 1, axis=1)[:, :k]
        for rows in np.array_split(X, 1 + len(X) // 1000)
    ]
    return np.sort(np.vstack(parts), axis=1)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    time_builds(int(1e5 * given.scale), given.repeats)
    time_orders_and_location(int(1e4 * given.scale), int(1e6 * given.scale), given.repeats)
    count_agreement(500, int(1e5 * given.scale))


if __name__ == "__main__":
    main()
