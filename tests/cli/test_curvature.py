"""``cayleyklein curvature``."""

import numpy as np
import pandas as pd
import pytest
from tests.curvature import draws

from cayleyklein import estimate_curvature

X = draws.rows(60, 2, 0)
Y = draws.numbers(X, 0.0, 0)


@pytest.fixture
def table(tmp_path):
    given = {"a": X[:, 0], "b": 100 * X[:, 1], "colour": ["red"] * 60}
    kinds = np.where(Y > 0, "high", "low")
    frame = pd.DataFrame(given | {"value": Y, "kind": kinds, "code": np.where(Y > 0, 1, 2)})
    frame.loc[3, "kind"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_numbers_as_in_python(command, table):
    options = ["--drop", "kind", "--drop", "code"]
    answer = command("curvature", table, "--target", "value", *options, "--json")
    assert answer.code == 0
    expected = estimate_curvature((X - X.mean(axis=0)) / X.std(axis=0), Y)
    assert answer.json["verdict"] == expected.verdict
    assert answer.json["target"] == "numbers"
    assert answer.json["bend"] == pytest.approx(expected.bend, rel=1e-3, abs=1e-3)
    text = command("curvature", table, "--target", "value", *options).out
    assert text.startswith(expected.verdict)
    assert "60 rows, 2 standardised columns, numbers in 'value'" in text


def test_labels_and_a_picture(command, table, tmp_path):
    options = ["-t", "kind", "--drop", "value", "--drop", "code", "--picture", "k.svg"]
    answer = command("curvature", table, *options)
    assert answer.code == 0
    assert "59 rows" in answer.out
    assert "labels in 'kind'" in answer.out
    assert "left out 1 row without 'kind'" in answer.err
    assert (tmp_path / "k.svg").read_text().startswith("<?xml")


def test_few_different_numbers_are_labels_unless_told(command, table):
    given = ["curvature", table, "-t", "code", "--drop", "value", "--drop", "kind", "--json"]
    assert command(*given).json["target"] == "labels"
    assert command(*given, "--task", "number").json["target"] == "numbers"
    answer = command("curvature", table, "-t", "kind", "--task", "number")
    assert answer.code == 1
    assert "'kind'" in answer.err
