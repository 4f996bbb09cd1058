"""The command reproduce, with a protocol that takes a moment."""

import json

import pytest

from cayleyklein.cli import main
from cayleyklein.experiments import Protocol, reproduce


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Make the run small: two folds, two subsets, two methods."""

    def small(output, **options):
        return reproduce(output, **options, methods=["knn", "flat"])

    monkeypatch.setattr("cayleyklein.experiments.QUICK", Protocol("short", repetitions=2, folds=2))
    monkeypatch.setattr("cayleyklein.experiments.reproduce", small)


def run(*arguments):
    return main(["reproduce", *map(str, arguments), "--jobs", "1"])


def test_writes_everything_and_goes_on(tmp_path, capsys):
    first = tmp_path / "first"
    assert run("--table", "mixed", "-o", first) == 0
    printed = capsys.readouterr().out
    names = {"cells-short", "results.json", "report.html", "mixed.md"}
    assert {path.name for path in first.iterdir()} == names
    assert str((first / "report.html").resolve()) in printed
    assert "sonar" in printed
    assert "0.733" in printed  # the paper's flat sonar

    stamps = {path: path.stat().st_mtime_ns for path in (first / "cells-short").iterdir()}
    assert run("--table", "mixed", "-o", first, "--json") == 0
    assert stamps == {p: p.stat().st_mtime_ns for p in (first / "cells-short").iterdir()}
    found = json.loads(capsys.readouterr().out)
    assert len(found["cells"]) == len(stamps) == 5 * 2
    assert found["tables"] == ["mixed"]


def test_one_data_set(tmp_path, capsys):
    assert run("balance", "-o", tmp_path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {cell["dataset"] for cell in found["cells"]} == {"balance"}
    assert run("balanse", "-o", tmp_path) == 1
    assert "Did you mean 'balance'?" in capsys.readouterr().err


def test_what_cannot_be_written_is_said_before_the_work(tmp_path, monkeypatch, capsys):
    def never(*_, **__):
        raise AssertionError("it has begun")

    monkeypatch.setattr("cayleyklein.experiments.reproduce", never)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert run("-o", tmp_path / "file") == 1
    assert "file" in capsys.readouterr().err


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cayleyklein.experiments.reproduce", interrupted)
    assert run("-o", tmp_path) == 130
    assert "continues from them" in capsys.readouterr().err


def test_wrong_options(tmp_path, capsys):
    assert run("--table", "third", "-o", tmp_path) == 2
    assert "third" in capsys.readouterr().err
