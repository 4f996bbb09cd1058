"""The command compare on small data."""

import inspect
import json

import numpy as np
import pytest
from tests.experiments.pages import external_references

from cayleyklein.cli import main
from cayleyklein.cli._console import Console
from cayleyklein.cli._experiments import table_text
from cayleyklein.experiments import compare
from cayleyklein.experiments.page import ReportTable


def run(*arguments):
    return main(["compare", *map(str, arguments), "--jobs", "1"])


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal(2 * (i % 2)):.3f},{rng.normal():.3f},{'ab'[i % 2]}" for i in range(60)]
    path = tmp_path / "points.csv"
    path.write_text("\n".join(["x,y,kind", *lines]) + "\n")
    return path


def test_tables_a_verdict_report_and_python(table, tmp_path, capsys):
    report = tmp_path / "report.html"
    assert run(table, "--target", "kind", "--drop", "y", "--splits", 2, "-o", report) == 0
    printed = capsys.readouterr().out
    for title in ("standardised k-NN", "flat LMNN", "elliptic", "hyperbolic", "mixed", "NCA"):
        assert title in printed
    assert "60 rows, 1 columns, 2 classes" in printed
    assert "drop=['y']" in printed
    assert "Best mean rank: " in printed
    assert "Curvature of 60 rows: " in printed
    assert str(report.resolve()) in printed
    assert not external_references(report.read_text("utf-8"))
    compile(printed.split("The same in Python:")[1], "lines", "exec")
    assert "\x1b[" not in printed  # no colour where there is no terminal


def test_long_work_says_how_far_it_is_in_a_log(monkeypatch, capsys):
    clock = iter([0.0, 4.0, 8.0, 12.0, 40.0, 400.0])
    monkeypatch.setattr("cayleyklein.cli._console.time.monotonic", lambda: next(clock))
    with Console().progress("computing") as show:
        for done in (2, 4, 5, 6, 10):
            show(done, 10, "a cell")
    said = capsys.readouterr()
    lines = ["computing: 4 of 10, about 24 s left", "computing: 6 of 10, about 40 s left"]
    assert said.err.splitlines() == lines
    assert said.out == ""


def test_json_is_for_machines(table, tmp_path, capsys):
    assert run(table, "--target", "kind", "--splits", 2, "--json", "--no-report") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["report"] is None
    assert [d["name"] for d in found["datasets"]] == ["points.csv"]
    assert {r["dataset"] for r in found["results"]} == {"points.csv"}
    assert list(tmp_path.iterdir()) == [table]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wnie"], "Did you mean 'wine'"),
        (["wine", "--splits", "1"], "at least 2 splits"),
        (["wine", "-k", "0"], "n_neighbors=0"),
        (["wine", "--test-size", "2"], "test_size=2.0"),
    ],
)
def test_errors_are_one_sentence_that_helps(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 1
    said = capsys.readouterr()
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,u\n", "few.csv has 0 classes with two rows or more in 'y'"),
        ("1,u\n2,u\n3,v\n", "few.csv has 1 classes with two rows or more in 'y'"),
    ],
)
def test_too_few_rows(rows, message, tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text(f"a,y\n{rows}")
    assert run(path, "--target", "y", "--no-report") == 1
    assert message in capsys.readouterr().err


def test_no_jobs(capsys):
    for name in ("compare", "reproduce"):
        assert main([name, "-j", "0"]) == 2
        assert "give 1 or more" in capsys.readouterr().err


def test_a_file_without_its_target(table, capsys):
    assert run(table) == 1
    assert "--target" in capsys.readouterr().err
    assert run(table, "--target", "knd") == 1
    assert "Did you mean 'kind'" in capsys.readouterr().err


def test_what_cannot_be_written_is_said_before_the_work(table, tmp_path, capsys):
    before = table.read_text()
    for output, message in [(table, "is an input"), (tmp_path, "is a directory")]:
        assert run(table, "--target", "nothing", "-o", output) == 1
        assert message in capsys.readouterr().err
    assert table.read_text() == before


def test_help_names_the_default_data(capsys):
    default = inspect.signature(compare).parameters["data"].default
    assert main(["compare", "--help"]) == 0
    assert f"({' '.join(default)})" in " ".join(capsys.readouterr().out.split())


def test_a_star_for_evidence_and_no_markup():
    printed = table_text(ReportTable("[c]", ("[a]", "b"), [["**[bold]x**", "**[1, 2]**"]]))
    assert [line.split() for line in printed.splitlines() if "[" in line] == [
        ["[c]"],
        ["[a]", "b"],
        ["[bold]x", "[1,", "2]", "*"],
    ]


def test_bold_reaches_a_terminal_and_codes_in_a_name_do_not(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    text = table_text(ReportTable("c\x1b[2J", ("method", "accuracy"), [["a\x1b[2J", "**1 ▲**"]]))
    assert "\x1b[1m   1 ▲ *" in text
    assert "\x1b[2J" not in text
    assert text.count("\\x1b[2J") == 2
