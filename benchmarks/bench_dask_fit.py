"""Learning from Dask rows: what it costs beside threads, what a subsample costs, and the memory.

python benchmarks/bench_dask_fit.py                      everything
python benchmarks/bench_dask_fit.py overhead --rows 40000
python benchmarks/bench_dask_fit.py subsample            accuracy of metrics of fewer rows
python benchmarks/bench_dask_fit.py disk --limit 450MB   2,000,000 rows on disk
"""

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from _timing import Sampler, describe_threads, interleave, peak_memory, print_ratios, timed
from cayleyklein import CurvedKNeighborsClassifier, CurvedLMNN
from cayleyklein.geometry import Frame
from cayleyklein.learning import _sharded, _shards
from cayleyklein.learning._data import TrainingRows

D, CLASSES = 32, 10


def problem(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of ten classes, a third of whose columns tell them apart."""
    return make_classification(
        n, n_features=D, n_informative=10, n_redundant=0, n_classes=CLASSES, random_state=seed
    )


def cluster(limit: str | int = 0) -> LocalCluster:
    """Return two processes of one thread each."""
    return LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=limit, dashboard_address=":0"
    )


def learner(**parameters: object) -> CurvedLMNN:
    """Return a fit of a few iterations."""
    return CurvedLMNN(
        **{"geometry": "elliptic", "n_init": 1, "n_passes": 1, "random_state": 0, **parameters}
    )


def overhead(n: int, iterations: int, repeats: int) -> None:
    """Time the same fit by threads and on two workers, round by round."""
    X, y = problem(n)
    short = {"max_iter": iterations, "tol": 0.0}
    with cluster() as two, Client(two) as client:
        spread = da.from_array(X, chunks=(-(-n // 4), D)).persist()
        results: dict[str, CurvedLMNN] = {}
        seconds: dict[str, list[float]] = {"search": [], "evaluation": []}

        processor: dict[str, list[float]] = {"threads": [], "Dask": []}

        def processor_time() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        def run(name: str, fit: Callable[[], CurvedLMNN]) -> Sampler:
            def fit_once() -> None:
                before = processor_time()
                results[name] = fit()
                processor[name].append(processor_time() - before)

            return timed(fit_once)

        def timed_link(self: object, *args: object) -> object:
            start = time.perf_counter()
            loss, crowded = link(self, *args)
            seconds["search"].append(time.perf_counter() - start)

            def timed_loss(*args: object, **options: object) -> object:
                start = time.perf_counter()
                found = loss(*args, **options)
                seconds["evaluation"].append(time.perf_counter() - start)
                return found

            return timed_loss, crowded

        link = _sharded.ShardedPosed.link
        with patch.object(_sharded.ShardedPosed, "link", timed_link):
            times = interleave(
                {
                    "threads": run("threads", lambda: learner(n_jobs=2, **short).fit(X, y)),
                    "Dask": run("Dask", lambda: learner(**short).fit(spread, y)),
                },
                repeats=repeats,
            )
        peaks = client.run(peak_memory)
    print(f"n = {n}, d = {D}, {iterations} elliptic iterations, 2 cores")
    print_ratios(times, baseline="threads")
    for name, values in processor.items():
        print(f"{name}: {statistics.median(values[1:]):.1f} s of processor time")
    found, expected = (results[name].components_ for name in ("Dask", "threads"))
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"largest relative difference of the factors: {error:.1e}")
    for name, values in seconds.items():
        print(f"{name}: {statistics.median(values):.2f} s (median of {len(values)})")
    print(f"peak memory of the workers: {', '.join(f'{p:.0f} MB' for p in peaks.values())}")


def constants(sizes: tuple[int, ...] = (2000, 4000, 8000)) -> None:
    """Print the processor time of the tasks of one worker, as the cost model counts it."""
    per_row, k = 50, 10
    for s in sizes:
        X, y = problem(2 * s)
        data = TrainingRows.from_raw(X, y.astype(np.int64), np.ones(len(y)))
        own, other = (replace(data.take(np.arange(i, i + s)), first=i) for i in (0, s))
        frame = Frame(np.eye(D), curvature=1.0)
        spent: dict[str, float] = {}

        def clock(name: str, function: Callable[..., Any], *args: Any) -> Any:
            start = time.thread_time()
            found = function(*args)
            spent[name] = time.thread_time() - start  # noqa: B023
            return found

        targets = _shards.meet_targets(None, own, own, k, frame)
        targets = clock("targets", _shards.meet_targets, targets, own, other, k, frame)
        rest = targets, frame, per_row, 0.3, False
        met = _shards.meet_impostors(None, own, own, *rest)
        met = clock("impostors", _shards.meet_impostors, met, own, other, *rest)
        linked = clock("links", _shards.link, own, targets, met, 0.3, 0.5, False)
        where = frame.factor, frame.center, 1.0, False
        _shards.evaluate(linked, *where)
        clock("evaluation", _shards.evaluate, linked, *where)
        pairs, links = s * s, len(linked.links.column)
        print(
            f"s = {s}: targets {spent['targets'] / pairs * CLASSES * 1e9:.1f} ns a pair of one "
            f"class, impostors {spent['impostors'] / pairs * 1e9:.1f} ns a pair of rows, links "
            f"{spent['links'] / links * 1e9:.0f} ns, evaluation "
            f"{spent['evaluation'] / links * 1e9:.0f} ns a link ({links / s:.0f} a row), guests "
            f"{len(linked.problem.X) / s - 1:.2f} a row"
        )


def subsample(n: int) -> None:
    """Print the accuracy of neighbours among all rows by a metric of fewer."""
    X, y = problem(n + 4000)
    print(f"{n} training rows, d = {D}, {CLASSES} classes; 3-NN among all of them, 4000 test rows")
    plain = CurvedKNeighborsClassifier(metric=plain_metric()).fit(X[:n], y[:n])
    print(f"{'Euclidean':>10}  accuracy {plain.score(X[n:], y[n:]):.4f}")
    for size in (500, 1000, 2000, 5000, None):
        start = time.perf_counter()
        metric = learner(subsample=size, n_passes=2, n_jobs=2).fit(X[:n], y[:n]).metric_
        seconds = time.perf_counter() - start
        model = CurvedKNeighborsClassifier(metric=metric).fit(X[:n], y[:n])
        print(f"{size or 'all':>10}  accuracy {model.score(X[n:], y[n:]):.4f}  {seconds:6.1f} s")


def plain_metric() -> object:
    """Return the Euclidean metric."""
    from cayleyklein import CurvedMetric

    return CurvedMetric.euclidean(D)


def write(folder: Path, n: int, rows_per_file: int) -> list[tuple[Path, Path]]:
    """Write rows to files, a block at a time; classes are shifted Gaussians."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(CLASSES, D)) * np.where(np.arange(D) < 10, 0.7, 0.0)
    files = []
    for start in range(0, n, rows_per_file):
        y = rng.integers(0, CLASSES, size=min(rows_per_file, n - start))
        X = rng.normal(size=(len(y), D)) + means[y]
        names = folder / f"X{start}.npy", folder / f"y{start}.npy"
        np.save(names[0], X)
        np.save(names[1], y)
        files.append(names)
    return files


def disk(n: int, size: int, limit: str) -> None:
    """Learn from a subsample of rows on disk, on workers that could not hold them."""
    rows_per_file = 50_000
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), n, rows_per_file)
        counts = [min(rows_per_file, n - start) for start in range(0, n, rows_per_file)]
        read = dask.delayed(np.load, pure=False)
        X, y = (
            da.concatenate(
                [
                    da.from_delayed(read(names[i]), (count, *shape), dtype)
                    for names, count in zip(files, counts, strict=True)
                ]
            )
            for i, (shape, dtype) in enumerate([((D,), float), ((), np.int64)])
        )
        with cluster(limit) as two, Client(two) as client:
            client.run(lambda: __import__("cayleyklein"))
            before = client.run(peak_memory)
            start = time.perf_counter()
            fitted = learner(subsample=size, n_passes=2).fit(X, y)
            seconds = time.perf_counter() - start
            after = client.run(peak_memory)
        print(
            f"{n} × {D} rows on disk, {X.nbytes / 1e6:.0f} MB; memory limit {limit} a worker; "
            f"subsample={size}: {seconds:.1f} s, {fitted.n_iter_} iterations"
        )
        for worker, peak in after.items():
            print(f"  peak memory of a worker: {peak:.0f} MB, {before[worker]:.0f} MB of it before")
        test = np.load(files[0][0])[:2000], np.load(files[0][1])[:2000]
        known = np.load(files[1][0]), np.load(files[1][1])
        model = CurvedKNeighborsClassifier(metric=fitted.metric_).fit(*known)
        plain = CurvedKNeighborsClassifier(metric=plain_metric()).fit(*known)
        print(
            f"  accuracy of 3-NN among {rows_per_file} rows: {model.score(*test):.3f}, "
            f"Euclidean {plain.score(*test):.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="*", choices=["overhead", "constants", "subsample", "disk", []]
    )
    parser.add_argument("--rows", type=int)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--limit", default="450MB")
    given = parser.parse_args()
    wanted = given.what or ["overhead", "constants", "subsample", "disk"]
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="Sending large graph")
    print(describe_threads())
    if "overhead" in wanted:
        overhead(given.rows or 40_000, given.iterations, given.repeats)
    if "constants" in wanted:
        constants()
    if "subsample" in wanted:
        subsample(given.rows or 20_000)
    if "disk" in wanted:
        disk(given.rows or 2_000_000, given.size, given.limit)
