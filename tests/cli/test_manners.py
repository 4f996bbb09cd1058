"""Help, exit codes, errors, interruptions, colours."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

import cayleyklein
from cayleyklein.cli import main
from cayleyklein.cli._app import app
from cayleyklein.cli._console import Console

COMMANDS = [
    "fit",
    "predict",
    "evaluate",
    "info",
    "neighbors",
    "curvature",
    "datasets",
    "compare",
    "reproduce",
    "figures",
    "explore",
]


def test_every_command_is_there(command):
    answer = command("--help")
    assert answer.code == 0
    for name in COMMANDS:
        assert f"\n  {name}" in answer.out
    assert "cayleyklein fit flowers.csv --target species -o flowers.ckm" in answer.out
    assert command().out == answer.out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches_by_example(command, name):
    answer = command(name, "--help")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    if name not in ("datasets", "explore"):  # which take no arguments
        assert f"cayleyklein {name} " in answer.out.split("Options:")[0].split("\n", 1)[1]


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["frobnicate"], ["fit"]])
def test_help_and_usage_errors_import_no_heavy_library(arguments):
    code = f"""if True:
        import sys
        from cayleyklein.cli import main
        sys.argv[1:] = {arguments}
        main()
        print(*{{name.partition(".")[0] for name in sys.modules}}, file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"joblib", "matplotlib", "numba", "numpy", "pandas", "rich", "scipy", "sklearn"}
    assert heavy.isdisjoint(done.stderr.splitlines()[-1].split())


def test_version(command):
    assert command("--version").out == f"cayleyklein {cayleyklein.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["fit"], "Missing argument"),
        (["fit", "t.csv", "-o", "m"], "Missing option '-t' / '--target'"),
        (["fit", "t.csv", "-t", "y", "-o", "m", "-g", "cubic"], "'cubic' is not one of"),
        (["fit", "t.csv", "-t", "y", "-o", "m", "-k", "0"], "Invalid value for '-k'"),
        (["info", "--no-such"], "No such option"),
    ],
)
def test_wrong_command_lines(command, arguments, message):
    answer = command(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.splitlines()[-1].startswith("Try: cayleyklein")
    assert "Traceback" not in answer.err


def test_debug_shows_the_traceback(command):
    quiet = command("info", "nothing.ckm")
    assert "Traceback" not in quiet.err
    loud = command("info", "nothing.ckm", "--debug")
    assert (quiet.code, loud.code) == (1, 1)
    assert "Traceback" in loud.err
    assert loud.err.endswith(quiet.err)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted."),
        (MemoryError(), 1, "there is not enough memory for this."),
        (PermissionError(13, "Permission denied", "t.csv"), 1, "t.csv: Permission denied."),
        (ZeroDivisionError("by nought"), 1, "an unexpected ZeroDivisionError: by nought --debug"),
        (ValueError("two\nlines"), 1, "two lines"),
    ],
)
def test_errors_from_below(command, monkeypatch, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("cayleyklein.tables.iter_table", fail)
    answer = command("fit", "t.csv", "-t", "y", "-o", "m.ckm")
    assert answer.code == code
    assert answer.err.startswith(f"cayleyklein: {message}")
    assert "Traceback" not in answer.err


def test_warnings_are_notes(command, monkeypatch):
    def warn(*_, **__):
        warnings.warn("mind\nthe gap\x1b[2J", UserWarning, stacklevel=1)
        raise ValueError("stop")

    monkeypatch.setattr("cayleyklein.tables.iter_table", warn)
    answer = command("fit", "t.csv", "-t", "y", "-o", "m.ckm")
    assert answer.err == "note: mind the gap\\x1b[2J\ncayleyklein: stop\n"
    assert "note" not in command("fit", "t.csv", "-t", "y", "-o", "m.ckm", "-q").err


def test_without_the_extra(monkeypatch, capsys):
    monkeypatch.setattr("cayleyklein.cli.find_spec", lambda name: None)
    assert main(["datasets"]) == 1
    assert capsys.readouterr().err == (
        'cayleyklein: typer is not installed; pip install "cayleyklein[cli]" adds it.\n'
    )


def test_interruption_while_libraries_load(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cayleyklein.cli.find_spec", interrupt)
    assert main(["datasets"]) == 130
    assert capsys.readouterr() == ("", "cayleyklein: interrupted.\n")


def test_a_pipe_can_be_predicted(command, wine_files, tmp_path):
    """And fitted."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)

    def through_pipe(content, *arguments):
        feeding = threading.Thread(target=pipe.write_bytes, args=[content])
        feeding.start()
        answer = command(*arguments)
        feeding.join()
        return answer

    table = (wine_files / "test.csv").read_bytes()
    expected = command("predict", wine_files / "wine.ckm", wine_files / "test.csv").out
    assert through_pipe(table, "predict", wine_files / "wine.ckm", pipe).out == expected
    flags = b"a,flag,y\n" + b"1,true,u\n2,false,v\n" * 9
    answer = through_pipe(flags, "fit", pipe, "-t", "y", "-o", "m.ckm")
    assert "flag: 2 categories" in answer.err


class Screen(io.StringIO):
    """What looks like a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("screen", "quiet", "is_shown"),
    [(Screen(), False, True), (Screen(), True, False), (io.StringIO(), False, False)],
    ids=["terminal", "quiet", "file"],
)
def test_a_bar_is_for_terminals(screen, quiet, is_shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with Console(quiet=quiet).progress("reading t.csv") as show:
        show(1, 4)
    written = screen.getvalue()
    assert ("reading t.csv" in written) == is_shown
    if is_shown:
        assert "25%" in written
        assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")  # the cursor is back
    else:
        assert written == ""


def test_completion_is_offered():
    names = {parameter.name for parameter in __import__("typer").main.get_command(app).params}
    assert {"install_completion", "show_completion"} <= names


def test_datasets(command):
    found = {entry["name"]: entry for entry in command("datasets", "--json").json["datasets"]}
    assert found["wine"]["rows"] == 178
    assert "doi" in found["vowel"]["source"]
    assert "hyperbolic_tree" in command("datasets").out


def opened_for(running, pipe):
    """Open a pipe for writing once a command reads it; fail if it ends before."""
    while True:
        try:
            return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
        except OSError:  # nobody reads it yet
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)


def test_interruption_of_a_process(tmp_path):
    """Ctrl-C while a pipe is being waited for: one line, 130, nothing left behind."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "cayleyklein", "fit", str(pipe), "-t", "y", "-o", "m.ckm"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        signal.signal(signal.SIGINT, before)
        with opened_for(running, pipe) as feeding:
            feeding.write("a,y\n1,u\n")
            feeding.flush()
            for _ in range(10):  # Python drops a Ctrl-C that arrives within a callback of C code
                running.send_signal(signal.SIGINT)
                try:
                    out, err = running.communicate(timeout=6)
                except subprocess.TimeoutExpired:
                    continue
                break
            else:
                running.kill()
    assert (running.returncode, out, err) == (130, "", "cayleyklein: interrupted.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.csv"]
