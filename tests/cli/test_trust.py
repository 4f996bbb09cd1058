"""Sets of classes, and what would have to change, as the model says in Python."""

import io

import numpy as np
import pandas as pd
import pytest

from cayleyklein.cli import _predict
from cayleyklein.tables import TableClassifier, load_model, save_model

HEADER = ["row", "prediction", "becomes", "size", "exact", "column", "before", "after"]


@pytest.fixture(scope="module")
def hills(tmp_path_factory):
    """Rows of two numbers and a name, with two classes that overlap."""
    folder = tmp_path_factory.mktemp("hills")
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(80, 2)) * [1.0, 20.0], columns=["up", "far"])
    table["kind"] = np.where(table["up"] + 0.5 * rng.normal(size=80) > 0, "high", "low")
    table.to_csv(folder / "train.csv", index=False)
    table[:6].to_csv(folder / "few.csv", index=False)
    return folder


def fitted(command, hills, *options):
    assert command("fit", hills / "train.csv", "-t", "kind", "-o", "m.ckm", *options).code == 0
    return load_model("m.ckm")


def test_sets_are_those_of_the_model(command, hills):
    model = fitted(command, hills, "--model", "neighbors", "-g", "flat")
    given = ("predict", "m.ckm", hills / "train.csv")
    table = pd.read_csv(hills / "train.csv")
    listed = command(*given, "--set", "0.99", "--json").json["predictions"]
    held = model.predict_set(table, 0.99)
    expected = [model.classes_[one].tolist() for one in held]
    assert [line["set"] for line in listed] == expected
    assert {len(one) for one in expected} == {1, 2}
    assert all(line["prediction"] in line["set"] for line in listed)
    written = pd.read_csv(io.StringIO(command(*given, "--set", "0.99", "--proba").out))
    assert written["set"].tolist() == [" | ".join(one) for one in expected]
    assert "share_high" in written
    for level in ("0", "1", "95"):
        wrong = command(*given, "--set", level)
        assert wrong.code == 1
        assert "a number between 0 and 1" in wrong.err
    assert command(*given, "--set", "0.9", "--explain").code == 1


def test_sets_are_of_classes(command, hills):
    command("fit", hills / "train.csv", "-t", "up", "-o", "n.ckm", "--model", "neighbors")
    wrong = command("predict", "n.ckm", hills / "few.csv", "--set", "0.9")
    assert "--set is for classes" in wrong.err
    wrong = command("counterfactual", "n.ckm", hills / "few.csv")
    assert "is for classes" in wrong.err


def test_what_would_have_to_change(command, hills):
    rows = pd.read_csv(hills / "train.csv")
    model = TableClassifier(1, geometry="flat", weights="uniform", random_state=0)
    model.fit(rows[["up", "far"]], rows["kind"])
    save_model(model, "m.ckm")
    table = pd.read_csv(hills / "few.csv")
    answer = command("counterfactual", "m.ckm", hills / "few.csv", "--to", "high")
    assert answer.code == 0, answer.err
    lines = pd.read_csv(io.StringIO(answer.out))
    assert list(lines) == HEADER
    predictions = model.predict(table)
    assert lines["row"].unique().tolist() == (np.flatnonzero(predictions == "low") + 1).tolist()
    n_there = int((predictions == "high").sum())
    assert f"left out {n_there} rows of class high already" in answer.err
    for number, changed in lines.groupby("row"):
        row = table[number - 1 : number].copy()
        np.testing.assert_allclose(row[changed["column"]].to_numpy()[0], changed["before"])
        row[changed["column"].tolist()] = changed["after"].to_numpy()
        assert model.predict(row).tolist() == ["high"]
        expected = model.counterfactual(table[number - 1 : number], "high")
        np.testing.assert_allclose(changed["size"], expected.size)
        assert set(changed["exact"]) == {expected.is_exact} == {True}


def test_limits_of_a_change(command, hills):
    fitted(command, hills, "--model", "neighbors", "-g", "flat")
    given = ("counterfactual", "m.ckm", hills / "few.csv")
    options = ("--fixed", "far", "--integer", "up", "--bound", "up=:1")
    answer = command(*given, *options, "--json")
    assert answer.code == 0, answer.err
    changes = answer.json["changes"]
    assert changes
    assert {change["column"] for change in changes} == {"up"}
    after = [float(change["after"]) for change in changes]
    assert all(each == round(each) <= 1 for each in after)
    assert not any(change["exact"] for change in changes)  # its votes are local
    written = command(*given, "-o", "changes.csv")
    assert written.out == "changes.csv: 6 rows\n"
    assert pd.read_csv("changes.csv")["row"].nunique() == 6
    none = command(*given, "--fixed", "up", "--fixed", "far")
    assert none.code == 0
    assert none.out == ",".join(HEADER) + "\n"
    assert "left out 6 rows for which no allowed change was found" in none.err
    for option, said in (
        (("--bound", "up"), "should be COLUMN=LOW:HIGH"),
        (("--bound", "up=a:b"), "bounds of 'up' have 'a'; expected a number"),
        (("--to", "steep"), "is no class of the model: high, low"),
        (("--fixed", "down"), "fixed has 'down'"),
    ):
        wrong = command(*given, *option)
        assert wrong.code == 1
        assert said in wrong.err


def test_categories_and_gaps(command, wine_files):
    table = pd.read_csv(wine_files / "test.csv")[:2]
    table.loc[1, "alcohol"] = np.nan
    table.to_csv("some.csv", index=False)
    answer = command("counterfactual", wine_files / "wine.ckm", "some.csv", "--json")
    assert answer.code == 0, answer.err
    changes = answer.json["changes"]
    assert {change["row"] for change in changes} == {1, 2}
    assert not any(change["row"] == 2 and change["column"] == "alcohol" for change in changes)
    wrong = command("counterfactual", wine_files / "wine.ckm", "some.csv", "--bound", "tint=pink")
    assert "expected some of its categories" in wrong.err


def test_equal_votes_are_asked_for(command, hills):
    options = ("--neighbors", "3", "--weights", "uniform", "-g", "learned")
    model = fitted(command, hills, *options)
    assert (model.n_neighbors, model.weights) == (3, "uniform")
    changes = command("counterfactual", "m.ckm", hills / "few.csv", "--json").json["changes"]
    assert all(change["exact"] for change in changes)
    wrong = command(
        "fit",
        hills / "train.csv",
        "-t",
        "kind",
        "-o",
        "k.ckm",
        "--weights",
        "uniform",
        "--model",
        "kernel",
    )
    assert wrong.code == 1
    assert "leave them out" in wrong.err
    wrong = command("fit", hills / "train.csv", "-t", "up", "-o", "k.ckm", "--weights", "local")
    assert wrong.code == 1
    assert "weights" in wrong.err


def test_ends_of_ranges(command, hills):
    fitted(command, hills, "--model", "neighbors", "-g", "flat")
    model = load_model("m.ckm")
    with pytest.raises(ValueError, match="2 rows; expected one"):
        model.counterfactual(pd.read_csv(hills / "few.csv")[:2])
    read = _predict.ranges_of(["time=10:30:11:45", "up=:1"], model.encoder_.used_columns)
    assert read == {"time": ("10:30", "11:45"), "up": (None, "1")}
