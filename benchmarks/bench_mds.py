"""CurvedMDS at K = 0 beside scikit-learn's MDS: CPU seconds and stress, and what a learned K adds.

Both get the same dissimilarities. scikit-learn's MDS runs once from a random start (its defaults:
n_init=1, max_iter=300, eps=1e-6), and from its classical solution. Runs are interleaved; ratios
are to scikit-learn's random start, seed by seed.

    python benchmarks/bench_mds.py            # 500 and 2,000 rows
    python benchmarks/bench_mds.py 200 500
"""

import statistics
import sys
import time

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs, make_swiss_roll
from sklearn.manifold import MDS

from cayleyklein import CurvedMDS

SEEDS = range(3)


def data(n):
    """Return dissimilarities of about n rows, by name."""
    rng = np.random.default_rng(0)
    cancer = load_breast_cancer().data
    rows = {
        "digits, 64 columns": load_digits().data[:n],
        "swiss roll": make_swiss_roll(n, random_state=0)[0],
        "8 blobs, 10 columns": make_blobs(n, 10, centers=8, random_state=0)[0],
        "normal, 5 columns": rng.normal(size=(n, 5)),
        "normal, 50 columns": rng.normal(size=(n, 50)),
    }
    if n <= len(cancer):
        rows["breast cancer, 30 columns"] = (cancer / cancer.std(axis=0))[:n]
    return {name: squareform(pdist(X)) for name, X in rows.items()}


def methods(seed):
    """Return the estimators to compare."""
    theirs = {"metric": "precomputed", "n_init": 1, "random_state": seed}
    ours = {"metric": "precomputed", "random_state": seed}
    return {
        "sklearn, random": MDS(2, init="random", **theirs),
        "sklearn, classical": MDS(2, init="classical_mds", **theirs),
        "CurvedMDS, K = 0": CurvedMDS(curvature=0.0, **ours),
        "CurvedMDS, learned": CurvedMDS(**ours),
    }


def main():
    """Print a table for each number of rows."""
    CurvedMDS().fit(np.random.default_rng(0).normal(size=(20, 3)))  # compiles
    for n in [int(arg) for arg in sys.argv[1:]] or [500, 2000]:
        print(f"{n} rows; medians over {len(SEEDS)} seeds, and the largest stress ratio")
        for name, D in data(n).items():
            seconds, stress = {}, {}
            for seed in SEEDS:
                for method, estimator in methods(seed).items():
                    start = time.process_time()
                    estimator.fit(D)
                    seconds.setdefault(method, []).append(time.process_time() - start)
                    stress.setdefault(method, []).append(estimator.stress_)
            print(f"  {name} ({len(D)} rows)")
            base = np.array(stress["sklearn, random"])
            for method in seconds:
                ratios = np.array(stress[method]) / base
                print(
                    f"    {method:20} {statistics.median(seconds[method]):7.2f} s CPU   stress "
                    f"{statistics.median(ratios):.4f} (at most {ratios.max():.4f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
