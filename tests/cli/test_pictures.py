from pathlib import Path

from cayleyklein.cli import _experiments


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
