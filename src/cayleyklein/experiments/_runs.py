"""Run methods on splits: in parallel, resumable, with a record of code and machine."""

import hashlib
import json
import os
import platform
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cayleyklein._estimators import as_jobs
from cayleyklein._validation import expect
from cayleyklein._version import __version__
from cayleyklein.experiments import scores
from cayleyklein.experiments.methods import METHODS, Cell
from cayleyklein.experiments.problems import Problem, Split
from cayleyklein.prediction import CurvedKNeighborsClassifier
from cayleyklein.tables import TableEncoder, atomic

Outcome = dict[str, Any]  # what :func:`evaluate_cells` returns for each cell
ProgressCallback = Callable[[int, int, str], object]


def evaluate_cells(cells: Sequence[Cell], problem: Problem, split: Split) -> list[Outcome]:
    """Fit a method to the training rows of a split, and test it on the others, on one thread.

    If there are several cells, they share a metric, which does not depend on the k that votes: it
    is learned for the first one, and the others vote by it.
    """
    train, test = split
    rows = problem.X
    y = problem.y
    first = cells[0]
    model = METHODS[first.method].make(problem.task, first.k, first.n_targets)
    if hasattr(rows, "iloc"):
        model = make_pipeline(TableEncoder(), model)
        rows = rows.iloc
    # BLAS threads would change the last digits, and the CPU time, with the number of processes
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(rows[train], y[train])
        seconds = time.process_time() - start
        outcomes = [tested(model, problem, rows, test)]
        for cell in cells[1:]:
            k: Any = cell.k
            voters = CurvedKNeighborsClassifier(k, weights="uniform", metric=model.metric_)
            voters.fit(rows[train], y[train])
            outcomes.append(tested(voters, problem, rows, test))
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    learner = getattr(model, "learner_", None)
    learned = {
        "n_train": len(train),
        "n_test": len(test),
        "fit_seconds": seconds,
        "geometry": getattr(learner, "geometry_", None),
        "alpha": getattr(learner, "alpha_", None),
        "curvatures": [float(K) for K in np.atleast_1d(getattr(learner, "curvature_", ()))],
        "notes": list(dict.fromkeys(str(warning.message) for warning in caught)),
    }
    return [outcome | learned for outcome in outcomes]


def tested(model: Any, problem: Problem, rows: Any, test: Any) -> Outcome:
    """Return the scores of a fitted model on test rows."""
    start = time.process_time()
    predicted = model.predict(rows[test])
    seconds = {"predict_seconds": time.process_time() - start}
    truth = problem.y[test]
    if problem.task != "class":
        return scores.number_errors(truth, predicted) | seconds
    shares = model.predict_proba(rows[test])
    return seconds | {
        "accuracy": float((predicted == truth).mean()),
        "log_loss": scores.log_loss(shares, model.classes_, truth),
        "calibration": scores.calibration(shares, model.classes_, truth),
    }


def grouped(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells in groups that share one fit, in their order."""
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        learned_for = METHODS[cell.method].learned_for
        shared = learned_for is not None and cell.k is not None
        learned = learned_for(cell.k, cell.n_targets) if learned_for and shared else cell
        groups.setdefault((cell.dataset, cell.method, learned), []).append(cell)
    return list(groups.values())


def run_cells(
    cells: Sequence[Cell],
    problems: Mapping[str, Problem],
    splits: Mapping[str, Sequence[Split]],
    n_jobs: int | None,
    progress: ProgressCallback | None,
    store: "CellStore | None" = None,
) -> dict[Cell, list[Outcome]]:
    expect(progress is None or callable(progress), "progress", progress, "a function, or None")
    tell = progress or (lambda *_: None)
    n_workers = min(as_jobs(n_jobs), cpu_count())
    parallel = Parallel(n_workers, return_as="generator", batch_size=1)
    found = {} if store is None else store.read(cells)
    done = sum(len(splits[cell.dataset]) for cell in found)
    total = sum(len(splits[cell.dataset]) for cell in cells)
    if found:
        tell(done, total, "finished before")
    groups = grouped([cell for cell in cells if cell not in found])
    tasks = [(group, split) for group in groups for split in splits[group[0].dataset]]
    calls = (delayed(evaluate_cells)(some, problems[some[0].dataset], at) for some, at in tasks)
    for (group, _), outcomes in zip(tasks, parallel(calls), strict=True):
        for cell, outcome in zip(group, outcomes, strict=True):
            parts = found.setdefault(cell, [])
            parts.append(outcome)
            done += 1
            if store is not None and len(parts) == len(splits[cell.dataset]):
                store.write(cell, parts)  # not in the workers, which may be on other machines
            tell(done, total, str(cell))
    return {cell: found[cell] for cell in cells}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic.writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


class CellStore(NamedTuple):
    """A folder with a file for each finished cell of a run, that is of a protocol and a code."""

    folder: Path
    run: str

    def path(self, cell: Cell) -> Path:
        targets = "" if cell.n_targets is None else f"-targets{cell.n_targets}"
        return self.folder / f"{cell.dataset}-{cell.method}-k{cell.k}{targets}.json"

    def read(self, cells: Sequence[Cell]) -> dict[Cell, list[Outcome]]:
        found = {}
        for cell in cells:  # files that are missing, or not ours, are skipped
            with suppress(OSError, ValueError, KeyError, TypeError):
                stored = json.loads(self.path(cell).read_text("utf-8"))
                if (stored["run"], stored["cell"]) == (self.run, list(cell)):
                    found[cell] = stored["outcomes"]
        return found

    def write(self, cell: Cell, outcomes: list[Outcome]) -> None:
        content = {"run": self.run, "cell": list(cell), "outcomes": outcomes}
        write(self.path(cell), json.dumps(content))


HOME = Path(__file__).parents[1]


def versions() -> dict[str, str]:
    """Return the versions of the packages that numbers may depend on."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "joblib")}


def provenance() -> dict[str, Any]:
    cpu = Path("/proc/cpuinfo")
    named = re.search("^model name.*: *(.+)", cpu.read_text("utf-8") if cpu.exists() else "", re.M)
    processor = named[1].strip() if named else platform.processor() or platform.machine()
    machine = {"system": platform.platform(), "processor": processor, "cores": os.cpu_count()}
    return {
        "cayleyklein": __version__,
        "commit": commit(),
        "machine": machine,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": versions(),
    }


@cache
def fingerprint() -> str:
    digest = hashlib.sha256(repr(list(versions().values())).encode())
    for path in sorted([*HOME.rglob("*.py"), *HOME.glob("datasets/data/*")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str | None:
    """Return the commit of the code, marked if it was changed; None outside its repository."""
    git = partial(subprocess.run, cwd=HOME, capture_output=True, text=True, check=True)
    describe = ["--always", "--abbrev=12", "--exclude=*", "--dirty= with changes"]
    try:
        git(["git", "ls-files", "--error-unmatch", "_version.py"])
        return str(git(["git", "describe", *describe]).stdout.strip())
    except (OSError, subprocess.CalledProcessError):
        return None
