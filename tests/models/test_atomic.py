"""Files are written whole: the old one or the new one, never half, and nothing piles up."""

import fcntl
import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.small import TABLE, Y

from cayleyklein.cli import main
from cayleyklein.models import writing
from cayleyklein.models._atomic import STALE


@pytest.fixture
def full_disk():
    """Let no file grow beyond 600 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))

    yield fill
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("output", "command"),
    [
        ("new.ckm", "fit table.csv -t kind -g flat -o new.ckm"),
        ("answers.csv", "predict model.ckm long.csv --proba -o answers.csv"),
        ("answers.parquet", "predict model.ckm long.csv -o answers.parquet"),
        ("cells.png", "voronoi table.csv --x length --y width -o cells.png"),
    ],
)
def test_a_full_disk_keeps_the_old_file(output, command, tmp_path, full_disk, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = TABLE.assign(kind=Y)
    table.to_csv("table.csv", index=False)
    table.sample(200, replace=True, random_state=0).to_csv("long.csv", index=False)
    if "model.ckm" in command:
        assert main(["fit", "table.csv", "-t", "kind", "-g", "flat", "-o", "model.ckm"]) == 0
    Path(output).write_text("old")
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    full_disk()
    assert main(command.split()) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("cayleyklein: ")
    assert output in said
    assert "File too large" in said
    assert Path(output).read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


def test_many_threads_write_one_file(tmp_path):
    def write_often(number):
        for _ in range(20):
            write(tmp_path / "one.txt", str(number) * 1000)

    threads = [threading.Thread(target=write_often, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "one.txt").read_text() in {str(number) * 1000 for number in range(8)}
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]


# -- what a killed process leaves ----------------------------------------------------------


def stray(folder, name, age):
    path = folder / name
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def write(path, text):
    with writing(path) as temporary:
        temporary.write_text(text)


def test_the_next_writer_clears_up(tmp_path):
    output = tmp_path / "out.csv"
    ours = stray(tmp_path, ".out.csv.abc123.part.csv", 2 * STALE)
    new = stray(tmp_path, ".out.csv.xyz789.part.csv", 0)
    other = stray(tmp_path, ".more.csv.abc123.part.csv", 2 * STALE)
    write(output, "new")
    assert output.read_text() == "new"
    assert not ours.exists()
    assert new.exists()  # perhaps somebody is at it
    assert other.exists()  # the next writer of more.csv has it


def test_a_file_that_is_being_written_stays(tmp_path):
    output = tmp_path / "out.csv"
    with writing(output) as first:
        first.write_text("first")
        os.utime(first, (time.time() - 2 * STALE,) * 2)
        write(output, "second")
        assert output.read_text() == "second"
    assert output.read_text() == "first"
    assert list(tmp_path.iterdir()) == [output]


def test_writers_do_not_leak_files(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        write(tmp_path / "out.csv", str(number))
        with pytest.raises(ZeroDivisionError), writing(tmp_path / "out.csv"):
            raise ZeroDivisionError
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_where_files_cannot_be_locked(tmp_path, monkeypatch):
    """As on some network disks: written all the same, and nobody's file is removed."""

    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    kept = stray(tmp_path, ".out.csv.abc123.part.csv", 2 * STALE)
    write(tmp_path / "out.csv", "new")
    assert (tmp_path / "out.csv").read_text() == "new"
    assert kept.exists()


def test_long_names(tmp_path):
    output = tmp_path / ("é" * 125 + ".csv")
    write(output, "new")
    assert list(tmp_path.iterdir()) == [output]
