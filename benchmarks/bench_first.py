"""The first minute: import, first fit and predict in a fresh installation, and ``--help``.

    python benchmarks/bench_first.py [--repeats 5]

Each line is a new Python process with an empty cache of compiled code, unless it says otherwise.
CPU seconds of the whole process, the interpreter's start included; medians of interleaved runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

FIT = """
import numpy as np
rng = np.random.default_rng(0)
y = np.arange(600) % 3
X = rng.normal(size=(600, 20)); X[:, :4] += y[:, None]
{make}
model.fit(X[:500], y[:500]); model.predict(X[500:])
"""
OURS = "from cayleyklein import CurvedKNeighborsClassifier"
PLAIN = "from sklearn.neighbors import KNeighborsClassifier"
NCA = """
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis as NCA
from sklearn.pipeline import make_pipeline
model = make_pipeline(NCA(random_state=0), KNeighborsClassifier())
"""
CASES = {
    "import KNeighborsClassifier": PLAIN,
    "import CurvedKNeighborsClassifier": OURS,
    "fit, predict: KNeighborsClassifier": FIT.format(
        make=f"{PLAIN}; model = KNeighborsClassifier()"
    ),
    "fit, predict: NCA, then k-NN": FIT.format(make=NCA),
    "fit, predict: CurvedKNeighborsClassifier, first time": FIT.format(
        make=f"{OURS}; model = CurvedKNeighborsClassifier(random_state=0)"
    ),
    "fit, predict: CurvedKNeighborsClassifier, later": FIT.format(
        make=f"{OURS}; model = CurvedKNeighborsClassifier(random_state=0)"
    ),
    "cayleyklein --help": "import sys; sys.argv = ['cayleyklein', '--help']\n"
    "from cayleyklein.cli import main; main()",
}


def cpu_seconds(code: str, cache: str) -> float:
    """Return the CPU seconds of a new process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"A process failed:\n{code}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    seconds: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as kept:
        for _ in range(repeats):
            for name, code in CASES.items():
                with tempfile.TemporaryDirectory() as empty:
                    cache = kept if name.endswith("later") else empty
                    seconds[name].append(cpu_seconds(code, cache))
    later = "fit, predict: CurvedKNeighborsClassifier, later"
    seconds[later] = seconds[later][1:] or seconds[later]  # its first run fills the cache
    width = max(map(len, CASES))
    for name, all_of in seconds.items():
        print(f"{name:{width}}  {statistics.median(all_of):6.2f} CPU s")


if __name__ == "__main__":
    main()
