"""A long life in one process: ten thousand small fits, a million predictions.

Nothing may grow, slow down or stay behind: memory, processor time, open files, threads. Prints a
row for each tenth of the way and exits with 1 where the last tenths differ from the first ones.

    python benchmarks/soak.py
    python benchmarks/soak.py --fits 500 --predictions 50000
"""

import argparse
import gc
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from cayleyklein import CurvedKernelClassifier, CurvedKernelRegressor, CurvedKNeighborsClassifier

GEOMETRIES = ("flat", "elliptic", "hyperbolic", "learned", "mixed", "auto")
KINDS = (CurvedKNeighborsClassifier,) * 4 + (CurvedKernelClassifier, CurvedKernelRegressor)
"""Kernel machines take several times as long, so fewer of them are fitted."""
TENTHS = 10

MORE_MEMORY = 8.0
"""MB that the last tenth may hold beyond the second: room for the allocator, not for a leak."""

SLOWER = 1.25
"""Processor time of the last three tenths over that of the three after the first."""


def resident() -> float:
    """Return the memory that this process holds, in MB (0 where /proc is missing)."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return 0.0
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def open_files() -> int:
    """Return how many files this process has open (0 where /proc is missing)."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def live(seed: int, predictions: int) -> None:
    """Fit a small model and predict: a tenth of the rows one by one, the others by tens."""
    rng = np.random.default_rng(seed)
    n, d, classes = int(rng.integers(20, 60)), int(rng.integers(1, 6)), int(rng.integers(2, 5))
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + y[:, None]
    kind = KINDS[seed // len(GEOMETRIES) % len(KINDS)]
    geometry = GEOMETRIES[seed % len(GEOMETRIES)]
    if kind is CurvedKernelRegressor and geometry == "mixed":  # which is for classes
        geometry = "auto"
    model = kind(geometry=geometry, n_jobs=1 + seed % 2, random_state=seed).fit(X, y)
    queries = rng.normal(scale=2, size=(predictions, d))
    singles = predictions // 10
    for row in queries[:singles]:
        model.predict(row[None])
    for start in range(singles, predictions, 10):
        model.predict(queries[start : start + 10])


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--predictions", type=int, default=1_000_000)
    given = parser.parse_args()
    each, per_fit = given.fits // TENTHS, given.predictions // given.fits
    warnings.simplefilter("ignore")  # of iterations that small fits run out of
    for seed in range(len(GEOMETRIES) * len(KINDS)):  # what is compiled or imported once
        live(seed, per_fit)
    print(
        f"{'fits':>7} {'predicted':>10} {'cpu s':>7} {'MB':>7} {'files':>5} {'threads':>7} objects"
    )
    rows = []
    for tenth in range(TENTHS):
        start = time.process_time()
        for seed in range(tenth * each, (tenth + 1) * each):
            live(seed, per_fit)
        spent = time.process_time() - start
        gc.collect()
        row = (spent, resident(), open_files(), threading.active_count(), len(gc.get_objects()))
        done = (tenth + 1) * each
        print(
            f"{done:7} {done * per_fit:10} {row[0]:7.1f} {row[1]:7.1f} {row[2]:5} {row[3]:7} "
            f"{row[4]}",
            flush=True,
        )
        rows.append(row)
    found = np.array(rows)
    time_ratio = np.median(found[-3:, 0]) / np.median(found[1:4, 0])
    grown = found[-1, 1:] - found[1, 1:]
    print(
        f"memory {grown[0]:+.1f} MB, time ×{time_ratio:.2f}, files {grown[1]:+.0f}, "
        f"threads {grown[2]:+.0f}, objects {grown[3]:+.0f}"
    )
    sound = grown[0] <= MORE_MEMORY and time_ratio <= SLOWER and grown[1] <= 0 and grown[2] <= 0
    print("sound" if sound else "NOT SOUND")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
