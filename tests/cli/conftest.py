"""The command, called in this process: starting another costs seconds."""

import json

import pandas as pd
import pytest

from cayleyklein.cli import main
from cayleyklein.datasets import load_wine


class Answer:
    """What a command printed, and its exit code."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Call the command in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def wine_files(tmp_path_factory):
    """Two halves of Wine and a model of the first."""
    folder = tmp_path_factory.mktemp("wine")
    table = load_wine(as_frame=True).frame
    table["class"] = table["class"].map(dict(enumerate(["a", "b", "c"])))
    table["tint"] = pd.cut(table["hue"], [0, 0.8, 1.1, 9], labels=["low", "middle", "high"])
    table[::2].to_csv(folder / "train.csv", index=False)
    table[1::2].to_csv(folder / "test.csv", index=False)
    model = folder / "wine.ckm"
    train = str(folder / "train.csv")
    assert main(["fit", train, "-t", "class", "-g", "elliptic", "-o", str(model), "-q"]) == 0
    return folder
