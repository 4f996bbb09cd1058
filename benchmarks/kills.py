"""Kill commands that write a file, at a random moment each: the old file or the new one is left.

    python benchmarks/kills.py [--kills 400]

Models of classes and of numbers, by neighbours and by kernel machines, answers as CSV, Parquet and
Excel, and a picture are written over an old file by a child process that is killed (SIGKILL)
between its start and the time that it takes. Half of the kills wait for the temporary file, so
that they hit the writing itself. Exits with 1 where a file is neither the old one nor a complete
new one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from cayleyklein.cli import main as command
from cayleyklein.tables import load_model

OLD = b"the old file"


def commands(folder: Path) -> dict[str, tuple[list[str], Callable[[Path], object]]]:
    """Return, by the name of the file, a command line up to that name, and what reads the file."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table["class"] = np.where(table["a"] + table["b"] > 0, "yes", "no")
    table["number"] = table["a"] * table["b"]
    csv = str(folder / "table.csv")
    table.to_csv(csv, index=False)
    known = str(folder / "known.ckm")
    quietly(["fit", csv, "--target", "class", "-o", known])
    fit, answer = ["fit", csv, "-t"], ["predict", known, csv, "--proba", "-o"]
    return {
        "classes.ckm": ([*fit, "class", "-o"], load_model),
        "numbers.ckm": ([*fit, "number", "--drop", "class", "-o"], load_model),
        "voters.ckm": ([*fit, "class", "--model", "neighbors", "-o"], load_model),
        "answers.csv": (answer, lambda path: check_length(pd.read_csv(path))),
        "answers.parquet": (answer, lambda path: check_length(pd.read_parquet(path))),
        "answers.xlsx": (answer, lambda path: check_length(pd.read_excel(path))),
        "profile.svg": (
            ["curvature", csv, "--target", "class", "--picture"],
            lambda path: check_end(path.read_text("utf-8")),
        ),
    }


def check_length(answers: pd.DataFrame) -> None:
    """Raise unless there is an answer for every row."""
    if len(answers) != 60:
        raise ValueError(f"{len(answers)} answers")


def check_end(picture: str) -> None:
    """Raise unless a picture is whole."""
    if not picture.rstrip().endswith("</svg>"):
        raise ValueError(f"{len(picture)} characters, at the end {picture[-40:]!r}")


def quietly(arguments: list[str]) -> None:
    """Run a command without its output; raise where it fails."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = command(arguments)
    if code:
        raise RuntimeError(f"cayleyklein {' '.join(arguments)} ended with {code}")


def kill_once(arguments: list[str], path: Path, delay: float, at_writing: bool) -> None:
    """Write a file in a child process, and kill it after a delay, or so long after it begins."""
    child = os.fork()
    if child == 0:
        try:
            quietly([*arguments, str(path), "-q"])
        finally:
            os._exit(0)
    end = time.monotonic() + 60
    while at_writing and time.monotonic() < end:
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            return
        if any(path.parent.glob(".*.part*")):
            delay *= 0.2
            break
        time.sleep(0.0005)
    time.sleep(delay)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def left(path: Path, read: Callable[[Path], object]) -> str:
    """Say what is left of a file: "old", "new" or "broken"."""
    if path.read_bytes() == OLD:
        return "old"
    try:
        read(path)
    except Exception as error:  # noqa: BLE001 - whatever a broken file makes of its reader
        return f"broken: {error}"
    return "new"


def main() -> None:
    """Kill, look, and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=400)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    found: Counter[tuple[str, str]] = Counter()
    parts = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = commands(folder)
        seconds = {}
        for file, (arguments, _) in jobs.items():  # twice: the first run imports and compiles
            for _ in range(2):
                start = time.perf_counter()
                quietly([*arguments, str(folder / file), "-q"])
                seconds[file] = time.perf_counter() - start
        place = folder / "out"
        place.mkdir()
        for number in range(options.kills):
            file = list(jobs)[number % len(jobs)]
            arguments, read = jobs[file]
            path = place / file
            path.write_bytes(OLD)
            delay = rng.uniform(0, 1.2 * seconds[file])
            kill_once(arguments, path, delay, at_writing=number // len(jobs) % 2 == 1)
            found[file, left(path, read)] += 1
            for part in [each for each in place.iterdir() if each != path]:
                parts += 1
                if not (part.name.startswith(".") and ".part" in part.name):
                    found[part.name, "broken: not a temporary file"] += 1
                part.unlink()
            path.unlink()
    for (file, what), count in sorted(found.items()):
        print(f"{file:16} {what:10} {count}")
    print(f"{options.kills} kills, {parts} temporary files left behind")
    sys.exit(any(what.startswith("broken") for _, what in found))


if __name__ == "__main__":
    main()
