"""Search and classify rows that no worker could hold, and time Dask where one machine would do.

Goals: 4,000,000 rows, more than the memory limit of a worker, searched within it, and classified by
the neighbours' default and by landmarks; a worker that is killed in the middle of a prediction
changes no answer; at n = 40,000 Dask on two workers takes at most 1.5 times as long as two threads.
A name takes one part alone, as in ``bench_dask.py search-large --rows 8000000 --memory "2 GB"``.
"""

import argparse
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from _timing import interleave, peak_memory, print_ratios, timed
from cayleyklein import (
    CurvedKernelClassifier,
    CurvedKNeighborsClassifier,
    CurvedMetric,
    CurvedNeighbors,
)

COLUMNS, PARTITION_ROWS, QUERIES, NEIGHBORS = 32, 62_500, 10_000, 5


@contextmanager
def two_workers(memory_limit: str | None = None) -> Iterator[Client]:
    """Start two processes of one thread each."""
    options = {} if memory_limit is None else {"memory_limit": memory_limit}
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs="ERROR",
            **options,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def metric() -> CurvedMetric:
    """Return a hyperbolic metric like a learned one: no two axes alike, not about the origin."""
    rng = np.random.default_rng(1)
    factor = 0.06 * (np.eye(COLUMNS) + 0.1 * rng.normal(size=(COLUMNS, COLUMNS)))
    return CurvedMetric(factor=factor, center=0.1 * rng.normal(size=COLUMNS), curvature=-1.0)


def clustered_rows(seed: int, n: int, spread: float = 0.1) -> np.ndarray:
    """Return rows about a hundred centres."""
    centers = np.random.default_rng(0).normal(size=(100, COLUMNS))
    rng = np.random.default_rng(seed)
    return centers[rng.integers(100, size=n)] + spread * rng.normal(size=(n, COLUMNS))


def write_partitions(folder: Path, n_rows: int) -> list[Path]:
    """Write the rows as files that can be mapped into memory."""
    paths = []
    for part in range(-(-n_rows // PARTITION_ROWS)):
        path = folder / f"{part:04}.npy"
        np.save(path, clustered_rows(part, min(PARTITION_ROWS, n_rows - part * PARTITION_ROWS)))
        paths.append(path)
    return paths


def mapped(path: Path) -> np.ndarray:
    """Map a partition."""
    return np.load(path, mmap_mode="r")


def partitions(paths: list[Path]) -> da.Array:
    """Return the files as one Dask array; each is opened by the worker that needs it."""
    lengths = [len(mapped(path)) for path in paths]
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(mapped)(path), (length, COLUMNS), np.float64)
            for path, length in zip(paths, lengths, strict=True)
        ]
    )


