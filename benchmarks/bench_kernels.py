"""Time and memory of the kernel classifier, from 500 to a million rows.

    python benchmarks/bench_kernels.py [500x20 4000x20 100000x12 1000000x50]

Each size runs in a process of its own: CPU and wall-clock seconds of a default fit, how much
of the CPU time learned metrics (those of folds too), CPU seconds of the neighbours' default fit,
CPU milliseconds of predicting a row (of 2,000), the most memory of the fit beyond that after the
data were made (MB), and the accuracy.
"""

import argparse
import subprocess
import sys
import time
import warnings
from unittest import mock

import numpy as np

from _timing import peak_memory
from cayleyklein import CurvedKernelClassifier, CurvedKNeighborsClassifier
from cayleyklein.learning.choice import obtain_metric
from cayleyklein.prediction import sums

SIZES = ["500x20", "4000x20", "100000x12", "1000000x50"]
TEST = 2000


def draw(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and four classes that overlap, by directions and products of columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    first = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0
    second = np.sin(2 * X[:, 3]) + X[:, 4] + 0.5 * rng.normal(size=n) > 0
    return X, 2 * first + second


def cpu(call) -> tuple[object, float]:
    """Return what a call returns, and its CPU seconds."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def measure(size: str) -> None:
    """Print the row of one size."""
    warnings.simplefilter("ignore")
    n, d = map(int, size.split("x"))
    warm, labels = draw(200, 5, 1)
    CurvedKernelClassifier(random_state=0).fit(warm, labels).predict(warm)  # compiles
    X, y = draw(n, d, 0)
    X_test, y_test = draw(TEST, d, 2)
    before, wall = peak_memory(), time.perf_counter()
    learning = []

    def obtain(*given, **changed):
        found, seconds = cpu(lambda: obtain_metric(*given, **changed))
        learning.append(seconds)
        return found

    with mock.patch.object(sums, "obtain_metric", obtain):
        model, fit = cpu(lambda: CurvedKernelClassifier(random_state=0).fit(X, y))
    wall, memory = time.perf_counter() - wall, peak_memory() - before
    predicted, predict = cpu(lambda: model.predict(X_test))
    _, neighbours = cpu(lambda: CurvedKNeighborsClassifier(random_state=0).fit(X, y))
    accuracy = np.mean(predicted == y_test)
    print(
        f"| {n:,} × {d} | {fit:.2f} | {wall:.2f} | {sum(learning):.2f} | {neighbours:.2f} | "
        f"{1e3 * predict / TEST:.3f} | {memory:.0f} | {accuracy:.3f} |",
        flush=True,
    )


def main() -> None:
    """Run each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", default=SIZES)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        measure(given.sizes[0])
        return
    print(
        "| rows | fit, CPU s | fit, s | of it learning metrics | neighbours' fit, CPU s | "
        "predict, ms a row | MB beyond the data | accuracy |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for size in given.sizes:
        subprocess.run([sys.executable, __file__, size, "--inside"], check=True)


if __name__ == "__main__":
    main()
