"""Time learning against pylmnn, metric-learn and scikit-learn's NCA, and its growth with n.

The peers run in environments of their own, made here (``.venv-peers``), since they need old
versions. Everything uses one thread, but for ``--large``. The flat loss of each result is evaluated
by one function: classic LMNN with three Euclidean target neighbours, unit margin, all impostors.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from unittest.mock import patch

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is loaded
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from _timing import peak_memory  # noqa: E402
from cayleyklein import CurvedLMNN  # noqa: E402
from cayleyklein.geometry import Frame  # noqa: E402
from cayleyklein.learning import _posed  # noqa: E402
from cayleyklein.learning._loss import Links, Problem, loss_and_gradient  # noqa: E402
from cayleyklein.learning._search import find_impostors, find_targets, radii  # noqa: E402

ROOT = Path(__file__).parents[1]
N, D, CLASSES = 5_000, 50, 5
TRAIN, TEST = slice(0, N // 2), slice(N // 2, N)
PEERS = {
    "pylmnn": ["numpy<1.27", "scipy==1.10.1", "scikit-learn<1.4", "six", "pylmnn==1.6.4"],
    "metric-learn": ["scikit-learn<1.8", "metric-learn==0.7.0"],
}
SCRIPTS = {
    "pylmnn": """
import sys, types
module, methods = types.ModuleType("GPyOpt"), types.ModuleType("GPyOpt.methods")
methods.BayesianOptimization = object
sys.modules.update({"GPyOpt": module, "GPyOpt.methods": methods})
from pylmnn import LargeMarginNearestNeighbor as LMNN
""",
    "metric-learn": "from metric_learn import LMNN\n",
}
RUN = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
start = time.process_time()
learner = LMNN(n_neighbors=3, max_iter=50, random_state=0).fit(data["X"], data["y"])
seconds = time.process_time() - start
np.save(sys.argv[2], learner.components_)
print(json.dumps(seconds))
"""


def peer_python(name: str) -> Path:
    """Return the interpreter of a peer's own environment, which is made the first time."""
    home = ROOT / ".venv-peers" / name
    python = home / "bin" / "python"
    if not (home / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[name]], check=True)
        (home / ".ready").touch()
    return python


