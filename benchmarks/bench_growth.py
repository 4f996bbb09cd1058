"""How CPU time grows with rows and columns, for fit and predict of every estimator.

    python benchmarks/bench_growth.py [--rows 500 2000 8000 32000 100000] [--columns 5 20 100 500]
        [--only CurvedKNeighborsClassifier …] [--picture docs/_static/growth.svg]

Rows grow at 20 columns, columns at 2,000 rows. Classes and numbers depend on five of the columns.
Prints CPU seconds of a fit and of 1,000 predictions, peak memory of the fit beyond the data, and
the exponent b of a least-squares fit of seconds = a·n^b (or d^b) to the larger half of the sizes.
Each size runs in a process of its own, in one thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from _timing import peak_memory

ROWS = [500, 2000, 8000, 32_000, 100_000]
COLUMNS = [5, 20, 100, 500]
FIXED_ROWS, FIXED_COLUMNS, QUERIES = 2000, 20, 1000
ESTIMATORS = {
    "CurvedKNeighborsClassifier": "label",
    "CurvedKernelClassifier": "label",
    "CurvedKNeighborsRegressor": "number",
    "CurvedKernelRegressor": "number",
    "CurvedLMNN": "label",
    "CurvedMLKR": "number",
}


def made(n: int, d: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and classes or numbers that depend on five columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    signal = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + np.abs(X[:, 4])
    signal += 0.3 * rng.normal(size=n)
    return X, (np.digitize(signal, [0.0, 1.0]) if kind == "label" else signal)


def measure(name: str, n: int, d: int) -> None:
    """Print CPU seconds of the fit, of predictions, and MB of the fit beyond the data."""
    import cayleyklein

    kind = ESTIMATORS[name]
    model = getattr(cayleyklein, name)(random_state=0)
    X, y = made(n + QUERIES, d, kind)
    type(model)(random_state=0).fit(X[:300], y[:300])  # imports and compiles
    before = peak_memory()
    start = time.process_time()
    model.fit(X[:n], y[:n])
    fitted = time.process_time()
    (model.predict if hasattr(model, "predict") else model.transform)(X[n:])
    done = time.process_time()
    print(fitted - start, done - fitted, peak_memory() - before)


def run(name: str, n: int, d: int) -> tuple[float, float, float]:
    """Measure in a fresh process."""
    command = [sys.executable, __file__, "--measure", name, str(n), str(d)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    fit, predict, memory = map(float, found.split())
    return fit, predict, memory


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log seconds over log size, for the larger half of the sizes."""
    some = max(2, (len(sizes) + 1) // 2)
    return float(np.polyfit(np.log(sizes[-some:]), np.log(seconds[-some:]), 1)[0])


def draw(found: dict[str, dict[str, list]], path: Path) -> None:
    """Draw seconds over rows and over columns, on logarithmic axes."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "cayleyklein", "font.size": 10}):
        figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
        for row, along in zip(axes, ("rows", "columns"), strict=True):
            for ax, (place, what) in zip(row, enumerate(("fit", "1,000 predictions")), strict=True):
                for name, by in found.items():
                    sizes, runs = by[along]
                    seconds = [each[place] for each in runs]
                    label = f"{name} ({exponent(sizes, seconds):.1f})" if place == 0 else name
                    ax.loglog(sizes, seconds, "o-", markersize=4, label=label)
                ax.set(xlabel=along, ylabel=f"CPU s, {what}")
                ax.spines[["top", "right"]].set_visible(False)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--only", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        name, n, d = given.measure
        measure(name, int(n), int(d))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    found: dict[str, dict[str, list]] = {}
    for name in given.only:
        found[name] = {}
        for along, sizes in (("rows", given.rows), ("columns", given.columns)):
            shapes = [(s, FIXED_COLUMNS) if along == "rows" else (FIXED_ROWS, s) for s in sizes]
            runs = [run(name, *shape) for shape in shapes]
            found[name][along] = sizes, runs
            exponents = [exponent(sizes, [each[i] for each in runs]) for i in range(2)]
            print(f"\n{name}, {along}: fit exponent {exponents[0]:.2f}, predict {exponents[1]:.2f}")
            for (n, d), (fit, predict, memory) in zip(shapes, runs, strict=True):
                spent = f"fit {fit:8.2f}  predict {predict:7.3f} CPU s  {memory:6.0f} MB"
                print(f"{n:8,} × {d:<4} {spent}")
            sys.stdout.flush()
    if given.picture:
        draw(found, given.picture)


if __name__ == "__main__":
    main()
