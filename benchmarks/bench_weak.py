"""Compare learning from pairs, triplets and quadruplets with metric-learn's learners.

    python benchmarks/bench_weak.py [sets] [curved] [--seeds 5]

`sets`: iris, wine and digits. Half of the rows (500 at most) train: metric-learn's own Constraints
make pairs and quadruplets (20 per pair of classes, its default) and triplets (3 genuine neighbours
and 10 impostors of each row, SCML's default) of their labels. Of the other rows, 2,000 random
pairs, half of them similar, are ranked (average precision), and 2,000 random triplets (share in the
right order). Columns are standardised. (SDML fits none of them without skggm, which no longer
installs.) `curved`: triplets ordered by the distances of a sphere, or of a hyperbolic disc,
whose rows are seen through a random linear map. Everything uses one thread.
"""

import argparse
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from sklearn.datasets import load_digits, load_iris, load_wine  # noqa: E402
from sklearn.metrics import average_precision_score  # noqa: E402

import _peers  # noqa: E402
from cayleyklein import (  # noqa: E402
    CurvedMetric,
    CurvedPairs,
    CurvedQuadruplets,
    CurvedTriplets,
)

PEERS = """
from metric_learn import ITML, LSML, MMC, SCML, SDML, Constraints
X, y, seed = data["X"], data["y"], int(data["seed"])
weak = Constraints(y)
a, b, c, d = weak.positive_negative_pairs(
    20 * len(np.unique(y)) ** 2, same_length=True, random_state=seed)
pairs = np.vstack([np.column_stack([a, b]), np.column_stack([c, d])])
signs = np.repeat([1, -1], [len(a), len(c)])
quadruplets = np.column_stack([a, b, c, d])
triplets = weak.generate_knntriplets(X, 3, 10)
result = {"pairs": pairs, "signs": signs, "quadruplets": quadruplets, "triplets": triplets}
learners = {
    "ITML": (ITML(preprocessor=X, random_state=seed), (pairs, signs)),
    "MMC": (MMC(preprocessor=X, random_state=seed), (pairs, signs)),
    "SDML": (SDML(preprocessor=X, random_state=seed), (pairs, signs)),
    "LSML": (LSML(preprocessor=X, random_state=seed), (quadruplets,)),
    "SCML": (SCML(preprocessor=X, random_state=seed), (triplets,)),
}
for name, (learner, arguments) in learners.items():
    start = time.process_time()
    try:
        learner.fit(*arguments)
    except Exception as error:  # MMC's eigenvalues do not always converge
        print(name, "failed:", str(error)[:80])
        continue
    result[name + " seconds"] = time.process_time() - start
    result[name] = learner.components_
"""


def held_out(metric, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the average precision of random pairs, and the share of triplets in order."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(y), size=(400_000, 3))
    a, b, c = drawn[(drawn[:, 0] != drawn[:, 1])].T
    same = y[a] == y[b]
    pairs = [np.flatnonzero(mask)[:1000] for mask in (same, ~same)]
    first, second = (side[np.concatenate(pairs)] for side in (a, b))
    distances = metric.distance(X[first], X[second], outside="inf")
    score = np.maximum(-distances, -1e300)
    precision = average_precision_score(np.repeat([1, 0], list(map(len, pairs))), score)
    some = np.flatnonzero(same & (y[a] != y[c]))[:2000]
    near, far = (metric.distance(X[a[some]], X[o[some]], outside="inf") for o in (b, c))
    return precision, float(np.mean(near < far))


def sets(seeds: int) -> None:
    """Print average precision, triplets in order and CPU seconds on iris, wine and digits."""
    found: dict[str, dict[str, list]] = {}
    CurvedTriplets().fit(np.random.default_rng(0).normal(size=(9, 3, 2)))  # compiles
    for name, load in (("iris", load_iris), ("wine", load_wine), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(X))
            n = min(500, len(X) // 2)
            train, test = order[:n], order[n:]
            scale = X[train].std(axis=0)
            scale[scale == 0] = np.inf
            A, B = ((X[rows] - X[train].mean(axis=0)) / scale for rows in (train, test))
            peers = _peers.run("metric-learn", PEERS, X=A, y=y[train], seed=seed)
            rows = {"Euclidean": (CurvedMetric.euclidean(A.shape[1]), 0.0)}
            for peer in ("ITML", "MMC", "SDML", "LSML", "SCML"):
                if peer in peers:
                    flat = CurvedMetric(factor=peers[peer])
                    rows[peer] = flat, float(peers[peer + " seconds"])
            data = {
                CurvedPairs: (peers["pairs"], peers["signs"]),
                CurvedQuadruplets: (peers["quadruplets"],),
                CurvedTriplets: (peers["triplets"],),
            }
            for kind, arguments in data.items():
                for geometry in ("flat", "elliptic"):
                    learner = kind(geometry=geometry, preprocessor=A, random_state=seed)
                    start = time.process_time()
                    learner.fit(*arguments)
                    seconds = time.process_time() - start
                    rows[f"{kind.__name__}, {geometry}"] = learner.metric_, seconds
            for method, (metric, seconds) in rows.items():
                score = (*held_out(metric, B, y[test]), seconds)
                found.setdefault(method, {}).setdefault(name, []).append(score)
    print("| average precision, triplets in order, CPU-s | iris | wine | digits | mean |")
    print("|---|---|---|---|---|")
    for method, by_set in found.items():
        means = [np.mean(runs, axis=0) for runs in by_set.values()]
        cells = [f"{p:.3f}, {t:.3f}, {s:.2f}" for p, t, s in [*means, np.mean(means, axis=0)]]
        print(f"| {method} | {' | '.join(cells)} |")


def curved(seeds: int) -> None:
    """Print the share of held-out triplets in order where distances are truly curved."""
    print("| triplets in order | flat | elliptic | hyperbolic | learned (K) |")
    print("|---|---|---|---|---|")
    for name, K in (("sphere", 1.0), ("plane", 0.0), ("hyperbolic disc", -1.0)):
        scores: dict[str, list[float]] = {}
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rows = rng.normal(size=(300, 3))
            if K > 0:
                rows *= 2
            if K < 0:
                rows *= (
                    rng.uniform(size=(300, 1)) ** (1 / 6)
                    * 0.98
                    / np.linalg.norm(rows, axis=1, keepdims=True)
                )
            truth = CurvedMetric.euclidean(3, curvature=K)
            a, b, c = rng.integers(300, size=(3, 6000))
            far = truth.distance(rows[a], rows[b]) > truth.distance(rows[a], rows[c])
            b, c = np.where(far, c, b), np.where(far, b, c)
            triplets = np.stack([a, b, c], axis=1)[(a != b) & (b != c) & (a != c)]
            test = (triplets >= 200).all(axis=1)
            train = (triplets < 200).all(axis=1)
            seen = rows @ rng.normal(size=(3, 3))
            for geometry in ("flat", "elliptic", "hyperbolic", "learned"):
                learner = CurvedTriplets(geometry=geometry, preprocessor=seen, margin=0.1)
                learner.fit(triplets[train])
                scores.setdefault(geometry, []).append(learner.score(triplets[test]))
        print(f"| {name} | " + " | ".join(f"{np.mean(s):.3f}" for s in scores.values()) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="*", default=["sets", "curved"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    for part in options.which:
        {"sets": sets, "curved": curved}[part](options.seeds)
