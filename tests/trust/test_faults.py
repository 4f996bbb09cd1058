"""Kills and full disks: the old file or the new one, never half, and nothing piles up."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cayleyklein.tables import writing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def broken():
    """What a process finds that kills its children, and fills their disk."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.trust.breaking", "--times", "8"],
        capture_output=True, text=True, timeout=600, env=environment, cwd=ROOT,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize("command", ["fit", "predict", "reproduce"])
def test_kills_leave_the_old_file_or_the_new_one(broken, command):
    assert broken[command]["kills"] >= 4
    assert broken[command]["old"] > 0


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("fit", "b.ckm"),
        ("predict", "a.csv"),
        ("predict parquet", "a.parquet"),
        ("voronoi", "a.png"),
        ("reproduce", "results.json"),
    ],
)
def test_a_full_disk_keeps_what_was_there(broken, command, name):
    said = broken["full disk"][command].splitlines()[-1]
    assert said.startswith("cayleyklein: ")
    assert name in said
    assert "File too large" in said


def write(path, text):
    with writing(path) as temporary:
        temporary.write_text(text)


def test_writers_do_not_leak_files(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        write(tmp_path / "out.csv", str(number))
        with pytest.raises(ZeroDivisionError), writing(tmp_path / "out.csv"):
            raise ZeroDivisionError
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_long_names(tmp_path):
    output = tmp_path / ("é" * 125 + ".csv")
    write(output, "new")
    assert list(tmp_path.iterdir()) == [output]