def peer(name: str, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Fit a peer in its own environment; return its CPU seconds and its factor."""
    python = peer_python(name)
    with tempfile.TemporaryDirectory() as folder:
        data, result = Path(folder) / "data.npz", Path(folder) / "factor.npy"
        np.savez(data, X=X, y=y)
        command = [python, "-c", SCRIPTS[name] + RUN, data, result]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1]), np.load(result)


def flat_loss(X: np.ndarray, y: np.ndarray, factor: np.ndarray) -> float:
    """Return the classic LMNN loss over all impostors."""
    targets = find_targets(X, y, 3, Frame(np.eye(X.shape[1])))
    frame = Frame(factor)
    reach = 1.001 * radii(targets, X, frame, 1.0, squared=True)
    pairs, _ = find_impostors(X, y, reach, frame)
    problem = Problem(X, targets, np.ones(len(X)), 1.0, 0.5, squared=True)
    return loss_and_gradient(
        problem, Links.of(targets, pairs), factor, np.zeros(X.shape[1]), 0.0
    ).loss


def cpu(function) -> tuple[float, object]:
    """Return CPU seconds and the result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def time_to_reach(X: np.ndarray, y: np.ndarray, goal: float) -> tuple[float, float]:
    """Return CPU seconds until the flat loss over all impostors is at most `goal`."""
    for max_iter in range(1, 60):
        learner = CurvedLMNN(
            geometry="flat", n_init=1, n_targets=3, n_passes=1,
            max_impostors=None, max_iter=max_iter,
        )  # fmt: skip
        seconds, fitted = cpu(lambda learner=learner: learner.fit(X, y))
        reached = flat_loss(X, y, fitted.components_)
        if reached <= goal:
            return seconds, reached
    return float("inf"), reached


def against_lmnn() -> None:
    """Time to the loss that pylmnn ends with."""
    X, y = make_classification(N, n_features=D, n_informative=10, n_classes=CLASSES, random_state=0)
    X = StandardScaler().fit_transform(X)  # as all of them are used; ours does it by itself
    rounds = []
    for _ in range(3):
        pylmnn, factor = peer("pylmnn", X, y)
        metric_learn, other = peer("metric-learn", X, y)
        goal = flat_loss(X, y, factor)
        ours, reached = time_to_reach(X, y, goal)
        rounds.append((ours / pylmnn, ours / metric_learn, ours, pylmnn, metric_learn))
    ratios = np.median(np.array(rounds), axis=0)
    print(f"flat, n = {N}, d = {D}, {CLASSES} classes: CPU seconds to pylmnn's final loss")
    print(f"  ours {ratios[2]:.2f} s (loss {reached:.0f}), pylmnn {ratios[3]:.2f} s ({goal:.0f}), ")
    print(f"  metric-learn {ratios[4]:.2f} s ({flat_loss(X, y, other):.0f})")
    print(f"  ratios: {ratios[0]:.3f} of pylmnn, {ratios[1]:.3f} of metric-learn")


def against_nca() -> None:
    """Accuracy and time of geometry="auto" beside NCA."""
    for seed in (0, 1):
        X, y = make_classification(
            N, n_features=D, n_informative=10, n_classes=CLASSES, random_state=seed
        )
        ours, learner = cpu(lambda X=X, y=y: CurvedLMNN(random_state=0).fit(X[TRAIN], y[TRAIN]))
        far = learner.metric_.pairwise(X[TEST], X[TRAIN], outside="inf")
        nearest = y[TRAIN][np.argsort(far, axis=1)[:, :3]]
        accuracy = np.mean([np.bincount(row).argmax() for row in nearest] == y[TEST])
        nca, other = cpu(
            lambda X=X, y=y: NeighborhoodComponentsAnalysis(random_state=0).fit(X[TRAIN], y[TRAIN])
        )
        knn = KNeighborsClassifier(3).fit(other.transform(X[TRAIN]), y[TRAIN])
        theirs = knn.score(other.transform(X[TEST]), y[TEST])
        print(
            f"auto against NCA, 2,500 rows, seed {seed}: accuracy {accuracy:.3f} to {theirs:.3f}, "
            f"{ours:.1f} to {nca:.1f} CPU-s, ratio {ours / nca:.2f}"
        )


def per_iteration() -> None:
    """Cost of an iteration by geometry, and of auto over one elliptic fit."""
    X, y = make_classification(2_000, n_features=30, n_informative=8, n_classes=3, random_state=0)
    cost = {}
    for geometry in ("flat", "elliptic", "hyperbolic"):
        samples = []
        for _ in range(3):
            learner = CurvedLMNN(geometry=geometry, n_init=1, n_passes=1, max_iter=20, tol=0)
            seconds, fitted = cpu(lambda learner=learner: learner.fit(X, y))
            samples.append(seconds / fitted.n_iter_)
        cost[geometry] = float(np.median(samples))
    for geometry in ("elliptic", "hyperbolic"):
        print(f"an iteration, {geometry} over flat: {cost[geometry] / cost['flat']:.2f}")
    X, y = X[:1_000], y[:1_000]
    one, _ = cpu(lambda: CurvedLMNN(geometry="elliptic", n_init=1, n_passes=2).fit(X, y))
    auto, _ = cpu(lambda: CurvedLMNN(random_state=0).fit(X, y))
    print(f"auto on 1,000 × 30: {auto:.1f} CPU-s, {auto / one:.1f} × one elliptic fit")


def growth() -> None:
    """Exponent of time in n, elliptic, ten iterations."""
    sizes, seconds = (5_000, 10_000, 20_000, 40_000), []
    for n in sizes:
        X, y = make_classification(
            n, n_features=D, n_informative=10, n_classes=CLASSES, random_state=0
        )
        learner = CurvedLMNN(geometry="elliptic", n_init=1, n_passes=1, max_iter=10)
        seconds.append(cpu(lambda learner=learner, X=X, y=y: learner.fit(X, y))[0])
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    table = ", ".join(f"{n}: {s:.1f} s" for n, s in zip(sizes, seconds, strict=True))
    print(f"ten elliptic iterations, d = {D}: {table}; time grows as n^{exponent:.2f}")


def large(n: int = 100_000, iterations: int = 50) -> None:
    """Time and memory of a long fit on many rows, and its searches over the GEMM floor."""
    X, y = make_classification(n, n_features=D, n_informative=10, n_classes=CLASSES, random_state=0)
    searches = []

    def timed_search(*args: object) -> object:
        start = time.perf_counter()
        found = find_impostors(*args)
        searches.append(time.perf_counter() - start)
        return found

    learner = CurvedLMNN(
        geometry="elliptic", n_init=1, n_passes=1, max_iter=iterations, tol=0, n_jobs=2
    )
    with threadpool_limits(2), patch.object(_posed, "find_impostors", timed_search):
        a, b = X[:4096], np.ascontiguousarray(X[:4096].T)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            a @ b
            times.append(time.perf_counter() - start)
        floor = np.median(times) / (2 * 4096**2 * D) * 2 * n**2 * (D + 1)
        before = peak_memory()
        start = time.perf_counter()
        learner.fit(X, y)
        seconds = time.perf_counter() - start
        memory = (peak_memory() - before) / 1000
    between = (seconds - sum(searches)) / learner.n_iter_
    print(
        f"n = {n}, d = {D}, {learner.n_iter_} elliptic iterations, 2 cores: {seconds:.0f} s, "
        f"{memory:.2f} GB over the data"
    )
    print(
        f"  {len(searches)} full searches of {np.median(searches):.0f} s, "
        f"{np.median(searches) / floor:.1f} × the GEMM floor of {floor:.0f} s; "
        f"{between:.2f} s an iteration between them"
    )


def main() -> None:
    """Run all, the fit on 100,000 rows (ten minutes) only when asked for with --large."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    warm = make_classification(200, n_features=5, random_state=0)
    CurvedLMNN(geometry="elliptic", n_init=1, max_iter=2).fit(*warm)  # compile
    CurvedLMNN(geometry="flat", n_init=1, max_iter=2, max_impostors=None).fit(*warm)
    per_iteration()
    against_lmnn()
    against_nca()
    growth()
    if options.large:
        large()


if __name__ == "__main__":
    main()
