"""Run the measurements behind the documents' numbers, and check the documents against them.

    python benchmarks/evidence.py             # run nearly all, two hours: make evidence
    python benchmarks/evidence.py first wide  # run some of it; paper: its own protocol, hours
    python benchmarks/evidence.py --check     # only compare the documents with what was measured

Each measurement's output is kept in ``docs/evidence/NAME.txt``, under its command and its
provenance. ``docs/evidence/claims.toml`` lists what README and documentation say about them: a
text with gaps, and the patterns that find the numbers for the gaps in an output. A claim holds if
the page has the text with these numbers; claims with a ``table`` are the rows of the table between
the page's marks ``<!-- evidence: NAME -->`` and ``<!-- /evidence -->``, and are written there. One
with ``each`` is a claim for each pair of a name, put for NAME in the text, and a pattern, put for
KEY in the patterns.
``docs/evidence.md`` is the table of all claims.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import time
import tomllib
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OUTPUTS = ROOT / "docs" / "evidence"
PAGE = ROOT / "docs" / "evidence.md"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")

RUNS = {
    "start": "tests/snippets.py README.md",
    "first": "benchmarks/bench_first.py",
    "pairwise": "benchmarks/bench_pairwise.py",
    "learning": "benchmarks/bench_learning.py",
    "neighbors": "benchmarks/bench_neighbors.py",
    "vantage": "benchmarks/bench_neighbors.py vantage",
    "diagrams": "benchmarks/bench_diagrams.py",
    "wide": "benchmarks/bench_wide.py --splits 1",
    "large": "benchmarks/bench_large.py million embeddings",
    "dask": "benchmarks/bench_dask.py",
    "explorer": "benchmarks/bench_explorer.py",
    "mds": "benchmarks/bench_mds.py",
    "svm": "benchmarks/bench_svm.py",
    "curvature": "benchmarks/bench_curvature.py numbers labels dissimilarities four time power"
    " shape few",
    "verdicts": "benchmarks/bench_curvature.py verdicts rows maps gamfit real gain --draws 6",
    "meshes": "benchmarks/bench_meshes.py",
    "curved": "examples/plot_truly_curved.py",
    "weak": "benchmarks/bench_weak.py --seeds 2",
    "regression": "benchmarks/bench_regression.py --seeds 1",
    "kernels": "benchmarks/bench_kernels.py",
    "hard": "benchmarks/bench_hard.py",
    "sizes": "benchmarks/bench_sizes.py --tables tables --models kernel boosting"
    " --sizes 250 1000 4000 6000 16000 --figure docs/_static/sizes.svg",
    "growth": "benchmarks/bench_growth.py --picture docs/_static/growth.svg",
    "curved-parts": "benchmarks/bench_curved_parts.py",
    "larger": "benchmarks/bench_classifiers.py keel --rows 4000 --splits 1 --sets banana"
    " contraceptive marketing penbased phoneme ring segment spambase texture titanic twonorm"
    " --methods kernel neighbours 'RBF SVM, cross-validated' 'extra trees (300)'"
    " 'random forest (300)' CatBoost 'histogram boosting'",
    "constants": "benchmarks/bench_constants.py --tables sonar vowel balance diabetes friedman"
    " 'friedman, gaps' --only GAMMAS RIDGES NEIGHBORS",
    "classifiers": "benchmarks/bench_classifiers.py --rows 500",
    "paper": "-m cayleyklein reproduce --full -o docs/_build/paper",
}
"""Name of the output → arguments of Python; the quick ones first."""

ASKED_FOR = ("paper", "sizes")
"""Measurements that run only where they are named: the paper's protocol takes hours, and sizes need
the UCI tables letter and magic in a folder `tables`."""

ALL_CORES = ("first", "large", "dask", "explorer", "kernels")
"""Measurements with as many threads as a user would have; the others run in one."""

MEASURED = ("src", "benchmarks", "examples", "tests", "pyproject.toml")
"""What a measurement depends on."""

HEAD = """\
# Evidence

Every number of README and of this documentation, with the line of output that proves it.
{n} claims on {pages} pages rest on {outputs} measurements; {held} of them hold. Open a claim to
see its proof.

`make evidence` takes the measurements again (two hours on two cores) and writes this page; a
test fails where a page and an output differ. The outputs, each under its command, commit and
versions, are in the repository's folder `docs/evidence`.
"""


class Claim(NamedTuple):
    """A text with numbers on a page, and where the numbers come from."""

    page: str
    table: str | None
    text: str
    proofs: tuple[tuple[str, str], ...]  # output, line
    holds: bool


def provenance() -> str:
    """Say which code was measured, with what and when."""

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    commit = git("describe", "--always", "--abbrev=12")
    if git("status", "--porcelain", "--", *MEASURED):  # documents change as they are written
        commit += ", with changes"
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"cayleyklein {version('cayleyklein')}, commit {commit}, {time.strftime('%Y-%m-%d')}\n"
        f"Python {platform.python_version()}, {versions}; {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )


def measure(name: str) -> None:
    """Run one measurement and keep its output; a failed run leaves the old output."""
    command = RUNS[name]
    print(f"== {name}: python {command}", flush=True)
    one = {} if name in ALL_CORES else {"OMP_NUM_THREADS": "1"}
    limits = "".join(f"{key}={value} " for key, value in one.items())
    head = f"$ {limits}python {command}\n{provenance()}"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *shlex.split(command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | one,
    )
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stdout}\n{done.stderr}")
    OUTPUTS.mkdir(exist_ok=True)
    output = done.stdout.replace(f"{ROOT}/", "")  # where the clone is, nobody needs to know
    took = f"{time.perf_counter() - start:.0f} s"
    (OUTPUTS / f"{name}.txt").write_text(f"{head}; took {took}\n\n{output}", "utf-8")
    print(f"   {took}", flush=True)


def find(output: str, pattern: str) -> tuple[list[float], str]:
    """Return the numbers of a pattern's groups, and the line in which the match ends."""
    path = OUTPUTS / f"{output}.txt"
    if not path.exists():
        raise LookupError(f"docs/evidence/{output}.txt is missing: run evidence.py {output}")
    text = path.read_text("utf-8")
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise LookupError(f"docs/evidence/{output}.txt has nothing like {pattern!r}")
    end = text.find("\n", match.end())
    line = text[text.rfind("\n", 0, match.end()) + 1 : end if end >= 0 else None]
    return [float(number.replace(",", "")) for number in match.groups()], line.strip()


