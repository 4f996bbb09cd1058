"""``cayleyklein check`` lists rows whose target looks wrong."""

import pandas as pd

from cayleyklein.datasets import load_wine


def wrong_wine(path):
    table = load_wine(as_frame=True).frame
    table["class"] = table["class"].map(dict(enumerate("abc")))
    table.loc[5, "class"] = "c"
    table.loc[50, "alcohol"] = 130.0
    table.to_csv(path, index=False)


def test_a_wrong_class_is_listed(command, tmp_path):
    wrong_wine(tmp_path / "wine.csv")
    options = ("-t", "class", "--model", "neighbors", "-q")
    found = command("check", "wine.csv", *options, "--json")
    assert found.code == 0
    first = found.json["suspicious"][0]
    assert (first["row"], first["given"], first["likely"]) == (6, "c", "a")
    assert first["sure"] > 0.9
    assert first["neighbor_targets"] == ["a"] * 5
    said = command("check", "wine.csv", *options).out
    assert "of 178 may have a wrong class" in said
    assert " 6 " in said


def test_a_wrong_number_is_written(command, tmp_path):
    wrong_wine(tmp_path / "wine.csv")
    options = ("-t", "alcohol", "--model", "neighbors", "-o", "found.csv")
    assert command("check", "wine.csv", *options).code == 0
    table = pd.read_csv(tmp_path / "found.csv")
    assert table["row"][0] == 51
    assert table["given"][0] == 130.0
    assert len(table["neighbors"][0].split()) == 5
