"""Files are written whole: the old one or the new one, never half, and nothing piles up."""

import resource
import signal
import threading
from pathlib import Path

import pytest
from tests.small import TABLE, Y

from cayleyklein.cli import main
from cayleyklein.tables import atomic


def write(path, text):
    with atomic.writing(path) as temporary:
        temporary.write_text(text)


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
        ("curve.png", "curvature table.csv -t kind --picture curve.png"),
    ],
)
def test_a_full_disk_keeps_the_old_file(output, command, tmp_path, full_disk, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = TABLE.assign(kind=Y)
    table.to_csv("table.csv", index=False)
    table.sample(200, replace=True, random_state=0).to_csv("long.csv", index=False)
    # Also where no model is needed: Numba may write its cache, which must not meet the full disk.
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


def test_writers_do_not_leak_files(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        write(tmp_path / "out.csv", str(number))
        with pytest.raises(ZeroDivisionError), atomic.writing(tmp_path / "out.csv"):
            raise ZeroDivisionError
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_long_names(tmp_path):
    output = tmp_path / ("é" * 125 + ".csv")
    write(output, "new")
    assert list(tmp_path.iterdir()) == [output]


def test_no_handle_is_open_when_a_file_is_renamed_or_deleted(tmp_path, monkeypatch):
    def checked(method):
        def call(path, *given, **options):
            if path.parent == tmp_path:  # Windows refuses to rename or delete an open file
                opened = [str(link.resolve()) for link in Path("/proc/self/fd").iterdir()]
                assert str(path) not in opened
            return method(path, *given, **options)

        return call

    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, checked(getattr(Path, name)))
    write(tmp_path / "out.csv", "new")
    atomic.check_writable(tmp_path / "out.csv")
    with pytest.raises(ZeroDivisionError), atomic.writing(tmp_path / "out.csv"):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
