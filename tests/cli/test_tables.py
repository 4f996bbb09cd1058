"""fit, predict, evaluate, info and neighbors, on tables that are as they should be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from cayleyklein.tables import TableClassifier, load_model

pytestmark = pytest.mark.usefixtures("tmp_path")


def test_fit_says_what_it_did_and_writes_a_model(command, wine_files, tmp_path):
    train = wine_files / "train.csv"
    answer = command("fit", train, "--target", "class", "-g", "flat", "-o", "m.ckm")
    assert answer.code == 0
    assert "tint: 3 categories, one number for each of high, low, middle" in answer.err
    assert "alcohol: number\n" in answer.err
    said = "m.ckm: 89 rows, 3 classes of 'class' by kernel machines, metric flat, K = 0\n"
    assert answer.out == said
    assert [path.name for path in tmp_path.iterdir()] == ["m.ckm"]
    quiet = command("fit", train, "-t", "class", "-g", "flat", "-o", "m.ckm", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, answer.out, "")


def test_v_says_more(command, wine_files):
    fit = ("fit", wine_files / "train.csv", "-t", "class", "-o", "m.ckm")
    few, many = (command(*fit, *more).err.splitlines() for more in ((), ("-v",)))
    assert set(few) < set(many)
    assert "89 rows, 14 columns" in many
    assert any("held-out" in line for line in many)


def test_fit_drops_columns_and_rows_without_class(command, tmp_path):
    rows = [f"{i % 7},{i % 5},{'u' if i % 2 else 'v'},{i}" for i in range(40)]
    (tmp_path / "t.csv").write_text("a,b,y,id\n" + "\n".join([*rows, "1,2,,99"]))
    answer = command(
        "fit", "t.csv", "-t", "y", "--drop", "id", "-o", "m.ckm", "-g", "flat", "--json"
    )
    assert answer.code == 0
    assert "left out 1 row without a class in 'y'" in answer.err
    kinds = {column["name"]: column["kind"] for column in answer.json["columns"]}
    assert kinds == {"a": "number", "b": "number", "id": "unused"}
    assert answer.json["rows"] == 40
    wrong = command("fit", "t.csv", "-t", "y", "--drop", "ID", "-o", "n.ckm")
    assert wrong.code == 1
    assert "There is no column 'ID' to drop. Did you mean 'id'?" in wrong.err


def test_predict_agrees_with_python(command, wine_files):
    test = pd.read_csv(wine_files / "test.csv")
    expected = load_model(wine_files / "wine.ckm").predict(test)
    answer = command("predict", wine_files / "wine.ckm", wine_files / "test.csv", "-o", "out.csv")
    assert (answer.code, answer.out, answer.err) == (0, "out.csv: 89 rows\n", "")
    written = pd.read_csv("out.csv")
    assert written["prediction"].tolist() == expected.tolist()
    assert written["row"].tolist() == list(range(1, 90))
    printed = command("predict", wine_files / "wine.ckm", wine_files / "test.csv")
    assert printed.out.splitlines()[:2] == ["row,prediction", f"1,{expected[0]}"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_predict_writes_shares(command, wine_files, ending):
    out = f"out.{ending}"
    answer = command(
        "predict", wine_files / "wine.ckm", wine_files / "test.csv", "--proba", "-o", out
    )
    assert answer.code == 0
    read = {
        "csv": pd.read_csv,
        "tsv": lambda p: pd.read_csv(p, sep="\t"),
        "parquet": pd.read_parquet,
    }
    shares = read[ending](out)[["share_a", "share_b", "share_c"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_predict_in_pieces_is_predict_at_once(command, wine_files, monkeypatch):
    fit = ["fit", wine_files / "train.csv", "-t", "class", "-g", "flat", "--model", "neighbors"]
    command(*fit, "-o", "votes.ckm")
    for model, exact in ((wine_files / "wine.ckm", False), ("votes.ckm", True)):
        arguments = ["predict", model, wine_files / "test.csv", "--json", "--proba"]
        with monkeypatch.context() as patch:
            whole = command(*arguments).json["predictions"]
            patch.setattr("cayleyklein.tables._reading.BLOCK_BYTES", 1000)
            parts = command(*arguments).json["predictions"]
        assert (parts == whole) or not exact
        pd.testing.assert_frame_equal(pd.DataFrame(parts), pd.DataFrame(whole), rtol=1e-9)


def test_columns_in_another_order_and_extra_ones(command, wine_files):
    test = pd.read_csv(wine_files / "test.csv")
    test[test.columns[::-1]].assign(extra=1, tint="unheard of").to_csv("t.csv", index=False)
    answer = command("predict", wine_files / "wine.ckm", "t.csv")
    assert answer.code == 0
    assert "ignored columns that the model does not know: 'extra'" in answer.err
    assert "89 rows have a value in 'tint' that the model has not seen" in answer.err


def test_missing_cells_are_noted(command, wine_files):
    test = pd.read_csv(wine_files / "test.csv")
    test.loc[[3, 5], "hue"] = None
    test.loc[3, "tint"] = "-"
    test.to_csv("t.csv", index=False)
    for name in ("predict", "neighbors", "evaluate"):
        answer = command(name, wine_files / "wine.ckm", "t.csv")
        assert "note: 2 rows have no value in 'hue'; it becomes an estimate, " in answer.err
        assert "note: 1 row has no value in 'tint'; it becomes the most frequent, " in answer.err
        assert answer.err.count("no value") == 2
    test[3:4].to_csv("t.csv", index=False)
    fit = ["fit", wine_files / "train.csv", "-t", "class", "--model", "neighbors"]
    command(*fit, "-g", "elliptic", "-o", "m.ckm")
    for model in (wine_files / "wine.ckm", "m.ckm"):
        reasons = command("predict", model, "t.csv", "--explain", "--json").json["reasons"]
        cells = {why["name"]: why["value"] for why in reasons if why["because"] == "column"}
        assert {name for name, value in cells.items() if value is None} == {"hue", "tint"}
    assert command("predict", wine_files / "wine.ckm", "t.csv", "-q").err == ""


def test_missing_columns_are_listed(command, wine_files):
    test = pd.read_csv(wine_files / "test.csv").drop(columns=["hue", "ash", "class"])
    test.to_csv("t.csv", index=False)
    for arguments in (["predict"], ["neighbors"], ["evaluate"]):
        answer = command(*arguments, wine_files / "wine.ckm", "t.csv")
        assert (answer.code, answer.out) == (1, "")
        assert "The table lacks 2 columns: 'ash', 'hue'" in answer.err


def test_evaluate_says_that_rows_are_those_fitted(command, wine_files):
    model = wine_files / "wine.ckm"
    own = command("evaluate", model, wine_files / "train.csv", "--json")
    assert own.json["fitted_rows"] == own.json["rows"]
    assert "89 of 89 rows have the same values as rows that the model was fitted on" in own.err
    other = command("evaluate", model, wine_files / "test.csv", "--json")
    assert (other.json["fitted_rows"], other.err) == (0, "")


def test_evaluate_by_a_column_that_is_predicted_from(command, wine_files):
    answer = command("evaluate", wine_files / "wine.ckm", wine_files / "test.csv", "-t", "tint")
    assert answer.code == 1
    assert "'tint' is one that the model predicts from; it predicts 'class'" in answer.err


def test_evaluate(command, wine_files):
    answer = command("evaluate", wine_files / "wine.ckm", wine_files / "test.csv", "--json")
    truth = pd.read_csv(wine_files / "test.csv")
    said = load_model(wine_files / "wine.ckm").predict(truth)
    values = answer.json
    assert values["accuracy"] == pytest.approx((said == truth["class"]).mean())
    assert values["balanced_accuracy"] == pytest.approx(
        (said == truth["class"]).groupby(truth["class"]).mean().mean()
    )
    assert np.trace(values["confusion"]) == (said == truth["class"]).sum()
    assert np.sum(values["confusion"]) == values["rows"] == 89
    shares = load_model(wine_files / "wine.ckm").predict_proba(truth)
    assert values["log_loss"] == pytest.approx(log_loss(truth["class"], shares))
    groups = values["calibration"]
    assert sum(group["rows"] for group in groups) == 89
    right = sum(group["rows"] * group["accuracy"] for group in groups)
    assert right == pytest.approx(np.trace(values["confusion"]))
    text = command("evaluate", wine_files / "wine.ckm", wine_files / "test.csv").out
    assert f"log loss           {values['log_loss']:.4f}" in text
    assert f"accuracy           {values['accuracy']:.4f} ±" in text
    assert "true \\ predicted" in text


def test_evaluate_with_strange_classes(command, wine_files):
    test = pd.read_csv(wine_files / "test.csv")
    test.loc[:9, "class"] = "rosé"
    test.loc[10:11, "class"] = None
    test.to_csv("t.csv", index=False)
    answer = command("evaluate", wine_files / "wine.ckm", "t.csv", "--json")
    assert answer.json["rows"] == 87
    assert "does not know the classes 'rosé'" in answer.err
    assert "left out 2 rows without a class in 'class'" in answer.err
    wrong = command("evaluate", wine_files / "wine.ckm", "t.csv", "-t", "clas")
    assert wrong.code == 1
    assert "Did you mean 'class'?" in wrong.err


def test_neighbors(command, wine_files):
    arguments = ["neighbors", wine_files / "wine.ckm", wine_files / "train.csv", "-k", "2"]
    found = command(*arguments, "--json").json["neighbors"]
    assert len(found) == 2 * 89
    itself = found[::2]
    assert [n["neighbor"] for n in itself] == [n["row"] for n in itself] == list(range(1, 90))
    assert all(n["distance"] < 1e-6 for n in itself)
    assert command(*arguments).out.startswith("row,rank,neighbor,class,distance\n1,1,1,a,")
    assert command(*arguments, "-o", "out.csv").out == "out.csv: 89 rows\n"


def test_info(command, wine_files):
    answer = command("info", wine_files / "wine.ckm")
    assert "predicts      class: a (30), b (35), c (24)" in answer.out
    assert "elliptic, K = 1 (asked for: elliptic)" in answer.out
    assert command("info", wine_files / "wine.ckm", "--json").json["rows"] == 89
    weights = command("info", wine_files / "wine.ckm", "--json").json["feature_weights"]
    assert abs(sum(weights.values()) - 1) < 1e-9
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert f"weights       {next(iter(weights))} " in command("info", wine_files / "wine.ckm").out


def test_fit_and_info_say_that_plain_neighbors_were_as_good(command):
    X = np.random.default_rng(3).uniform(0, 4, size=(200, 2))
    y = np.floor(X).sum(axis=1) % 2  # a chessboard, of which no direction matters more
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * 100, "y": y}).to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "y", "--model", "neighbors", "-o", "m.ckm"]
    answer = command(*fit)
    assert command("info", "m.ckm", "--json").json["learned"]["chosen"] == "standardised k-NN"
    said = "plain k-NN on standardised columns was as good as what was learned"
    assert answer.out.endswith(f"metric flat, K = 0 ({said})\n")
    assert f"learned from  {said}\n" in command("info", "m.ckm").out
    command(*fit, "-g", "flat")
    assert "learned from  200 rows in " in command("info", "m.ckm").out


def test_predict_takes_a_long_table_in_pieces(command, wine_files, tmp_path, monkeypatch):
    head, *lines = (wine_files / "test.csv").read_text().splitlines(keepends=True)
    sizes, predict = [], TableClassifier.predict_proba
    monkeypatch.setattr(
        TableClassifier, "predict_proba", lambda self, t: sizes.append(len(t)) or predict(self, t)
    )
    monkeypatch.setattr("cayleyklein.tables._reading.BLOCK_BYTES", 1 << 12)
    (tmp_path / "t.csv").write_text(head + "".join(lines) * 9)
    assert command("predict", wine_files / "wine.ckm", "t.csv", "-o", "o.csv", "-q").code == 0
    assert sum(sizes) == 9 * len(lines)
    assert max(sizes) < sum(sizes) / 3


def test_predict_explains_the_votes(command, wine_files):
    model, table = "m.ckm", wine_files / "test.csv"
    command("fit", wine_files / "train.csv", "-t", "class", "-k", "5", "-g", "flat", "-o", model)
    answer = command("predict", model, table, "--explain")
    assert answer.code == 0, answer.err
    header, *lines = answer.out.splitlines()
    assert header == "row,prediction,because,name,value,effect,strangeness"
    assert len(lines) > len({line.split(",")[0] for line in lines}) > 1
    assert max(len(cell) for line in lines for cell in line.split(",")[5:]) < 10
    votes = command("predict", model, table, "--explain", "--json").json["reasons"]
    first = [why for why in votes if why["row"] == votes[0]["row"]]
    kinds = [[why for why in first if why["because"] == kind] for kind in ("row", "column")]
    assert abs(sum(why["effect"] for why in kinds[0]) - 1) < 1e-9
    assert {why["value"] for why in kinds[0]} <= {"a", "b", "c"}
    (why,) = load_model(model).explain(pd.read_csv(table)[:1])
    shares = dict(zip(why.names, why.votes @ why.columns, strict=True))
    assert {told["name"]: told["effect"] for told in kinds[1]} == pytest.approx(shares)
    assert len(shares) == 14
    written = command("predict", model, table, "--explain", "--json", "-o", "out.parquet")
    assert written.json == {"output": "out.parquet", "rows": 89}
    both = command("predict", model, table, "--explain", "--proba")
    assert both.code == 1
    assert "Give --explain without --proba, --interval and --set" in both.err


def test_parts_are_chosen(command, wine_files):
    """By names; others are refused before the table is read."""
    table = wine_files / "train.csv"
    command("fit", table, "-t", "class", "-o", "p.ckm", "--part", "rules", "--part", "plain")
    about = command("info", "p.ckm").out
    assert "rules" in about
    assert "not needed" in about
    answer = command("fit", table, "-t", "class", "-o", "p.ckm", "--part", "rule")
    assert answer.code == 1
    assert "--part rule; expected one of metric, columns" in answer.err
