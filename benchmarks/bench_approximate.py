"""Time exact and approximate search by a learned metric: CurvedNeighbors, scikit-learn, faiss.

A product metric is Euclidean after ``metric.embed``, so that any Euclidean index can search it.
Learned on 5,000 rows of ``make_classification`` with 50 columns; by default 1,000,000 fitted rows,
1,000 queries and k = 10. CPU seconds, and the share of the true neighbours found. Goal:
CurvedNeighbors at most 4 times scikit-learn's brute search of the raw rows, and at most 2 GB beside
the data. faiss: ``pip install faiss-cpu``.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_classification
from sklearn.neighbors import NearestNeighbors

from cayleyklein import CurvedLMNN, CurvedNeighbors

K_NEIGHBORS = 10


def cpu(function: Callable[[], object]) -> tuple[float, object]:
    """Return the CPU seconds of a call, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def report(name: str, build: float, search: float, found: np.ndarray, true: np.ndarray) -> None:
    """Print one row of the table."""
    recall = np.mean([np.isin(t, f).mean() for t, f in zip(true, found, strict=True)])
    print(
        f"{name:40} build {build:8.2f} s  search {search:8.2f} s  recall {recall:.4f}", flush=True
    )


def main() -> None:
    """Run the searches one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--exact", action="store_true", help="leave faiss out")
    options = parser.parse_args()
    n, m, d = options.rows, options.queries, options.columns
    X, y = make_classification(n + m, d, n_informative=d // 2, n_classes=5, random_state=0)
    X, Q, y = X[:n].copy(), X[n:].copy(), y[:n]
    metric = CurvedLMNN(random_state=0).fit(X[:5000], y[:5000]).metric_
    print(f"{n:,} x {d} rows, {m:,} queries, {metric}")

    plain = NearestNeighbors(n_neighbors=K_NEIGHBORS, algorithm="brute").fit(X)
    raw, _ = cpu(lambda: plain.kneighbors(Q))
    print(f"scikit-learn's brute search of the raw rows: {raw:.2f} s")
    search = CurvedNeighbors(K_NEIGHBORS, metric=metric, algorithm="brute")
    tracemalloc.start()
    built, _ = cpu(lambda: search.fit(X))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    took, found = cpu(lambda: search.kneighbors(Q, return_distance=False))
    true = np.asarray(found)
    report("CurvedNeighbors, brute", built, took, true, true)
    print(f"  {took / raw:.2f} times the raw rows; fit {peak:.0f} MB beside the data")
    if options.exact:
        return

    import faiss

    faiss.omp_set_num_threads(1)
    Z, asked = (metric.embed(rows).astype(np.float32) for rows in (X, Q))
    for factory, setting, values in (
        ("Flat", None, [0]),
        ("IVF1024,Flat", "nprobe", [16, 64]),
        ("HNSW32", "efSearch", [32, 128]),
    ):
        index = faiss.index_factory(Z.shape[1], factory)
        built, _ = cpu(lambda index=index: (index.train(Z), index.add(Z)))
        for value in values:
            if setting:
                faiss.ParameterSpace().set_index_parameter(index, setting, value)
            took, found = cpu(lambda index=index: index.search(asked, K_NEIGHBORS))
            name = f"faiss, {factory}" + (f", {setting} {value}" if setting else "")
            report(name, built, took, found[1], true)


if __name__ == "__main__":
    main()
