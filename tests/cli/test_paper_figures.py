"""The command figures: the figures of the paper, drawn again."""

import matplotlib.pyplot as plt
import pytest

from cayleyklein.plotting import PAPER_FIGURES


def test_all_figures_are_drawn(command, tmp_path):
    answer = command("figures", "-o", "new/pictures")
    assert answer.code == 0, answer.err
    names = [f"{name}{ending}" for name in PAPER_FIGURES for ending in (".png", ".svg")]
    assert answer.out.splitlines() == [f"new/pictures/{name}" for name in names]
    written = sorted((tmp_path / "new/pictures").iterdir())
    assert [path.name for path in written] == sorted(names)
    for path in written:
        head = path.read_bytes()[:200]
        assert head.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
        assert path.stat().st_size > 10_000
    assert not plt.get_fignums()


def test_the_help_names_every_figure(command):
    text = command("figures", "--help").out
    assert all(name in text for name in PAPER_FIGURES)


def test_some_figures_into_a_directory_that_is_there(command, tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "notes.txt").write_text("keep me")
    answer = command("figures", "spheres", "bisectors", "spheres", "-o", "pictures", "--json")
    names = ["spheres.png", "spheres.svg", "bisectors.png", "bisectors.svg"]
    assert answer.json == {"figures": [f"pictures/{name}" for name in names]}
    kept = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert kept == {*names, "notes.txt"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sphere"], "The paper has no figure 'sphere'. Did you mean 'spheres'?"),
        (["Order_K"], "Did you mean 'order_k'?"),
        (["zebra"], "The figures are 'cross_ratio', 'distance_and_angle',"),
        (["spheres", "zebra"], "The paper has no figure 'zebra'."),
        (["spheres", "-o", "file"], "file is a file; give a directory to draw to."),
        (["spheres", "-o", "file/new"], "Not a directory"),
    ],
)
def test_mistakes_are_said_before_anything_is_drawn(command, tmp_path, arguments, message):
    (tmp_path / "file").write_text("mine")
    answer = command("figures", *arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert message in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_figure_that_cannot_be_saved_leaves_no_part_of_a_file(command, tmp_path, monkeypatch):
    def fill_the_disk(figure, path, **options):
        path.write_text("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fill_the_disk)
    answer = command("figures", "spheres", "-o", "new")
    assert answer.code == 1
    assert "spheres.png: No space left on device" in answer.err
    assert not list((tmp_path / "new").iterdir())
    plt.close("all")
