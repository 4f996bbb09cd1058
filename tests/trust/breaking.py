"""Break commands and see what they leave: ``python -m tests.trust.breaking --times 100``.

One process imports everything and makes children by fork, which run a command and are killed by
SIGKILL at a random moment, or find the disk full. A file that the command writes must be the old
one or the new one. Prints a line of JSON: kills, how often the old file and the new one were
there, temporary files left before the next run cleared them up, and what was said of full disks.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

from cayleyklein.cli import _reproduce as reproduce_command
from cayleyklein.cli import main
from cayleyklein.datasets import load_wine
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.experiments import Protocol, reproduce
from cayleyklein.tables import _atomic, load_model

OLD = "what was there before\n"


def child(arguments, *, slow=False, room=None, say=None):
    """Fork a child that runs a command.

    It dawdles before it renames a file if `slow`, can write no more than `room` bytes to a file,
    and says what it says to the pipe `say`.
    """
    pid = os.fork()
    if pid:
        return pid
    code = 1
    with contextlib.suppress(BaseException):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null if say is None else say, 2)
        if slow:
            _atomic.os.fsync = lambda handle: time.sleep(0.2)
        if room is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        code = main(arguments)
        sys.stderr.flush()
    os._exit(code)


def run_whole(arguments):
    """Run a command to its end; return the seconds it took."""
    start = time.monotonic()
    _, status = os.waitpid(child(arguments), 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return time.monotonic() - start


def kill_at_random(arguments, seconds, rng):
    """Run a command and kill it on its way; return whether it was killed."""
    pid = child(arguments, slow=rng.random() < 0.5)
    time.sleep(rng.uniform(0, seconds))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def fill_disk(folder, arguments, output, room):
    """Run a command where the disk is full; return what it says."""
    output.write_text(OLD)
    before = sorted(folder.rglob("*"))
    read, write = os.pipe()
    pid = child(arguments, room=room, say=write)
    os.close(write)
    with os.fdopen(read, errors="replace") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1, (arguments, said)
    assert output.read_text() == OLD, f"{output} was touched"
    assert sorted(folder.rglob("*")) == before, "nothing is left"
    return said


def left_over(folder):
    return [path for path in folder.rglob(".*") if ".part" in path.name]


def is_model(path):
    try:
        load_model(path)
    except InvalidInputError:
        return False
    return True


def attack_file(folder, arguments, output, is_new, times, rng):
    """Kill a command that writes one file again and again."""
    seconds = 1.2 * run_whole(arguments)
    assert is_new(output)
    counts = {"kills": 0, "old": 0, "new": 0, "left": 0}
    while counts["kills"] < times:
        output.write_text(OLD)
        counts["kills"] += kill_at_random(arguments, seconds, rng)
        old = output.read_text(errors="replace") == OLD
        assert old or is_new(output), f"{output} is neither the old file nor the new one"
        counts["old" if old else "new"] += 1
    counts["left"] = len(left_over(folder))
    run_whole(arguments)
    return counts


def forget(folder):
    """Remove what a run has finished."""
    for path in folder.rglob("*.*"):
        if path.is_file() and ".part" not in path.name:
            path.unlink()


def attack_reproduction(folder, arguments, times, rng):
    """Kill runs over the paper's cells, which go on from what is finished."""
    seconds = run_whole(arguments)
    whole = {path: path.read_bytes() for path in folder.rglob("*.json")}
    counts = {"kills": 0, "old": 0, "new": 0, "left": 0}
    while counts["kills"] < times:
        forget(folder)
        (folder / "results.json").write_text(OLD)
        counts["kills"] += kill_at_random(arguments, seconds, rng)
        for path in folder.rglob("*.json"):
            if ".part" in path.name:
                continue
            text = path.read_text()
            if text == OLD:
                counts["old"] += 1
            else:
                json.loads(text)
                counts["new"] += 1
            assert path in whole
    counts["left"] = len(left_over(folder))
    return counts


def warm(*lines):
    """Run commands in this process, so that a child need not import and compile."""
    with (
        Path(os.devnull).open("w") as null,
        contextlib.redirect_stdout(null),
        contextlib.redirect_stderr(null),
    ):
        for line in lines:
            assert main(line) == 0, line


def attack(times, seed=0):
    """Attack every command that writes."""
    warnings.simplefilter("ignore")
    reproduce_command.QUICK = Protocol("short", repetitions=2, folds=2)
    reproduce_command.reproduce = lambda output, **options: reproduce(
        output, **options, methods=["knn"]
    )
    rng = random.Random(seed)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame = load_wine(as_frame=True).frame.iloc[::3]
        frame.to_csv(folder / "wine.csv", index=False)
        table, model, paper = str(folder / "wine.csv"), folder / "wine.ckm", folder / "paper"
        answers, more, picture = (folder / name for name in ("a.csv", "a.parquet", "a.png"))
        fit = ["fit", table, "-t", "class", "-g", "flat", "-o", str(model)]
        predict = ["predict", str(model), table, "--proba", "-o", str(answers)]
        pack = ["predict", str(model), table, "-o", str(more)]
        draw = ["voronoi", table, "--x", "alcohol", "--y", "hue", "-o", str(picture)]
        compute = ["reproduce", "--table", "mixed", "--jobs", "1", "-o", str(paper)]
        warm(fit, predict, draw, compute)
        expected = answers.read_bytes()
        assert expected.count(b"\n") == len(frame) + 1
        found["full disk"] = {
            "fit": fill_disk(folder, [*fit[:-1], str(folder / "b.ckm")], folder / "b.ckm", 600),
            "predict": fill_disk(folder, predict, answers, 600),
            "predict parquet": fill_disk(folder, pack, more, 600),
            "voronoi": fill_disk(folder, draw, picture, 600),
            "reproduce": fill_disk(folder, compute, paper / "results.json", 600),
        }
        found["fit"] = attack_file(folder, fit, model, is_model, times, rng)
        found["predict"] = attack_file(
            folder, predict, answers, lambda path: path.read_bytes() == expected, times, rng
        )
        found["reproduce"] = attack_reproduction(paper, compute, max(times // 2, 1), rng)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.stdout.write(json.dumps(attack(given.times, given.seed)) + "\n")
