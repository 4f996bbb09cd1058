"""Time `import cayleyklein` over scikit-learn's neighbours, and list the heavy modules it loads."""

import json
import subprocess
import sys
from functools import partial

from _timing import interleave, print_ratios

BASELINE = "sklearn.neighbors"
MODULES = (BASELINE, "cayleyklein", "cayleyklein.geometry", "cayleyklein.metrics")
HEAVY = ("dask", "matplotlib", "numba", "pandas", "panel", "shapely", "tornado")
REPEATS = 9

SCRIPT = """
import importlib, json, sys, time
start = time.perf_counter()
importlib.import_module(sys.argv[1])
seconds = time.perf_counter() - start
print(json.dumps([seconds, sorted(sys.modules)]))
"""


def fresh_import(module: str) -> tuple[float, set[str]]:
    """Import in a new interpreter; return the seconds and the modules then loaded."""
    command = [sys.executable, "-c", SCRIPT, module]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, loaded = json.loads(answer)
    return seconds, set(loaded)


def import_seconds(module: str) -> float:
    """Return the seconds that one import takes in a new interpreter."""
    return fresh_import(module)[0]


def main() -> None:
    """Print the table of times, then the heavy modules that each import loaded."""
    samplers = {f"import {m}": partial(import_seconds, m) for m in MODULES}
    print_ratios(interleave(samplers, repeats=REPEATS), baseline=f"import {BASELINE}")
    for module in MODULES:
        dragged = sorted(fresh_import(module)[1].intersection(HEAVY))
        print(f"heavy modules loaded by import {module}: {', '.join(dragged) or 'none'}")


if __name__ == "__main__":
    main()
