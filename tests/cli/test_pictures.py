from pathlib import Path

import pytest

from cayleyklein.cli import _experiments

POINTS = "a,b,kind\n" + "\n".join(f"{x},{x * x % 7},{'u' if x % 3 else 'v'}" for x in range(12))


@pytest.fixture
def points(tmp_path):
    (tmp_path / "t.csv").write_text(POINTS + "\n3,,u\n")
    return "t.csv"


@pytest.mark.parametrize(
    ("ending", "start", "options"),
    [
        ("svg", b"<?xml", []),
        ("png", b"\x89PNG", ["-K", "-0.1"]),
        ("pdf", b"%PDF", ["--curvature", "0.5", "--order", "2"]),
    ],
)
def test_voronoi(command, points, tmp_path, options, ending, start):
    out = f"v.{ending}"
    answer = command(
        "voronoi", points, "--x", "a", "--y", "b", "--label", "kind", *options, "-o", out
    )
    assert answer.code == 0, answer.err
    assert "left out 1 row with missing values" in answer.err
    assert "cells of 12 points" in answer.out
    assert (tmp_path / out).read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", out]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--x", "a", "--y", "c", "-o", "v.svg"], "There is no column 'c'."),
        (["--x", "a", "--y", "kind", "-o", "v.svg"], "Column 'kind' holds text"),
        (["--x", "a", "--y", "b", "-o", "v.jpeg"], "v.jpeg should end in .svg, .png or .pdf"),
        (["--x", "a", "--y", "b", "-K", "-9", "-o", "v.svg"], "the farthest needs K > -0."),
        (["--x", "a", "--y", "b", "--order", "12", "-o", "v.svg"], "order"),
    ],
)  # fmt: skip
def test_voronoi_refuses(command, points, arguments, message):
    answer = command("voronoi", points, *arguments)
    assert answer.code == 1
    assert message in answer.err


def test_the_curvature_that_is_suggested_is_enough(command, points):
    said = command("voronoi", points, "--x", "a", "--y", "b", "-K", "-9", "-o", "v.svg").err
    largest = float(said.rpartition("K > ")[2].rstrip(".\n"))
    answer = command("voronoi", points, "--x", "a", "--y", "b", "-K", 0.99 * largest, "-o", "v.svg")
    assert answer.code == 0


def test_figures(command, tmp_path):
    figures = ("cross_ratio", "spheres")
    answer = command("figures", *figures, "-o", "new/pictures", "--json")
    assert answer.code == 0, answer.err
    names = [f"{name}.{ending}" for name in figures for ending in ("png", "svg")]
    assert [Path(path).name for path in answer.json["figures"]] == names
    for path in answer.json["figures"]:
        assert (tmp_path / path).stat().st_size > 2000
    assert sorted(path.name for path in (tmp_path / "new/pictures").iterdir()) == sorted(names)


def test_every_script_of_the_paper_is_a_figure(command):
    """What they draw, their own tests see to."""
    examples = Path(__file__).parents[2] / "examples" / "paper"
    assert {f"plot_{name}" for name in _experiments.scripts()} == {
        p.stem for p in examples.glob("plot_*.py")
    }
    assert "Did you mean 'spheres'?" in command("figures", "sphere", "-o", "new").err


def test_a_figure_that_fails_leaves_nothing(command, tmp_path, monkeypatch):
    script = tmp_path / "plot_wrong.py"
    script.write_text("raise ValueError('no ink')")
    monkeypatch.setattr(_experiments, "scripts", lambda: {"wrong": script})
    answer = command("figures", "-o", "new")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "plot_wrong.py could not be drawn: ValueError: no ink" in answer.err
    assert not list((tmp_path / "new").iterdir())