def nearest_by_plain_scan(paths: list[Path], Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and rows by measuring every pair with NumPy, a partition at a time."""
    distances, rows = np.empty((len(Q), 0)), np.empty((len(Q), 0), dtype=np.intp)
    start = 0
    for path in paths:
        block = metric().pairwise(Q, np.asarray(mapped(path)))
        numbers = np.broadcast_to(np.arange(start, start + block.shape[1]), block.shape)
        distances = np.concatenate([distances, block], axis=1)
        rows = np.concatenate([rows, numbers], axis=1)
        order = np.lexsort((rows, distances))[:, :NEIGHBORS]
        distances = np.take_along_axis(distances, order, axis=1)
        rows = np.take_along_axis(rows, order, axis=1)
        start += block.shape[1]
    return distances, rows


def print_peaks(client: Client) -> None:
    """Print the peak memory of every process."""
    for address, (pid, peak) in client.run(lambda: (os.getpid(), peak_memory())).items():
        limit = client.scheduler_info()["workers"][address]["memory_limit"] / 1e6
        print(f"  worker {pid}: peak {peak:.0f} MB of {limit:.0f} MB")
    print(f"  client {os.getpid()}: peak {peak_memory():.0f} MB")


def search_large(options: argparse.Namespace) -> None:
    """Search rows on disk that are larger than the memory of a worker."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_partitions(Path(folder), options.rows)
        size = sum(path.stat().st_size for path in paths) / 1e6
        print(
            f"search of {options.rows} x {COLUMNS} rows, {size:.0f} MB in {len(paths)} mapped "
            f"files, two workers of {options.memory}"
        )
        Q = clustered_rows(10**6, QUERIES)
        with two_workers(options.memory) as client:
            before = set(client.run(os.getpid).values())
            start = time.perf_counter()
            search = CurvedNeighbors(NEIGHBORS, metric=metric()).fit(partitions(paths))
            print(f"  fit {time.perf_counter() - start:.1f} s, {search.algorithm_used_}")
            start = time.perf_counter()
            distances, rows = search.kneighbors(Q)
            seconds = time.perf_counter() - start
            print(f"  {QUERIES} queries {seconds:.1f} s, {1e3 * seconds / QUERIES:.2f} ms each")
            print_peaks(client)
            print(f"  same processes as before: {before == set(client.run(os.getpid).values())}")
        sample = np.arange(0, QUERIES, QUERIES // 20)
        expected = nearest_by_plain_scan(paths, Q[sample])
        error = np.max(np.abs(distances[sample] / expected[0] - 1))
        same = np.array_equal(rows[sample], expected[1])
        print(
            f"  {len(sample)} queries by a plain scan: same rows {same}, distances to {error:.1e}"
        )


def labels_of(rows: np.ndarray) -> np.ndarray:
    """Return the classes of rows: the sign of a product of columns, one row of ten by chance."""
    chance = np.abs(rows[:, 5] * 1e6) % 1 < 0.1
    return ((rows[:, 0] * rows[:, 1] + rows[:, 2] > 0) ^ chance).astype(int)


def kill_later(pid: int, seconds: float) -> None:
    """Kill a process after some seconds."""
    threading.Timer(seconds, os.kill, (pid, signal.SIGKILL)).start()


def predict_large(options: argparse.Namespace) -> None:
    """Classify by rows on disk, and again while a worker is killed, in the fit and after it."""
    models = {
        "neighbours": CurvedKNeighborsClassifier(random_state=0),
        "kernel": CurvedKernelClassifier(("metric", "columns"), random_state=0),
    }
    Q = clustered_rows(10**6, QUERIES)
    truth = (Q[:, 0] * Q[:, 1] + Q[:, 2] > 0).astype(int)  # without what is chance
    lazy = da.from_array(Q, chunks=(QUERIES // 4, COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        paths = write_partitions(Path(folder), options.rows)
        print(f"classify by {options.rows} x {COLUMNS} rows, two workers of {options.memory}")
        for name in options.models:
            model = models[name]
            with two_workers(options.memory) as client:
                X = partitions(paths)
                y = X.map_blocks(labels_of, drop_axis=1, dtype=int)

                def ask(model=model):
                    start = time.perf_counter()
                    return np.asarray(model.predict_proba(lazy)), time.perf_counter() - start

                def kill(seconds: float, client=client) -> None:
                    kill_later(next(iter(client.run(os.getpid).values())), seconds)

                start = time.perf_counter()
                model.fit(X, y)
                fitted = time.perf_counter() - start
                found, asked = ask()
                accuracy = np.mean(model.classes_[found.argmax(axis=1)] == truth)
                print(f"  {name}: fit {fitted:.1f} s, {QUERIES} predictions {asked:.1f} s")
                print(f"  {name}: accuracy on rows without noise {accuracy:.4f}", flush=True)
                print_peaks(client)
                kill(asked / 3)
                again, seconds = ask()
                same = np.array_equal(found, again)
                print(f"  a worker killed while predicting: {seconds:.1f} s, same answers: {same}")
                if name == "kernel":
                    kill(fitted / 2)
                    start = time.perf_counter()
                    model.fit(X, y)
                    seconds = time.perf_counter() - start
                    error = np.abs(ask()[0] - found).max()
                    print(f"  a worker killed in the fit: {seconds:.1f} s, answers to {error:.1e}")


def search_overhead(options: argparse.Namespace) -> None:
    """Time Dask against threads on rows that fit."""
    X, Q = clustered_rows(0, 40_000), clustered_rows(1, options.queries)
    here = CurvedNeighbors(NEIGHBORS, metric=metric(), algorithm="brute", n_jobs=2)
    there = CurvedNeighbors(NEIGHBORS, metric=metric(), algorithm="brute")
    with two_workers():
        lazy_X, lazy_Q = dask.persist(
            da.from_array(X, chunks=(20_000, COLUMNS)),
            da.from_array(Q, chunks=(-(-len(Q) // 4), COLUMNS)),
        )
        samplers: dict[str, Callable[[], float]] = {
            "threads": timed(lambda: here.fit(X).kneighbors(Q)),
            "Dask": timed(lambda: dask.compute(*there.fit(lazy_X).kneighbors(lazy_Q))),
        }
        print(f"fit and search, 40000 x {COLUMNS} rows, {len(Q)} queries")
        print_ratios(interleave(samplers, repeats=options.repeats), baseline="threads")


PARTS = {
    "search-large": search_large,
    "predict-large": predict_large,
    "search-overhead": search_overhead,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--memory", default="1 GB", help="limit of a worker")
    parser.add_argument("--models", nargs="+", default=["neighbours", "kernel"])
    parser.add_argument("--queries", type=int, default=10_000, help="of the overhead")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for part in options.parts:
        PARTS[part](options)


if __name__ == "__main__":
    main()
