"""Time all curved distances of two tables against the flat ones and one arctan.

5,000 × 5,000 rows, d = 50, CPU seconds of one thread. The baseline is scikit-learn's
euclidean_distances plus one elementwise arctan; the goal is a ratio of at most 2, and at most 64 MB
beside the result. Uncentred rows have mean 1000 and spread 1, so that plain square distances would
lose all but ten digits.
"""

import os
import time
import tracemalloc
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded

import numpy as np
from sklearn.metrics import euclidean_distances

from _timing import Sampler, interleave, print_ratios, timed
from cayleyklein import CurvedMetric

N, D = 5_000, 50


def baseline(X: np.ndarray, Y: np.ndarray) -> None:
    """Flat distances, and the cheapest pass of a transcendental function."""
    distances = euclidean_distances(X, Y)
    np.arctan(distances, out=distances)


def cpu_timed(function: Callable[[], object]) -> Sampler:
    """Make a sampler of the CPU seconds of a call."""
    return timed(function, time.process_time)


def extra_megabytes(metric: CurvedMetric, X: np.ndarray, Y: np.ndarray) -> float:
    """Peak memory beside the result."""
    tracemalloc.start()
    result = metric.pairwise(X, Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - result.nbytes) / 1e6


def main() -> None:
    """Print the ratios and the memory."""
    X, Y = np.random.default_rng(0).normal(size=(2, N, D))
    factor = np.eye(D) / np.sqrt(D)
    metrics = {
        f"{name} (K = {K:g})": CurvedMetric(factor=factor, curvature=K)
        for name, K in (("elliptic", 1.0), ("flat", 0.0), ("hyperbolic", -0.4))
    }
    samplers = {"euclidean_distances + arctan": cpu_timed(lambda: baseline(X, Y))}
    for name, metric in metrics.items():
        samplers[name] = cpu_timed(lambda metric=metric: metric.pairwise(X, Y))
        samplers[f"{name}, X with itself"] = cpu_timed(lambda metric=metric: metric.pairwise(X))
    for K in (1e-4, 0.0, -1e-9):
        metric = CurvedMetric(factor=factor, curvature=K)
        samplers[f"uncentred (K = {K:g})"] = cpu_timed(
            lambda metric=metric: metric.pairwise(X + 1000, Y + 1000)
        )
    print_ratios(interleave(samplers, repeats=7), baseline="euclidean_distances + arctan")
    for name, metric in metrics.items():
        print(f"{name}: {extra_megabytes(metric, X, Y):.0f} MB beside the result")


if __name__ == "__main__":
    main()
