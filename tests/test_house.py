"""The house keeps its own rules: one version, a light import, nothing of one machine."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cayleyklein

ROOT = Path(__file__).resolve().parents[1]

HEAVY = {"dask", "distributed", "matplotlib", "pandas", "panel", "pyarrow", "shapely", "tornado"}
STEPS = """
import sys, cayleyklein
print(*sys.modules)
import cayleyklein.diagrams, cayleyklein.learning, cayleyklein.plotting
print(*sys.modules)
from cayleyklein import CurvedKNeighborsClassifier, CurvedMetric
CurvedKNeighborsClassifier(1, metric=CurvedMetric.euclidean(1)).fit([[0.0], [1.0]], [0, 1])
print(*sys.modules)
"""

# Spelled in pieces, so that this file passes its own test.
MACHINE_PATHS = r"(?<![\w.~/-])/(?:work|root|home)" + r"/[\w.]"
REGISTRIES = "|".join(
    re.escape(host)
    for host in ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "file:" + "///")
)


def test_version_has_one_source():
    assert importlib.metadata.version("cayleyklein") == cayleyklein.__version__


def test_what_is_heavy_is_imported_where_it_is_needed():
    answer = subprocess.run(
        [sys.executable, "-c", STEPS], check=True, capture_output=True, text=True
    )
    first, others, fitted = (set(line.split()) for line in answer.stdout.splitlines())
    assert not first & HEAVY
    assert not others & {"numba", "matplotlib"}
    assert not fitted & {"dask", "distributed"}


def tracked_files():
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not in a git checkout")
    return [ROOT / name for name in answer.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize(
    ("kind", "pattern"), [("machine path", MACHINE_PATHS), ("registry address", REGISTRIES)]
)
def test_no_file_names_one_machine(kind, pattern):
    found = []
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" in content:
            continue  # binary
        for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
            if re.search(pattern, line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, f"{kind} in tracked files:\n" + "\n".join(found)
