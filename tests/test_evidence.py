"""The numbers of README and documentation are those that were measured, and how they are taken."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))  # whose scripts import each other by name

import _claims  # noqa: E402
import _sources  # noqa: E402
import evidence  # noqa: E402

CLAIMS = _claims.claims(ROOT, evidence.OUTPUTS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.text[:40]}")
def test_page_says_what_was_measured(claim):
    assert claim.right, f"{claim.page} may no longer say: {claim.text}"
    assert claim.said, f"{claim.page} should say: {claim.text}"


def test_every_number_of_the_readmes_tables_is_claimed():
    """A row with a number in it is the text of a claim, or links to something, or is a head."""
    readme = re.sub(r"^\|.*\n(?=\|---)", "", (ROOT / "README.md").read_text("utf-8"), flags=re.M)
    claimed = {claim.text.strip() for claim in CLAIMS if claim.page == "README.md"}
    rows = [line for line in readme.splitlines() if line.startswith("|") and re.search(r"\d", line)]
    assert not [row for row in rows if row.strip() not in claimed and "](" not in row]


def test_page_of_claims_is_up_to_date():
    assert evidence.PAGE.read_text("utf-8") == _claims.page_of(CLAIMS)


def test_tables_of_the_paper_go_between_their_marks(tmp_path):
    page, paper = tmp_path / "docs" / "experiments.md", tmp_path / "docs" / "_build" / "paper"
    paper.mkdir(parents=True)
    names = ("exp", "targets", "mixed")
    for name in names:
        (paper / f"{name}.md").write_text(f"| {name} \\1 |\n")

    def marked(content):
        parts = (f"<!-- reproduce {n} -->\n{content(n)}<!-- /reproduce {n} -->\n" for n in names)
        return "\nbetween\n".join(parts)

    page.write_text(marked(lambda _: "out of\ndate\n"))
    _claims.write_paper(tmp_path)
    assert page.read_text() == marked(lambda name: f"| {name} \\1 |\n")
    page.write_text(marked(lambda _: "").replace("/reproduce mixed", ""))
    with pytest.raises(LookupError, match="0 places for the table mixed"):
        _claims.write_paper(tmp_path)


def test_outputs_say_where_they_come_from():
    for output in (ROOT / "docs" / "evidence").glob("*.txt"):
        command, code, versions = output.read_text("utf-8").splitlines()[:3]
        assert re.match(r"\$ (OMP_NUM_THREADS=1 )?python \S", command), output
        assert re.match(r"cayleyklein \S+, commit [0-9a-f]{12}, \d{4}-\d\d-\d\d$", code), output
        assert versions.startswith("Python "), output


def test_every_claim_can_be_checked_quickly():
    outputs = {output for claim in CLAIMS for output, _ in claim.proofs}
    assert outputs <= evidence.QUICK.keys() | {"paper"}
    assert evidence.QUICK.keys() <= evidence.RUNS.keys()


def test_commands_name_scripts_that_reach_the_library():
    for command in evidence.RUNS.values():
        assert len(_sources.sources(command, ROOT)) > 5, command


# -- what has changed, on a repository of stand-ins ------------------------------------------------

IMPORTS = "from cayleyklein import (\n    Metric,  # (one)\n)\n"
FILES = {
    "src/cayleyklein/__init__.py": "from cayleyklein.metrics import Metric, Other\n",
    "src/cayleyklein/metrics/__init__.py": "from cayleyklein.metrics.plain import Metric, Other\n",
    "src/cayleyklein/metrics/plain.py": '"""Measure."""\nfrom cayleyklein import geometry\n'
    "Metric = Other = 1\n",
    "src/cayleyklein/geometry/__init__.py": "import cayleyklein.plotting.cards\nSPACE = 1\n",
    "src/cayleyklein/plotting/__init__.py": "",
    "src/cayleyklein/plotting/cards.py": "COLOUR = 1\n",
    "src/cayleyklein/svm/__init__.py": "C = 1\n",
    "benchmarks/_timing.py": "REPEATS = 3\n",
    "benchmarks/bench_metric.py": f"import _timing\n{IMPORTS}print('ours 0.500, peer 0.400')\n",
    "benchmarks/bench_svm.py": "CODE = 'from cayleyklein.svm import SVC'\nprint('svm 90 s')\n",
}


@pytest.fixture
def stand_ins(tmp_path, monkeypatch):
    """Make a repository with two measurements, and a page that makes two claims."""
    root = tmp_path / "repository"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "docs" / "evidence").mkdir(parents=True)
    (root / "docs" / "evidence" / "claims.toml").write_text(
        """
        [[claim]]
        page = "docs/page.md"
        text = "ours {0:.3f} beats {1:.3f}"
        where = "n[0] > n[1]"
        from = [["metric", 'ours ([\\d.]+), peer ([\\d.]+)']]
        [[claim]]
        page = "docs/page.md"
        text = "in {0:.0f} s"
        from = [["svm", 'svm (\\d+) s']]
        """
    )
    (root / "docs" / "page.md").write_text("ours 0.500 beats\n0.400 in 90 s\n")
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    monkeypatch.setattr(evidence, "ROOT", root)
    monkeypatch.setattr(evidence, "provenance", lambda: "cayleyklein 1\nPython 3")
    _sources.read_again()
    return root


def measurements(root, folder="docs/evidence", **read_as):
    return [
        evidence.Measurement(name, f"benchmarks/bench_{name}.py", root / folder, read_as)
        for name in ("metric", "svm")
    ]


def changed(root):
    return [each.name for each in measurements(root) if each.changed()]


def edit(root, name, old, new):
    path = root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    _sources.read_again()  # a file of this process does not change otherwise


def test_what_has_changed_is_taken_again(stand_ins):
    assert changed(stand_ins) == ["metric", "svm"]
    assert evidence.take(measurements(stand_ins), 2) == []
    assert changed(stand_ins) == []
    assert "took 0 s; sources " in (stand_ins / "docs/evidence/metric.txt").read_text()
    edit(stand_ins, "src/cayleyklein/metrics/plain.py", "Measure", "Say how far")
    edit(stand_ins, "benchmarks/_timing.py", "3\n", "3  # odd\n\n")
    edit(stand_ins, "src/cayleyklein/plotting/cards.py", "1", "2")
    assert changed(stand_ins) == []  # neither comments nor pictures count
    edit(stand_ins, "src/cayleyklein/geometry/__init__.py", "SPACE = 1", "SPACE = 2")
    assert changed(stand_ins) == ["metric"]
    edit(stand_ins, "src/cayleyklein/geometry/__init__.py", "SPACE = 2", "SPACE = 1")
    assert changed(stand_ins) == []
    edit(stand_ins, "benchmarks/_timing.py", "3 ", "4 ")
    edit(stand_ins, "src/cayleyklein/svm/__init__.py", "C = 1", "C = 2")
    assert changed(stand_ins) == ["metric", "svm"]


def test_a_failure_leaves_the_old_output_and_stops_nothing_else(stand_ins):
    evidence.take(measurements(stand_ins), 1)
    old = (stand_ins / "docs/evidence/metric.txt").read_text()
    edit(stand_ins, "benchmarks/bench_metric.py", "import _timing", "1 / 0")
    edit(stand_ins, "benchmarks/bench_svm.py", "svm 90 s", "svm 4 s")
    (problem,) = evidence.take(measurements(stand_ins), 2)
    assert problem.startswith("metric failed:")
    assert "ZeroDivisionError" in problem
    assert (stand_ins / "docs/evidence/metric.txt").read_text() == old
    assert changed(stand_ins) == ["metric"]
    assert "svm 4 s" in (stand_ins / "docs/evidence/svm.txt").read_text()


def test_an_interrupted_run_goes_on_with_what_is_left(stand_ins, monkeypatch):
    edit(stand_ins, "benchmarks/bench_svm.py", "print(", "import time; time.sleep(99); print(")
    sleep = evidence.time.sleep

    def interrupt(seconds):
        if changed(stand_ins) == ["svm"]:
            raise KeyboardInterrupt
        sleep(seconds)

    monkeypatch.setattr(evidence.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        evidence.take(measurements(stand_ins), 2)
    assert changed(stand_ins) == ["svm"]
    found = {path.name for path in (stand_ins / "docs" / "evidence").iterdir()}
    assert found == {"claims.toml", "metric.txt"}  # and nothing half-written


def test_a_quick_run_contradicts_claims_and_leaves_records_alone(stand_ins):
    recorded, quick = stand_ins / "docs" / "evidence", stand_ins / "docs" / "_build"
    evidence.take(measurements(stand_ins), 2)
    before = {path.name: path.read_text() for path in recorded.iterdir()}

    def compare(kind="same"):
        assert evidence.take(measurements(stand_ins, "docs/_build"), 2) == []
        return _claims.compare(stand_ins, recorded, quick, {"metric": kind, "svm": kind})

    assert compare() == ([], [], 2, 0)
    edit(stand_ins, "benchmarks/bench_metric.py", "0.400", "0.440")
    edit(stand_ins, "benchmarks/bench_svm.py", "svm 90 s", "svm 30 s")
    found = compare()
    assert ["90 was 30" in line for line in found.wrong] == [True]  # it has changed
    assert found[1:] == ([], 1, 0)
    assert compare("smaller") == ([], [], 2, 0)  # of course it is, of fewer rows
    edit(stand_ins, "benchmarks/bench_metric.py", "0.440", "0.510")
    edit(stand_ins, "benchmarks/bench_svm.py", "svm 30 s", "nothing")
    (wrong,), (silent,), *counts = compare("smaller")
    assert "0.400 was 0.510; not true: n[0] > n[1]" in wrong
    assert "svm.txt has nothing like" in silent
    assert counts == [0, 0]
    edit(stand_ins, "benchmarks/bench_svm.py", "nothing", "svm 5 s")
    ((wrong,), _, *counts) = compare("others")
    assert "quick run: not true: n[0] > n[1]" in wrong
    assert counts == [0, 1]
    assert before == {path.name: path.read_text() for path in recorded.iterdir()}


def test_quick_outputs_of_other_code_are_dropped(stand_ins, monkeypatch, capsys):
    kept = stand_ins / "docs" / "_build"
    monkeypatch.setattr(evidence, "OUTPUTS", stand_ins / "docs" / "evidence")
    monkeypatch.setattr(evidence, "QUICK_OUTPUTS", kept)
    quick = {each.name: evidence.Quick(each.command) for each in measurements(stand_ins)}
    monkeypatch.setattr(evidence, "QUICK", quick)
    for folder in ("docs/evidence", "docs/_build"):
        evidence.take(measurements(stand_ins, folder), 2)
    assert evidence.check_quickly([]) == 0
    assert "2 claims agree, 0 do not, 0 are" in capsys.readouterr().out
    edit(stand_ins, "src/cayleyklein/svm/__init__.py", "C = 1", "C = 2")
    evidence.check_quickly([])
    assert "1 were not measured" in capsys.readouterr().out
    assert [path.name for path in kept.iterdir()] == ["metric.txt"]


def test_sizes_are_read_as_the_recorded_ones(stand_ins):
    edit(stand_ins, "benchmarks/bench_svm.py", "svm 90 s", "10 rows, 100 rows, 110 rows")
    named = {"10 rows": "100 rows", "100 rows": "1,000 rows"}
    evidence.take(measurements(stand_ins, "docs/_build", **named)[1:], 1)
    text = (stand_ins / "docs" / "_build" / "svm.txt").read_text()
    assert text.endswith("\n100 rows, 1,000 rows, 110 rows\n")


@pytest.mark.parametrize(
    ("recorded", "quick", "digits", "smaller", "expected"),
    [
        (0.83, 0.86, 3, False, True),
        (0.83, 0.89, 3, False, False),
        (0.83, 0.89, 3, True, True),
        (4.0, 2.1, 2, False, True),
        (4.0, 1.9, 2, False, False),
        (4.0, 8.1, 2, True, False),
        (4.0, 0.1, 2, True, True),
        (0.01, 0.1, 2, False, True),  # what the page shows is hardly finer
        (float("nan"), float("nan"), 3, False, True),
        (float("nan"), 0.5, 3, True, False),
    ],
)
def test_when_numbers_agree(recorded, quick, digits, smaller, expected):
    assert _claims.agree(recorded, quick, digits, smaller) is expected
