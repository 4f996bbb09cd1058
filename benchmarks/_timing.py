"""Fair timings on a noisy machine: interleaved runs, medians, ratios."""

import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from threadpoolctl import threadpool_info

Sampler = Callable[[], float]
"""Runs a thing once and returns the seconds it took."""


def timed(
    function: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> Sampler:
    """Make a sampler of the time of a call: wall clock, or CPU by ``time.process_time``."""

    def sample() -> float:
        start = clock()
        function()
        return clock() - start

    return sample


def interleave(
    samplers: Mapping[str, Sampler], *, repeats: int = 7, warmups: int = 1
) -> dict[str, list[float]]:
    """Sample each thing once per round, starting each round with the next one.

    Drift of the machine then meets all alike. Warm-up rounds (caches, compilation) are dropped.
    """
    names = list(samplers)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(warmups + repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            sample = samplers[name]()
            if turn >= warmups:
                seconds[name].append(sample)
    return seconds


def peak_memory() -> float:
    """Return the most memory this process has had, in MB.

    Asked of Linux itself: getrusage counts what the parent had when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def describe_threads() -> str:
    """Say what the machine offers and how many threads the loaded libraries use."""
    pools = {f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()}
    limits = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k.endswith("_NUM_THREADS")]
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores; "
        f"thread pools: {', '.join(sorted(pools)) or 'none loaded'}; "
        f"limits: {', '.join(limits) or 'none'}"
    )


def print_ratios(seconds: Mapping[str, list[float]], *, baseline: str) -> None:
    """Print the medians, their spread, and the median ratio to the baseline, round by round."""
    width = max(map(len, seconds))
    print(describe_threads())
    print(f"{'':{width}}  {'median':>10}  {'min':>10}  {'max':>10}  ratio")
    for name, samples in seconds.items():
        ratio = statistics.median(
            s / base for s, base in zip(samples, seconds[baseline], strict=True)
        )
        cells = (statistics.median(samples), min(samples), max(samples))
        columns = "  ".join(f"{1e3 * cell:7.2f} ms" for cell in cells)
        mark = "  (baseline)" if name == baseline else ""
        print(f"{name:{width}}  {columns}  {ratio:5.3f}{mark}")
