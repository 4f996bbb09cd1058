"""On what a result was measured: code, versions, machine."""

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cayleyklein._version import __version__

__all__ = ["fingerprint", "provenance"]

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
