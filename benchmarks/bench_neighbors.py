"""Time curved nearest neighbours against the Euclidean ones of scikit-learn.

n = 100,000 rows, 1,000 queries, k = 10. Goals: elliptic and hyperbolic brute force at most 1.1
times scikit-learn's Euclidean brute force (d = 16 and 64), the elliptic tree at most 1.3 times
scikit-learn's k-d tree on the lifted rows; the tree of mixed and hyperbolic metrics faster than
brute force where ``auto`` takes it; a search within the data, the copies in Euclidean coordinates
and 256 MB. ``--quick`` takes a tenth of the rows; a name takes one part alone. The part ``vantage``
runs only by its name: vantage point trees against brute force and the k-d tree, and against
scikit-learn's ball tree with a function of two rows, in some minutes.
"""

import argparse
import math
import statistics
import subprocess
import sys
import time
from functools import partial

import numpy as np
from sklearn.neighbors import BallTree, KNeighborsClassifier, NearestNeighbors

from _timing import interleave, peak_memory, print_ratios, timed
from cayleyklein import CurvedMetric, MixedMetric, ProductMetric
from cayleyklein.geometry import Polytope, hilbert_distance
from cayleyklein.neighbors import CurvedNeighbors

K_NEIGHBORS = 10
RNG = np.random.default_rng(0)


