"""Sets of classes, and what would have to change, as the model says in Python."""

import io

import numpy as np
import pandas as pd
import pytest

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
    assert all(change["after"] == round(change["after"]) <= 1 for change in changes)
    assert not any(change["exact"] for change in changes)
    written = command(*given, "-o", "changes.csv")
    assert written.out == "changes.csv: 6 rows\n"
    assert pd.read_csv("changes.csv")["row"].nunique() == 6
    none = command(*given, "--fixed", "up", "--fixed", "far")
    assert none.code == 0
    assert none.out == ",".join(HEADER) + "\n"
    assert "left out 6 rows for which no allowed change was found" in none.err
    for option, said in (
        (("--bound", "up"), "should be COLUMN=LOW:HIGH"),
        (("--bound", "up=a:b"), "should be COLUMN=LOW:HIGH"),
        (("--to", "steep"), "is no class of the model: high, low"),
        (("--fixed", "down"), "fixed has 'down'"),
    ):
        wrong = command(*given, *option)
        assert wrong.code == 1
        assert said in wrong.err


def test_other_columns_than_numbers_are_refused(command, wine_files):
    wrong = command("counterfactual", wine_files / "wine.ckm", wine_files / "test.csv")
    assert wrong.code == 1
    assert "columns of numbers without gaps; not so: 'tint'" in wrong.err


def test_a_row_with_a_gap_is_refused(command, hills):
    model = fitted(command, hills, "--model", "neighbors", "-g", "flat")
    row = pd.read_csv(hills / "few.csv")[:1]
    row["up"] = np.nan
    row.to_csv("gap.csv", index=False)
    said = command("counterfactual", "m.ckm", "gap.csv").err
    assert "left out 1 row with missing cells" in said
    with pytest.raises(ValueError, match="without missing cells"):
        model.counterfactual(row)
    with pytest.raises(ValueError, match="2 rows; expected one"):
        model.counterfactual(pd.read_csv(hills / "few.csv")[:2])
