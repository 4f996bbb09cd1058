"""The numbers of README and documentation are those that were measured."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

spec = importlib.util.spec_from_file_location("evidence", ROOT / "benchmarks" / "evidence.py")
evidence = importlib.util.module_from_spec(spec)
spec.loader.exec_module(evidence)
CLAIMS = evidence.claims()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.text[:40]}")
def test_page_says_what_was_measured(claim):
    assert claim.holds, f"{claim.page} should say: {claim.text}"


def test_every_number_of_the_readmes_tables_is_claimed():
    """A row with a number in it is the text of a claim, or links to something."""
    readme = (ROOT / "README.md").read_text("utf-8")
    claimed = {claim.text.strip() for claim in CLAIMS if claim.page == "README.md"}
    rows = [line for line in readme.splitlines() if line.startswith("|") and re.search(r"\d", line)]
    assert not [row for row in rows if row.strip() not in claimed and "](" not in row]


def test_page_of_claims_is_up_to_date():
    assert evidence.PAGE.read_text("utf-8") == evidence.page_of(CLAIMS)


def test_tables_of_the_paper_go_between_their_marks(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    page, paper = tmp_path / "docs" / "experiments.md", tmp_path / "docs" / "_build" / "paper"
    paper.mkdir(parents=True)
    names = ("exp", "targets", "mixed")
    for name in names:
        (paper / f"{name}.md").write_text(f"| {name} \\1 |\n")

    def marked(content):
        parts = (f"<!-- reproduce {n} -->\n{content(n)}<!-- /reproduce {n} -->\n" for n in names)
        return "\nbetween\n".join(parts)

    page.write_text(marked(lambda _: "out of\ndate\n"))
    evidence.write_paper()
    assert page.read_text() == marked(lambda name: f"| {name} \\1 |\n")
    page.write_text(marked(lambda _: "").replace("/reproduce mixed", ""))
    with pytest.raises(LookupError, match="0 places for the table mixed"):
        evidence.write_paper()


def test_outputs_say_where_they_come_from():
    for output in (ROOT / "docs" / "evidence").glob("*.txt"):
        command, code, versions = output.read_text("utf-8").splitlines()[:3]
        assert re.match(r"\$ (OMP_NUM_THREADS=1 )?python \S", command), output
        assert re.match(r"cayleyklein \S+, commit [0-9a-f]{12}, \d{4}-\d\d-\d\d$", code), output
        assert versions.startswith("Python "), output