def gaussian(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian rows and queries inside the unit ball."""
    rows = RNG.normal(size=(n + m, d))
    rows /= 1.02 * np.linalg.norm(rows, axis=1).max()
    return rows[:n].copy(), rows[n:].copy()


def clustered(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and queries in 200 Gaussian clusters inside the unit ball."""
    centers = RNG.normal(size=(200, d))
    rows = centers[RNG.integers(200, size=n + m)] + 0.05 * RNG.normal(size=(n + m, d))
    rows /= 1.02 * np.linalg.norm(rows, axis=1).max()
    return rows[:n].copy(), rows[n:].copy()


def uniform(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and queries in a cube inside the unit ball."""
    rows = RNG.uniform(-1, 1, size=(n + m, d)) / (1.02 * math.sqrt(d))
    return rows[:n].copy(), rows[n:].copy()


def far_out(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and queries at hyperbolic radii up to 4."""
    rows = RNG.normal(size=(n + m, d))
    rows *= np.tanh(RNG.uniform(0, 4, (n + m, 1))) / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:n].copy(), rows[n:].copy()


def rotated(d: int, K: float) -> CurvedMetric:
    """Return a metric whose factor is a full matrix, as a learned one is."""
    return CurvedMetric(factor=np.linalg.qr(RNG.normal(size=(d, d)))[0], curvature=K)


def mixed(d: int) -> MixedMetric:
    """Return the mean of an elliptic and a hyperbolic metric."""
    return MixedMetric([rotated(d, 1.0), rotated(d, -1.0)])


def search(metric, algorithm: str, X: np.ndarray) -> CurvedNeighbors:
    """Return a fitted search with all threads, as scikit-learn's brute force has."""
    fitted = CurvedNeighbors(K_NEIGHBORS, metric=metric, algorithm=algorithm, n_jobs=-1).fit(X)
    if algorithm not in ("auto", fitted.algorithm_used_):
        print(f"  {algorithm} gave way to {fitted.algorithm_used_}")
    return fitted


def bench_brute(n: int, m: int) -> None:
    """Brute force against scikit-learn's Euclidean one."""
    for d in (16, 64):
        X, Q = gaussian(n, m, d)
        plain = NearestNeighbors(n_neighbors=K_NEIGHBORS, algorithm="brute").fit(X)
        samplers = {"scikit-learn, Euclidean": timed(lambda plain=plain, Q=Q: plain.kneighbors(Q))}
        for name, K in (("elliptic", 1.0), ("flat", 0.0), ("hyperbolic", -1.0)):
            ours = search(rotated(d, K), "brute", X)
            samplers[name] = timed(lambda ours=ours, Q=Q: ours.kneighbors(Q))
        print(f"\nbrute, Gaussian, d = {d} (goal 1.1)")
        print_ratios(interleave(samplers), baseline="scikit-learn, Euclidean")


def bench_tree(n: int, m: int) -> None:
    """Time the elliptic tree against scikit-learn's on the lifted rows."""
    for name, make, d in (("clustered", clustered, 16), ("Gaussian", gaussian, 4)):
        X, Q = make(n, m, d)
        metric = rotated(d, 1.0)
        lifted, asked = metric.to_chart(X, "sphere"), metric.to_chart(Q, "sphere")
        plain = NearestNeighbors(n_neighbors=K_NEIGHBORS, algorithm="kd_tree", n_jobs=-1).fit(
            lifted
        )
        ours = search(metric, "tree", X)
        samplers = {
            "scikit-learn's k-d tree, lifted": timed(lambda p=plain, q=asked: p.kneighbors(q)),
            "elliptic tree": timed(lambda ours=ours, Q=Q: ours.kneighbors(Q)),
        }
        print(f"\ntree, {name}, d = {d} (goal 1.3)")
        print_ratios(interleave(samplers), baseline="scikit-learn's k-d tree, lifted")


def bench_lower_tree(n: int, m: int) -> None:
    """Time the tree of hyperbolic and mixed metrics against brute force, and what auto takes."""
    cases = [
        ("mixed", "Gaussian", gaussian, 2, "10"),
        ("mixed", "Gaussian", gaussian, 8, "none: it loses"),
        ("mixed", "clustered", clustered, 16, "none"),
        ("mixed", "Gaussian", gaussian, 16, "none: it loses"),
        ("hyperbolic", "Gaussian", gaussian, 2, "3"),
        ("hyperbolic", "clustered", clustered, 16, "none"),
        ("hyperbolic", "Gaussian", gaussian, 8, "none: it loses"),
    ]
    for kind, shape, make, d, goal in cases:
        X, Q = make(n, m if kind == "hyperbolic" else m // 5, d)
        metric = mixed(d) if kind == "mixed" else rotated(d, -1.0)
        rivals = {how: search(metric, how, X) for how in ("brute", "tree", "auto")}
        found = {how: fitted.kneighbors(Q)[1] for how, fitted in rivals.items()}
        same = all((rows == found["brute"]).all() for rows in found.values())
        samplers = {
            how: timed(lambda fitted=fitted, Q=Q: fitted.kneighbors(Q))
            for how, fitted in rivals.items()
        }
        print(
            f"\nlower, {kind}, {shape}, d = {d}: goal {goal}; auto chose "
            f"{rivals['auto'].algorithm_used_}; same rows: {same}"
        )
        seconds = interleave(samplers, repeats=3)
        print_ratios(seconds, baseline="brute")
        pairs = zip(seconds["brute"], seconds["tree"], strict=True)
        print(f"tree: {statistics.median(b / v for b, v in pairs):.1f} times as fast as brute")


def bench_callable(n: int, m: int) -> None:
    """Time what a user of a custom distance has today: scikit-learn with a callable."""
    X, Q = gaussian(1000, 10, 8)
    labels = np.arange(len(X)) % 3
    for name, metric in (("hyperbolic", rotated(8, -1.0)), ("mixed", mixed(8))):
        theirs = KNeighborsClassifier(K_NEIGHBORS, metric=metric).fit(X, labels)
        ours = search(metric, "auto", X)
        samplers = {
            "KNeighborsClassifier(metric=callable)": timed(lambda t=theirs: t.kneighbors(Q)),
            f"CurvedNeighbors ({ours.algorithm_used_})": timed(
                lambda ours=ours: ours.kneighbors(Q)
            ),
        }
        print(f"\ncallable, {name}, 1,000 rows, 10 queries, d = 8")
        seconds = interleave(samplers, repeats=3)
        print_ratios(seconds, baseline="KNeighborsClassifier(metric=callable)")
        slow, fast = (statistics.median(samples) for samples in seconds.values())
        print(f"{slow / fast:.0f} times as fast")


def bench_recall(n: int, m: int) -> None:
    """Share of the float64 neighbours found, rows at hyperbolic radius 12 and float32 included."""
    n, m = n // 5, 100
    directions = RNG.normal(size=(n, 8))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hyperbolic = CurvedMetric.euclidean(8, curvature=-1.0)
    spread = directions * np.tanh(RNG.uniform(0, 12, size=(n, 1)))
    single = spread.astype(np.float32)
    cases = {
        "hyperbolic, radius up to 12": (hyperbolic, spread),
        "hyperbolic, radius 12": (hyperbolic, directions * np.tanh(12.0)),
        "hyperbolic, float32": (hyperbolic, single[hyperbolic.contains(single)]),
        "elliptic, clustered": (rotated(8, 1.0), clustered(n, 1, 8)[0]),
        "mixed, clustered": (mixed(8), clustered(n, 1, 8)[0]),
    }
    print()
    for name, (metric, X) in cases.items():
        wide = X.astype(np.float64)
        true = np.argsort(metric.pairwise(wide[:m], wide), axis=1, kind="stable")
        shares = []
        for how in ("brute", "tree", "vantage"):
            rows = (
                CurvedNeighbors(K_NEIGHBORS, metric=metric, algorithm=how)
                .fit(X)
                .kneighbors(X[:m])[1]
            )
            pairs = zip(true[:, :K_NEIGHBORS], rows, strict=True)
            shares.append(f"{how} {np.mean([np.isin(t, r).mean() for t, r in pairs]):.4f}")
        print(f"recall, {name}: {', '.join(shares)}")


def bench_memory(n: int, m: int) -> None:
    """Peak memory of fitting and searching, each in a process of its own."""
    print()
    for case in ("elliptic brute", "hyperbolic brute", "mixed brute", "mixed tree"):
        command = [sys.executable, __file__, "--peak", case, "--rows", str(n)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


def print_peak(case: str, n: int, d: int = 64) -> None:
    """Print by how much the process grew beyond its data."""
    kind, how = case.split()
    make = {"elliptic": lambda d: rotated(d, 1.0), "hyperbolic": lambda d: rotated(d, -1.0)}
    make["mixed"] = mixed
    X, Q = (clustered if how == "tree" else gaussian)(n, 1000, d)
    for rows in (X[:300], X[:3000]):  # loads and compiles all there is
        CurvedNeighbors(K_NEIGHBORS, metric=make[kind](d), algorithm=how).fit(rows).kneighbors(
            Q[:50]
        )
    before = peak_memory()
    CurvedNeighbors(K_NEIGHBORS, metric=make[kind](d), algorithm=how).fit(X).kneighbors(Q)
    grown = peak_memory() - before
    copies = {"elliptic": 1, "hyperbolic": 2, "mixed": 4 if how == "tree" else 2}[kind]
    lifted = copies * X.nbytes / 2**20
    print(
        f"memory, {case}, {n} rows, d = {d}: {grown:.0f} MB beside the data "
        f"(goal {lifted + 256:.0f}: the copies in Euclidean coordinates and 256)"
    )


def timed_fit(metric, algorithm: str, X: np.ndarray) -> tuple[CurvedNeighbors, float]:
    """Return a fitted search of one thread, and the CPU seconds it took."""
    start = time.process_time()
    fitted = CurvedNeighbors(K_NEIGHBORS, metric=metric, algorithm=algorithm).fit(X)
    return fitted, time.process_time() - start


def bench_vantage(n: int, m: int) -> None:
    """Time vantage point trees: CPU microseconds a query, and distances measured for it."""
    make = {
        "elliptic": lambda d: rotated(d, 1.0),
        "hyperbolic": lambda d: rotated(d, -1.0),
        "product": lambda d: ProductMetric([rotated(d, 1.0), rotated(d, 0.0)]),
        "mixed": mixed,
    }
    shapes = {"uniform": uniform, "clustered": clustered}
    cases = [(kind, shape, d) for kind in make for shape in shapes for d in (2, 4, 8, 16)]
    cases += [("hyperbolic", "far out", d) for d in (2, 3, 5)]
    shapes["far out"] = far_out
    for kind, shape, d in cases:
        for rows in (n // 100, n // 10, n):
            bench_trees(
                f"{kind}, {shape}, d = {d}, n = {rows}", make[kind](d), shapes[shape](rows, 100, d)
            )
    bench_functions(n)


def bench_trees(name: str, metric, data: tuple[np.ndarray, np.ndarray]) -> None:
    """Print a line: a metric of this package, with the three algorithms."""
    X, Q = data
    rivals = {how: timed_fit(metric, how, X) for how in ("brute", "tree", "vantage")}
    found = {how: fitted.kneighbors(Q)[1] for how, (fitted, _) in rivals.items()}
    same = all((rows == found["brute"]).all() for rows in found.values())
    engine = rivals["vantage"][0]._searcher.engine
    engine.measured = 0
    rivals["vantage"][0].kneighbors(Q)
    measured = engine.measured / len(Q)
    samplers = {
        how: timed(partial(fitted.kneighbors, Q), time.process_time)
        for how, (fitted, _) in rivals.items()
    }
    each = {
        how: 1e6 * statistics.median(samples) / len(Q)
        for how, samples in interleave(samplers, repeats=3, warmups=0).items()
    }
    chosen = timed_fit(metric, "auto", X)[0].algorithm_used_
    print(
        f"vantage: {name}: brute {each['brute']:.0f} us, tree {each['tree']:.0f} us, "
        f"vantage {each['vantage']:.0f} us, {measured:.0f} distances, "
        f"fit {rivals['tree'][1]:.2f} and {rivals['vantage'][1]:.2f} s; auto {chosen}; "
        f"same rows: {same}",
        flush=True,
    )


def euclidean(p: np.ndarray, q: np.ndarray) -> float:
    """Return the Euclidean distance, as a user may write it."""
    step = p - q
    return math.sqrt(step @ step)


def bench_functions(n: int) -> None:
    """Print a line for each function of two rows: ours and scikit-learn's ball tree."""
    for d in (2, 4, 8, 16):
        cube = Polytope(np.vstack([np.eye(d), -np.eye(d)]), np.ones(2 * d))
        hilbert = partial(hilbert_distance, cube)
        for shape, make in (("uniform", uniform), ("clustered", clustered)):
            for rows, queries in ((n // 100, 10), (n // 10, 10), (n, 3)):
                data = make(rows, queries, d)
                bench_function(f"Euclidean function, {shape}, d = {d}, n = {rows}", euclidean, data)
            data = make(n // 100, 3, d)
            bench_function(f"Hilbert, {shape}, d = {d}, n = {n // 100}", hilbert, data)


def bench_function(name: str, function, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, Q = data
    brute, tree = (timed_fit(function, how, X) for how in ("brute", "vantage"))
    start = time.process_time()
    ball = BallTree(X, metric=function)
    ball_fit = time.process_time() - start
    expected = brute[0].kneighbors(Q)[1]
    tree[0]._searcher.measured = 0
    same = (tree[0].kneighbors(Q)[1] == expected).all()
    calls = tree[0]._searcher.measured / len(Q)
    ball.reset_n_calls()
    same &= (ball.query(Q, K_NEIGHBORS)[1] == expected).all()
    ball_calls = ball.get_n_calls() / len(Q)
    samplers = {
        "vantage": timed(partial(tree[0].kneighbors, Q), time.process_time),
        "ball": timed(partial(ball.query, Q, K_NEIGHBORS), time.process_time),
        "brute": timed(partial(brute[0].kneighbors, Q), time.process_time),
    }
    each = {
        how: 1e3 * statistics.median(samples) / len(Q)
        for how, samples in interleave(samplers, repeats=3, warmups=0).items()
    }
    print(
        f"vantage: {name}: brute {each['brute']:.2f} ms, ball tree {each['ball']:.2f} ms, "
        f"{ball_calls:.0f} calls, vantage {each['vantage']:.2f} ms, {calls:.0f} calls, "
        f"fit {ball_fit:.2f} and {tree[1]:.2f} s; same rows: {same}",
        flush=True,
    )


PARTS = {
    "brute": bench_brute,
    "tree": bench_tree,
    "lower": bench_lower_tree,
    "callable": bench_callable,
    "recall": bench_recall,
    "memory": bench_memory,
}
LONG = {"vantage": bench_vantage}


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, *LONG, []], metavar="|".join([*PARTS, *LONG])
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    n = options.rows // 10 if options.quick else options.rows
    if options.peak:
        print_peak(options.peak, n)
        return
    for name in options.parts or PARTS:
        (PARTS | LONG)[name](n, 1000)


if __name__ == "__main__":
    main()
