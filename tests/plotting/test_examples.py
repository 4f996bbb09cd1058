"""Every example runs; those of the paper's figures write their pictures."""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FIGURES = sorted((EXAMPLES / "paper").glob("plot_*.py"))
EXAMPLES_OF_USE = sorted(EXAMPLES.glob("plot_*.py"))


def test_the_paper_s_figures_are_here():
    names = {script.stem.removeprefix("plot_") for script in FIGURES}
    assert names >= {
        "cross_ratio",
        "distance_and_angle",
        "projections",
        "bisectors",
        "voronoi",
        "spheres",
        "bichromatic",
        "order_k",
        "curvature_animation",
    }


@pytest.mark.parametrize("script", FIGURES, ids=lambda path: path.stem)
def test_figure_is_written(script, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(script), "-o", str(tmp_path / "new"), "--quick"])
    monkeypatch.syspath_prepend(EXAMPLES / "paper")
    runpy.run_path(str(script), run_name="__main__")
    sys.modules.pop("_output")
    written = list((tmp_path / "new").iterdir())
    suffixes = {path.suffix for path in written}
    assert suffixes == ({".gif"} if "animate(" in script.read_text("utf-8") else {".png", ".svg"})
    for path in written:
        assert path.stem == script.stem
        assert path.stat().st_size > 2000


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES_OF_USE, ids=lambda path: path.stem)
def test_example_runs(script, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()


@pytest.mark.parametrize("script", [*FIGURES, *EXAMPLES_OF_USE], ids=lambda path: path.stem)
def test_explains_itself(script):
    """The form that sphinx-gallery reads: a title, underlined, and a paragraph."""
    docstring = compile(script.read_text("utf-8"), script.name, "exec").co_consts[0]
    _, title, line, empty, *text = docstring.split("\n")
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert empty == ""
    assert len(" ".join(text)) > 100
