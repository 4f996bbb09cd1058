"""Running experiments: in parallel, resumable, and with a record of code and machine."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, cpu_count

from cayleyklein._estimators import as_jobs
from cayleyklein._version import __version__
from cayleyklein.experiments._outcomes import Outcome
from cayleyklein.tables import writing

__all__ = [
    "Cell",
    "CellStore",
    "ProgressCallback",
    "Step",
    "at_most_one_a_core",
    "fingerprint",
    "in_parallel",
    "provenance",
    "write_whole",
]

# -- processes ----------------------------------------------------------------------


class Step(NamedTuple):
    """Some work that is done.

    Attributes
    ----------
    done, total : int
    what : str
        The piece of work just finished.

    Examples
    --------
    >>> from cayleyklein.experiments import Step, compare
    >>> steps = []
    >>> _ = compare("wine", methods=["knn"], n_splits=2, progress=steps.append)
    >>> steps[-1].done == steps[-1].total, isinstance(steps[-1], Step)
    (True, True)
    """

    done: int
    total: int
    what: str


ProgressCallback = Callable[[Step], object]


def at_most_one_a_core(n_jobs: int | None) -> int | None:
    """Return a number of processes for joblib, which starts as many as it is told, at once."""
    return None if n_jobs is None else min(n_jobs, cpu_count())


def in_parallel(tasks: Iterable[object], n_jobs: int | None) -> Iterator[Any]:
    """Yield the results of joblib's delayed calls as they come, in any order."""
    jobs = at_most_one_a_core(as_jobs(n_jobs))
    yield from Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks)


# -- finished cells on disk ---------------------------------------------------------


class Cell(NamedTuple):
    """A data set, a method, and its neighbours: one number of a table.

    Attributes
    ----------
    dataset, method : str
    k : int
        The neighbours that vote.
    n_targets : int, optional
        The target neighbours that a metric is learned with; the learner's own choice by default.

    Examples
    --------
    >>> from cayleyklein.experiments import Cell
    >>> Cell("wine", "elliptic", 3)
    Cell(dataset='wine', method='elliptic', k=3, n_targets=None)
    """

    dataset: str
    method: str
    k: int
    n_targets: int | None = None


def write_whole(path: Path, text: str) -> None:
    """Write a file that is whole or not there, and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def digest(values: object) -> str:
    """Return a checksum of what JSON holds: a changed number must not pass for a result."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


@dataclass(frozen=True)
class CellStore:
    """A folder with one file for each finished cell.

    Attributes
    ----------
    folder : Path
    run : str
        What the outcomes depend on beside the cell: the protocol and the code. Cells of another
        run are as good as missing.
    """

    folder: Path
    run: str

    def path(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        targets = "" if cell.n_targets is None else f"-targets{cell.n_targets}"
        return self.folder / f"{cell.dataset}-{cell.method}-k{cell.k}{targets}.json"

    def read(self, cell: Cell) -> list[Outcome] | None:
        """Return the outcomes of a finished cell; None when it must be computed."""
        try:
            stored = json.loads(self.path(cell).read_text("utf-8"))
            if stored["run"] != self.run or stored["cell"] != cell._asdict():
                return None
            if stored["digest"] != digest(stored["outcomes"]):
                return None
            return [Outcome.from_dict(values) for values in stored["outcomes"]]
        except (OSError, ValueError, KeyError, TypeError):  # missing, or no file of ours
            return None

    def write(self, cell: Cell, outcomes: Sequence[Outcome]) -> None:
        """Keep a finished cell."""
        values = json.loads(json.dumps([outcome.to_dict() for outcome in outcomes]))
        stored = {
            "run": self.run,
            "cell": cell._asdict(),
            "digest": digest(values),
            "outcomes": values,
        }
        write_whole(self.path(cell), json.dumps(stored))


# -- code, versions, machine --------------------------------------------------------

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib")
HOME = Path(__file__).parents[1]
DECIDING = (
    *(f"{folder}/**/*.py" for folder in ("geometry", "metrics", "neighbors", "learning")),
    *(f"experiments/_{name}.py" for name in ("methods", "outcomes", "problems", "protocols")),
    "_estimators.py",
    "_validation.py",
    "datasets/_loaders.py",
    "datasets/data/*",
)
"""What decides a number; the code that only shows it may change."""


def provenance() -> dict[str, Any]:
    """Return what a reader needs to judge or to repeat a result.

    >>> sorted(provenance())
    ['cayleyklein', 'commit', 'date', 'machine', 'python', 'versions']
    """
    return {
        "cayleyklein": __version__,
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": versions(),
        "machine": {
            "system": platform.platform(),
            "processor": processor(),
            "cores": os.cpu_count(),
        },
    }


@cache
def fingerprint() -> str:
    """Return a digest of the code that decides the numbers, and of the versions it runs with."""
    digest = hashlib.sha256(repr(versions()).encode())
    for pattern in DECIDING:
        for path in sorted(HOME.glob(pattern)):
            digest.update(path.relative_to(HOME).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions of the packages that compute, of those there are."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # built into something else
            continue
    return found


def commit() -> str | None:
    """Return the commit of the code, marked when it was changed; None outside its repository."""
    if _git("ls-files", "--error-unmatch", "_version.py") is None:
        return None  # in a repository of somebody else's, or in none
    changed = _git("status", "--porcelain", "--untracked-files=no", ".")
    found = _git("rev-parse", "--short=12", "HEAD")
    return f"{found} with changes" if found and changed else found


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(HOME), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
