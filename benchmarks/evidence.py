"""Run the measurements behind the documents' numbers, and check the documents against them.

    python benchmarks/evidence.py             # take again what has changed: make evidence
    python benchmarks/evidence.py first wide  # of these only; paper: its own protocol, hours
    python benchmarks/evidence.py --status    # say what would be taken again
    python benchmarks/evidence.py --quick     # check claims at lower precision, record nothing
    python benchmarks/evidence.py --check     # only compare the documents with what was measured

Each measurement's output is kept in ``docs/evidence/NAME.txt``, under its command, its provenance
and a digest of its sources (``_sources.py``). It is taken again if the digest has changed since, or
always with ``--again``. Measurements that use one thread run two at a time. A run that was
interrupted goes on with what is left. What the documents claim is in ``docs/evidence/claims.toml``,
see ``_claims.py``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import _claims
import _sources

ROOT = Path(__file__).parents[1]
OUTPUTS = ROOT / "docs" / "evidence"
QUICK_OUTPUTS = ROOT / "docs" / "_build" / "evidence"
PAGE = ROOT / "docs" / "evidence.md"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")

RUNS = {
    "first": "benchmarks/bench_first.py",
    "pairwise": "benchmarks/bench_pairwise.py",
    "learning": "benchmarks/bench_learning.py",
    "neighbors": "benchmarks/bench_neighbors.py",
    "vantage": "benchmarks/bench_neighbors.py vantage",
    "diagrams": "benchmarks/bench_diagrams.py",
    "wide": "benchmarks/bench_wide.py --splits 1",
    "large": "benchmarks/bench_large.py million embeddings",
    "dask": "benchmarks/bench_dask.py --models neighbours",
    "dask-kernel": "benchmarks/bench_dask.py predict-large --models kernel --rows 500000",
    "explorer": "benchmarks/bench_explorer.py",
    "mds": "benchmarks/bench_mds.py",
    "svm": "benchmarks/bench_svm.py",
    "curvature": "benchmarks/bench_curvature.py numbers labels dissimilarities four time power"
    " shape few",
    "verdicts": "benchmarks/bench_curvature.py verdicts rows maps gamfit real gain --draws 6",
    "meshes": "benchmarks/bench_meshes.py",
    "nature": "benchmarks/bench_nature.py",
    "recipes": "benchmarks/bench_recipes.py",
    "curved": "examples/plot_truly_curved.py",
    "weak": "benchmarks/bench_weak.py --seeds 2",
    "regression": "benchmarks/bench_regression.py --seeds 1",
    "kernels": "benchmarks/bench_kernels.py",
    "hard": "benchmarks/bench_hard.py",
    "sizes": "benchmarks/bench_sizes.py --tables tables --mixed mixed"
    " --sizes 250 1000 4000 6000 16000 --models kernel neighbours boosting forest catboost"
    " --figure docs/_static/sizes.svg",
    "growth": "benchmarks/bench_growth.py --picture docs/_static/growth.svg",
    "curved-parts": "benchmarks/bench_curved_parts.py",
    "larger": "benchmarks/bench_classifiers.py keel --rows 4000 --splits 1 --sets banana"
    " contraceptive marketing penbased phoneme ring segment spambase texture titanic twonorm"
    " --methods kernel neighbours 'RBF SVM, cross-validated' 'extra trees (300)'"
    " 'random forest (300)' CatBoost 'histogram boosting'",
    "constants": "benchmarks/bench_constants.py --tables sonar vowel balance diabetes friedman"
    " 'friedman, gaps' --only GAMMAS RIDGES NEIGHBORS LABEL_NEIGHBORS NUMBER_NEIGHBORS NEAR"
    " LEAST_SCALE TIE N_FOLDS SKEWED CLIPPED_AT LEAST_SHRINKAGE TELLING",
    "classifiers": "benchmarks/bench_classifiers.py --rows 500",
    "messy": "benchmarks/bench_messy.py --folder mixed --rows 500 1500 4000 --splits 3",
    "paper": "-m cayleyklein reproduce --full -o docs/_build/paper",
}
"""Name of the output → arguments of Python; the quick ones first."""

ASKED_FOR = {
    "paper": None,  # its own protocol, hours
    "curvature": None,  # coverage of intervals of K, 40 minutes
    "verdicts": None,  # counts of verdicts, an hour
    "constants": None,
    "sizes": ROOT / "tables",  # the UCI tables letter and magic
    "messy": ROOT / "mixed",  # real mixed tables
    "nature": None,  # with networkx and geomstats, which holds NumPy back
    "recipes": None,  # with umap-learn
}
"""Measurements that run only where they are named, and the folder of tables that they need."""

ALL_CORES = ("first", "large", "dask", "dask-kernel", "explorer", "kernels")
"""Measurements with as many threads as a user would have; the others run in one, two at a time."""

MEASURED = ("src", "benchmarks", "examples", "tests", "pyproject.toml")
"""What a measurement depends on."""


class Quick(NamedTuple):
    """How claims are checked at lower precision: arguments, and sizes read as the recorded ones."""

    command: str
    kind: _claims.Kind = "same"
    read_as: dict[str, str] = {}  # noqa: RUF012


QUICK = {
    "first": Quick("benchmarks/bench_first.py --repeats 1"),
    "pairwise": Quick("benchmarks/bench_pairwise.py"),
    "learning": Quick("benchmarks/bench_learning.py --rounds 1"),
    "neighbors": Quick("benchmarks/bench_neighbors.py brute tree"),
    "vantage": Quick("benchmarks/bench_neighbors.py vantage"),
    "diagrams": Quick("benchmarks/bench_diagrams.py --repeats 1"),
    "wide": Quick("benchmarks/bench_wide.py cost"),
    "large": Quick(
        "benchmarks/bench_large.py million embeddings --share 0.02",
        "others",
        {"20,000 × 50": "1,000,000 × 50", "960 × 384": "48,000 × 384"},
    ),
    "dask": Quick(
        "benchmarks/bench_dask.py --rows 200000 --repeats 1 --models neighbours", "smaller"
    ),
    "dask-kernel": Quick(
        "benchmarks/bench_dask.py predict-large --models kernel --rows 200000", "smaller"
    ),
    "mds": Quick("benchmarks/bench_mds.py 500 1000", "smaller", {"1000 rows": "2000 rows"}),
    "svm": Quick("benchmarks/bench_svm.py --draws 1"),
    "meshes": Quick("benchmarks/bench_meshes.py --repeats 1"),
    "nature": Quick(
        "benchmarks/bench_nature.py --small",
        True,
        {
            "10,000 places": "100,000 places",
            "1,000 points": "10,000 points",
            "1,000 nodes": "10,000 nodes",
            "2,000 rows": "20,000 rows",
        },
    ),
    "recipes": Quick("benchmarks/bench_recipes.py 1000", True, {"1000 rows": "2000 rows"}),
    "curved": Quick("examples/plot_truly_curved.py"),
    "weak": Quick("benchmarks/bench_weak.py sets --seeds 1"),
    "regression": Quick("benchmarks/bench_regression.py --seeds 1 --rows 150", "smaller"),
    "kernels": Quick(
        "benchmarks/bench_kernels.py 20000x50", "smaller", {"20,000 × 50": "1,000,000 × 50"}
    ),
    "hard": Quick(
        "benchmarks/bench_hard.py --draws 1 --problems 'nested Gaussians' rules '5 of 100 columns'"
        " 'Cauchy columns' '25 % label noise' '3 % minority' 'n = 20' 'n = 40'",
        "smaller",
    ),
    "sizes": Quick(
        "benchmarks/bench_sizes.py --tables tables --models kernel boosting --sizes 250 1000 4000"
    ),
    "growth": Quick(
        "benchmarks/bench_growth.py --rows 500 8000 --columns 5 20"
        " --only CurvedKNeighborsClassifier CurvedKernelClassifier CurvedKernelRegressor",
        "smaller",
        {"8,000 × 20": "100,000 × 20"},
    ),
    "curved-parts": Quick(
        "benchmarks/bench_curved_parts.py --splits 1 --rows 150"
        " --sets wine sonar iris australian heart wisconsin",
        "others",
        {"150 rows": "500 rows"},
    ),
    "larger": Quick(
        "benchmarks/bench_classifiers.py keel --rows 1000 --splits 1"
        " --sets banana phoneme segment twonorm"
        " --methods kernel neighbours 'RBF SVM, cross-validated' 'extra trees (300)'"
        " 'random forest (300)' CatBoost 'histogram boosting'",
        "others",
        {"1000 rows": "4000 rows"},
    ),
    "classifiers": Quick("benchmarks/bench_classifiers.py --rows 500 --splits 1"),
    "messy": Quick("benchmarks/bench_messy.py --folder mixed --rows 1500 --splits 1"),
}
"""Of every measurement that a claim rests on."""


class Measurement(NamedTuple):
    """A command, and the file that its output goes to."""

    name: str
    command: str
    folder: Path
    read_as: dict[str, str]

    @property
    def path(self) -> Path:
        """Its output."""
        return self.folder / f"{self.name}.txt"

    @property
    def alone(self) -> bool:
        """Whether it takes all cores."""
        return self.name in ALL_CORES

    def digest(self) -> str:
        """Return the digest of what it depends on."""
        return _sources.digest(self.command, ROOT)

    def changed(self) -> bool:
        """Whether its sources are not those of its output, or there is none."""
        if not self.path.exists():
            return True
        head = "".join(self.path.read_text("utf-8").splitlines(keepends=True)[:3])
        found = re.search(r"; sources ([0-9a-f]{12})$", head, re.M)
        return found is None or found[1] != self.digest()


def provenance() -> str:
    """Say which code was measured, with what and when."""

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    commit = git("describe", "--always", "--exclude=*", "--abbrev=12")
    if git("status", "--porcelain", "--", *MEASURED):  # documents change as they are written
        commit += ", with changes"
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"cayleyklein {version('cayleyklein')}, commit {commit}, {time.strftime('%Y-%m-%d')}\n"
        f"Python {platform.python_version()}, {versions}; {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )


class Running:
    """A measurement that is being taken; its output is written when it is whole."""

    def __init__(self, what: Measurement) -> None:
        self.what = what
        one = {} if what.alone else {"OMP_NUM_THREADS": "1"}
        limits = "".join(f"{key}={value} " for key, value in one.items())
        self.head = f"$ {limits}python {what.command}\n{provenance()}"
        self.digest = what.digest()
        what.folder.mkdir(parents=True, exist_ok=True)
        self.part = what.path.with_suffix(".part")
        self.errors = what.path.with_suffix(".errors")
        self.start = time.perf_counter()
        with self.part.open("w") as output, self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *shlex.split(what.command)],
                cwd=ROOT,
                stdout=output,
                stderr=errors,
                env=os.environ | one,
                start_new_session=True,  # its own processes end with it
            )

    def finish(self, cpu: float) -> str | None:
        """Keep the output, or return what is wrong; a failed run leaves the old output."""
        text, errors = self.part.read_text("utf-8"), self.errors.read_text("utf-8")
        self.drop()
        if self.process.returncode:
            return f"{self.what.name} failed:\n{text[-2000:]}\n{errors[-4000:]}"
        text = text.replace(f"{ROOT}/", "")  # where the clone is, nobody needs to know
        if self.what.read_as:
            sizes = "|".join(map(re.escape, self.what.read_as))
            alone = re.compile(rf"(?<![\d,])(?:{sizes})")
            text = alone.sub(lambda match: self.what.read_as[match[0]], text)
        took = f"{time.perf_counter() - self.start:.0f} s"
        whole = f"{self.head}; took {took}; sources {self.digest}\n\n{text}"
        new = self.what.path.with_suffix(".new")
        new.write_text(whole, "utf-8")
        new.replace(self.what.path)
        print(f"   {self.what.name} took {took}, {cpu:.0f} CPU s", flush=True)
        return None

    def stop(self) -> None:
        """End it, and what it started."""
        if self.process.poll() is None:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGTERM)
            else:  # on Windows
                self.process.terminate()
            self.process.wait()
        self.drop()

    def drop(self) -> None:
        """Remove what is not whole."""
        self.part.unlink(missing_ok=True)
        self.errors.unlink(missing_ok=True)


def children_seconds() -> float:
    """Return the CPU seconds of ended processes that this one started; their own ones count."""
    times = os.times()
    return times.children_user + times.children_system


def take(waiting: list[Measurement], jobs: int) -> list[str]:
    """Take measurements, those with one thread side by side; return what went wrong."""
    waiting = sorted(waiting, key=lambda each: not each.alone)
    running: list[Running] = []
    failed = []
    try:
        while waiting or running:
            if waiting and len(running) < (1 if waiting[0].alone else jobs):
                print(f"== {waiting[0].name}: python {waiting[0].command}", flush=True)
                running.append(Running(waiting.pop(0)))
                continue
            time.sleep(0.1)
            for each in list(running):
                before = children_seconds()
                if each.process.poll() is not None:
                    running.remove(each)
                    if problem := each.finish(children_seconds() - before):
                        print(problem.partition("\n")[0], flush=True)
                        failed.append(problem)
    finally:
        for each in running:
            each.stop()
    return failed


def check_quickly(failed: list[str]) -> int:
    """Print which claims the quick runs contradict, and return the exit code."""
    for name, quick in QUICK.items():  # what was measured of other code says nothing of this one
        if (old := Measurement(name, quick.command, QUICK_OUTPUTS, {})).changed():
            old.path.unlink(missing_ok=True)
    kinds = {name: quick.kind for name, quick in QUICK.items()}
    found = _claims.compare(ROOT, OUTPUTS, QUICK_OUTPUTS, kinds)
    for problem in failed:
        print(problem)
    for title, listed in (
        ("not measured at this level", found.silent),
        ("CONTRADICTED by the quick runs", found.wrong),
    ):
        if listed:
            print(f"\n{title}:", *listed, sep="\n  ")
    print(
        f"\n{found.n_right} claims agree, {len(found.wrong)} do not, {found.n_others} are about "
        f"other tables than those of the quick runs, {len(found.silent)} were not measured."
    )
    return 1 if found.wrong or failed else 0


def write_documents(given: argparse.Namespace, failed: list[str]) -> int:
    """Write tables, the page of claims and the figure; print what the documents should say."""
    if not given.check and "paper" in given.names:
        _claims.write_paper(ROOT)
    _claims.write_tables(ROOT, _claims.claims(ROOT, OUTPUTS))
    found = _claims.claims(ROOT, OUTPUTS)
    PAGE.write_text(_claims.page_of(found), "utf-8")
    import _figure  # which imports Matplotlib

    both = [(OUTPUTS / f"{name}.txt").read_text("utf-8") for name in ("classifiers", "verdicts")]
    _figure.draw(*both, ROOT / "docs" / "_static" / "curvature-adds.svg")
    for claim in found:
        if not claim.right:
            print(f"{claim.page} may no longer say: {claim.text}")
        elif not claim.said:
            print(f"{claim.page} should say: {claim.text}")
    for problem in failed:
        print(problem)
    return 0 if all(claim.holds for claim in found) and not failed else 1


def chosen(given: argparse.Namespace) -> list[Measurement]:
    """Return the measurements that are asked for, whether changed or not."""
    runs = {name: quick.command for name, quick in QUICK.items()} if given.quick else RUNS
    if unknown := set(given.names) - set(runs):
        sys.exit(f"No measurement is called {', '.join(sorted(unknown))}: {', '.join(runs)}.")
    names = given.names or [
        name
        for name in runs
        if name not in ASKED_FOR
        or (given.quick and (tables := ASKED_FOR[name]) is not None and tables.is_dir())
    ]
    folder = QUICK_OUTPUTS if given.quick else OUTPUTS
    return [
        Measurement(name, runs[name], folder, QUICK[name].read_as if given.quick else {})
        for name in names
    ]


def main() -> int:
    """Run what is asked for and has changed, then check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--check", action="store_true", help="take no measurement")
    parser.add_argument("--status", action="store_true", help="only say what has changed")
    parser.add_argument("--quick", action="store_true", help="lower precision, record nothing")
    parser.add_argument("--again", action="store_true", help="whether it has changed or not")
    parser.add_argument("--jobs", type=int, default=2, help="of one thread at a time")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as by Ctrl-C: end what was started
    asked = chosen(given)
    changed = [each for each in asked if given.again or each.changed()]
    if given.status:
        print("changed:", *([each.name for each in changed] or ["nothing"]))
        return 0
    try:
        failed = [] if given.check else take(changed, given.jobs)
        if given.quick:
            return check_quickly(failed)
        return write_documents(given, failed)
    except LookupError as error:
        print(error)
        return 1
    except KeyboardInterrupt:
        print("Interrupted: the same command goes on with what is left.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
