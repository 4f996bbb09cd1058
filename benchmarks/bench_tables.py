"""What do the commands take for large tables? Peak memory beside the file's size, and CPU seconds.

    python benchmarks/bench_tables.py [--shrink 1]

Two made-up tables, 200,000 × 9 and 120,000 × 20 with a column of text, each with classes and with a
number to predict: `fit` to the model file, `info`, `predict`, `evaluate` and `compare`, each in a
process of its own. `--shrink 10` takes a tenth of the rows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

WORDS = ["red", "green", "blue", "small", "large", "old", "new", "round", "fast", "slow", "warm"]


def table(n: int, d: int, with_text: bool) -> pd.DataFrame:
    """Return rows of numbers with gaps, dates, categories and perhaps text, and two targets."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n, d - 2 - with_text)).round(4)
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2]
    numbers[rng.random(numbers.shape) < 0.02] = np.nan
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(numbers.shape[1])])
    town = rng.integers(0, 40, n)
    frame["town"] = [f"town {i}" for i in town]
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="D")
    if with_text:
        frame["notes"] = [" ".join(row) for row in rng.choice(WORDS, size=(n, 6))]
    signal = signal + 0.02 * town + rng.normal(0, 0.5, n)
    kinds = np.array(["low", "middle", "high"])[np.digitize(signal, [0.0, 1.0])]
    return frame.assign(kind=kinds, amount=signal.round(3))


def measure(*arguments: object) -> tuple[float, float]:
    """Run the command in a process of its own; return its peak memory in MB and CPU seconds."""
    words = [sys.executable, "-m", "cayleyklein", *map(str, arguments), "-q"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return usage.ru_maxrss / 1000, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print a row for each table and command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shrink", type=int, default=1)
    options = parser.parse_args()
    print("| table | file, MB | command | peak, MB | CPU s |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        print_peak("no table", 0.0, "datasets", measure("datasets"))
        for n, d, with_text in ((200_000, 9, False), (120_000, 20, True)):
            whole = table(n // options.shrink, d, with_text)
            for target, other in (("kind", "amount"), ("amount", "kind")):
                whole.drop(columns=other).to_csv("t.csv", index=False)
                size = Path("t.csv").stat().st_size / 1e6
                what = f"{len(whole):,} × {d}, {'classes' if target == 'kind' else 'numbers'}"
                for command in (
                    ("fit", "t.csv", "-t", target, "-o", "m.ckm"),
                    ("info", "m.ckm"),
                    ("predict", "m.ckm", "t.csv", "-o", "out.csv"),
                    ("evaluate", "m.ckm", "t.csv"),
                    ("compare", "t.csv", "-t", target, "--splits", 2, "-j", 1, "--no-report"),
                ):
                    print_peak(what, size, command[0], measure(*command))


def print_peak(what: str, size: float, command: str, found: tuple[float, float]) -> None:
    """Print a row."""
    print(f"| {what} | {size:.0f} | {command} | {found[0]:,.0f} | {found[1]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
