"""Fuzz for as long as told: ``python -m tests.fuzz --minutes 10`` (``make fuzz``).

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
from tests.fuzz.targets import FOLDER, TARGETS

MORE_MEMORY = 60.0
"""MB that a run may hold at its end beyond what it held once everything had been used."""


SETTLED_AFTER = 3
"""Rounds after which everything has been imported and compiled."""


def resident() -> float:
    """Return the memory that this process holds, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def throw(strategy, function, number: int) -> tuple[int, float]:
    """Draw a hundred cases and run them; return how many there were, and the longest time."""
    times = []

    @seed(number)
    @settings(
        max_examples=100,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(strategy)
    def attempt(case):
        start = time.monotonic()
        function(case)
        times.append(time.monotonic() - start)

    attempt()
    return len(times), max(times)


def main() -> int:
    """Run rounds of every target until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first round")
    parser.add_argument("--only", choices=list(TARGETS), default=None)
    options = parser.parse_args()
    number = int(time.time()) if options.seed is None else options.seed
    chosen = {k: v for k, v in TARGETS.items() if options.only in (None, k)}
    counts, slowest = dict.fromkeys(chosen, 0), dict.fromkeys(chosen, 0.0)
    end, settled, first = time.monotonic() + 60 * options.minutes, None, number
    while time.monotonic() < end:
        for name, (strategy, function) in chosen.items():
            sys.stderr.write(f"\r{sum(counts.values()):9,} cases, seed {number}")
            count, longest = throw(strategy, function, number)
            counts[name], slowest[name] = counts[name] + count, max(slowest[name], longest)
        number += 1
        if number == first + SETTLED_AFTER:
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