def claims() -> list[Claim]:
    """Return every claim, with the numbers as measured in its text."""
    listed = tomllib.loads((OUTPUTS / "claims.toml").read_text("utf-8"))["claim"]
    found = []
    for entry in listed:
        for name, key in entry.get("each", [["", ""]]):
            numbers: list[float] = []
            proofs = []
            for output, pattern in entry["from"]:
                some, line = find(output, pattern.replace("KEY", key))
                numbers += some
                proofs.append((output, line))
            text = entry["text"].replace("NAME", name).format(*numbers).replace("nan", "none")
            page = " ".join((ROOT / entry["page"]).read_text("utf-8").split())
            holds = " ".join(text.split()) in page
            found.append(Claim(entry["page"], entry.get("table"), text, tuple(proofs), holds))
    return found


def write_tables(found: list[Claim]) -> None:
    """Write the rows of every table of claims into its page, below the table's head."""
    rows: dict[tuple[str, str], list[str]] = {}
    for claim in found:
        if claim.table is not None:
            rows.setdefault((claim.page, claim.table), []).append(claim.text)
    for (page, table), texts in rows.items():
        path = ROOT / page
        body = re.escape(f"<!-- evidence: {table} -->") + r"\n(\|.*\n\|.*\n)(?:\|.*\n)*"
        text, n = re.subn(
            f"({body})(?=<!-- /evidence -->)",
            lambda m, table=table, texts=texts: (
                f"<!-- evidence: {table} -->\n{m[2]}" + "".join(f"{row}\n" for row in texts)
            ),
            path.read_text("utf-8"),
        )
        if n != 1:
            raise LookupError(f"{page} has {n} tables marked <!-- evidence: {table} -->, not one")
        path.write_text(text, "utf-8")


def write_paper() -> None:
    """Write the paper's tables, as they were computed, between their marks in a page."""
    path = ROOT / "docs" / "experiments.md"
    text = path.read_text("utf-8")
    for name in ("exp", "targets", "mixed"):
        table = (ROOT / "docs" / "_build" / "paper" / f"{name}.md").read_text("utf-8")
        start, end = f"<!-- reproduce {name} -->\n", f"<!-- /reproduce {name} -->\n"
        before, *rest = re.split(f"{start}.*?{end}", text, flags=re.DOTALL)
        if len(rest) != 1:
            raise LookupError(f"{path.name} has {len(rest)} places for the table {name}, not one")
        text = before + start + table + end + rest[0]
    path.write_text(text, "utf-8")


def page_of(found: list[Claim]) -> str:
    """Return the claims page by page, each with its proofs folded below it."""
    outputs = {output for claim in found for output, _ in claim.proofs}
    pages = dict.fromkeys(claim.page for claim in found)
    held = sum(claim.holds for claim in found)
    parts = [HEAD.format(n=len(found), pages=len(pages), outputs=len(outputs), held=held)]
    for page in pages:
        own = [claim for claim in found if claim.page == page]
        parts.append(f"\n## {Path(page).name}\n\n" + "\n".join(map(_folded, own)) + "\n")
    return "".join(parts)


def _folded(claim: Claim) -> str:
    """Return a claim as HTML that opens to the lines of output behind it."""

    def cell(text: str) -> str:
        return " ".join(text.strip().strip("|").replace("|", "·").split())

    lines = dict.fromkeys(f"{output}: {cell(line)}" for output, line in claim.proofs)
    said = escape(cell(claim.text.replace("`", "").replace("**", "")))
    return f"<details><summary>{said}</summary><pre>{escape(chr(10).join(lines))}</pre></details>"


def main() -> None:
    """Run what is asked for, then check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.names) - set(RUNS):
        parser.error(f"no measurement is called {', '.join(sorted(unknown))}")
    if not given.check:
        for name in given.names or [name for name in RUNS if name not in ASKED_FOR]:
            measure(name)
    try:
        if not given.check and "paper" in given.names:
            write_paper()
        write_tables(claims())
        found = claims()
    except LookupError as error:
        sys.exit(str(error))
    PAGE.write_text(page_of(found), "utf-8")
    import _figure  # beside this script

    both = [(OUTPUTS / f"{name}.txt").read_text("utf-8") for name in ("classifiers", "verdicts")]
    _figure.draw(*both, ROOT / "docs" / "_static" / "curvature-adds.svg")
    for claim in found:
        if not claim.holds:
            print(f"{claim.page} should say: {claim.text}")
    sys.exit(0 if all(claim.holds for claim in found) else 1)


if __name__ == "__main__":
    main()
