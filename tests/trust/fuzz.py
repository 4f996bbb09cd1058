"""Fuzz for as long as told: ``python -m tests.trust.fuzz --minutes 10`` (``make fuzz``).

Every round draws new cases. Prints how many were tried of each kind, the slowest, and what the
memory did; a find is printed with the case, made as small as hypothesis can, and ends the run.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.trust.fuzzing import FOLDER, TARGETS

MORE_MEMORY = 60.0
"""MB that a run may hold at its end beyond what it held once everything had been used."""


def resident() -> float:
    """Return the memory that this process holds, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    """Run rounds of every target until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first round")
    parser.add_argument("--only", choices=list(TARGETS), default=None)
    given_options = parser.parse_args()
    number = int(time.time()) if given_options.seed is None else given_options.seed
    chosen = {k: v for k, v in TARGETS.items() if given_options.only in (None, k)}
    counts, slowest = dict.fromkeys(chosen, 0), dict.fromkeys(chosen, 0.0)
    end, settled = time.monotonic() + 60 * given_options.minutes, None
    rounds = 0
    while time.monotonic() < end:
        for name, (strategy, function) in chosen.items():

            @seed(number)
            @settings(
                max_examples=100,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate, Phase.shrink],
            )
            @given(strategy)
            def attempt(case, name=name, function=function):
                start = time.monotonic()
                function(case)
                counts[name] += 1
                slowest[name] = max(slowest[name], time.monotonic() - start)

            sys.stderr.write(f"\r{sum(counts.values()):9,} cases, seed {number}")
            attempt()
        number, rounds = number + 1, rounds + 1
        if settled is None and rounds >= 5:
            settled = resident()
    grown = 0.0 if settled is None else resident() - settled
    sys.stderr.write("\n")
    for name, count in counts.items():
        sys.stdout.write(f"{name:14} {count:9,} cases, the slowest {slowest[name]:.2f} s\n")
    total = sum(counts.values())
    sys.stdout.write(f"{'in all':14} {total:9,} cases, memory {grown:+.0f} MB, no find\n")
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 0 if grown <= MORE_MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())
